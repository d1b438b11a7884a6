/*
 * The timing harness: what a micro-benchmark gives it, and what it does for all of them.
 *
 * A benchmark is one shape, `struct lm_workload`: initialise, benchmark, cleanup and a cookie. Its
 * main() is
 *
 *     lm_options_parse(...)        the command line; a wrong one ends the program with exit code 2
 *     lm_open(&harness, ...)       measures the clock and the loop, finds the shortest trustworthy
 * interval lm_run(&harness, ...)        once a series: finds the loop size, repeats, reports return
 * lm_close(&harness)
 *
 * Method: C. Staelin, "lmbench - an extensible micro-benchmark suite", HPL-2004-213, 2004, the
 * section "Timing harness". Written from the paper. It has one process; no state is global, so that
 * each of several children can have a harness of its own.
 */
#ifndef LM_H
#define LM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes: 0 is success. */
enum { LM_EXIT_FAILED = 1, LM_EXIT_USAGE = 2 };

/* The paper, "lmbench history": eleven is the smallest number of repetitions that gave stable
 * results. */
#define LM_DEFAULT_REPETITIONS 11

/* ---- what a benchmark provides ---- */

/* Returns 0, or -1 with errno set; a failure ends the series and the program. */
typedef int lm_step(uint64_t operations, void *cookie);

struct lm_workload {
    /* Optional. Called once with 0 before anything is measured, then with the loop size before each
     * interval. */
    lm_step *initialise;
    /* Does the operation `operations` times (always a multiple of operations_per_turn). Only this
     * is timed. */
    lm_step *benchmark;
    /* Optional. Called with the loop size after each interval, and once with 0 at the end, also
     * after a failure. */
    lm_step *cleanup;
    void *cookie;
    /* How many operations one turn of the benchmark's loop holds (>= 1): the loop's cost is
     * subtracted per turn. */
    uint64_t operations_per_turn;
};

struct lm_parameter {
    const char *name;
    const char *text; /* NULL: the parameter is `number` */
    uint64_t number;
};

/* A series: one metric with one set of parameters. */
struct lm_series {
    const char *metric;
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

struct lm_settings {
    uint64_t repetitions;
    uint64_t interval_us; /* an interval is at least this long; 0: as short as can be trusted */
};

/* Parses the command line. --help ends the program with 0, a mistake with LM_EXIT_USAGE and a
 * message. */
void lm_options_parse(const char *program, const char *summary, const struct lm_option *options,
                      size_t option_count, struct lm_settings *settings, int argc, char **argv);

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
    uint64_t interval_ns;  /* the shortest trustworthy interval, or what was asked for if longer */
    double interval_error; /* relative error found at the interval (see calibrate.c) */
    bool interval_trusted; /* false: no interval tried was precise enough, the longest is used */
};

uint64_t lm_now_ns(void);
void lm_clock_measure(struct lm_calibration *calibration);
void lm_calibrate(struct lm_calibration *calibration, uint64_t minimum_interval_ns);

/* ---- measuring (measure.c) ---- */

struct lm_samples {
    double *value_ns; /* per operation, in the order measured */
    uint64_t count;
    uint64_t operations; /* loop size behind each value */
};

/* Measures one series. `samples` has room for `count` values. Returns 0, or -1 with a message in
 * `failure`. */
int lm_measure(const struct lm_calibration *calibration, const struct lm_workload *workload,
               struct lm_samples *samples, char *failure, size_t failure_size);

/* Sorts `values` in place. */
void lm_sort(double *values, size_t count);

/* Quantile of sorted values by linear interpolation (Hyndman and Fan 1996, type 7); count >= 1. */
double lm_quantile(const double *sorted, size_t count, double probability);

/* ---- the whole (run.c, report.c) ---- */

struct lm_harness {
    const char *program;
    struct lm_settings settings;
    struct lm_calibration calibration;
    FILE *results; /* NULL when REGATTA_RESULTS is not set: only the lines for people are printed */
};

void lm_open(struct lm_harness *harness, const char *program, const struct lm_settings *settings);
void lm_run(struct lm_harness *harness, const struct lm_workload *workload,
            const struct lm_series *series);
int lm_close(struct lm_harness *harness);

/* Reports that the measurement failed, to people and in the results, and ends the program. */
_Noreturn void lm_fail(struct lm_harness *harness, const char *what);

void lm_report_info(struct lm_harness *harness);
void lm_report_samples(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples);
void lm_report_error(struct lm_harness *harness, const char *what);
/* Prints the series' line for people. Sorts the values. */
void lm_report_summary(const struct lm_harness *harness, const struct lm_series *series,
                       struct lm_samples *samples);

#endif
