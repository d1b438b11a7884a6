/*
 * Users of the closed loop: each plays sessions drawn at random, one after the other. It thinks
 * before each view and sends all other requests at once after the previous response.
 * Users who saturate the server never think. Instead of a think time in which the server would
 * close their connection, they close it.
 */
#include "timed.h"

#include <stdlib.h>

/* Time until a user whose connection was refused or reset continues. */
static const uint64_t RECOVERY_NS = UINT64_C(1000000000);

static uint64_t think_us(const struct web_listed_request *request) {
    return request->new_view ? request->gap_us : 0;
}

static bool saturates(const struct web_run *run) {
    return web_is(run->load->server->options->loop, "saturate");
}

/* What a session has more of if a user is more often in it: think time, else requests. */
static uint64_t weight(const struct web_run *run, const struct web_listed_request *request) {
    return saturates(run) ? 1 : think_us(request);
}

static int add_weights(struct web_run *run) {
    const struct web_sessions *sessions = run->load->sessions;
    uint64_t sum = 0;
    run->weight = malloc(sessions->sessions * sizeof *run->weight);
    if (run->weight == NULL) {
        return web_fail("users: cannot allocate memory for %u sessions", sessions->sessions);
    }
    for (uint32_t i = 0; i < sessions->sessions; i++) {
        for (uint32_t j = sessions->session[i].first; j < sessions->session[i + 1].first; j++) {
            sum += weight(run, &sessions->request[j]);
        }
        run->weight[i] = sum;
    }
    return 0;
}

static void begin_session(struct web_run *run, struct web_visit *user, uint32_t session) {
    const struct web_listed_session *listed = &run->load->sessions->session[session];
    user->number = run->visits++;
    user->next = listed[0].first;
    user->end = listed[1].first;
}

/* Start at a random instant of the think times (or requests) of all sessions: in a stationary loop,
 * a user is more often in a long session than in a short one. */
static int begin_within(struct web_run *run, struct web_visit *user) {
    const struct web_sessions *sessions = run->load->sessions;
    uint64_t total = run->weight[sessions->sessions - 1];
    if (total == 0) {
        begin_session(run, user, (uint32_t)(web_random_next(&user->random) % sessions->sessions));
        return web_timers_set(&run->timers, &user->timer, run->start_ns);
    }
    uint64_t instant = web_random_next(&user->random) % total;
    uint32_t low = 0, high = sessions->sessions - 1;
    while (low < high) { /* the first session whose sum is above the instant */
        uint32_t middle = low + (high - low) / 2;
        if (run->weight[middle] > instant) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    instant -= low == 0 ? 0 : run->weight[low - 1];
    begin_session(run, user, low);
    while (weight(run, &sessions->request[user->next]) <= instant) {
        instant -= weight(run, &sessions->request[user->next++]);
    }
    uint64_t rest_us = saturates(run) ? 0 : think_us(&sessions->request[user->next]) - instant;
    return web_timers_set(&run->timers, &user->timer, run->start_ns + rest_us * 1000);
}

int web_users_open(struct web_run *run) {
    const struct web_options *options = run->load->server->options;
    run->user = calloc((size_t)options->users, sizeof *run->user);
    if (run->user == NULL) {
        return web_fail("users: cannot allocate memory for %llu",
                        (unsigned long long)options->users);
    }
    if (add_weights(run) != 0) {
        return -1;
    }
    uint64_t random = options->seed;
    for (uint64_t i = 0; i < options->users; i++) {
        run->user[i].random = web_random_next(&random);
        if (begin_within(run, &run->user[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int web_users_continue(struct web_run *run, struct web_visit *user) {
    uint64_t now = web_now_ns();
    if (now >= run->end_ns) {
        return 0;
    }
    const struct web_asked asked = {
        .request = user->next++, .from_ns = now, .measured = now >= run->window_ns};
    bool busy;
    run->totals->planned += asked.measured;
    run->outstanding++;
    int status = web_visit_send(run, user, &asked, &busy);
    return status == WEB_LOST ? web_users_finished(run, user, true) : status;
}

int web_users_finished(struct web_run *run, struct web_visit *user, bool lost) {
    run->outstanding--;
    uint64_t wait_ns = lost ? RECOVERY_NS : 0;
    if (user->next == user->end) {
        web_visit_close(run, user);
        begin_session(run, user,
                      (uint32_t)(web_random_next(&user->random) % run->load->sessions->sessions));
    } else {
        uint64_t pause_us = think_us(&run->load->sessions->request[user->next]);
        if (!saturates(run)) {
            wait_ns += pause_us * 1000;
        } else if (pause_us > WEB_KEEP_ALIVE_S * UINT64_C(1000000)) {
            web_visit_close(run, user);
        }
    }
    return wait_ns > 0 ? web_timers_set(&run->timers, &user->timer, web_now_ns() + wait_ns)
                       : web_users_continue(run, user);
}

void web_users_close(struct web_run *run) {
    free(run->user);
    free(run->weight);
}
