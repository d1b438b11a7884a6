/*
 * The load from sessions: one loop over planned requests, timers and connections. It sleeps until
 * the next of them. As in load.c, it polls for a while first.
 */
#define _GNU_SOURCE /* epoll, timerfd */

#include "timed.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Requests to start before the next events are read, and after each event: an overloaded driver
 * reads a response for each request that it sends. */
enum { EVENTS = 256, STARTS = 16, STARTS_PER_EVENT = 1 };
/* Outstanding responses are awaited for this time. */
static const uint64_t PATIENCE_NS = UINT64_C(20000000000);
/* A server that has ended is noticed within this time. */
static const uint64_t CHECK_NS = UINT64_C(100000000);

struct loop {
    struct web_run run;
    bool closed, replay, begun, ended;
    int alarm; /* timerfd */
    uint64_t check_ns, opened_before;
};

/* ---- responses ---- */

static int note_answer(struct loop *loop, const struct web_connection *connection) {
    struct web_totals *totals = loop->run.totals;
    uint64_t now = web_now_ns();
    if (!connection->asked.measured) {
        return 0;
    }
    if (loop->replay || now < loop->run.end_ns) {
        totals->requests++;
        totals->body_bytes += connection->answer.body_bytes;
        totals->received_bytes += connection->answer.received;
    }
    return web_times_add(&totals->latency, now - connection->asked.from_ns);
}

static int serve(struct loop *loop, struct web_connection *connection, uint32_t events) {
    struct web_run *run = &loop->run;
    struct web_visit *visit = connection->visit;
    int status = web_connection_ready(&run->pool, connection, events);
    if (status == WEB_ANSWERED && note_answer(loop, connection) != 0) {
        return -1;
    }
    if (status == WEB_LOST) {
        status = web_visit_recover(run, connection);
    }
    if (status == WEB_NOTHING || status < 0) {
        return status;
    }
    return loop->closed ? web_users_finished(run, visit, status == WEB_LOST)
                        : web_visits_finished(run, visit);
}

/* ---- what is due ---- */

static int begin_window(struct loop *loop) {
    loop->begun = true;
    loop->opened_before = loop->run.pool.opened;
    return loop->run.load->begins(loop->run.load->argument);
}

static int end_window(struct loop *loop) {
    struct web_totals *totals = loop->run.totals;
    loop->ended = true;
    totals->connections = loop->run.pool.opened - loop->opened_before;
    totals->elapsed_ns = (loop->replay ? web_now_ns() : loop->run.end_ns) - loop->run.window_ns;
    return loop->run.load->ends(loop->run.load->argument);
}

static uint64_t next_planned_ns(const struct web_run *run) {
    const struct web_plan *plan = run->load->plan;
    return run->next < plan->requests ? run->start_ns + plan->request[run->next].at_ns : UINT64_MAX;
}

static int fire(struct loop *loop, struct web_timer *timer) {
    web_timers_cancel(&loop->run.timers, timer);
    return timer->of_connection
               ? web_connection_resume(&loop->run.pool, (struct web_connection *)timer)
               : web_users_continue(&loop->run, (struct web_visit *)timer);
}

/* Start requests and timers that are due. */
static int start_due(struct loop *loop, int most) {
    struct web_run *run = &loop->run;
    for (int i = 0; i < most; i++) {
        uint64_t now = web_now_ns();
        struct web_timer *timer = web_timers_first(&run->timers);
        bool planned = next_planned_ns(run) <= now, timed = timer != NULL && timer->at_ns <= now;
        if (!loop->begun && now >= run->window_ns && begin_window(loop) != 0) {
            return -1;
        }
        if (!planned && !timed) {
            return 0;
        }
        /* In this order: a request may close the connection of the timer. */
        if ((timed && fire(loop, timer) != 0) || (planned && web_visits_dispatch(run) != 0)) {
            return -1;
        }
    }
    return 0;
}

static int check(struct loop *loop, uint64_t now) {
    if (web_stop_signal != 0) {
        return web_fail("stopped by signal %d", (int)web_stop_signal);
    }
    if (!loop->ended && !loop->replay && now >= loop->run.end_ns && end_window(loop) != 0) {
        return -1;
    }
    if (now < loop->check_ns) {
        return 0;
    }
    loop->check_ns = now + CHECK_NS;
    return web_server_check(loop->run.load->server);
}

/* ---- waiting ---- */

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t next_due_ns(const struct loop *loop) {
    const struct web_run *run = &loop->run;
    const struct web_timer *timer = web_timers_first(&run->timers);
    uint64_t due_ns = earlier(next_planned_ns(run), loop->check_ns);
    due_ns = earlier(due_ns, timer != NULL ? timer->at_ns : UINT64_MAX);
    due_ns = earlier(due_ns, loop->begun ? UINT64_MAX : run->window_ns);
    return earlier(due_ns, loop->ended || loop->replay ? UINT64_MAX : run->end_ns);
}

/* Wait for events until `due_ns`. Polling needs no wake-up, so sleep only until shortly before. */
static int wait_for_events(const struct loop *loop, uint64_t due_ns, struct epoll_event *events) {
    const int epoll = loop->run.pool.epoll;
    uint64_t spin_ns = loop->run.load->server->placement->spin_ns, now = web_now_ns();
    uint64_t spun_ns = now + spin_ns;
    int ready;
    while ((ready = epoll_wait(epoll, events, EVENTS, 0)) == 0 && now < due_ns &&
           (now < spun_ns || due_ns - now < spin_ns)) {
        now = web_now_ns();
    }
    if (ready != 0 || now >= due_ns) {
        return ready;
    }
    uint64_t wake_ns = due_ns - spin_ns;
    const struct itimerspec alarm = {.it_value = {.tv_sec = (time_t)(wake_ns / 1000000000),
                                                  .tv_nsec = (long)(wake_ns % 1000000000)}};
    return timerfd_settime(loop->alarm, TFD_TIMER_ABSTIME, &alarm, NULL) != 0
               ? -1
               : epoll_wait(epoll, events, EVENTS, -1);
}

/* All is answered, or it is too late. */
static bool done(const struct loop *loop, uint64_t now) {
    const struct web_run *run = &loop->run;
    bool all = run->outstanding == 0 && run->next == run->load->plan->requests;
    return now >= run->end_ns && (all || now - run->end_ns >= PATIENCE_NS);
}

static int run_loop(struct loop *loop) {
    struct epoll_event events[EVENTS];
    while (!done(loop, web_now_ns())) {
        if (check(loop, web_now_ns()) != 0 || start_due(loop, STARTS) != 0) {
            return -1;
        }
        int ready = wait_for_events(loop, next_due_ns(loop), events);
        if (ready < 0 && errno != EINTR) {
            return web_fail("epoll_wait: %s", strerror(errno));
        }
        for (int i = 0; i < ready; i++) {
            if ((events[i].data.ptr != NULL &&
                 serve(loop, events[i].data.ptr, events[i].events) != 0) ||
                start_due(loop, STARTS_PER_EVENT) != 0) {
                return -1;
            }
        }
    }
    return loop->ended ? 0 : end_window(loop);
}

/* ---- the run ---- */

static int open_run(struct loop *loop) {
    struct web_run *run = &loop->run;
    /* Edge-triggered: it is never read. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = NULL}};
    loop->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (web_pool_open(&run->pool, run->load, &run->timers) != 0) {
        return -1;
    }
    if (loop->alarm < 0 || epoll_ctl(run->pool.epoll, EPOLL_CTL_ADD, loop->alarm, &event) != 0) {
        return web_fail("timer: cannot create it: %s", strerror(errno));
    }
    run->start_ns = web_now_ns();
    run->window_ns = run->start_ns + run->load->plan->warmup_ns;
    run->end_ns = run->start_ns + run->load->plan->end_ns;
    return loop->closed ? web_users_open(run) : web_visits_open(run);
}

int web_timed_load_run(const struct web_timed_load *load, struct web_totals *totals) {
    const struct web_options *options = load->server->options;
    struct loop loop = {.run = {.load = load, .totals = totals, .pool = {.epoll = -1}},
                        .closed = web_has_users(options),
                        .replay = web_is(options->loop, "replay"),
                        .alarm = -1};
    int status = open_run(&loop) == 0 ? run_loop(&loop) : -1;
    totals->unanswered = totals->planned - totals->latency.count;
    totals->most_open = loop.run.pool.most_open;
    totals->beyond_limit = loop.run.pool.beyond_limit;
    web_pool_close(&loop.run.pool);
    web_users_close(&loop.run);
    web_visits_close(&loop.run);
    web_timers_free(&loop.run.timers);
    if (loop.alarm >= 0) {
        (void)close(loop.alarm);
    }
    if (status != 0) {
        return -1;
    }
    return totals->requests == 0 ? web_fail("window: got no responses in it") : 0;
}
