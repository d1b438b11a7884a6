/*
 * Dense matrix multiplication, blocked for the caches and packed for the registers.
 *
 * Kind: dense linear algebra, as in the inner loops of quantum chemistry. Entries are small
 * integers, so every sum is exact and the product is independent of the summation order. Check:
 * Freivalds' test, A (B x) = C x for random x, which is also exact.
 */
#include "shared/sp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "matmul";
static const char SUMMARY[] =
    "Multiply two square matrices of double precision. Print the trace and digest of the product.";

/* A tile of ROWS x COLUMNS sums stays in registers, PANEL x COLUMNS of B in the first-level cache,
 * STRIPE x PANEL of A in the second-level cache (Goto and van de Geijn, "Anatomy of
 * high-performance matrix multiplication", 2008). */
enum { ROWS = 4, COLUMNS = 4, PANEL = 256, STRIPE = 128 };
/* |entry| <= 512 and order <= 2^15: sums of the product are below 2^33, those of the check below
 * 2^48. All are exact in the 53 bits of a double. */
enum { LARGEST_ENTRY = 512, LARGEST_ORDER = 32768 };
/* A wrong product passes a round with probability at most 1/2 (Freivalds 1977). */
enum { CHECKS = 30 };

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Copy rows x depth of A, starting at entry `from`, in the access order of a tile. Missing entries
 * of the last tile are zero. */
static void pack_rows(const double *from, uint64_t order, uint64_t rows, uint64_t depth,
                      double *packed) {
    for (uint64_t first = 0; first < rows; first += ROWS) {
        for (uint64_t k = 0; k < depth; k++) {
            for (uint64_t i = first; i < first + ROWS; i++) {
                *packed++ = i < rows ? from[i * order + k] : 0;
            }
        }
    }
}

static void pack_columns(const double *from, uint64_t order, uint64_t columns, uint64_t depth,
                         double *packed) {
    for (uint64_t first = 0; first < columns; first += COLUMNS) {
        for (uint64_t k = 0; k < depth; k++) {
            for (uint64_t j = first; j < first + COLUMNS; j++) {
                *packed++ = j < columns ? from[k * order + j] : 0;
            }
        }
    }
}

static void multiply_tile(const double *restrict a, const double *restrict b, uint64_t depth,
                          double sums[ROWS][COLUMNS]) {
    double tile[ROWS][COLUMNS] = {{0}};
    for (uint64_t k = 0; k < depth; k++) {
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLUMNS; j++) {
                tile[i][j] += a[i] * b[j];
            }
        }
        a += ROWS;
        b += COLUMNS;
    }
    memcpy(sums, tile, sizeof tile);
}

/* Add the product of packed rows of A and packed columns of B to a block of C. */
static void multiply_block(const double *a, const double *b, uint64_t rows, uint64_t columns,
                           uint64_t depth, double *c, uint64_t order) {
    double sums[ROWS][COLUMNS];
    for (uint64_t column = 0; column < columns; column += COLUMNS) {
        for (uint64_t row = 0; row < rows; row += ROWS) {
            multiply_tile(a + row * depth, b + column * depth, depth, sums);
            for (uint64_t i = 0; i < least(ROWS, rows - row); i++) {
                for (uint64_t j = 0; j < least(COLUMNS, columns - column); j++) {
                    c[(row + i) * order + column + j] += sums[i][j];
                }
            }
        }
    }
}

static void multiply(const double *a, const double *b, double *c, uint64_t order) {
    const uint64_t width = (order + COLUMNS - 1) / COLUMNS * COLUMNS;
    double *packed_a = sp_allocate(PROGRAM, STRIPE * PANEL, sizeof *packed_a);
    double *packed_b = sp_allocate(PROGRAM, width * PANEL, sizeof *packed_b);
    for (uint64_t k = 0; k < order; k += PANEL) {
        uint64_t depth = least(PANEL, order - k);
        pack_columns(b + k * order, order, order, depth, packed_b);
        for (uint64_t i = 0; i < order; i += STRIPE) {
            uint64_t rows = least(STRIPE, order - i);
            pack_rows(a + i * order + k, order, rows, depth, packed_a);
            multiply_block(packed_a, packed_b, rows, order, depth, c + i * order, order);
        }
    }
    free(packed_a);
    free(packed_b);
}

static void apply(const double *matrix, const double *vector, double *result, uint64_t order) {
    for (uint64_t i = 0; i < order; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < order; j++) {
            sum += matrix[i * order + j] * vector[j];
        }
        result[i] = sum;
    }
}

static void check(const double *a, const double *b, const double *c, uint64_t order,
                  struct sp_random *random) {
    double *x = sp_allocate(PROGRAM, order, sizeof *x),
           *bx = sp_allocate(PROGRAM, order, sizeof *x);
    double *abx = sp_allocate(PROGRAM, order, sizeof *x),
           *cx = sp_allocate(PROGRAM, order, sizeof *x);
    for (int turn = 0; turn < CHECKS; turn++) {
        for (uint64_t i = 0; i < order; i++) {
            x[i] = sp_random_next(random) >> 63 != 0 ? 1 : -1;
        }
        apply(b, x, bx, order);
        apply(a, bx, abx, order);
        apply(c, x, cx, order);
        for (uint64_t i = 0; i < order; i++) {
            if (cx[i] != abx[i]) {
                sp_fail(PROGRAM,
                        "wrong result: Freivalds' test: row %llu of C x is %.17g, of A (B "
                        "x) %.17g",
                        (unsigned long long)i, cx[i], abx[i]);
            }
        }
    }
    free(x);
    free(bx);
    free(abx);
    free(cx);
}

int main(int argc, char **argv) {
    uint64_t order = 1024, seed = 1;
    const struct sp_option options[] = {
        {"--order", "rows and columns of a matrix", &order, 1, LARGEST_ORDER},
        {"--seed", "seed of the matrices", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct sp_random random = {.state = seed};
    double *a = sp_allocate(PROGRAM, order * order, sizeof *a);
    double *b = sp_allocate(PROGRAM, order * order, sizeof *b);
    double *c = sp_allocate(PROGRAM, order * order, sizeof *c);
    for (uint64_t i = 0; i < order * order; i++) {
        a[i] = (double)sp_random_below(&random, 2 * LARGEST_ENTRY + 1) - LARGEST_ENTRY;
        b[i] = (double)sp_random_below(&random, 2 * LARGEST_ENTRY + 1) - LARGEST_ENTRY;
    }
    multiply(a, b, c, order);
    check(a, b, c, order, &random);

    struct sp_digest digest = {0};
    double trace = 0;
    for (uint64_t i = 0; i < order * order; i++) {
        sp_digest_add(&digest, (uint64_t)(int64_t)c[i]);
        trace += i % (order + 1) == 0 ? c[i] : 0;
    }
    (void)printf("matmul order %llu seed %llu\ntrace %.0f digest %016llx\n",
                 (unsigned long long)order, (unsigned long long)seed, trace,
                 (unsigned long long)digest.state);
    free(a);
    free(b);
    free(c);
    return sp_close(PROGRAM);
}
