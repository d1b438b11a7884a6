/* The complete run, from calibration to the last line: called by a benchmark's main(). */
#define _POSIX_C_SOURCE 200809L

#include "lm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void lm_open(struct lm_harness *harness, const struct lm_program *program,
             const struct lm_settings *settings) {
    *harness = (struct lm_harness){.program = program, .settings = *settings};
    const char *path = getenv("REGATTA_RESULTS");
    if (path != NULL) {
        /* "e": programs executed by a benchmark do not inherit this descriptor. */
        harness->results = fopen(path, "ae");
        if (harness->results == NULL) {
            (void)fprintf(stderr, "%s: REGATTA_RESULTS: cannot open %s for appending: %s\n",
                          program->name, path, strerror(errno));
            exit(LM_EXIT_FAILED);
        }
    }
    lm_calibrate(&harness->calibration);
    lm_report_info(harness);
}

/* Aggregate of one repetition over all children. */
struct across {
    double median, least, greatest, sum;
    double rate; /* operations per second of all children */
};

static struct across across_children(const struct lm_samples *samples, uint64_t repetition,
                                     double *sorted, double numerator) {
    struct across across = {0};
    for (uint64_t child = 0; child < samples->children; child++) {
        double value_ns = samples->value_ns[child * samples->repetitions + repetition];
        /* Bandwidth: bytes per ns are GB/s, or 1000 MB/s. */
        sorted[child] = numerator > 0 ? numerator * 1000 / value_ns : value_ns;
        across.sum += sorted[child];
        across.rate += 1e9 / value_ns;
    }
    lm_sort(sorted, (size_t)samples->children);
    across.median = lm_quantile(sorted, (size_t)samples->children, 0.5);
    across.least = sorted[0];
    across.greatest = sorted[samples->children - 1];
    return across;
}

enum column { MIDDLE, FASTEST, SLOWEST, SYSTEM, COLUMNS };

/* One row per column, one value per repetition. */
static void tabulate(const struct lm_samples *samples, uint64_t bytes_per_operation, double *sorted,
                     double *table) {
    bool bandwidth = bytes_per_operation != 0;
    for (uint64_t i = 0; i < samples->repetitions; i++) {
        struct across across = across_children(samples, i, sorted, (double)bytes_per_operation);
        table[MIDDLE * samples->repetitions + i] = across.median;
        table[FASTEST * samples->repetitions + i] = bandwidth ? across.greatest : across.least;
        table[SLOWEST * samples->repetitions + i] = bandwidth ? across.least : across.greatest;
        table[SYSTEM * samples->repetitions + i] = bandwidth ? across.sum : across.rate;
    }
}

static void report_all(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples, const double *table) {
    static const char *const latency[] = {"latency", "latency_fastest", "latency_slowest",
                                          "rate_system"};
    static const char *const bandwidth[] = {"bandwidth", "bandwidth_fastest", "bandwidth_slowest",
                                            "bandwidth_system"};
    bool is_bandwidth = series->bytes_per_operation != 0;
    struct lm_result result = {.unit = is_bandwidth ? "MB/s" : "ns",
                               .count = samples->repetitions,
                               .operations = samples->operations,
                               .parameters = series->parameters,
                               .parameter_count = series->parameter_count};
    int columns = samples->children == 1 ? 1 : COLUMNS;
    for (int column = 0; column < columns; column++) {
        result.metric = is_bandwidth ? bandwidth[column] : latency[column];
        result.values = table + (uint64_t)column * samples->repetitions;
        if (column == SYSTEM && !is_bandwidth) {
            result.unit = "ops/s";
        }
        if (column == MIDDLE) {
            lm_report(harness, &result);
        } else {
            lm_report_lines(harness, &result);
        }
    }
}

/* To the results only; for several children, the median child of each repetition. */
static void report_cpu_time(struct lm_harness *harness, const struct lm_series *series,
                            const struct lm_samples *samples, double *sorted, double *middle) {
    for (uint64_t i = 0; i < samples->repetitions; i++) {
        for (uint64_t child = 0; child < samples->children; child++) {
            sorted[child] = samples->cpu_ns[child * samples->repetitions + i];
        }
        middle[i] = lm_median(sorted, (size_t)samples->children);
    }
    const struct lm_result result = {.metric = "cpu_time",
                                     .unit = "ns",
                                     .values = middle,
                                     .count = samples->repetitions,
                                     .operations = samples->operations,
                                     .parameters = series->parameters,
                                     .parameter_count = series->parameter_count};
    lm_report_lines(harness, &result);
}

void lm_report_samples(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples) {
    double *sorted = calloc((size_t)samples->children, sizeof *sorted);
    double *table = calloc((size_t)(COLUMNS * samples->repetitions), sizeof *table);
    if (sorted == NULL || table == NULL) {
        free(sorted);
        free(table);
        lm_fail(harness, "out of memory for the results");
    }
    tabulate(samples, series->bytes_per_operation, sorted, table);
    report_all(harness, series, samples, table);
    if (samples->cpu_ns != NULL) {
        report_cpu_time(harness, series, samples, sorted, table);
    }
    free(sorted);
    free(table);
}

void lm_run(struct lm_harness *harness, const struct lm_workload *workload,
            const struct lm_series *series) {
    struct lm_samples samples;
    lm_measure(harness, workload, &samples);
    lm_report_samples(harness, series, &samples);
    lm_samples_free(&samples);
}

int lm_latency_main(const char *name, const char *summary, lm_step *benchmark, int argc,
                    char **argv) {
    const struct lm_program program = {.name = name, .summary = summary};
    const struct lm_workload workload = {.benchmark = benchmark};
    const struct lm_series series = {0};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}

int lm_close(struct lm_harness *harness) {
    if (harness->results != NULL && fclose(harness->results) != 0) {
        perror(harness->program->name);
        return LM_EXIT_FAILED;
    }
    harness->results = NULL;
    return 0;
}

void lm_fail(struct lm_harness *harness, const char *what) {
    (void)fprintf(stderr, "%s: %s\n", harness->program->name, what);
    lm_report_error(harness, what);
    (void)lm_close(harness);
    exit(LM_EXIT_FAILED);
}
