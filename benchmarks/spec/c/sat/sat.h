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
    uint32_t clause; /* start of the clause in the items of all clauses */
    uint32_t
        blocker; /* another literal of the clause: if it is true, the clause need not be read */
};

struct sat_watches {
    struct sat_watch *items;
    size_t used, room;
};

/* Variables by decreasing activity (VSIDS): a binary heap. */
struct sat_order {
    uint32_t *heap, *place; /* place[v]: position of v in the heap, or `absent` */
    double *activity, increment;
    size_t used;
};

struct sat_statistics {
    uint64_t decisions, conflicts, propagations, restarts, learnt;
};

struct sat_solver {
    const char *program; /* program name for messages */
    uint32_t variables;
    struct sat_list clauses; /* size, glue (0: given, not learnt), literals; then the next clause */
    struct sat_watches *watches;  /* by literal: clauses that watch its negation */
    int8_t *value;                /* by literal: 1 true, -1 false, 0 open */
    uint8_t *phase, *seen;        /* by variable: last sign; mark of the analysis */
    uint32_t *level, *reason;     /* by variable */
    uint32_t *level_mark;         /* by level: last conflict that counted it */
    struct sat_list trail;        /* literals in the order of assignment */
    struct sat_list level_starts; /* position of each decision in the trail */
    size_t propagated;            /* propagated length of the trail */
    struct sat_order order;
    struct sat_list learning; /* the clause being learnt */
    uint64_t learnt_alive, learnt_limit;
    int contradiction;
    struct sat_statistics statistics;
};

void sat_open(struct sat_solver *solver, const char *program, uint32_t variables);
/* Add a clause before the search; a variable may occur once in it. */
void sat_add(struct sat_solver *solver, const uint32_t *literals, uint32_t count);
/* Return 1 if there is a model, which is then in `value`, and 0 otherwise. */
int sat_solve(struct sat_solver *solver);
void sat_close(struct sat_solver *solver);

/* ---- internal interface of the solver files ---- */

void sat_push(struct sat_solver *solver, struct sat_list *list, uint32_t item);

void sat_order_open(struct sat_solver *solver);
void sat_order_put(struct sat_order *order, uint32_t variable);
uint32_t sat_order_take(struct sat_order *order);
void sat_order_raise(struct sat_solver *solver, uint32_t variable);

/* Learn from a conflict: fill `learning`, whose first literal becomes true at the returned level.
 */
uint32_t sat_analyse(struct sat_solver *solver, uint32_t conflict, uint32_t *glue);

#endif
