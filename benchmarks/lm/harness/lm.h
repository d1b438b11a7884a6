/*
 * The timing harness: what a micro-benchmark gives it, and what it does for all of them.
 *
 * A benchmark is one shape, `struct lm_workload`: initialise, benchmark and cleanup over
 * (operations, cookie). The simplest main() is one call of lm_latency_main(); the others are
 *
 *     lm_options_parse(&program, &settings, argc, argv)  a wrong command line ends with exit code 2
 *     lm_open(&harness, &program, &settings)             clock, loop and shortest trusted interval
 *     lm_run(&harness, &workload, &series)               once a series: measures and reports
 *     return lm_close(&harness)
 *
 * Every series is measured by children of the program, one or more (--parallel), so that one
 * process is measured in the same way as many. Method: C. Staelin, "lmbench - an extensible
 * micro-benchmark suite", HPL-2004-213, 2004, the section "Timing harness". Written from the paper.
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

/* The paper, "lmbench history": eleven is the smallest number of repetitions that gave stable
 * results. */
#define LM_DEFAULT_REPETITIONS 11

/* ---- what a benchmark provides ---- */

/* Returns 0, or -1 with errno set; a failure ends the series and the program. */
typedef int lm_step(uint64_t operations, void *cookie);

struct lm_workload {
    /* Optional. Called in each child once with 0 before anything is measured, then with the loop
     * size before each interval. */
    lm_step *initialise;
    /* Does the operation `operations` times (always a multiple of operations_per_turn). Only this
     * is timed. */
    lm_step *benchmark;
    /* Optional. Called with the loop size after each interval, and once with 0 at the end, also
     * after a failure. */
    lm_step *cleanup;
    /* Each child has its own copy of what it points to, as it was when lm_run() was called. */
    void *cookie;
    /* How many operations one turn of the benchmark's loop holds; 0: one. The loop's cost is
     * subtracted per turn. */
    uint64_t operations_per_turn;
    /* No interval holds more operations than this, even where it is then shorter than can be
     * trusted otherwise; 0: no limit. For operations that can be done only so often (a cold cache
     * is cold once). */
    uint64_t most_operations;
    /* The metric cpu_time is reported too: what the child itself, all its threads, used of the
     * processor, in ns an operation. Far less than the latency: it has waited. */
    bool cpu_time;
};

struct lm_parameter {
    const char *name;
    const char *text; /* NULL: the parameter is `number` */
    uint64_t number;
};

/* A series: one quantity with one set of parameters (`parallel` is added to them). */
struct lm_series {
    /* 0: the metric is latency, in ns an operation. Otherwise bandwidth, in MB/s (10^6 bytes). */
    uint64_t bytes_per_operation;
    const struct lm_parameter *parameters;
    size_t parameter_count;
};

/* Keeps a result alive: the compiler must make `pointer`, and may not move memory accesses past
 * this. */
static inline void lm_keep(const void *pointer) {
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* ---- command line (options.c) ---- */

struct lm_option {
    const char *name; /* with its dashes */
    const char *help;
    uint64_t *number; /* exactly one of number, text is set; it holds the default */
    uint64_t minimum, maximum;
    const char **text;
    const char *const *choices; /* NULL-terminated; NULL: any text */
};

struct lm_program {
    const char *name, *summary;
    /* Why more than one process at a time cannot be measured; NULL: it can. */
    const char *single;
    const struct lm_option *options;
    size_t option_count;
    /* NULL-terminated choices for --placement, the default first; NULL: free, compact, scattered.
     */
    const char *const *placements;
};

struct lm_settings {
    uint64_t repetitions;
    uint64_t interval_us;  /* an interval is at least this long; 0: as short as can be trusted */
    uint64_t parallel;     /* how many children run the benchmark at the same time, >= 1 */
    uint64_t warmup_us;    /* how long they all run before the first is timed, at least */
    const char *placement; /* free, compact, scattered or apart (placement.c) */
};

/* Parses the command line. --help ends the program with 0, a mistake with LM_EXIT_USAGE and a
 * message. */
void lm_options_parse(const struct lm_program *program, struct lm_settings *settings, int argc,
                      char **argv);

/* Ends the program with LM_EXIT_USAGE. */
_Noreturn void lm_usage_error(const char *program, const char *where, const char *expected,
                              const char *got);

/* Reads a decimal integer from `text`, all of it. Returns false when it is none or out of range. */
bool lm_number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number);

/* ---- clock and calibration (clock.c, calibrate.c) ---- */

struct lm_calibration {
    uint64_t clock_resolution_ns; /* smallest step that the clock was seen to make */
    double clock_overhead_ns;     /* what reading it adds to an interval */
    double loop_overhead_ns;      /* one turn of an empty loop */
    uint64_t trusted_ns;          /* the shortest trustworthy interval */
    double interval_error;        /* relative error found there (see calibrate.c) */
    bool interval_trusted; /* false: no interval tried was precise enough, the longest is used */
};

uint64_t lm_now_ns(void);
void lm_clock_measure(struct lm_calibration *calibration);
void lm_calibrate(struct lm_calibration *calibration);

/* ---- the whole (run.c) ---- */

struct lm_harness {
    const struct lm_program *program;
    struct lm_settings settings;
    struct lm_calibration calibration;
    FILE *results; /* NULL when REGATTA_RESULTS is not set: only the lines for people are printed */
};

void lm_open(struct lm_harness *harness, const struct lm_program *program,
             const struct lm_settings *settings);

/* Measures a series and reports it. */
void lm_run(struct lm_harness *harness, const struct lm_workload *workload,
            const struct lm_series *series);

int lm_close(struct lm_harness *harness);

/* Reports that the measurement failed, to people and in the results, and ends the program. */
_Noreturn void lm_fail(struct lm_harness *harness, const char *what);

/* All of a benchmark's main() that has one series without parameters or options: the latency of
 * `benchmark`. */
int lm_latency_main(const char *name, const char *summary, lm_step *benchmark, int argc,
                    char **argv);

/* ---- measuring without reporting, for what is computed from several times (measure.c) ---- */

/* What the children found; freed by lm_samples_free(). */
struct lm_samples {
    double
        *value_ns;  /* ns an operation: repetition r of child c is value_ns[c * repetitions + r] */
    double *cpu_ns; /* the same of cpu_time; NULL: the workload has not asked for it */
    uint64_t repetitions, children;
    uint64_t operations; /* loop size behind each value */
};

/* Ends the program by lm_fail() when it fails. */
void lm_measure(struct lm_harness *harness, const struct lm_workload *workload,
                struct lm_samples *samples);
void lm_samples_free(struct lm_samples *samples);
/* What lm_run() reports of them: the middle child of each repetition, and of several children the
 * others' metrics too. */
void lm_report_samples(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples);

/* ---- reporting (report.c) ---- */

/* Values of one metric, one a repetition. */
struct lm_result {
    const char *metric, *unit; /* a lower-case name; one of Regatta's units */
    const double *values;
    uint64_t count, operations;
    bool least; /* the least value is the result for people, not the median (mhz) */
    const struct lm_parameter *parameters;
    size_t parameter_count;
};

void lm_report_info(struct lm_harness *harness);
void lm_report_error(struct lm_harness *harness, const char *what);
/* One more word of information on the measurement, to the results only. */
void lm_report_note(struct lm_harness *harness, const char *name, const char *text);
/* To the results only. `parallel` is added to the parameters. */
void lm_report_lines(struct lm_harness *harness, const struct lm_result *result);
/* To the results, and a line for people. */
void lm_report(struct lm_harness *harness, const struct lm_result *result);

/* ---- order statistics (values.c) ---- */

/* Sorts `values` in place. */
void lm_sort(double *values, size_t count);

/* Quantile of sorted values by linear interpolation (Hyndman and Fan 1996, type 7); count >= 1. */
double lm_quantile(const double *sorted, size_t count, double probability);

/* Median of values in any order, which stay as they are; count >= 1. NAN when memory is short. */
double lm_median(const double *values, size_t count);

/* The narrowest pair of ranks, symmetric about the middle, between which the median of the
 * population lies with at least 95 % confidence. Returns false when there are too few values (< 6).
 * `low` and `high` count from 0. Source: binomial(count, 1/2), e.g. Conover 1999, section 3.2. */
bool lm_median_ranks(size_t count, size_t *low, size_t *high);

/* ---- for a benchmark's own use (child.c, placement.c, helper.c, random.c, resources.c) ---- */

/* Which of the children this process is, 0 .. parallel - 1: for files and ports of its own. */
unsigned lm_child_index(void);

/* What is between the two, in a child's benchmark(), is not part of the interval: for what must be
 * made ready again too often for `initialise`. */
void lm_pause(void);
void lm_resume(void);

/* Placement "apart": a child that serves has the last processor that may be used, its peer another
 * core's where there is one. Tells which; returns -1 with errno. The same number twice: they share
 * the only one. */
int lm_sides(int *serving, int *peer);
/* For a helper of a child placed so: puts this process on the peer's processor; does nothing with
 * other placements. Returns 0, or -1 with errno. */
int lm_place_peer(void);
/* In a child: whether its peer has a processor of its own, all of its time. */
bool lm_has_own_peer(void);

/* A process beside the benchmark: the other end of a pipe, a server. It runs `run` and exits with
 * what that returns; it is killed when the process that started it ends, however that ends.
 * Returns its id, or -1 with errno. */
pid_t lm_helper_start(int (*run)(void *cookie), void *cookie);
/* Ends a helper and waits for it. Returns 0; -1 with errno when it had died by itself with a
 * failure. */
int lm_helper_stop(pid_t helper);

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
uint64_t lm_random(uint64_t *state);
/* REGATTA_SEED, 1 where it is not set; a wrong one is a usage error. */
uint64_t lm_seed(const char *program);

/* Raises the limit of open descriptors so that `count` more can be opened by each process; ends
 * the program by lm_fail() where the system does not allow as many. */
void lm_need_descriptors(struct lm_harness *harness, uint64_t count);

/* The page faults of this process so far; -1 with errno. */
int lm_count_faults(uint64_t *count);

#endif
