/*
 * Operations of known cost, measured by the harness under test: its answer can be compared with the
 * truth.
 *
 *     planted spin COST_NS     an operation lasts until the clock has gone on by COST_NS
 *     planted chain LENGTH     an operation is LENGTH multiplications, each of which needs the one
 * before planted nothing 1        the loop is empty planted fail 1           the third interval
 * fails with EIO
 */
#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    uint64_t amount, state;
    int intervals, opened, closed;
};

static int spin(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t start = lm_now_ns();
        while (lm_now_ns() - start < plan->amount) {
        }
    }
    return 0;
}

static int chain(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    uint64_t state = plan->state;
    for (uint64_t i = 0; i < operations; i++) {
        for (uint64_t j = 0; j < plan->amount; j++) {
            state *= UINT64_C(0x5851f42d4c957f2d);
            __asm__ volatile("" : "+r"(state));
        }
    }
    plan->state = state;
    return 0;
}

static int nothing(uint64_t operations, void *cookie) {
    (void)operations;
    (void)cookie;
    return 0;
}

static int fail(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    if (++plan->intervals == 3) {
        errno = EIO;
        return -1;
    }
    return chain(operations, cookie);
}

static int open_plan(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    plan->opened += operations == 0;
    return 0;
}

static int close_plan(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    plan->closed += operations == 0;
    if (operations == 0) {
        (void)printf("opened %d closed %d\n", plan->opened, plan->closed);
    }
    return fflush(stdout);
}

int main(int argc, char **argv) {
    struct plan plan = {.state = 3};
    if (argc != 3 || !lm_number_parse(argv[2], 1, 1000000000, &plan.amount)) {
        lm_usage_error("planted", "arguments", "a kind and an amount", "others");
    }
    lm_step *step = strcmp(argv[1], "spin") == 0    ? spin
                    : strcmp(argv[1], "chain") == 0 ? chain
                    : strcmp(argv[1], "fail") == 0  ? fail
                                                    : nothing;
    const struct lm_settings settings = {.repetitions = LM_DEFAULT_REPETITIONS};
    const struct lm_workload workload = {.initialise = open_plan,
                                         .benchmark = step,
                                         .cleanup = close_plan,
                                         .cookie = &plan,
                                         .operations_per_turn = 1};
    const struct lm_series series = {.metric = "latency"};
    struct lm_harness harness;
    lm_open(&harness, "planted", &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
