/* The parts of the load from sessions: timers, connections, visits (open loop, replay) and users
 * (closed loop). */
#ifndef TIMED_H
#define TIMED_H

#include "sessions.h"

/* ---- timers.c ---- */

struct web_timer {
    uint64_t at_ns;
    size_t place; /* in the heap, plus 1; 0: not set */
    bool of_connection;
};

struct web_timers {
    struct web_timer **heap;
    size_t count, room;
};

/* Set a timer, or move it. */
int web_timers_set(struct web_timers *timers, struct web_timer *timer, uint64_t at_ns);
void web_timers_cancel(struct web_timers *timers, struct web_timer *timer);
/* NULL: none. */
struct web_timer *web_timers_first(const struct web_timers *timers);
void web_timers_free(struct web_timers *timers);

/* ---- connections.c: persistent connections, each with at most one outstanding request ---- */

struct web_asked {
    uint32_t request;
    uint64_t from_ns; /* latency counts from this time */
    bool measured;
    bool again; /* sent once before, on a connection that the server had closed */
};

struct web_connection {
    struct web_timer timer; /* first member: until more may be received */
    int descriptor;
    enum { WEB_CLOSED, WEB_CONNECTING, WEB_IDLE, WEB_AWAITING } state;
    bool answered; /* a response before: the server may close it while it is idle */
    bool paused;   /* has received as much as --client-kbit permits */
    double tokens; /* bytes that it may receive */
    uint64_t tokens_ns;
    struct web_visit *visit;
    struct web_connection *next; /* of its visit, or of the unused ones */
    struct web_asked asked;
    char path[WEB_OBJECT_PATH_BYTES];
    struct web_answer answer;
};

struct web_pool {
    const struct web_timed_load *load;
    struct web_timers *timers;
    int epoll;
    double bytes_per_ns, burst_bytes; /* of each connection; 0: no limit */
    size_t open, most_open, limit;
    uint64_t opened, beyond_limit; /* beyond_limit: not opened, because the driver cannot */
    struct web_connection *unused;
    struct web_block *blocks;
    char *buffer;
};

/* Results; -1: failure with a message. */
enum { WEB_NOTHING, WEB_ANSWERED, WEB_LOST };

int web_pool_open(struct web_pool *pool, const struct web_timed_load *load,
                  struct web_timers *timers);
void web_pool_close(struct web_pool *pool);
/* Open a connection of a visit. Returns it in `connection`, or WEB_LOST. */
int web_connection_open(struct web_pool *pool, struct web_visit *visit,
                        struct web_connection **connection);
/* Send a request on an idle or new connection. Returns WEB_NOTHING or WEB_LOST. */
int web_connection_ask(struct web_pool *pool, struct web_connection *connection,
                       const struct web_asked *asked);
/* Process what epoll reports. A lost connection is still open. */
int web_connection_ready(struct web_pool *pool, struct web_connection *connection, uint32_t events);
/* Continue to receive. */
int web_connection_resume(struct web_pool *pool, struct web_connection *connection);
void web_connection_close(struct web_pool *pool, struct web_connection *connection);

/* ---- visits.c ---- */

struct web_visit {
    struct web_timer timer; /* first member: of a user that thinks */
    uint32_t number;        /* in the User-Agent of its requests */
    struct web_connection *connection;
    unsigned connections;
    /* Open loop and replay. */
    uint32_t left;       /* planned requests that are not finished */
    uint32_t waiting;    /* requests that wait for one of the connections */
    uint32_t head;       /* the first of them */
    uint64_t head_at_ns; /* its planned time */
    /* Closed loop. */
    uint64_t random;
    uint32_t next, end; /* requests of the session */
};

struct web_run {
    const struct web_timed_load *load;
    struct web_totals *totals;
    struct web_pool pool;
    struct web_timers timers;
    uint64_t start_ns, window_ns, end_ns; /* window_ns: its start */
    uint64_t outstanding;                 /* requests that have begun and are not finished */
    /* Open loop and replay. */
    size_t next;              /* planned request */
    struct web_visit **visit; /* [plan->visits], NULL if not under way */
    /* Closed loop. */
    struct web_visit *user;
    uint64_t *weight; /* [sessions], cumulative: think time in us, or requests */
    uint32_t visits;
};

/* Send on an idle connection of the visit or a new one. Returns WEB_NOTHING, or WEB_LOST if the
 * server refuses it or all connections of the visit are busy (`busy`). */
int web_visit_send(struct web_run *run, struct web_visit *visit, const struct web_asked *asked,
                   bool *busy);
/* Close a lost connection. Send its request again if the server had closed it before. */
int web_visit_recover(struct web_run *run, struct web_connection *connection);
void web_visit_close(struct web_run *run, struct web_visit *visit);

int web_visits_open(struct web_run *run);
/* Start the next planned request. */
int web_visits_dispatch(struct web_run *run);
/* Continue after a request of the visit was answered or lost. */
int web_visits_finished(struct web_run *run, struct web_visit *visit);
void web_visits_close(struct web_run *run);

/* ---- users.c: the closed loop ---- */

int web_users_open(struct web_run *run);
/* The time to think is over. */
int web_users_continue(struct web_run *run, struct web_visit *user);
int web_users_finished(struct web_run *run, struct web_visit *user, bool lost);
void web_users_close(struct web_run *run);

#endif
