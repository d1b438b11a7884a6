/* The clock: its resolution and the cost of reading it, both measured. */
#define _POSIX_C_SOURCE 200809L

#include "lm.h"

#include <stdlib.h>
#include <time.h>

enum { CLOCK_ROUNDS = 20, CLOCK_READS = 1000, CLOCK_STEPS = 20000 };
/* The coarsest clock in the paper steps every 10 ms; this time shows about ten such steps. */
static const uint64_t STEP_SEARCH_NS = 100000000;

uint64_t lm_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        perror("clock_gettime(CLOCK_MONOTONIC)");
        exit(LM_EXIT_FAILED);
    }
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Smallest observed step. If the clock is finer than the time of a read, it is that time. */
static uint64_t smallest_step_ns(void) {
    uint64_t smallest = UINT64_MAX, start = lm_now_ns(), after = start;
    for (int step = 0; step < CLOCK_STEPS && after - start < STEP_SEARCH_NS; step++) {
        uint64_t before = after;
        while (after == before) {
            after = lm_now_ns();
        }
        smallest = after - before < smallest ? after - before : smallest;
    }
    return smallest;
}

/* Time between consecutive reads: two reads around an interval add the time of one read to it. */
static double read_cost_ns(void) {
    double least = 0;
    for (int round = 0; round < CLOCK_ROUNDS; round++) {
        uint64_t start = lm_now_ns(), end = start;
        for (int read = 0; read < CLOCK_READS; read++) {
            end = lm_now_ns();
        }
        double cost = (double)(end - start) / CLOCK_READS;
        /* The minimum, here and in calibrate.c: subtracting too much would understate the cost of
         * the measured operation. */
        if (round == 0 || cost < least) {
            least = cost;
        }
    }
    return least;
}

void lm_clock_measure(struct lm_calibration *calibration) {
    calibration->clock_resolution_ns = smallest_step_ns();
    calibration->clock_overhead_ns = read_cost_ns();
}
