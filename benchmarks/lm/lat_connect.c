/* Latency of TCP connections. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_connect";
static const char SUMMARY[] =
    "Measure the latency of TCP connections over the loopback interface (127.0.0.1). An operation\n"
    "creates a socket, sets its close mode, connects it and closes it. It closes by a reset, so\n"
    "no connection remains in TIME_WAIT.\n"
    "  connected  The kernel has established the connection. It waits in the queue of a listening\n"
    "             socket, which is emptied after each interval.\n"
    "  accepted   A server process has also accepted the connection and closed its end, and the\n"
    "             client has received the end of file.\n" LM_REMOTE_HELP
    "The server accepts and closes at once; therefore with \"connected\" it empties the queue\n"
    "during the interval.\n"
    "Metric: latency, in ns per connection.";
static const char SINGLE[] =
    "an interval is limited to the queue of a listening socket, which is far "
    "shorter than the second that several processes need";

/* This number takes about ten milliseconds; all are in the queue at once. */
static const uint64_t MOST_CONNECTIONS = 1000;

struct connecting {
    struct lm_accepting accepting;
    struct sockaddr_in address;
    int queue;
    bool remote; /* the server is on another host */
};

static int listen_for(struct connecting *connecting) {
    connecting->accepting.listening =
        lm_socket_listening(2 * connecting->queue, &connecting->address);
    connecting->accepting.address = (const struct sockaddr *)&connecting->address;
    connecting->accepting.address_bytes = sizeof connecting->address;
    return connecting->accepting.listening < 0 ? -1 : 0;
}

static int connected_initialise(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    if (operations != 0 || connecting->remote) {
        return 0;
    }
    if (listen_for(connecting) != 0) {
        return -1;
    }
    return fcntl(connecting->accepting.listening, F_SETFL, O_NONBLOCK);
}

static int connected_benchmark(uint64_t operations, void *cookie) {
    const struct connecting *connecting = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        int descriptor = lm_socket_connected((const struct sockaddr *)&connecting->address,
                                             sizeof connecting->address);
        if (descriptor < 0 || close(descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

static int connected_cleanup(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    if (operations == 0) {
        lm_shut(&connecting->accepting.listening);
        return 0;
    }
    if (connecting->remote) {
        /* The queue is in order: when this connection is closed, all earlier ones are. */
        return lm_accepting_benchmark(1, connecting);
    }
    for (;;) {
        int connection = accept(connecting->accepting.listening, NULL, NULL);
        if (connection >= 0) {
            (void)close(connection);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return -1;
        }
    }
}

static int accepted_initialise(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    if (operations != 0 || connecting->remote) {
        return 0;
    }
    return listen_for(connecting) != 0 ? -1 : lm_accepting_start(&connecting->accepting);
}

static int accepted_cleanup(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    return operations != 0 ? 0 : lm_accepting_stop(&connecting->accepting);
}

static int serve(const char *program, struct lm_remote *remote) {
    struct lm_accepting accepting = {
        .listening = lm_remote_listening(program, remote, 2 * (int)MOST_CONNECTIONS)};
    (void)lm_accepting_start(&accepting);
    return lm_remote_serve(program, remote, accepting.server);
}

int main(int argc, char **argv) {
    static const char *const stages[] = {"all", "connected", "accepted", NULL};
    const char *stage = stages[0];
    struct lm_remote remote = {0};
    const struct lm_option options[] = {{.name = "--until",
                                         .help = "final state of a connection",
                                         .text = &stage,
                                         .choices = stages},
                                        LM_REMOTE_OPTIONS(remote)};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_remote_parse(&program, &settings, &remote);
    lm_remote_refuse(&program, &remote, "--until", stage != stages[0]);
    if (remote.serve != NULL) {
        return serve(PROGRAM, &remote);
    }
    lm_open(&harness, &program, &settings);
    const uint64_t limit = lm_queue_limit(&harness, MOST_CONNECTIONS);
    struct connecting connecting = {.accepting = {.listening = -1}, .queue = (int)limit};
    if (remote.server != NULL) {
        int reached = lm_remote_reach(&harness, &remote);
        lm_shut(&reached);
        connecting.remote = true;
        connecting.address = remote.address;
        connecting.accepting.address = (const struct sockaddr *)&connecting.address;
        connecting.accepting.address_bytes = sizeof connecting.address;
    }
    const struct lm_workload workloads[] = {
        {.initialise = connected_initialise,
         .benchmark = connected_benchmark,
         .cleanup = connected_cleanup,
         .cookie = &connecting,
         .most_operations = limit},
        {.initialise = accepted_initialise,
         .benchmark = lm_accepting_benchmark,
         .cleanup = accepted_cleanup,
         .cookie = &connecting, /* its first member is the argument of lm_accepting_benchmark */
         .most_operations = limit},
    };
    for (size_t i = 1; stages[i] != NULL; i++) {
        if (strcmp(stage, stages[0]) == 0 || strcmp(stage, stages[i]) == 0) {
            const struct lm_parameter parameter = {.name = "until", .text = stages[i]};
            const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
            lm_run(&harness, &workloads[i - 1], &series);
        }
    }
    return lm_close(&harness);
}
