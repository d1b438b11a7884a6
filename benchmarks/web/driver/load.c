/*
 * The closed loop: keep the given number of connections open, each with one outstanding request,
 * and replace a finished connection at once. The server closes a connection (the last request asks
 * for that, or is HTTP/1.0), so that the count includes both ends.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC, epoll */

#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 65536 };
/* A server silent for this long has failed. */
enum { SILENCE_MS = 20000 };
/* A listener that does not answer may be a different server. */
enum { ALONE_MS = 500 };
enum { MORE_PROCESSES = 2 };

struct slot {
    int descriptor; /* -1: none */
    struct web_session session;
    size_t asked;    /* requests of the session sent so far */
    bool connecting; /* the first request waits for the connection */
    bool closing;    /* all answered: waiting for the server's end of file */
    uint64_t sent_ns;
    struct web_answer answer;
};

struct loop {
    const struct web_load *load;
    struct web_sequence *sequence;
    struct web_totals *totals;
    uint64_t requests, begun; /* 0: no limit; counts requests of started sessions */
    uint64_t until_ns;        /* no session starts later; 0: no limit */
    int epoll;
    size_t active;
    char *buffer;
};

static const char *script_of(const struct web_options *options) {
    return web_is(options->dynamic, "cgi") ? "/cgi-bin/page" : "/fcgi-bin/page";
}

/* Returns a descriptor, or -1 with errno. With `kind` SOCK_NONBLOCK, it may not be connected yet.
 */
static int connect_to(const struct web_server *server, int kind) {
    const struct sockaddr_in address = web_server_address(server);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | kind, 0);
    if (descriptor < 0) {
        return -1;
    }
    if (connect(descriptor, (const struct sockaddr *)&address, sizeof address) != 0 &&
        errno != EINPROGRESS) {
        int kept = errno;
        (void)close(descriptor);
        errno = kept;
        return -1;
    }
    return descriptor;
}

/* ---- one request ---- */

static int watch(const struct loop *loop, int operation, struct slot *slot, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.ptr = slot}};
    return epoll_ctl(loop->epoll, operation, slot->descriptor, &event) == 0
               ? 0
               : web_fail("connection: cannot watch it: %s", strerror(errno));
}

/* Send the next request of a slot. A connection to this machine is mostly established at once;
 * otherwise continue when it is. */
static int send_request(struct loop *loop, struct slot *slot) {
    const struct web_options *options = loop->load->options;
    const struct web_request *request = &slot->session.request[slot->asked];
    const struct web_file *file = &loop->load->files->file[request->file];
    bool last = slot->asked + 1 == slot->session.count;
    const char *script = script_of(options);
    char text[300];
    int length = snprintf(text, sizeof text, "GET %s%s%s HTTP/1.%c\r\nHost: 127.0.0.1\r\n%s\r\n",
                          request->dynamic ? script : "", request->dynamic ? "?" : "", file->path,
                          slot->session.persistent ? '1' : '0',
                          slot->session.persistent && last ? "Connection: close\r\n" : "");
    const struct web_wanted wanted = {.path = file->path,
                                      .status = 200,
                                      .content = file->content,
                                      .bytes = file->bytes,
                                      .body = WEB_BODY_SENT,
                                      .script = request->dynamic ? script : NULL,
                                      .stays_open = !last};
    web_answer_expect(&slot->answer, &wanted);
    slot->sent_ns = web_now_ns();
    /* A request fits if the connection is new or all earlier requests have been answered. */
    if (send(slot->descriptor, text, (size_t)length, MSG_NOSIGNAL) == length) {
        slot->asked++;
        return 0;
    }
    if (slot->asked == 0 && !slot->connecting && errno == EAGAIN) {
        slot->connecting = true;
        return watch(loop, EPOLL_CTL_MOD, slot, EPOLLOUT);
    }
    return web_fail("request for %s: expected to send it to %s:%u, got %s", file->path,
                    loop->load->server->options->host_text, (unsigned)loop->load->server->port,
                    strerror(errno));
}

static int note_answer(struct web_totals *totals, const struct slot *slot) {
    totals->requests++;
    totals->dynamic_requests += slot->answer.wanted.script != NULL;
    totals->body_bytes += slot->answer.body_bytes;
    totals->received_bytes += slot->answer.received;
    return web_times_add(&totals->latency, web_now_ns() - slot->sent_ns);
}

/* ---- one connection ---- */

/* Start the next session on a new connection; leave the slot empty if no session may start. */
static int begin(struct loop *loop, struct slot *slot) {
    slot->descriptor = -1;
    if ((loop->requests != 0 && loop->begun == loop->requests) ||
        (loop->until_ns != 0 && web_now_ns() >= loop->until_ns)) {
        loop->active--;
        return 0;
    }
    web_sequence_next(loop->sequence, &slot->session);
    if (loop->requests != 0 && slot->session.count > loop->requests - loop->begun) {
        slot->session.count = (size_t)(loop->requests - loop->begun);
    }
    loop->begun += slot->session.count;
    slot->asked = 0;
    slot->connecting = slot->closing = false;
    slot->descriptor = connect_to(loop->load->server, SOCK_NONBLOCK);
    if (slot->descriptor < 0) {
        return web_fail("connection: expected a server at %s:%u, got %s",
                        loop->load->server->options->host_text, (unsigned)loop->load->server->port,
                        strerror(errno));
    }
    if (watch(loop, EPOLL_CTL_ADD, slot, EPOLLIN) != 0) {
        return -1;
    }
    loop->totals->connections++;
    return send_request(loop, slot);
}

/* Send the request that waited for the connection. */
static int connected(struct loop *loop, struct slot *slot) {
    if (send_request(loop, slot) != 0) {
        return -1;
    }
    slot->connecting = false;
    return watch(loop, EPOLL_CTL_MOD, slot, EPOLLIN);
}

static int ended_early(const struct slot *slot, const char *how) {
    return web_fail("response for %s: expected %zu bytes, got %s after %zu of them",
                    slot->answer.wanted.path, slot->answer.body_bytes, how, slot->answer.body_got);
}

/* Read available data. Replace a connection that the server has closed. */
static int serve(struct loop *loop, struct slot *slot) {
    if (slot->connecting) {
        return connected(loop, slot);
    }
    ssize_t got = recv(slot->descriptor, loop->buffer, BUFFER_BYTES, MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : ended_early(slot, strerror(errno));
    }
    if (got == 0) {
        if (!slot->closing) {
            return ended_early(slot, "the end of the connection");
        }
        if (close(slot->descriptor) != 0) {
            return web_fail("connection: cannot close it: %s", strerror(errno));
        }
        return begin(loop, slot);
    }
    if (slot->closing) {
        return web_fail("response for %s: expected the end of the connection, got more bytes",
                        slot->answer.wanted.path);
    }
    int complete = web_answer_take(&slot->answer, loop->buffer, (size_t)got);
    if (complete <= 0) {
        return complete;
    }
    if (note_answer(loop->totals, slot) != 0) {
        return -1;
    }
    if (slot->asked < slot->session.count) {
        return send_request(loop, slot);
    }
    slot->closing = true;
    return 0;
}

/* ---- all connections ---- */

/* Waking a sleeping driver costs the server's CPU some microseconds per response: poll for a while
 * first. */
static int wait_for_answers(const struct loop *loop, struct epoll_event *events) {
    uint64_t spin_ns = loop->load->server->placement->spin_ns;
    int ready = 0;
    if (spin_ns > 0) {
        uint64_t until = web_now_ns() + spin_ns;
        do {
            ready = epoll_wait(loop->epoll, events, WEB_MOST_CONNECTIONS, 0);
        } while (ready == 0 && web_now_ns() < until);
    }
    return ready != 0 ? ready : epoll_wait(loop->epoll, events, WEB_MOST_CONNECTIONS, SILENCE_MS);
}

static int run_loop(struct loop *loop, struct slot *slots, size_t count) {
    struct epoll_event events[WEB_MOST_CONNECTIONS];
    loop->active = count;
    for (size_t i = 0; i < count; i++) {
        if (begin(loop, &slots[i]) != 0) {
            return -1;
        }
    }
    while (loop->active > 0) {
        int ready = wait_for_answers(loop, events);
        if (web_stop_signal != 0) {
            return web_fail("stopped by signal %d", (int)web_stop_signal);
        }
        if (ready == 0) {
            return web_fail("responses: got none within %d s", SILENCE_MS / 1000);
        }
        if (ready < 0 && errno != EINTR) {
            return web_fail("epoll_wait: %s", strerror(errno));
        }
        for (int i = 0; i < ready; i++) {
            if (serve(loop, events[i].data.ptr) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int web_load_run(const struct web_load *load, struct web_sequence *sequence, uint64_t requests,
                 uint64_t window_ms, struct web_totals *totals) {
    size_t count = (size_t)load->options->connections;
    struct loop loop = {.load = load,
                        .sequence = sequence,
                        .totals = totals,
                        .requests = requests,
                        .epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct slot *slots = calloc(count, sizeof *slots);
    loop.buffer = malloc(BUFFER_BYTES);
    int status = -1;
    if (loop.epoll < 0 || slots == NULL || loop.buffer == NULL) {
        (void)web_fail("connections: cannot create an epoll descriptor or allocate memory: %s",
                       strerror(errno));
    } else {
        for (size_t i = 0; i < count; i++) {
            slots[i].descriptor = -1;
        }
        uint64_t start = web_now_ns();
        loop.until_ns = requests == 0 ? start + window_ms * UINT64_C(1000000) : 0;
        status = run_loop(&loop, slots, count);
        totals->elapsed_ns = web_now_ns() - start;
        for (size_t i = 0; i < count; i++) {
            if (slots[i].descriptor >= 0) {
                (void)close(slots[i].descriptor);
            }
        }
    }
    if (loop.epoll >= 0) {
        (void)close(loop.epoll);
    }
    free(loop.buffer);
    free(slots);
    if (status != 0) {
        return -1;
    }
    return totals->requests == 0 ? web_fail("window: got no responses in it") : 0;
}

/* ---- before the load ---- */

/* A read that waits longer fails with EAGAIN. */
static int be_patient(int descriptor, unsigned patience_ms) {
    const struct timeval patience = {.tv_sec = patience_ms / 1000,
                                     .tv_usec = patience_ms % 1000 * 1000};
    return setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/* Send one request on a new connection. Returns the connection, or -1. */
static int ask(const struct web_server *server, const char *path, unsigned patience_ms) {
    char text[300];
    int length = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", path);
    int descriptor = connect_to(server, 0);
    if (descriptor >= 0 && (be_patient(descriptor, patience_ms) != 0 ||
                            send(descriptor, text, (size_t)length, MSG_NOSIGNAL) != length)) {
        (void)close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

/* Read to the end and close. Returns the number of bytes read if they fit, or -1. */
static ssize_t hear(int descriptor, char *text, size_t room) {
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used < room) {
        got = recv(descriptor, text + used, room - used, 0);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(descriptor);
    return got < 0 ? -1 : (ssize_t)used;
}

ssize_t web_get(const struct web_server *server, const char *path, char *body, size_t room) {
    char text[WEB_HEAD_BYTES];
    int descriptor = ask(server, path, ALONE_MS);
    ssize_t got = descriptor < 0 ? -1 : hear(descriptor, text, sizeof text - 1);
    if (got < 0) {
        return -1;
    }
    text[got] = '\0';
    const char *end = strstr(text, "\r\n\r\n");
    if (strncmp(text, "HTTP/1.", 7) != 0 || strncmp(text + 8, " 200 ", 5) != 0 || end == NULL) {
        return -1;
    }
    size_t bytes = (size_t)(text + got - (end + 4));
    if (bytes > room) {
        return -1;
    }
    (void)memcpy(body, end + 4, bytes);
    return (ssize_t)bytes;
}

/* mod_fcgid creates a process only if all existing ones are busy, and then delays the request by 1
 * s. Create them beforehand with requests that wait. Use some more than connections, because a
 * process counts as busy until after its response has gone. */
static int make_fastcgi_processes(const struct web_load *load) {
    size_t count = (size_t)load->options->connections + MORE_PROCESSES;
    const size_t servers = web_server_processes(load->options);
    count = count < servers ? count : servers; /* each has at most one request */
    int descriptors[WEB_MOST_CONNECTIONS + MORE_PROCESSES];
    char path[64], text[WEB_HEAD_BYTES];
    (void)snprintf(path, sizeof path, "%s?%s", script_of(load->options), PAGE_WAIT);
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        descriptors[i] = ask(load->server, path, SILENCE_MS);
    }
    for (size_t i = 0; i < count; i++) {
        ssize_t got = descriptors[i] < 0 ? -1 : hear(descriptors[i], text, sizeof text - 1);
        text[got > 0 ? got : 0] = '\0';
        if (got < 12 || strncmp(text + 8, " 200", 4) != 0) {
            char words[900] = "";
            web_folder_last_lines(load->server->folder, "logs/error.log", words, sizeof words);
            status = web_fail("FastCGI: expected %zu responding processes, got %.*s: %s", count,
                              (int)strcspn(text, "\r\n"), text, words);
        }
    }
    return status;
}

/* Send each possible request once, each on its own connection. */
static int ask_for_all(const struct web_load *load, bool dynamic) {
    struct web_totals totals = {0};
    struct loop loop = {.load = load, .totals = &totals, .buffer = malloc(BUFFER_BYTES)};
    struct slot *slot = calloc(1, sizeof *slot);
    int status = slot == NULL || loop.buffer == NULL ? web_fail("out of memory") : 0;
    for (unsigned i = 0; i < WEB_FILES && status == 0; i++) {
        slot->session.count = 1;
        slot->session.request[0] = (struct web_request){.file = (uint8_t)i, .dynamic = dynamic};
        slot->asked = 0;
        slot->descriptor = connect_to(load->server, 0);
        if (slot->descriptor < 0 || be_patient(slot->descriptor, SILENCE_MS) != 0) {
            status = web_fail("connection: %s", strerror(errno));
            break;
        }
        int complete = send_request(&loop, slot);
        while (complete == 0) {
            ssize_t got = recv(slot->descriptor, loop.buffer, BUFFER_BYTES, 0);
            if (got > 0) {
                complete = web_answer_take(&slot->answer, loop.buffer, (size_t)got);
            } else if (web_stop_signal != 0) {
                complete = web_fail("stopped by signal %d", (int)web_stop_signal);
            } else if (got == 0 || errno != EINTR) {
                complete =
                    ended_early(slot, got == 0 ? "the end of the connection" : strerror(errno));
            }
        }
        status = complete == 1 ? 0 : -1;
        (void)close(slot->descriptor);
    }
    free(loop.buffer);
    free(slot);
    return status;
}

int web_load_prime(const struct web_load *load) {
    bool dynamic = !web_is(load->options->dynamic, "none");
    if (ask_for_all(load, false) != 0) {
        return -1;
    }
    if (web_is(load->options->dynamic, "fastcgi") && make_fastcgi_processes(load) != 0) {
        return -1;
    }
    return dynamic ? ask_for_all(load, true) : 0;
}
