/* The search: decide, propagate, learn, backtrack; restart and forget periodically. After Een and
 * Sorensson, "An extensible SAT-solver", 2003; written from the paper. */
#include "sat.h"

#include "shared/sp.h"

#include <stdlib.h>

enum {
    CONFLICTS_A_RESTART = 64,
    FIRST_LEARNT_LIMIT = 2000,
    LEARNT_LIMIT_STEP = 500,
    GLUE_KEPT = 2
};
static const double DECAY = 0.95;

static void *grow(const struct sat_solver *solver, void *items, size_t *room, size_t size) {
    *room = *room == 0 ? 16 : *room * 2;
    void *grown = realloc(items, *room * size);
    if (grown == NULL) {
        sp_fail(solver->program, "out of memory for %zu items of the solver", *room);
    }
    return grown;
}

void sat_push(struct sat_solver *solver, struct sat_list *list, uint32_t item) {
    if (list->used == list->room) {
        list->items = grow(solver, list->items, &list->room, sizeof *list->items);
    }
    list->items[list->used++] = item;
}

static void watch(struct sat_solver *solver, uint32_t literal, uint32_t clause, uint32_t blocker) {
    struct sat_watches *watches = &solver->watches[literal];
    if (watches->used == watches->room) {
        watches->items = grow(solver, watches->items, &watches->room, sizeof *watches->items);
    }
    watches->items[watches->used++] = (struct sat_watch){.clause = clause, .blocker = blocker};
}

static void watch_clause(struct sat_solver *solver, uint32_t clause) {
    const uint32_t *literals = solver->clauses.items + clause + 2;
    watch(solver, literals[0] ^ 1, clause, literals[1]);
    watch(solver, literals[1] ^ 1, clause, literals[0]);
}

static void set_true(struct sat_solver *solver, uint32_t literal, uint32_t reason) {
    solver->value[literal] = 1;
    solver->value[literal ^ 1] = -1;
    solver->level[literal / 2] = (uint32_t)solver->level_starts.used;
    solver->reason[literal / 2] = reason;
    sat_push(solver, &solver->trail, literal);
}

void sat_open(struct sat_solver *solver, const char *program, uint32_t variables) {
    *solver = (struct sat_solver){
        .program = program, .variables = variables, .learnt_limit = FIRST_LEARNT_LIMIT};
    const uint64_t literals = 2 * (uint64_t)variables;
    solver->watches = sp_allocate(program, literals, sizeof *solver->watches);
    solver->value = sp_allocate(program, literals, sizeof *solver->value);
    solver->phase = sp_allocate(program, variables, sizeof *solver->phase);
    solver->seen = sp_allocate(program, variables, sizeof *solver->seen);
    solver->level = sp_allocate(program, variables, sizeof *solver->level);
    solver->reason = sp_allocate(program, variables, sizeof *solver->reason);
    solver->level_mark = sp_allocate(program, (uint64_t)variables + 1, sizeof *solver->level_mark);
    sat_order_open(solver);
}

void sat_close(struct sat_solver *solver) {
    for (uint64_t literal = 0; literal < 2 * (uint64_t)solver->variables; literal++) {
        free(solver->watches[literal].items);
    }
    void *const areas[] = {solver->watches,        solver->value,
                           solver->phase,          solver->seen,
                           solver->level,          solver->reason,
                           solver->level_mark,     solver->clauses.items,
                           solver->trail.items,    solver->level_starts.items,
                           solver->learning.items, solver->order.heap,
                           solver->order.place,    solver->order.activity};
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        free(areas[i]);
    }
}

static uint32_t store(struct sat_solver *solver, const uint32_t *literals, uint32_t count,
                      uint32_t glue) {
    if (solver->clauses.used > UINT32_MAX - 2 - (size_t)count) {
        sp_fail(solver->program, "the clauses need more than 32 bits: use a smaller size");
    }
    uint32_t clause = (uint32_t)solver->clauses.used;
    sat_push(solver, &solver->clauses, count);
    sat_push(solver, &solver->clauses, glue);
    for (uint32_t i = 0; i < count; i++) {
        sat_push(solver, &solver->clauses, literals[i]);
    }
    watch_clause(solver, clause);
    return clause;
}

void sat_add(struct sat_solver *solver, const uint32_t *literals, uint32_t count) {
    if (count > 1) {
        (void)store(solver, literals, count, 0);
    } else if (count == 0 || solver->value[literals[0]] < 0) {
        solver->contradiction = 1;
    } else if (solver->value[literals[0]] == 0) {
        set_true(solver, literals[0], SAT_NO_CLAUSE);
    }
}

/* Find another literal to watch instead of `falsified`; return 1 if found. */
static int move_watch(struct sat_solver *solver, uint32_t clause, uint32_t falsified) {
    uint32_t *literals = solver->clauses.items + clause + 2;
    const uint32_t size = literals[-2];
    if (literals[0] == falsified) {
        literals[0] = literals[1];
        literals[1] = falsified;
    }
    if (solver->value[literals[0]] > 0) {
        return 0;
    }
    for (uint32_t i = 2; i < size; i++) {
        if (solver->value[literals[i]] >= 0) {
            literals[1] = literals[i];
            literals[i] = falsified;
            watch(solver, literals[1] ^ 1, clause, literals[0]);
            return 1;
        }
    }
    return 0;
}

/* Propagate one literal that became true. Return the conflicting clause or SAT_NO_CLAUSE. */
static uint32_t follow(struct sat_solver *solver, uint32_t literal) {
    struct sat_watches *watches = &solver->watches[literal];
    uint32_t conflict = SAT_NO_CLAUSE;
    size_t kept = 0;
    for (size_t i = 0; i < watches->used; i++) {
        struct sat_watch watch = watches->items[i];
        /* A watch moves to a literal that is not false, hence never into the list being read. */
        if (conflict == SAT_NO_CLAUSE && solver->value[watch.blocker] <= 0) {
            if (move_watch(solver, watch.clause, literal ^ 1)) {
                continue;
            }
            uint32_t first = solver->clauses.items[watch.clause + 2];
            watch.blocker = first;
            if (solver->value[first] < 0) {
                conflict = watch.clause;
            } else if (solver->value[first] == 0) {
                set_true(solver, first, watch.clause);
            }
        }
        watches->items[kept++] = watch;
    }
    watches->used = kept;
    return conflict;
}

static uint32_t propagate(struct sat_solver *solver) {
    uint32_t conflict = SAT_NO_CLAUSE;
    while (conflict == SAT_NO_CLAUSE && solver->propagated < solver->trail.used) {
        solver->statistics.propagations++;
        conflict = follow(solver, solver->trail.items[solver->propagated++]);
    }
    return conflict;
}

static void go_back(struct sat_solver *solver, uint32_t level) {
    if (solver->level_starts.used <= level) {
        return;
    }
    const size_t start = solver->level_starts.items[level];
    while (solver->trail.used > start) {
        uint32_t literal = solver->trail.items[--solver->trail.used];
        solver->value[literal] = solver->value[literal ^ 1] = 0;
        solver->phase[literal / 2] = literal & 1;
        sat_order_put(&solver->order, literal / 2);
    }
    solver->propagated = start;
    solver->level_starts.used = level;
}

static void learn(struct sat_solver *solver, uint32_t conflict) {
    uint32_t glue = 0, level = sat_analyse(solver, conflict, &glue);
    const uint32_t *literals = solver->learning.items;
    const uint32_t count = (uint32_t)solver->learning.used;
    go_back(solver, level);
    uint32_t reason = SAT_NO_CLAUSE;
    if (count > 1) {
        reason = store(solver, literals, count, glue);
        solver->learnt_alive++;
    }
    set_true(solver, literals[0], reason);
    solver->statistics.learnt++;
    solver->order.increment /= DECAY;
}

/* Copy the clause to `to` without its false literals, unless it is true or not worth keeping.
 * Called at level 0 after complete propagation: at least two literals are unassigned. */
static uint32_t keep(struct sat_solver *solver, uint32_t clause, uint32_t to, uint32_t worst_glue) {
    uint32_t *items = solver->clauses.items;
    const uint32_t size = items[clause], glue = items[clause + 1];
    if (glue > worst_glue) {
        return to;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (solver->value[items[clause + 2 + i]] > 0) {
            return to;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t literal = items[clause + 2 + i];
        if (solver->value[literal] == 0) {
            items[to + 2 + kept++] = literal;
        }
    }
    items[to] = kept;
    items[to + 1] = glue;
    solver->learnt_alive += glue > 0;
    return to + 2 + kept;
}

/* The glue that about half of the learnt clauses do not exceed; clauses up to GLUE_KEPT always
 * stay. */
static uint32_t median_glue(const struct sat_solver *solver) {
    enum { GLUES = 64 };
    uint64_t counts[GLUES] = {0}, sum = 0;
    for (size_t at = 0; at < solver->clauses.used; at += 2 + solver->clauses.items[at]) {
        uint32_t glue = solver->clauses.items[at + 1];
        counts[glue < GLUES ? glue : GLUES - 1] += glue > 0;
    }
    for (uint32_t glue = 1; glue < GLUES - 1; glue++) {
        sum += counts[glue];
        if (2 * sum >= solver->learnt_alive) {
            return glue > GLUE_KEPT ? glue - 1 : GLUE_KEPT;
        }
    }
    return GLUES;
}

static void forget(struct sat_solver *solver) {
    const uint32_t worst_glue = median_glue(solver);
    const size_t used = solver->clauses.used;
    uint32_t to = 0;
    solver->learnt_alive = 0;
    for (uint32_t clause = 0; clause < used;) {
        uint32_t next = clause + 2 + solver->clauses.items[clause];
        to = keep(solver, clause, to, worst_glue);
        clause = next;
    }
    solver->clauses.used = to;
    for (uint64_t literal = 0; literal < 2 * (uint64_t)solver->variables; literal++) {
        solver->watches[literal].used = 0;
    }
    for (uint32_t clause = 0; clause < to; clause += 2 + solver->clauses.items[clause]) {
        watch_clause(solver, clause);
    }
    /* Reasons at level 0 are never read, so they may refer to former clause positions. */
    solver->learnt_limit += LEARNT_LIMIT_STEP;
}

/* 1 1 2 1 1 2 4 ...: Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas algorithms", 1993;
 * index from 1. */
static uint64_t luby(uint64_t index) {
    for (;;) {
        uint64_t size = 1;
        while (size * 2 - 1 < index) {
            size *= 2;
        }
        if (size * 2 - 1 == index) {
            return size;
        }
        index -= size - 1;
    }
}

static int decide(struct sat_solver *solver) {
    while (solver->order.used > 0) {
        uint32_t variable = sat_order_take(&solver->order);
        if (solver->value[2 * variable] == 0) {
            solver->statistics.decisions++;
            sat_push(solver, &solver->level_starts, (uint32_t)solver->trail.used);
            set_true(solver, 2 * variable + solver->phase[variable], SAT_NO_CLAUSE);
            return 1;
        }
    }
    return 0;
}

int sat_solve(struct sat_solver *solver) {
    uint64_t left = CONFLICTS_A_RESTART;
    while (!solver->contradiction) {
        uint32_t conflict = propagate(solver);
        if (conflict != SAT_NO_CLAUSE) {
            solver->statistics.conflicts++;
            left -= left > 0;
            if (solver->level_starts.used == 0) {
                solver->contradiction = 1;
            } else {
                learn(solver, conflict);
            }
        } else if (left == 0) {
            left = CONFLICTS_A_RESTART * luby(++solver->statistics.restarts + 1);
            go_back(solver, 0);
            if (solver->learnt_alive > solver->learnt_limit) {
                forget(solver);
            }
        } else if (!decide(solver)) {
            return 1;
        }
    }
    return 0;
}
