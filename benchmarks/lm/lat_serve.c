/*
 * What a TCP server's processor spends on each thing that it does for a client.
 *
 * The child that is timed is the server. Its peer, a helper on another processor, keeps several
 * requests outstanding, so that the server hardly waits; where it does, the wait is left out. Then
 * the time that passes is the time that its processor was taken.
 *
 * The peer must be the faster of the two. So it drops what it receives without copying it
 * (MSG_TRUNC), and where it has a processor of its own it does not sleep: to wake it would be the
 * server's work. Under a quota it has none: what it used would be taken from the server, and time
 * in which both are held back is no waiting. To connect takes several times as long as to accept;
 * there the peer makes many connections first, which the server then finds waiting, and only the
 * server's part is timed.
 */
#define _GNU_SOURCE /* accept4 */

#include "numbers.h"
#include "serve_peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_serve";
static const char SUMMARY[] =
    "Measures what a TCP server's processor spends on 127.0.0.1, for a client that keeps it busy.\n"
    "  reply     receive a request of 120 bytes, write a reply; a series for each of --bytes\n"
    "  sendfile  the same, with the reply sent by sendfile from a file in the page cache\n"
    "  send      one more write of 200 bytes on a connection where nothing waits to be sent\n"
    "  connect   accept a connection, shut it down, close it\n"
    "An operation is one of these by the server. The client runs on another processor where there\n"
    "is one (`peer_processor` of the first line of the results); where not, or under a quota, its\n"
    "work is in the latency too. Metrics: latency, in ns per operation, and cpu_time, what the\n"
    "server's process used of its processor, in ns per operation: less than the latency where "
    "others\n"
    "had it too.";
static const char SINGLE[] = "the server has a processor, and its client another";

enum { SEND_BYTES = 200, MOST_REPLY_BYTES = 1 << 30 };
/* Writes on a connection before the peer tells that it has received them. With more, one would not
 * go out at once but be put to those that wait for the peer, which costs less. */
enum { BURST = 8 };
/* Connections of an interval at most: with the pauses it then lasts a third of a second, several
 * periods of a quota, even where only a part of that is timed. */
static const uint64_t MOST_ACCEPTED = 8192;

/* ---- the server ---- */

/* Waiting for a peer that has been slower is no work of the server. On a processor that they share
 * it is the peer's work, which cannot be left out. */
static int await_request(int connection) {
    struct pollfd looked_at = {.fd = connection, .events = POLLIN};
    int ready = 0;
    lm_pause();
    do {
        ready = poll(&looked_at, 1, -1);
    } while (ready < 0 && errno == EINTR);
    lm_resume();
    return ready < 0 ? -1 : 0;
}

static int receive_request(int connection, int flags) {
    char text[REQUEST_BYTES];
    for (size_t have = 0; have < sizeof text;) {
        ssize_t got = recv(connection, text + have, sizeof text - have, flags);
        if (got > 0) {
            have += (size_t)got;
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (await_request(connection) != 0) {
                return -1;
            }
        } else if (got == 0 || errno != EINTR) {
            return lm_not_received(got);
        }
    }
    return 0;
}

static int write_reply(const struct serving *serving, int connection) {
    for (uint64_t sent = 0; sent < serving->bytes;) {
        ssize_t written = write(connection, serving->reply + sent, serving->bytes - sent);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return -1;
        }
        sent += (uint64_t)written;
    }
    return 0;
}

static int send_file(const struct serving *serving, int connection) {
    off_t sent = 0;
    while ((uint64_t)sent < serving->bytes) {
        ssize_t written = sendfile(connection, serving->file.descriptor, &sent,
                                   (size_t)(serving->bytes - (uint64_t)sent));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return -1;
        }
    }
    return 0;
}

static int reply_benchmark(uint64_t operations, void *cookie) {
    struct serving *serving = cookie;
    const int flags = lm_has_own_peer() ? MSG_DONTWAIT : 0;
    for (uint64_t i = 0; i < operations; i++) {
        int connection = serving->own[serving->next];
        serving->next = serving->next + 1 < serving->connections ? serving->next + 1 : 0;
        if (receive_request(connection, flags) != 0) {
            return -1;
        }
        if ((serving->from_file ? send_file(serving, connection)
                                : write_reply(serving, connection)) != 0) {
            return -1;
        }
    }
    return 0;
}

static int send_benchmark(uint64_t operations, void *cookie) {
    struct serving *serving = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (serving->sent == 0) {
            serving->next = serving->next + 1 < serving->connections ? serving->next + 1 : 0;
            /* No part of what is measured, where it can be left out. */
            if (lm_has_own_peer()) {
                lm_pause();
            }
            const int status = receive_request(serving->own[serving->next], 0);
            if (lm_has_own_peer()) {
                lm_resume();
            }
            if (status != 0) {
                return -1;
            }
        }
        if (write_reply(serving, serving->own[serving->next]) != 0) {
            return -1;
        }
        serving->sent = serving->sent + 1 < BURST ? serving->sent + 1 : 0;
    }
    return 0;
}

/* Has the peer make connections, and waits until they are there. */
static int order_connections(const struct serving *serving, uint32_t count) {
    uint32_t made = 0;
    if (write(serving->control[0], &count, sizeof count) != (ssize_t)sizeof count) {
        return -1;
    }
    ssize_t got = 0;
    do {
        got = read(serving->control[0], &made, sizeof made);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof made && made == count ? 0 : lm_not_received(got);
}

static int accept_and_close(int listening) {
    int connection = -1;
    do {
        connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    } while (connection < 0 && errno == EINTR);
    if (connection < 0) {
        return lm_not_received(-1);
    }
    if (shutdown(connection, SHUT_WR) != 0) {
        lm_shut(&connection);
        return -1;
    }
    return close(connection);
}

static int connect_benchmark(uint64_t operations, void *cookie) {
    const struct serving *serving = cookie;
    while (operations > 0) {
        uint32_t count = operations < serving->batch ? (uint32_t)operations : serving->batch;
        /* On a processor that they share the peer's work cannot be left out. */
        if (lm_has_own_peer()) {
            lm_pause();
        }
        if (order_connections(serving, count) != 0) {
            return -1;
        }
        if (lm_has_own_peer()) {
            lm_resume();
        }
        for (uint32_t i = 0; i < count; i++) {
            if (accept_and_close(serving->listening) != 0) {
                return -1;
            }
        }
        operations -= count;
    }
    return 0;
}

/* ---- before and after ---- */

static int start_peer(struct serving *serving, int (*run)(void *cookie)) {
    serving->peer = lm_helper_start(run, serving);
    /* Only the peer has them then: when it ends, the server sees it. */
    for (uint64_t i = 0; i < serving->connections; i++) {
        lm_shut(&serving->peers[i]);
    }
    lm_shut(&serving->control[1]);
    return serving->peer > 0 ? 0 : -1;
}

static int join_all(struct serving *serving) {
    int listening = lm_socket_listening(1, &serving->address);
    int status = listening < 0 ? -1 : 0;
    for (uint64_t i = 0; i < serving->connections && status == 0; i++) {
        serving->peers[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (serving->peers[i] >= 0) {
            serving->own[i] = lm_socket_join(serving->peers[i], listening, &serving->address);
        }
        status = serving->own[i] < 0 ? -1 : 0;
    }
    lm_shut(&listening);
    return status;
}

static int prepare_reply(struct serving *serving) {
    if (serving->from_file) {
        return lm_file_make(&serving->file, (serving->bytes + 7) / 8 * 8, false);
    }
    serving->reply = malloc((size_t)serving->bytes);
    if (serving->reply == NULL) {
        return -1;
    }
    (void)memset(serving->reply, 'x', (size_t)serving->bytes);
    return 0;
}

static int reply_initialise(uint64_t operations, void *cookie) {
    struct serving *serving = cookie;
    if (operations != 0) {
        return 0;
    }
    if (prepare_reply(serving) != 0 || join_all(serving) != 0) {
        return -1;
    }
    return start_peer(serving, requests_run);
}

static int connect_initialise(uint64_t operations, void *cookie) {
    struct serving *serving = cookie;
    if (operations != 0) {
        return 0;
    }
    serving->listening = lm_socket_listening(2 * (int)serving->batch, &serving->address);
    if (serving->listening < 0 || lm_socket_limits(serving->listening) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, serving->control) != 0) {
        return -1;
    }
    return start_peer(serving, connects_run);
}

static int serving_cleanup(uint64_t operations, void *cookie) {
    struct serving *serving = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = serving->peer > 0 ? lm_helper_stop(serving->peer) : 0;
    for (uint64_t i = 0; i < serving->connections; i++) {
        lm_shut(&serving->own[i]);
        lm_shut(&serving->peers[i]);
    }
    lm_shut(&serving->listening);
    lm_shut(&serving->control[0]);
    lm_shut(&serving->control[1]);
    free(serving->reply);
    serving->reply = NULL;
    return lm_file_remove(&serving->file) != 0 ? -1 : status;
}

struct kind {
    const char *name;
    lm_step *initialise, *benchmark;
    bool sized; /* a series for each of --bytes */
    bool from_file;
    uint64_t bytes;
    uint64_t per_request; /* operations that answer one */
};

static const struct kind KINDS[] = {
    {"reply", reply_initialise, reply_benchmark, true, false, 0, 1},
    {"sendfile", reply_initialise, reply_benchmark, true, true, 0, 1},
    {"send", reply_initialise, send_benchmark, false, false, SEND_BYTES, BURST},
    {"connect", connect_initialise, connect_benchmark, false, false, 0, 0},
};

static void measure(struct lm_harness *harness, const struct kind *kind, uint64_t bytes,
                    uint64_t connections) {
    const bool connects = kind->benchmark == connect_benchmark;
    struct serving serving = {.bytes = bytes,
                              .answered_bytes = bytes * kind->per_request,
                              .connections = connects ? 0 : connections,
                              .batch = connects ? (uint32_t)lm_queue_limit(harness, BATCH) : 0,
                              .listening = -1,
                              .control = {-1, -1},
                              .from_file = kind->from_file,
                              .file = {.descriptor = -1}};
    for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
        serving.own[i] = serving.peers[i] = -1;
    }
    lm_need_descriptors(harness, 2 * serving.connections + serving.batch);
    const struct lm_workload workload = {.initialise = kind->initialise,
                                         .benchmark = kind->benchmark,
                                         .cleanup = serving_cleanup,
                                         .cookie = &serving,
                                         .most_operations = connects ? MOST_ACCEPTED : 0,
                                         .cpu_time = true};
    const struct lm_parameter parameters[] = {{.name = "operation", .text = kind->name},
                                              {.name = "bytes", .number = bytes}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = bytes != 0 ? 2 : 1};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "reply", "sendfile", "send", "connect", NULL};
    static const char *const placements[] = {"apart", "compact", NULL};
    const char *chosen = choices[0], *sizes = "64,1024,4096,16384,65536,262144";
    uint64_t connections = 4;
    const struct lm_option options[] = {
        {.name = "--operation",
         .help = "operation of the server",
         .text = &chosen,
         .choices = choices},
        {.name = "--bytes", .help = "sizes of a reply", .text = &sizes},
        {.name = "--connections",
         .help = "number of concurrent requests, each on a separate connection",
         .number = &connections,
         .minimum = 1,
         .maximum = MOST_CONNECTIONS},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0],
                                       .placements = placements};
    struct lm_settings settings;
    struct lm_numbers bytes;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--bytes", sizes, 1, MOST_REPLY_BYTES, &bytes);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, KINDS[i].name) != 0) {
            continue;
        }
        for (size_t size = 0; size < (KINDS[i].sized ? bytes.count : 1); size++) {
            measure(&harness, &KINDS[i], KINDS[i].sized ? bytes.number[size] : KINDS[i].bytes,
                    connections);
        }
    }
    return lm_close(&harness);
}
