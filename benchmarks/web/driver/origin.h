/*
 * The server behind a caching proxy: a thread of `web` that answers the proxy's requests for
 * objects after latencies that it draws. Comments above the functions describe each part.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include "timed.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WEB_FETCH_BYTES = 4096, WEB_FETCH_BLOCK = 64 };

/* Sent with each request of the window; the proxy passes it on. */
#define WEB_WINDOW_HEADER "X-Regatta-Window"

/* A connection of the proxy, with at most one request. */
struct web_fetch {
    struct web_timer timer; /* first member: until the answer is due */
    int descriptor;
    enum { WEB_FETCH_CLOSED, WEB_FETCH_READING, WEB_FETCH_WAITING, WEB_FETCH_SENDING } state;
    char request[WEB_FETCH_BYTES + 1];
    size_t received;
    uint64_t asked_ns;
    bool measured, stays_open;
    char head[300];
    const char *body;
    size_t head_bytes, body_bytes, sent;
    struct web_fetch *next; /* of the unused ones */
};

struct web_origin {
    const struct web_sessions *sessions;
    const struct web_objects *objects;
    const char *nonce;
    uint64_t seed;
    uint16_t port;
    int listener, epoll, alarm, stop;
    struct web_timers timers;
    uint32_t *draws; /* [objects], latencies drawn for each */
    struct web_fetch *unused;
    struct web_fetch_block *blocks;
    struct web_fetches fetches;
    const struct web_placement *placement;
    pthread_t thread;
    bool running;
    /* Written by the thread. */
    atomic_bool failed;
    char message[700];
};

/* ---- origin.c ---- */

/* Listen. The proxy may be configured afterwards. */
int web_origin_open(struct web_origin *origin, const struct web_site *site,
                    const struct web_server *server);
/* Start the thread. No process is forked while it runs. */
int web_origin_start(struct web_origin *origin);
/* Whether all is well; prints a message if not. */
int web_origin_check(const struct web_origin *origin);
/* Stop the thread, and store what it counted. The proxy has ended. */
int web_origin_close(struct web_origin *origin, struct web_fetches *fetches);

/* Store the first message of the thread. Returns -1. */
__attribute__((format(printf, 2, 3))) int web_origin_fail(struct web_origin *origin,
                                                          const char *format, ...);

/* ---- fetch.c: one request of the proxy ---- */

/* Check a whole request, prepare its answer and draw the time until it is due. */
int web_fetch_prepare(struct web_origin *origin, struct web_fetch *fetch, uint64_t *latency_ns);

#endif
