/* Order statistics of a few values. */
#include "lm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEVEL = 0.95;

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

double lm_median(const double *values, size_t count) {
    double *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL) {
        return NAN;
    }
    (void)memcpy(sorted, values, count * sizeof *sorted);
    lm_sort(sorted, count);
    double median = lm_quantile(sorted, count, 0.5);
    free(sorted);
    return median;
}

bool lm_median_ranks(size_t count, size_t *low, size_t *high) {
    /* Each term is the binomial probability that exactly `below` values are below the median; logs,
     * because 2^-count alone would underflow. */
    double tail = 0, log_term = -(double)count * log(2);
    size_t rank = 0;
    for (size_t below = 0; below < count / 2; below++) {
        tail += exp(log_term);
        if (2 * tail > 1 - LEVEL) {
            break;
        }
        rank = below + 1;
        log_term += log((double)(count - below)) - log((double)(below + 1));
    }
    if (rank == 0) {
        return false;
    }
    *low = rank - 1;
    *high = count - rank;
    return true;
}
