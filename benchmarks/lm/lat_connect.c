/* Latency of TCP connections over the loopback interface. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_connect";
static const char SUMMARY[] =
    "Measures the latency of TCP connections over the loopback interface (127.0.0.1). An "
    "operation\n"
    "is: make a socket, set how it closes, connect it, close it. It closes by a reset, so that no\n"
    "connection is left in TIME_WAIT.\n"
    "  connected  the kernel has made the connection; it waits in the queue of a listening "
    "socket,\n"
    "             which is emptied after each interval.\n"
    "  accepted   a server, another process, has also accepted the connection and closed its end,\n"
    "             and the client has read that.\n"
    "Metric: latency, in ns per connection.";
static const char SINGLE[] =
    "an interval has no more connections than the queue of a listening socket holds, which is far "
    "less than the second that several processes must run";

/* So many take about ten milliseconds; they are in the queue all at once. */
static const uint64_t MOST_CONNECTIONS = 1000;

struct connecting {
    struct lm_accepting accepting;
    struct sockaddr_in address;
    int queue;
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
    if (operations != 0) {
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
    if (operations != 0) {
        return 0;
    }
    return listen_for(connecting) != 0 ? -1 : lm_accepting_start(&connecting->accepting);
}

static int accepted_cleanup(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    return operations != 0 ? 0 : lm_accepting_stop(&connecting->accepting);
}

int main(int argc, char **argv) {
    static const char *const stages[] = {"all", "connected", "accepted", NULL};
    const char *stage = stages[0];
    const struct lm_option options[] = {{.name = "--until",
                                         .help = "last step of a connection",
                                         .text = &stage,
                                         .choices = stages}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = 1};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    const uint64_t limit = lm_queue_limit(&harness, MOST_CONNECTIONS);
    struct connecting connecting = {.accepting = {.listening = -1}, .queue = (int)limit};
    const struct lm_workload workloads[] = {
        {.initialise = connected_initialise,
         .benchmark = connected_benchmark,
         .cleanup = connected_cleanup,
         .cookie = &connecting,
         .most_operations = limit},
        {.initialise = accepted_initialise,
         .benchmark = lm_accepting_benchmark,
         .cleanup = accepted_cleanup,
         .cookie = &connecting, /* it begins with what lm_accepting_benchmark takes */
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
