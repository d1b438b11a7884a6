/* Latency of GET requests to the built-in HTTP server. */
#define _DEFAULT_SOURCE /* mkstemp */

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_http";
static const char SUMMARY[] =
    "Measure the latency of an HTTP/1.0 GET over the loopback interface (127.0.0.1) for a file of\n"
    "--bytes in the page cache. An operation is: connect, send the request, read the response to\n"
    "its end, close. The server is a separate process, one per --parallel child: it accepts,\n"
    "reads the request, opens the file, sends a header and the file (sendfile), and closes. The\n"
    "client closes by a reset, so no connection remains in "
    "TIME_WAIT.\n" LM_PLACEMENT_HELP LM_REMOTE_HELP "Metric: latency, in ns per request.";

/* HEAD_BYTES is sufficient for a complete request and a complete header. */
enum { HEAD_BYTES = 1024, BUFFER_BYTES = 65536 };
/* Connections that wait to be accepted. */
enum { QUEUE = 16 };

struct site {
    uint64_t file_bytes;
    char name[32]; /* of the file in the working directory; empty: none */
    int listening;
    pid_t server;
    struct sockaddr_in address;
    struct lm_remote remote;
    char request[100];
    char *buffer; /* [BUFFER_BYTES + 1] */
};

static int write_all(int descriptor, const char *bytes, size_t count, int flags) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, count, flags);
        if (sent < 0 && errno != EINTR) {
            return -1;
        }
        bytes += sent > 0 ? sent : 0;
        count -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

/* Read until `text`, a string of at most HEAD_BYTES, contains the empty line of a header. Return
 * the number of bytes read, or -1. */
static ssize_t read_head(int descriptor, char text[static HEAD_BYTES + 1]) {
    size_t count = 0;
    text[0] = '\0';
    while (strstr(text, "\r\n\r\n") == NULL) {
        ssize_t got = read(descriptor, text + count, HEAD_BYTES - count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return lm_not_received(got);
        }
        count += (size_t)got;
        text[count] = '\0';
    }
    return (ssize_t)count;
}

/* ---- the server ---- */

static int send_file(int connection, int file) {
    struct stat status;
    char header[HEAD_BYTES];
    if (fstat(file, &status) != 0) {
        return -1;
    }
    int length = snprintf(header, sizeof header,
                          "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n"
                          "Content-Length: %lld\r\n\r\n",
                          (long long)status.st_size);
    /* The header waits for the file, so that both share a packet if they fit. */
    if (write_all(connection, header, (size_t)length, MSG_MORE | MSG_NOSIGNAL) != 0) {
        return -1;
    }
    for (off_t sent = 0; sent < status.st_size;) {
        ssize_t now = sendfile(connection, file, &sent, (size_t)(status.st_size - sent));
        if (now == 0 || (now < 0 && errno != EINTR)) {
            return -1;
        }
    }
    return 0;
}

/* For clients on other hosts, no other file of the working directory is served. */
static bool may_serve(const struct site *site, const char *name) {
    return site->remote.serve == NULL || strcmp(name, site->name) == 0;
}

static int answer(int connection, const struct site *site) {
    static const char missing[] = "HTTP/1.0 404 Not Found\r\n\r\n";
    char text[HEAD_BYTES + 1], name[HEAD_BYTES + 1];
    if (read_head(connection, text) < 0) {
        return -1;
    }
    /* The served file has no slash in its name; a name with a slash is elsewhere. */
    int file = -1;
    if (sscanf(text, "GET /%1023[^ /] HTTP/1.0\r\n", name) == 1 && may_serve(site, name)) {
        file = open(name, O_RDONLY);
    }
    if (file < 0) {
        return write_all(connection, missing, sizeof missing - 1, MSG_NOSIGNAL);
    }
    int status = send_file(connection, file);
    lm_shut(&file);
    return status;
}

/* A failed request ends the server, so that the client does not wait for it. On another host, it
 * ends only the connection: the next client has done nothing wrong. */
static int serve(int connection, void *cookie) {
    const struct site *site = cookie;
    int status = answer(connection, site);
    return close(connection) != 0 ? -1 : site->remote.serve != NULL ? 0 : status;
}

static int server_run(void *cookie) {
    return lm_serve(((const struct site *)cookie)->listening, serve, cookie);
}

/* ---- the client ---- */

/* Read a response to its end. Return the number of bytes of its body, or -1. */
static int64_t read_answer(int descriptor, char *buffer) {
    ssize_t got = read_head(descriptor, buffer);
    if (got < 0) {
        return -1;
    }
    if (strncmp(buffer, "HTTP/1.0 200 ", strlen("HTTP/1.0 200 ")) != 0) {
        errno = EPROTO;
        return -1;
    }
    int64_t body_bytes = got - (strstr(buffer, "\r\n\r\n") + strlen("\r\n\r\n") - buffer);
    while ((got = read(descriptor, buffer, BUFFER_BYTES)) != 0) {
        if (got < 0 && errno != EINTR) {
            return lm_not_received(got);
        }
        body_bytes += got > 0 ? got : 0;
    }
    lm_keep(buffer);
    return body_bytes;
}

static int get(const struct site *site) {
    int descriptor =
        lm_socket_connected((const struct sockaddr *)&site->address, sizeof site->address);
    if (descriptor < 0) {
        return -1;
    }
    if (write_all(descriptor, site->request, strlen(site->request), MSG_NOSIGNAL) != 0) {
        lm_shut(&descriptor);
        return -1;
    }
    int64_t body_bytes = read_answer(descriptor, site->buffer);
    if (body_bytes >= 0 && (uint64_t)body_bytes != site->file_bytes) {
        errno = EPROTO;
        body_bytes = -1;
    }
    lm_shut(&descriptor);
    return body_bytes < 0 ? -1 : 0;
}

static int site_benchmark(uint64_t operations, void *cookie) {
    for (uint64_t i = 0; i < operations; i++) {
        if (get(cookie) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- setup ---- */

/* For clients on other hosts, which know only the port. */
static void name_by_port(struct site *site) {
    (void)snprintf(site->name, sizeof site->name, "lat_http.%u",
                   (unsigned)ntohs(site->remote.address.sin_port));
}

static int create_file(struct site *site) {
    if (site->remote.serve != NULL) {
        name_by_port(site);
        return open(site->name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    }
    char name[] = "lat_http.XXXXXX";
    int file = mkstemp(name);
    if (file >= 0) {
        (void)memcpy(site->name, name, sizeof name);
    }
    return file;
}

static int make_file(struct site *site) {
    int file = create_file(site);
    if (file < 0) {
        return -1;
    }
    (void)memset(site->buffer, 'x', BUFFER_BYTES);
    for (uint64_t left = site->file_bytes; left > 0;) {
        ssize_t now = write(file, site->buffer, left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES);
        if (now < 0) {
            lm_shut(&file);
            return -1;
        }
        left -= (uint64_t)now;
    }
    return close(file);
}

static void make_request(struct site *site) {
    (void)snprintf(site->request, sizeof site->request, "GET /%s HTTP/1.0\r\n\r\n", site->name);
}

static int site_initialise(uint64_t operations, void *cookie) {
    struct site *site = cookie;
    if (operations != 0 || site->remote.server != NULL) {
        return 0;
    }
    site->buffer = malloc(BUFFER_BYTES + 1);
    if (site->buffer == NULL || make_file(site) != 0) {
        return -1;
    }
    make_request(site);
    site->listening = lm_socket_listening(QUEUE, &site->address);
    if (site->listening < 0) {
        return -1;
    }
    site->server = lm_helper_start(server_run, site);
    lm_shut(&site->listening);
    return site->server > 0 ? 0 : -1;
}

static int site_cleanup(uint64_t operations, void *cookie) {
    struct site *site = cookie;
    if (operations != 0 || site->remote.server != NULL) {
        return 0;
    }
    int status = site->server > 0 ? lm_helper_stop(site->server) : 0;
    lm_shut(&site->listening);
    if (site->name[0] != '\0' && unlink(site->name) != 0) {
        status = -1;
    }
    free(site->buffer);
    return status;
}

/* ---- two hosts ---- */

static int serve_until_ended(struct site *site) {
    site->listening = lm_remote_listening(PROGRAM, &site->remote, QUEUE);
    site->buffer = malloc(BUFFER_BYTES + 1);
    if (site->buffer == NULL || make_file(site) != 0) {
        int reason = errno;
        (void)unlink(site->name);
        lm_remote_fail(PROGRAM, &site->remote, strerror(reason));
    }
    int status = lm_remote_serve(PROGRAM, &site->remote, lm_helper_start(server_run, site));
    if (unlink(site->name) != 0 && status == 0) {
        status = LM_EXIT_FAILED;
    }
    free(site->buffer);
    return status;
}

/* The first request, before anything is measured. */
static void reach_server(struct lm_harness *harness, struct site *site) {
    int reached = lm_remote_reach(harness, &site->remote);
    lm_shut(&reached);
    site->address = site->remote.address;
    name_by_port(site);
    make_request(site);
    site->buffer = malloc(BUFFER_BYTES + 1);
    if (site->buffer == NULL) {
        lm_fail(harness, "out of memory");
    }
    if (get(site) != 0) {
        lm_fail(harness, errno == EPROTO
                             ? "--bytes: expected the value of the server, got another one"
                             : "--server: no answer from a server of this program");
    }
}

int main(int argc, char **argv) {
    struct site site = {.file_bytes = 4096, .listening = -1};
    const struct lm_option options[] = {{.name = "--bytes",
                                         .help = "size of the file",
                                         .number = &site.file_bytes,
                                         .minimum = 1,
                                         .maximum = UINT64_C(1) << 30},
                                        LM_REMOTE_OPTIONS(site.remote)};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_remote_parse(&program, &settings, &site.remote);
    if (site.remote.serve != NULL) {
        return serve_until_ended(&site);
    }
    lm_open(&harness, &program, &settings);
    if (site.remote.server != NULL) {
        reach_server(&harness, &site);
    }
    const struct lm_workload workload = {.initialise = site_initialise,
                                         .benchmark = site_benchmark,
                                         .cleanup = site_cleanup,
                                         .cookie = &site};
    const struct lm_parameter parameter = {.name = "size_bytes", .number = site.file_bytes};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(&harness, &workload, &series);
    if (site.remote.server != NULL) {
        free(site.buffer);
    }
    return lm_close(&harness);
}
