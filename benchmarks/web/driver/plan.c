/*
 * Draw all requests of a run before it starts. The plan depends on the seed and the file alone,
 * never on the answers.
 */
#include "sessions.h"

#include <math.h>
#include <stdlib.h>

/* Limit of drawn sessions: most of them may end before the run starts. */
static const double MOST_ARRIVALS = 1e8;
struct draft {
    struct web_plan *plan;
    const struct web_sessions *sessions;
    size_t room, visit_room;
};

static int too_many(void) {
    return web_fail("plan: expected at most %d requests, got more: choose a lower --rate or "
                    "shorter --window-ms, or fewer sessions to replay",
                    WEB_MOST_PLANNED);
}

static int add_request(struct draft *draft, const struct web_planned *planned) {
    struct web_plan *plan = draft->plan;
    if (plan->requests == WEB_MOST_PLANNED) {
        return too_many();
    }
    struct web_planned *grown =
        web_grown(plan->request, plan->requests, &draft->room, sizeof *grown, "planned requests");
    if (grown == NULL) {
        return -1;
    }
    plan->request = grown;
    plan->request[plan->requests++] = *planned;
    plan->measured += planned->at_ns >= plan->warmup_ns;
    return 0;
}

/* Plan the requests of a session from `start_ns` that are in [0, end_ns). */
static int add_visit(struct draft *draft, uint32_t session, int64_t start_ns, int64_t end_ns) {
    struct web_plan *plan = draft->plan;
    const struct web_listed_session *listed = &draft->sessions->session[session];
    size_t before = plan->requests;
    int64_t at_ns = start_ns;
    for (uint32_t i = listed[0].first; i < listed[1].first && at_ns < end_ns; i++) {
        at_ns += (int64_t)draft->sessions->request[i].gap_us * 1000;
        const struct web_planned planned = {
            .at_ns = (uint64_t)at_ns, .visit = plan->visits, .request = i};
        if (at_ns >= 0 && at_ns < end_ns && add_request(draft, &planned) != 0) {
            return -1;
        }
    }
    if (plan->requests == before) {
        return 0;
    }
    uint32_t *grown = web_grown(plan->visit_requests, plan->visits, &draft->visit_room,
                                sizeof *grown, "planned sessions");
    if (grown == NULL) {
        return -1;
    }
    plan->visit_requests = grown;
    plan->visit_requests[plan->visits++] = (uint32_t)(plan->requests - before);
    return 0;
}

/* Uniform in (0, 1]. */
static double draw(uint64_t *random) {
    return ((double)(web_random_next(random) >> 11) + 1) * 0x1p-53;
}

/* Sessions arrive as a Poisson process. Those that started up to the longest duration before the
 * run are included, so that the process is stationary from the start. */
static int draw_arrivals(struct draft *draft, const struct web_options *options) {
    const struct web_sessions *sessions = draft->sessions;
    const int64_t end_ns = (int64_t)draft->plan->end_ns;
    const int64_t before_ns = (int64_t)sessions->longest_us * 1000;
    /* requests per second / requests per session */
    double mean_ns = 1e9 / (double)options->rate * sessions->requests / sessions->sessions;
    double arrivals = (double)(before_ns + end_ns) / mean_ns;
    if ((double)options->rate * (double)end_ns / 1e9 > WEB_MOST_PLANNED) {
        return too_many(); /* most likely; do not draw them */
    }
    if (arrivals > MOST_ARRIVALS) {
        return web_fail("plan: expected at most %.0f arriving sessions, got about %.0f, because "
                        "the longest session lasts %.0f s: shorten it or choose a lower --rate",
                        MOST_ARRIVALS, arrivals, (double)sessions->longest_us / 1e6);
    }
    uint64_t random = options->seed;
    for (double at = 0;;) {
        at -= mean_ns * log(draw(&random));
        if (at >= (double)(before_ns + end_ns)) {
            return 0;
        }
        uint32_t session = (uint32_t)(web_random_next(&random) % sessions->sessions);
        int64_t start_ns = (int64_t)at - before_ns;
        if (start_ns + (int64_t)sessions->session[session].duration_us * 1000 >= 0 &&
            add_visit(draft, session, start_ns, end_ns) != 0) {
            return -1;
        }
    }
}

static int plan_replay(struct draft *draft) {
    struct web_plan *plan = draft->plan;
    const struct web_sessions *sessions = draft->sessions;
    for (uint32_t i = 0; i < sessions->sessions; i++) {
        const struct web_listed_session *session = &sessions->session[i];
        if (session->start_us < 0) {
            return web_fail("replay: expected a start of 0 or more for every session, got -1 for "
                            "session %u: choose --loop open or closed",
                            i);
        }
        if (add_visit(draft, i, session->start_us * 1000, INT64_MAX) != 0) {
            return -1;
        }
        uint64_t last_ns = ((uint64_t)session->start_us + session->duration_us) * 1000;
        plan->end_ns = plan->end_ns < last_ns ? last_ns : plan->end_ns;
    }
    return 0;
}

static int compare(const void *a, const void *b) {
    const struct web_planned *x = a, *y = b;
    return x->at_ns != y->at_ns   ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
           : x->visit != y->visit ? (x->visit > y->visit) - (x->visit < y->visit)
                                  : (x->request > y->request) - (x->request < y->request);
}

int web_plan_make(struct web_plan *plan, const struct web_sessions *sessions,
                  const struct web_options *options) {
    struct draft draft = {.plan = plan, .sessions = sessions};
    *plan = (struct web_plan){.warmup_ns = options->warmup_ms * UINT64_C(1000000)};
    if (web_is(options->loop, "replay")) {
        if (plan_replay(&draft) != 0) {
            return -1;
        }
    } else {
        plan->end_ns = plan->warmup_ns + options->window_ms * UINT64_C(1000000);
        if (web_has_users(options)) {
            return 0;
        }
        if (draw_arrivals(&draft, options) != 0) {
            return -1;
        }
    }
    if (plan->measured == 0) {
        return web_fail("plan: expected requests after the warm-up of %llu ms, got none",
                        (unsigned long long)options->warmup_ms);
    }
    qsort(plan->request, plan->requests, sizeof *plan->request, compare);
    return 0;
}

void web_plan_free(struct web_plan *plan) {
    free(plan->request);
    free(plan->visit_requests);
    *plan = (struct web_plan){0};
}
