/*
 * A server whose load comes from another host. The server's host has a second port, for one
 * connection of the driver: the driver tells it when the window begins and ends, and it answers
 * with what the server used. All messages are lines of fields between tabs:
 *
 *     server: web 1 PORT SERVER VERSION DYNAMIC ACCEPTANCE SERVERS SESSIONS CPU CPUS USER
 *     driver: begin      server: begun
 *     driver: end        server: ended
 *     driver: conclude   server: used TOTAL_NS USER_NS SYSTEM_NS RESIDENT_KIB GROUP REASON
 *
 * Instead of an answer, the server can send `failed REASON`. A new version of a line has another
 * number.
 */
#define _GNU_SOURCE /* accept4 */

#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, MOST_FIELDS = 12, HELLO_FIELDS = 11, USED_FIELDS = 7 };
enum { PATIENCE_S = 20, WAIT_MS = 1000 };
/* RFC 1035: a name has at most 255 characters. */
enum { HOST_BYTES = 256 };
static const char HELLO[] = "web 1";

/* ---- addresses ---- */

/* Numbers and points alone are an address: the resolver would accept "10.1" as 10.0.0.1. */
static bool resolve(const char *name, struct in_addr *address) {
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (strspn(name, "0123456789.") == strlen(name)) {
        return inet_pton(AF_INET, name, address) == 1;
    }
    if (getaddrinfo(name, NULL, &wanted, &found) != 0) {
        return false;
    }
    struct sockaddr_in first;
    (void)memcpy(&first, found->ai_addr, sizeof first);
    freeaddrinfo(found);
    *address = first.sin_addr;
    return true;
}

/* Split ADDRESS:PORT. */
static bool split(const char *text, char host[static HOST_BYTES], uint16_t *port) {
    const char *colon = strrchr(text, ':');
    char *end;
    if (colon == NULL || (size_t)(colon - text) >= HOST_BYTES || colon[1] < '0' || colon[1] > '9') {
        return false;
    }
    unsigned long number = strtoul(colon + 1, &end, 10);
    (void)memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *port = (uint16_t)number;
    return *end == '\0' && number >= 1 && number <= UINT16_MAX;
}

bool web_control_resolve(struct web_options *options) {
    char host[HOST_BYTES] = "127.0.0.1";
    bool known = true;
    if (options->serve != NULL) {
        known = strlen(options->serve) < sizeof host;
        (void)snprintf(host, sizeof host, "%s", options->serve);
    } else if (options->load != NULL) {
        known = split(options->load, host, &options->control_port);
    }
    return known && resolve(host, &options->host) &&
           inet_ntop(AF_INET, &options->host, options->host_text, sizeof options->host_text) !=
               NULL;
}

/* ---- lines ---- */

/* A line is sent at once, and an answer is awaited for PATIENCE_S. */
static int set_up(int connection) {
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int yes = 1;
    return setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
                   setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) !=
                       0 ||
                   setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0
               ? -1
               : 0;
}

static int send_line(int connection, const char *line) {
    size_t length = strlen(line);
    return send(connection, line, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

/* Receive one line and remove its end. Each side waits for the other's line, so nothing follows it.
 * Returns -1 with errno; 0: the connection has ended. */
static int receive_line(int connection, char line[static LINE_BYTES]) {
    size_t used = 0;
    while (used < LINE_BYTES - 1) {
        ssize_t got = recv(connection, line + used, LINE_BYTES - 1 - used, 0);
        if (got <= 0) {
            return (int)got;
        }
        used += (size_t)got;
        if (line[used - 1] == '\n') {
            line[used - 1] = '\0';
            return 1;
        }
    }
    errno = EMSGSIZE;
    return -1;
}

/* Split a line at its tabs. Returns the number of fields. */
static size_t fields_of(char *line, char *fields[static MOST_FIELDS]) {
    size_t count = 0;
    for (char *rest = line; rest != NULL && count < MOST_FIELDS; count++) {
        fields[count] = strsep(&rest, "\t");
    }
    return count;
}

static bool number(const char *text, uint64_t most, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *value <= most;
}

/* ---- the host of the server ---- */

static int listen_for_driver(const struct web_server *server, uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = server->options->host};
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
        (void)web_fail("--serve %s: cannot listen there: %s", server->options->host_text,
                       strerror(errno));
        if (listener >= 0) {
            (void)close(listener);
        }
        return -1;
    }
    *port = ntohs(address.sin_port);
    return listener;
}

/* Accept a driver. Returns -1 if it has gone. */
static int welcome(const struct web_server *server, struct web_usage *usage, int listener) {
    const struct web_options *options = server->options;
    char line[LINE_BYTES];
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)snprintf(line, sizeof line, "%s\t%u\t%s\t%s\t%s\t%s\t%u\t%u\t%d\t%s\t%u\n", HELLO,
                   (unsigned)server->port, options->server, server->version, options->dynamic,
                   options->acceptance, web_server_processes(options), options->sessions != NULL,
                   server->placement->server, server->placement->servers,
                   (unsigned)server->identity.uid);
    web_accounting_open(&usage->accounting, server->keeper, 0);
    if (connection >= 0 && (set_up(connection) != 0 || send_line(connection, line) != 0)) {
        (void)close(connection);
        connection = -1;
    }
    return connection;
}

/* Do what a line asks for, and write the answer. Returns -1 with a message; 1: it asks for nothing
 * known. */
static int obey(const struct web_server *server, struct web_usage *usage, const char *line,
                char answer[static LINE_BYTES]) {
    int status = 1;
    if (web_is(line, "begin")) {
        status = web_usage_begin(usage);
        (void)snprintf(answer, LINE_BYTES, "begun\n");
    } else if (web_is(line, "end")) {
        status = web_usage_end(usage);
        (void)snprintf(answer, LINE_BYTES, "ended\n");
    } else if (web_is(line, "conclude")) {
        status = web_usage_conclude(usage, server);
        (void)snprintf(answer, LINE_BYTES,
                       "used\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%d\t%s\n",
                       usage->cpu.total_ns, usage->cpu.user_ns, usage->cpu.system_ns,
                       usage->resident_kib, usage->accounting.version, usage->accounting.reason);
    }
    if (status < 0) {
        (void)snprintf(answer, LINE_BYTES, "failed\t%s\n", web_failure());
    }
    return status;
}

/* Answer the next line of a driver; close a connection that has ended or is not a driver's. */
static int serve_driver(const struct web_server *server, struct web_usage *usage, int *connection) {
    char line[LINE_BYTES], answer[LINE_BYTES];
    int status = receive_line(*connection, line) > 0 ? obey(server, usage, line, answer) : 1;
    bool told = status <= 0 && send_line(*connection, answer) == 0;
    if (!told) {
        (void)close(*connection);
        *connection = -1;
    }
    return status < 0 ? -1 : 0;
}

static int serve_drivers(const struct web_server *server, int listener) {
    struct web_usage usage = {0};
    int connection = -1, status = 0;
    while (status == 0 && web_stop_signal == 0) {
        /* One driver at a time: the next one waits. The keeper tells of the server's end. */
        struct pollfd waits[] = {{.fd = connection >= 0 ? connection : listener, .events = POLLIN},
                                 {.fd = server->words, .events = POLLIN}};
        if (poll(waits, 2, WAIT_MS) <= 0) {
            continue;
        }
        if (waits[1].revents != 0) {
            status = web_server_check(server);
        } else if (connection >= 0) {
            status = serve_driver(server, &usage, &connection);
        } else {
            connection = welcome(server, &usage, listener);
        }
    }
    if (connection >= 0) {
        (void)close(connection);
    }
    return status;
}

int web_control_serve(struct web_server *server) {
    uint16_t port = 0;
    int listener = listen_for_driver(server, &port);
    if (listener < 0) {
        return -1;
    }
    int status = printf("ready port=%u\n", (unsigned)port) < 0 || fflush(stdout) != 0
                     ? web_fail("standard output: cannot write to it: %s", strerror(errno))
                     : serve_drivers(server, listener);
    (void)close(listener);
    /* It has no other end than this signal. */
    web_stop_signal = 0;
    return status;
}

/* ---- the host of the driver ---- */

/* The server's settings, which the driver takes over, are parts of this line. */
static char hello[LINE_BYTES];

static int refuse(const struct web_server *server, const char *expected, const char *got) {
    return web_fail("--load %s: expected %s, got %s", server->options->load, expected, got);
}

static const char *why(int received) {
    return received == 0          ? "the end of the connection"
           : web_stop_signal != 0 ? "a signal to stop"
           : errno == EAGAIN      ? "no answer within 20 s"
                                  : strerror(errno);
}

/* Ask for something. Returns the number of fields of the answer, or -1 with a message. */
static int ask(const struct web_server *server, const char *question, const char *expected,
               char line[static LINE_BYTES], char *fields[static MOST_FIELDS]) {
    int got = send_line(server->control, question) == 0 ? receive_line(server->control, line) : -1;
    if (got <= 0) {
        return refuse(server, "an answer of the server's host", why(got));
    }
    size_t count = fields_of(line, fields);
    if (count == 2 && web_is(fields[0], "failed")) {
        return web_fail("on the server's host: %s", fields[1]);
    }
    return web_is(fields[0], expected) ? (int)count : refuse(server, expected, fields[0]);
}

int web_control_begin(const struct web_server *server) {
    char line[LINE_BYTES], *fields[MOST_FIELDS];
    return ask(server, "begin\n", "begun", line, fields) < 0 ? -1 : 0;
}

int web_control_end(const struct web_server *server) {
    char line[LINE_BYTES], *fields[MOST_FIELDS];
    return ask(server, "end\n", "ended", line, fields) < 0 ? -1 : 0;
}

int web_control_conclude(const struct web_server *server, struct web_usage *usage) {
    char line[LINE_BYTES], *fields[MOST_FIELDS];
    uint64_t version;
    int count = ask(server, "conclude\n", "used", line, fields);
    if (count < 0) {
        return -1;
    }
    if (count != USED_FIELDS || !number(fields[1], INT64_MAX, &usage->cpu.total_ns) ||
        !number(fields[2], INT64_MAX, &usage->cpu.user_ns) ||
        !number(fields[3], INT64_MAX, &usage->cpu.system_ns) ||
        !number(fields[4], INT64_MAX, &usage->resident_kib) || !number(fields[5], 2, &version)) {
        return refuse(server, "what the server used", "another answer");
    }
    usage->accounting.version = (int)version;
    (void)snprintf(usage->accounting.reason, sizeof usage->accounting.reason, "%s", fields[6]);
    return 0;
}

int web_control_check(const struct web_server *server) {
    struct pollfd waits = {.fd = server->control, .events = POLLIN};
    /* Nothing comes without a question. */
    return poll(&waits, 1, 0) <= 0 ? 0
                                   : refuse(server, "a server that runs", "the end of its program");
}

/* Take over the settings of the server. */
static int take_over(struct web_server *server, struct web_options *options) {
    char *fields[MOST_FIELDS];
    uint64_t port, sessions, user;
    if (fields_of(hello, fields) != HELLO_FIELDS || !web_is(fields[0], HELLO) ||
        !number(fields[1], UINT16_MAX, &port) ||
        !number(fields[6], WEB_MOST_SERVERS, &options->servers) ||
        !number(fields[7], 1, &sessions) || !number(fields[10], UINT32_MAX, &user)) {
        return refuse(server, "a server of this version of the program", "another answer");
    }
    if ((sessions == 1) != (options->sessions != NULL)) {
        return refuse(server, sessions == 1 ? "--sessions, which the server has" : "no --sessions",
                      sessions == 1 ? "none" : options->sessions);
    }
    if (web_is(options->loop, "saturate") && strtol(fields[8], NULL, 10) < 0) {
        return refuse(server, "a server with --server-cpus last for --loop saturate", "all");
    }
    options->server = fields[2];
    options->dynamic = fields[4];
    options->acceptance = fields[5];
    server->port = (uint16_t)port;
    server->identity.uid = (uid_t)user;
    server->placement->server = (int)strtol(fields[8], NULL, 10);
    (void)snprintf(server->version, sizeof server->version, "%s", fields[3]);
    (void)snprintf(server->placement->servers, sizeof server->placement->servers, "%s", fields[9]);
    return 0;
}

int web_control_connect(struct web_server *server, struct web_options *options) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(options->control_port), .sin_addr = options->host};
    server->control = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->control < 0 || set_up(server->control) != 0 ||
        connect(server->control, (const struct sockaddr *)&address, sizeof address) != 0) {
        return refuse(server, "a server of web --serve", strerror(errno));
    }
    int got = receive_line(server->control, hello);
    return got <= 0 ? refuse(server, "a server of web --serve", why(got))
                    : take_over(server, options);
}
