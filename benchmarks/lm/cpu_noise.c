/*
 * What interrupts a processor: the same work again and again, each time timed, so that whatever
 * else the processor did shows as a longer time. Fixed work quanta: M. Sottile and R. Minnich,
 * "Analysis of microbenchmarks for performance tuning of clusters", CLUSTER 2004.
 *
 * It runs on one processor, the one that it is put on; the results tell which that was.
 */
#define _GNU_SOURCE /* sched_getcpu */

#include "harness/lm.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "cpu_noise";
static const char SUMMARY[] =
    "Does the same work of --quantum-us again and again for --period-ms, and looks at the times.\n"
    "A quantum that takes more than 5 % and 1 us longer than the median was interrupted. Metrics:\n"
    "quantum_median, quantum_p99, in ns; slowdown_p99, the latter as a multiple of the former;\n"
    "interrupted, the time lost in interrupted quanta as a percentage of all time; interruptions,\n"
    "how many quanta in a hundred; interruption_longest, in ns. Parameter processor: where it ran.";
static const char SINGLE[] = "it measures one processor; `taskset` chooses which";

static const double INTERRUPTED_RATIO = 0.05;
static const double LEAST_INTERRUPTION_NS = 1000;
enum { CALIBRATIONS = 20, CALIBRATION_TURNS = 10000, SEVERAL = -2, NONE_YET = -1 };
static const uint64_t LEAST_QUANTA = 100; /* a 99th percentile of fewer is the maximum */

enum metric { MEDIAN, P99, SLOWDOWN, INTERRUPTED, INTERRUPTIONS, LONGEST, METRICS };
static const char *const METRIC[METRICS] = {"quantum_median", "quantum_p99",
                                            "slowdown_p99",   "interrupted",
                                            "interruptions",  "interruption_longest"};
static const char *const UNIT[METRICS] = {"ns", "ns", "ratio", "percent", "percent", "ns"};

struct noise {
    uint64_t turns, quanta;
    double *quantum_ns;
    int processor; /* NONE_YET, SEVERAL, or the one all quanta ended on */
};

/* Each multiplication waits for the one before. */
static void work(uint64_t turns) {
    uint64_t x = turns | 1;
    for (uint64_t i = 0; i < turns; i++) {
        x *= UINT64_C(0x5851f42d4c957f2d);
        __asm__ volatile("" : "+r"(x));
    }
}

/* How many turns a quantum has: by the least time, so that no interruption is taken for work. */
static uint64_t turns_of(uint64_t quantum_us) {
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < CALIBRATIONS; i++) {
        uint64_t start_ns = lm_now_ns();
        work(CALIBRATION_TURNS);
        uint64_t elapsed_ns = lm_now_ns() - start_ns;
        least_ns = elapsed_ns < least_ns ? elapsed_ns : least_ns;
    }
    uint64_t turns = quantum_us * 1000 * CALIBRATION_TURNS / (least_ns > 0 ? least_ns : 1);
    return turns > 0 ? turns : 1;
}

static void look_where(struct noise *noise) {
    int processor = sched_getcpu();
    if (noise->processor == NONE_YET) {
        noise->processor = processor;
    } else if (noise->processor != processor) {
        noise->processor = SEVERAL;
    }
}

/* One quantum begins when the one before ends, so that no time is left out. */
static void spend(struct noise *noise) {
    uint64_t before_ns = lm_now_ns();
    for (uint64_t i = 0; i < noise->quanta; i++) {
        work(noise->turns);
        look_where(noise);
        uint64_t after_ns = lm_now_ns();
        noise->quantum_ns[i] = (double)(after_ns - before_ns);
        before_ns = after_ns;
    }
}

/* Sorts the times. */
static void judge(const struct noise *noise, double *value[METRICS], uint64_t repetition) {
    double *const sorted = noise->quantum_ns;
    size_t count = (size_t)noise->quanta;
    double total_ns = 0, lost_ns = 0;
    uint64_t interrupted = 0;
    lm_sort(sorted, count);
    double median_ns = lm_quantile(sorted, count, 0.5);
    double allowed_ns = median_ns * INTERRUPTED_RATIO;
    allowed_ns = allowed_ns > LEAST_INTERRUPTION_NS ? allowed_ns : LEAST_INTERRUPTION_NS;
    for (size_t i = 0; i < count; i++) {
        total_ns += sorted[i];
        if (sorted[i] - median_ns > allowed_ns) {
            lost_ns += sorted[i] - median_ns;
            interrupted++;
        }
    }
    value[MEDIAN][repetition] = median_ns;
    value[P99][repetition] = lm_quantile(sorted, count, 0.99);
    value[SLOWDOWN][repetition] = value[P99][repetition] / median_ns;
    value[INTERRUPTED][repetition] = 100 * lost_ns / total_ns;
    value[INTERRUPTIONS][repetition] = 100 * (double)interrupted / (double)count;
    value[LONGEST][repetition] = interrupted > 0 ? sorted[count - 1] - median_ns : 0;
}

static void report(struct lm_harness *harness, const struct noise *noise, uint64_t quantum_us,
                   double *value[METRICS]) {
    char processor[20] = "several";
    if (noise->processor >= 0) {
        (void)snprintf(processor, sizeof processor, "%d", noise->processor);
    }
    const struct lm_parameter parameters[] = {{.name = "processor", .text = processor},
                                              {.name = "quantum_us", .number = quantum_us}};
    for (int metric = 0; metric < METRICS; metric++) {
        const struct lm_result result = {.metric = METRIC[metric],
                                         .unit = UNIT[metric],
                                         .values = value[metric],
                                         .count = harness->settings.repetitions,
                                         .operations = noise->quanta,
                                         .parameters = parameters,
                                         .parameter_count =
                                             sizeof parameters / sizeof parameters[0]};
        lm_report(harness, &result);
    }
}

static void measure(struct lm_harness *harness, uint64_t quantum_us, uint64_t period_ms) {
    uint64_t repetitions = harness->settings.repetitions;
    struct noise noise = {.quanta = period_ms * 1000 / quantum_us, .processor = NONE_YET};
    double *value[METRICS];
    noise.quantum_ns = malloc((size_t)noise.quanta * sizeof(double));
    value[0] = malloc((size_t)repetitions * METRICS * sizeof(double));
    if (noise.quantum_ns == NULL || value[0] == NULL) {
        lm_fail(harness, "no memory for the times");
    }
    for (int metric = 1; metric < METRICS; metric++) {
        value[metric] = value[0] + (uint64_t)metric * repetitions;
    }
    /* Every page is there before a time is written to it. */
    (void)memset(noise.quantum_ns, 0, (size_t)noise.quanta * sizeof(double));
    noise.turns = turns_of(quantum_us);
    for (uint64_t i = 0; i < repetitions; i++) {
        spend(&noise);
        judge(&noise, value, i);
    }
    report(harness, &noise, quantum_us, value);
    free(value[0]);
    free(noise.quantum_ns);
}

int main(int argc, char **argv) {
    uint64_t quantum_us = 50, period_ms = 20;
    const struct lm_option options[] = {
        {.name = "--quantum-us",
         .help = "duration of the repeated work",
         .number = &quantum_us,
         .minimum = 10,
         .maximum = 100000},
        {.name = "--period-ms",
         .help = "duration of a repetition without interruptions",
         .number = &period_ms,
         .minimum = 1,
         .maximum = 60000},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    if (period_ms * 1000 / quantum_us < LEAST_QUANTA) {
        lm_usage_error(PROGRAM, "--period-ms", "at least 100 quanta", "fewer");
    }
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    measure(&harness, quantum_us, period_ms);
    return lm_close(&harness);
}
