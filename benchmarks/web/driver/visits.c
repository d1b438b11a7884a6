/*
 * Visits of the open loop and of a replay: requests are sent at their planned time, regardless of
 * the responses. Each visit has a few connections; if all are busy, its requests wait in order.
 */
#include "timed.h"

#include <stdlib.h>

int web_visit_send(struct web_run *run, struct web_visit *visit, const struct web_asked *asked,
                   bool *busy) {
    struct web_asked now = *asked;
    struct web_connection *connection = visit->connection;
    *busy = false;
    while (connection != NULL && (now.again || connection->state != WEB_IDLE)) {
        connection = connection->next;
    }
    if (connection != NULL) {
        int status = web_connection_ask(&run->pool, connection, &now);
        if (status != WEB_LOST) {
            return status;
        }
        now.again = true;
        web_connection_close(&run->pool, connection);
    } else if (visit->connections == WEB_CONNECTIONS_PER_VISIT) {
        *busy = true;
        return WEB_LOST;
    }
    int status = web_connection_open(&run->pool, visit, &connection);
    if (status == WEB_NOTHING) {
        status = web_connection_ask(&run->pool, connection, &now);
        if (status == WEB_LOST) {
            web_connection_close(&run->pool, connection);
        }
    }
    run->totals->connection_errors += status == WEB_LOST;
    return status;
}

int web_visit_recover(struct web_run *run, struct web_connection *connection) {
    struct web_visit *visit = connection->visit;
    struct web_asked asked = connection->asked;
    bool stale = connection->answered && connection->answer.received == 0 && !asked.again;
    bool busy;
    web_connection_close(&run->pool, connection);
    if (!stale) {
        run->totals->connection_errors++;
        return WEB_LOST;
    }
    asked.again = true;
    return web_visit_send(run, visit, &asked, &busy);
}

void web_visit_close(struct web_run *run, struct web_visit *visit) {
    while (visit->connection != NULL) {
        web_connection_close(&run->pool, visit->connection);
    }
}

int web_visits_open(struct web_run *run) {
    const struct web_plan *plan = run->load->plan;
    run->visit = calloc(plan->visits, sizeof *run->visit);
    run->totals->planned = plan->measured;
    run->totals->planned_ns = plan->end_ns - plan->warmup_ns;
    return run->visit != NULL ? 0 : web_fail("visits: cannot allocate memory for %u", plan->visits);
}

static void finish(struct web_run *run, struct web_visit *visit) {
    web_visit_close(run, visit);
    run->visit[visit->number] = NULL;
    free(visit);
}

/* Send waiting requests as connections are free; end the visit after its last response. */
static int send_waiting(struct web_run *run, struct web_visit *visit) {
    const struct web_listed_request *requests = run->load->sessions->request;
    while (visit->waiting > 0) {
        const struct web_asked asked = {.request = visit->head,
                                        .from_ns = visit->head_at_ns,
                                        .measured = visit->head_at_ns >= run->window_ns};
        bool busy;
        int status = web_visit_send(run, visit, &asked, &busy);
        if (status < 0) {
            return -1;
        }
        if (busy) {
            return 0;
        }
        visit->waiting--;
        if (visit->waiting > 0) {
            visit->head++;
            visit->head_at_ns += requests[visit->head].gap_us * 1000;
        }
        if (status == WEB_LOST) {
            visit->left--;
            run->outstanding--;
        }
    }
    if (visit->left == 0) {
        finish(run, visit);
    }
    return 0;
}

int web_visits_finished(struct web_run *run, struct web_visit *visit) {
    visit->left--;
    run->outstanding--;
    return send_waiting(run, visit);
}

int web_visits_dispatch(struct web_run *run) {
    const struct web_planned *planned = &run->load->plan->request[run->next++];
    uint64_t at_ns = run->start_ns + planned->at_ns;
    struct web_visit *visit = run->visit[planned->visit];
    if (visit == NULL) {
        visit = calloc(1, sizeof *visit);
        if (visit == NULL) {
            return web_fail("visits: out of memory");
        }
        visit->number = planned->visit;
        visit->left = run->load->plan->visit_requests[planned->visit];
        run->visit[planned->visit] = visit;
    }
    run->outstanding++;
    if (at_ns >= run->window_ns &&
        web_times_add(&run->totals->send_delay, web_now_ns() - at_ns) != 0) {
        return -1;
    }
    if (visit->waiting++ > 0) {
        return 0;
    }
    visit->head = planned->request;
    visit->head_at_ns = at_ns;
    return send_waiting(run, visit);
}

void web_visits_close(struct web_run *run) {
    for (uint32_t i = 0; run->visit != NULL && i < run->load->plan->visits; i++) {
        free(run->visit[i]);
    }
    free((void *)run->visit);
}
