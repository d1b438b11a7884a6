/*
 * Answer the standard dynamic GET of SPECweb99's plan: some lines of HTML around the requested
 * file. Compiled twice: as a CGI program on the C library alone, which serves one request, and with
 * WEB_FASTCGI as a FastCGI program, which serves requests in a loop.
 */
#define _POSIX_C_SOURCE 200809L

#include "page_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef WEB_FASTCGI
#include <fcgiapp.h>
#endif

enum { CHUNK_BYTES = 16384 };

struct connection {
#ifdef WEB_FASTCGI
    FCGX_Request request;
#else
    int unused;
#endif
};

#ifdef WEB_FASTCGI
static const char *variable(struct connection *connection, const char *name) {
    const char *value = FCGX_GetParam(name, connection->request.envp);
    return value != NULL ? value : "";
}

static int put(struct connection *connection, const char *bytes, size_t count) {
    return FCGX_PutStr(bytes, (int)count, connection->request.out) == (int)count ? 0 : -1;
}
#else
static const char *variable(struct connection *connection, const char *name) {
    (void)connection;
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static int put(struct connection *connection, const char *bytes, size_t count) {
    (void)connection;
    while (count > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, count);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}
#endif

static int put_text(struct connection *connection, const char *text) {
    return put(connection, text, strlen(text));
}

static int refuse(struct connection *connection, const char *status) {
    char text[200];
    (void)snprintf(text, sizeof text,
                   "Status: %s\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n", status);
    return put_text(connection, text);
}

/* `chunk` holds the head and the text before the file, to be sent with the start of the file. */
static int send_page(struct connection *connection, int file, size_t bytes, const char *query) {
    static char chunk[CHUNK_BYTES];
    char before[PAGE_TEXT_BYTES];
    int before_bytes = page_before(before, variable(connection, "SERVER_SOFTWARE"),
                                   variable(connection, "REMOTE_ADDR"),
                                   variable(connection, "SCRIPT_NAME"), query);
    if (before_bytes < 0) {
        return refuse(connection, "500 Internal Server Error");
    }
    int length =
        snprintf(chunk, sizeof chunk, "Content-Type: text/html\r\nContent-Length: %zu\r\n\r\n%s",
                 (size_t)before_bytes + bytes + sizeof PAGE_AFTER - 1, before);
    size_t used = (size_t)length;
    while (bytes > 0) {
        size_t room = sizeof chunk - used;
        ssize_t got = read(file, chunk + used, bytes < room ? bytes : room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return -1;
        }
        used += (size_t)got;
        bytes -= (size_t)got;
        if (bytes > 0) {
            if (put(connection, chunk, used) != 0) {
                return -1;
            }
            used = 0;
        }
    }
    if (sizeof chunk - used < sizeof PAGE_AFTER) {
        if (put(connection, chunk, used) != 0) {
            return -1;
        }
        used = 0;
    }
    (void)memcpy(chunk + used, PAGE_AFTER, sizeof PAGE_AFTER - 1);
    return put(connection, chunk, used + sizeof PAGE_AFTER - 1);
}

static int answer(struct connection *connection) {
    const char *query = variable(connection, "QUERY_STRING");
    if (strcmp(query, PAGE_WAIT) == 0) {
        const struct timespec pause = {.tv_nsec = PAGE_WAIT_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
        return refuse(connection, "200 OK");
    }
    if (!page_query_is_valid(query)) {
        return refuse(connection, "404 Not Found");
    }
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", variable(connection, "DOCUMENT_ROOT"), query);
    int file = length > 0 && (size_t)length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return refuse(connection, "404 Not Found");
    }
    struct stat status;
    int result = fstat(file, &status) == 0
                     ? send_page(connection, file, (size_t)status.st_size, query)
                     : refuse(connection, "500 Internal Server Error");
    return close(file) != 0 ? -1 : result;
}

int main(void) {
    struct connection connection = {0};
#ifdef WEB_FASTCGI
    if (FCGX_Init() != 0 || FCGX_InitRequest(&connection.request, 0, 0) != 0) {
        return EXIT_FAILURE;
    }
    /* The parent signals the end by closing the socket or by a signal. */
    while (FCGX_Accept_r(&connection.request) == 0) {
        if (answer(&connection) != 0) {
            FCGX_SetExitStatus(EXIT_FAILURE, connection.request.out);
        }
        FCGX_Finish_r(&connection.request);
    }
    return EXIT_SUCCESS;
#else
    return answer(&connection) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
#endif
}
