/*
 * The processor frequency, derived from times only.
 *
 * Dependent instructions take a whole number of cycles each, but this number is unknown. Therefore
 * several chains with different numbers of cycles are timed. The cycle is the greatest time of
 * which all chain times are multiples: the idea of C. Staelin and L. McVoy, "mhz: anatomy of a
 * microbenchmark", USENIX 1998. Written from the idea, not from their code.
 *
 * Disturbances can only lengthen a time, so each time is the minimum of many short ones. Each
 * chain is timed with two lengths, and the difference counts: the cost of start, end and clock
 * readings cancels.
 */
#include "harness/lm.h"

#include <math.h>
#include <stdlib.h>

static const char PROGRAM[] = "mhz";
static const char SUMMARY[] =
    "Find the frequency of the processor from chains of dependent instructions, whose times must\n"
    "all be multiples of one cycle. Each repetition uses the minimum of many short timings.\n"
    "Metrics: frequency, in MHz; cycle_time, in ns (the readable line shows the minimum).";
static const char SINGLE[] =
    "the program measures one processor; a second process would disturb it";

/* One element: the compiler can neither shorten the chain nor know a value in it. No immediate
 * operands, because some processors add those during register renaming, in zero time. */
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

/* With the usual latencies of 1 cycle (add) and 3 cycles (mul): 1, 2, 3, 4, 5 and 7 cycles. */
CHAIN(chain_add, ADD)
CHAIN(chain_add_add, ADD ADD)
CHAIN(chain_mul, MUL)
CHAIN(chain_mul_add, MUL ADD)
CHAIN(chain_mul_add_add, MUL ADD ADD)
CHAIN(chain_mul_mul_add, MUL MUL ADD)

static void (*const CHAINS[])(uint64_t turns) = {
    chain_add, chain_add_add, chain_mul, chain_mul_add, chain_mul_add_add, chain_mul_mul_add};
enum { CHAIN_COUNT = sizeof CHAINS / sizeof CHAINS[0] };

/* Number of add and mul instructions per element of each chain. */
static const struct {
    double add, mul;
} INSTRUCTIONS[CHAIN_COUNT] = {{1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}};

/* A timing lasts about 3 to 100 us: long enough for 0.2 % with a clock of 20 ns, and short enough
 * to fit between two interrupts. */
enum { SHORT_TURNS = 400, LONG_TURNS = 3 * SHORT_TURNS, TIMINGS = 60, ATTEMPTS = 20 };

/* Maximum number of cycles of an add. */
enum { MOST_DIVISIONS = 2 };
/* Maximum distance of a chain from a whole number of cycles. A guess that is wrong by a factor of
 * two puts some chain at half a cycle. */
static const double TOLERANCE_CYCLES = 0.06;

static double time_ns(void (*chain)(uint64_t), uint64_t turns) {
    uint64_t start_ns = lm_now_ns();
    chain(turns);
    return (double)(lm_now_ns() - start_ns);
}

/* Minimum time of an element of each chain. The chains alternate, so that a change of frequency
 * affects all of them. */
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

/* The greatest time of which all are multiples; 0: none. */
static double common_cycle_ns(const double *element_ns) {
    double shortest_ns = element_ns[0];
    for (int i = 1; i < CHAIN_COUNT; i++) {
        shortest_ns = fmin(shortest_ns, element_ns[i]);
    }
    for (int division = 1; division <= MOST_DIVISIONS && shortest_ns > 0; division++) {
        double guess_ns = shortest_ns / division, product = 0, square = 0, worst = 0;
        for (int i = 0; i < CHAIN_COUNT; i++) {
            /* Least squares of element_ns = cycles * cycle_ns: long chains have the most weight. */
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

/* Return whether each chain takes the total cycles of its instructions; on an emulated machine it
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
                   "the chains take %.4f, %.4f, %.4f, %.4f, %.4f and %.4f ns, which are not "
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
        lm_fail(&harness, "out of memory for the repetitions");
    }
    for (uint64_t i = 0; i < settings.repetitions; i++) {
        values[i] = measure_cycle_ns(&harness);
    }
    report(&harness, values, values + settings.repetitions);
    free(values);
    return lm_close(&harness);
}
