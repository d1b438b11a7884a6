/*
 * Persistent connections that never block. --client-kbit limits each by a token bucket: it reads
 * only what it may receive, and its small buffer makes the server wait.
 */
#define _GNU_SOURCE /* SOCK_NONBLOCK, epoll */

#include "origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 65536, BLOCK = 64 };
/* With a limit: the segments of Ethernet, as loopback's would fill the whole buffer. */
enum { SEGMENT_BYTES = 1460, SMALL_BUFFER_BYTES = 8192 };
static const double BURST_NS = 5e6;
/* 127.1.0.1 to 127.1.255.254 */
enum { FIRST_CLIENT = 0x7f010001, CLIENTS = 65534 };

struct web_block {
    struct web_block *next;
    struct web_connection connection[BLOCK];
};

int web_pool_open(struct web_pool *pool, const struct web_timed_load *load,
                  struct web_timers *timers) {
    *pool = (struct web_pool){.load = load,
                              .timers = timers,
                              .epoll = epoll_create1(EPOLL_CLOEXEC),
                              .limit = (size_t)web_descriptors(),
                              .buffer = malloc(BUFFER_BYTES)};
    pool->bytes_per_ns = (double)load->server->options->client_kbit * 1000 / 8 / 1e9;
    pool->burst_bytes = pool->bytes_per_ns * BURST_NS;
    if (pool->burst_bytes < 2 * SEGMENT_BYTES) {
        pool->burst_bytes = 2 * SEGMENT_BYTES;
    }
    return pool->epoll >= 0 && pool->buffer != NULL
               ? 0
               : web_fail("connections: cannot create an epoll descriptor or allocate memory: %s",
                          strerror(errno));
}

void web_pool_close(struct web_pool *pool) {
    while (pool->blocks != NULL) {
        struct web_block *block = pool->blocks;
        pool->blocks = block->next;
        for (size_t i = 0; i < BLOCK; i++) {
            if (block->connection[i].state != WEB_CLOSED) {
                (void)close(block->connection[i].descriptor);
            }
        }
        free(block);
    }
    if (pool->epoll >= 0) {
        (void)close(pool->epoll);
    }
    free(pool->buffer);
}

static struct web_connection *take_unused(struct web_pool *pool) {
    if (pool->unused == NULL) {
        struct web_block *block = calloc(1, sizeof *block);
        if (block == NULL) {
            (void)web_fail("connections: cannot allocate memory for %zu", pool->open + BLOCK);
            return NULL;
        }
        block->next = pool->blocks;
        pool->blocks = block;
        for (size_t i = 0; i < BLOCK; i++) {
            block->connection[i].timer.of_connection = true;
            block->connection[i].next = pool->unused;
            pool->unused = &block->connection[i];
        }
    }
    struct web_connection *connection = pool->unused;
    pool->unused = connection->next;
    return connection;
}

static int watch(const struct web_pool *pool, int operation, struct web_connection *connection,
                 uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.ptr = connection}};
    return epoll_ctl(pool->epoll, operation, connection->descriptor, &event) == 0
               ? WEB_NOTHING
               : web_fail("connection: cannot watch it: %s", strerror(errno));
}

/* Each visit of a server on the loopback has an address. From one address, the kernel searches long
 * for a free local port when many are in use or were until a minute ago. */
static bool set_client(int descriptor, const struct web_server *server, uint32_t visit) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr = {htonl(FIRST_CLIENT + visit % CLIENTS)}};
    const int yes = 1; /* choose the port in connect(), for the address of the server */
    if (ntohl(server->options->host.s_addr) >> 24 != IN_LOOPBACKNET) {
        return true;
    }
    return setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes) == 0 &&
           bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0;
}

static bool set_limit(int descriptor) {
    const int segment = SEGMENT_BYTES, buffer = SMALL_BUFFER_BYTES;
    return setsockopt(descriptor, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment) == 0 &&
           setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer) == 0;
}

/* Returns a descriptor, or -1 with errno. */
static int connect_to(const struct web_server *server, uint32_t visit, bool limited) {
    const struct sockaddr_in address = web_server_address(server);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool set = descriptor >= 0 && set_client(descriptor, server, visit) &&
               (!limited || set_limit(descriptor));
    if (set && (connect(descriptor, (const struct sockaddr *)&address, sizeof address) == 0 ||
                errno == EINPROGRESS)) {
        return descriptor;
    }
    int kept = errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    errno = kept;
    return -1;
}

int web_connection_open(struct web_pool *pool, struct web_visit *visit,
                        struct web_connection **opened) {
    int descriptor = -1;
    if (pool->open < pool->limit) {
        descriptor = connect_to(pool->load->server, visit->number, pool->bytes_per_ns > 0);
    } else {
        errno = EMFILE;
    }
    if (descriptor < 0) {
        /* Too many are open, or no local port is free. */
        pool->beyond_limit += errno == EMFILE || errno == ENFILE || errno == EADDRNOTAVAIL;
        return WEB_LOST;
    }
    struct web_connection *connection = take_unused(pool);
    if (connection == NULL) {
        (void)close(descriptor);
        return -1;
    }
    connection->descriptor = descriptor;
    connection->state = WEB_CONNECTING;
    connection->answered = connection->paused = false;
    connection->tokens = pool->burst_bytes;
    connection->tokens_ns = 0;
    connection->visit = visit;
    connection->next = visit->connection;
    visit->connection = connection;
    visit->connections++;
    pool->opened++;
    pool->open++;
    if (pool->most_open < pool->open) {
        pool->most_open = pool->open;
    }
    *opened = connection;
    return watch(pool, EPOLL_CTL_ADD, connection, EPOLLIN);
}

void web_connection_close(struct web_pool *pool, struct web_connection *connection) {
    struct web_connection **link = &connection->visit->connection;
    while (*link != connection) {
        link = &(*link)->next;
    }
    *link = connection->next;
    connection->visit->connections--;
    web_timers_cancel(pool->timers, &connection->timer);
    (void)close(connection->descriptor);
    connection->state = WEB_CLOSED;
    connection->next = pool->unused;
    pool->unused = connection;
    pool->open--;
}

/* Send the request. A connection to this machine is mostly established at once; otherwise continue
 * when it is. The server's own name is 127.0.0.1, also for clients on other hosts. */
static int send_request(struct web_pool *pool, struct web_connection *connection) {
    const struct web_listed_request *request =
        &pool->load->sessions->request[connection->asked.request];
    bool connecting = connection->state == WEB_CONNECTING;
    bool marked = pool->load->server->origin != NULL && connection->asked.measured;
    char text[300];
    int length = snprintf(
        text, sizeof text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: s%u\r\n%s%s%s%s\r\n",
        request->kind == WEB_HEAD ? "HEAD" : "GET", connection->path, connection->visit->number,
        request->kind == WEB_CONDITIONAL ? "If-Modified-Since: " : "",
        request->kind == WEB_CONDITIONAL ? WEB_OBJECTS_DATE : "",
        request->kind == WEB_CONDITIONAL ? "\r\n" : "", marked ? WEB_WINDOW_HEADER ": 1\r\n" : "");
    if (send(connection->descriptor, text, (size_t)length, MSG_NOSIGNAL) == length) {
        connection->state = WEB_AWAITING;
        return connecting && connection->paused ? web_connection_resume(pool, connection)
                                                : WEB_NOTHING;
    }
    if (!connecting || errno != EAGAIN) {
        return WEB_LOST;
    }
    connection->paused = true; /* until it is writable */
    return watch(pool, EPOLL_CTL_MOD, connection, EPOLLOUT);
}

int web_connection_ask(struct web_pool *pool, struct web_connection *connection,
                       const struct web_asked *asked) {
    struct web_wanted wanted;
    connection->asked = *asked;
    web_objects_expect(pool->load->objects, &pool->load->sessions->request[asked->request],
                       connection->path, &wanted);
    web_answer_expect(&connection->answer, &wanted);
    return send_request(pool, connection);
}

int web_connection_resume(struct web_pool *pool, struct web_connection *connection) {
    connection->paused = false;
    return watch(pool, EPOLL_CTL_MOD, connection, EPOLLIN);
}

/* Return the number of bytes that the connection may receive now. */
static size_t allowed(struct web_pool *pool, struct web_connection *connection) {
    if (pool->bytes_per_ns <= 0) {
        return BUFFER_BYTES;
    }
    uint64_t now = web_now_ns();
    connection->tokens += (double)(now - connection->tokens_ns) * pool->bytes_per_ns;
    connection->tokens_ns = now;
    if (connection->tokens > pool->burst_bytes) {
        connection->tokens = pool->burst_bytes;
    }
    return connection->tokens < BUFFER_BYTES ? (size_t)connection->tokens : BUFFER_BYTES;
}

/* Stop receiving until half of a burst is permitted. */
static int pause_receiving(struct web_pool *pool, struct web_connection *connection) {
    double missing = pool->burst_bytes / 2 - connection->tokens;
    connection->paused = true;
    return web_timers_set(pool->timers, &connection->timer,
                          connection->tokens_ns + (uint64_t)(missing / pool->bytes_per_ns) + 1) != 0
               ? -1
               : watch(pool, EPOLL_CTL_MOD, connection, 0);
}

static int receive(struct web_pool *pool, struct web_connection *connection) {
    size_t most = allowed(pool, connection);
    if (most == 0) {
        return pause_receiving(pool, connection);
    }
    ssize_t got = recv(connection->descriptor, pool->buffer, most, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return WEB_NOTHING;
    }
    if (got <= 0) {
        if (connection->state == WEB_AWAITING) {
            return WEB_LOST;
        }
        web_connection_close(pool, connection); /* after the server's timeout */
        return WEB_NOTHING;
    }
    if (connection->state == WEB_IDLE) {
        return web_fail("response for %s: expected %zu bytes, got more", connection->path,
                        connection->answer.body_bytes);
    }
    connection->tokens -= (double)got;
    int complete = web_answer_take(&connection->answer, pool->buffer, (size_t)got);
    if (complete < 0) {
        return -1;
    }
    if (complete == 1) {
        connection->state = WEB_IDLE;
        connection->answered = true;
        return WEB_ANSWERED;
    }
    return pool->bytes_per_ns > 0 && connection->tokens < SEGMENT_BYTES
               ? pause_receiving(pool, connection)
               : WEB_NOTHING;
}

int web_connection_ready(struct web_pool *pool, struct web_connection *connection,
                         uint32_t events) {
    if (connection->state == WEB_CLOSED) {
        return WEB_NOTHING; /* since epoll reported it */
    }
    if (connection->state == WEB_CONNECTING) {
        return send_request(pool, connection);
    }
    if (connection->paused) {
        int error = 0;
        socklen_t bytes = sizeof error;
        bool reset =
            (events & (EPOLLERR | EPOLLHUP)) != 0 &&
            (getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 ||
             error != 0);
        return reset ? WEB_LOST : WEB_NOTHING;
    }
    return receive(pool, connection);
}
