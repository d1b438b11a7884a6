/*
 * Latency of the processor's operations of arithmetic: how long an operation takes before one that
 * needs its result can start.
 */
#define _POSIX_C_SOURCE 200809L

#define OPS_ONE_CHAIN
#include "operations.h"

static const char PROGRAM[] = "lat_ops";
static const char SUMMARY[] =
    "Measures the latency of xor, add, mul, div and mod on int and int64, and of add, mul and div\n"
    "on float and double: each operation needs the result of the one before. mix is an addition,\n"
    "a multiplication and a division, counted as one. mod is measured together with an xor, whose\n"
    "latency is subtracted. Metric: latency, in ns per operation.";

/* What an exclusive or of that type takes: the least, for what disturbed it must not be subtracted
 * from each repetition of another operation. */
static double xor_ns(struct lm_harness *harness, const char *type) {
    for (size_t i = 0; i < OPS_COUNT; i++) {
        if (ops_is_chosen(&OPS_ALL[i], "xor", type)) {
            const struct lm_workload workload = ops_workload(&OPS_ALL[i], 0);
            struct lm_samples samples;
            lm_measure(harness, &workload, &samples);
            lm_sort(samples.value_ns, (size_t)samples.repetitions);
            double found_ns = samples.value_ns[0];
            lm_samples_free(&samples);
            return found_ns;
        }
    }
    lm_fail(harness, "there is no xor of this type");
}

static void measure_without_xor(struct lm_harness *harness, const struct ops_operation *operation,
                                const struct lm_series *series) {
    const struct lm_workload workload = ops_workload(operation, 0);
    double subtracted_ns = xor_ns(harness, operation->type);
    struct lm_samples samples;
    lm_measure(harness, &workload, &samples);
    for (uint64_t i = 0; i < samples.repetitions; i++) {
        samples.value_ns[i] -= subtracted_ns;
        if (samples.value_ns[i] <= 0) {
            lm_samples_free(&samples);
            lm_fail(harness,
                    "a mod and an xor took no longer than an xor alone: the machine is too busy");
        }
    }
    const struct lm_result result = {.metric = "latency",
                                     .unit = "ns",
                                     .values = samples.value_ns,
                                     .count = samples.repetitions,
                                     .operations = samples.operations,
                                     .parameters = series->parameters,
                                     .parameter_count = series->parameter_count};
    lm_report(harness, &result);
    lm_samples_free(&samples);
}

static void measure(struct lm_harness *harness, const struct ops_operation *operation) {
    const struct lm_parameter parameters[] = {{.name = "operation", .text = operation->name},
                                              {.name = "type", .text = operation->type}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    if (operation->has_xor) {
        measure_without_xor(harness, operation, &series);
    } else {
        const struct lm_workload workload = ops_workload(operation, 0);
        lm_run(harness, &workload, &series);
    }
}

int main(int argc, char **argv) {
    static const char single[] =
        "an operation inside a core takes as long whatever other cores do; processes "
        "that share one would measure the scheduler";
    return ops_main(PROGRAM, SUMMARY, single, measure, argc, argv);
}
