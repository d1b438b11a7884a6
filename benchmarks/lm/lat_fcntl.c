/*
 * Latency of a round trip through locks on a file (fcntl).
 *
 * Two processes go in step by three locks, each on a byte of the file. In step k the active process
 * holds the locks k and k + 2 (modulo 3), the other holds k + 1 and waits for k. The active process
 * releases k and waits for k + 1; so the other has k, holds k and k + 1, and is the active one of
 * step k + 1. Neither can get ahead: what it waits for is held until the other has had its turn.
 */
#define _DEFAULT_SOURCE /* mkstemp, MAP_ANONYMOUS */

#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_fcntl";
static const char SUMMARY[] =
    "Measures the latency of file locks (fcntl, F_SETLKW) passed between two processes. An\n"
    "operation is a round trip: each of the two releases one lock and waits for another, which\n"
    "the other process holds until it has had its turn; that makes four calls. The file is made\n"
    "in the working directory and its name removed at once.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns per round trip.";

enum { LOCKS = 3 };

struct locked {
    bool shared;      /* the file is that of all children */
    int descriptor;   /* of the file */
    off_t first;      /* byte of the first of the three locks */
    unsigned step;    /* of the child, modulo 3; it is the active one between two intervals */
    uint64_t *turns;  /* how many the helper has had; the locks order its uses */
    uint64_t counted; /* how many it should have had */
    int begun[2];     /* a pipe: the helper tells that it holds its lock */
    pid_t helper;
    volatile int helper_ended;
};

static int set_lock(const struct locked *locked, unsigned lock, short type) {
    struct flock wanted = {.l_type = type,
                           .l_whence = SEEK_SET,
                           .l_start = locked->first + (off_t)(lock % LOCKS),
                           .l_len = 1};
    return fcntl(locked->descriptor, type == F_UNLCK ? F_SETLK : F_SETLKW, &wanted);
}

/* Ends the step of the active process and waits for the next but one. */
static int pass(const struct locked *locked, unsigned step) {
    return set_lock(locked, step, F_UNLCK) != 0 ? -1 : set_lock(locked, step + 1, F_WRLCK);
}

static int helper_run(void *cookie) {
    struct locked *locked = cookie;
    lm_shut(&locked->begun[0]);
    if (set_lock(locked, 1, F_WRLCK) != 0 || write(locked->begun[1], "", 1) != 1 ||
        set_lock(locked, 0, F_WRLCK) != 0) {
        return LM_EXIT_FAILED;
    }
    for (unsigned step = 1;; step = (step + 2) % LOCKS) {
        (*locked->turns)++;
        if (pass(locked, step) != 0) {
            return LM_EXIT_FAILED;
        }
    }
}

/* A file of no name: whatever happens, it is gone. */
static int nameless_file(void) {
    char name[] = "lat_fcntl.XXXXXX";
    int descriptor = mkstemp(name);
    if (descriptor >= 0 && unlink(name) != 0) {
        lm_shut(&descriptor);
    }
    return descriptor;
}

static int meet_helper(struct locked *locked) {
    char byte;
    if (pipe(locked->begun) != 0 || set_lock(locked, 0, F_WRLCK) != 0 ||
        set_lock(locked, 2, F_WRLCK) != 0 ||
        lm_watch_helpers(&locked->helper_ended, NULL, NULL) != 0) {
        return -1;
    }
    locked->helper = lm_helper_start(helper_run, locked);
    lm_shut(&locked->begun[1]);
    if (locked->helper < 0) {
        return -1;
    }
    ssize_t got = 0;
    do {
        got = read(locked->begun[0], &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? 0 : lm_not_received(got);
}

static int locked_initialise(uint64_t operations, void *cookie) {
    struct locked *locked = cookie;
    if (operations != 0) {
        return 0;
    }
    void *area = mmap(NULL, sizeof *locked->turns, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        return -1;
    }
    locked->turns = area;
    if (locked->shared) {
        locked->first = (off_t)lm_child_index() * LOCKS;
    } else {
        locked->descriptor = nameless_file();
    }
    return locked->descriptor < 0 ? -1 : meet_helper(locked);
}

static int locked_benchmark(uint64_t operations, void *cookie) {
    struct locked *locked = cookie;
    unsigned step = locked->step;
    for (uint64_t i = 0; i < operations; i++) {
        if (pass(locked, step) != 0) {
            return -1;
        }
        /* A process that ends releases its locks: the child would go on alone. */
        if (locked->helper_ended) {
            errno = EPIPE;
            return -1;
        }
        step = (step + 2) % LOCKS;
    }
    locked->step = step;
    locked->counted += operations;
    if (*locked->turns != locked->counted) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static int locked_cleanup(uint64_t operations, void *cookie) {
    struct locked *locked = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = locked->helper > 0 ? lm_helper_stop(locked->helper) : 0;
    if (locked->turns != NULL && munmap(locked->turns, sizeof *locked->turns) != 0) {
        status = -1;
    }
    lm_shut(&locked->begun[0]);
    lm_shut(&locked->begun[1]);
    lm_shut(&locked->descriptor);
    return status;
}

int main(int argc, char **argv) {
    static const char *const files[] = {"own", "shared", NULL};
    const char *file = files[0];
    const struct lm_option options[] = {
        {.name = "--file",
         .help = "one file per process, or one file for the locks of all",
         .text = &file,
         .choices = files}};
    const struct lm_program program = {
        .name = PROGRAM, .summary = SUMMARY, .options = options, .option_count = 1};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    struct locked locked = {
        .descriptor = -1, .begun = {-1, -1}, .shared = strcmp(file, "shared") == 0};
    if (locked.shared) {
        locked.descriptor = nameless_file();
        if (locked.descriptor < 0) {
            char what[200];
            (void)snprintf(what, sizeof what, "a file in the working directory: %s",
                           strerror(errno));
            lm_fail(&harness, what);
        }
    }
    const struct lm_workload workload = {.initialise = locked_initialise,
                                         .benchmark = locked_benchmark,
                                         .cleanup = locked_cleanup,
                                         .cookie = &locked};
    const struct lm_parameter parameter = {.name = "file", .text = file};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(&harness, &workload, &series);
    lm_shut(&locked.descriptor);
    return lm_close(&harness);
}
