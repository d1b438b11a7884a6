/*
 * Latency of synchronisation between threads: a mutex that nobody else wants, and the round trip
 * of a turn between two threads by mutexes, by a condition variable, and by futex(2) itself.
 *
 * Not in the paper's suite; its conclusions name it as future work.
 */
#define _GNU_SOURCE /* syscall() */

#include "harness/lm.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_sync";
static const char SUMMARY[] =
    "Measures the latency of synchronisation between threads. mutex: lock and unlock, while no\n"
    "other thread wants it. The others are round trips of a turn between two threads of a process\n"
    "that both sleep while the other has it: mutex_handoff by mutexes, condition by a mutex and a\n"
    "condition variable, futex by the system call without a library. --placement compact or\n"
    "scattered puts both threads of a process on one processor.\n"
    "Metric: latency, in ns per lock and unlock, or a round trip.";

enum { LOCKS = 3 };

struct kind;

struct pair {
    const struct kind *kind;
    pthread_t partner;
    bool started;
    atomic_bool ending;
    /* mutex_handoff: which lock each thread holds, see advance() */
    pthread_mutex_t lock[LOCKS];
    unsigned own_lock, partner_lock;
    atomic_bool partner_ready;
    /* condition and mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int turn; /* guarded by mutex */
    /* futex */
    _Atomic uint32_t word;
};

enum { OWN_TURN, PARTNERS_TURN };

static int failed(int status) {
    errno = status;
    return -1;
}

/* A partner that fails ends the process: left alone, the measuring thread would wait for ever. */
static void partner_failed(const char *what) {
    (void)fprintf(stderr, "%s: the second thread: %s: %s\n", PROGRAM, what, strerror(errno));
    _exit(LM_EXIT_FAILED);
}

static int start_partner(struct pair *pair, void *(*run)(void *)) {
    int status = pthread_create(&pair->partner, NULL, run, pair);
    pair->started = status == 0;
    return status == 0 ? 0 : failed(status);
}

static int join_partner(struct pair *pair) {
    pair->started = false;
    int status = pthread_join(pair->partner, NULL);
    return status == 0 ? 0 : failed(status);
}

/* ---- a mutex and a condition variable ---- */

static int set_up_condition(struct pair *pair) {
    int status = pthread_mutex_init(&pair->mutex, NULL);
    if (status == 0) {
        status = pthread_cond_init(&pair->changed, NULL);
    }
    pair->turn = OWN_TURN;
    return status == 0 ? 0 : failed(status);
}

/* Gives the turn away and waits until it is `wanted` again, or all is to end. */
static int pass_turn(struct pair *pair, int given, int wanted) {
    int status = pthread_mutex_lock(&pair->mutex);
    if (status != 0) {
        return failed(status);
    }
    pair->turn = given;
    status = pthread_cond_signal(&pair->changed);
    while (status == 0 && pair->turn != wanted && !atomic_load(&pair->ending)) {
        status = pthread_cond_wait(&pair->changed, &pair->mutex);
    }
    int unlocked = pthread_mutex_unlock(&pair->mutex);
    status = status != 0 ? status : unlocked;
    return status == 0 ? 0 : failed(status);
}

static void *condition_partner(void *cookie) {
    struct pair *pair = cookie;
    while (!atomic_load(&pair->ending)) {
        if (pass_turn(pair, OWN_TURN, PARTNERS_TURN) != 0) {
            partner_failed("condition variable");
        }
    }
    return NULL;
}

static int condition_benchmark(uint64_t operations, void *cookie) {
    for (uint64_t i = 0; i < operations; i++) {
        if (pass_turn(cookie, PARTNERS_TURN, OWN_TURN) != 0) {
            return -1;
        }
    }
    return 0;
}

static int condition_end(struct pair *pair) {
    int status = pthread_mutex_lock(&pair->mutex);
    if (status == 0) {
        atomic_store(&pair->ending, true);
        status = pthread_cond_signal(&pair->changed);
        int unlocked = pthread_mutex_unlock(&pair->mutex);
        status = status != 0 ? status : unlocked;
    }
    return status == 0 ? join_partner(pair) : failed(status);
}

static int condition_start(struct pair *pair) {
    return set_up_condition(pair) != 0 ? -1 : start_partner(pair, condition_partner);
}

/* ---- a mutex alone ---- */

#define LOCK_UNLOCK                                                                                \
    status |= pthread_mutex_lock(&pair->mutex);                                                    \
    status |= pthread_mutex_unlock(&pair->mutex);
#define LOCK_UNLOCK_4 LOCK_UNLOCK LOCK_UNLOCK LOCK_UNLOCK LOCK_UNLOCK
enum { LOCKS_PER_TURN = 16 };

static int mutex_benchmark(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    int status = 0;
    for (uint64_t turn = operations / LOCKS_PER_TURN; turn > 0; turn--) {
        LOCK_UNLOCK_4 LOCK_UNLOCK_4 LOCK_UNLOCK_4 LOCK_UNLOCK_4
    }
    return status == 0 ? 0 : failed(EPROTO);
}

/* The C library may leave out what a process of one thread does not need: there is a second one,
 * which sleeps at the condition until all ends. */
static void *sleeping_partner(void *cookie) {
    if (pass_turn(cookie, OWN_TURN, PARTNERS_TURN) != 0) {
        partner_failed("condition variable");
    }
    return NULL;
}

static int mutex_start(struct pair *pair) {
    return set_up_condition(pair) != 0 ? -1 : start_partner(pair, sleeping_partner);
}

/* ---- the turn as the possession of mutexes ---- */

/*
 * Three locks in a ring, two threads: each holds one, takes the next and gives up the last. Only
 * one of them has a free lock before it, and taking it frees one for the other: they take strict
 * turns, though a mutex is only ever unlocked by the thread that locked it.
 */
static int advance(struct pair *pair, unsigned *held) {
    unsigned next = (*held + 1) % LOCKS;
    int status = pthread_mutex_lock(&pair->lock[next]);
    if (status == 0) {
        status = pthread_mutex_unlock(&pair->lock[*held]);
    }
    *held = next;
    return status == 0 ? 0 : failed(status);
}

static void *handoff_partner(void *cookie) {
    struct pair *pair = cookie;
    int status = pthread_mutex_lock(&pair->lock[pair->partner_lock]);
    atomic_store(&pair->partner_ready, true);
    while (status == 0 && !atomic_load(&pair->ending)) {
        status = advance(pair, &pair->partner_lock);
    }
    if (status == 0) {
        status = pthread_mutex_unlock(&pair->lock[pair->partner_lock]);
    }
    if (status != 0) {
        partner_failed("mutex");
    }
    return NULL;
}

static int handoff_benchmark(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (advance(pair, &pair->own_lock) != 0) {
            return -1;
        }
    }
    return 0;
}

static int handoff_start(struct pair *pair) {
    for (int i = 0; i < LOCKS; i++) {
        int status = pthread_mutex_init(&pair->lock[i], NULL);
        if (status != 0) {
            return failed(status);
        }
    }
    /* The partner is right behind: the lock before this thread is free. */
    pair->own_lock = 1;
    pair->partner_lock = 0;
    int status = pthread_mutex_lock(&pair->lock[pair->own_lock]);
    if (status != 0) {
        return failed(status);
    }
    if (start_partner(pair, handoff_partner) != 0) {
        return -1;
    }
    while (!atomic_load(&pair->partner_ready)) {
        (void)sched_yield();
    }
    return 0;
}

static int handoff_end(struct pair *pair) {
    atomic_store(&pair->ending, true);
    int status = pthread_mutex_unlock(&pair->lock[pair->own_lock]);
    return status == 0 ? join_partner(pair) : failed(status);
}

/* ---- futex(2) ---- */

static int futex_wake(struct pair *pair) {
    return syscall(SYS_futex, &pair->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0 ? -1 : 0;
}

/* Until the word is no longer `value`; sleeps while it is. */
static int futex_wait(struct pair *pair, uint32_t value) {
    while (atomic_load(&pair->word) == value && !atomic_load(&pair->ending)) {
        if (syscall(SYS_futex, &pair->word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0) != 0 &&
            errno != EAGAIN && errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

static int futex_pass(struct pair *pair, uint32_t given) {
    atomic_store(&pair->word, given);
    return futex_wake(pair) != 0 ? -1 : futex_wait(pair, given);
}

static void *futex_partner(void *cookie) {
    struct pair *pair = cookie;
    int status = futex_wait(pair, OWN_TURN);
    while (status == 0 && !atomic_load(&pair->ending)) {
        status = futex_pass(pair, OWN_TURN);
    }
    if (status != 0) {
        partner_failed("futex");
    }
    return NULL;
}

static int futex_benchmark(uint64_t operations, void *cookie) {
    for (uint64_t i = 0; i < operations; i++) {
        if (futex_pass(cookie, PARTNERS_TURN) != 0) {
            return -1;
        }
    }
    return 0;
}

static int futex_start(struct pair *pair) {
    atomic_init(&pair->word, OWN_TURN);
    return start_partner(pair, futex_partner);
}

static int futex_end(struct pair *pair) {
    atomic_store(&pair->ending, true);
    atomic_store(&pair->word, PARTNERS_TURN);
    return futex_wake(pair) != 0 ? -1 : join_partner(pair);
}

/* ---- all of them ---- */

struct kind {
    const char *name;
    lm_step *benchmark;
    int (*start)(struct pair *pair);
    int (*end)(struct pair *pair);
    uint64_t per_turn;
};

static const struct kind KINDS[] = {
    {"mutex", mutex_benchmark, mutex_start, condition_end, LOCKS_PER_TURN},
    {"mutex_handoff", handoff_benchmark, handoff_start, handoff_end, 1},
    {"condition", condition_benchmark, condition_start, condition_end, 1},
    {"futex", futex_benchmark, futex_start, futex_end, 1},
};

static int sync_initialise(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    return operations != 0 ? 0 : pair->kind->start(pair);
}

static int sync_cleanup(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    return operations != 0 || !pair->started ? 0 : pair->kind->end(pair);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all",       "mutex", "mutex_handoff",
                                          "condition", "futex", NULL};
    const char *chosen = choices[0];
    const struct lm_option options[] = {
        {.name = "--kind", .help = "operation", .text = &chosen, .choices = choices}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, KINDS[i].name) != 0) {
            continue;
        }
        struct pair pair = {.kind = &KINDS[i]};
        const struct lm_workload workload = {.initialise = sync_initialise,
                                             .benchmark = KINDS[i].benchmark,
                                             .cleanup = sync_cleanup,
                                             .cookie = &pair,
                                             .operations_per_turn = KINDS[i].per_turn};
        const struct lm_parameter parameter = {.name = "kind", .text = KINDS[i].name};
        const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
        lm_run(&harness, &workload, &series);
    }
    return lm_close(&harness);
}
