/*
 * The timing harness: the interface of a micro-benchmark.
 *
 * A benchmark is a `struct lm_workload`: initialise, benchmark and cleanup over (operations,
 * cookie). The simplest main() is one call of lm_latency_main(); the others are
 *
 *     lm_options_parse(&program, &settings, argc, argv)  exits with code 2 on a usage error
 *     lm_open(&harness, &program, &settings)             clock, loop and shortest interval
 *     lm_run(&harness, &workload, &series)               once per series: measures and reports
 *     return lm_close(&harness)
 *
 * Every series is measured by one or more children of the program (--parallel), so the method is
 * the same for one process and for several. Method: C. Staelin, "lmbench - an extensible
 * micro-benchmark suite", HPL-2004-213, 2004, section "Timing harness". Written from the paper.
 */
#ifndef LM_H
#define LM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit codes: 0 is success. */
enum { LM_EXIT_FAILED = 1, LM_EXIT_USAGE = 2 };

/* The paper, "lmbench history": eleven is the smallest number of repetitions with stable results.
 */
#define LM_DEFAULT_REPETITIONS 11

/* ---- provided by a benchmark ---- */

/* Return 0, or -1 with errno set; a failure ends the series and the program. */
typedef int lm_step(uint64_t operations, void *cookie);

struct lm_workload {
    /* Optional. Called in each child once with 0 before the measurement, then with the loop size
     * before each interval. */
    lm_step *initialise;
    /* Perform the operation `operations` times (always a multiple of operations_per_turn). Only
     * this function is timed. */
    lm_step *benchmark;
    /* Optional. Called with the loop size after each interval, and once with 0 at the end, also
     * after a failure. */
    lm_step *cleanup;
    /* Each child has a copy of the object, as it was when lm_run() was called. */
    void *cookie;
    /* Number of operations in one turn of the benchmark's loop; 0: one. The loop cost is subtracted
     * per turn. */
    uint64_t operations_per_turn;
    /* Maximum number of operations per interval, even if the interval is then shorter than a
     * reliable one; 0: no limit. For operations that cannot be repeated freely (a cold cache is
     * cold once). */
    uint64_t most_operations;
    /* Also report the metric cpu_time: processor time of the child with all its threads, in ns per
     * operation. A value far below the latency means that the child waited. */
    bool cpu_time;
};

struct lm_parameter {
    const char *name;
    const char *text; /* NULL: the parameter is `number` */
    uint64_t number;
};

/* A series: one quantity with one set of parameters (`parallel` is added to them). */
struct lm_series {
    /* 0: the metric is latency, in ns per operation. Otherwise bandwidth, in MB/s (10^6 bytes). */
    uint64_t bytes_per_operation;
    const struct lm_parameter *parameters;
    size_t parameter_count;
};

/* Keep a result alive: the compiler must compute `pointer`, and may not move memory accesses past
 * this call. */
static inline void lm_keep(const void *pointer) {
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* ---- command line (options.c) ---- */

struct lm_option {
    const char *name; /* including the dashes */
    const char *help;
    uint64_t *number; /* exactly one of number and text is set; it holds the default */
    uint64_t minimum, maximum;
    const char **text;
    const char *const *choices; /* NULL-terminated; NULL: any text */
};

struct lm_program {
    const char *name, *summary;
    /* Reason why only one process at a time can be measured; NULL: several are possible. */
    const char *single;
    const struct lm_option *options;
    size_t option_count;
    /* NULL-terminated choices for --placement, the default first; NULL: free, compact, scattered.
     */
    const char *const *placements;
};

struct lm_settings {
    uint64_t repetitions;
    uint64_t interval_us;  /* minimum length of an interval; 0: the shortest reliable one */
    uint64_t parallel;     /* number of children that run the benchmark simultaneously, >= 1 */
    uint64_t warmup_us;    /* minimum time that all children run before the first is timed */
    const char *placement; /* free, compact, scattered or apart (placement.c) */
};

/* Parse the command line. --help ends the program with 0; an error ends it with LM_EXIT_USAGE and a
 * message. */
void lm_options_parse(const struct lm_program *program, struct lm_settings *settings, int argc,
                      char **argv);

/* End the program with LM_EXIT_USAGE. */
_Noreturn void lm_usage_error(const char *program, const char *where, const char *expected,
                              const char *got);

/* Parse the whole of `text` as a decimal integer. Return false if it is invalid or out of range. */
bool lm_number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number);

/* ---- clock and calibration (clock.c, calibrate.c) ---- */

struct lm_calibration {
    uint64_t clock_resolution_ns; /* smallest observed step of the clock */
    double clock_overhead_ns;     /* time that reading it adds to an interval */
    double loop_overhead_ns;      /* one turn of an empty loop */
    uint64_t trusted_ns;          /* the shortest reliable interval */
    double interval_error;        /* relative error of this interval (see calibrate.c) */
    bool interval_trusted;        /* false: no candidate was precise enough, the longest is used */
};

uint64_t lm_now_ns(void);
void lm_clock_measure(struct lm_calibration *calibration);
void lm_calibrate(struct lm_calibration *calibration);

/* ---- the complete run (run.c) ---- */

struct lm_harness {
    const struct lm_program *program;
    struct lm_settings settings;
    struct lm_calibration calibration;
    FILE *results; /* NULL if REGATTA_RESULTS is not set: only human-readable lines are printed */
};

void lm_open(struct lm_harness *harness, const struct lm_program *program,
             const struct lm_settings *settings);

/* Measure and report a series. */
void lm_run(struct lm_harness *harness, const struct lm_workload *workload,
            const struct lm_series *series);

int lm_close(struct lm_harness *harness);

/* Report a failed measurement to the user and in the results, and end the program. */
_Noreturn void lm_fail(struct lm_harness *harness, const char *what);

/* Complete main() of a benchmark with one series without parameters or options: the latency of
 * `benchmark`. */
int lm_latency_main(const char *name, const char *summary, lm_step *benchmark, int argc,
                    char **argv);

/* ---- measuring without reporting, for results that combine several times (measure.c) ---- */

/* Measurements of the children; free with lm_samples_free(). */
struct lm_samples {
    double
        *value_ns;  /* ns per operation: repetition r of child c is value_ns[c * repetitions + r] */
    double *cpu_ns; /* the same for cpu_time; NULL: the workload did not request it */
    uint64_t repetitions, children;
    uint64_t operations; /* loop size of each value */
};

/* On failure, end the program by lm_fail(). */
void lm_measure(struct lm_harness *harness, const struct lm_workload *workload,
                struct lm_samples *samples);
void lm_samples_free(struct lm_samples *samples);
/* Report as lm_run() does: the median child of each repetition, and for several children also the
 * further metrics. */
void lm_report_samples(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples);

/* ---- reporting (report.c) ---- */

/* Values of one metric, one per repetition. */
struct lm_result {
    const char *metric, *unit; /* a lower-case name; one of Regatta's units */
    const double *values;
    uint64_t count, operations;
    bool least; /* the minimum is the printed result instead of the median (mhz) */
    const struct lm_parameter *parameters;
    size_t parameter_count;
};

void lm_report_info(struct lm_harness *harness);
void lm_report_error(struct lm_harness *harness, const char *what);
/* Add a key to the information on the measurement, in the results only. */
void lm_report_note(struct lm_harness *harness, const char *name, const char *text);
/* Write to the results only. `parallel` is added to the parameters. */
void lm_report_lines(struct lm_harness *harness, const struct lm_result *result);
/* Write to the results, and print a human-readable line. */
void lm_report(struct lm_harness *harness, const struct lm_result *result);

/* ---- order statistics (values.c) ---- */

/* Sort `values` in place. */
void lm_sort(double *values, size_t count);

/* Quantile of sorted values by linear interpolation (Hyndman and Fan 1996, type 7); count >= 1. */
double lm_quantile(const double *sorted, size_t count, double probability);

/* Median of values in any order, which are not modified; count >= 1. NAN if out of memory. */
double lm_median(const double *values, size_t count);

/* The narrowest pair of ranks, symmetric about the middle, that encloses the population median with
 * at least 95 % confidence. Return false for too few values (< 6). `low` and `high` count from 0.
 * Source: binomial(count, 1/2), e.g. Conover 1999, section 3.2. */
bool lm_median_ranks(size_t count, size_t *low, size_t *high);

/* ---- helpers for benchmarks (child.c, placement.c, helper.c, random.c, resources.c) ---- */

/* Index of this child, 0 .. parallel - 1: for separate files and ports. */
unsigned lm_child_index(void);

/* Exclude the time between the two calls in a child's benchmark() from the interval. For
 * preparations that are needed more often than `initialise` runs. */
void lm_pause(void);
void lm_resume(void);

/* Placement "apart": a child that serves uses the last available processor, and its peer one of
 * another core if available. Return the processor, or -1 with errno. Equal numbers: both share the
 * only processor. */
int lm_sides(int *serving, int *peer);
/* For a helper of such a child: place this process on the peer's processor; no effect with other
 * placements. Return 0, or -1 with errno. */
int lm_place_peer(void);
/* In a child: return whether its peer has an exclusive processor. */
bool lm_has_own_peer(void);

/* A helper process: the other end of a pipe, or a server. It runs `run` and exits with the returned
 * code. It is killed when the process that started it ends for any reason. Return its id, or -1
 * with errno. */
pid_t lm_helper_start(int (*run)(void *cookie), void *cookie);
/* End a helper and wait for it. Return 0, or -1 with errno if it had already failed. */
int lm_helper_stop(pid_t helper);

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
uint64_t lm_random(uint64_t *state);
/* REGATTA_SEED, default 1; an invalid value is a usage error. */
uint64_t lm_seed(const char *program);

/* Raise the limit of open descriptors by `count` per process; end the program by lm_fail() if the
 * system does not allow it. */
void lm_need_descriptors(struct lm_harness *harness, uint64_t count);

/* Number of page faults of this process; -1 with errno. */
int lm_count_faults(uint64_t *count);

#endif
