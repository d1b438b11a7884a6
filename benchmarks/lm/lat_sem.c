/* Latency of a round trip through two semaphores. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "ipc/ipc.h"

#include <errno.h>
#include <semaphore.h>
#include <sys/mman.h>

static const char SUMMARY[] =
    "Measures the latency of a pair of semaphores (POSIX, in memory that two processes share). An\n"
    "operation is a round trip: the child posts one and waits for the other, which its helper\n"
    "posts as soon as it has had the first. The helper waits in the kernel; so does the child\n"
    "unless the answer is there before.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns per round trip.";

struct shared {
    sem_t there, back;
    uint64_t turns; /* how often the helper has answered; the semaphores order its uses */
};

struct pair {
    struct shared *shared;
    pid_t helper;
    volatile int helper_ended;
    uint64_t turns;
};

static int wait_for(sem_t *semaphore) {
    int status = 0;
    do {
        status = sem_wait(semaphore);
    } while (status != 0 && errno == EINTR);
    return status;
}

static int helper_run(void *cookie) {
    struct shared *shared = ((struct pair *)cookie)->shared;
    for (;;) {
        if (wait_for(&shared->there) != 0) {
            return LM_EXIT_FAILED;
        }
        shared->turns++;
        if (sem_post(&shared->back) != 0) {
            return LM_EXIT_FAILED;
        }
    }
}

/* The helper has ended: the child, which may wait for it, goes on and sees that. */
static void wake_child(void *cookie) {
    (void)sem_post(&((struct pair *)cookie)->shared->back);
}

static int pair_initialise(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    if (operations != 0) {
        return 0;
    }
    void *area = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        return -1;
    }
    pair->shared = area;
    if (sem_init(&pair->shared->there, 1, 0) != 0 || sem_init(&pair->shared->back, 1, 0) != 0 ||
        lm_watch_helpers(&pair->helper_ended, wake_child, pair) != 0) {
        return -1;
    }
    pair->helper = lm_helper_start(helper_run, pair);
    return pair->helper > 0 ? 0 : -1;
}

static int pair_benchmark(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    struct shared *shared = pair->shared;
    for (uint64_t i = 0; i < operations; i++) {
        if (sem_post(&shared->there) != 0 || wait_for(&shared->back) != 0) {
            return -1;
        }
        if (pair->helper_ended) {
            errno = EPIPE;
            return -1;
        }
    }
    pair->turns += operations;
    if (shared->turns != pair->turns) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static int pair_cleanup(uint64_t operations, void *cookie) {
    struct pair *pair = cookie;
    if (operations != 0 || pair->shared == NULL) {
        return 0;
    }
    int status = pair->helper > 0 ? lm_helper_stop(pair->helper) : 0;
    if (sem_destroy(&pair->shared->there) != 0 || sem_destroy(&pair->shared->back) != 0 ||
        munmap(pair->shared, sizeof *pair->shared) != 0) {
        status = -1;
    }
    pair->shared = NULL;
    return status;
}

int main(int argc, char **argv) {
    const struct lm_program program = {.name = "lat_sem", .summary = SUMMARY};
    struct pair pair = {0};
    const struct lm_workload workload = {.initialise = pair_initialise,
                                         .benchmark = pair_benchmark,
                                         .cleanup = pair_cleanup,
                                         .cookie = &pair};
    const struct lm_series series = {0};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
