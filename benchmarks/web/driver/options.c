/* The command line: `--name value` or `--name=value`, and after `--` a command. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char HELP_HEAD[] =
    "usage: web [options] [-- COMMAND [ARGUMENT ...]]\n\n"
    "Start a dedicated web server on 127.0.0.1 with the file classes of SPECweb99, load it with\n"
    "GET requests, verify every response, and stop the server. By default, the server runs on\n"
    "the last of the allowed CPUs, this program on the others. As root, start the server without\n"
    "rights.\n"
    "COMMAND observes the server during --requests; {pid}, {pids}, {requests} and {ready} in its\n"
    "arguments are replaced (see README.md).\n"
    "With --sessions, the files and requests are those of a file of sessions instead.\n"
    "With --serve, only start the server; with --load, load and measure that server from another\n"
    "host. Each takes the options of its part.\n\n"
    "options:\n";

static const char HELP_TAIL[] =
    "  --json                     print the results as a JSON object\n"
    "  --help                     print this help and exit\n\n"
    "Metrics (one iteration): elapsed_per_request (wall time of the window / requests), cpu_time,\n"
    "kernel_time, user_time (server processes, ns per request), throughput, latency,\n"
    "bytes_per_request, received_per_request, connections_per_request, resident_kib, "
    "server_share;\n"
    "with --sessions also planned_rate, send_delay, unanswered, connection_errors,\n"
    "open_connections; with --cache-bytes also hit_ratio, origin_bytes_per_request,\n"
    "origin_latency, origin_delay; of nginx also cached_bytes.\n"
    "\nenvironment:\n"
    "  REGATTA_RESULTS  append measurements to this file, one JSON object per line\n"
    "  REGATTA_SEED     seed of the request sequence (default 1)\n\n"
    "exit code: 0 success, 1 measurement failed, 2 usage error\n";

/* The parts that have an option, if they are on two hosts. */
enum { OF_SERVE = 1, OF_LOAD = 2 };

struct option {
    const char *name, *help;
    uint64_t *number, minimum, maximum;
    const char **text;
    const char *const *choices;
    unsigned parts;
    bool given;
};

enum { OPTIONS = 32 };

bool web_is(const char *word, const char *other) {
    return strcmp(word, other) == 0;
}

bool web_has_users(const struct web_options *options) {
    return web_is(options->loop, "closed") || web_is(options->loop, "saturate");
}

static _Noreturn void usage_error(const char *where, const char *expected, const char *got) {
    (void)fprintf(stderr, "web: %s: expected %s, got %s; see `web --help`\n", where, expected,
                  *got == '\0' ? "nothing" : got);
    exit(WEB_EXIT_USAGE);
}

static void describe(struct option table[static OPTIONS], struct web_options *options) {
    static const char *const servers[] = {"apache", "nginx", "varnish", NULL};
    static const char *const kinds[] = {"none", "cgi", "fastcgi", NULL};
    static const char *const acceptances[] = {"parallel",  "flock",   "fcntl",   "sysvsem",
                                              "posixsem",  "pthread", "buckets", "accept_mutex",
                                              "reuseport", NULL};
    static const char *const cpus[] = {"last", "all", NULL};
    static const char *const loops[] = {"open", "closed", "saturate", "replay", NULL};
    const struct option all[OPTIONS] = {
        {.name = "--server",
         .help = "server program; varnish is a proxy only",
         .text = &options->server,
         .choices = servers,
         .parts = OF_SERVE},
        {.name = "--dynamic",
         .help = "interface for dynamic pages",
         .text = &options->dynamic,
         .choices = kinds,
         .parts = OF_SERVE},
        {"--servers", "number of server processes; 0: connections + 4 of Apache, 1 of nginx",
         &options->servers, 0, WEB_MOST_SERVERS, NULL, NULL, OF_SERVE, false},
        {.name = "--acceptance",
         .help = "how server processes accept connections (the last two: nginx)",
         .text = &options->acceptance,
         .choices = acceptances,
         .parts = OF_SERVE},
        {.name = "--server-cpus",
         .help = "allowed CPUs that the server may use; all: it shares them with the driver",
         .text = &options->server_cpus,
         .choices = cpus,
         .parts = OF_SERVE},
        {"--dynamic-percent", "share of dynamic requests, %", &options->dynamic_percent, 0, 100,
         NULL, NULL, OF_LOAD, false},
        {"--connections", "simultaneous connections, one outstanding request on each",
         &options->connections, 1, WEB_MOST_CONNECTIONS, NULL, NULL, OF_SERVE | OF_LOAD, false},
        {"--persistent-percent", "share of requests on persistent (HTTP/1.1) connections, %",
         &options->persistent_percent, 0, 100, NULL, NULL, OF_LOAD, false},
        {"--requests-per-connection", "requests per persistent connection",
         &options->requests_per_connection, 1, WEB_MOST_PER_CONNECTION, NULL, NULL, OF_LOAD, false},
        {"--requests", "number of measured requests; 0: use --window-ms", &options->requests, 0,
         100000000, NULL, NULL, OF_LOAD, false},
        {"--window-ms", "length of the measured window if --requests is 0, ms", &options->window_ms,
         1, 3600000, NULL, NULL, OF_LOAD, false},
        {"--warmup-ms", "length of the warm-up before it, ms", &options->warmup_ms, 0, 3600000,
         NULL, NULL, OF_LOAD, false},
        {.name = "--sessions",
         .help = "file of sessions that are the load (see README.md); excludes dynamic pages, "
                 "--requests and COMMAND",
         .text = &options->sessions,
         .parts = OF_SERVE | OF_LOAD},
        {.name = "--loop",
         .help =
             "start of sessions: as a Poisson process, by a fixed number of users, by users who "
             "never pause, or as in the file",
         .text = &options->loop,
         .choices = loops,
         .parts = OF_LOAD},
        {"--rate", "requests per second planned in the open loop", &options->rate, 0, 10000000,
         NULL, NULL, OF_LOAD, false},
        {"--users", "users of the loops closed and saturate", &options->users, 0, WEB_MOST_USERS,
         NULL, NULL, OF_LOAD, false},
        {"--client-kbit",
         "limit of what each connection of a session receives, kbit/s; 0: no limit",
         &options->client_kbit, 0, 10000000, NULL, NULL, OF_LOAD, false},
        {"--cache-bytes",
         "limit of the cache in bytes: the server is a caching proxy in front of an origin with "
         "the latencies of the file; 0: no proxy",
         &options->cache_bytes, 0, INT64_MAX, NULL, NULL, 0, false},
        {.name = "--log-copy",
         .help = "write a copy of the server's access log to this file",
         .text = &options->log_copy,
         .parts = OF_SERVE},
        {"--spin-us",
         "time that the driver polls for responses before it sleeps, us; 0 if it shares the "
         "server's CPU or has a quota",
         &options->spin_us, 0, 1000000, NULL, NULL, 0, false},
        {"--port", "port on 127.0.0.1; 0: choose a free one", &options->port, 0, 65535, NULL, NULL,
         OF_SERVE, false},
        {"--trace-wait-ms", "time limit for COMMAND to create {ready}, ms", &options->trace_wait_ms,
         1, 3600000, NULL, NULL, 0, false},
        {.name = "--apache",
         .help = "path of the apache2 program",
         .text = &options->apache,
         .parts = OF_SERVE},
        {.name = "--apache-modules",
         .help = "folder of the Apache modules",
         .text = &options->apache_modules,
         .parts = OF_SERVE},
        {.name = "--nginx",
         .help = "path of the nginx program",
         .text = &options->nginx,
         .parts = OF_SERVE},
        {.name = "--varnish",
         .help = "path of the varnishd program",
         .text = &options->varnish,
         .parts = OF_SERVE},
        {.name = "--cgi-program",
         .help = "page.cgi, next to this program",
         .text = &options->cgi_program,
         .parts = OF_SERVE},
        {.name = "--fastcgi-program",
         .help = "page.fcgi, next to this program",
         .text = &options->fastcgi_program,
         .parts = OF_SERVE},
        {.name = "--folder",
         .help = "parent of the temporary folder (default: the working directory, or /tmp if the "
                 "server cannot access it)",
         .text = &options->folder,
         .parts = OF_SERVE},
        {.name = "--serve",
         .help = "only start the server at this address of this host, for --load on another host",
         .text = &options->serve,
         .parts = OF_SERVE},
        {.name = "--load",
         .help = "load the server of --serve at this ADDRESS:PORT, the port in its output",
         .text = &options->load,
         .parts = OF_LOAD},
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
    /* strtoull accepts a sign and blanks, and converts -1 to a large number. */
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
        usage_error(option->name, option->choices != NULL ? "one of those in --help" : "a value",
                    value);
    }
    *option->text = value;
}

/* Return the path of a program in the same folder as this one, stored in `path`. */
static const char *beside(char path[static WEB_PATH_BYTES], const char *name) {
    ssize_t length = readlink("/proc/self/exe", path, WEB_PATH_BYTES - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    (void)snprintf(path + folder, WEB_PATH_BYTES - folder, "%s", name);
    return path;
}

static void check_acceptance(const struct web_options *options) {
    char expected[160], got[24];
    if (!web_acceptance_known(options, expected, sizeof expected)) {
        usage_error("--acceptance", expected, options->acceptance);
    }
    uint64_t least = web_acceptance_least_servers(options);
    unsigned processes = web_server_processes(options);
    if (web_is(options->acceptance, "buckets") && least < 2) {
        usage_error("--acceptance", "2 or more online CPUs for buckets (one bucket per CPU)", "1");
    }
    if (processes < least) {
        (void)snprintf(expected, sizeof expected, "%llu or more with --acceptance %s",
                       (unsigned long long)least, options->acceptance);
        (void)snprintf(got, sizeof got, "%u", processes);
        usage_error("--servers", expected, got);
    }
}

static void check_static(const struct web_options *options) {
    if (options->sessions != NULL && !web_is(options->dynamic, "none")) {
        usage_error("--dynamic", "none with --sessions, which has static files only",
                    options->dynamic);
    }
}

/* Refuse options of one load with the other. */
static void check_sessions(const struct web_options *options) {
    const struct {
        const char *name;
        bool used;
        uint64_t value;
    } numbers[] = {{"--rate", web_is(options->loop, "open"), options->rate},
                   {"--users", web_has_users(options), options->users}};
    char text[24], expected[80];
    if (options->serve != NULL) {
        check_static(options);
        return; /* the load is that of another host */
    }
    if (options->sessions == NULL) {
        if (!web_is(options->loop, "open") || options->rate + options->users > 0 ||
            options->client_kbit > 0) {
            usage_error("command line", "--sessions with --loop, --rate, --users and --client-kbit",
                        "");
        }
        return;
    }
    check_static(options);
    if (options->trace_command != NULL) {
        usage_error("--sessions", "no tracing command, which observes --requests",
                    options->trace_command[0]);
    }
    if (options->requests != 0) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)options->requests);
        usage_error("--requests", "0 with --sessions, which has a window", text);
    }
    if (web_is(options->loop, "saturate") && !web_is(options->server_cpus, "last")) {
        usage_error("--server-cpus", "last with --loop saturate: a processor for the server alone",
                    options->server_cpus);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        bool used = numbers[i].used;
        if (used != (numbers[i].value > 0)) {
            (void)snprintf(text, sizeof text, "%llu", (unsigned long long)numbers[i].value);
            (void)snprintf(expected, sizeof expected, "%s with --sessions and --loop %s",
                           used ? "a number above 0" : "0", options->loop);
            usage_error(numbers[i].name, expected, text);
        }
    }
}

/* Smaller caches than this are refused by Varnish. */
static const uint64_t LEAST_CACHE = 1024 * 1024;

static void check_proxy(const struct web_options *options) {
    char text[24];
    bool varnish = web_is(options->server, "varnish");
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)options->cache_bytes);
    if (web_proxied(options) ? options->cache_bytes < LEAST_CACHE : varnish) {
        usage_error("--cache-bytes",
                    varnish ? "1048576 or more with --server varnish" : "0, or 1048576 or more",
                    text);
    }
    if (web_proxied(options) && options->sessions == NULL) {
        usage_error("--cache-bytes", "0 without --sessions, whose objects the origin has", text);
    }
    if (web_proxied(options) && web_is(options->server, "apache")) {
        usage_error("--cache-bytes", "0 with --server apache", text);
    }
    if (varnish && options->servers > 1) {
        usage_error("--servers", "0 or 1 with --server varnish, which has one process", "more");
    }
    if (varnish && options->log_copy != NULL) {
        usage_error("--log-copy", "no file with --server varnish, which writes no log",
                    options->log_copy);
    }
}

/* Refuse an option that the part on this host would ignore. */
static void check_parts(const struct option table[static OPTIONS],
                        const struct web_options *options) {
    if (options->serve == NULL && options->load == NULL) {
        return;
    }
    if (options->serve != NULL && options->load != NULL) {
        usage_error("command line", "--serve or --load", "both");
    }
    unsigned part = options->serve != NULL ? OF_SERVE : OF_LOAD;
    for (const struct option *option = table; option->name != NULL; option++) {
        if (option->given && (option->parts & part) == 0) {
            usage_error(option->name, part == OF_SERVE ? "none with --serve" : "none with --load",
                        "one");
        }
    }
    if (options->trace_command != NULL) {
        usage_error("command line", "no tracing command with --serve or --load",
                    options->trace_command[0]);
    }
    if (options->serve != NULL && web_is(options->server, "varnish")) {
        usage_error("--server", "apache or nginx with --serve", options->server);
    }
}

static void check(const struct web_options *options) {
    if (!web_is(options->server, "apache") && !web_is(options->dynamic, "none")) {
        usage_error("--dynamic", "none with --server nginx or varnish, which run no CGI programs",
                    options->dynamic);
    }
    check_acceptance(options);
    check_sessions(options);
    check_proxy(options);
    const char *program = web_server_program(options);
    if (program[0] != '/') {
        char name[16];
        (void)snprintf(name, sizeof name, "--%s", options->server);
        usage_error(name, "an absolute path", program);
    }
    if (options->trace_command != NULL && options->requests == 0) {
        usage_error("--requests", "a number above 0 with a tracing command", "0");
    }
}

struct web_options web_options_parse(int argc, char **argv) {
    struct web_options options = {
        .server = "apache",
        .dynamic = "none",
        .acceptance = "parallel",
        .server_cpus = "last",
        .loop = "open",
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
        .varnish = "/usr/sbin/varnishd",
    };
    struct option table[OPTIONS];
    describe(table, &options);
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        struct option *option = table;
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
        option->given = true;
    }
    check_parts(table, &options);
    if (!web_control_resolve(&options)) {
        usage_error(options.serve != NULL ? "--serve" : "--load",
                    options.serve != NULL
                        ? "an IPv4 address, or the name of a host with one"
                        : "an IPv4 address, or the name of a host with one, and a port, such as "
                          "10.0.0.1:5000",
                    options.serve != NULL ? options.serve : options.load);
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
