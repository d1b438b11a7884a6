/* The command line, and the order of things. */
#define _POSIX_C_SOURCE 200809L

#include "copies.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char HELP[] =
    "usage: copies [options] -- COMMAND [ARGUMENT ...]\n\n"
    "Runs copies of a command at once, each in a separate directory (copy-1, copy-2, ...) with "
    "a\n"
    "copy of the files that lie here, and measures from their common start to the end of the "
    "last.\n"
    "All copies must end with exit code 0 and print the same; that is printed once.\n\n"
    "options:\n"
    "  --copies N          number of concurrent copies (default 1)\n"
    "  --passes N          runs of the command by each copy, one after the other (default 1)\n"
    "  --placement WHERE   free: the system decides (default); compact: each on one CPU, those of\n"
    "                      a core first\n"
    "  --check             in the directories of an earlier run: all as above, but nothing is "
    "made\n"
    "                      and no time is reported\n"
    "  --help              print this text and stop\n\n"
    "environment:\n"
    "  REGATTA_RESULTS     file to which the measurements are appended, one JSON object per "
    "line\n\n"
    "exit code: 0 success, 1 a copy failed or two differ, 2 wrong usage\n";

static _Noreturn void usage_error(const char *where, const char *expected, const char *got) {
    (void)fprintf(stderr, "copies: %s: expected %s, got %s; `copies --help` shows more\n", where,
                  expected, got);
    exit(COPIES_EXIT_USAGE);
}

static uint64_t number(const char *where, const char *text, uint64_t most) {
    /* strtoull takes a sign and blanks, and turns -1 into a large number. */
    bool digits = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    errno = 0;
    unsigned long long value = digits ? strtoull(text, NULL, 10) : 0;
    if (!digits || errno != 0 || value < 1 || value > most) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "an integer from 1 to %llu",
                       (unsigned long long)most);
        usage_error(where, expected, *text == '\0' ? "nothing" : text);
    }
    return value;
}

static void assign(struct copies_options *options, const char *name, const char *value) {
    if (strcmp(name, "--copies") == 0) {
        options->copies = number(name, value, COPIES_MOST);
    } else if (strcmp(name, "--passes") == 0) {
        options->passes = number(name, value, COPIES_MOST_PASSES);
    } else if (strcmp(value, "free") == 0 || strcmp(value, "compact") == 0) {
        options->placement = value;
    } else {
        usage_error(name, "free or compact", *value == '\0' ? "nothing" : value);
    }
}

static struct copies_options parse(char **argv) {
    struct copies_options options = {.copies = 1, .passes = 1, .placement = "free"};
    char **argument = argv + 1;
    for (; *argument != NULL && strcmp(*argument, "--") != 0; argument++) {
        if (strcmp(*argument, "--help") == 0) {
            exit(fputs(HELP, stdout) == EOF || fflush(stdout) == EOF ? COPIES_EXIT_FAILED : 0);
        }
        if (strcmp(*argument, "--check") == 0) {
            options.check = true;
            continue;
        }
        if (strcmp(*argument, "--copies") != 0 && strcmp(*argument, "--passes") != 0 &&
            strcmp(*argument, "--placement") != 0) {
            usage_error("command line", "an option, or -- and a command", *argument);
        }
        if (argument[1] == NULL) {
            usage_error(*argument, "a value", "nothing");
        }
        assign(&options, argument[0], argument[1]);
        argument++;
    }
    if (*argument == NULL || argument[1] == NULL || *argument[1] == '\0') {
        usage_error("command line", "-- and a command", "none");
    }
    options.command = argument + 1;
    return options;
}

uint64_t copies_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        perror("copies: CLOCK_MONOTONIC");
        abort();
    }
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Whoever started this may have had signals blocked, or its children thrown away. */
static void settle_signals(void) {
    sigset_t none;
    if (sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ||
        signal(SIGCHLD, SIG_DFL) == SIG_ERR || signal(SIGTERM, SIG_DFL) == SIG_ERR) {
        perror("copies: signals");
        exit(COPIES_EXIT_FAILED);
    }
}

static int run_all(struct copies_run *run) {
    if (copies_place(run) != 0 || (!run->options->check && copies_make_directories(run) != 0)) {
        return -1;
    }
    return copies_execute(run) != 0 ? -1 : copies_print_output(run);
}

int main(int argc, char **argv) {
    (void)argc;
    struct copies_options options = parse(argv);
    settle_signals();
    FILE *results = copies_open_results();
    struct copies_run run = {.options = &options};
    run.copy = calloc((size_t)options.copies, sizeof *run.copy);
    if (run.copy == NULL) {
        perror("copies");
        return COPIES_EXIT_FAILED;
    }
    bool failed = run_all(&run) != 0;
    if (options.check) {
        /* The time of a check is no measurement. */
        failed = failed && (copies_report_failure(&run, NULL), true);
    } else {
        int told = failed ? copies_report_failure(&run, results) : copies_report(&run, results);
        failed = failed || told != 0;
    }
    if (results != NULL && fclose(results) != 0) {
        perror("copies: REGATTA_RESULTS");
        failed = true;
    }
    free(run.copy);
    return failed ? COPIES_EXIT_FAILED : 0;
}
