/* A request of the proxy: check it, prepare its answer, and draw its latency. */
#define _POSIX_C_SOURCE 200809L

#include "origin.h"

#include <stdlib.h>
#include <strings.h>

/* Far longer than a run. */
static const char CACHEABLE[] = "max-age=86400";
static const char UNCACHEABLE[] = "private, no-store";
/* A request in a message, without its end. */
enum { SHOWN = 200 };

static int refuse(struct web_origin *origin, const struct web_fetch *fetch, const char *expected) {
    return web_origin_fail(origin, "request of the proxy: expected %s, got %.*s", expected, SHOWN,
                           fetch->request);
}

/* Each line is a name, a colon and a value, in printable ASCII. */
static bool are_fields(const char *line) {
    while (*line != '\0') {
        size_t length = strcspn(line, "\r");
        size_t name = strcspn(line, ": \t\r");
        if (name == 0 || line[name] != ':' || line[length + 1] != '\n') {
            return false;
        }
        for (size_t i = 0; i < length; i++) {
            if ((line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f) {
                return false;
            }
        }
        line += length + 2;
    }
    return true;
}

/* Return the number of the object of a path, and whether it exists; false if it names none. */
static bool object_of(const struct web_origin *origin, const char *target, uint32_t *object,
                      bool *missing) {
    char path[WEB_OBJECT_PATH_BYTES];
    struct web_wanted wanted;
    const char *last = strrchr(target, '/');
    char *end;
    if (last == NULL || last[1] < '0' || last[1] > '9' || strlen(target) >= sizeof path) {
        return false;
    }
    unsigned long number = strtoul(last + 1, &end, 10);
    if (number >= origin->sessions->objects) {
        return false;
    }
    *missing = *end != '\0';
    *object = (uint32_t)number;
    const struct web_listed_request request = {.object = *object & (WEB_MOST_OBJECTS - 1),
                                               .kind = *missing ? WEB_MISSING : WEB_GET};
    web_objects_expect(origin->objects, &request, path, &wanted);
    return web_is(path, target);
}

/* The latency depends on the seed, the object and the number of its requests before, so that it is
 * the same whatever the order in which the proxy asks. */
static uint64_t draw_ns(struct web_origin *origin, uint32_t object) {
    const struct web_sessions *sessions = origin->sessions;
    if (sessions->latencies == 0) {
        return 0;
    }
    uint64_t state = origin->seed;
    state = web_random_next(&state) + object;
    state = web_random_next(&state) + origin->draws[object]++;
    return sessions->latency_us[web_random_next(&state) % sessions->latencies] * UINT64_C(1000);
}

static void answer(struct web_fetch *fetch, const char *status, const char *control,
                   const char *body, size_t bytes, bool with_body) {
    int length = snprintf(fetch->head, sizeof fetch->head,
                          "HTTP/1.1 %s\r\nServer: origin\r\nLast-Modified: %s\r\n"
                          "Cache-Control: %s\r\nContent-Type: application/octet-stream\r\n"
                          "Content-Length: %zu\r\n%s\r\n",
                          status, WEB_OBJECTS_DATE, control, bytes,
                          fetch->stays_open ? "" : "Connection: close\r\n");
    fetch->head_bytes = (size_t)length;
    fetch->body = body;
    fetch->body_bytes = with_body ? bytes : 0;
    fetch->sent = 0;
}

int web_fetch_prepare(struct web_origin *origin, struct web_fetch *fetch, uint64_t *latency_ns) {
    char method[8], target[WEB_OBJECT_PATH_BYTES], version[4];
    int used = 0;
    const char *lines = strstr(fetch->request, "\r\n");
    if (lines == NULL ||
        sscanf(fetch->request, "%7[A-Z] %39[!-~] HTTP/1.%1[01]%n", method, target, version,
               &used) != 3 ||
        fetch->request + used != lines || !(web_is(method, "GET") || web_is(method, "HEAD"))) {
        return refuse(origin, fetch, "GET or HEAD of an object with HTTP/1.0 or 1.1");
    }
    if (!are_fields(lines + 2) || web_head_field(fetch->request, "Host") == NULL ||
        web_head_field(fetch->request, "Content-Length") != NULL ||
        web_head_field(fetch->request, "Transfer-Encoding") != NULL) {
        return refuse(origin, fetch, "valid fields, Host, and no body");
    }
    const char *connection = web_head_field(fetch->request, "Connection");
    const char *window = web_head_field(fetch->request, WEB_WINDOW_HEADER);
    fetch->stays_open =
        *version == '1' && (connection == NULL || strncasecmp(connection, "close", 5) != 0);
    fetch->measured = window != NULL && *window == '1';
    const bool with_body = web_is(method, "GET");
    *latency_ns = 0;
    if (web_is(target, "/nonce")) {
        answer(fetch, "200 OK", UNCACHEABLE, origin->nonce, strlen(origin->nonce), with_body);
        return 0;
    }
    uint32_t object;
    bool missing;
    if (!object_of(origin, target, &object, &missing)) {
        return refuse(origin, fetch, "the path of an object");
    }
    *latency_ns = draw_ns(origin, object);
    struct web_wanted wanted;
    char path[WEB_OBJECT_PATH_BYTES];
    const struct web_listed_request request = {.object = object & (WEB_MOST_OBJECTS - 1),
                                               .kind = missing ? WEB_MISSING : WEB_GET};
    web_objects_expect(origin->objects, &request, path, &wanted);
    answer(fetch, missing ? "404 Not Found" : "200 OK",
           missing || web_sessions_private(origin->sessions, object) ? UNCACHEABLE : CACHEABLE,
           wanted.content, wanted.bytes, with_body);
    return 0;
}
