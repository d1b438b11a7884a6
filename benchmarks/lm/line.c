/*
 * Size of a cache line.
 *
 * Two loads, the second at an address that differs from the first's by a power of two: within one
 * line the second finds what the first has brought in; beyond it, it has to wait as long again. The
 * pairs are chained in random order through an area that the first cache does not hold. Pairs, and
 * no walk with a stride: prefetchers guess strides, and a walk then shows two lines as one.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "harness/lm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

static const char PROGRAM[] = "line";
static const char SUMMARY[] =
    "Finds the size of a cache line: the distance from which on the second of two loads takes\n"
    "longer than from the line that the first has loaded into the first cache. The lines of the\n"
    "chained pairs exceed the first cache. Metrics: latency, in ns per pair, for\n"
    "each distance, and line_size, in bytes: one value, from the least of many short timings.";
static const char SINGLE[] = "memory accesses of several processes would interfere";

/* One pair lies in each region, so that a line of up to 512 bytes can be found. */
enum { REGION_BYTES = 1024, LEAST_DISTANCE = 8, DISTANCES = 7 };
static const size_t HUGE_PAGE_BYTES = (size_t)2 << 20;
/* A pair in two lines takes at least so many times what one in a line takes: with 5 and 14 cycles
 * for the first and the second cache it is 28 to 19. */
static const double STEP = 1.2;
/* Pairs within a line differ by no more than this. */
static const double FLATNESS = 1.1;
enum { ATTEMPTS = 8, ROUNDS = 5, BRIEF_REPETITIONS = 9, BRIEF_INTERVAL_NS = 200000 };

struct pairs {
    uint64_t count, distance_bytes, seed;
    char *area;
    void **at;
};

/* Two loads: at[0] leads to the other place of the pair, which leads to the next pair. */
#define PAIR                                                                                       \
    at = (void **)*at;                                                                             \
    at = (void **)*at;
#define PAIR_4 PAIR PAIR PAIR PAIR
#define PAIR_16 PAIR_4 PAIR_4 PAIR_4 PAIR_4
enum { PAIRS_PER_TURN = 16 };

/* Not instrumented in a sanitized build, where checks would hide the step. */
__attribute__((no_sanitize("address", "undefined"))) static int follow(uint64_t operations,
                                                                       void *cookie) {
    struct pairs *pairs = cookie;
    void **at = pairs->at;
    for (uint64_t turn = operations / PAIRS_PER_TURN; turn > 0; turn--) {
        PAIR_16
    }
    lm_keep(at);
    pairs->at = at;
    return 0;
}

/* A pair in each region, at a random place of it, which end comes first being random too: no
 * prefetcher can learn where the second lies. Regions come in a random cycle (Sattolo 1986). */
static int chain(struct pairs *pairs) {
    uint64_t count = pairs->count, state = pairs->seed;
    uint64_t *order = malloc((size_t)count * sizeof *order);
    if (order == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = lm_random(&state) % i, swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    void **first = NULL, **last = NULL;
    uint64_t region = 0;
    for (uint64_t i = 0; i < count; i++) {
        /* One cycle: order is a permutation without shorter ones. */
        region = order[region];
        uint64_t place = lm_random(&state) % REGION_BYTES / LEAST_DISTANCE * LEAST_DISTANCE;
        char *base = pairs->area + region * REGION_BYTES;
        void **from = (void **)(void *)(base + place);
        void **to = (void **)(void *)(base + (place ^ pairs->distance_bytes));
        *from = (void *)to;
        if (last != NULL) {
            *last = (void *)from;
        } else {
            first = from;
        }
        last = to;
    }
    *last = (void *)first;
    pairs->at = first;
    free(order);
    return 0;
}

static int line_initialise(uint64_t operations, void *cookie) {
    struct pairs *pairs = cookie;
    if (operations != 0) {
        return 0;
    }
    void *area = NULL;
    const size_t bytes = (size_t)(pairs->count * REGION_BYTES);
    int status = posix_memalign(&area, HUGE_PAGE_BYTES, bytes);
    if (status != 0) {
        errno = status;
        return -1;
    }
    /* Huge pages where there are any: misses of the TLB would only blur the step. */
    (void)madvise(area, bytes, MADV_HUGEPAGE);
    pairs->area = area;
    return chain(pairs);
}

static int line_cleanup(uint64_t operations, void *cookie) {
    struct pairs *pairs = cookie;
    if (operations == 0) {
        free(pairs->area);
        pairs->area = NULL;
    }
    return 0;
}

/* Times of pairs at one distance; freed by lm_samples_free(). */
static struct lm_samples measure(struct lm_harness *harness, struct pairs *pairs, int distance) {
    const struct lm_workload workload = {.initialise = line_initialise,
                                         .benchmark = follow,
                                         .cleanup = line_cleanup,
                                         .cookie = pairs,
                                         .operations_per_turn = PAIRS_PER_TURN};
    struct lm_samples samples;
    pairs->distance_bytes = (uint64_t)LEAST_DISTANCE << distance;
    lm_measure(harness, &workload, &samples);
    return samples;
}

/* The least time at each distance, of many short ones in rounds: who else uses the machine can only
 * lengthen one, and a busy time does not fall on one distance alone. */
static void measure_least(const struct lm_harness *harness, struct pairs *pairs, double *least_ns) {
    struct lm_harness brief = *harness;
    brief.settings.repetitions = BRIEF_REPETITIONS;
    brief.settings.interval_us = 0;
    brief.calibration.trusted_ns = BRIEF_INTERVAL_NS;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < DISTANCES; i++) {
            struct lm_samples samples = measure(&brief, pairs, i);
            for (uint64_t r = 0; r < samples.repetitions; r++) {
                double own_ns = samples.value_ns[r];
                least_ns[i] = round + r == 0 ? own_ns : fmin(least_ns[i], own_ns);
            }
            lm_samples_free(&samples);
        }
    }
}

static void report(struct lm_harness *harness, struct pairs *pairs, uint64_t found_bytes) {
    for (int i = 0; i < DISTANCES; i++) {
        struct lm_samples samples = measure(harness, pairs, i);
        const struct lm_parameter parameters[] = {
            {.name = "distance_bytes", .number = pairs->distance_bytes},
            {.name = "pairs", .number = pairs->count}};
        const struct lm_result result = {.metric = "latency",
                                         .unit = "ns",
                                         .values = samples.value_ns,
                                         .count = samples.repetitions,
                                         .operations = samples.operations,
                                         .parameters = parameters,
                                         .parameter_count =
                                             sizeof parameters / sizeof parameters[0]};
        lm_report(harness, &result);
        lm_samples_free(&samples);
    }
    const double line = (double)found_bytes;
    const struct lm_result result = {
        .metric = "line_size", .unit = "bytes", .values = &line, .count = 1};
    lm_report(harness, &result);
}

/* Whether `first` is the first distance beyond a line: all nearer ones take about the same, all
 * from it on a step longer. `pair_ns` ascends by distance. */
static bool is_step(const double *pair_ns, int first) {
    double least = pair_ns[0], within = pair_ns[0], beyond = pair_ns[first];
    for (int i = 1; i < first; i++) {
        least = pair_ns[i] < least ? pair_ns[i] : least;
        within = pair_ns[i] > within ? pair_ns[i] : within;
    }
    for (int i = first + 1; i < DISTANCES; i++) {
        beyond = pair_ns[i] < beyond ? pair_ns[i] : beyond;
    }
    return within <= FLATNESS * least && beyond >= STEP * within;
}

/* The size of a line; 0: there is no step. */
static uint64_t line_bytes(const double *least_ns) {
    for (int first = 1; first < DISTANCES; first++) {
        if (is_step(least_ns, first)) {
            return (uint64_t)LEAST_DISTANCE << first;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    struct pairs pairs = {.count = 4096, .seed = lm_seed(PROGRAM)};
    const struct lm_option options[] = {{.name = "--pairs",
                                         .help = "number of chained pairs of loads",
                                         .number = &pairs.count,
                                         .minimum = 16,
                                         .maximum = UINT64_C(1) << 24}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    uint64_t before = 0;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double least_ns[DISTANCES] = {0};
        measure_least(&harness, &pairs, least_ns);
        uint64_t found = line_bytes(least_ns);
        /* Twice the same: one disturbed attempt must not decide. */
        if (found != 0 && found == before) {
            report(&harness, &pairs, found);
            return lm_close(&harness);
        }
        before = found;
    }
    lm_fail(&harness, "expected a distance from which on pairs take 20 % longer, twice the same, "
                      "got none; the first cache holds all lines (raise --pairs), or the machine "
                      "is emulated or too busy");
}
