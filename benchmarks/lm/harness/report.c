/* Reports: lines of docs/protocol.md to the results, and a human-readable line to standard output.
 */
#include "lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Quartiles of fewer values are meaningless. */
enum { LEAST_FOR_QUARTILES = 4 };

static void written(struct lm_harness *harness, int status) {
    if (status < 0) {
        (void)fprintf(stderr, "%s: cannot write the results: %s\n", harness->program->name,
                      strerror(errno));
        exit(LM_EXIT_FAILED);
    }
}

/* Write a JSON string. Bytes outside printable ASCII become '?': a message may contain a path in
 * any encoding. */
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

static void write_parameters(struct lm_harness *harness, const struct lm_result *result) {
    for (size_t i = 0; i < result->parameter_count; i++) {
        const struct lm_parameter *parameter = &result->parameters[i];
        write_string(harness, parameter->name);
        if (parameter->text != NULL) {
            written(harness, fputs(": ", harness->results));
            write_string(harness, parameter->text);
            written(harness, fputs(", ", harness->results));
        } else {
            written(harness,
                    fprintf(harness->results, ": %llu, ", (unsigned long long)parameter->number));
        }
    }
    written(harness, fprintf(harness->results, "\"parallel\": %llu",
                             (unsigned long long)harness->settings.parallel));
}

void lm_report_info(struct lm_harness *harness) {
    if (harness->results == NULL) {
        return;
    }
    const struct lm_calibration *c = &harness->calibration;
    const struct lm_settings *settings = &harness->settings;
    int serving = 0, peer = 0;
    char sides[80] = "";
    if (strcmp(settings->placement, "apart") == 0 && lm_sides(&serving, &peer) == 0) {
        (void)snprintf(sides, sizeof sides, ", \"serving_processor\": %d, \"peer_processor\": %d",
                       serving, peer);
    }
    written(harness,
            fprintf(harness->results,
                    "{\"info\": {\"clock\": \"CLOCK_MONOTONIC\", \"clock_resolution_ns\": %llu, "
                    "\"clock_overhead_ns\": %.3f, \"loop_overhead_ns\": %.4f, \"subtracted\": "
                    "\"clock and loop\", \"trusted_interval_ns\": %llu, \"interval_error\": %.5f, "
                    "\"interval_trusted\": %s, \"repetitions\": %llu, \"parallel\": %llu, "
                    "\"placement\": \"%s\", \"warmup_us\": %llu%s}}\n",
                    (unsigned long long)c->clock_resolution_ns, c->clock_overhead_ns,
                    c->loop_overhead_ns, (unsigned long long)c->trusted_ns, c->interval_error,
                    c->interval_trusted ? "true" : "false",
                    (unsigned long long)settings->repetitions,
                    (unsigned long long)settings->parallel, settings->placement,
                    (unsigned long long)settings->warmup_us, sides));
    written(harness, fflush(harness->results));
}

void lm_report_lines(struct lm_harness *harness, const struct lm_result *result) {
    if (harness->results == NULL) {
        return;
    }
    for (uint64_t i = 0; i < result->count; i++) {
        written(harness, fprintf(harness->results,
                                 "{\"iteration\": %llu, \"metric\": ", (unsigned long long)i));
        write_string(harness, result->metric);
        written(harness,
                fprintf(harness->results, ", \"value\": %.9g, \"unit\": ", result->values[i]));
        write_string(harness, result->unit);
        if (result->operations != 0) {
            written(harness, fprintf(harness->results, ", \"operations\": %llu",
                                     (unsigned long long)result->operations));
        }
        written(harness, fputs(", \"parameters\": {", harness->results));
        write_parameters(harness, result);
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

void lm_report_note(struct lm_harness *harness, const char *name, const char *text) {
    if (harness->results == NULL) {
        return;
    }
    written(harness, fputs("{\"info\": {", harness->results));
    write_string(harness, name);
    written(harness, fputs(": ", harness->results));
    write_string(harness, text);
    written(harness, fputs("}}\n", harness->results));
    written(harness, fflush(harness->results));
}

static int print_parameters(const struct lm_harness *harness, const struct lm_result *result) {
    int status = printf("%s", harness->program->name);
    for (size_t i = 0; i < result->parameter_count && status >= 0; i++) {
        const struct lm_parameter *parameter = &result->parameters[i];
        status = parameter->text != NULL
                     ? printf(" %s=%s", parameter->name, parameter->text)
                     : printf(" %s=%llu", parameter->name, (unsigned long long)parameter->number);
    }
    if (status >= 0 && harness->settings.parallel > 1) {
        status = printf(" parallel=%llu", (unsigned long long)harness->settings.parallel);
    }
    return status;
}

static int print_spread(const struct lm_result *result, const double *sorted, size_t count) {
    int status = 0;
    size_t low = 0, high = 0;
    if (count >= LEAST_FOR_QUARTILES) {
        status = printf(" (quartiles %.4g and %.4g", lm_quantile(sorted, count, 0.25),
                        lm_quantile(sorted, count, 0.75));
        if (status >= 0 && lm_median_ranks(count, &low, &high)) {
            status = printf("; 95 %% interval %.4g to %.4g", sorted[low], sorted[high]);
        }
        if (status >= 0) {
            status = printf(")");
        }
    }
    if (status >= 0) {
        status = printf(", %s of %zu repetitions", result->least ? "least" : "median", count);
    }
    if (status >= 0 && result->operations != 0) {
        status = printf(" of %llu operations", (unsigned long long)result->operations);
    }
    return status >= 0 ? printf("\n") : status;
}

void lm_report(struct lm_harness *harness, const struct lm_result *result) {
    lm_report_lines(harness, result);
    size_t count = (size_t)result->count;
    double *sorted = calloc(count, sizeof *sorted);
    if (sorted == NULL) {
        lm_fail(harness, "out of memory for the results");
    }
    (void)memcpy(sorted, result->values, count * sizeof *sorted);
    lm_sort(sorted, count);
    int status = print_parameters(harness, result);
    if (status >= 0) {
        double value = result->least ? sorted[0] : lm_quantile(sorted, count, 0.5);
        status = printf(": %s %.4g %s", result->metric, value, result->unit);
    }
    if (status >= 0) {
        status = print_spread(result, sorted, count);
    }
    free(sorted);
    if (status < 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr, "%s: standard output: %s\n", harness->program->name, strerror(errno));
        exit(LM_EXIT_FAILED);
    }
}
