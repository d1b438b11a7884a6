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
 * --late-by N lets the last child initialise until the first one has run N more intervals.
 * --log FILE writes each interval of child N to FILE.N: its operations and, by the clock and by the
 * processor's time, right before and after it, its own beginning and end, and what lay in its
 * pauses.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "harness/lm.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* By the clock, and of the processor's time of this process; ns. */
struct reading {
    uint64_t clock_ns, cpu_ns;
};

/* An interval: before and after the harness' look at the clocks, and between them. */
struct interval {
    uint64_t operations;
    struct reading before, start, end, after, paused;
};

struct plan {
    uint64_t amount, state, late_by, parallel;
    int intervals, opened, closed;
    const char *log_path;
    FILE *log;
    lm_step *step;
    _Atomic uint64_t *done; /* intervals of first children, seen by all processes */
};

/* Written to a file at the end only: what a child does between two intervals is to take no time. */
enum { MOST_LOGGED = 65536 };
static struct interval log_of_child[MOST_LOGGED], current;
static size_t logged_count;

static struct reading read_clocks(void) {
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (struct reading){.clock_ns = lm_now_ns(),
                            .cpu_ns = (uint64_t)used.tv_sec * UINT64_C(1000000000) +
                                      (uint64_t)used.tv_nsec};
}

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
        const struct reading start = read_clocks();
        (void)spin(16, cookie);
        const struct reading end = read_clocks();
        lm_resume();
        current.paused.clock_ns += end.clock_ns - start.clock_ns;
        current.paused.cpu_ns += end.cpu_ns - start.cpu_ns;
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
    current.start = read_clocks();
    int status = plan->step(operations, cookie);
    current.end = read_clocks();
    return status;
}

static void write_log(FILE *log) {
    for (size_t i = 0; i < logged_count; i++) {
        const struct interval *own = &log_of_child[i];
        const struct reading readings[] = {own->before, own->start, own->end, own->after,
                                           own->paused};
        (void)fprintf(log, "%llu", (unsigned long long)own->operations);
        for (size_t j = 0; j < sizeof readings / sizeof readings[0]; j++) {
            (void)fprintf(log, " %llu %llu", (unsigned long long)readings[j].clock_ns,
                          (unsigned long long)readings[j].cpu_ns);
        }
        (void)fputc('\n', log);
    }
}

static int open_plan(uint64_t operations, void *cookie) {
    struct plan *plan = cookie;
    if (operations != 0) {
        current = (struct interval){.operations = operations, .before = read_clocks()};
        return 0;
    }
    plan->opened++;
    if (plan->late_by != 0 && lm_child_index() + 1 == plan->parallel) {
        const uint64_t until = atomic_load(plan->done) + plan->late_by;
        while (atomic_load(plan->done) < until) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
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
    if (operations != 0) {
        if (lm_child_index() == 0) {
            (void)atomic_fetch_add(plan->done, 1);
        }
        logged_count += logged_count + 1 < MOST_LOGGED;
        log_of_child[logged_count - 1] = current;
        log_of_child[logged_count - 1].after = read_clocks();
        return 0;
    }
    plan->closed++;
    (void)printf("opened %d closed %d\n", plan->opened, plan->closed);
    if (plan->log != NULL) {
        write_log(plan->log);
        if (fclose(plan->log) != 0) {
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
        {.name = "--late-by", .help = "intervals", .number = &plan.late_by, .maximum = 1000},
        {.name = "--log", .help = "file of the intervals", .text = &plan.log_path},
    };
    const struct lm_program program = {.name = "planted",
                                       .summary = "Known costs and faults.",
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    plan.parallel = settings.parallel;
    void *shared =
        mmap(NULL, sizeof *plan.done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return LM_EXIT_FAILED;
    }
    plan.done = shared;
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
