/* The command line: `--name value` or `--name=value`, and after `--` a command. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char HELP_HEAD[] =
    "usage: web [options] [-- COMMAND [ARGUMENT ...]]\n\n"
    "Starts a separate web server on 127.0.0.1, with SPECweb99's classes of files, loads it "
    "with\n"
    "GET requests, compares every answer with what it must be, and stops the server. The server\n"
    "has the last of the allowed CPUs, this program the others. As root, the server runs\n"
    "with the user name `nobody`. COMMAND watches the server while --requests are served; {pid}, "
    "{pids}, {requests} and\n"
    "{ready} in its arguments are replaced (README.md).\n\noptions:\n";

static const char HELP_TAIL[] =
    "  --json                     print the numbers as a JSON object\n"
    "  --help                     print this text and stop\n\n"
    "Metrics, one iteration: elapsed_per_request (wall time of the window / requests), cpu_time,\n"
    "kernel_time, user_time (the server's processes, ns a request), throughput, latency,\n"
    "bytes_per_request, received_per_request, connections_per_request, resident_kib, "
    "server_share.\n"
    "\nenvironment:\n"
    "  REGATTA_RESULTS  file to which the measurements are appended, one JSON object per line\n"
    "  REGATTA_SEED     seed of the requests (default 1)\n\n"
    "exit code: 0 success, 1 the measurement failed, 2 wrong usage\n";

struct option {
    const char *name, *help;
    uint64_t *number, minimum, maximum;
    const char **text;
    const char *const *choices;
};

enum { OPTIONS = 19 };

bool web_is(const char *word, const char *other) {
    return strcmp(word, other) == 0;
}

static _Noreturn void usage_error(const char *where, const char *expected, const char *got) {
    (void)fprintf(stderr, "web: %s: expected %s, got %s; `web --help` shows more\n", where,
                  expected, *got == '\0' ? "nothing" : got);
    exit(WEB_EXIT_USAGE);
}

static void describe(struct option table[static OPTIONS], struct web_options *options) {
    static const char *const servers[] = {"apache", "nginx", NULL};
    static const char *const kinds[] = {"none", "cgi", "fastcgi", NULL};
    const struct option all[OPTIONS] = {
        {.name = "--server", .help = "server", .text = &options->server, .choices = servers},
        {.name = "--dynamic",
         .help = "interface for dynamic answers",
         .text = &options->dynamic,
         .choices = kinds},
        {"--dynamic-percent", "share of dynamic requests", &options->dynamic_percent, 0, 100, NULL,
         NULL},
        {"--connections", "number of concurrent connections, with one request each",
         &options->connections, 1, WEB_MOST_CONNECTIONS, NULL, NULL},
        {"--persistent-percent", "share of requests on persistent connections (HTTP/1.1)",
         &options->persistent_percent, 0, 100, NULL, NULL},
        {"--requests-per-connection", "requests per persistent connection",
         &options->requests_per_connection, 1, WEB_MOST_PER_CONNECTION, NULL, NULL},
        {"--requests", "number of measured requests; 0: all requests of the window",
         &options->requests, 0, 100000000, NULL, NULL},
        {"--window-ms", "duration of the measured window", &options->window_ms, 1, 3600000, NULL,
         NULL},
        {"--warmup-ms", "duration of the warm-up before the window", &options->warmup_ms, 0,
         3600000, NULL, NULL},
        {"--spin-us",
         "time to poll for answers before the driver sleeps, on a dedicated CPU without a quota",
         &options->spin_us, 0, 1000000, NULL, NULL},
        {"--port", "port of 127.0.0.1; 0: a free port", &options->port, 0, 65535, NULL, NULL},
        {"--trace-wait-ms",
         "maximum time for COMMAND to make {ready}, for example to compile its program first",
         &options->trace_wait_ms, 1, 3600000, NULL, NULL},
        {.name = "--apache", .help = "program of Apache", .text = &options->apache},
        {.name = "--apache-modules",
         .help = "folder of the modules of Apache",
         .text = &options->apache_modules},
        {.name = "--nginx", .help = "program of nginx", .text = &options->nginx},
        {.name = "--cgi-program",
         .help = "page.cgi next to this program",
         .text = &options->cgi_program},
        {.name = "--fastcgi-program",
         .help = "page.fcgi next to this program",
         .text = &options->fastcgi_program},
        {.name = "--folder",
         .help = "parent of the new folder: the working directory, or /tmp if the server cannot "
                 "reach that",
         .text = &options->folder},
    };
    (void)memcpy(table, all, sizeof all);
}

static void help(const struct option table[static OPTIONS]) {
    int status = printf("%s", HELP_HEAD);
    for (const struct option *option = table; option->name != NULL && status >= 0; option++) {
        status = printf("  %-26s %s", option->name, option->help);
        for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++) {
            status = printf("%s%s", i == 0 ? ": " : ", ", option->choices[i]);
        }
        if (option->number != NULL) {
            status = printf(" (default %llu)", (unsigned long long)*option->number);
        } else if (*option->text != NULL) {
            status = printf(" (default %s)", *option->text);
        }
        status = status < 0 ? status : printf("\n");
    }
    if (status < 0 || printf("%s", HELP_TAIL) < 0 || fflush(stdout) != 0) {
        perror("web: standard output");
        exit(WEB_EXIT_FAILED);
    }
    exit(0);
}

static uint64_t number(const char *where, const char *text, uint64_t least, uint64_t most) {
    /* strtoull takes a sign and blanks, and turns -1 into a large number. */
    bool digits = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    errno = 0;
    unsigned long long value = digits ? strtoull(text, NULL, 10) : 0;
    if (!digits || errno != 0 || value < least || value > most) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "an integer from %llu to %llu",
                       (unsigned long long)least, (unsigned long long)most);
        usage_error(where, expected, text);
    }
    return value;
}

static void assign(const struct option *option, const char *value) {
    if (option->number != NULL) {
        *option->number = number(option->name, value, option->minimum, option->maximum);
        return;
    }
    bool known = option->choices == NULL && *value != '\0';
    for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++) {
        known = known || web_is(option->choices[i], value);
    }
    if (!known) {
        usage_error(option->name, option->choices != NULL ? "one of those in --help" : "a path",
                    value);
    }
    *option->text = value;
}

/* The path of a program that lies beside this one, kept in `path`. */
static const char *beside(char path[static WEB_PATH_BYTES], const char *name) {
    ssize_t length = readlink("/proc/self/exe", path, WEB_PATH_BYTES - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    (void)snprintf(path + folder, WEB_PATH_BYTES - folder, "%s", name);
    return path;
}

static void check(const struct web_options *options) {
    bool nginx = web_is(options->server, "nginx");
    if (nginx && !web_is(options->dynamic, "none")) {
        usage_error("--dynamic", "none with --server nginx, which starts no programs",
                    options->dynamic);
    }
    const char *program = nginx ? options->nginx : options->apache;
    if (program[0] != '/') {
        usage_error(nginx ? "--nginx" : "--apache", "an absolute path", program);
    }
    if (options->trace_command != NULL && options->requests == 0) {
        usage_error("--requests", "a number above 0 with a command that watches", "0");
    }
}

struct web_options web_options_parse(int argc, char **argv) {
    struct web_options options = {
        .server = "apache",
        .dynamic = "none",
        .dynamic_percent = 100,
        .persistent_percent = 70,
        .requests_per_connection = 10,
        .connections = 4,
        .window_ms = 3000,
        .warmup_ms = 300,
        .spin_us = 200,
        .trace_wait_ms = 120000,
        .apache = "/usr/sbin/apache2",
        .apache_modules = "/usr/lib/apache2/modules",
        .nginx = "/usr/sbin/nginx",
    };
    struct option table[OPTIONS];
    describe(table, &options);
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        const struct option *option = table;
        if (web_is(argv[i], "--help")) {
            help(table);
        }
        if (web_is(argv[i], "--json")) {
            options.json = true;
            continue;
        }
        if (web_is(argv[i], "--")) {
            if (i + 1 == argc) {
                usage_error("command line", "a command after --", "");
            }
            options.trace_command = &argv[i + 1];
            options.json = true;
            break;
        }
        while (option->name != NULL &&
               (strlen(option->name) != length || strncmp(option->name, argv[i], length) != 0)) {
            option++;
        }
        if (option->name == NULL) {
            usage_error("command line", "an option", argv[i]);
        }
        if (argv[i][length] != '=' && i + 1 == argc) {
            usage_error(option->name, "a value", "");
        }
        assign(option, argv[i][length] == '=' ? argv[i] + length + 1 : argv[++i]);
    }
    check(&options);
    const char *seed = getenv("REGATTA_SEED");
    options.seed = seed != NULL ? number("REGATTA_SEED", seed, 0, UINT64_MAX) : 1;
    static char cgi[WEB_PATH_BYTES], fastcgi[WEB_PATH_BYTES];
    if (options.cgi_program == NULL) {
        options.cgi_program = beside(cgi, "page.cgi");
    }
    if (options.fastcgi_program == NULL) {
        options.fastcgi_program = beside(fastcgi, "page.fcgi");
    }
    return options;
}
