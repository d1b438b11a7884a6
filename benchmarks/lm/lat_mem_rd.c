/*
 * Latency of a load from memory, over sizes from within the first cache to well past the last.
 *
 * A chain of pointers goes through all of an area; each load gives the address of the next, so that
 * none can start before the one before has ended. In random order no prefetcher guesses the next
 * address; the time then holds the misses of the TLB too. In strided order it is what a forward
 * walk sees, prefetching included.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "lat_mem_rd";
static const char SUMMARY[] =
    "Measures the latency of dependent loads (pointer chasing) over areas that double in size,\n"
    "from --min-kib to --max-kib. Metric: latency, in ns per load.";

/* More than any machine has, and few enough pointers for 32 bits (see chain_random). */
static const uint64_t MOST_KIB = UINT64_C(1) << 30;
static const uint64_t MOST_SLOTS = UINT32_MAX;
/* The area starts at a page, so that its slots lie in cache lines and pages the same way every
 * time. */
enum { PAGE_BYTES = 4096 };

struct chase {
    uint64_t size_bytes, stride_bytes, seed;
    bool random;
    char *area;
    void **at; /* where the walk stands; each interval goes on where the last one ended */
};

static void **slot(const struct chase *chase, uint64_t index) {
    return (void **)(void *)(chase->area + index * chase->stride_bytes);
}

static void chain_strided(const struct chase *chase, uint64_t slots) {
    for (uint64_t i = 0; i < slots; i++) {
        *slot(chase, i) = slot(chase, i + 1 < slots ? i + 1 : 0);
    }
}

/* Sattolo 1986: shuffling the identity so, without fixed points, makes one cycle through all slots.
 */
static void chain_random(const struct chase *chase, uint64_t slots) {
    uint64_t state = chase->seed;
    for (uint64_t i = 0; i < slots; i++) {
        *slot(chase, i) = slot(chase, i);
    }
    for (uint64_t i = slots - 1; i > 0; i--) {
        uint64_t j = ((lm_random(&state) >> 32) * i) >> 32;
        void *swapped = *slot(chase, i);
        *slot(chase, i) = *slot(chase, j);
        *slot(chase, j) = swapped;
    }
}

#define LOAD at = (void **)*at;
#define LOAD_4 LOAD LOAD LOAD LOAD
#define LOAD_16 LOAD_4 LOAD_4 LOAD_4 LOAD_4
#define LOAD_64 LOAD_16 LOAD_16 LOAD_16 LOAD_16
/* Many loads a turn: the turn's own instructions run beside the waiting loads, and are nothing
 * among so many. */
enum { LOADS_PER_TURN = 64 };

static int chase_benchmark(uint64_t operations, void *cookie) {
    struct chase *chase = cookie;
    void **at = chase->at;
    for (uint64_t turn = operations / LOADS_PER_TURN; turn > 0; turn--) {
        LOAD_64
    }
    lm_keep(at);
    chase->at = at;
    return 0;
}

static int chase_initialise(uint64_t operations, void *cookie) {
    struct chase *chase = cookie;
    if (operations != 0) {
        return 0;
    }
    void *area = NULL;
    int status = posix_memalign(&area, PAGE_BYTES, (size_t)chase->size_bytes);
    if (status != 0) {
        errno = status;
        return -1;
    }
    chase->area = area;
    uint64_t slots = chase->size_bytes / chase->stride_bytes;
    if (chase->random) {
        chain_random(chase, slots);
    } else {
        chain_strided(chase, slots);
    }
    chase->at = slot(chase, 0);
    /* One lap, so that what fits in a cache is there. */
    return chase_benchmark((slots + LOADS_PER_TURN - 1) / LOADS_PER_TURN * LOADS_PER_TURN, chase);
}

static int chase_cleanup(uint64_t operations, void *cookie) {
    struct chase *chase = cookie;
    if (operations == 0) {
        free(chase->area);
        chase->area = NULL;
    }
    return 0;
}

static void measure_size(struct lm_harness *harness, struct chase *chase, const char *order) {
    const struct lm_workload workload = {.initialise = chase_initialise,
                                         .benchmark = chase_benchmark,
                                         .cleanup = chase_cleanup,
                                         .cookie = chase,
                                         .operations_per_turn = LOADS_PER_TURN};
    const struct lm_parameter parameters[] = {
        {.name = "size_bytes", .number = chase->size_bytes},
        {.name = "stride_bytes", .number = chase->stride_bytes},
        {.name = "order", .text = order}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const orders[] = {"random", "strided", NULL};
    const char *order = orders[0];
    uint64_t minimum_kib = 4, maximum_kib = 65536;
    struct chase chase = {.stride_bytes = 64};
    const struct lm_option options[] = {
        {.name = "--min-kib",
         .help = "smallest area, in KiB",
         .number = &minimum_kib,
         .minimum = 1,
         .maximum = MOST_KIB},
        {.name = "--max-kib",
         .help = "largest area, in KiB",
         .number = &maximum_kib,
         .minimum = 1,
         .maximum = MOST_KIB},
        {.name = "--stride",
         .help = "distance of two pointers, in bytes",
         .number = &chase.stride_bytes,
         .minimum = sizeof(void *),
         .maximum = UINT64_C(1) << 30},
        {.name = "--order", .help = "order of the walk", .text = &order, .choices = orders},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    char expected[100], got[100];
    (void)snprintf(got, sizeof got, "%llu", (unsigned long long)chase.stride_bytes);
    if (chase.stride_bytes % sizeof(void *) != 0) {
        (void)snprintf(expected, sizeof expected, "a multiple of the %zu bytes of a pointer",
                       sizeof(void *));
        lm_usage_error(PROGRAM, "--stride", expected, got);
    }
    if (minimum_kib * 1024 / chase.stride_bytes < 2) {
        lm_usage_error(PROGRAM, "--stride", "at most half of --min-kib", got);
    }
    (void)snprintf(got, sizeof got, "%llu", (unsigned long long)maximum_kib);
    if (maximum_kib < minimum_kib) {
        lm_usage_error(PROGRAM, "--max-kib", "no less than --min-kib", got);
    }
    if (maximum_kib * 1024 / chase.stride_bytes > MOST_SLOTS) {
        lm_usage_error(PROGRAM, "--max-kib", "at most 4294967295 strides", got);
    }
    chase.random = strcmp(order, "random") == 0;
    chase.seed = lm_seed(PROGRAM);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (uint64_t kib = minimum_kib;; kib = kib * 2 < maximum_kib ? kib * 2 : maximum_kib) {
        chase.size_bytes = kib * 1024;
        measure_size(&harness, &chase, order);
        if (kib == maximum_kib) {
            return lm_close(&harness);
        }
    }
}
