/*
 * The "hot potato": a token goes from the child to its helper and back.
 *
 * The helper increments the token each time. After an interval it reports the number of round
 * trips, so a message that the channel loses, duplicates or echoes is an error.
 */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <unistd.h>

struct potato {
    lm_channel *channel;
    struct lm_ends ends;
    pid_t helper;
    volatile int helper_ended;
    unsigned char token;
};

void lm_shut(int *descriptor) {
    int before = errno;
    if (*descriptor >= 0) {
        (void)close(*descriptor);
    }
    *descriptor = -1;
    errno = before;
}

int lm_not_received(ssize_t got) {
    if (got >= 0) {
        errno = EPIPE;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS) {
        errno = ETIMEDOUT;
    }
    return -1;
}

static void shut_both(int ends[2]) {
    if (ends[1] == ends[0]) {
        ends[1] = -1;
    }
    lm_shut(&ends[0]);
    lm_shut(&ends[1]);
}

/* A socket with a time limit is interrupted when the process is stopped and continued: the message
 * can still arrive. */
static ssize_t receive(int descriptor, unsigned char *token) {
    ssize_t got = 0;
    do {
        got = read(descriptor, token, 1);
    } while (got < 0 && errno == EINTR);
    return got;
}

static int helper_run(void *cookie) {
    struct potato *potato = cookie;
    /* Otherwise the helper would hold the child's ends open and never see end of file. */
    shut_both(potato->ends.own);
    for (;;) {
        unsigned char token = 0;
        ssize_t got = receive(potato->ends.partner[0], &token);
        if (got != 1) {
            return got == 0 ? 0 : LM_EXIT_FAILED;
        }
        token++;
        if (write(potato->ends.partner[1], &token, 1) != 1) {
            return LM_EXIT_FAILED;
        }
    }
}

/* A datagram that the helper had received before it ended would be awaited until the time limit.
 * Therefore the socket is shut down. A pipe reports end of file itself. */
static void wake_child(void *cookie) {
    (void)shutdown(((struct potato *)cookie)->ends.own[0], SHUT_RDWR);
}

static int potato_initialise(uint64_t operations, void *cookie) {
    struct potato *potato = cookie;
    if (operations != 0) {
        return 0;
    }
    if (potato->channel(&potato->ends) != 0 ||
        lm_watch_helpers(&potato->helper_ended, wake_child, potato) != 0) {
        return -1;
    }
    potato->helper = lm_helper_start(helper_run, potato);
    shut_both(potato->ends.partner);
    return potato->helper > 0 ? 0 : -1;
}

static int potato_benchmark(uint64_t operations, void *cookie) {
    struct potato *potato = cookie;
    const int from = potato->ends.own[0], to = potato->ends.own[1];
    unsigned char token = potato->token;
    const unsigned char expected = (unsigned char)(token + operations);
    for (uint64_t i = 0; i < operations; i++) {
        if (write(to, &token, 1) != 1) {
            return -1;
        }
        ssize_t got = receive(from, &token);
        if (got != 1) {
            return lm_not_received(got);
        }
    }
    potato->token = token;
    if (token != expected) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static int potato_cleanup(uint64_t operations, void *cookie) {
    struct potato *potato = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = potato->helper > 0 ? lm_helper_stop(potato->helper) : 0;
    shut_both(potato->ends.own);
    shut_both(potato->ends.partner);
    return status;
}

int lm_potato_main(const char *name, const char *summary, lm_channel *channel, int argc,
                   char **argv) {
    const struct lm_program program = {.name = name, .summary = summary};
    struct potato potato = {.channel = channel, .ends = {{-1, -1}, {-1, -1}}};
    const struct lm_workload workload = {.initialise = potato_initialise,
                                         .benchmark = potato_benchmark,
                                         .cleanup = potato_cleanup,
                                         .cookie = &potato};
    const struct lm_series series = {0};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
