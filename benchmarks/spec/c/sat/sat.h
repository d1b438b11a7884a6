/*
 * A solver of propositional formulas: conflict-driven clause learning.
 *
 * Literals are 2 * variable + sign; the sign is 1 for the negated variable.
 */
#ifndef SAT_H
#define SAT_H

#include <stddef.h>
#include <stdint.h>

enum { SAT_NO_CLAUSE = UINT32_MAX };

struct sat_list {
    uint32_t *items;
    size_t used, room;
};

struct sat_watch {
    uint32_t clause;  /* where it begins in the clauses' items */
    uint32_t blocker; /* another literal of it: when true, the clause need not be read */
};

struct sat_watches {
    struct sat_watch *items;
    size_t used, room;
};

/* Variables by falling activity (VSIDS): a binary heap. */
struct sat_order {
    uint32_t *heap, *place; /* place[v]: where v is in the heap, `absent` when it is not */
    double *activity, increment;
    size_t used;
};

struct sat_statistics {
    uint64_t decisions, conflicts, propagations, restarts, learnt;
};

struct sat_solver {
    const char *program; /* named in messages */
    uint32_t variables;
    struct sat_list clauses;      /* size, glue (0: given, not learnt), literals; the next one */
    struct sat_watches *watches;  /* by literal: clauses that watch its negation's truth */
    int8_t *value;                /* by literal: 1 true, -1 false, 0 open */
    uint8_t *phase, *seen;        /* by variable: sign it last had; mark of the analysis */
    uint32_t *level, *reason;     /* by variable */
    uint32_t *level_mark;         /* by level: the conflict that last counted it */
    struct sat_list trail;        /* literals in the order in which they became true */
    struct sat_list level_starts; /* where in the trail each decision stands */
    size_t propagated;            /* how much of the trail has been followed */
    struct sat_order order;
    struct sat_list learning; /* the clause that is being learnt */
    uint64_t learnt_alive, learnt_limit;
    int contradiction;
    struct sat_statistics statistics;
};

void sat_open(struct sat_solver *solver, const char *program, uint32_t variables);
/* Adds a clause before the search; a variable may be in it once. */
void sat_add(struct sat_solver *solver, const uint32_t *literals, uint32_t count);
/* Returns 1 when there is a model, which is then in `value`, and 0 when there is none. */
int sat_solve(struct sat_solver *solver);
void sat_close(struct sat_solver *solver);

/* ---- between the solver's own files ---- */

void sat_push(struct sat_solver *solver, struct sat_list *list, uint32_t item);

void sat_order_open(struct sat_solver *solver);
void sat_order_put(struct sat_order *order, uint32_t variable);
uint32_t sat_order_take(struct sat_order *order);
void sat_order_raise(struct sat_solver *solver, uint32_t variable);

/* Learns from a conflict: fills `learning`, its first literal to become true at the level that is
 * returned. */
uint32_t sat_analyse(struct sat_solver *solver, uint32_t conflict, uint32_t *glue);

#endif
