/*
 * Parallelism of the processor's operations of arithmetic: how many of a kind are under way at once
 * where none has to wait for another.
 *
 * With one chain each operation waits for the one before, and takes its latency. More chains,
 * independent of each other, fill the time of waiting, until all the units that can do such an
 * operation are busy: latency over the time that an operation then takes is how many are under way.
 */
#define _POSIX_C_SOURCE 200809L

#include "operations.h"

static const char PROGRAM[] = "par_ops";
static const char SUMMARY[] =
    "Measures how many operations of arithmetic are under way at once: 1 chain, and 3, 6 and 12\n"
    "in parallel, in each of which an operation needs the result of the one before. The\n"
    "result is the time of an operation with one chain over its time with the best number of\n"
    "chains; each is the least of three rounds of --repetitions short intervals. mod is measured\n"
    "together with an xor; mix is an addition, a multiplication and a division. A result near 12\n"
    "says only that there are at least as many. Metric: parallelism, a ratio, one value.";

/* All numbers of chains are measured in turns, so often, so that a change of the processor's
 * frequency falls on each of them. */
enum { ROUNDS = 3 };
/* Half a millisecond or so: short enough that some intervals are free of any disturbance, and
 * thousands of steps of the clock. */
static const uint64_t MOST_OPERATIONS = UINT64_C(1) << 20;
static const uint64_t MOST_DIVISIONS = UINT64_C(1) << 17;

/* The least time of an operation with so many chains: as with a clock rate, whatever disturbs can
 * only make it longer, and the two times that are compared are disturbed at different times. */
struct tried {
    uint64_t operations;
    double least_ns;
};

static void try_once(struct lm_harness *harness, const struct ops_operation *operation,
                     size_t index, struct tried *tried) {
    struct lm_workload workload = ops_workload(operation, index);
    workload.most_operations = operation->divides ? MOST_DIVISIONS : MOST_OPERATIONS;
    struct lm_samples samples;
    lm_measure(harness, &workload, &samples);
    for (uint64_t i = 0; i < samples.repetitions; i++) {
        double value_ns = samples.value_ns[i];
        bool is_first = tried->operations == 0 && i == 0;
        tried->least_ns = is_first || value_ns < tried->least_ns ? value_ns : tried->least_ns;
    }
    tried->operations = samples.operations;
    lm_samples_free(&samples);
}

static void measure(struct lm_harness *harness, const struct ops_operation *operation) {
    struct tried tried[OPS_CHAIN_NUMBERS] = {{0}};
    size_t best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < OPS_CHAIN_NUMBERS; i++) {
            try_once(harness, operation, i, &tried[i]);
        }
    }
    for (size_t i = 1; i < OPS_CHAIN_NUMBERS; i++) {
        best = tried[i].least_ns < tried[best].least_ns ? i : best;
    }
    double parallelism = tried[0].least_ns / tried[best].least_ns;
    const struct lm_parameter parameters[] = {{.name = "operation", .text = operation->name},
                                              {.name = "type", .text = operation->type}};
    const struct lm_result result = {.metric = "parallelism",
                                     .unit = "ratio",
                                     .values = &parallelism,
                                     .count = 1,
                                     .operations = tried[best].operations,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report(harness, &result);
}

int main(int argc, char **argv) {
    static const char single[] =
        "it is one core whose units are counted; processes that share it would measure "
        "the scheduler, and others do not change it";
    return ops_main(PROGRAM, SUMMARY, single, measure, argc, argv);
}
