/*
 * Common part of the SPEC-like programs: command line, seeded random numbers, elementary
 * functions, checks and the digest of a result.
 *
 * A program does all its work in one run, and the caller times it. It checks its own result and
 * exits with SP_EXIT_FAILED if a required law is violated. Its output is compared with a digest
 * that is identical on all machines. Therefore sqrt is the only function of libm in use, because
 * IEEE 754 rounds it correctly. The last bits of the others differ between C libraries.
 */
#ifndef SP_H
#define SP_H

#include <stddef.h>
#include <stdint.h>

/* Exit codes: 0 is success. */
enum { SP_EXIT_FAILED = 1, SP_EXIT_USAGE = 2 };

/* ---- command line (options.c) ---- */

struct sp_option {
    const char *name; /* including the dashes */
    const char *help;
    uint64_t *number; /* holds the default */
    uint64_t minimum, maximum;
};

/* Parse the command line: `--name value` or `--name=value`. --help ends the program with 0; an
 * error ends it with SP_EXIT_USAGE and a message. */
void sp_options_parse(const char *program, const char *summary, const struct sp_option *options,
                      size_t option_count, int argc, char **argv);

/* End the program with SP_EXIT_USAGE. */
_Noreturn void sp_usage_error(const char *program, const char *where, const char *expected,
                              const char *got);

/* ---- results and their checks (result.c) ---- */

/* End the program with SP_EXIT_FAILED; `format` and its arguments describe the error. */
_Noreturn void sp_fail(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fail unless |got - expected| <= tolerance; a NaN fails. */
void sp_check_close(const char *program, const char *what, double got, double expected,
                    double tolerance);

/* Allocate zeroed memory of count * size bytes, aligned to a cache line, for free(); end the
 * program if out of memory. */
void *sp_allocate(const char *program, uint64_t count, size_t size);

/* Digest of a sequence of numbers, by value: independent of the byte order. */
struct sp_digest {
    uint64_t state;
};

void sp_digest_add(struct sp_digest *digest, uint64_t number);
/* By its bits, so that any difference of results changes the digest. */
void sp_digest_add_double(struct sp_digest *digest, double number);

/* Flush standard output; return the exit code of main(). */
int sp_close(const char *program);

/* ---- random numbers (random.c) ---- */

struct sp_random {
    uint64_t state;
};

uint64_t sp_random_next(struct sp_random *random);
/* In [0, 1), with 53 random bits. */
double sp_random_uniform(struct sp_random *random);
/* In [low, high). */
double sp_random_between(struct sp_random *random, double low, double high);
/* An integer in [0, limit), 1 <= limit <= 2^32, with a bias of at most limit / 2^32. */
uint64_t sp_random_below(struct sp_random *random, uint64_t limit);

/* ---- elementary functions (elementary.c), accurate to a few units in the last place ---- */

/* |x| <= 700: larger values are clamped. */
double sp_exp(double x);
/* Normal x > 0. */
double sp_log(double x);
/* Cosine and sine of numerator/denominator turns; 1 <= denominator <= 2^60. */
void sp_turn(uint64_t numerator, uint64_t denominator, double *cosine, double *sine);

#endif
