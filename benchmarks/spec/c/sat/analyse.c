/* Learning from a conflict: the first unique implication point (Marques-Silva and Sakallah, "GRASP:
 * a search algorithm for propositional satisfiability", 1999). */
#include "sat.h"

static uint32_t current_level(const struct sat_solver *solver) {
    return (uint32_t)solver->level_starts.used;
}

/* Mark the literals of a clause that are false above the first level, except `skip`. Return the
 * number of new ones at the current level; the others are added to the learnt clause. */
static uint32_t mark(struct sat_solver *solver, uint32_t clause, uint32_t skip) {
    uint32_t current = 0;
    const uint32_t *items = solver->clauses.items;
    for (uint32_t i = 0; i < items[clause]; i++) {
        uint32_t literal = items[clause + 2 + i], variable = literal / 2;
        if (literal == skip || solver->seen[variable] != 0 || solver->level[variable] == 0) {
            continue;
        }
        solver->seen[variable] = 1;
        sat_order_raise(solver, variable);
        if (solver->level[variable] == current_level(solver)) {
            current++;
        } else {
            sat_push(solver, &solver->learning, literal);
        }
    }
    return current;
}

/* A literal is redundant if all other literals of its reason are in the clause or at level 0. */
static int superfluous(const struct sat_solver *solver, uint32_t literal) {
    uint32_t clause = solver->reason[literal / 2];
    if (clause == SAT_NO_CLAUSE) {
        return 0;
    }
    const uint32_t *items = solver->clauses.items;
    for (uint32_t i = 0; i < items[clause]; i++) {
        uint32_t other = items[clause + 2 + i] / 2;
        if (other != literal / 2 && solver->seen[other] == 0 && solver->level[other] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Remove redundant literals and clear the marks. */
static void minimise(struct sat_solver *solver) {
    struct sat_list *learning = &solver->learning;
    size_t kept = 1;
    for (size_t i = 1; i < learning->used; i++) {
        uint32_t literal = learning->items[i];
        int drop = superfluous(solver, literal);
        /* Removed literals stay behind the kept ones until their marks are cleared. */
        if (!drop) {
            learning->items[i] = learning->items[kept];
            learning->items[kept++] = literal;
        }
    }
    for (size_t i = 0; i < learning->used; i++) {
        solver->seen[learning->items[i] / 2] = 0;
    }
    learning->used = kept;
}

/* Glue: number of distinct levels of the literals of the clause (Audemard and Simon 2009). */
static uint32_t count_levels(struct sat_solver *solver) {
    uint32_t levels = 0;
    const uint32_t stamp = (uint32_t)solver->statistics.conflicts;
    for (size_t i = 0; i < solver->learning.used; i++) {
        uint32_t level = solver->level[solver->learning.items[i] / 2];
        if (solver->level_mark[level] != stamp) {
            solver->level_mark[level] = stamp;
            levels++;
        }
    }
    return levels;
}

uint32_t sat_analyse(struct sat_solver *solver, uint32_t conflict, uint32_t *glue) {
    struct sat_list *learning = &solver->learning;
    learning->used = 0;
    sat_push(solver, learning, 0); /* space for the literal that becomes true */
    uint32_t clause = conflict, open = 0, literal = UINT32_MAX;
    size_t at = solver->trail.used;
    do {
        open += mark(solver, clause, literal);
        do {
            literal = solver->trail.items[--at];
        } while (solver->seen[literal / 2] == 0);
        clause = solver->reason[literal / 2];
        solver->seen[literal / 2] = 0;
        open--;
    } while (open > 0);
    learning->items[0] = literal ^ 1;
    minimise(solver);
    *glue = count_levels(solver);

    /* The second literal has the highest level below: it is watched, and the search returns to its
     * level. */
    uint32_t back_to = 0;
    for (size_t i = 1; i < learning->used; i++) {
        uint32_t other = learning->items[i];
        if (solver->level[other / 2] > back_to) {
            back_to = solver->level[other / 2];
            learning->items[i] = learning->items[1];
            learning->items[1] = other;
        }
    }
    return back_to;
}
