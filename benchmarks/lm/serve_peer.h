/*
 * The client of lat_serve: a helper of the timed server. The server must never wait for it, and it
 * must not cause the server any work except its requests.
 */
#ifndef LM_SERVE_PEER_H
#define LM_SERVE_PEER_H

#include "harness/file.h"
#include "ipc/ipc.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { REQUEST_BYTES = 120, MOST_CONNECTIONS = 64 };
/* Number of pending connections; must fit into the queue of a listening socket. */
enum { BATCH = 256 };
/* Maximum size of a receive; received data are not copied. */
enum { SINK_BYTES = 1 << 20 };

struct serving {
    uint64_t bytes;          /* of a reply */
    uint64_t answered_bytes; /* bytes that the server sends per request */
    uint64_t connections;
    uint64_t next; /* index of the next connection */
    uint64_t sent; /* writes in the current burst */
    uint32_t batch;
    int listening, control[2]; /* of connect: [0] belongs to the server, [1] to the peer */
    int own[MOST_CONNECTIONS], peers[MOST_CONNECTIONS];
    struct sockaddr_in address;
    bool from_file;
    struct lm_file file;
    char *reply;
    pid_t peer;
};

static void peer_closes(struct serving *serving) {
    for (uint64_t i = 0; i < serving->connections; i++) {
        lm_shut(&serving->own[i]);
    }
}

/* Wait until one of them is readable; poll if the peer has an exclusive processor. This check takes
 * no lock of the connection from the server. */
static int await_any(struct pollfd *descriptors, uint64_t count) {
    int ready = 0;
    do {
        ready = poll(descriptors, (nfds_t)count, lm_has_own_peer() ? 0 : -1);
    } while (ready == 0 || (ready < 0 && errno == EINTR));
    return ready;
}

static int request(int connection) {
    static const char text[REQUEST_BYTES] = "GET /";
    return write(connection, text, sizeof text) == (ssize_t)sizeof text ? 0 : -1;
}

/* The server ended the connection, which is the regular end of the peer. */
static bool is_end(ssize_t got) {
    return got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE));
}

/* Send the next request of a connection when the answer to the previous one is complete. */
static int requests_run(void *cookie) {
    struct serving *serving = cookie;
    static char sink[SINK_BYTES];
    struct pollfd looked_at[MOST_CONNECTIONS];
    uint64_t left_bytes[MOST_CONNECTIONS];
    const uint64_t answered_bytes = serving->answered_bytes;
    peer_closes(serving);
    if (lm_place_peer() != 0) {
        return LM_EXIT_FAILED;
    }
    for (uint64_t i = 0; i < serving->connections; i++) {
        looked_at[i] = (struct pollfd){.fd = serving->peers[i], .events = POLLIN};
        left_bytes[i] = answered_bytes;
        if (request(serving->peers[i]) != 0) {
            return LM_EXIT_FAILED;
        }
    }
    for (;;) {
        if (await_any(looked_at, serving->connections) < 0) {
            return LM_EXIT_FAILED;
        }
        for (uint64_t i = 0; i < serving->connections; i++) {
            if (looked_at[i].revents == 0) {
                continue;
            }
            size_t wanted = left_bytes[i] < SINK_BYTES ? (size_t)left_bytes[i] : SINK_BYTES;
            ssize_t got = recv(looked_at[i].fd, sink, wanted, MSG_TRUNC | MSG_DONTWAIT);
            if (is_end(got)) {
                return 0;
            }
            if (got < 0 && errno != EAGAIN && errno != EINTR) {
                return LM_EXIT_FAILED;
            }
            left_bytes[i] -= got > 0 ? (uint64_t)got : 0;
            if (left_bytes[i] == 0) {
                left_bytes[i] = answered_bytes;
                if (request(looked_at[i].fd) != 0) {
                    return is_end(-1) ? 0 : LM_EXIT_FAILED;
                }
            }
        }
    }
}

/* Create the requested number of connections each time, after closing the previous ones. */
static int connects_run(void *cookie) {
    struct serving *serving = cookie;
    int made[BATCH];
    uint32_t count = 0, before = 0;
    lm_shut(&serving->control[0]);
    lm_shut(&serving->listening);
    if (lm_place_peer() != 0) {
        return LM_EXIT_FAILED;
    }
    for (;;) {
        ssize_t got = read(serving->control[1], &count, sizeof count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)sizeof count || count > BATCH) {
            return got == 0 ? 0 : LM_EXIT_FAILED;
        }
        for (uint32_t i = 0; i < before; i++) {
            lm_shut(&made[i]);
        }
        for (before = 0; before < count; before++) {
            made[before] = lm_socket_connected((const struct sockaddr *)&serving->address,
                                               sizeof serving->address);
            if (made[before] < 0) {
                return LM_EXIT_FAILED;
            }
        }
        if (write(serving->control[1], &count, sizeof count) != (ssize_t)sizeof count) {
            return is_end(-1) ? 0 : LM_EXIT_FAILED;
        }
    }
}

#endif
