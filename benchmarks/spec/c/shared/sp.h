/*
 * What the SPEC-like programs share: command line, seeded random numbers, elementary functions,
 * checks and the digest of a result.
 *
 * A program does all its work in one go and is timed from outside. It checks its own result and
 * ends with SP_EXIT_FAILED when a law that must hold does not; what it prints is compared with a
 * digest that is the same on every machine. Hence no function of libm but sqrt, which IEEE 754
 * rounds correctly: the last bits of the others differ from one C library to the next.
 */
#ifndef SP_H
#define SP_H

#include <stddef.h>
#include <stdint.h>

/* Exit codes: 0 is success. */
enum { SP_EXIT_FAILED = 1, SP_EXIT_USAGE = 2 };

/* ---- command line (options.c) ---- */

struct sp_option {
    const char *name; /* with its dashes */
    const char *help;
    uint64_t *number; /* holds the default */
    uint64_t minimum, maximum;
};

/* Parses the command line: `--name value` or `--name=value`. --help ends the program with 0, a
 * mistake with SP_EXIT_USAGE and a message. */
void sp_options_parse(const char *program, const char *summary, const struct sp_option *options,
                      size_t option_count, int argc, char **argv);

/* Ends the program with SP_EXIT_USAGE. */
_Noreturn void sp_usage_error(const char *program, const char *where, const char *expected,
                              const char *got);

/* ---- results and their checks (result.c) ---- */

/* Ends the program with SP_EXIT_FAILED; `format` and what follows say what is wrong. */
_Noreturn void sp_fail(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails unless |got - expected| <= tolerance; a NaN fails. */
void sp_check_close(const char *program, const char *what, double got, double expected,
                    double tolerance);

/* Zeroed memory of count * size bytes on a cache line's boundary, for free(); fails the program
 * when there is none. */
void *sp_allocate(const char *program, uint64_t count, size_t size);

/* Digest of a sequence of numbers, by value: the same whatever the order of bytes. */
struct sp_digest {
    uint64_t state;
};

void sp_digest_add(struct sp_digest *digest, uint64_t number);
/* By its bits, so that results that differ at all differ in their digests. */
void sp_digest_add_double(struct sp_digest *digest, double number);

/* Flushes standard output; returns main()'s exit code. */
int sp_close(const char *program);

/* ---- random numbers (random.c) ---- */

struct sp_random {
    uint64_t state;
};

uint64_t sp_random_next(struct sp_random *random);
/* In [0, 1), of 53 random bits. */
double sp_random_uniform(struct sp_random *random);
/* In [low, high). */
double sp_random_between(struct sp_random *random, double low, double high);
/* An integer in [0, limit), 1 <= limit <= 2^32; its bias is at most limit / 2^32. */
uint64_t sp_random_below(struct sp_random *random, uint64_t limit);

/* ---- elementary functions (elementary.c), to a few units in the last place ---- */

/* |x| <= 700: beyond, the nearer end is taken. */
double sp_exp(double x);
/* Normal x > 0. */
double sp_log(double x);
/* Cosine and sine of numerator/denominator turns; 1 <= denominator <= 2^60. */
void sp_turn(uint64_t numerator, uint64_t denominator, double *cosine, double *sine);

#endif
