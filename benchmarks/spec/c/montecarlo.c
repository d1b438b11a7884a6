/*
 * Option prices from random paths of a stock.
 *
 * Kind: Monte Carlo codes: exponentials, logarithms and random numbers, little memory. Checks:
 * three prices with a closed form lie within six standard errors of it, put and call satisfy
 * parity, and no path has an arithmetic mean below its geometric mean.
 */
#include "shared/sp.h"

#include <math.h>
#include <stdio.h>

static const char PROGRAM[] = "montecarlo";
static const char SUMMARY[] =
    "Price calls on a stock (European, and Asian on the geometric and the arithmetic mean) from\n"
    "random paths. Print the prices with their standard errors.";

/* A deviation above six standard errors has a probability of 2e-9. */
static const double STANDARD_ERRORS = 6;
static const double SPOT = 100, RATE = 0.05, VOLATILITY = 0.25, YEARS = 1;

struct moments {
    double sum, squares;
};

struct prices {
    uint64_t paths;
    struct moments share, european, put, geometric, arithmetic;
    double product; /* of arithmetic and geometric price, for their covariance */
};

struct normals {
    struct sp_random random;
    double spare;
    int has_spare;
};

/* Marsaglia and Bray, "A convenient method for generating normal variables", 1964. */
static double normal(struct normals *normals) {
    if (normals->has_spare) {
        normals->has_spare = 0;
        return normals->spare;
    }
    double x = 0, y = 0, square = 0;
    do {
        x = sp_random_between(&normals->random, -1, 1);
        y = sp_random_between(&normals->random, -1, 1);
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double factor = sqrt(-2 * sp_log(square) / square);
    normals->spare = y * factor;
    normals->has_spare = 1;
    return x * factor;
}

/* Normal distribution function; |x| <= 7. Marsaglia, "Evaluating the normal distribution", 2004. */
static double normal_share_below(double x) {
    const double root_two_pi = 0x1.40d931ff62706p+1;
    double sum = x, last = 0, term = x;
    for (int odd = 3; sum != last; odd += 2) {
        last = sum;
        term *= x * x / odd;
        sum += term;
    }
    return 0.5 + sum * sp_exp(-0.5 * x * x) / root_two_pi;
}

static void add(struct moments *moments, double value) {
    moments->sum += value;
    moments->squares += value * value;
}

static double mean(const struct moments *moments, uint64_t paths) {
    return moments->sum / (double)paths;
}

static double standard_error(const struct moments *moments, uint64_t paths) {
    double centre = mean(moments, paths);
    return sqrt((moments->squares / (double)paths - centre * centre) / (double)(paths - 1));
}

static double above(double value) {
    return value > 0 ? value : 0;
}

static void follow_path(struct prices *prices, uint64_t dates, double strike,
                        struct normals *normals) {
    const double interval = YEARS / (double)dates;
    const double drift = (RATE - 0.5 * VOLATILITY * VOLATILITY) * interval;
    const double spread = VOLATILITY * sqrt(interval);
    const double discount = sp_exp(-RATE * YEARS);
    double logarithm = 0, logarithms = 0, sum = 0, price = SPOT;
    for (uint64_t date = 0; date < dates; date++) {
        logarithm += drift + spread * normal(normals);
        price = SPOT * sp_exp(logarithm);
        sum += price;
        logarithms += logarithm;
    }
    const double arithmetic = sum / (double)dates;
    const double geometric = SPOT * sp_exp(logarithms / (double)dates);
    if (!(arithmetic >= geometric * (1 - 1e-12))) {
        sp_fail(PROGRAM, "wrong result: arithmetic mean %.17g is below geometric %.17g", arithmetic,
                geometric);
    }
    const double geometric_pays = discount * above(geometric - strike);
    const double arithmetic_pays = discount * above(arithmetic - strike);
    prices->paths++;
    add(&prices->share, discount * price);
    add(&prices->european, discount * above(price - strike));
    add(&prices->put, discount * above(strike - price));
    add(&prices->geometric, geometric_pays);
    add(&prices->arithmetic, arithmetic_pays);
    prices->product += geometric_pays * arithmetic_pays;
}

/* A call on exp of a normal variable with the given mean and variance. Source: Black and Scholes,
 * "The pricing of options and corporate liabilities", 1973. */
static double lognormal_call(double centre, double variance, double strike) {
    const double deviation = sqrt(variance);
    const double d = (centre - sp_log(strike) + variance) / deviation;
    return sp_exp(-RATE * YEARS) * (sp_exp(centre + variance / 2) * normal_share_below(d) -
                                    strike * normal_share_below(d - deviation));
}

/* Source: Kemna and Vorst, "A pricing method for options based on average asset values", 1990, for
 * a mean over `dates` equal intervals; one date is the European call. */
static double geometric_call(uint64_t dates, double strike) {
    const double m = (double)dates;
    const double growth = (RATE - 0.5 * VOLATILITY * VOLATILITY) * YEARS;
    return lognormal_call(sp_log(SPOT) + growth * (m + 1) / (2 * m),
                          VOLATILITY * VOLATILITY * YEARS * (m + 1) * (2 * m + 1) / (6 * m * m),
                          strike);
}

static void check_price(const char *what, const struct moments *found, uint64_t paths,
                        double expected) {
    sp_check_close(PROGRAM, what, mean(found, paths), expected,
                   STANDARD_ERRORS * standard_error(found, paths));
}

static void check(const struct prices *prices, uint64_t dates, double strike) {
    const uint64_t paths = prices->paths;
    check_price("discounted stock", &prices->share, paths, SPOT);
    check_price("European call", &prices->european, paths, geometric_call(1, strike));
    check_price("geometric Asian call", &prices->geometric, paths, geometric_call(dates, strike));
    sp_check_close(PROGRAM, "call - put, and stock - strike",
                   mean(&prices->european, paths) - mean(&prices->put, paths),
                   mean(&prices->share, paths) - strike * sp_exp(-RATE * YEARS), 1e-8);
}

static void print(const char *what, double price, double error) {
    (void)printf("%-32s %.9f +- %.9f\n", what, price, error);
}

int main(int argc, char **argv) {
    uint64_t paths = 500000, dates = 64, strike = 100, seed = 1;
    const struct sp_option options[] = {
        {"--paths", "number of paths", &paths, 10000, UINT64_C(1) << 40},
        {"--dates", "number of averaging dates per path", &dates, 1, 10000},
        {"--strike", "strike price; the stock price is 100", &strike, 70, 130},
        {"--seed", "seed of the paths", &seed, 0, UINT64_MAX}};
    sp_options_parse(PROGRAM, SUMMARY, options, sizeof options / sizeof options[0], argc, argv);

    struct prices prices = {.paths = 0};
    struct normals normals = {.random = {.state = seed}};
    for (uint64_t path = 0; path < paths; path++) {
        follow_path(&prices, dates, (double)strike, &normals);
    }
    check(&prices, dates, (double)strike);

    (void)printf("montecarlo paths %llu dates %llu strike %llu seed %llu\n",
                 (unsigned long long)paths, (unsigned long long)dates, (unsigned long long)strike,
                 (unsigned long long)seed);
    const double arithmetic = mean(&prices.arithmetic, paths);
    const double geometric = mean(&prices.geometric, paths);
    print("European call", mean(&prices.european, paths), standard_error(&prices.european, paths));
    print("geometric Asian call", geometric, standard_error(&prices.geometric, paths));
    print("arithmetic Asian call", arithmetic, standard_error(&prices.arithmetic, paths));
    /* The geometric price is known and shares most of the error of the arithmetic price. */
    const double error_a = standard_error(&prices.arithmetic, paths);
    const double error_g = standard_error(&prices.geometric, paths);
    const double covariance =
        (prices.product / (double)paths - arithmetic * geometric) / (double)(paths - 1);
    const double slope = covariance / (error_g * error_g);
    const double variance_left = error_a * error_a - slope * covariance;
    print("arithmetic, geometric as control",
          arithmetic - slope * (geometric - geometric_call(dates, (double)strike)),
          sqrt(above(variance_left)));
    return sp_close(PROGRAM);
}
