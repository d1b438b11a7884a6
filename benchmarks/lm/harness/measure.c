/*
 * One series, measured by children: length of an interval, and number of operations that fill it.
 *
 * A single child finds its loop size. Several children receive theirs. As in the paper, one child
 * alone first measures the cost of an operation. The loop then lasts at least a second at that
 * cost, so that an interval spans many time slices of the scheduler.
 */
#define _POSIX_C_SOURCE 200809L

#include "children.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The paper, "Accuracy": one second, for time slices of about 10 to 20 ms. */
static const uint64_t PARALLEL_INTERVAL_NS = 1000000000;
static const double MARGIN = 1.1;
enum { BASELINE_REPETITIONS = 5, ATTEMPTS = 4 };
/* Measurements of several processes below several time slices of any scheduler are meaningless. */
static const uint64_t LEAST_PARALLEL_NS = 100000000;
/* For one process, this fraction of an interval is enough: its error is then larger by a quarter.
 */
static const double SHORTFALL = 0.8;

static uint64_t turn_of(const struct lm_order *order) {
    uint64_t per_turn = order->workload->operations_per_turn;
    return per_turn != 0 ? per_turn : 1;
}

static int allocate(struct lm_samples *samples, uint64_t children, uint64_t repetitions,
                    bool cpu_time, char *failure) {
    *samples = (struct lm_samples){.children = children, .repetitions = repetitions};
    samples->value_ns = calloc((size_t)(children * repetitions), sizeof *samples->value_ns);
    if (cpu_time) {
        samples->cpu_ns = calloc((size_t)(children * repetitions), sizeof *samples->cpu_ns);
    }
    if (samples->value_ns == NULL || (cpu_time && samples->cpu_ns == NULL)) {
        (void)snprintf(failure, LM_FAILURE_BYTES, "out of memory for the repetitions");
        return -1;
    }
    return 0;
}

/* Number of operations that last `interval_ns`, from the cost with one child alone. */
static int baseline(struct lm_order order, uint64_t interval_ns, uint64_t *operations,
                    char *failure) {
    order.children = 1;
    order.repetitions = BASELINE_REPETITIONS;
    order.operations = 0;
    order.interval_ns = order.calibration->trusted_ns;
    struct lm_samples samples;
    uint64_t shortest_ns = 0;
    if (allocate(&samples, 1, BASELINE_REPETITIONS, false, failure) != 0) {
        return -1;
    }
    int status = lm_children_measure(&order, 0, &samples, &shortest_ns, failure);
    if (status == 0) {
        uint64_t per_turn = order.workload->operations_per_turn;
        double turn_ns = lm_median(samples.value_ns, BASELINE_REPETITIONS) *
                             (double)(per_turn != 0 ? per_turn : 1) +
                         order.calibration->loop_overhead_ns;
        *operations =
            (uint64_t)(MARGIN * (double)interval_ns / turn_ns) * (per_turn != 0 ? per_turn : 1);
    }
    lm_samples_free(&samples);
    return status;
}

static uint64_t least_interval_ns(const struct lm_harness *harness) {
    uint64_t least_ns = harness->settings.interval_us * 1000;
    if (harness->settings.parallel > 1) {
        return least_ns != 0 ? least_ns : PARALLEL_INTERVAL_NS;
    }
    return least_ns > harness->calibration.trusted_ns ? least_ns : harness->calibration.trusted_ns;
}

/* Return whether the shortest interval is long enough. A single process found its own loop size
 * with a margin, so a slightly shorter interval is still precise enough. */
static bool is_long_enough(const struct lm_order *order, uint64_t shortest_ns) {
    double least_ns = (double)order->interval_ns * (order->children == 1 ? SHORTFALL : 1);
    return (double)shortest_ns >= least_ns;
}

/* For limited intervals: a single process accepts the length; several processes need several time
 * slices. */
static int accept_limited(const struct lm_order *order, uint64_t shortest_ns, char *failure) {
    if (order->children == 1 || shortest_ns >= LEAST_PARALLEL_NS) {
        return 0;
    }
    (void)snprintf(failure, LM_FAILURE_BYTES,
                   "an interval can hold at most %llu operations, which took %llu ns; "
                   "with several processes it must last at least %llu ns; use --parallel 1",
                   (unsigned long long)order->workload->most_operations,
                   (unsigned long long)shortest_ns, (unsigned long long)LEAST_PARALLEL_NS);
    return -1;
}

/* Repeat with a longer loop while an interval is too short: the basis of the loop size (first
 * timings, or one child alone) was misleading. */
static int measure_long_enough(struct lm_order *order, uint64_t warmup_us,
                               struct lm_samples *samples, char *failure) {
    uint64_t most = order->workload->most_operations;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t shortest_ns = 0;
        if (lm_children_measure(order, warmup_us, samples, &shortest_ns, failure) != 0) {
            return -1;
        }
        if (is_long_enough(order, shortest_ns)) {
            return 0;
        }
        if (most != 0 && samples->operations + turn_of(order) > most) {
            return accept_limited(order, shortest_ns, failure);
        }
        double factor = MARGIN * (double)order->interval_ns / (double)shortest_ns;
        /* One more turn, because only whole turns run. */
        order->operations = (uint64_t)((double)samples->operations * factor) + turn_of(order);
    }
    (void)snprintf(failure, LM_FAILURE_BYTES,
                   "intervals stay shorter than the requested %llu ns: the load is too unstable",
                   (unsigned long long)order->interval_ns);
    return -1;
}

static int measure(struct lm_harness *harness, const struct lm_workload *workload,
                   struct lm_samples *samples, char *failure) {
    const struct lm_settings *settings = &harness->settings;
    struct lm_order order = {.calibration = &harness->calibration,
                             .workload = workload,
                             .placement = settings->placement,
                             .repetitions = settings->repetitions,
                             .children = settings->parallel,
                             .interval_ns = least_interval_ns(harness)};
    if (allocate(samples, order.children, order.repetitions, workload->cpu_time, failure) != 0 ||
        (order.children > 1 &&
         baseline(order, order.interval_ns, &order.operations, failure) != 0)) {
        return -1;
    }
    return measure_long_enough(&order, settings->warmup_us, samples, failure);
}

void lm_measure(struct lm_harness *harness, const struct lm_workload *workload,
                struct lm_samples *samples) {
    char failure[LM_FAILURE_BYTES] = "";
    if (measure(harness, workload, samples, failure) != 0) {
        lm_samples_free(samples);
        lm_fail(harness, failure);
    }
}

void lm_samples_free(struct lm_samples *samples) {
    free(samples->value_ns);
    free(samples->cpu_ns);
    samples->value_ns = samples->cpu_ns = NULL;
}
