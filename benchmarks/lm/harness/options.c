/* The command line: `--name value` or `--name=value`, a table for each program and five options
 * for all. */
#include "lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MOST_REPETITIONS = 1000000;
static const uint64_t LONGEST_INTERVAL_US = 60000000;
static const uint64_t MOST_CHILDREN = 4096;
/* Several time slices of any scheduler: what several processes did in less says nothing. */
static const uint64_t LEAST_PARALLEL_INTERVAL_US = 100000;

void lm_usage_error(const char *program, const char *where, const char *expected, const char *got) {
    (void)fprintf(stderr, "%s: %s: expected %s, got %s; `%s --help` shows more\n", program, where,
                  expected, got, program);
    exit(LM_EXIT_USAGE);
}

bool lm_number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number) {
    /* strtoull takes a sign and blanks, and turns -1 into a large number. */
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return false;
    }
    errno = 0;
    unsigned long long parsed = strtoull(text, NULL, 10);
    if (errno != 0 || parsed < minimum || parsed > maximum) {
        return false;
    }
    *number = parsed;
    return true;
}

static void say(int status) {
    if (status < 0) {
        perror("standard output");
        exit(LM_EXIT_FAILED);
    }
}

static void help_option(const struct lm_option *option) {
    const char *separator = " (";
    say(printf("  %-14s %s", option->name, option->help));
    if (option->choices != NULL) {
        for (const char *const *choice = option->choices; *choice != NULL; choice++) {
            say(printf("%s%s", separator, *choice));
            separator = ", ";
        }
    }
    if (option->number != NULL) {
        say(printf("%sdefault %llu)", option->choices != NULL ? "; " : " (",
                   (unsigned long long)*option->number));
    } else if (*option->text != NULL) {
        say(printf("%sdefault %s)", option->choices != NULL ? "; " : " (", *option->text));
    }
    say(printf("\n"));
}

static void help(const struct lm_program *program, const struct lm_option *common,
                 size_t common_count) {
    say(printf("usage: %s [options]\n\n%s\n\noptions:\n", program->name, program->summary));
    for (size_t i = 0; i < program->option_count; i++) {
        help_option(&program->options[i]);
    }
    for (size_t i = 0; i < common_count; i++) {
        help_option(&common[i]);
    }
    say(printf("  %-14s print this text and stop\n\n", "--help"));
    if (program->single != NULL) {
        say(printf("one process only: %s\n\n", program->single));
    }
    say(printf(
        "environment:\n  REGATTA_RESULTS  file to which the measurements are appended, a JSON "
        "object a line\n  REGATTA_SEED     seed of everything random\n\n"
        "exit code: 0 success, 1 the measurement failed, 2 wrong usage\n"));
    say(fflush(stdout));
}

static const struct lm_option *find(const struct lm_option *options, size_t count,
                                    const char *argument, size_t length) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == length && strncmp(options[i].name, argument, length) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

static void assign(const char *program, const struct lm_option *option, const char *value) {
    char expected[200];
    if (option->number != NULL) {
        if (!lm_number_parse(value, option->minimum, option->maximum, option->number)) {
            (void)snprintf(expected, sizeof expected, "an integer from %llu to %llu",
                           (unsigned long long)option->minimum,
                           (unsigned long long)option->maximum);
            lm_usage_error(program, option->name, expected, value[0] == '\0' ? "nothing" : value);
        }
        return;
    }
    if (option->choices != NULL) {
        size_t used = (size_t)snprintf(expected, sizeof expected, "one of");
        for (const char *const *choice = option->choices; *choice != NULL; choice++) {
            if (strcmp(*choice, value) == 0) {
                *option->text = *choice;
                return;
            }
            if (used < sizeof expected) {
                used += (size_t)snprintf(expected + used, sizeof expected - used, " %s", *choice);
            }
        }
        lm_usage_error(program, option->name, expected, value[0] == '\0' ? "nothing" : value);
    }
    *option->text = value;
}

static void check(const struct lm_program *program, const struct lm_settings *settings) {
    char got[200];
    if (settings->parallel == 1) {
        return;
    }
    if (program->single != NULL) {
        (void)snprintf(got, sizeof got, "1 (%s)", program->single);
        lm_usage_error(program->name, "--parallel", got, "more");
    }
    if (settings->interval_us != 0 && settings->interval_us < LEAST_PARALLEL_INTERVAL_US) {
        (void)snprintf(got, sizeof got, "%llu", (unsigned long long)settings->interval_us);
        lm_usage_error(program->name, "--interval-us",
                       "0 or at least 100000 (longer than a time slice) with several processes",
                       got);
    }
}

void lm_options_parse(const struct lm_program *program, struct lm_settings *settings, int argc,
                      char **argv) {
    static const char *const placements[] = {"free", "compact", "scattered", NULL};
    const char *const *choices = program->placements != NULL ? program->placements : placements;
    *settings = (struct lm_settings){
        .repetitions = LM_DEFAULT_REPETITIONS, .parallel = 1, .placement = choices[0]};
    const struct lm_option common[] = {
        {.name = "--repetitions",
         .help = "repetitions of each series",
         .number = &settings->repetitions,
         .minimum = 1,
         .maximum = MOST_REPETITIONS},
        {.name = "--interval-us",
         .help = "minimum duration of a repetition; 0: the shortest reliable one, 1 s for several",
         .number = &settings->interval_us,
         .minimum = 0,
         .maximum = LONGEST_INTERVAL_US},
        {.name = "--parallel",
         .help = "number of concurrent processes",
         .number = &settings->parallel,
         .minimum = 1,
         .maximum = MOST_CHILDREN},
        {.name = "--warmup-us",
         .help = "warm-up of all processes before the first repetition",
         .number = &settings->warmup_us,
         .minimum = 0,
         .maximum = LONGEST_INTERVAL_US},
        {.name = "--placement",
         .help = "placement on processors",
         .text = &settings->placement,
         .choices = choices},
    };
    const size_t common_count = sizeof common / sizeof common[0];

    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t length = equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        if (strcmp(argv[i], "--help") == 0) {
            help(program, common, common_count);
            exit(0);
        }
        const struct lm_option *option =
            find(program->options, program->option_count, argv[i], length);
        if (option == NULL) {
            option = find(common, common_count, argv[i], length);
        }
        if (option == NULL) {
            lm_usage_error(program->name, "command line", "an option", argv[i]);
        }
        if (equals == NULL && i + 1 == argc) {
            lm_usage_error(program->name, option->name, "a value", "nothing");
        }
        assign(program->name, option, equals != NULL ? equals + 1 : argv[++i]);
    }
    check(program, settings);
}
