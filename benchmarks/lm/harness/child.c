/* One child of a measurement: it finds the loop size, keeps the benchmark running, and is timed. */
#define _POSIX_C_SOURCE 200809L

#include "children.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* If a loop with this number of operations is still too short, the compiler has removed the work.
 */
static const uint64_t MOST_OPERATIONS = UINT64_C(1) << 42;
/* The loop is slightly longer than the interval, so that most repetitions are long enough. */
static const double MARGIN = 1.1;
static const double GROWTH = 10;
/* While others are timed, a child runs this fraction of an interval between two checks of the
 * phase. */
static const uint64_t BURSTS_PER_INTERVAL = 16;

static unsigned child_index;

unsigned lm_child_index(void) {
    return child_index;
}

/* Time of an interval. */
struct timing {
    uint64_t elapsed_ns, cpu_ns;
};

/* Start of the pause, and the sum of all pauses of this interval. */
static struct timing paused, pauses;

static uint64_t cpu_now_ns(void) {
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* Reading the CPU clock needs a system call, which is outside the timed part. */
void lm_pause(void) {
    paused.elapsed_ns = lm_now_ns();
    paused.cpu_ns = cpu_now_ns();
}

void lm_resume(void) {
    pauses.cpu_ns += cpu_now_ns() - paused.cpu_ns;
    pauses.elapsed_ns += lm_now_ns() - paused.elapsed_ns;
}

struct measuring {
    const struct lm_order *order;
    struct lm_child *own;
    uint64_t per_turn;
};

static int describe(struct measuring *measuring, const char *step) {
    (void)snprintf(measuring->own->failure, LM_FAILURE_BYTES, "%s: %s", step,
                   errno != 0 ? strerror(errno) : "failed with unknown error");
    return -1;
}

static int call(struct measuring *measuring, lm_step *step, const char *name, uint64_t operations) {
    if (step == NULL) {
        return 0;
    }
    errno = 0;
    return step(operations, measuring->order->workload->cookie) == 0 ? 0
                                                                     : describe(measuring, name);
}

static int interval(struct measuring *measuring, uint64_t operations, struct timing *took) {
    const struct lm_workload *workload = measuring->order->workload;
    if (call(measuring, workload->initialise, "initialise", operations) != 0) {
        return -1;
    }
    errno = 0;
    pauses = (struct timing){0};
    uint64_t cpu_start_ns = workload->cpu_time ? cpu_now_ns() : 0;
    uint64_t start_ns = lm_now_ns();
    int status = workload->benchmark(operations, workload->cookie);
    took->elapsed_ns = lm_now_ns() - start_ns - pauses.elapsed_ns;
    took->cpu_ns = workload->cpu_time ? cpu_now_ns() - cpu_start_ns - pauses.cpu_ns : 0;
    if (status != 0) {
        return describe(measuring, "benchmark");
    }
    return call(measuring, workload->cleanup, "cleanup", operations);
}

static uint64_t whole_turns(const struct measuring *measuring, double operations) {
    uint64_t most = measuring->order->workload->most_operations;
    if (most != 0 && operations > (double)most) {
        operations = (double)most;
    }
    uint64_t turns = (uint64_t)(operations / (double)measuring->per_turn);
    return (turns > 0 ? turns : 1) * measuring->per_turn;
}

/* Next loop size to try after `operations` took `elapsed_ns`: toward the interval, at most tenfold.
 */
static uint64_t grow(const struct measuring *measuring, uint64_t operations, uint64_t elapsed_ns) {
    double wanted_ns = MARGIN * (double)measuring->order->interval_ns;
    double factor = elapsed_ns > 0 ? wanted_ns / (double)elapsed_ns : GROWTH;
    factor = factor > GROWTH ? GROWTH : factor;
    return whole_turns(measuring, (double)operations * factor + (double)measuring->per_turn);
}

/* Find the number of operations that fill an interval, twice in a row: one disturbed timing must
 * not decide. */
static int find_operations(struct measuring *measuring) {
    uint64_t operations = whole_turns(measuring, 1);
    for (int long_enough = 0; long_enough < 2;) {
        struct timing took = {0};
        if (interval(measuring, operations, &took) != 0) {
            return -1;
        }
        uint64_t next = grow(measuring, operations, took.elapsed_ns);
        if (took.elapsed_ns >= measuring->order->interval_ns || next == operations) {
            long_enough++;
            continue;
        }
        long_enough = 0;
        operations = next;
        if (operations > MOST_OPERATIONS) {
            (void)snprintf(
                measuring->own->failure, LM_FAILURE_BYTES,
                "the loop stays shorter than %llu ns for any number of operations: it does no work",
                (unsigned long long)measuring->order->interval_ns);
            return -1;
        }
    }
    measuring->own->operations = operations;
    return 0;
}

static int repeat(struct measuring *measuring, struct lm_shared *shared) {
    const struct lm_order *order = measuring->order;
    uint64_t operations = measuring->own->operations;
    uint64_t turns = operations / measuring->per_turn;
    double *value_ns = shared->value_ns + child_index * order->repetitions;
    double *cpu_ns = shared->cpu_ns + child_index * order->repetitions;
    double overhead_ns = order->calibration->clock_overhead_ns +
                         order->calibration->loop_overhead_ns * (double)turns;
    measuring->own->shortest_ns = UINT64_MAX;
    for (uint64_t i = 0; i < order->repetitions; i++) {
        struct timing took = {0};
        if (atomic_load(&shared->phase) == LM_PHASE_GIVEN_UP) {
            return -1;
        }
        if (interval(measuring, operations, &took) != 0) {
            return -1;
        }
        if ((double)took.elapsed_ns <= overhead_ns) {
            (void)snprintf(measuring->own->failure, LM_FAILURE_BYTES,
                           "repetition %llu: %llu ns do not exceed the %.0f ns of the empty loop",
                           (unsigned long long)i, (unsigned long long)took.elapsed_ns, overhead_ns);
            return -1;
        }
        if (took.elapsed_ns < measuring->own->shortest_ns) {
            measuring->own->shortest_ns = took.elapsed_ns;
        }
        value_ns[i] = ((double)took.elapsed_ns - overhead_ns) / (double)operations;
        cpu_ns[i] = (double)took.cpu_ns / (double)operations;
    }
    return 0;
}

/* Run the benchmark, at least once, until the parent enters `phase`. */
static int run_until(struct measuring *measuring, struct lm_shared *shared, int phase) {
    uint64_t burst =
        whole_turns(measuring, (double)(measuring->own->operations / BURSTS_PER_INTERVAL));
    do {
        struct timing took = {0};
        if (interval(measuring, burst, &took) != 0) {
            return -1;
        }
    } while (atomic_load(&shared->phase) < phase);
    return 0;
}

static int tell(struct measuring *measuring, int messages, char message) {
    /* A write of one byte is atomic, so messages of several children never mix. */
    while (write(messages, &message, 1) != 1) {
        if (errno != EINTR) {
            return describe(measuring, "cannot write to the parent");
        }
    }
    return 0;
}

static int lead(struct measuring *measuring, struct lm_shared *shared, int messages) {
    const struct lm_order *order = measuring->order;
    struct lm_child *own = measuring->own;
    if (order->operations != 0) {
        own->operations = whole_turns(measuring, (double)order->operations);
    } else if (find_operations(measuring) != 0) {
        return -1;
    }
    own->running_from_ns = lm_now_ns();
    if (order->children > 1 && run_until(measuring, shared, LM_PHASE_START) != 0) {
        return -1;
    }
    if (tell(measuring, messages, LM_READY) != 0 ||
        run_until(measuring, shared, LM_PHASE_GO) != 0) {
        return -1;
    }
    own->timed_from_ns = lm_now_ns();
    if (repeat(measuring, shared) != 0) {
        return -1;
    }
    own->timed_to_ns = lm_now_ns();
    if (tell(measuring, messages, LM_DONE) != 0 ||
        (order->children > 1 && run_until(measuring, shared, LM_PHASE_RESULT) != 0)) {
        return -1;
    }
    own->running_to_ns = lm_now_ns();
    return tell(measuring, messages, LM_FINISHED);
}

/* Wait until the parent closes its end: a child that ends earlier has failed. */
static void wait_for_exit(int exit_signal) {
    char byte;
    while (read(exit_signal, &byte, 1) < 0 && errno == EINTR) {
    }
}

void lm_child_run(const struct lm_order *order, struct lm_shared *shared, unsigned index,
                  pid_t parent, int messages, int exit_signal) {
    const struct lm_workload *workload = order->workload;
    struct measuring measuring = {
        .order = order,
        .own = &shared->child[index],
        .per_turn = workload->operations_per_turn != 0 ? workload->operations_per_turn : 1};
    child_index = index;
    lm_die_with(parent);
    int status = lm_place(order->placement, index);
    if (status != 0) {
        (void)describe(&measuring, "cannot place the process");
    } else {
        status = call(&measuring, workload->initialise, "initialise", 0);
    }
    if (status == 0) {
        status = lead(&measuring, shared, messages);
    }
    if (status == 0) {
        wait_for_exit(exit_signal);
    }
    char first_failure[LM_FAILURE_BYTES];
    (void)memcpy(first_failure, measuring.own->failure, sizeof first_failure);
    int at_end = call(&measuring, workload->cleanup, "cleanup", 0);
    if (status != 0) {
        (void)memcpy(measuring.own->failure, first_failure, sizeof first_failure);
    }
    (void)fflush(NULL);
    _exit(status == 0 && at_end == 0 ? 0 : LM_EXIT_FAILED);
}
