/*
 * The parent's side of N children in lockstep.
 *
 * The resources of the parent do not grow with the number of children: two pipes and one area of
 * shared memory. Times are returned in the memory; a byte in the pipe reports progress of a child.
 * A child that ends before its release is detected by SIGCHLD and reported as the failure.
 */
#define _GNU_SOURCE /* ppoll, MAP_ANONYMOUS, pipe2 */

#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Grace period for children to clean up after another child has failed. */
static const uint64_t PATIENCE_NS = UINT64_C(3000000000);

static const int WATCHED[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
enum { WATCHED_COUNT = sizeof WATCHED / sizeof WATCHED[0] };

struct family {
    struct lm_shared *shared;
    size_t shared_bytes;
    pid_t *ids;        /* 0: not started, or already reaped */
    uint64_t children; /* requested number of children */
    int messages[2], exit_signal[2];
    sigset_t waiting_mask;
    sigset_t mask_before;
    struct sigaction actions_before[WATCHED_COUNT];
    char *failure;
};

static void say(struct family *family, const char *what) {
    (void)snprintf(family->failure, LM_FAILURE_BYTES, "%s: %s", what, strerror(errno));
}

static volatile sig_atomic_t stopped_by;

static void on_signal(int signal_number) {
    /* SIGCHLD has a handler only to interrupt ppoll(). */
    if (signal_number != SIGCHLD) {
        stopped_by = signal_number;
    }
}

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static int share(struct family *family, uint64_t repetitions) {
    size_t head = aligned(sizeof *family->shared);
    size_t children = aligned((size_t)family->children * sizeof(struct lm_child));
    const size_t values = (size_t)(family->children * repetitions);
    family->shared_bytes = head + children + 2 * values * sizeof(double);
    char *area =
        mmap(NULL, family->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        say(family, "cannot share memory with the children");
        return -1;
    }
    family->shared = (struct lm_shared *)(void *)area;
    family->shared->child = (struct lm_child *)(void *)(area + head);
    family->shared->value_ns = (double *)(void *)(area + head + children);
    family->shared->cpu_ns = family->shared->value_ns + values;
    atomic_init(&family->shared->phase, LM_PHASE_START);
    return 0;
}

/* These signals are blocked except while the parent waits: no end of a child is missed, and a
 * stopped program can still clean up. */
static int watch(struct family *family) {
    sigset_t held;
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(&held);
    for (size_t i = 0; i < WATCHED_COUNT; i++) {
        (void)sigaddset(&held, WATCHED[i]);
    }
    if (sigprocmask(SIG_BLOCK, &held, &family->mask_before) != 0) {
        say(family, "cannot handle signals");
        return -1;
    }
    family->waiting_mask = family->mask_before;
    for (size_t i = 0; i < WATCHED_COUNT; i++) {
        (void)sigdelset(&family->waiting_mask, WATCHED[i]);
        if (sigaction(WATCHED[i], &action, &family->actions_before[i]) != 0) {
            say(family, "cannot handle signals");
            return -1;
        }
        /* Ignored signals (nohup, background jobs) stay ignored. */
        if (family->actions_before[i].sa_handler == SIG_IGN && WATCHED[i] != SIGCHLD) {
            (void)sigaction(WATCHED[i], &family->actions_before[i], NULL);
        }
    }
    return 0;
}

static void stop_watching(const struct family *family) {
    for (size_t i = 0; i < WATCHED_COUNT; i++) {
        (void)sigaction(WATCHED[i], &family->actions_before[i], NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &family->mask_before, NULL);
}

static void as_child(const struct lm_order *order, struct family *family, unsigned index,
                     pid_t parent) {
    (void)close(family->messages[0]);
    (void)close(family->exit_signal[1]);
    stop_watching(family);
    /* A key at the terminal reaches all processes; the parent coordinates and lets the children
     * clean up. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    /* A closed partner must be reported with its cause and not kill the process by SIGPIPE. */
    (void)signal(SIGPIPE, SIG_IGN);
    lm_child_run(order, family->shared, index, parent, family->messages[1], family->exit_signal[0]);
}

static int start(const struct lm_order *order, struct family *family) {
    pid_t parent = getpid();
    /* Otherwise every child would also write the buffered output. */
    (void)fflush(NULL);
    for (unsigned i = 0; i < order->children; i++) {
        pid_t id = fork();
        if (id < 0) {
            (void)snprintf(family->failure, LM_FAILURE_BYTES, "cannot start child %u of %llu: %s",
                           i + 1, (unsigned long long)order->children, strerror(errno));
            return -1;
        }
        if (id == 0) {
            as_child(order, family, i, parent);
        }
        family->ids[i] = id;
    }
    (void)close(family->messages[1]);
    (void)close(family->exit_signal[0]);
    family->messages[1] = family->exit_signal[0] = -1;
    return 0;
}

static void describe_end(struct family *family, unsigned index, int status) {
    const char *own = family->shared->child[index].failure;
    char which[40] = "";
    if (family->children > 1) {
        (void)snprintf(which, sizeof which, "child %u of %llu: ", index + 1,
                       (unsigned long long)family->children);
    }
    if (own[0] != '\0') {
        (void)snprintf(family->failure, LM_FAILURE_BYTES, "%s%.*s", which,
                       LM_FAILURE_BYTES - (int)sizeof which, own);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(family->failure, LM_FAILURE_BYTES,
                       "%skilled by signal %d (%s) before the end of the measurement", which,
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(family->failure, LM_FAILURE_BYTES,
                       "%sended with exit code %d before the end of the measurement", which,
                       WEXITSTATUS(status));
    }
}

/* Return whether a child has ended; if so, describe the cause. */
static bool has_lost_one(struct family *family) {
    for (unsigned i = 0; i < family->children; i++) {
        int status = 0;
        if (family->ids[i] != 0 && waitpid(family->ids[i], &status, WNOHANG) == family->ids[i]) {
            family->ids[i] = 0;
            describe_end(family, i, status);
            return true;
        }
    }
    return false;
}

/* Wait until every child has sent `message`. */
static int gather(struct family *family, char message) {
    for (uint64_t missing = family->children; missing > 0;) {
        if (has_lost_one(family)) {
            return -1;
        }
        if (stopped_by != 0) {
            (void)snprintf(family->failure, LM_FAILURE_BYTES, "stopped by signal %d (%s)",
                           (int)stopped_by, strsignal((int)stopped_by));
            return -1;
        }
        struct pollfd waiting = {.fd = family->messages[0], .events = POLLIN};
        if (ppoll(&waiting, 1, NULL, &family->waiting_mask) < 0) {
            if (errno == EINTR) {
                continue;
            }
            say(family, "cannot wait for the children");
            return -1;
        }
        char told = 0;
        ssize_t got = read(family->messages[0], &told, 1);
        /* End of file on the pipe: no child is left, and their exit states give the reason. */
        if (got == 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            continue;
        }
        if (got < 0 || told != message) {
            (void)snprintf(family->failure, LM_FAILURE_BYTES,
                           "expected message '%c' from a child, got '%c'", message, told);
            return -1;
        }
        missing--;
    }
    return 0;
}

/* The guarantee, verified with the clocks of the children: while one was timed, all ran. */
static int check_overlap(struct family *family) {
    const struct lm_child *child = family->shared->child;
    uint64_t last_start = 0, first_end = UINT64_MAX, first_timed = UINT64_MAX, last_timed = 0;
    for (uint64_t i = 0; i < family->children; i++) {
        last_start = child[i].running_from_ns > last_start ? child[i].running_from_ns : last_start;
        first_end = child[i].running_to_ns < first_end ? child[i].running_to_ns : first_end;
        first_timed = child[i].timed_from_ns < first_timed ? child[i].timed_from_ns : first_timed;
        last_timed = child[i].timed_to_ns > last_timed ? child[i].timed_to_ns : last_timed;
    }
    if (last_start > first_timed || last_timed > first_end) {
        (void)snprintf(family->failure, LM_FAILURE_BYTES,
                       "a child was timed while another child was not running the benchmark");
        return -1;
    }
    return 0;
}

static void move_on(struct family *family, int phase) {
    atomic_store(&family->shared->phase, phase);
}

static int lead(struct family *family, uint64_t warmup_us) {
    if (gather(family, LM_READY) != 0) {
        return -1;
    }
    struct timespec left = {.tv_sec = (time_t)(warmup_us / 1000000),
                            .tv_nsec = (long)(warmup_us % 1000000 * 1000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    move_on(family, LM_PHASE_GO);
    if (gather(family, LM_DONE) != 0) {
        return -1;
    }
    move_on(family, LM_PHASE_RESULT);
    if (gather(family, LM_FINISHED) != 0) {
        return -1;
    }
    return check_overlap(family);
}

/* Wait for a child that was asked to end; it may hang, so wait at most until `deadline_ns`. */
static int await_end(pid_t id, uint64_t deadline_ns) {
    int end = 0;
    while (waitpid(id, &end, WNOHANG) == 0) {
        if (lm_now_ns() > deadline_ns) {
            (void)kill(id, SIGKILL);
            deadline_ns = UINT64_MAX;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return end;
}

/* Release the children, also after a failure, so that each cleans up, and wait for them. */
static int dismiss(struct family *family, int status) {
    if (status != 0) {
        move_on(family, LM_PHASE_GIVEN_UP);
    }
    (void)close(family->exit_signal[1]);
    family->exit_signal[1] = -1;
    /* After a success no child hangs, and checking all written data can take long. */
    uint64_t deadline_ns = status != 0 ? lm_now_ns() + PATIENCE_NS : UINT64_MAX;
    for (unsigned i = 0; i < family->children; i++) {
        if (family->ids[i] == 0) {
            continue;
        }
        int end = await_end(family->ids[i], deadline_ns);
        family->ids[i] = 0;
        if (status == 0 && (!WIFEXITED(end) || WEXITSTATUS(end) != 0)) {
            describe_end(family, i, end);
            status = -1;
        }
    }
    return status;
}

static void collect(const struct family *family, struct lm_samples *samples,
                    uint64_t *shortest_ns) {
    const size_t bytes = (size_t)(samples->children * samples->repetitions) * sizeof(double);
    (void)memcpy(samples->value_ns, family->shared->value_ns, bytes);
    if (samples->cpu_ns != NULL) {
        (void)memcpy(samples->cpu_ns, family->shared->cpu_ns, bytes);
    }
    samples->operations = family->shared->child[0].operations;
    *shortest_ns = UINT64_MAX;
    for (uint64_t i = 0; i < family->children; i++) {
        uint64_t own_ns = family->shared->child[i].shortest_ns;
        *shortest_ns = own_ns < *shortest_ns ? own_ns : *shortest_ns;
    }
}

static void release(struct family *family) {
    for (int i = 0; i < 2; i++) {
        if (family->messages[i] >= 0) {
            (void)close(family->messages[i]);
        }
        if (family->exit_signal[i] >= 0) {
            (void)close(family->exit_signal[i]);
        }
    }
    if (family->shared != NULL) {
        (void)munmap(family->shared, family->shared_bytes);
    }
    free(family->ids);
}

static int prepare(const struct lm_order *order, struct family *family) {
    family->ids = calloc((size_t)order->children, sizeof *family->ids);
    if (family->ids == NULL) {
        say(family, "out of memory for the children");
        return -1;
    }
    if (pipe2(family->messages, O_CLOEXEC) != 0 || pipe2(family->exit_signal, O_CLOEXEC) != 0) {
        say(family, "cannot create pipes to the children");
        return -1;
    }
    return share(family, order->repetitions);
}

int lm_children_measure(const struct lm_order *order, uint64_t warmup_us,
                        struct lm_samples *samples, uint64_t *shortest_ns, char *failure) {
    struct family family = {.children = order->children,
                            .messages = {-1, -1},
                            .exit_signal = {-1, -1},
                            .failure = failure};
    int status = prepare(order, &family);
    if (status == 0 && (status = watch(&family)) == 0) {
        status = start(order, &family);
        if (status == 0) {
            status = lead(&family, warmup_us);
        }
        status = dismiss(&family, status);
        stop_watching(&family);
    }
    if (status == 0) {
        collect(&family, samples, shortest_ns);
    }
    release(&family);
    return status;
}
