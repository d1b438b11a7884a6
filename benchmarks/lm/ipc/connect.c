/* Connections that a server, a helper of the child's own, accepts and closes. */
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
    /* Only the server has it then: when it ends, connections are refused or reset. */
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
