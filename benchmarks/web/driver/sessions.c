/*
 * Read a file of sessions (README.md describes its format). The file is not trusted: every number
 * is checked, and memory grows with the file, not with the counts that it claims.
 */
#define _POSIX_C_SOURCE 200809L

#include "sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 18, WORD_BYTES = 32, NEW_VIEW = 8, FIRST_ROOM = 4096 };

struct scanner {
    const char *path;
    int descriptor;
    unsigned long line, word_line; /* word_line: of the last word */
    size_t at, used;
    int error;             /* errno of a failed read */
    char word[WORD_BYTES]; /* the last word; longer ones are cut */
    char buffer[BUFFER_BYTES];
};

/* Return the next byte without taking it; -1 at the end. */
static int peek(struct scanner *scanner) {
    if (scanner->at == scanner->used) {
        ssize_t got;
        while ((got = read(scanner->descriptor, scanner->buffer, BUFFER_BYTES)) < 0 &&
               errno == EINTR && web_stop_signal == 0) {
        }
        scanner->error = got < 0 ? errno : 0;
        scanner->at = 0;
        scanner->used = got > 0 ? (size_t)got : 0;
        if (got <= 0) {
            return -1;
        }
    }
    return (unsigned char)scanner->buffer[scanner->at];
}

static bool is_blank(int byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Read the next word; "" at the end of the file. */
static void next_word(struct scanner *scanner) {
    size_t length = 0;
    int byte;
    while (is_blank(byte = peek(scanner))) {
        scanner->line += byte == '\n';
        scanner->at++;
    }
    scanner->word_line = scanner->line;
    for (; byte >= 0 && !is_blank(byte); byte = peek(scanner)) {
        if (length < WORD_BYTES - 1) {
            /* The word is printed in messages. */
            scanner->word[length++] = byte > 0x20 && byte < 0x7f ? (char)byte : '?';
        }
        scanner->at++;
    }
    scanner->word[length] = '\0';
}

__attribute__((format(printf, 2, 3))) static int wrong(const struct scanner *scanner,
                                                       const char *format, ...) {
    char expected[160];
    if (scanner->error != 0) {
        return web_fail("%s: cannot read it: %s", scanner->path, strerror(scanner->error));
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return web_fail("%s:%lu: expected %s, got %s", scanner->path, scanner->word_line, expected,
                    scanner->word[0] == '\0' ? "the end of the file" : scanner->word);
}

/* Read a number from `least` (0 or more, or -1) to `most`. Returns 0, or -1 without a message. */
static int next_number(struct scanner *scanner, int64_t least, uint64_t most, int64_t *number) {
    next_word(scanner);
    const char *digit = scanner->word;
    uint64_t value = 0;
    if (least < 0 && strcmp(digit, "-1") == 0) {
        *number = -1;
        return 0;
    }
    for (; *digit >= '0' && *digit <= '9' && value <= most; digit++) {
        value = value * 10 + (uint64_t)(*digit - '0'); /* most is far below UINT64_MAX / 10 */
    }
    *number = (int64_t)value;
    return digit != scanner->word && *digit == '\0' && value <= most && (int64_t)value >= least
               ? 0
               : -1;
}

static int expect_word(struct scanner *scanner, const char *word) {
    next_word(scanner);
    return web_is(scanner->word, word) ? 0 : wrong(scanner, "\"%s\"", word);
}

/* Read a name and the number of things that follow. */
static int read_count(struct scanner *scanner, const char *name, uint64_t most, uint32_t *count) {
    int64_t number;
    if (expect_word(scanner, name) != 0) {
        return -1;
    }
    if (next_number(scanner, 1, most, &number) != 0) {
        return wrong(scanner, "a number of %s from 1 to %llu", name, (unsigned long long)most);
    }
    *count = (uint32_t)number;
    return 0;
}

static int read_objects(struct scanner *scanner, struct web_sessions *sessions) {
    if (read_count(scanner, "objects", WEB_MOST_OBJECTS, &sessions->objects) != 0) {
        return -1;
    }
    size_t room = 0;
    for (uint32_t i = 0; i < sessions->objects; i++) {
        int64_t bytes;
        if (next_number(scanner, 1, WEB_MOST_OBJECT_BYTES, &bytes) != 0) {
            return wrong(scanner, "the size of object %u from 1 to %d bytes", i,
                         WEB_MOST_OBJECT_BYTES);
        }
        sessions->site_bytes += (uint64_t)bytes;
        if (sessions->site_bytes > WEB_MOST_SITE_BYTES) {
            return web_fail("%s:%lu: expected at most %llu bytes of all objects, got %llu",
                            scanner->path, scanner->word_line,
                            (unsigned long long)WEB_MOST_SITE_BYTES,
                            (unsigned long long)sessions->site_bytes);
        }
        uint32_t *grown = web_grown(sessions->object_bytes, i, &room, sizeof *grown, "objects");
        if (grown == NULL) {
            return -1;
        }
        sessions->object_bytes = grown;
        sessions->object_bytes[i] = (uint32_t)bytes;
        if (sessions->most_bytes < (uint32_t)bytes) {
            sessions->most_bytes = (uint32_t)bytes;
        }
    }
    return 0;
}

/* Read request `number` of a session. */
static int read_request(struct scanner *scanner, const struct web_sessions *sessions,
                        uint32_t number, struct web_listed_request *request) {
    int64_t gap_us, object, kind;
    if (next_number(scanner, 0, number == 0 ? 0 : WEB_MOST_GAP_US, &gap_us) != 0) {
        return number == 0
                   ? wrong(scanner, "the gap 0 of the first request")
                   : wrong(scanner, "a gap from 0 to %llu us", (unsigned long long)WEB_MOST_GAP_US);
    }
    if (next_number(scanner, 0, sessions->objects - 1, &object) != 0) {
        return wrong(scanner, "an object from 0 to %u", sessions->objects - 1);
    }
    if (next_number(scanner, 0, NEW_VIEW + WEB_MISSING, &kind) != 0 ||
        (kind & ~NEW_VIEW) > WEB_MISSING) {
        return wrong(scanner, "a kind from 0 to 3, or from 8 to 11 in a new view");
    }
    *request = (struct web_listed_request){
        .gap_us = (uint64_t)gap_us & WEB_MOST_GAP_US,
        .object = (uint64_t)object & (WEB_MOST_OBJECTS - 1),
        .kind = (uint64_t)kind & 3,
        .new_view = (kind & NEW_VIEW) != 0,
    };
    return 0;
}

static int read_session(struct scanner *scanner, struct web_sessions *sessions,
                        struct web_listed_session *session, size_t *room) {
    int64_t count;
    *session = (struct web_listed_session){.first = sessions->requests};
    if (next_number(scanner, -1, WEB_MOST_SESSION_US, &session->start_us) != 0) {
        return wrong(scanner, "a start from 0 to %llu us, or -1",
                     (unsigned long long)WEB_MOST_SESSION_US);
    }
    if (next_number(scanner, 1, WEB_MOST_LISTED - sessions->requests, &count) != 0) {
        return wrong(scanner, "1 or more requests, and at most %d in the file", WEB_MOST_LISTED);
    }
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        struct web_listed_request *grown =
            web_grown(sessions->request, sessions->requests, room, sizeof *grown, "requests");
        if (grown == NULL) {
            return -1;
        }
        sessions->request = grown;
        struct web_listed_request *request = &sessions->request[sessions->requests];
        if (read_request(scanner, sessions, i, request) != 0) {
            return -1;
        }
        sessions->requests++;
        session->duration_us += request->gap_us;
        if (session->duration_us > WEB_MOST_SESSION_US) {
            return web_fail("%s:%lu: expected gaps of at most %llu us in one session, got %llu",
                            scanner->path, scanner->word_line,
                            (unsigned long long)WEB_MOST_SESSION_US,
                            (unsigned long long)session->duration_us);
        }
    }
    if (sessions->longest_us < session->duration_us) {
        sessions->longest_us = session->duration_us;
    }
    return 0;
}

static int read_sessions(struct scanner *scanner, struct web_sessions *sessions) {
    if (read_count(scanner, "sessions", WEB_MOST_SESSIONS, &sessions->sessions) != 0) {
        return -1;
    }
    size_t room = 0, request_room = 0;
    for (uint32_t i = 0; i <= sessions->sessions; i++) {
        struct web_listed_session *grown =
            web_grown(sessions->session, i, &room, sizeof *grown, "sessions");
        if (grown == NULL) {
            return -1;
        }
        sessions->session = grown;
        if (i < sessions->sessions &&
            read_session(scanner, sessions, &sessions->session[i], &request_room) != 0) {
            return -1;
        }
    }
    sessions->session[sessions->sessions] =
        (struct web_listed_session){.first = sessions->requests};
    return 0;
}

/* Objects that a proxy may not cache. A client has no copy of them, so it sends no condition. */
static int read_private(struct scanner *scanner, struct web_sessions *sessions, uint32_t count) {
    sessions->private_object = calloc(sessions->objects, 1);
    if (sessions->private_object == NULL) {
        return web_fail("%s: out of memory", scanner->path);
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t object;
        if (next_number(scanner, 0, sessions->objects - 1, &object) != 0) {
            return wrong(scanner, "an object from 0 to %u", sessions->objects - 1);
        }
        sessions->private_object[object] = 1;
    }
    for (uint32_t i = 0; i < sessions->requests; i++) {
        if (sessions->request[i].kind == WEB_CONDITIONAL &&
            web_sessions_private(sessions, (uint32_t)sessions->request[i].object)) {
            return web_fail("%s: expected no request of kind 2 for object %u, which is private",
                            scanner->path, (unsigned)sessions->request[i].object);
        }
    }
    return 0;
}

static int read_latencies(struct scanner *scanner, struct web_sessions *sessions, uint32_t count) {
    size_t room = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t us;
        if (next_number(scanner, 0, WEB_MOST_LATENCY_US, &us) != 0) {
            return wrong(scanner, "a latency from 0 to %d us", WEB_MOST_LATENCY_US);
        }
        uint32_t *grown = web_grown(sessions->latency_us, i, &room, sizeof *grown, "latencies");
        if (grown == NULL) {
            return -1;
        }
        sessions->latency_us = grown;
        sessions->latency_us[i] = (uint32_t)us;
    }
    sessions->latencies = count;
    return 0;
}

/* The optional parts for a proxy, each at most once and in this order, and the end of the file. */
static int read_rest(struct scanner *scanner, struct web_sessions *sessions) {
    static const struct {
        const char *name, *things;
        uint32_t most;
        int (*read)(struct scanner *scanner, struct web_sessions *sessions, uint32_t count);
    } parts[] = {{"private", "private objects", WEB_MOST_OBJECTS, read_private},
                 {"latencies", "latencies", WEB_MOST_LATENCIES, read_latencies}};
    next_word(scanner);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int64_t count;
        if (!web_is(scanner->word, parts[i].name)) {
            continue;
        }
        if (next_number(scanner, 1, parts[i].most, &count) != 0) {
            return wrong(scanner, "a number of %s from 1 to %u", parts[i].things, parts[i].most);
        }
        if (parts[i].read(scanner, sessions, (uint32_t)count) != 0) {
            return -1;
        }
        next_word(scanner);
    }
    return scanner->word[0] == '\0' && scanner->error == 0
               ? 0
               : wrong(scanner, "the end of the file after %u sessions", sessions->sessions);
}

int web_sessions_read(struct web_sessions *sessions, const char *path) {
    struct scanner *scanner = malloc(sizeof *scanner);
    *sessions = (struct web_sessions){0};
    if (scanner == NULL) {
        return web_fail("%s: out of memory", path);
    }
    scanner->path = path;
    scanner->line = 1;
    scanner->at = scanner->used = 0;
    scanner->error = 0;
    scanner->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    int status = -1;
    if (scanner->descriptor < 0) {
        (void)web_fail("%s: expected a file of sessions, got: %s", path, strerror(errno));
    } else if (expect_word(scanner, "regatta-sessions") == 0 && expect_word(scanner, "1") == 0 &&
               read_objects(scanner, sessions) == 0) {
        status = read_sessions(scanner, sessions) == 0 ? read_rest(scanner, sessions) : -1;
    }
    if (scanner->descriptor >= 0) {
        (void)close(scanner->descriptor);
    }
    free(scanner);
    return status;
}

bool web_sessions_private(const struct web_sessions *sessions, uint32_t object) {
    return sessions->private_object != NULL && sessions->private_object[object] != 0;
}

void web_sessions_free(struct web_sessions *sessions) {
    free(sessions->private_object);
    free(sessions->latency_us);
    free(sessions->object_bytes);
    free(sessions->session);
    free(sessions->request);
    *sessions = (struct web_sessions){0};
}
