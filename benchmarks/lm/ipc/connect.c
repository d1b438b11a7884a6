/* Connections that a server, a helper of the child, accepts and closes. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <unistd.h>

static int close_at_once(int connection, void *cookie) {
    (void)cookie;
    return close(connection);
}

static int server_run(void *cookie) {
    return lm_serve(*(const int *)cookie, close_at_once, NULL);
}

int lm_accepting_start(struct lm_accepting *accepting) {
    accepting->server = lm_helper_start(server_run, &accepting->listening);
    /* Only the server keeps it: when the server ends, connections are refused or reset. */
    lm_shut(&accepting->listening);
    return accepting->server > 0 ? 0 : -1;
}

int lm_accepting_benchmark(uint64_t operations, void *cookie) {
    struct lm_accepting *accepting = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        char byte;
        int descriptor = lm_socket_connected(accepting->address, accepting->address_bytes);
        if (descriptor < 0) {
            return -1;
        }
        ssize_t got = 0;
        do {
            got = read(descriptor, &byte, 1);
        } while (got < 0 && errno == EINTR);
        if (got != 0) {
            lm_shut(&descriptor);
            return -1;
        }
        if (close(descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

int lm_accepting_stop(struct lm_accepting *accepting) {
    lm_shut(&accepting->listening);
    return accepting->server > 0 ? lm_helper_stop(accepting->server) : 0;
}

/* One pending connection at a time. */
enum { QUEUE = 16 };

int lm_unix_accepting_initialise(uint64_t operations, void *cookie) {
    struct lm_unix_accepting *connecting = cookie;
    if (operations != 0) {
        return 0;
    }
    connecting->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(connecting->address.sun_path, sizeof connecting->address.sun_path,
                   "lm_accepting.%ld", (long)getpid());
    /* For the helper that was killed here. */
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

int lm_unix_accepting_cleanup(uint64_t operations, void *cookie) {
    struct lm_unix_accepting *connecting = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = lm_accepting_stop(&connecting->accepting);
    if (connecting->bound && unlink(connecting->address.sun_path) != 0) {
        status = -1;
    }
    return status;
}
