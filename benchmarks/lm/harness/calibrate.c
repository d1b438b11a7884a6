/*
 * The shortest reliable interval, and the cost of an empty loop.
 *
 * The interval is found as in Staelin 2004, "Clock resolution": a known amount of work is
 * lengthened by 1.5 %, 2 % and 3.5 %. An interval is reliable if the medians of eleven timings
 * show each lengthening within 0.25 % of the interval. There are two differences. The candidates
 * are smaller than in the paper (5, 10, 50, 100 ms) and end at 2 ms, because current clocks step
 * in nanoseconds. The four amounts of work alternate, so that a drift of the processor frequency
 * affects all of them.
 */
#include "lm.h"

enum { AMOUNTS = 4, TIMINGS = 11, LOOP_TIMINGS = 11 };

static const double AMOUNT[AMOUNTS] = {1.0, 1.015, 1.02, 1.035};
static const double TOLERANCE = 0.0025;
static const uint64_t CANDIDATE_NS[] = {500000, 1000000, 2000000};
/* Fallback if none is reliable. It is not tested, because the test would take 0.25 s. */
static const uint64_t UNTESTED_NS = 5000000;
enum { CANDIDATES = sizeof CANDIDATE_NS / sizeof CANDIDATE_NS[0] };
/* An interval has at least this number of clock steps, so truncation is at most 0.5 % of it. */
static const uint64_t STEPS_PER_INTERVAL = 200;
static const uint64_t LOOP_INTERVAL_NS = 500000;

/* Follow a pointer to itself: each load depends on the previous one. */
static void known_work(uint64_t turns) {
    void *cell = &cell;
    void *volatile *at = (void *volatile *)&cell;
    for (uint64_t turn = 0; turn < turns; turn++) {
        at = (void *volatile *)*at;
    }
    lm_keep((const void *)at);
}

static void empty_loop(uint64_t turns) {
    for (uint64_t turn = 0; turn < turns; turn++) {
        lm_keep(NULL);
    }
}

static uint64_t time_ns(void (*work)(uint64_t), uint64_t turns) {
    uint64_t start = lm_now_ns();
    work(turns);
    return lm_now_ns() - start;
}

/* Number of turns that take at least `interval_ns`, twice in a row: one disturbed timing must not
 * decide. */
static uint64_t turns_for(void (*work)(uint64_t), uint64_t interval_ns) {
    for (uint64_t turns = 1024;; turns *= 2) {
        if (time_ns(work, turns) >= interval_ns && time_ns(work, turns) >= interval_ns) {
            return turns;
        }
    }
}

/* Maximum relative error of an interval of `turns` turns; see the top of this file. */
static double interval_error(uint64_t turns) {
    double elapsed[AMOUNTS][TIMINGS];
    for (int timing = 0; timing < TIMINGS; timing++) {
        for (int amount = 0; amount < AMOUNTS; amount++) {
            uint64_t lengthened = (uint64_t)((double)turns * AMOUNT[amount]);
            elapsed[amount][timing] = (double)time_ns(known_work, lengthened);
        }
    }
    double median[AMOUNTS], worst = 0;
    for (int amount = 0; amount < AMOUNTS; amount++) {
        lm_sort(elapsed[amount], TIMINGS);
        median[amount] = lm_quantile(elapsed[amount], TIMINGS, 0.5);
        double error = (AMOUNT[amount] * median[0] - median[amount]) / median[0];
        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void find_interval(struct lm_calibration *calibration) {
    uint64_t floor_ns = calibration->clock_resolution_ns * STEPS_PER_INTERVAL;
    uint64_t pilot_ns = CANDIDATE_NS[0] > floor_ns ? CANDIDATE_NS[0] : floor_ns;
    uint64_t pilot_turns = turns_for(known_work, pilot_ns);
    double turn_ns = (double)time_ns(known_work, pilot_turns) / (double)pilot_turns;

    calibration->interval_trusted = false;
    calibration->trusted_ns = UNTESTED_NS > floor_ns ? UNTESTED_NS : floor_ns;
    for (size_t i = 0; i < CANDIDATES; i++) {
        uint64_t candidate_ns = CANDIDATE_NS[i] > floor_ns ? CANDIDATE_NS[i] : floor_ns;
        if (candidate_ns == floor_ns && i + 1 < CANDIDATES) {
            continue;
        }
        calibration->interval_error = interval_error((uint64_t)((double)candidate_ns / turn_ns));
        if (calibration->interval_error <= TOLERANCE) {
            calibration->interval_trusted = true;
            calibration->trusted_ns = candidate_ns;
            return;
        }
    }
}

static double loop_cost_ns(const struct lm_calibration *calibration) {
    uint64_t floor_ns = calibration->clock_resolution_ns * STEPS_PER_INTERVAL;
    uint64_t turns =
        turns_for(empty_loop, LOOP_INTERVAL_NS > floor_ns ? LOOP_INTERVAL_NS : floor_ns);
    double least = 0;
    for (int timing = 0; timing < LOOP_TIMINGS; timing++) {
        double cost =
            ((double)time_ns(empty_loop, turns) - calibration->clock_overhead_ns) / (double)turns;
        if (timing == 0 || cost < least) {
            least = cost;
        }
    }
    return least;
}

void lm_calibrate(struct lm_calibration *calibration) {
    lm_clock_measure(calibration);
    find_interval(calibration);
    calibration->loop_overhead_ns = loop_cost_ns(calibration);
}
