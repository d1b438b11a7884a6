/*
 * Fast Fourier transform of a power of two of complex numbers in double precision.
 *
 * Kind: spectral methods, with long strides through memory. Each round shifts a signal: it
 * transforms the signal, rotates each frequency, and transforms back. Checks: some frequencies of
 * the first spectrum against the definition, Parseval's theorem in every round, and the final
 * signal, which is the first one shifted by the sum of the shifts.
 */
#include "shared/sp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char PROGRAM[] = "fft";
static const char SUMMARY[] =
    "Shift a signal in its spectrum (transform, rotate, inverse transform). Print its energy and\n"
    "a digest of the signal.";

enum { FREQUENCIES_CHECKED = 8 };

struct complex {
    double re, im;
};

struct transform {
    uint64_t log2_points, points;
    struct complex *roots; /* exp(-2 pi i k / points) */
    struct complex *spare;
};

static struct complex add(struct complex a, struct complex b) {
    return (struct complex){a.re + b.re, a.im + b.im};
}

static struct complex subtract(struct complex a, struct complex b) {
    return (struct complex){a.re - b.re, a.im - b.im};
}

static struct complex multiply(struct complex a, struct complex b) {
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static struct complex conjugate(struct complex a) {
    return (struct complex){a.re, -a.im};
}

/* One radix-4 pass over `stride` interleaved transforms of `length` points. */
static void pass_of_four(const struct transform *transform, uint64_t length, uint64_t stride,
                         const struct complex *restrict from, struct complex *restrict to) {
    const uint64_t quarter = length / 4;
    for (uint64_t p = 0; p < quarter; p++) {
        const struct complex once = transform->roots[p * stride];
        const struct complex twice = transform->roots[2 * p * stride];
        const struct complex thrice = transform->roots[3 * p * stride];
        const struct complex *in = from + stride * p;
        struct complex *out = to + stride * 4 * p;
        for (uint64_t q = 0; q < stride; q++) {
            const struct complex a = in[q], b = in[q + stride * quarter];
            const struct complex c = in[q + stride * quarter * 2];
            const struct complex d = in[q + stride * quarter * 3];
            const struct complex even = add(a, c), odd = add(b, d);
            const struct complex difference = subtract(a, c), other = subtract(b, d);
            const struct complex turned = {-other.im, other.re}; /* i (b - d) */
            out[q] = add(even, odd);
            out[q + stride] = multiply(once, subtract(difference, turned));
            out[q + stride * 2] = multiply(twice, subtract(even, odd));
            out[q + stride * 3] = multiply(thrice, add(difference, turned));
        }
    }
}

/* Stockham's order: alternating between two arrays, without bit reversal (Van Loan, "Computational
 * frameworks for the fast Fourier transform", 1992). The result is in *signal. */
static void forward(struct transform *transform, struct complex **signal) {
    uint64_t length = transform->points, stride = 1;
    while (length > 1) {
        const struct complex *from = *signal;
        struct complex *to = transform->spare;
        if (length == 2) {
            for (uint64_t q = 0; q < stride; q++) {
                to[q] = add(from[q], from[q + stride]);
                to[q + stride] = subtract(from[q], from[q + stride]);
            }
            length = 1;
        } else {
            pass_of_four(transform, length, stride, from, to);
            length /= 4;
            stride *= 4;
        }
        transform->spare = *signal;
        *signal = to;
    }
}

static double energy(const struct complex *signal, uint64_t points) {
    double sum = 0;
    for (uint64_t i = 0; i < points; i++) {
        sum += signal[i].re * signal[i].re + signal[i].im * signal[i].im;
    }
    return sum;
}

/* Shift the signal by `shift` points. The inverse is the conjugate of the transform of the
 * conjugate, divided by the number of points. */
static void move(struct transform *transform, struct complex **signal, uint64_t shift) {
    const uint64_t points = transform->points;
    const double before = energy(*signal, points);
    forward(transform, signal);
    sp_check_close(PROGRAM, "energy of the spectrum / points (Parseval)",
                   energy(*signal, points) / (double)points, before, 1e-11 * before);
    for (uint64_t k = 0; k < points; k++) {
        const struct complex root = transform->roots[k * shift & (points - 1)];
        (*signal)[k] = conjugate(multiply((*signal)[k], root));
    }
    forward(transform, signal);
    for (uint64_t i = 0; i < points; i++) {
        (*signal)[i].re *= 1.0 / (double)points;
        (*signal)[i].im *= -1.0 / (double)points;
    }
}

/* Compare some frequencies with their defining sum. */
static void check_spectrum(struct transform *transform, const struct complex *signal,
                           struct sp_random *random) {
    const uint64_t points = transform->points;
    /* Entries are about one, so a frequency is about sqrt(points). */
    const double tolerance = 1e-9 * sqrt((double)points);
    struct complex *spectrum = sp_allocate(PROGRAM, points, sizeof *spectrum);
    for (uint64_t i = 0; i < points; i++) {
        spectrum[i] = signal[i];
    }
    forward(transform, &spectrum);
    for (int turn = 0; turn < FREQUENCIES_CHECKED; turn++) {
        uint64_t k = sp_random_below(random, points);
        struct complex sum = {0, 0};
        for (uint64_t i = 0; i < points; i++) {
            sum = add(sum, multiply(signal[i], transform->roots[i * k & (points - 1)]));
        }
        sp_check_close(PROGRAM, "real part of a frequency", spectrum[k].re, sum.re, tolerance);
        sp_check_close(PROGRAM, "imaginary part of a frequency", spectrum[k].im, sum.im, tolerance);
    }
    free(spectrum);
}

/* Fail unless point i equals the initial entry (i - shift). */
static void check_moved(const struct complex *signal, uint64_t points, uint64_t seed,
                        uint64_t shift) {
    struct sp_random random = {.state = seed};
    for (uint64_t i = 0; i < points; i++) {
        const struct complex found = signal[(i + shift) & (points - 1)];
        sp_check_close(PROGRAM, "real part of the shifted signal", found.re,
                       sp_random_between(&random, -1, 1), 1e-10);
        sp_check_close(PROGRAM, "imaginary part of the shifted signal", found.im,
                       sp_random_between(&random, -1, 1), 1e-10);
    }
}

int main(int argc, char **argv) {
    struct transform transform = {.log2_points = 16};
    uint64_t rounds = 100, seed = 1;
    const struct sp_option options[] = {{"--log2-points",
                                         "binary logarithm of the number of points",
                                         &transform.log2_points, 1, 28},
                                        {"--rounds", "number of shifts", &rounds, 1, 100000},
                                        {"--seed", "seed of the signal", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    const uint64_t points = transform.points = UINT64_C(1) << transform.log2_points;
    transform.roots = sp_allocate(PROGRAM, points, sizeof *transform.roots);
    transform.spare = sp_allocate(PROGRAM, points, sizeof *transform.spare);
    struct complex *signal = sp_allocate(PROGRAM, points, sizeof *signal);
    struct sp_random random = {.state = seed};
    for (uint64_t i = 0; i < points; i++) {
        sp_turn(points - i, points, &transform.roots[i].re, &transform.roots[i].im);
        signal[i].re = sp_random_between(&random, -1, 1);
        signal[i].im = sp_random_between(&random, -1, 1);
    }
    check_spectrum(&transform, signal, &random);
    uint64_t shifted = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t shift = sp_random_below(&random, points);
        move(&transform, &signal, shift);
        shifted += shift;
    }
    check_moved(signal, points, seed, shifted);

    struct sp_digest digest = {0};
    for (uint64_t i = 0; i < points; i++) {
        sp_digest_add_double(&digest, signal[i].re);
        sp_digest_add_double(&digest, signal[i].im);
    }
    (void)printf("fft points %llu rounds %llu seed %llu\nenergy %.9e moved %llu digest %016llx\n",
                 (unsigned long long)points, (unsigned long long)rounds, (unsigned long long)seed,
                 energy(signal, points), (unsigned long long)(shifted & (points - 1)),
                 (unsigned long long)digest.state);
    free(transform.roots);
    free(transform.spare);
    free(signal);
    return sp_close(PROGRAM);
}
