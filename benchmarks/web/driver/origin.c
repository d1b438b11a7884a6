/*
 * The loop of the origin. Thousands of answers may wait at the same time: each is a timer. The
 * thread is part of this process, so that its processor time is not the proxy's.
 */
#define _GNU_SOURCE /* accept4, epoll, timerfd */

#include "origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EVENTS = 256, LISTEN_QUEUE = 16384 };

struct web_fetch_block {
    struct web_fetch_block *next;
    struct web_fetch fetch[WEB_FETCH_BLOCK];
};

int web_origin_fail(struct web_origin *origin, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(origin->message, sizeof origin->message, format, arguments);
    va_end(arguments);
    for (char *at = origin->message; *at != '\0'; at++) {
        *at = *at >= ' ' && *at < 0x7f ? *at : ' ';
    }
    atomic_store(&origin->failed, true);
    return -1;
}

int web_origin_check(const struct web_origin *origin) {
    return atomic_load(&origin->failed) ? web_fail("origin: %s", origin->message) : 0;
}

/* ---- connections ---- */

static int watch(const struct web_origin *origin, int operation, int descriptor, uint32_t events,
                 void *data) {
    struct epoll_event event = {.events = events, .data = {.ptr = data}};
    return epoll_ctl(origin->epoll, operation, descriptor, &event);
}

static struct web_fetch *take_unused(struct web_origin *origin) {
    if (origin->unused == NULL) {
        struct web_fetch_block *block = calloc(1, sizeof *block);
        if (block == NULL) {
            return NULL;
        }
        block->next = origin->blocks;
        origin->blocks = block;
        for (size_t i = 0; i < WEB_FETCH_BLOCK; i++) {
            block->fetch[i].next = origin->unused;
            origin->unused = &block->fetch[i];
        }
    }
    struct web_fetch *fetch = origin->unused;
    origin->unused = fetch->next;
    return fetch;
}

static void close_fetch(struct web_origin *origin, struct web_fetch *fetch) {
    web_timers_cancel(&origin->timers, &fetch->timer);
    (void)close(fetch->descriptor);
    fetch->state = WEB_FETCH_CLOSED;
    fetch->next = origin->unused;
    origin->unused = fetch;
}

static int accept_all(struct web_origin *origin) {
    const int yes = 1;
    int descriptor;
    while ((descriptor = accept4(origin->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >=
           0) {
        struct web_fetch *fetch = take_unused(origin);
        if (fetch == NULL ||
            setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
            watch(origin, EPOLL_CTL_ADD, descriptor, EPOLLIN, fetch) != 0) {
            (void)close(descriptor);
            return web_origin_fail(origin, "cannot serve a connection: %s", strerror(errno));
        }
        fetch->descriptor = descriptor;
        fetch->state = WEB_FETCH_READING;
        fetch->received = 0;
    }
    return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED
               ? 0
               : web_origin_fail(origin, "cannot accept a connection: %s", strerror(errno));
}

/* Send what is left of the answer. A connection that the proxy has closed is no failure. */
static int send_answer(struct web_origin *origin, struct web_fetch *fetch) {
    const size_t whole = fetch->head_bytes + fetch->body_bytes;
    while (fetch->sent < whole) {
        const size_t of_head = fetch->sent < fetch->head_bytes ? fetch->sent : fetch->head_bytes;
        const size_t of_body = fetch->sent - of_head;
        struct iovec parts[] = {
            {.iov_base = fetch->head + of_head, .iov_len = fetch->head_bytes - of_head},
            {.iov_base = (void *)(uintptr_t)(fetch->body + of_body),
             .iov_len = fetch->body_bytes - of_body}};
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t now = sendmsg(fetch->descriptor, &message, MSG_NOSIGNAL);
        if (now < 0 && errno == EAGAIN) {
            fetch->state = WEB_FETCH_SENDING;
            return watch(origin, EPOLL_CTL_MOD, fetch->descriptor, EPOLLOUT, fetch) == 0
                       ? 0
                       : web_origin_fail(origin, "epoll_ctl: %s", strerror(errno));
        }
        if (now < 0 && errno != EINTR) {
            close_fetch(origin, fetch);
            return 0;
        }
        fetch->sent += now > 0 ? (size_t)now : 0;
    }
    if (!fetch->stays_open) {
        close_fetch(origin, fetch);
        return 0;
    }
    if (fetch->state == WEB_FETCH_SENDING &&
        watch(origin, EPOLL_CTL_MOD, fetch->descriptor, EPOLLIN, fetch) != 0) {
        return web_origin_fail(origin, "epoll_ctl: %s", strerror(errno));
    }
    fetch->state = WEB_FETCH_READING;
    fetch->received = 0;
    return 0;
}

/* The answer is due. */
static int begin_answer(struct web_origin *origin, struct web_fetch *fetch, uint64_t due_ns) {
    struct web_fetches *fetches = &origin->fetches;
    uint64_t now = web_now_ns();
    if (fetch->measured && (web_times_add(&fetches->latency, now - fetch->asked_ns) != 0 ||
                            web_times_add(&fetches->delay, now - due_ns) != 0)) {
        return web_origin_fail(origin, "out of memory");
    }
    return send_answer(origin, fetch);
}

static int take_request(struct web_origin *origin, struct web_fetch *fetch) {
    struct web_fetches *fetches = &origin->fetches;
    uint64_t latency_ns;
    fetch->asked_ns = web_now_ns();
    if (web_fetch_prepare(origin, fetch, &latency_ns) != 0) {
        return -1;
    }
    fetches->all++;
    if (fetch->measured) {
        fetches->requests++;
        fetches->bytes += fetch->body_bytes;
    }
    fetch->state = WEB_FETCH_WAITING;
    if (latency_ns == 0) {
        return begin_answer(origin, fetch, fetch->asked_ns);
    }
    return web_timers_set(&origin->timers, &fetch->timer, fetch->asked_ns + latency_ns) == 0
               ? 0
               : web_origin_fail(origin, "out of memory");
}

static int receive(struct web_origin *origin, struct web_fetch *fetch) {
    ssize_t got = recv(fetch->descriptor, fetch->request + fetch->received,
                       WEB_FETCH_BYTES - fetch->received, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (got <= 0) {
        close_fetch(origin, fetch); /* idle, or the proxy no longer wants the answer */
        return 0;
    }
    fetch->received += (size_t)got;
    fetch->request[fetch->received] = '\0';
    const char *end = strstr(fetch->request, "\r\n\r\n");
    if (fetch->state == WEB_FETCH_READING && end == NULL && fetch->received < WEB_FETCH_BYTES &&
        strlen(fetch->request) == fetch->received) {
        return 0;
    }
    if (fetch->state != WEB_FETCH_READING || end == NULL ||
        (size_t)(end + 4 - fetch->request) != fetch->received) {
        return web_origin_fail(origin,
                               "request of the proxy: expected one head of at most %d bytes at a "
                               "time, got %.200s",
                               WEB_FETCH_BYTES, fetch->request);
    }
    fetch->request[fetch->received - 2] = '\0';
    return take_request(origin, fetch);
}

/* ---- the loop ---- */

static int fire_due(struct web_origin *origin) {
    struct web_timer *timer;
    while ((timer = web_timers_first(&origin->timers)) != NULL && timer->at_ns <= web_now_ns()) {
        uint64_t due_ns = timer->at_ns;
        web_timers_cancel(&origin->timers, timer);
        if (begin_answer(origin, (struct web_fetch *)timer, due_ns) != 0) {
            return -1;
        }
    }
    const struct itimerspec alarm = {
        .it_value = {.tv_sec = timer == NULL ? 0 : (time_t)(timer->at_ns / 1000000000),
                     .tv_nsec = timer == NULL ? 0 : (long)(timer->at_ns % 1000000000)}};
    return timerfd_settime(origin->alarm, TFD_TIMER_ABSTIME, &alarm, NULL) == 0
               ? 0
               : web_origin_fail(origin, "timerfd_settime: %s", strerror(errno));
}

static int serve(struct web_origin *origin, void *data, uint32_t events) {
    struct web_fetch *fetch = data;
    if (data == &origin->listener) {
        return accept_all(origin);
    }
    if (data == &origin->alarm || fetch->state == WEB_FETCH_CLOSED) {
        return 0;
    }
    return fetch->state == WEB_FETCH_SENDING && (events & EPOLLOUT) != 0
               ? send_answer(origin, fetch)
               : receive(origin, fetch);
}

static void *run_origin(void *argument) {
    struct web_origin *origin = argument;
    struct epoll_event events[EVENTS];
    int status = web_place_driver(origin->placement) == 0
                     ? 0
                     : web_origin_fail(origin, "cannot pin its thread");
    while (status == 0) {
        int ready = epoll_wait(origin->epoll, events, EVENTS, -1);
        if (ready < 0 && errno != EINTR) {
            (void)web_origin_fail(origin, "epoll_wait: %s", strerror(errno));
            break;
        }
        for (int i = 0; i < ready && status == 0; i++) {
            if (events[i].data.ptr == &origin->stop) {
                return NULL;
            }
            status = serve(origin, events[i].data.ptr, events[i].events);
        }
        status = status == 0 ? fire_due(origin) : -1;
    }
    return NULL;
}

/* ---- the whole ---- */

static int listen_on(struct web_origin *origin) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    origin->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (origin->listener < 0 ||
        bind(origin->listener, (const struct sockaddr *)&address, bytes) != 0 ||
        listen(origin->listener, LISTEN_QUEUE) != 0 ||
        getsockname(origin->listener, (struct sockaddr *)&address, &bytes) != 0) {
        return -1;
    }
    origin->port = ntohs(address.sin_port);
    return 0;
}

int web_origin_open(struct web_origin *origin, const struct web_site *site,
                    const struct web_server *server) {
    origin->sessions = &site->sessions;
    origin->objects = &site->objects;
    origin->nonce = server->folder->nonce;
    origin->seed = server->options->seed;
    origin->placement = server->placement;
    origin->epoll = epoll_create1(EPOLL_CLOEXEC);
    origin->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    origin->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    origin->draws = calloc(site->sessions.objects, sizeof *origin->draws);
    /* The alarm is edge-triggered: it is never read. */
    return origin->epoll >= 0 && origin->alarm >= 0 && origin->stop >= 0 && origin->draws != NULL &&
                   listen_on(origin) == 0 &&
                   watch(origin, EPOLL_CTL_ADD, origin->listener, EPOLLIN, &origin->listener) ==
                       0 &&
                   watch(origin, EPOLL_CTL_ADD, origin->alarm, EPOLLIN | EPOLLET, &origin->alarm) ==
                       0 &&
                   watch(origin, EPOLL_CTL_ADD, origin->stop, EPOLLIN, &origin->stop) == 0
               ? 0
               : web_fail("origin: cannot create it: %s", strerror(errno));
}

int web_origin_start(struct web_origin *origin) {
    sigset_t all, before;
    /* Signals are for the main thread, whose waits they end. */
    if (sigfillset(&all) != 0 || pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        return web_fail("origin: cannot block signals");
    }
    int error = pthread_create(&origin->thread, NULL, run_origin, origin);
    origin->running = error == 0;
    if (pthread_sigmask(SIG_SETMASK, &before, NULL) != 0) {
        return web_fail("origin: cannot unblock signals");
    }
    return error == 0 ? 0 : web_fail("origin: cannot start a thread: %s", strerror(error));
}

static void close_all(struct web_origin *origin) {
    const int descriptors[] = {origin->listener, origin->epoll, origin->alarm, origin->stop};
    while (origin->blocks != NULL) {
        struct web_fetch_block *block = origin->blocks;
        origin->blocks = block->next;
        for (size_t i = 0; i < WEB_FETCH_BLOCK; i++) {
            if (block->fetch[i].state != WEB_FETCH_CLOSED) {
                (void)close(block->fetch[i].descriptor);
            }
        }
        free(block);
    }
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (descriptors[i] >= 0) {
            (void)close(descriptors[i]);
        }
    }
}

int web_origin_close(struct web_origin *origin, struct web_fetches *fetches) {
    const uint64_t one = 1;
    int status = 0;
    if (origin->running && (write(origin->stop, &one, sizeof one) != (ssize_t)sizeof one ||
                            pthread_join(origin->thread, NULL) != 0)) {
        return web_fail("origin: cannot stop its thread");
    }
    status = origin->running ? web_origin_check(origin) : 0;
    close_all(origin);
    web_timers_free(&origin->timers);
    free(origin->draws);
    *fetches = origin->fetches;
    return status;
}
