/*
 * How many pages the TLB holds.
 *
 * Loads that depend on each other go through one line in each of n pages, in random order. As long
 * as the TLB holds n pages they take what as many lines take that lie densely in few pages; beyond,
 * each waits for the next level of the TLB, and beyond that for the page table. The dense walk has
 * the same number of lines, so that what the caches cost is in both and cancels.
 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */

#include "harness/lm.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "tlb";
static const char SUMMARY[] =
    "Finds how many pages the levels of the TLB hold: from how many pages on a load takes longer\n"
    "than with as many lines in few pages. Metrics: latency, in ns per load, for numbers of pages\n"
    "that double (walk=pages: a line in each; walk=lines: as many lines side by side), and for\n"
    "each level that is found twice alike within --max-pages entries, a count, and reach, in\n"
    "bytes: one value each, from the least of many short timings; the first level to a part in\n"
    "64, the second, which other processes empty now and then, to one in 12.";
static const char SINGLE[] = "memory accesses of several processes would interfere";

/* Lines are taken as 64 bytes long. Where they are longer, some lie side by side in one. */
enum { LINE_BYTES = 64, LOADS_PER_TURN = 64 };

struct walk {
    uint64_t count; /* of pages, or of lines */
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

/* In successive pages successive lines, so that all sets of the caches are used alike. */
static void **slot(const struct walk *walk, uint64_t index) {
    uint64_t at = index * LINE_BYTES;
    if (!walk->dense) {
        at = index * walk->page_bytes + at % walk->page_bytes;
    }
    return (void **)(void *)(walk->area + at);
}

/* One random cycle through all slots (Sattolo 1986). Written in random order, too, so that pages
 * that follow one another in the area are not neighbours in memory, which some TLBs would hold as
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
    /* Fails only where the kernel knows no huge pages: there are none then. */
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

/* Both walks with `count`, in turns; the least times, because others can only lengthen one. */
struct point {
    uint64_t count;
    double pages_ns, lines_ns;
};

enum { TURNS = 3, FIRST_COUNT = 8, MOST_POINTS = 24, AGREEMENT = 8 };
/* The first level must be found; for the second, which may be disturbed all the time, so many
 * attempts are made at least. */
enum { ATTEMPTS = 40, SECOND_ATTEMPTS = 4 };
enum { BRIEF_REPETITIONS = 7, BRIEF_INTERVAL_NS = 200000 };
/* Beyond a level of the TLB a load takes longer by this part of a load from the first cache. The
 * second level is some 7 cycles away and a page table in the caches 20 and more, where such a load
 * takes 4 or 5. */
static const double FIRST_STEP = 0.5, SECOND_STEP = 2;
/* The second level is emptied now and then, by whatever else runs: its end is blurred. */
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

/* Many short timings of both walks, in turns. `told`: before them as long ones as were asked for,
 * which are reported. */
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

/* How much longer a load takes for being in another page, in loads from the first cache. */
static double excess(const struct point *point, double load_ns) {
    return (point->pages_ns - point->lines_ns) / load_ns;
}

/* The most pages that a level holds, between `low`, which it does, and `high`, which it does not,
 * to a part of one in `fineness`. 0: the two ends do not prove so when they are measured again. */
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

/* The first of the points from which on all exceed `step`; `count` where none is. */
static int first_beyond(const struct point *points, int from, int count, double load_ns,
                        double step) {
    int first = count;
    while (first > from && excess(&points[first - 1], load_ns) >= step) {
        first--;
    }
    return first;
}

/* A level is settled when two searches agree: one disturbed search must not decide. */
struct level {
    uint64_t entries; /* what the last search found that found any; 0: none did */
    bool settled;
};

static void settle(struct level *level, uint64_t found) {
    if (found == 0) {
        return; /* the search was disturbed, and tells nothing */
    }
    uint64_t more = found > level->entries ? found : level->entries;
    uint64_t less = found > level->entries ? level->entries : found;
    level->settled = less > 0 && more - less <= more / AGREEMENT;
    /* The greater: a neighbour that shares the TLB leaves fewer entries, and none adds any. */
    level->entries = level->settled ? more : found;
}

/* Searches what is not settled yet, between those of the points where the time steps up. Returns
 * whether nothing is left to search. */
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
    /* What a load from the second level costs shows where that is not full yet. */
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

/* Measures numbers of pages that double. What was measured before stays where it was less. */
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
        lm_fail(&harness, "expected a number of pages from which on loads take longer, twice the "
                          "same, got none; the machine is emulated or too busy");
    }
    report(&harness, &walk, levels);
    return lm_close(&harness);
}
