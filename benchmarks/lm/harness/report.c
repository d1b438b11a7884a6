/* What is said: lines of docs/protocol.md to the results, a line for people to standard output. */
#include "lm.h"

#include <stdlib.h>

/* Fewer values have quartiles that say nothing. */
enum { LEAST_FOR_QUARTILES = 4 };

static void written(struct lm_harness *harness, int status) {
    if (status < 0) {
        perror(harness->program);
        (void)fprintf(stderr, "%s: the results could not be written\n", harness->program);
        exit(LM_EXIT_FAILED);
    }
}

/* A JSON string. Bytes outside printable ASCII become '?': a message may quote a path in any
 * encoding. */
static void write_string(struct lm_harness *harness, const char *text) {
    written(harness, fputc('"', harness->results));
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            written(harness, fputc('\\', harness->results));
        }
        written(harness, fputc(byte >= 0x20 && byte < 0x7f ? byte : '?', harness->results));
    }
    written(harness, fputc('"', harness->results));
}

static void write_parameters(struct lm_harness *harness, const struct lm_series *series) {
    for (size_t i = 0; i < series->parameter_count; i++) {
        const struct lm_parameter *parameter = &series->parameters[i];
        written(harness, fputs(i == 0 ? "" : ", ", harness->results));
        write_string(harness, parameter->name);
        written(harness, fputs(": ", harness->results));
        if (parameter->text != NULL) {
            write_string(harness, parameter->text);
        } else {
            written(harness,
                    fprintf(harness->results, "%llu", (unsigned long long)parameter->number));
        }
    }
}

void lm_report_info(struct lm_harness *harness) {
    if (harness->results == NULL) {
        return;
    }
    const struct lm_calibration *c = &harness->calibration;
    written(
        harness,
        fprintf(harness->results,
                "{\"info\": {\"clock\": \"CLOCK_MONOTONIC\", \"clock_resolution_ns\": %llu, "
                "\"clock_overhead_ns\": %.3f, \"loop_overhead_ns\": %.4f, \"interval_ns\": %llu, "
                "\"interval_error\": %.5f, \"interval_trusted\": %s, \"repetitions\": %llu}}\n",
                (unsigned long long)c->clock_resolution_ns, c->clock_overhead_ns,
                c->loop_overhead_ns, (unsigned long long)c->interval_ns, c->interval_error,
                c->interval_trusted ? "true" : "false",
                (unsigned long long)harness->settings.repetitions));
    written(harness, fflush(harness->results));
}

void lm_report_samples(struct lm_harness *harness, const struct lm_series *series,
                       const struct lm_samples *samples) {
    if (harness->results == NULL) {
        return;
    }
    for (uint64_t i = 0; i < samples->count; i++) {
        written(harness, fprintf(harness->results,
                                 "{\"iteration\": %llu, \"metric\": ", (unsigned long long)i));
        write_string(harness, series->metric);
        written(harness, fprintf(harness->results,
                                 ", \"value\": %.9g, \"unit\": \"ns\", \"operations\": %llu, "
                                 "\"parameters\": {",
                                 samples->value_ns[i], (unsigned long long)samples->operations));
        write_parameters(harness, series);
        written(harness, fputs("}}\n", harness->results));
    }
    written(harness, fflush(harness->results));
}

void lm_report_error(struct lm_harness *harness, const char *what) {
    if (harness->results == NULL) {
        return;
    }
    written(harness, fputs("{\"error\": ", harness->results));
    write_string(harness, what);
    written(harness, fputs("}\n", harness->results));
    written(harness, fflush(harness->results));
}

void lm_report_summary(const struct lm_harness *harness, const struct lm_series *series,
                       struct lm_samples *samples) {
    size_t count = (size_t)samples->count;
    lm_sort(samples->value_ns, count);
    int status = printf("%s", harness->program);
    for (size_t i = 0; i < series->parameter_count && status >= 0; i++) {
        const struct lm_parameter *parameter = &series->parameters[i];
        status = parameter->text != NULL
                     ? printf(" %s=%s", parameter->name, parameter->text)
                     : printf(" %s=%llu", parameter->name, (unsigned long long)parameter->number);
    }
    if (status >= 0) {
        status = printf(": %s %.4g ns", series->metric, lm_quantile(samples->value_ns, count, 0.5));
    }
    if (status >= 0 && count >= LEAST_FOR_QUARTILES) {
        status = printf(" (quartiles %.4g and %.4g)", lm_quantile(samples->value_ns, count, 0.25),
                        lm_quantile(samples->value_ns, count, 0.75));
    }
    if (status >= 0) {
        status =
            printf(", median of %llu repetitions of %llu operations\n",
                   (unsigned long long)samples->count, (unsigned long long)samples->operations);
    }
    if (status < 0 || fflush(stdout) != 0) {
        perror(harness->program);
        exit(LM_EXIT_FAILED);
    }
}
