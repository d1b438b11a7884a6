/* Checks, digests and the end of a program. */
#include "sp.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sp_fail(const char *program, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s: ", program);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    exit(SP_EXIT_FAILED);
}

void sp_check_close(const char *program, const char *what, double got, double expected,
                    double tolerance) {
    /* Negated, so that a NaN fails. */
    if (!(fabs(got - expected) <= tolerance)) {
        sp_fail(program, "wrong result: %s: expected %.12g within %.3g, got %.12g", what, expected,
                tolerance, got);
    }
}

void *sp_allocate(const char *program, uint64_t count, size_t size) {
    const size_t line_bytes = 64;
    void *area = NULL;
    if (count <= (SIZE_MAX - line_bytes) / size) {
        size_t bytes = ((size_t)count * size + line_bytes - 1) / line_bytes * line_bytes;
        area = aligned_alloc(line_bytes, bytes > 0 ? bytes : line_bytes);
        if (area != NULL) {
            memset(area, 0, bytes);
        }
    }
    if (area == NULL) {
        sp_fail(program, "out of memory for %llu objects of %zu bytes: use a smaller size",
                (unsigned long long)count, size);
    }
    return area;
}

void sp_digest_add(struct sp_digest *digest, uint64_t number) {
    /* A step of splitmix64 (see random.c) mixes; including the previous state makes the order
     * significant. */
    struct sp_random mixer = {.state = digest->state ^ number};
    digest->state = sp_random_next(&mixer);
}

void sp_digest_add_double(struct sp_digest *digest, double number) {
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    sp_digest_add(digest, bits);
}

int sp_close(const char *program) {
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        perror(program);
        return SP_EXIT_FAILED;
    }
    return 0;
}
