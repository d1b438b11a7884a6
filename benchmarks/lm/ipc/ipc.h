/*
 * Common part of the benchmarks of interprocess communication: the "hot potato" that goes back and
 * forth, and sockets on the loopback interface.
 */
#ifndef LM_IPC_H
#define LM_IPC_H

#include "harness/lm.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Help text for communication between a child and its helper. */
#define LM_PLACEMENT_HELP                                                                          \
    "With --placement compact or scattered, both processes run on one processor. With free they\n" \
    "can run on different processors, and waking the other processor can dominate the time.\n"

/* Time limit for a message; after it, the message counts as lost. */
enum { LM_TIME_LIMIT_S = 10 };

/* ---- the potato (potato.c) ---- */

/* The ends of a bidirectional channel: [0] for reading, [1] for writing. They may be equal. */
struct lm_ends {
    int own[2];     /* of the timed child */
    int partner[2]; /* of its helper */
};

/* Create a channel within one process. Return 0, or -1 with errno and all opened descriptors
 * closed. */
typedef int lm_channel(struct lm_ends *ends);

/* Complete main() of a benchmark of round trips: a byte goes to a helper of the child and comes
 * back. */
int lm_potato_main(const char *name, const char *summary, lm_channel *channel, int argc,
                   char **argv);

/* The same for a benchmark with --serve and --server (remote.h). `over` creates the descriptor that
 * carries the byte from a TCP connection of server and client, and is executed by both sides; NULL:
 * the connection itself. */
int lm_potato_remote_main(const char *name, const char *summary, lm_channel *channel,
                          int (*over)(int connection), int argc, char **argv);

/* Close a descriptor, which may be -1, and set it to -1; errno is preserved. */
void lm_shut(int *descriptor);

/* For a pipe, FIFO or socket whose read() returned `got` instead of the requested length: set errno
 * to the meaning (EPIPE: the other side has ended; ETIMEDOUT) and return -1. */
int lm_not_received(ssize_t got);

/* ---- detecting the end of a partner (partner.c) ---- */

/* For channels that do not show the end of a partner (locks, semaphores). From now on, `*ended`
 * becomes 1 when a helper of this process ends, and `wake`, unless NULL, is called with `cookie` in
 * the signal handler. Return 0, or -1 with errno. */
int lm_watch_helpers(volatile int *ended, void (*wake)(void *cookie), void *cookie);

/* ---- sockets, on 127.0.0.1 if no address is given (sockets.c); all return -1 with errno on
 * failure ---- */

/* A socket of `type` bound to `address`, which receives the port that the system selects for port
 * 0. */
int lm_socket_bound_at(int type, struct sockaddr_in *address);

/* A socket of `type` bound to a port that the system selects; `address` receives it. */
int lm_socket_bound(int type, struct sockaddr_in *address);

/* The same for TCP, listening with a queue of `queue` connections. */
int lm_socket_listening(int queue, struct sockaddr_in *address);

/* Maximum number of connections in the accept queue, at most `most`: half of the kernel limit,
 * because a connection whose reset overtook it can enter the emptied queue. End the program by
 * lm_fail() if the limit is unknown. */
uint64_t lm_queue_limit(struct lm_harness *harness, uint64_t most);

/* From now on, close() resets the connection: none remains in TIME_WAIT. */
int lm_socket_resets(int descriptor);

/* Sending, connecting and receiving fail after LM_TIME_LIMIT_S. */
int lm_socket_limits(int descriptor);

/* Send messages immediately, however small. */
int lm_socket_undelayed(int descriptor);

/* Connect a new socket to `address`; closing a TCP socket then resets the connection. A connection
 * that takes more than half a second fails: TCP retransmits after a second, and the measured time
 * would be that of its timer. Return the socket. */
int lm_socket_connected(const struct sockaddr *address, socklen_t address_bytes);

/* Server loop: accept connections and pass each to `serve`, which closes it. Return an exit code if
 * accepting fails. */
int lm_serve(int listening, int (*serve)(int connection, void *cookie), void *cookie);

/* Use resets and no delay for a TCP socket. */
int lm_socket_prepare(int descriptor);

/* Connect `from`, a new TCP socket, to `address`, with a time limit, resets and no delay. */
int lm_socket_link(int from, const struct sockaddr_in *address);

/* Connect `from`, a new TCP socket, to `listening`, both in this process. Return the other end.
 * Both ends use resets and no delay. `from` has a time limit; the other end belongs to a server and
 * waits indefinitely. */
int lm_socket_join(int from, int listening, const struct sockaddr_in *address);

/* ---- a server that accepts and closes (connect.c) ---- */

struct lm_accepting {
    int listening; /* -1: none, or passed to the server */
    pid_t server;
    const struct sockaddr *address;
    socklen_t address_bytes;
};

/* Start the server on `listening`. Return 0, or -1 with errno. */
int lm_accepting_start(struct lm_accepting *accepting);

/* Benchmark step with a struct lm_accepting: connect, wait until the server has accepted and
 * closed, and close. */
int lm_accepting_benchmark(uint64_t operations, void *cookie);

/* End the server. Return 0, or -1 with errno if it had failed. */
int lm_accepting_stop(struct lm_accepting *accepting);

/* The same for a name in the working directory: also a cookie for lm_accepting_benchmark(), and
 * steps of a workload. */
struct lm_unix_accepting {
    struct lm_accepting accepting; /* first member, for lm_accepting_benchmark() */
    struct sockaddr_un address;
    bool bound;
};
int lm_unix_accepting_initialise(uint64_t operations, void *cookie);
int lm_unix_accepting_cleanup(uint64_t operations, void *cookie);

/* ---- many descriptors (descriptors.c) ---- */

struct lm_many {
    const char *kind; /* file (each opened separately), pipe or tcp */
    uint64_t count;
    int *looked_at; /* [count]; with tcp and pipe, not readable before data are sent */
    int *other;     /* [count] the sending ends; -1 with file */
};

/* Return 0, or -1 with errno; lm_many_close() closes the open ones in both cases. */
int lm_many_open(struct lm_many *many);
void lm_many_close(struct lm_many *many);

/* Number of descriptors that they can use. */
static inline uint64_t lm_many_needed(uint64_t count) {
    return 2 * count + 2;
}

/* Run a series with parameters `kind` and `descriptors` for each of the NULL-terminated `kinds`
 * that is `chosen`; kinds[0] means all. `many` is (the first member of) the cookie of the workload.
 */
void lm_many_run(struct lm_harness *harness, struct lm_workload *workload, struct lm_many *many,
                 const char *chosen, const char *const *kinds);

#endif
