/*
 * How many loads the memory system works on at the same time.
 *
 * One chain of dependent loads waits for each load; several chains that do not depend on each other
 * wait together. The time of a load in one chain divided by the least time of a load in several is
 * the parallelism of the level of memory that the size selects.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "harness/lm.h"
#include "harness/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char PROGRAM[] = "par_mem";
static const char SUMMARY[] =
    "Measures the parallelism of memory: chains of dependent loads, 1 to 24 side by side, over an\n"
    "area of each size in random order. Metrics: latency, in ns per load, for each number of "
    "chains,\n"
    "and parallelism, a ratio: the latency with one chain divided by the least latency "
    "with\n"
    "any number of chains.";
static const char SINGLE[] = "memory accesses of several processes would interfere";

enum { LINE_BYTES = 64, MOST_CHAINS = 24, LOADS_PER_CHAIN = 16, LEAST_LINES = 64 };
/* A multiple of all numbers of chains. */
enum { MARKS = 48 };
enum { ATTEMPTS = 20, ROUNDS = 5, BRIEF_REPETITIONS = 7, BRIEF_INTERVAL_NS = 200000 };
static const double TOLERANCE = 1.05;
static const size_t HUGE_PAGE_BYTES = (size_t)2 << 20;

struct chains {
    uint64_t bytes, seed, walks;
    char *area;
    void **mark[MARKS];     /* places evenly spaced on the cycle */
    void **at[MOST_CHAINS]; /* where each walk stands */
};

/* Each walk is a variable of its own, in a register where there are enough; X(i) for each. */
#define EACH_1(X) X(0)
#define EACH_2(X) EACH_1(X) X(1)
#define EACH_3(X) EACH_2(X) X(2)
#define EACH_4(X) EACH_3(X) X(3)
#define EACH_6(X) EACH_4(X) X(4) X(5)
#define EACH_8(X) EACH_6(X) X(6) X(7)
#define EACH_12(X) EACH_8(X) X(8) X(9) X(10) X(11)
#define EACH_16(X) EACH_12(X) X(12) X(13) X(14) X(15)
#define EACH_24(X) EACH_16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#define BEGIN(i) void **at##i = chains->at[i];
#define STEP(i) at##i = (void **)*at##i;
#define END(i) chains->at[i] = at##i;
#define TIMES_4(steps) steps steps steps steps
#define CHASE(count)                                                                               \
    static int chase_##count(uint64_t operations, void *cookie) {                                  \
        struct chains *chains = cookie;                                                            \
        EACH_##count(BEGIN);                                                                       \
        for (uint64_t turn = operations / (LOADS_PER_CHAIN * (count)); turn > 0; turn--) {         \
            TIMES_4(TIMES_4(EACH_##count(STEP)))                                                   \
        }                                                                                          \
        EACH_##count(END);                                                                         \
        lm_keep(chains);                                                                           \
        return 0;                                                                                  \
    }
CHASE(1)
CHASE(2)
CHASE(3)
CHASE(4)
CHASE(6)
CHASE(8)
CHASE(12)
CHASE(16)
CHASE(24)

struct width {
    uint64_t count;
    lm_step *benchmark;
};

static const struct width WIDTHS[] = {{1, chase_1},   {2, chase_2},   {3, chase_3},
                                      {4, chase_4},   {6, chase_6},   {8, chase_8},
                                      {12, chase_12}, {16, chase_16}, {24, chase_24}};
enum { WIDTH_COUNT = sizeof WIDTHS / sizeof WIDTHS[0] };

static void **slot(const struct chains *chains, uint64_t index) {
    return (void **)(void *)(chains->area + index * LINE_BYTES);
}

/* One random cycle through all lines (Sattolo 1986). The walks start evenly spaced on it: each
 * comes to a line after all others together have been through the whole area. */
static void chain(struct chains *chains) {
    uint64_t count = chains->bytes / LINE_BYTES, state = chains->seed;
    for (uint64_t i = 0; i < count; i++) {
        *slot(chains, i) = slot(chains, i);
    }
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = lm_random(&state) % i;
        void *swapped = *slot(chains, i);
        *slot(chains, i) = *slot(chains, j);
        *slot(chains, j) = swapped;
    }
    void **at = slot(chains, 0);
    for (uint64_t i = 0, mark = 0; mark < MARKS; i++, at = (void **)*at) {
        while (mark < MARKS && i == mark * count / MARKS) {
            chains->mark[mark++] = at;
        }
    }
}

/* The area is made once a size, by main(): the children only read it. */
static void make_area(struct lm_harness *harness, struct chains *chains) {
    void *area = NULL;
    int status = posix_memalign(&area, HUGE_PAGE_BYTES, (size_t)chains->bytes);
    if (status != 0) {
        char what[100];
        (void)snprintf(what, sizeof what, "an area of %llu bytes: %s",
                       (unsigned long long)chains->bytes, strerror(status));
        lm_fail(harness, what);
    }
    /* Huge pages where there are any, so that page tables wait less among the loads. */
    (void)madvise(area, (size_t)chains->bytes, MADV_HUGEPAGE);
    chains->area = area;
    chain(chains);
}

static int par_initialise(uint64_t operations, void *cookie) {
    struct chains *chains = cookie;
    for (uint64_t i = 0; operations == 0 && i < chains->walks; i++) {
        chains->at[i] = chains->mark[i * MARKS / chains->walks];
    }
    return 0;
}

/* Times with so many chains; freed by lm_samples_free(). */
static struct lm_samples measure_width(struct lm_harness *harness, struct chains *chains,
                                       const struct width *width) {
    const struct lm_workload workload = {.initialise = par_initialise,
                                         .benchmark = width->benchmark,
                                         .cookie = chains,
                                         .operations_per_turn = width->count * LOADS_PER_CHAIN};
    struct lm_samples samples;
    chains->walks = width->count;
    lm_measure(harness, &workload, &samples);
    return samples;
}

static void report_width(struct lm_harness *harness, struct chains *chains,
                         const struct width *width) {
    struct lm_samples samples = measure_width(harness, chains, width);
    const struct lm_parameter parameters[] = {{.name = "size_bytes", .number = chains->bytes},
                                              {.name = "chains", .number = width->count}};
    const struct lm_result result = {.metric = "latency",
                                     .unit = "ns",
                                     .values = samples.value_ns,
                                     .count = samples.repetitions,
                                     .operations = samples.operations,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report(harness, &result);
    lm_samples_free(&samples);
}

/* Many short timings of all widths, in rounds; what is kept is the least so far: who else uses the
 * machine can only lengthen one, and a busy time does not fall on one width alone. */
static void measure_least(const struct lm_harness *harness, struct chains *chains,
                          double *least_ns) {
    struct lm_harness brief = *harness;
    brief.settings.repetitions = BRIEF_REPETITIONS;
    brief.settings.interval_us = 0;
    brief.calibration.trusted_ns = BRIEF_INTERVAL_NS;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WIDTH_COUNT; i++) {
            struct lm_samples samples = measure_width(&brief, chains, &WIDTHS[i]);
            for (uint64_t r = 0; r < samples.repetitions; r++) {
                least_ns[i] = fmin(least_ns[i], samples.value_ns[r]);
            }
            lm_samples_free(&samples);
        }
    }
}

/* The parallelism; 0: more than the number of chains explains, so that one was disturbed. */
static double parallelism_of(const double *least_ns) {
    double most = 1;
    for (int i = 1; i < WIDTH_COUNT; i++) {
        double own = least_ns[0] / least_ns[i];
        if (own > TOLERANCE * (double)WIDTHS[i].count) {
            return 0;
        }
        most = own > most ? own : most;
    }
    return most;
}

static void measure(struct lm_harness *harness, struct chains *chains) {
    double least_ns[WIDTH_COUNT], parallelism = 0;
    make_area(harness, chains);
    for (int attempt = 0; attempt < ATTEMPTS && parallelism == 0; attempt++) {
        /* Afresh: a moment at which the processor ran faster would stay the least for ever. */
        for (int i = 0; i < WIDTH_COUNT; i++) {
            least_ns[i] = INFINITY;
        }
        measure_least(harness, chains, least_ns);
        parallelism = parallelism_of(least_ns);
    }
    for (int i = 0; i < WIDTH_COUNT && parallelism != 0; i++) {
        report_width(harness, chains, &WIDTHS[i]);
    }
    free(chains->area);
    if (parallelism == 0) {
        lm_fail(harness, "several chains are faster than their number explains, however often they "
                         "are measured: the machine is too busy");
    }
    const struct lm_parameter parameter = {.name = "size_bytes", .number = chains->bytes};
    const struct lm_result result = {.metric = "parallelism",
                                     .unit = "ratio",
                                     .values = &parallelism,
                                     .count = 1,
                                     .parameters = &parameter,
                                     .parameter_count = 1};
    lm_report(harness, &result);
}

int main(int argc, char **argv) {
    const char *sizes = "16,512,65536";
    struct chains chains = {.seed = lm_seed(PROGRAM)};
    const struct lm_option options[] = {
        {.name = "--kib", .help = "sizes of the area, in KiB", .text = &sizes}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    uint64_t kib[LM_MOST_SIZES] = {0};
    lm_options_parse(&program, &settings, argc, argv);
    const size_t count = lm_sizes_parse(PROGRAM, "--kib", sizes, kib);
    for (size_t i = 0; i < count; i++) {
        if (kib[i] * 1024 / LINE_BYTES < LEAST_LINES) {
            lm_usage_error(PROGRAM, "--kib", "sizes of at least 4 KiB", sizes);
        }
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < count; i++) {
        chains.bytes = kib[i] * 1024;
        measure(&harness, &chains);
    }
    return lm_close(&harness);
}
