/*
 * Satisfiability of propositional formulas with known answers.
 *
 * Kind: integer search: unpredictable branches, chains of pointers through clauses. Two families
 * alternate: random 3-SAT with a hidden model, and parities along the edges of a random graph
 * (Tseitin), which are satisfiable if and only if the sum of the vertex charges is even. Checks:
 * the answer, and every model against every clause.
 */
#include "sat/sat.h"
#include "shared/sp.h"

#include <stdio.h>
#include <stdlib.h>

static const char PROGRAM[] = "search";
static const char SUMMARY[] =
    "Solve formulas by conflict-driven clause learning (random 3-SAT with a hidden model, and\n"
    "parities on random graphs). Print the amount of work and a digest of the answers.";

/* Clauses per variable: random 3-SAT is hardest near 4.27 (Mitchell, Selman and Levesque 1992). */
static const double CLAUSES_A_VARIABLE = 4.27;
enum { DEGREE = 4, LONGEST = DEGREE };

struct formula {
    uint32_t variables;
    uint64_t count, room;
    uint32_t (*clauses)[LONGEST];
    uint32_t length; /* of every clause */
    int satisfiable;
};

static void formula_open(struct formula *formula, uint32_t variables, uint64_t room,
                         uint32_t length) {
    *formula = (struct formula){.variables = variables, .room = room, .length = length};
    formula->clauses = sp_allocate(PROGRAM, room, sizeof *formula->clauses);
}

/* Three different variables with signs such that one, two or three of the literals hold in the
 * model. With probabilities 0.6, 0.3 and 0.1, a literal holds half the time, and counts of the
 * signs do not reveal the model (after Barthel et al., "Hiding solutions in random satisfiability
 * problems", 2002). */
static void hidden_clause(const uint8_t *model, uint32_t variables, uint32_t clause[LONGEST],
                          struct sp_random *random) {
    uint64_t drawn = sp_random_below(random, 10);
    uint32_t true_literals = drawn < 6 ? 1 : drawn < 9 ? 2 : 3;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t variable = 0;
        do {
            variable = (uint32_t)sp_random_below(random, variables);
        } while ((i > 0 && variable == clause[0] / 2) || (i > 1 && variable == clause[1] / 2));
        uint32_t sign_that_holds = model[variable] == 0;
        clause[i] = 2 * variable + (i < true_literals ? sign_that_holds : 1 - sign_that_holds);
    }
}

static struct formula hidden_model(uint32_t variables, struct sp_random *random) {
    struct formula formula;
    formula_open(&formula, variables, (uint64_t)(CLAUSES_A_VARIABLE * variables), 3);
    formula.satisfiable = 1;
    uint8_t *model = sp_allocate(PROGRAM, variables, sizeof *model);
    for (uint32_t i = 0; i < variables; i++) {
        model[i] = (uint8_t)sp_random_below(random, 2);
    }
    while (formula.count < formula.room) {
        hidden_clause(model, variables, formula.clauses[formula.count++], random);
    }
    free(model);
    return formula;
}

static void shuffle(uint32_t *items, uint32_t count, struct sp_random *random) {
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)sp_random_below(random, (uint64_t)i + 1);
        uint32_t swapped = items[i];
        items[i] = items[j];
        items[j] = swapped;
    }
}

/* The exclusive or of the variables equals `parity`: exclude each assignment of the other parity.
 */
static void add_parity(struct formula *formula, const uint32_t edges[DEGREE], uint32_t parity) {
    for (uint32_t signs = 0; signs < 1U << DEGREE; signs++) {
        uint32_t ones = 0;
        for (uint32_t i = 0; i < DEGREE; i++) {
            ones += signs >> i & 1;
        }
        if (ones % 2 == parity) {
            continue;
        }
        /* The clause is false if each variable i equals bit i of the signs. */
        uint32_t *clause = formula->clauses[formula->count++];
        for (uint32_t i = 0; i < DEGREE; i++) {
            clause[i] = 2 * edges[i] + (signs >> i & 1);
        }
    }
}

/* Tseitin, "On the complexity of derivation in propositional calculus", 1968: an edge is a
 * variable, a vertex the parity of its edges. Each edge counts at both of its ends, so the sum of
 * the parities must be even. The graph consists of two random rings through all vertices. */
static struct formula parities(uint32_t vertices, int satisfiable, struct sp_random *random) {
    struct formula formula;
    formula_open(&formula, 2 * vertices, (uint64_t)vertices << (DEGREE - 1), DEGREE);
    formula.satisfiable = satisfiable;
    uint32_t *ring = sp_allocate(PROGRAM, vertices, sizeof *ring);
    uint32_t (*edges)[DEGREE] = sp_allocate(PROGRAM, vertices, sizeof *edges);
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < vertices; i++) {
            ring[i] = i;
        }
        shuffle(ring, vertices, random);
        for (uint32_t i = 0; i < vertices; i++) {
            uint32_t edge = turn * vertices + i;
            edges[ring[i]][2 * turn] = edge;
            edges[ring[(i + 1) % vertices]][2 * turn + 1] = edge;
        }
    }
    uint32_t sum = 0;
    for (uint32_t vertex = 0; vertex < vertices; vertex++) {
        uint32_t parity = (uint32_t)sp_random_below(random, 2);
        if (vertex == vertices - 1) { /* adjusts the sum to the required parity */
            parity = (sum + (satisfiable ? 0 : 1)) % 2;
        }
        sum += parity;
        add_parity(&formula, edges[vertex], parity);
    }
    free(ring);
    free(edges);
    return formula;
}

static void check(const struct formula *formula, const struct sat_solver *solver, int found) {
    if (found != formula->satisfiable) {
        sp_fail(PROGRAM,
                "wrong result: a formula that is %ssatisfiable was reported as %ssatisfiable",
                formula->satisfiable ? "" : "un", found ? "" : "un");
    }
    for (uint64_t i = 0; found && i < formula->count; i++) {
        int holds = 0;
        for (uint32_t j = 0; j < formula->length; j++) {
            holds |= solver->value[formula->clauses[i][j]] > 0;
        }
        if (!holds) {
            sp_fail(PROGRAM, "wrong result: the model does not satisfy clause %llu",
                    (unsigned long long)i);
        }
    }
}

static void solve(struct formula *formula, struct sat_statistics *total, struct sp_digest *digest) {
    struct sat_solver solver;
    sat_open(&solver, PROGRAM, formula->variables);
    for (uint64_t i = 0; i < formula->count; i++) {
        sat_add(&solver, formula->clauses[i], formula->length);
    }
    int found = sat_solve(&solver);
    check(formula, &solver, found);
    for (uint32_t variable = 0; found && variable < formula->variables; variable++) {
        sp_digest_add(digest, solver.value[2 * variable] > 0);
    }
    sp_digest_add(digest, solver.statistics.conflicts);
    total->decisions += solver.statistics.decisions;
    total->conflicts += solver.statistics.conflicts;
    total->propagations += solver.statistics.propagations;
    sat_close(&solver);
    free(formula->clauses);
}

int main(int argc, char **argv) {
    uint64_t rounds = 10, variables = 150, vertices = 20, seed = 1;
    const struct sp_option options[] = {
        {"--rounds", "number of formulas per family", &rounds, 1, 1000000},
        {"--variables", "variables per formula with a hidden model", &variables, 10, 1000},
        {"--vertices", "vertices per graph with parities", &vertices, 3, 100},
        {"--seed", "seed of the formulas", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct sp_random random = {.state = seed};
    struct sat_statistics total = {0};
    struct sp_digest digest = {0};
    for (uint64_t round = 0; round < rounds; round++) {
        struct formula formula = hidden_model((uint32_t)variables, &random);
        solve(&formula, &total, &digest);
        formula = parities((uint32_t)vertices, round % 2 != 0, &random);
        solve(&formula, &total, &digest);
    }
    (void)printf("search rounds %llu variables %llu vertices %llu seed %llu\ndecisions %llu "
                 "conflicts %llu propagations %llu digest %016llx\n",
                 (unsigned long long)rounds, (unsigned long long)variables,
                 (unsigned long long)vertices, (unsigned long long)seed,
                 (unsigned long long)total.decisions, (unsigned long long)total.conflicts,
                 (unsigned long long)total.propagations, (unsigned long long)digest.state);
    return sp_close(PROGRAM);
}
