/*
 * The processor's clock, from nothing but time.
 *
 * Instructions that wait for each other take a whole number of cycles each, but which number is not
 * known. So several chains are timed that take different numbers of cycles, and the cycle is the
 * greatest time of which all of them are multiples: the idea of C. Staelin and L. McVoy, "mhz:
 * anatomy of a microbenchmark", USENIX 1998. Written from the idea, not from their code.
 *
 * Disturbances can only lengthen a time, so each is the least of many short ones. Two lengths of
 * each chain are timed, and their difference counts: what starting, ending and reading the clock
 * cost is in both.
 */
#include "harness/lm.h"

#include <math.h>
#include <stdlib.h>

static const char PROGRAM[] = "mhz";
static const char SUMMARY[] =
    "Finds the frequency at which the processor runs, from chains of dependent instructions whose\n"
    "times must all be multiples of one cycle. Each repetition takes the least of many short\n"
    "timings. Metrics: frequency, in MHz, and cycle_time, in ns (for people the least).";
static const char SINGLE[] = "it measures one processor; a second process would only disturb it";

/* One element: the compiler may neither shorten the chain nor know a value in it. No immediate
 * operands, because some processors add those while renaming, in no time at all. */
#define HIDE __asm__ volatile("" : "+r"(x));
#define ADD                                                                                        \
    x += y;                                                                                        \
    HIDE
#define MUL                                                                                        \
    x *= y;                                                                                        \
    HIDE
#define TIMES_8(element) element element element element element element element element
#define TIMES_32(element) TIMES_8(element) TIMES_8(element) TIMES_8(element) TIMES_8(element)

enum { ELEMENTS_PER_TURN = 32 };

#define CHAIN(name, element)                                                                       \
    static void name(uint64_t turns) {                                                             \
        uint64_t x = turns, y = turns | 1;                                                         \
        __asm__ volatile("" : "+r"(y));                                                            \
        for (uint64_t turn = 0; turn < turns; turn++) {                                            \
            TIMES_32(element)                                                                      \
        }                                                                                          \
    }

/* With the common latencies of 1 cycle (add) and 3 (mul): 1, 2, 3, 4, 5 and 7 cycles. */
CHAIN(chain_add, ADD)
CHAIN(chain_add_add, ADD ADD)
CHAIN(chain_mul, MUL)
CHAIN(chain_mul_add, MUL ADD)
CHAIN(chain_mul_add_add, MUL ADD ADD)
CHAIN(chain_mul_mul_add, MUL MUL ADD)

static void (*const CHAINS[])(uint64_t turns) = {
    chain_add, chain_add_add, chain_mul, chain_mul_add, chain_mul_add_add, chain_mul_mul_add};
enum { CHAIN_COUNT = sizeof CHAINS / sizeof CHAINS[0] };

/* How many of each an element of each chain has. */
static const struct {
    double add, mul;
} INSTRUCTIONS[CHAIN_COUNT] = {{1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}};

/* A timing lasts some 3 to 100 us: time enough for 0.2 % by a clock of 20 ns, and short enough to
 * fall between two interrupts. */
enum { SHORT_TURNS = 400, LONG_TURNS = 3 * SHORT_TURNS, TIMINGS = 60, ATTEMPTS = 20 };

/* The most cycles that an add may take. */
enum { MOST_DIVISIONS = 2 };
/* How far from a whole number of cycles a chain may be. Guessing wrong by a factor of two leaves
 * some chain at half a cycle. */
static const double TOLERANCE_CYCLES = 0.06;

static double time_ns(void (*chain)(uint64_t), uint64_t turns) {
    uint64_t start_ns = lm_now_ns();
    chain(turns);
    return (double)(lm_now_ns() - start_ns);
}

/* The least time of an element of each chain. The chains take turns, so that a change of frequency
 * falls on all of them. */
static void time_elements(double *element_ns) {
    double least_short[CHAIN_COUNT], least_long[CHAIN_COUNT];
    for (int timing = 0; timing < TIMINGS; timing++) {
        for (int i = 0; i < CHAIN_COUNT; i++) {
            double short_ns = time_ns(CHAINS[i], SHORT_TURNS);
            double long_ns = time_ns(CHAINS[i], LONG_TURNS);
            least_short[i] = timing == 0 ? short_ns : fmin(least_short[i], short_ns);
            least_long[i] = timing == 0 ? long_ns : fmin(least_long[i], long_ns);
        }
    }
    for (int i = 0; i < CHAIN_COUNT; i++) {
        element_ns[i] = (least_long[i] - least_short[i]) /
                        ((double)(LONG_TURNS - SHORT_TURNS) * ELEMENTS_PER_TURN);
    }
}

/* The greatest time of which all are multiples, or 0: there is none. */
static double common_cycle_ns(const double *element_ns) {
    double shortest_ns = element_ns[0];
    for (int i = 1; i < CHAIN_COUNT; i++) {
        shortest_ns = fmin(shortest_ns, element_ns[i]);
    }
    for (int division = 1; division <= MOST_DIVISIONS && shortest_ns > 0; division++) {
        double guess_ns = shortest_ns / division, product = 0, square = 0, worst = 0;
        for (int i = 0; i < CHAIN_COUNT; i++) {
            /* Least squares of element_ns = cycles * cycle_ns: long chains are known best. */
            double cycles = round(element_ns[i] / guess_ns);
            product += cycles * element_ns[i];
            square += cycles * cycles;
        }
        double cycle_ns = product / square;
        for (int i = 0; i < CHAIN_COUNT; i++) {
            double cycles = element_ns[i] / cycle_ns;
            worst = fmax(worst, fabs(cycles - round(cycles)));
        }
        if (worst <= TOLERANCE_CYCLES) {
            return cycle_ns;
        }
    }
    return 0;
}

/* Whether each chain takes as many cycles as its instructions together; on an emulated machine it
 * does not. */
static bool adds_up(const double *element_ns, double cycle_ns) {
    double cycles[CHAIN_COUNT];
    for (int i = 0; i < CHAIN_COUNT; i++) {
        cycles[i] = round(element_ns[i] / cycle_ns);
    }
    for (int i = 0; i < CHAIN_COUNT; i++) {
        if (cycles[i] != INSTRUCTIONS[i].add * cycles[0] + INSTRUCTIONS[i].mul * cycles[2]) {
            return false;
        }
    }
    return true;
}

static double measure_cycle_ns(struct lm_harness *harness) {
    double element_ns[CHAIN_COUNT];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        time_elements(element_ns);
        double cycle_ns = common_cycle_ns(element_ns);
        if (cycle_ns > 0 && adds_up(element_ns, cycle_ns)) {
            return cycle_ns;
        }
    }
    char what[200];
    (void)snprintf(what, sizeof what,
                   "the chains take %.4f, %.4f, %.4f, %.4f, %.4f and %.4f ns, which are no "
                   "multiples of one cycle: the machine is emulated, or too busy",
                   element_ns[0], element_ns[1], element_ns[2], element_ns[3], element_ns[4],
                   element_ns[5]);
    lm_fail(harness, what);
}

static void report(struct lm_harness *harness, const double *cycle_ns, double *frequency_mhz) {
    uint64_t count = harness->settings.repetitions;
    for (uint64_t i = 0; i < count; i++) {
        frequency_mhz[i] = 1000 / cycle_ns[i];
    }
    const struct lm_result frequency = {
        .metric = "frequency", .unit = "MHz", .values = frequency_mhz, .count = count};
    const struct lm_result cycle = {
        .metric = "cycle_time", .unit = "ns", .values = cycle_ns, .count = count, .least = true};
    lm_report(harness, &frequency);
    lm_report(harness, &cycle);
}

int main(int argc, char **argv) {
    const struct lm_program program = {.name = PROGRAM, .summary = SUMMARY, .single = SINGLE};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    double *values = calloc((size_t)settings.repetitions, 2 * sizeof *values);
    if (values == NULL) {
        lm_fail(&harness, "no memory for the repetitions");
    }
    for (uint64_t i = 0; i < settings.repetitions; i++) {
        values[i] = measure_cycle_ns(&harness);
    }
    report(&harness, values, values + settings.repetitions);
    free(values);
    return lm_close(&harness);
}
