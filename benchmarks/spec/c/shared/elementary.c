/* exp, log, sine and cosine with only +, -, * and /, so that every machine computes the same bits.
 */
#include "sp.h"

#include <math.h>
#include <string.h>

static const double LOG2_E = 0x1.71547652b82fep+0;
/* ln 2 in two parts; the product of a small integer and the first part is exact (Cody and Waite
 * 1980). */
static const double LN2_HIGH = 0x1.62e42feep-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;
static const double QUARTER_PI = 0x1.921fb54442d18p-1;

static double scale_by_power_of_two(double x, int64_t exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power = 0;
    memcpy(&power, &bits, sizeof power);
    return x * power;
}

double sp_exp(double x) {
    const double limit = 700;
    x = x < -limit ? -limit : x > limit ? limit : x;
    int64_t exponent = (int64_t)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
    double r = (x - (double)exponent * LN2_HIGH) - (double)exponent * LN2_LOW;
    /* Taylor: |r| <= 0.35, so the first omitted term is below 1e-17. */
    static const double coefficients[] = {1.0 / 6227020800,
                                          1.0 / 479001600,
                                          1.0 / 39916800,
                                          1.0 / 3628800,
                                          1.0 / 362880,
                                          1.0 / 40320,
                                          1.0 / 5040,
                                          1.0 / 720,
                                          1.0 / 120,
                                          1.0 / 24,
                                          1.0 / 6,
                                          1.0 / 2,
                                          1.0,
                                          1.0};
    double sum = 0;
    for (size_t i = 0; i < sizeof coefficients / sizeof coefficients[0]; i++) {
        sum = sum * r + coefficients[i];
    }
    return scale_by_power_of_two(sum, exponent);
}

double sp_log(double x) {
    const double root_half = 0x1.6a09e667f3bcdp-1;
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1022;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000);
    double m = 0; /* in [1/2, 1), then in [root_half, 2 root_half) */
    memcpy(&m, &bits, sizeof m);
    if (m < root_half) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 artanh f; |f| <= 0.172, so the first omitted term is below 1e-19. */
    static const double coefficients[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17,
                                          1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,
                                          1.0 / 7,  1.0 / 5,  1.0 / 3};
    double f = (m - 1) / (m + 1), f2 = f * f, sum = 0;
    for (size_t i = 0; i < sizeof coefficients / sizeof coefficients[0]; i++) {
        sum = (sum + coefficients[i]) * f2;
    }
    double k = (double)exponent;
    return k * LN2_HIGH + (k * LN2_LOW + 2 * f * sum + 2 * f);
}

/* Cosine and sine of an angle in [0, pi/4] by Taylor series. */
static void first_octant(double angle, double *cosine, double *sine) {
    double square = angle * angle, c = 1, s = 1;
    for (int n = 16; n >= 2; n -= 2) {
        c = 1 - c * square / ((n - 1) * n);
        s = 1 - s * square / (n * (n + 1));
    }
    *cosine = c;
    *sine = s * angle;
}

void sp_turn(uint64_t numerator, uint64_t denominator, double *cosine, double *sine) {
    uint64_t eighths = numerator % denominator * 8;
    uint64_t octant = eighths / denominator, rest = eighths % denominator;
    double c = 0, s = 0;
    if (octant % 2 == 0) {
        first_octant(QUARTER_PI * ((double)rest / (double)denominator), &c, &s);
    } else { /* mirrored at the diagonal of the quadrant */
        first_octant(QUARTER_PI * ((double)(denominator - rest) / (double)denominator), &s, &c);
    }
    const double cosines[4] = {c, -s, -c, s}, sines[4] = {s, c, -s, -c};
    *cosine = cosines[octant / 2];
    *sine = sines[octant / 2];
}
