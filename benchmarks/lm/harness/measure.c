/* One series: the loop size is found, then the interval is repeated. Nothing is printed here. */
#define _POSIX_C_SOURCE 200809L

#include "lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A loop of so many operations that is still too short does nothing: the compiler has dropped the
 * work. */
static const uint64_t MOST_OPERATIONS = UINT64_C(1) << 42;
/* The loop is made a little longer than the interval, so that most repetitions are not below it. */
static const double MARGIN = 1.1;
static const double GROWTH = 10;

static int describe(char *failure, size_t failure_size, const char *step) {
    (void)snprintf(failure, failure_size, "%s: %s", step, strerror(errno));
    return -1;
}

static int call(lm_step *step, const char *name, uint64_t operations, void *cookie, char *failure,
                size_t failure_size) {
    if (step == NULL) {
        return 0;
    }
    errno = 0;
    return step(operations, cookie) == 0 ? 0 : describe(failure, failure_size, name);
}

static int time_interval(const struct lm_workload *workload, uint64_t operations,
                         double *elapsed_ns, char *failure, size_t failure_size) {
    void *cookie = workload->cookie;
    if (call(workload->initialise, "initialise", operations, cookie, failure, failure_size) != 0) {
        return -1;
    }
    errno = 0;
    uint64_t start = lm_now_ns();
    int status = workload->benchmark(operations, cookie);
    uint64_t end = lm_now_ns();
    if (status != 0) {
        return describe(failure, failure_size, "benchmark");
    }
    *elapsed_ns = (double)(end - start);
    return call(workload->cleanup, "cleanup", operations, cookie, failure, failure_size);
}

/* The next loop size to try after `operations` took `elapsed_ns`: towards the interval, at most
 * tenfold. */
static uint64_t grow(uint64_t operations, uint64_t per_turn, double elapsed_ns,
                     double interval_ns) {
    double factor = elapsed_ns > 0 ? MARGIN * interval_ns / elapsed_ns : GROWTH;
    factor = factor > GROWTH ? GROWTH : factor;
    uint64_t turns = (uint64_t)((double)(operations / per_turn) * factor) + 1;
    return turns * per_turn;
}

/* Finds how many operations fill an interval, twice in a row: one disturbed timing must not decide.
 */
static int find_operations(const struct lm_calibration *calibration,
                           const struct lm_workload *workload, uint64_t *operations, char *failure,
                           size_t failure_size) {
    double interval_ns = (double)calibration->interval_ns;
    *operations = workload->operations_per_turn;
    for (int long_enough = 0; long_enough < 2;) {
        double elapsed_ns = 0;
        if (time_interval(workload, *operations, &elapsed_ns, failure, failure_size) != 0) {
            return -1;
        }
        if (elapsed_ns >= interval_ns) {
            long_enough++;
            continue;
        }
        long_enough = 0;
        *operations = grow(*operations, workload->operations_per_turn, elapsed_ns, interval_ns);
        if (*operations > MOST_OPERATIONS) {
            (void)snprintf(
                failure, failure_size,
                "the loop stays shorter than %.0f ns however often it runs: no work is done",
                interval_ns);
            return -1;
        }
    }
    return 0;
}

static int repeat(const struct lm_calibration *calibration, const struct lm_workload *workload,
                  struct lm_samples *samples, char *failure, size_t failure_size) {
    if (find_operations(calibration, workload, &samples->operations, failure, failure_size) != 0) {
        return -1;
    }
    uint64_t turns = samples->operations / workload->operations_per_turn;
    double overhead_ns =
        calibration->clock_overhead_ns + calibration->loop_overhead_ns * (double)turns;
    for (uint64_t i = 0; i < samples->count; i++) {
        double elapsed_ns = 0;
        if (time_interval(workload, samples->operations, &elapsed_ns, failure, failure_size) != 0) {
            return -1;
        }
        if (elapsed_ns <= overhead_ns) {
            (void)snprintf(
                failure, failure_size,
                "repetition %llu: %.0f ns are no more than the %.0f ns of the empty loop",
                (unsigned long long)i, elapsed_ns, overhead_ns);
            return -1;
        }
        samples->value_ns[i] = (elapsed_ns - overhead_ns) / (double)samples->operations;
    }
    return 0;
}

int lm_measure(const struct lm_calibration *calibration, const struct lm_workload *workload,
               struct lm_samples *samples, char *failure, size_t failure_size) {
    void *cookie = workload->cookie;
    int status = call(workload->initialise, "initialise", 0, cookie, failure, failure_size);
    if (status == 0) {
        status = repeat(calibration, workload, samples, failure, failure_size);
    }
    char at_end[160];
    if (call(workload->cleanup, "cleanup", 0, cookie, at_end, sizeof at_end) != 0 && status == 0) {
        (void)snprintf(failure, failure_size, "%s", at_end);
        status = -1;
    }
    return status;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void lm_sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
}

double lm_quantile(const double *sorted, size_t count, double probability) {
    double position = probability * (double)(count - 1);
    size_t below = (size_t)position;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (position - (double)below) * (sorted[above] - sorted[below]);
}
