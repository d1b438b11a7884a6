/* From calibration to the last line: the part that a benchmark's main() calls. */
#define _POSIX_C_SOURCE 200809L

#include "lm.h"

#include <stdlib.h>

void lm_open(struct lm_harness *harness, const char *program, const struct lm_settings *settings) {
    *harness = (struct lm_harness){.program = program, .settings = *settings};
    const char *path = getenv("REGATTA_RESULTS");
    if (path != NULL) {
        harness->results = fopen(path, "a");
        if (harness->results == NULL) {
            perror(path);
            (void)fprintf(stderr, "%s: REGATTA_RESULTS cannot be opened for appending\n", program);
            exit(LM_EXIT_FAILED);
        }
    }
    lm_calibrate(&harness->calibration, settings->interval_us * 1000);
    lm_report_info(harness);
}

void lm_run(struct lm_harness *harness, const struct lm_workload *workload,
            const struct lm_series *series) {
    struct lm_samples samples = {.count = harness->settings.repetitions};
    samples.value_ns = calloc((size_t)samples.count, sizeof *samples.value_ns);
    if (samples.value_ns == NULL) {
        lm_fail(harness, "no memory for the repetitions");
    }
    char failure[200];
    if (lm_measure(&harness->calibration, workload, &samples, failure, sizeof failure) != 0) {
        free(samples.value_ns);
        lm_fail(harness, failure);
    }
    lm_report_samples(harness, series, &samples);
    lm_report_summary(harness, series, &samples);
    free(samples.value_ns);
}

int lm_close(struct lm_harness *harness) {
    if (harness->results != NULL && fclose(harness->results) != 0) {
        perror(harness->program);
        return LM_EXIT_FAILED;
    }
    harness->results = NULL;
    return 0;
}

void lm_fail(struct lm_harness *harness, const char *what) {
    (void)fprintf(stderr, "%s: %s\n", harness->program, what);
    lm_report_error(harness, what);
    (void)lm_close(harness);
    exit(LM_EXIT_FAILED);
}
