/*
 * The "hot potato": a token goes from the child to its helper and back.
 *
 * The helper increments the token each time. After an interval it reports the number of round
 * trips, so a message that the channel loses, duplicates or echoes is an error.
 */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <errno.h>
#include <unistd.h>

/* Connections that wait to be accepted: one per child of a client. */
enum { QUEUE = 16 };

struct potato {
    lm_channel *channel;
    int (*over)(int connection);
    struct lm_remote remote;
    int connection; /* to the server, if the token uses another channel */
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

/* Create the channel from a connection. Return its descriptor, or -1 with errno. */
static int channel_over(struct potato *potato, int connection) {
    if (potato->over == NULL) {
        return connection;
    }
    potato->connection = connection;
    return potato->over(connection);
}

/* Serve a client on another host until it closes its connection. */
static int session(int connection, void *cookie) {
    struct potato *potato = cookie;
    int end = lm_socket_prepare(connection) != 0 ? -1 : channel_over(potato, connection);
    if (end < 0) {
        return LM_EXIT_FAILED;
    }
    potato->ends.partner[0] = potato->ends.partner[1] = end;
    if (end == connection) {
        return helper_run(potato);
    }
    unsigned char token = 0;
    pid_t helper = lm_helper_start(helper_run, potato);
    while (helper > 0 && receive(connection, &token) > 0) {
    }
    return helper > 0 && lm_helper_stop(helper) == 0 ? 0 : LM_EXIT_FAILED;
}

static int join_server(struct potato *potato) {
    int connection = lm_remote_connected(&potato->remote.address);
    int own = connection < 0 ? -1 : channel_over(potato, connection);
    if (own < 0) {
        return -1;
    }
    potato->ends.own[0] = potato->ends.own[1] = own;
    return lm_socket_limits(own);
}

static int potato_initialise(uint64_t operations, void *cookie) {
    struct potato *potato = cookie;
    if (operations != 0) {
        return 0;
    }
    if (potato->remote.server != NULL) {
        return join_server(potato);
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
    lm_shut(&potato->connection);
    return status;
}

static int measure(const struct lm_program *program, const struct lm_settings *settings,
                   struct potato *potato) {
    const struct lm_workload workload = {.initialise = potato_initialise,
                                         .benchmark = potato_benchmark,
                                         .cleanup = potato_cleanup,
                                         .cookie = potato};
    const struct lm_series series = {0};
    struct lm_harness harness;
    lm_open(&harness, program, settings);
    if (potato->remote.server != NULL) {
        int reached = lm_remote_reach(&harness, &potato->remote);
        lm_shut(&reached);
    }
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}

int lm_potato_main(const char *name, const char *summary, lm_channel *channel, int argc,
                   char **argv) {
    const struct lm_program program = {.name = name, .summary = summary};
    struct potato potato = {.channel = channel, .connection = -1, .ends = {{-1, -1}, {-1, -1}}};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    return measure(&program, &settings, &potato);
}

int lm_potato_remote_main(const char *name, const char *summary, lm_channel *channel,
                          int (*over)(int connection), int argc, char **argv) {
    struct potato potato = {
        .channel = channel, .over = over, .connection = -1, .ends = {{-1, -1}, {-1, -1}}};
    const struct lm_option options[] = {LM_REMOTE_OPTIONS(potato.remote)};
    const struct lm_program program = {.name = name,
                                       .summary = summary,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_remote_parse(&program, &settings, &potato.remote);
    if (potato.remote.serve != NULL) {
        int listening = lm_remote_listening(name, &potato.remote, QUEUE);
        return lm_remote_serve(name, &potato.remote,
                               lm_remote_sessions(listening, session, &potato));
    }
    return measure(&program, &settings, &potato);
}
