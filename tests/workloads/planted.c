/*
 * Operations of known cost or with a known fault, measured by the harness under test: what it says
 * can be compared with the truth.
 *
 *     spin      an operation lasts until the clock has gone on by --amount ns
 *     chain     an operation is --amount multiplications, each of which needs the one before
 *     empty     an operation is a turn of a loop and nothing else
 *     nothing   there is not even a loop
 *     fail      the third interval of the last child fails with EIO
 *     die       the third interval of the last child is its end, by SIGKILL
 *     leave     the same, by exit code 7
 *     pause     an operation is as spin, and as much again 16 times in a pause
 *     sleep     an operation is a sleep of --amount ns
 *
 * --late-ms lets the last child initialise for so long. --log FILE writes each interval of child N
 * to FILE.N: when it began and ended, and its operations.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/lm.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct plan {
    uint64_t amount, state, late_ms, parallel;
    int intervals, opened, closed;
    const char *log_path;
    FILE *log;
    lm_step *step;
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

static int empty(uint64_t operations, void *cookie) {
    (void)cookie;
    for (uint64_t i = 0; i < operations; i++) {
        lm_keep(NULL);
    }
    return 0;
}

static int with_pauses(uint64_t operations, void *cookie) {
    for (uint64_t i = 0; i < operations; i++) {
        (void)spin(1, cookie);
        lm_pause();
        (void)spin(16, cookie);
        lm_resume();
    }
    return 0;
}

static int asleep(uint64_t operations, void *cookie) {
    const struct plan *plan = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(plan->amount % 1000000000)}, NULL);
    }
    return 0;
}

static bool is_the_third_of_the_last(struct plan *plan) {
    return ++plan->intervals == 3 && lm_child_index() + 1 == plan->parallel;
}

static int fail(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    if (is_the_third_of_the_last(plan)) {
        errno = EIO;
        return -1;
    }
    return chain(operations, cookie);
}

static int die(uint64_t operations, void *cookie) {
    if (is_the_third_of_the_last(cookie)) {
        (void)raise(SIGKILL);
    }
    return chain(operations, cookie);
}

static int leave(uint64_t operations, void *cookie) {
    if (is_the_third_of_the_last(cookie)) {
        _exit(7);
    }
    return chain(operations, cookie);
}

static int logged(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    uint64_t start_ns = lm_now_ns();
    int status = plan->step(operations, cookie);
    uint64_t end_ns = lm_now_ns();
    if (plan->log != NULL) {
        (void)fprintf(plan->log, "%llu %llu %llu\n", (unsigned long long)start_ns,
                      (unsigned long long)end_ns, (unsigned long long)operations);
    }
    return status;
}

static int open_plan(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    if (operations != 0) {
        return 0;
    }
    plan->opened++;
    if (lm_child_index() + 1 == plan->parallel) {
        (void)nanosleep(&(struct timespec){.tv_sec = (time_t)(plan->late_ms / 1000),
                                           .tv_nsec = (long)(plan->late_ms % 1000 * 1000000)},
                        NULL);
    }
    if (plan->log_path != NULL) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s.%u", plan->log_path, lm_child_index());
        plan->log = fopen(path, "w");
        return plan->log != NULL ? 0 : -1;
    }
    return 0;
}

static int close_plan(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    plan->closed += operations == 0;
    if (operations == 0) {
        (void)printf("opened %d closed %d\n", plan->opened, plan->closed);
        if (plan->log != NULL && fclose(plan->log) != 0) {
            return -1;
        }
    }
    return fflush(stdout);
}

static const struct {
    const char *name;
    lm_step *step;
} KINDS[] = {{"spin", spin},       {"chain", chain},       {"empty", empty},
             {"nothing", nothing}, {"fail", fail},         {"die", die},
             {"leave", leave},     {"pause", with_pauses}, {"sleep", asleep}};

int main(int argc, char **argv) {
    enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };
    const char *names[KIND_COUNT + 1] = {NULL}, *kind = KINDS[0].name;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        names[i] = KINDS[i].name;
    }
    struct plan plan = {.amount = 1, .state = 3};
    const struct lm_option options[] = {
        {.name = "--kind", .help = "what is planted", .text = &kind, .choices = names},
        {.name = "--amount",
         .help = "how much",
         .number = &plan.amount,
         .minimum = 1,
         .maximum = 1000000000},
        {.name = "--late-ms", .help = "delay", .number = &plan.late_ms, .maximum = 10000},
        {.name = "--log", .help = "file of the intervals", .text = &plan.log_path},
    };
    const struct lm_program program = {.name = "planted",
                                       .summary = "Known costs and faults.",
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    plan.parallel = settings.parallel;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        plan.step = strcmp(kind, KINDS[i].name) == 0 ? KINDS[i].step : plan.step;
    }
    const struct lm_workload workload = {.initialise = open_plan,
                                         .benchmark = plan.log_path != NULL ? logged : plan.step,
                                         .cleanup = close_plan,
                                         .cookie = &plan,
                                         .cpu_time =
                                             plan.step == with_pauses || plan.step == asleep};
    const struct lm_series series = {0};
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
