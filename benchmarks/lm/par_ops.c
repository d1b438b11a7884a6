/*
 * Parallelism of arithmetic operations: the number of independent operations of a kind that a
 * processor executes simultaneously.
 *
 * With one chain each operation waits for the previous one and takes its latency. Further
 * independent chains fill the waiting time, until all execution units for the operation are busy.
 * The parallelism is the latency divided by the time per operation at this point.
 */
#define _POSIX_C_SOURCE 200809L

#include "operations.h"

static const char PROGRAM[] = "par_ops";
static const char SUMMARY[] =
    "Measure the number of arithmetic operations that execute simultaneously, with 1, 3, 6 and 12\n"
    "parallel chains. Within a chain each operation depends on the result of the previous one.\n"
    "The result is the time of an operation with one chain divided by its time with the best\n"
    "number of chains; each is the minimum of three rounds of --repetitions short intervals. mod\n"
    "is measured together with an xor; mix is an addition, a multiplication and a division. A\n"
    "result near 12 is a lower bound.\n"
    "Metric: parallelism, a ratio, one value.";

/* Number of rounds over all numbers of chains, which alternate so that a change of the processor
 * frequency affects all of them. */
enum { ROUNDS = 3 };
/* About half a millisecond: short enough that some intervals are undisturbed, and thousands of
 * clock steps. */
static const uint64_t MOST_OPERATIONS = UINT64_C(1) << 20;
static const uint64_t MOST_DIVISIONS = UINT64_C(1) << 17;

/* Minimum time of an operation with the given number of chains. As for the frequency, disturbances
 * can only lengthen it, and they affect the two compared times differently. */
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
        "the program measures the units of one core; processes that share it would measure "
        "the scheduler, and others have no effect";
    return ops_main(PROGRAM, SUMMARY, single, measure, argc, argv);
}
