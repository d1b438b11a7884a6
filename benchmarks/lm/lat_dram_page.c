/*
 * Latency of opening a page of DRAM.
 *
 * A memory chip reads from a row ("page") that has been opened; opening another takes longer. Two
 * walks of dependent loads go through the same lines of the same huge pages: one finishes each
 * piece as long as a DRAM page before it goes to the next (the page is open), the other goes to
 * another piece each time (it is closed). Both stay in one huge page until they have been through
 * all of its lines, so that misses of the TLB are the same; only one line in a few is visited, in
 * random order, so that prefetchers help neither.
 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */

#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char PROGRAM[] = "lat_dram_page";
static const char SUMMARY[] =
    "Measures loads from memory within one page of DRAM (open) and from another page each time\n"
    "(closed), and the difference, what opening a page costs. It needs huge pages, so that\n"
    "neighbours in the area are neighbours in memory, and an area much larger than the last "
    "cache.\n"
    "Where the memory controller scatters neighbouring lines, or closes pages at once, there is "
    "no\n"
    "difference; under a virtual machine whose host has no huge pages, misses of the TLB are in "
    "it\n"
    "too. Metrics: latency, in ns per load, for each walk, and page_open, in ns: the closed "
    "median\n"
    "less the open one; it may be negative where it is nothing but noise.";
static const char SINGLE[] =
    "accesses of several processes would close the pages that this one has opened";

enum { LINE_STRIDE_BYTES = 256, CACHE_LINE_BYTES = 64, LOADS_PER_TURN = 64, CACHES_AT_LEAST = 2 };
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)
enum { AT_LEAST_MIB = 4, CHOSEN_MIB = 256 };
enum { MOST_LINES_A_PIECE = 256, MOST_PIECES = 2048 };

struct dram {
    uint64_t huge_pages, piece_bytes, seed;
    char *area;
    void **first[2]; /* of the walk over open pages, and over closed ones */
    void **at;
    bool closed;
};

#define LOAD at = (void **)*at;
#define LOAD_4 LOAD LOAD LOAD LOAD
#define LOAD_16 LOAD_4 LOAD_4 LOAD_4 LOAD_4
#define LOAD_64 LOAD_16 LOAD_16 LOAD_16 LOAD_16

static int follow(uint64_t operations, void *cookie) {
    struct dram *dram = cookie;
    void **at = dram->at;
    for (uint64_t turn = operations / LOADS_PER_TURN; turn > 0; turn--) {
        LOAD_64
    }
    lm_keep(at);
    dram->at = at;
    return 0;
}

static int dram_initialise(uint64_t operations, void *cookie) {
    struct dram *dram = cookie;
    if (operations == 0) {
        dram->at = dram->first[dram->closed];
    }
    return 0;
}

/* Fisher and Yates: every order is equally likely. */
static void shuffle(uint64_t *order, uint64_t count, uint64_t *state) {
    for (uint64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = lm_random(state) % (i + 1), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

/* The orders in which one huge page is gone through. */
struct orders {
    uint64_t piece[MOST_PIECES], line[MOST_LINES_A_PIECE];
};

/* Links all visited lines of a huge page after `last`, and returns the last of them. The walks have
 * each a place of their own in a line. */
static void **link_page(const struct dram *dram, char *page, bool closed,
                        const struct orders *orders, void **last) {
    const uint64_t pieces = HUGE_PAGE_BYTES / dram->piece_bytes;
    const uint64_t lines = dram->piece_bytes / LINE_STRIDE_BYTES;
    const uint64_t outer = closed ? lines : pieces, inner = closed ? pieces : lines;
    for (uint64_t i = 0; i < outer; i++) {
        for (uint64_t j = 0; j < inner; j++) {
            uint64_t piece = orders->piece[closed ? j : i], line = orders->line[closed ? i : j];
            char *place = page + piece * dram->piece_bytes + line * LINE_STRIDE_BYTES;
            void **next = (void **)(void *)(place + (closed ? sizeof(void *) : 0));
            *last = (void *)next;
            last = next;
        }
    }
    return last;
}

static int chain(struct dram *dram) {
    static struct orders orders;
    uint64_t *page = malloc((size_t)dram->huge_pages * sizeof *page);
    if (page == NULL) {
        return -1;
    }
    for (int closed = 0; closed < 2; closed++) {
        uint64_t state = dram->seed;
        void *start = NULL, **last = &start;
        shuffle(page, dram->huge_pages, &state);
        for (uint64_t i = 0; i < dram->huge_pages; i++) {
            shuffle(orders.piece, HUGE_PAGE_BYTES / dram->piece_bytes, &state);
            shuffle(orders.line, dram->piece_bytes / LINE_STRIDE_BYTES, &state);
            last =
                link_page(dram, dram->area + page[i] * HUGE_PAGE_BYTES, closed != 0, &orders, last);
        }
        *last = start;
        dram->first[closed] = (void **)start;
    }
    free(page);
    return 0;
}

/* How many bytes of the area are in huge pages. */
static uint64_t huge_bytes(const struct dram *dram) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    uint64_t found = 0, start = 0, end = 0;
    const uint64_t area = (uint64_t)(uintptr_t)dram->area;
    char text[300];
    if (maps == NULL) {
        return 0;
    }
    while (fgets(text, sizeof text, maps) != NULL) {
        unsigned long long low = 0, high = 0, kib = 0;
        if (sscanf(text, "%llx-%llx ", &low, &high) == 2) {
            start = low;
            end = high;
        } else if (sscanf(text, "AnonHugePages: %llu kB", &kib) == 1 && start <= area &&
                   area < end) {
            found = kib * 1024;
        }
    }
    (void)fclose(maps);
    return found;
}

static void make_area(struct lm_harness *harness, struct dram *dram) {
    const size_t bytes = (size_t)(dram->huge_pages * HUGE_PAGE_BYTES);
    char what[300];
    /* One more, of which the parts before and after the aligned area stay unused. */
    char *area = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        (void)snprintf(what, sizeof what, "an area of %zu MiB: %s", bytes >> 20, strerror(errno));
        lm_fail(harness, what);
    }
    area += (HUGE_PAGE_BYTES - (uintptr_t)area % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    (void)madvise(area, bytes, MADV_HUGEPAGE);
    (void)memset(area, 0, bytes);
    dram->area = area;
    uint64_t huge = huge_bytes(dram);
    if (huge < bytes) {
        (void)snprintf(
            what, sizeof what,
            "expected all of the %zu MiB in huge pages, got %llu; allow them (madvise or "
            "always in /sys/kernel/mm/transparent_hugepage/enabled) or lower --mib",
            bytes >> 20, (unsigned long long)(huge >> 20));
        lm_fail(harness, what);
    }
    if (chain(dram) != 0) {
        lm_fail(harness, "no memory for the order of the walks");
    }
}

/* Returns the median, in ns a load. */
static double measure(struct lm_harness *harness, struct dram *dram, bool closed) {
    const struct lm_workload workload = {.initialise = dram_initialise,
                                         .benchmark = follow,
                                         .cookie = dram,
                                         .operations_per_turn = LOADS_PER_TURN};
    const struct lm_parameter parameters[] = {
        {.name = "page", .text = closed ? "closed" : "open"},
        {.name = "page_bytes", .number = dram->piece_bytes},
        {.name = "size_bytes", .number = dram->huge_pages * HUGE_PAGE_BYTES}};
    struct lm_samples samples;
    dram->closed = closed;
    lm_measure(harness, &workload, &samples);
    const struct lm_result result = {.metric = "latency",
                                     .unit = "ns",
                                     .values = samples.value_ns,
                                     .count = samples.repetitions,
                                     .operations = samples.operations,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report(harness, &result);
    double median_ns = lm_median(samples.value_ns, (size_t)samples.repetitions);
    lm_samples_free(&samples);
    return median_ns;
}

/* Of the first processor, by the kernel; 0 where it does not tell. */
static uint64_t last_cache_bytes(void) {
    uint64_t largest_kib = 0;
    for (int index = 0; index < 8; index++) {
        char path[80];
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        unsigned long long kib = 0;
        if (file == NULL) {
            break;
        }
        if (fscanf(file, "%lluK", &kib) == 1 && kib > largest_kib) {
            largest_kib = kib;
        }
        (void)fclose(file);
    }
    return largest_kib * 1024;
}

/* An area of so many bytes has lines of twice what the last cache holds. */
static uint64_t least_bytes(void) {
    return CACHES_AT_LEAST * last_cache_bytes() * LINE_STRIDE_BYTES / CACHE_LINE_BYTES;
}

/* A power of two, so that hosts with caches of about the same size have areas of the same. */
static uint64_t mib_for_the_cache(void) {
    uint64_t mib = CHOSEN_MIB;
    while (mib << 20 < least_bytes()) {
        mib *= 2;
    }
    return mib;
}

/* Lines that stay in the last cache would be measured as open and closed pages of DRAM. */
static void check_against_cache(uint64_t mib) {
    uint64_t cache_bytes = last_cache_bytes(), least = least_bytes();
    uint64_t touched_bytes = (mib << 20) / LINE_STRIDE_BYTES * CACHE_LINE_BYTES;
    if (mib << 20 >= least) {
        return;
    }
    char expected[160], got[60];
    (void)snprintf(
        expected, sizeof expected,
        "at least %llu, so that the lines are twice what the last cache of %llu KiB holds",
        (unsigned long long)((least + (1 << 20) - 1) >> 20),
        (unsigned long long)(cache_bytes / 1024));
    (void)snprintf(got, sizeof got, "lines of %llu KiB in all",
                   (unsigned long long)(touched_bytes / 1024));
    lm_usage_error(PROGRAM, "--mib", expected, got);
}

int main(int argc, char **argv) {
    uint64_t mib = 0, page_kib = 8;
    const struct lm_option options[] = {
        {.name = "--mib",
         .help = "size of the area, in MiB; a line in 256 bytes of it is read. 0: 256, or the next "
                 "power of two that is enough for the last cache",
         .number = &mib,
         .minimum = 0,
         .maximum = UINT64_C(1) << 20},
        {.name = "--page-kib",
         .help = "size of a page of DRAM in KiB, a power of two",
         .number = &page_kib,
         .minimum = 1,
         .maximum = 64},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    if ((page_kib & (page_kib - 1)) != 0) {
        char got[30];
        (void)snprintf(got, sizeof got, "%llu", (unsigned long long)page_kib);
        lm_usage_error(PROGRAM, "--page-kib", "a power of two", got);
    }
    if (mib == 0) {
        mib = mib_for_the_cache();
    }
    if (mib < AT_LEAST_MIB) {
        char got[30];
        (void)snprintf(got, sizeof got, "%llu", (unsigned long long)mib);
        lm_usage_error(PROGRAM, "--mib", "0, or at least 4", got);
    }
    check_against_cache(mib);
    struct dram dram = {.huge_pages = mib * 1024 * 1024 / HUGE_PAGE_BYTES,
                        .piece_bytes = page_kib * 1024,
                        .seed = lm_seed(PROGRAM)};
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    make_area(&harness, &dram);
    double open_ns = measure(&harness, &dram, false);
    double difference_ns = measure(&harness, &dram, true) - open_ns;
    const struct lm_parameter parameter = {.name = "page_bytes", .number = dram.piece_bytes};
    const struct lm_result result = {.metric = "page_open",
                                     .unit = "ns",
                                     .values = &difference_ns,
                                     .count = 1,
                                     .parameters = &parameter,
                                     .parameter_count = 1};
    lm_report(&harness, &result);
    return lm_close(&harness);
}
