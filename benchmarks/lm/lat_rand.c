/* Latency of the C library's random number generators. */
#define _XOPEN_SOURCE 700 /* drand48() and random() */

#include "harness/lm.h"

#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "lat_rand";
static const char SUMMARY[] = "Measures the latency of drand48, lrand48, random and rand of the C "
                              "library. Each number depends on\n"
                              "the state that the one before has left.\n"
                              "Metric: latency, in ns per number.";

/* The state is the library's own, so that no call can be left out or wait for less than the one
 * before; what is returned is added up all the same. */
enum { NUMBERS_PER_TURN = 8 };
#define FOUR_OF(add) add add add add

#define DEFINE_GENERATOR(name, type)                                                               \
    static int name##_benchmark(uint64_t operations, void *cookie) {                               \
        (void)cookie;                                                                              \
        type sum = 0;                                                                              \
        for (uint64_t turn = operations / NUMBERS_PER_TURN; turn > 0; turn--) {                    \
            FOUR_OF(sum += (type)name();)                                                          \
            FOUR_OF(sum += (type)name();)                                                          \
        }                                                                                          \
        lm_keep(&sum);                                                                             \
        return 0;                                                                                  \
    }

DEFINE_GENERATOR(drand48, double)
DEFINE_GENERATOR(lrand48, uint64_t)
DEFINE_GENERATOR(random, uint64_t)
DEFINE_GENERATOR(rand, uint64_t)

static const struct {
    const char *name;
    lm_step *benchmark;
} GENERATORS[] = {
    {"drand48", drand48_benchmark},
    {"lrand48", lrand48_benchmark},
    {"random", random_benchmark},
    {"rand", rand_benchmark},
};

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "drand48", "lrand48", "random", "rand", NULL};
    const char *chosen = choices[0];
    const struct lm_option options[] = {
        {.name = "--function", .help = "function", .text = &chosen, .choices = choices}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    uint64_t seed = lm_seed(PROGRAM);
    srand48((long)seed);
    srandom((unsigned)seed);
    srand((unsigned)seed);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof GENERATORS / sizeof GENERATORS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, GENERATORS[i].name) != 0) {
            continue;
        }
        const struct lm_workload workload = {.benchmark = GENERATORS[i].benchmark,
                                             .operations_per_turn = NUMBERS_PER_TURN};
        const struct lm_parameter parameter = {.name = "function", .text = GENERATORS[i].name};
        const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
        lm_run(&harness, &workload, &series);
    }
    return lm_close(&harness);
}
