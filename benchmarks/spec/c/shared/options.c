/* The command line: numbers only, one table per program. */
#include "sp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sp_usage_error(const char *program, const char *where, const char *expected, const char *got) {
    (void)fprintf(stderr, "%s: %s: expected %s, got %s; see %s --help\n", program, where, expected,
                  got[0] == '\0' ? "nothing" : got, program);
    exit(SP_EXIT_USAGE);
}

_Noreturn static void help(const char *program, const char *summary,
                           const struct sp_option *options, size_t option_count) {
    (void)printf("usage: %s [options]\n\n%s\n\noptions:\n", program, summary);
    for (size_t i = 0; i < option_count; i++) {
        (void)printf("  %-12s %s (%llu to %llu, default %llu)\n", options[i].name, options[i].help,
                     (unsigned long long)options[i].minimum, (unsigned long long)options[i].maximum,
                     (unsigned long long)*options[i].number);
    }
    (void)printf("  %-12s print this help and exit\n\n"
                 "exit code: 0 success, 1 result check failed, 2 usage error\n",
                 "--help");
    exit(sp_close(program));
}

static void assign(const char *program, const struct sp_option *option, const char *value) {
    char expected[100];
    /* strtoull accepts a sign and blanks, and converts -1 to a large number. */
    size_t digits = strspn(value, "0123456789");
    errno = 0;
    unsigned long long parsed = strtoull(value, NULL, 10);
    if (digits == 0 || value[digits] != '\0' || errno != 0 || parsed < option->minimum ||
        parsed > option->maximum) {
        (void)snprintf(expected, sizeof expected, "an integer from %llu to %llu",
                       (unsigned long long)option->minimum, (unsigned long long)option->maximum);
        sp_usage_error(program, option->name, expected, value);
    }
    *option->number = parsed;
}

void sp_options_parse(const char *program, const char *summary, const struct sp_option *options,
                      size_t option_count, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            help(program, summary, options, option_count);
        }
        size_t length = strcspn(argv[i], "=");
        const struct sp_option *found = NULL;
        for (size_t j = 0; j < option_count; j++) {
            if (strlen(options[j].name) == length &&
                strncmp(options[j].name, argv[i], length) == 0) {
                found = &options[j];
            }
        }
        if (found == NULL) {
            sp_usage_error(program, "command line", "an option", argv[i]);
        }
        if (argv[i][length] == '=') {
            assign(program, found, argv[i] + length + 1);
        } else if (i + 1 < argc) {
            assign(program, found, argv[++i]);
        } else {
            sp_usage_error(program, found->name, "a value", "nothing");
        }
    }
}
