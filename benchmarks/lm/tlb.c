/*
 * Capacity of the TLB, in pages.
 *
 * Dependent loads visit one line in each of n pages, in random order. While the TLB holds n pages,
 * they take as long as the same number of lines in a few dense pages. Beyond that, each load waits
 * for the next level of the TLB, and then for the page table. The dense walk has the same number
 * of lines, so cache effects cancel.
 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */

#include "harness/lm.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "tlb";
static const char SUMMARY[] =
    "Find the capacity of the TLB levels: the number of pages from which a load takes longer than\n"
    "with the same number of lines in few pages.\n"
    "Metrics: latency, in ns per load, for doubling numbers of pages (walk=pages: one line per\n"
    "page; walk=lines: as many adjacent lines); for each level that is found twice within\n"
    "--max-pages entries, a count, and reach, in bytes: one value each, from the minimum of many\n"
    "short timings. The precision is 1/64 for the first level and 1/12 for the second, which\n"
    "other processes evict occasionally.";
static const char SINGLE[] = "memory accesses of several processes would interfere";

/* Lines count as 64 bytes long. Longer lines contain several of them. */
enum { LINE_BYTES = 64, LOADS_PER_TURN = 64 };

struct walk {
    uint64_t count; /* of pages or lines */
    bool dense;
    uint64_t seed, page_bytes;
    char *area;
    void **at;
};

#define LOAD at = (void **)*at;
#define LOAD_4 LOAD LOAD LOAD LOAD
#define LOAD_16 LOAD_4 LOAD_4 LOAD_4 LOAD_4
#define LOAD_64 LOAD_16 LOAD_16 LOAD_16 LOAD_16

static int follow(uint64_t operations, void *cookie) {
    struct walk *walk = cookie;
    void **at = walk->at;
    for (uint64_t turn = operations / LOADS_PER_TURN; turn > 0; turn--) {
        LOAD_64
    }
    lm_keep(at);
    walk->at = at;
    return 0;
}

static size_t area_bytes(const struct walk *walk) {
    uint64_t bytes = walk->count * (walk->dense ? LINE_BYTES : walk->page_bytes);
    return (size_t)((bytes + walk->page_bytes - 1) / walk->page_bytes * walk->page_bytes);
}

/* Successive lines in successive pages, so that all cache sets are used equally. */
static void **slot(const struct walk *walk, uint64_t index) {
    uint64_t at = index * LINE_BYTES;
    if (!walk->dense) {
        at = index * walk->page_bytes + at % walk->page_bytes;
    }
    return (void **)(void *)(walk->area + at);
}

/* One random cycle through all slots (Sattolo 1986). The pages are also first written in random
 * order, so that neighbors in the area are not neighbors in memory, which some TLBs would hold as
 * one. */
static void chain(const struct walk *walk, uint64_t *order) {
    uint64_t state = walk->seed;
    for (uint64_t i = 0; i < walk->count; i++) {
        order[i] = i;
    }
    for (uint64_t i = walk->count - 1; i > 0; i--) {
        uint64_t j = lm_random(&state) % (i + 1), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (uint64_t i = 0; i < walk->count; i++) {
        *slot(walk, order[i]) = (void *)slot(walk, order[(i + 1) % walk->count]);
    }
}

static int tlb_initialise(uint64_t operations, void *cookie) {
    struct walk *walk = cookie;
    if (operations != 0) {
        return 0;
    }
    uint64_t *order = malloc((size_t)walk->count * sizeof *order);
    void *area =
        mmap(NULL, area_bytes(walk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || order == NULL) {
        free(order);
        return -1;
    }
    walk->area = area;
    /* Fails only if the kernel has no huge pages, and then none are in use. */
    (void)madvise(area, area_bytes(walk), MADV_NOHUGEPAGE);
    chain(walk, order);
    walk->at = slot(walk, order[0]);
    free(order);
    return follow((walk->count + LOADS_PER_TURN - 1) / LOADS_PER_TURN * LOADS_PER_TURN, walk);
}

static int tlb_cleanup(uint64_t operations, void *cookie) {
    struct walk *walk = cookie;
    if (operations != 0 || walk->area == NULL) {
        return 0;
    }
    int status = munmap(walk->area, area_bytes(walk));
    walk->area = NULL;
    return status;
}

/* Both walks with `count`, alternating; the minimum times, because other load can only lengthen
 * one. */
struct point {
    uint64_t count;
    double pages_ns, lines_ns;
};

enum { TURNS = 3, FIRST_COUNT = 8, MOST_POINTS = 24, AGREEMENT = 8 };
/* The first level must be found. The second can be disturbed permanently and gets at least this
 * number of attempts. */
enum { ATTEMPTS = 40, SECOND_ATTEMPTS = 4 };
enum { BRIEF_REPETITIONS = 7, BRIEF_INTERVAL_NS = 200000 };
/* Beyond a level of the TLB, a load takes longer by this fraction of a load from the first-level
 * cache. The second level takes about 7 cycles and a cached page table 20 or more, compared with 4
 * or 5 for such a load. */
static const double FIRST_STEP = 0.5, SECOND_STEP = 2;
/* Other activity evicts the second level occasionally: its end is blurred. */
static const uint64_t FINENESS[] = {64, 12};

static double least(const struct lm_samples *samples) {
    double found = samples->value_ns[0];
    for (uint64_t i = 1; i < samples->repetitions; i++) {
        found = samples->value_ns[i] < found ? samples->value_ns[i] : found;
    }
    return found;
}

static double measure_walk(struct lm_harness *harness, struct walk *walk, bool dense, bool told) {
    const struct lm_workload workload = {.initialise = tlb_initialise,
                                         .benchmark = follow,
                                         .cleanup = tlb_cleanup,
                                         .cookie = walk,
                                         .operations_per_turn = LOADS_PER_TURN};
    struct lm_samples samples;
    walk->dense = dense;
    lm_measure(harness, &workload, &samples);
    if (told) {
        const struct lm_parameter parameters[] = {
            {.name = "pages", .number = walk->count},
            {.name = "walk", .text = dense ? "lines" : "pages"}};
        const struct lm_result result = {.metric = "latency",
                                         .unit = "ns",
                                         .values = samples.value_ns,
                                         .count = samples.repetitions,
                                         .operations = samples.operations,
                                         .least = true,
                                         .parameters = parameters,
                                         .parameter_count =
                                             sizeof parameters / sizeof parameters[0]};
        lm_report(harness, &result);
    }
    double found = least(&samples);
    lm_samples_free(&samples);
    return found;
}

/* Many short timings of both walks, alternating. `told`: preceded by the regular timings, which are
 * reported. */
static struct point measure(struct lm_harness *harness, struct walk *walk, uint64_t count,
                            bool told) {
    struct point point = {.count = count, .pages_ns = INFINITY, .lines_ns = INFINITY};
    struct lm_harness brief = *harness;
    brief.settings.repetitions = BRIEF_REPETITIONS;
    brief.settings.interval_us = 0;
    brief.calibration.trusted_ns = BRIEF_INTERVAL_NS;
    walk->count = count;
    for (int turn = told ? -1 : 0; turn < TURNS; turn++) {
        struct lm_harness *own = turn < 0 ? harness : &brief;
        point.pages_ns = fmin(point.pages_ns, measure_walk(own, walk, false, turn < 0));
        point.lines_ns = fmin(point.lines_ns, measure_walk(own, walk, true, turn < 0));
    }
    return point;
}

/* Additional time of a load from a different page, in units of loads from the first-level cache. */
static double excess(const struct point *point, double load_ns) {
    return (point->pages_ns - point->lines_ns) / load_ns;
}

/* Maximum number of pages that a level holds, between `low`, which fits, and `high`, which does
 * not, with a precision of 1/`fineness`. 0: a repeated measurement does not confirm the two ends.
 */
static uint64_t search(struct lm_harness *harness, struct walk *walk, uint64_t low, uint64_t high,
                       double load_ns, double step, uint64_t fineness) {
    while (high - low > 1 + low / fineness) {
        uint64_t middle = low + (high - low) / 2;
        struct point point = measure(harness, walk, middle, false);
        if (excess(&point, load_ns) < step) {
            low = middle;
        } else {
            high = middle;
        }
    }
    struct point below = measure(harness, walk, low, false);
    struct point above = measure(harness, walk, high, false);
    return excess(&below, load_ns) < step && excess(&above, load_ns) >= step ? low : 0;
}

/* The first point from which all exceed `step`; `count` if none. */
static int first_beyond(const struct point *points, int from, int count, double load_ns,
                        double step) {
    int first = count;
    while (first > from && excess(&points[first - 1], load_ns) >= step) {
        first--;
    }
    return first;
}

/* A level is final when two searches agree: one disturbed search must not decide. */
struct level {
    uint64_t entries; /* result of the last successful search; 0: none */
    bool settled;
};

static void settle(struct level *level, uint64_t found) {
    if (found == 0) {
        return; /* the search was disturbed and gives no information */
    }
    uint64_t more = found > level->entries ? found : level->entries;
    uint64_t less = found > level->entries ? level->entries : found;
    level->settled = less > 0 && more - less <= more / AGREEMENT;
    /* The greater: a neighbor that shares the TLB reduces the number of entries, and none increases
     * it. */
    level->entries = level->settled ? more : found;
}

/* Search the unfinished levels between the points where the time steps up. Return whether all are
 * finished. */
static bool find_levels(struct lm_harness *harness, struct walk *walk, const struct point *points,
                        int count, struct level levels[2]) {
    double load_ns = points[0].lines_ns;
    for (int i = 1; i < count; i++) {
        load_ns = points[i].lines_ns < load_ns ? points[i].lines_ns : load_ns;
    }
    int first = first_beyond(points, 0, count, load_ns, FIRST_STEP);
    if (first == 0 || first == count) {
        return false;
    }
    if (!levels[0].settled) {
        settle(&levels[0], search(harness, walk, points[first - 1].count, points[first].count,
                                  load_ns, FIRST_STEP, FINENESS[0]));
    }
    /* The cost of a load from the second level, before that is full. */
    double plateau = excess(&points[first], load_ns);
    for (int i = first + 1; i < count && i < first + 3; i++) {
        double own = excess(&points[i], load_ns);
        plateau = own < plateau ? own : plateau;
    }
    double step = plateau + SECOND_STEP;
    int second = first_beyond(points, first, count, load_ns, step);
    bool is_there = second > first && second < count;
    if (!levels[1].settled && is_there) {
        settle(&levels[1], search(harness, walk, points[second - 1].count, points[second].count,
                                  load_ns, step, FINENESS[1]));
    }
    return levels[0].settled && (levels[1].settled || !is_there);
}

/* Measure doubling numbers of pages. Earlier smaller times are kept. */
static int measure_points(struct lm_harness *harness, struct walk *walk, uint64_t most_pages,
                          struct point *points, bool first) {
    int count = 0;
    for (uint64_t pages = FIRST_COUNT; pages <= most_pages; pages *= 2) {
        struct point own = measure(harness, walk, pages, first);
        struct point *kept = &points[count++];
        if (first || own.pages_ns < kept->pages_ns) {
            kept->pages_ns = own.pages_ns;
        }
        if (first || own.lines_ns < kept->lines_ns) {
            kept->lines_ns = own.lines_ns;
        }
        kept->count = pages;
    }
    return count;
}

static void report(struct lm_harness *harness, const struct walk *walk,
                   const struct level levels[2]) {
    for (uint64_t level = 1; level <= 2 && levels[level - 1].settled; level++) {
        const double count = (double)levels[level - 1].entries;
        const double bytes = count * (double)walk->page_bytes;
        const struct lm_parameter parameter = {.name = "level", .number = level};
        struct lm_result result = {.metric = "entries",
                                   .unit = "count",
                                   .values = &count,
                                   .count = 1,
                                   .parameters = &parameter,
                                   .parameter_count = 1};
        lm_report(harness, &result);
        result.metric = "reach";
        result.unit = "bytes";
        result.values = &bytes;
        lm_report(harness, &result);
    }
}

int main(int argc, char **argv) {
    uint64_t most_pages = 8192;
    struct walk walk = {.seed = lm_seed(PROGRAM), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    const struct lm_option options[] = {{.name = "--max-pages",
                                         .help = "maximum number of pages",
                                         .number = &most_pages,
                                         .minimum = 512,
                                         .maximum = UINT64_C(1) << 22}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    struct level levels[2] = {{0}};
    struct point points[MOST_POINTS];
    bool done = false;
    for (int attempt = 0; attempt < ATTEMPTS && !done; attempt++) {
        int count = measure_points(&harness, &walk, most_pages, points, attempt == 0);
        done = find_levels(&harness, &walk, points, count, levels) ||
               (levels[0].settled && attempt + 1 >= SECOND_ATTEMPTS);
    }
    if (!levels[0].settled) {
        lm_fail(&harness, "expected the same number of pages twice from which loads take longer, "
                          "got none; the machine is emulated or too busy");
    }
    report(&harness, &walk, levels);
    return lm_close(&harness);
}
