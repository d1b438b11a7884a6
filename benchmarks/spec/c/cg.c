/*
 * Conjugate gradients for a sparse, symmetric, positive definite matrix in compressed row format.
 *
 * Kind: sparse solvers, bound by memory bandwidth. The matrix describes heat in a cube of
 * inhomogeneous material: 7 entries per row, random conductances between cells, and faces at zero.
 * Checks: symmetry and positive definiteness as the method requires, the recomputed residual of
 * the solution, and the distance from the known solution.
 */
#include "shared/sp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char PROGRAM[] = "cg";
static const char SUMMARY[] =
    "Solve A x = b by conjugate gradients with a Jacobi preconditioner. Print the number of\n"
    "iterations and a digest of x.";

enum { AXES = 3, ENTRIES_A_ROW = 7, EDGE_LIMIT = 600 };
/* Of the residual, relative to b. */
static const double TOLERANCE = 1e-10;

struct matrix {
    uint64_t edge, rows;
    uint64_t *first; /* of rows + 1: start of the entries of each row */
    uint32_t *column;
    double *value, *diagonal;
};

/* Conductance between a cell and the next one along an axis, identical from both sides: from 0.1 to
 * 10, with mostly small values. */
static double conductance(uint64_t seed, uint64_t cell, int axis) {
    struct sp_random random = {.state = seed ^ (cell * AXES + (uint64_t)axis + 1) *
                                                   UINT64_C(0x9e3779b97f4a7c15)};
    double u = sp_random_uniform(&random);
    return 0.1 + 9.9 * u * u * u;
}

static void put(struct matrix *matrix, uint64_t *entry, uint64_t column, double value) {
    matrix->column[*entry] = (uint32_t)column;
    matrix->value[*entry] = value;
    ++*entry;
}

static void assemble_row(struct matrix *matrix, uint64_t row, uint64_t *entry, uint64_t seed) {
    const uint64_t edge = matrix->edge;
    const uint64_t step[AXES] = {1, edge, edge * edge};
    double before[AXES], after[AXES], diagonal = 0;
    for (int axis = 0; axis < AXES; axis++) {
        uint64_t at = row / step[axis] % edge;
        after[axis] = conductance(seed, row, axis);
        /* A face has the conductance of a homogeneous cell. */
        before[axis] = at > 0 ? conductance(seed, row - step[axis], axis) : 1;
        diagonal += before[axis] + after[axis];
    }
    for (int axis = AXES - 1; axis >= 0; axis--) {
        if (row / step[axis] % edge > 0) {
            put(matrix, entry, row - step[axis], -before[axis]);
        }
    }
    matrix->diagonal[row] = diagonal;
    put(matrix, entry, row, diagonal);
    for (int axis = 0; axis < AXES; axis++) {
        if (row / step[axis] % edge < edge - 1) {
            put(matrix, entry, row + step[axis], -after[axis]);
        }
    }
}

static struct matrix assemble(uint64_t edge, uint64_t seed) {
    struct matrix matrix = {.edge = edge, .rows = edge * edge * edge};
    matrix.first = sp_allocate(PROGRAM, matrix.rows + 1, sizeof *matrix.first);
    matrix.column = sp_allocate(PROGRAM, matrix.rows * ENTRIES_A_ROW, sizeof *matrix.column);
    matrix.value = sp_allocate(PROGRAM, matrix.rows * ENTRIES_A_ROW, sizeof *matrix.value);
    matrix.diagonal = sp_allocate(PROGRAM, matrix.rows, sizeof *matrix.diagonal);
    uint64_t entry = 0;
    for (uint64_t row = 0; row < matrix.rows; row++) {
        matrix.first[row] = entry;
        assemble_row(&matrix, row, &entry, seed);
    }
    matrix.first[matrix.rows] = entry;
    return matrix;
}

static void apply(const struct matrix *matrix, const double *vector, double *result) {
    for (uint64_t row = 0; row < matrix->rows; row++) {
        double sum = 0;
        for (uint64_t entry = matrix->first[row]; entry < matrix->first[row + 1]; entry++) {
            sum += matrix->value[entry] * vector[matrix->column[entry]];
        }
        result[row] = sum;
    }
}

/* Four sums in a fixed order: the processor need not wait for each addition, and the compiler
 * cannot reorder them. */
static double dot(const double *a, const double *b, uint64_t count) {
    double sums[4] = {0};
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (uint64_t lane = 0; lane < 4; lane++) {
            sums[lane] += a[i + lane] * b[i + lane];
        }
    }
    for (; i < count; i++) {
        sums[0] += a[i] * b[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952. x is
 * zero at the start. Return the number of iterations. */
static uint64_t solve(const struct matrix *matrix, const double *b, double *x) {
    const uint64_t rows = matrix->rows;
    double *residual = sp_allocate(PROGRAM, rows, sizeof *residual);
    double *scaled = sp_allocate(PROGRAM, rows, sizeof *scaled);
    double *direction = sp_allocate(PROGRAM, rows, sizeof *direction);
    double *image = sp_allocate(PROGRAM, rows, sizeof *image);
    for (uint64_t i = 0; i < rows; i++) {
        residual[i] = b[i];
        direction[i] = scaled[i] = b[i] / matrix->diagonal[i];
    }
    const double limit = TOLERANCE * TOLERANCE * dot(b, b, rows);
    const uint64_t most_iterations = 100 * matrix->edge + 1000;
    double product = dot(residual, scaled, rows);
    uint64_t iterations = 0;
    while (dot(residual, residual, rows) > limit) {
        apply(matrix, direction, image);
        double curvature = dot(direction, image, rows);
        if (!(curvature > 0) || ++iterations > most_iterations) {
            sp_fail(PROGRAM, "wrong result: no solution after %llu iterations, p.Ap = %.3g",
                    (unsigned long long)iterations, curvature);
        }
        double length = product / curvature;
        for (uint64_t i = 0; i < rows; i++) {
            x[i] += length * direction[i];
            residual[i] -= length * image[i];
            scaled[i] = residual[i] / matrix->diagonal[i];
        }
        double last = product;
        product = dot(residual, scaled, rows);
        for (uint64_t i = 0; i < rows; i++) {
            direction[i] = scaled[i] + product / last * direction[i];
        }
    }
    free(residual);
    free(scaled);
    free(direction);
    free(image);
    return iterations;
}

/* y.(A t) = t.(A y) for a random y independent of t; b is A t. Leaves y zero. */
static void check_symmetry(const struct matrix *matrix, const double *b, const double *truth,
                           struct sp_random *random, double *y, double *spare) {
    const uint64_t rows = matrix->rows;
    for (uint64_t i = 0; i < rows; i++) {
        y[i] = sp_random_between(random, -1, 1);
    }
    apply(matrix, y, spare);
    sp_check_close(PROGRAM, "y.At and t.Ay of the symmetric matrix", dot(y, b, rows),
                   dot(truth, spare, rows), 1e-12 * sqrt(dot(y, y, rows) * dot(b, b, rows)));
    for (uint64_t i = 0; i < rows; i++) {
        y[i] = 0;
    }
}

/* `truth` is the x from which b was computed; `spare` has the same size. */
static void check(const struct matrix *matrix, const double *b, const double *x,
                  const double *truth, double *spare) {
    const uint64_t rows = matrix->rows;
    apply(matrix, x, spare);
    double residual = 0, error = 0;
    for (uint64_t i = 0; i < rows; i++) {
        residual += (b[i] - spare[i]) * (b[i] - spare[i]);
        error += (x[i] - truth[i]) * (x[i] - truth[i]);
    }
    /* Rounding separates the true residual slightly from the residual of the recurrence. */
    sp_check_close(PROGRAM, "residual / b", sqrt(residual / dot(b, b, rows)), 0, 10 * TOLERANCE);
    /* The condition number grows as edge^2. */
    sp_check_close(PROGRAM, "distance from the solution / solution",
                   sqrt(error / dot(truth, truth, rows)), 0,
                   10 * TOLERANCE * (double)(matrix->edge * matrix->edge));
}

int main(int argc, char **argv) {
    uint64_t edge = 40, seed = 1;
    const struct sp_option options[] = {
        {"--edge", "cells along an edge of the cube", &edge, 2, EDGE_LIMIT},
        {"--seed", "seed of the material and the solution", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct sp_random random = {.state = seed};
    struct matrix matrix = assemble(edge, sp_random_next(&random));
    double *truth = sp_allocate(PROGRAM, matrix.rows, sizeof *truth);
    double *b = sp_allocate(PROGRAM, matrix.rows, sizeof *b);
    double *x = sp_allocate(PROGRAM, matrix.rows, sizeof *x);
    double *spare = sp_allocate(PROGRAM, matrix.rows, sizeof *spare);
    for (uint64_t i = 0; i < matrix.rows; i++) {
        truth[i] = sp_random_between(&random, -1, 1);
    }
    apply(&matrix, truth, b);
    check_symmetry(&matrix, b, truth, &random, x, spare);
    const uint64_t iterations = solve(&matrix, b, x);
    check(&matrix, b, x, truth, spare);

    struct sp_digest digest = {0};
    for (uint64_t i = 0; i < matrix.rows; i++) {
        sp_digest_add_double(&digest, x[i]);
    }
    (void)printf("cg rows %llu entries %llu seed %llu\niterations %llu digest %016llx\n",
                 (unsigned long long)matrix.rows, (unsigned long long)matrix.first[matrix.rows],
                 (unsigned long long)seed, (unsigned long long)iterations,
                 (unsigned long long)digest.state);
    free(matrix.first);
    free(matrix.column);
    free(matrix.value);
    free(matrix.diagonal);
    free(truth);
    free(b);
    free(x);
    free(spare);
    return sp_close(PROGRAM);
}
