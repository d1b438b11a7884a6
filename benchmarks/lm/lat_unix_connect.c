/* Latency of UNIX-domain stream connections. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <sys/un.h>
#include <unistd.h>

static const char SUMMARY[] =
    "Measures the latency of UNIX-domain stream connections. An operation is: make a socket,\n"
    "connect it by the name of the server's in the working directory, wait until the server,\n"
    "another process, has accepted the connection and closed its end, close it. Each of\n"
    "--parallel processes has a server of its own.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns a connection.";

/* One connection waits at a time. */
enum { QUEUE = 16 };

struct connecting {
    struct lm_accepting accepting; /* the first: lm_accepting_benchmark() takes it */
    struct sockaddr_un address;
    bool bound;
};

static int connecting_initialise(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    if (operations != 0) {
        return 0;
    }
    connecting->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(connecting->address.sun_path, sizeof connecting->address.sun_path,
                   "lat_unix_connect.%ld", (long)getpid());
    /* Of a process of this number that was killed here. */
    (void)unlink(connecting->address.sun_path);
    connecting->accepting.address = (const struct sockaddr *)&connecting->address;
    connecting->accepting.address_bytes = sizeof connecting->address;
    connecting->accepting.listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connecting->accepting.listening < 0 ||
        bind(connecting->accepting.listening, connecting->accepting.address,
             connecting->accepting.address_bytes) != 0) {
        return -1;
    }
    connecting->bound = true;
    if (listen(connecting->accepting.listening, QUEUE) != 0) {
        return -1;
    }
    return lm_accepting_start(&connecting->accepting);
}

static int connecting_cleanup(uint64_t operations, void *cookie) {
    struct connecting *connecting = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = lm_accepting_stop(&connecting->accepting);
    if (connecting->bound && unlink(connecting->address.sun_path) != 0) {
        status = -1;
    }
    return status;
}

int main(int argc, char **argv) {
    const struct lm_program program = {.name = "lat_unix_connect", .summary = SUMMARY};
    struct connecting connecting = {.accepting = {.listening = -1}};
    const struct lm_workload workload = {.initialise = connecting_initialise,
                                         .benchmark = lm_accepting_benchmark,
                                         .cleanup = connecting_cleanup,
                                         .cookie = &connecting};
    const struct lm_series series = {0};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
