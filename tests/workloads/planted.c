/*
 * Operations of known cost, measured by the harness under test: its answer can be compared with the
 * truth.
 *
 *     spin      an operation lasts until the clock has gone on by --amount ns
 *     chain     an operation is --amount multiplications, each of which needs the one before
 *     nothing   the loop is empty
 *     fail      the third interval fails with EIO
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
    static const char *const kinds[] = {"spin", "chain", "nothing", "fail", NULL};
    const char *kind = kinds[0];
    struct plan plan = {.amount = 1, .state = 3};
    const struct lm_option options[] = {
        {.name = "--kind", .help = "what is planted", .text = &kind, .choices = kinds},
        {.name = "--amount",
         .help = "how much of it",
         .number = &plan.amount,
         .minimum = 1,
         .maximum = 1000000000},
    };
    const struct lm_program program = {
        .name = "planted", .summary = "Known costs.", .options = options, .option_count = 2};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_step *step = strcmp(kind, "spin") == 0    ? spin
                    : strcmp(kind, "chain") == 0 ? chain
                    : strcmp(kind, "fail") == 0  ? fail
                                                 : nothing;
    const struct lm_workload workload = {
        .initialise = open_plan, .benchmark = step, .cleanup = close_plan, .cookie = &plan};
    const struct lm_series series = {0};
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
