/*
 * What the benchmarks of communication between processes share: the "hot potato" that goes to and
 * fro, and sockets on the loopback interface.
 */
#ifndef LM_IPC_H
#define LM_IPC_H

#include "harness/lm.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* For the help of what goes between a child and its helper. */
#define LM_PLACEMENT_HELP                                                                          \
    "With --placement compact or scattered both processes run on one processor. Left free, they\n" \
    "may not, and to wake the other processor may then take most of the time.\n"

/* How long a process waits for a message before it takes it for lost. */
enum { LM_TIME_LIMIT_S = 10 };

/* ---- the potato (potato.c) ---- */

/* The ends of a channel both ways: [0] is read from, [1] written to. They may be the same. */
struct lm_ends {
    int own[2];     /* of the child that is timed */
    int partner[2]; /* of its helper */
};

/* Makes a channel within one process. Returns 0, or -1 with errno, all it opened closed. */
typedef int lm_channel(struct lm_ends *ends);

/* All of the main() of a benchmark whose operation is a round trip: a byte goes to a helper of the
 * child's own and comes back. */
int lm_potato_main(const char *name, const char *summary, lm_channel *channel, int argc,
                   char **argv);

/* Closes a descriptor that may be -1, and makes it -1; errno stays as it was. */
void lm_shut(int *descriptor);

/* A pipe, FIFO or socket whose read() gave `got`, not the bytes that were asked for: sets errno to
 * what that means (EPIPE: the other side has ended; ETIMEDOUT) and returns -1. */
int lm_not_received(ssize_t got);

/* ---- processes that must not be missed (partner.c) ---- */

/* Where a partner's end cannot be seen on the channel (locks, semaphores): from now on
 * `*ended` becomes 1 when a helper of this process ends, and `wake`, unless NULL, is called with
 * `cookie` in the signal handler. Returns 0, or -1 with errno. */
int lm_watch_helpers(volatile int *ended, void (*wake)(void *cookie), void *cookie);

/* ---- sockets on 127.0.0.1 (sockets.c); all return -1 with errno when they fail ---- */

/* A socket of `type` bound to a port that the system chooses; `address` gets it. */
int lm_socket_bound(int type, struct sockaddr_in *address);

/* The same for TCP, listening with a queue of `queue` connections. */
int lm_socket_listening(int queue, struct sockaddr_in *address);

/* How many connections may wait to be accepted, `most` at most: half of what the kernel allows,
 * because one whose reset overtook it may be in the queue after it was emptied. Ends the program by
 * lm_fail() where that is not known. */
uint64_t lm_queue_limit(struct lm_harness *harness, uint64_t most);

/* From now on close() ends the connection by a reset: none is left in TIME_WAIT. */
int lm_socket_resets(int descriptor);

/* Waiting to send, connect or receive fails after LM_TIME_LIMIT_S. */
int lm_socket_limits(int descriptor);

/* Messages are sent at once, however small. */
int lm_socket_undelayed(int descriptor);

/* Connects a new socket with `address`; where that is TCP, closing it will be a reset. A connection
 * that is not there within half a second fails: after a second TCP would try again, and the time
 * measured would be that of its timer. Returns the socket. */
int lm_socket_connected(const struct sockaddr *address, socklen_t address_bytes);

/* A server's loop: accepts connections and hands each to `serve`, which closes it. Returns an exit
 * code when accepting fails. */
int lm_serve(int listening, int (*serve)(int connection, void *cookie), void *cookie);

/* Connects `from`, a fresh TCP socket, with `listening`, both of this process. Returns the other
 * end. Both ends reset and are undelayed; `from` is limited, the other is a server's and waits for
 * as long as it takes. */
int lm_socket_join(int from, int listening, const struct sockaddr_in *address);

/* ---- a server that accepts and closes (connect.c) ---- */

struct lm_accepting {
    int listening; /* -1: none, or given to the server */
    pid_t server;
    const struct sockaddr *address;
    socklen_t address_bytes;
};

/* Starts the server on `listening`. Returns 0, or -1 with errno. */
int lm_accepting_start(struct lm_accepting *accepting);

/* A benchmark's step with a struct lm_accepting: connects, waits until the server has accepted and
 * closed, and closes. */
int lm_accepting_benchmark(uint64_t operations, void *cookie);

/* Ends the server. Returns 0, or -1 with errno when it had failed. */
int lm_accepting_stop(struct lm_accepting *accepting);

/* The same at a name in the working directory: a cookie for lm_accepting_benchmark() too, and steps
 * of a workload. */
struct lm_unix_accepting {
    struct lm_accepting accepting; /* the first: lm_accepting_benchmark() takes it */
    struct sockaddr_un address;
    bool bound;
};
int lm_unix_accepting_initialise(uint64_t operations, void *cookie);
int lm_unix_accepting_cleanup(uint64_t operations, void *cookie);

/* ---- many descriptors (descriptors.c) ---- */

struct lm_many {
    const char *kind; /* file (each opened by itself), pipe or tcp */
    uint64_t count;
    int *looked_at; /* [count]; with tcp and pipe nothing can be read from them until it is sent */
    int *other;     /* [count] what sends to them; -1 with file */
};

/* Returns 0, or -1 with errno; lm_many_close() closes what is open either way. */
int lm_many_open(struct lm_many *many);
void lm_many_close(struct lm_many *many);

/* How many descriptors they may take. */
static inline uint64_t lm_many_needed(uint64_t count) {
    return 2 * count + 2;
}

/* Runs a series of parameters `kind` and `descriptors` for each of the NULL-terminated `kinds` that
 * is `chosen`; kinds[0] means all. `many` is (the first member of) the workload's cookie. */
void lm_many_run(struct lm_harness *harness, struct lm_workload *workload, struct lm_many *many,
                 const char *chosen, const char *const *kinds);

#endif
