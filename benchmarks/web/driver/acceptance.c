/*
 * How the server processes accept connections. Apache's prefork accepts under a mutex only if it
 * listens at two or more addresses, so a mutex needs a second port, to which nobody connects.
 */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <unistd.h>

static const struct web_acceptance {
    const char *name, *server;
    const char *mutex; /* of Apache: NULL if none */
    bool in_folder;    /* the mutex is a file */
} ALL[] = {
    {"parallel", "apache", NULL, false},       {"flock", "apache", "flock", true},
    {"fcntl", "apache", "fcntl", true},        {"sysvsem", "apache", "sysvsem", false},
    {"posixsem", "apache", "posixsem", false}, {"pthread", "apache", "pthread", false},
    {"buckets", "apache", NULL, false},        {"parallel", "nginx", NULL, false},
    {"accept_mutex", "nginx", NULL, false},    {"reuseport", "nginx", NULL, false},
    {"parallel", "varnish", NULL, false},
};
enum { KINDS = sizeof ALL / sizeof ALL[0] };

static const struct web_acceptance *find(const struct web_options *options) {
    for (size_t i = 0; i < KINDS; i++) {
        if (web_is(ALL[i].name, options->acceptance) && web_is(ALL[i].server, options->server)) {
            return &ALL[i];
        }
    }
    return NULL;
}

bool web_acceptance_known(const struct web_options *options, char *expected, size_t bytes) {
    size_t used = 0;
    expected[0] = '\0';
    for (size_t i = 0; i < KINDS && used < bytes; i++) {
        if (web_is(ALL[i].server, options->server)) {
            used += (size_t)snprintf(expected + used, bytes - used, "%s%s", used == 0 ? "" : ", ",
                                     ALL[i].name);
        }
    }
    if (used < bytes) {
        (void)snprintf(expected + used, bytes - used, " with --server %s", options->server);
    }
    return find(options) != NULL;
}

uint64_t web_acceptance_least_servers(const struct web_options *options) {
    if (web_is(options->acceptance, "accept_mutex")) {
        return 2; /* with one worker, nginx does not use it */
    }
    if (web_is(options->acceptance, "buckets")) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        return cpus < 1 ? 1 : (uint64_t)cpus; /* Apache starts at least one process per bucket */
    }
    return 1;
}

bool web_acceptance_serialised(const struct web_options *options) {
    const struct web_acceptance *kind = find(options);
    return kind != NULL && kind->mutex != NULL;
}

void web_acceptance_directives(const struct web_server *server, char *text, size_t bytes) {
    const struct web_acceptance *kind = find(server->options);
    text[0] = '\0';
    if (kind != NULL && kind->mutex != NULL) {
        (void)snprintf(text, bytes, "Listen %s:%u\nMutex %s%s%s%s mpm-accept\n",
                       server->options->host_text, (unsigned)server->idle_port, kind->mutex,
                       kind->in_folder ? ":" : "", kind->in_folder ? server->folder->path : "",
                       kind->in_folder ? "/logs" : "");
    } else if (web_is(server->options->acceptance, "buckets")) {
        (void)snprintf(text, bytes, "ListenCoresBucketsRatio 1\n");
    }
}
