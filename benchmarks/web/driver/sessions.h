/*
 * The second load of `web`: sessions from a file. Comments above the functions describe each part.
 * A session is a list of requests of one client. A visit is one occurrence of a session in a run.
 */
#ifndef SESSIONS_H
#define SESSIONS_H

#include "web.h"

enum {
    WEB_OBJECT_BITS = 24,
    WEB_GAP_BITS = 37,
    WEB_MOST_OBJECTS = 1 << WEB_OBJECT_BITS,
    WEB_MOST_OBJECT_BYTES = 1 << 30,
    WEB_MOST_SESSIONS = 10000000,
    WEB_MOST_LISTED = 100000000, /* requests of a file */
    WEB_MOST_PLANNED = 20000000, /* requests of a run */
    WEB_CONNECTIONS_PER_VISIT = 6,
    WEB_MOST_LATENCIES = 1000000,
    WEB_MOST_LATENCY_US = 600000000, /* ten minutes */
    WEB_KEEP_ALIVE_S = 5             /* The server closes a connection that is idle for longer. */
};
#define WEB_MOST_GAP_US ((UINT64_C(1) << WEB_GAP_BITS) - 1)    /* 38 hours */
#define WEB_MOST_SESSION_US (UINT64_C(1) << 42)                /* 50 days; also of a start */
#define WEB_MOST_SITE_BYTES (UINT64_C(2) * 1024 * 1024 * 1024) /* all objects */

/* ---- sessions.c: the file ---- */

enum web_kind { WEB_GET, WEB_HEAD, WEB_CONDITIONAL, WEB_MISSING };

/* One request of a session, in 8 bytes. */
struct web_listed_request {
    uint64_t gap_us : WEB_GAP_BITS; /* from the planned time of the previous one */
    uint64_t object : WEB_OBJECT_BITS;
    uint64_t kind : 2;     /* enum web_kind */
    uint64_t new_view : 1; /* the gap is a think time */
};

struct web_listed_session {
    int64_t start_us;     /* in a replay; -1: none */
    uint64_t duration_us; /* sum of the gaps */
    uint32_t first;       /* request; the last one precedes the next session's */
};

struct web_sessions {
    uint32_t *object_bytes; /* [objects] */
    uint32_t objects, most_bytes;
    uint64_t site_bytes;
    struct web_listed_session *session; /* [sessions + 1]; the last one only marks the end */
    uint32_t sessions;
    struct web_listed_request *request; /* [requests] */
    uint32_t requests;
    uint64_t longest_us;
    /* Behind a proxy. */
    uint8_t *private_object; /* [objects], 1: may not be cached; NULL: none */
    uint32_t *latency_us;    /* [latencies], equally likely ones */
    uint32_t latencies;
};

/* Read the file and check all of it. */
int web_sessions_read(struct web_sessions *sessions, const char *path);
/* Whether a proxy may not cache an object. */
bool web_sessions_private(const struct web_sessions *sessions, uint32_t object);
void web_sessions_free(struct web_sessions *sessions);

/* ---- objects.c: the files of the site ---- */

enum { WEB_OBJECT_PATH_BYTES = 40 };

struct web_objects {
    const struct web_sessions *sessions;
    char *letters; /* every object is a part of them */
};

int web_objects_make(struct web_objects *objects, const struct web_sessions *sessions);
/* Write them below the site of the folder. */
int web_objects_write(const struct web_objects *objects, const struct web_folder *folder);
/* Store the path of a request and its expected response, which refers to this path. */
void web_objects_expect(const struct web_objects *objects, const struct web_listed_request *request,
                        char *path, struct web_wanted *wanted);
void web_objects_free(struct web_objects *objects);
/* The modification time of all objects, as in an HTTP header. */
extern const char WEB_OBJECTS_DATE[];
/* File of the site with the body of all 404 responses. */
extern const char WEB_OBJECTS_MISSING[];

/* ---- plan.c: which requests come when (open loop and replay) ---- */

struct web_planned {
    uint64_t at_ns; /* since the start of the run */
    uint32_t visit, request;
};

struct web_plan {
    struct web_planned *request; /* [requests], by time */
    size_t requests;
    uint32_t *visit_requests; /* [visits], planned requests of each */
    uint32_t visits;
    uint64_t measured;          /* requests planned after the warm-up */
    uint64_t warmup_ns, end_ns; /* end of the window; in a replay, the last planned time */
};

int web_plan_make(struct web_plan *plan, const struct web_sessions *sessions,
                  const struct web_options *options);
void web_plan_free(struct web_plan *plan);

/* ---- site.c: what the server serves and the driver asks for ---- */

struct web_site {
    struct web_files files; /* without sessions */
    struct web_sessions sessions;
    struct web_objects objects;
    struct web_plan plan;
};

int web_site_make(struct web_site *site, const struct web_options *options);
int web_site_write(const struct web_site *site, const struct web_options *options,
                   const struct web_folder *folder);
void web_site_free(struct web_site *site);

/* ---- descriptors.c: the limit of open files ---- */

/* Raise it as far as permitted; the server inherits it. */
int web_descriptors_raise(const struct web_options *options);
uint64_t web_descriptors(void);

/* ---- timed_load.c: the load ---- */

struct web_timed_load {
    const struct web_server *server;
    const struct web_sessions *sessions;
    const struct web_objects *objects;
    const struct web_plan *plan; /* empty in the closed loop */
    /* Called when the window begins and ends. */
    int (*begins)(void *argument), (*ends)(void *argument);
    void *argument;
};

int web_timed_load_run(const struct web_timed_load *load, struct web_totals *totals);

#endif
