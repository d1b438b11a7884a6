/* Measure a web server under load: the main sequence. */
#define _POSIX_C_SOURCE 200809L

#include "driver/origin.h"
#include "driver/regatta_counters.h"

#include <errno.h>
#include <time.h>

/* Random streams of one seed: warm-up and measurement use different ones. */
enum { STREAM_WINDOW = 0, STREAM_WARMUP = 1 };
/* Of the processor of a saturated server: the rest is an error of its throughput. */
static const double LEAST_SHARE = 0.95;

static uint64_t own_cpu_ns(void) {
    struct timespec spent;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0) {
        return 0;
    }
    return (uint64_t)spent.tv_sec * UINT64_C(1000000000) + (uint64_t)spent.tv_nsec;
}

static int load_with(const struct web_load *load, uint64_t stream, uint64_t requests,
                     uint64_t window_ms, struct web_totals *totals) {
    struct web_sequence sequence;
    int status = web_sequence_open(&sequence, load->options, stream);
    if (status == 0) {
        status = web_load_run(load, &sequence, requests, window_ms, totals);
    }
    web_sequence_close(&sequence);
    return status;
}

static int warm_up(const struct web_load *load) {
    struct web_totals totals = {0};
    int status = web_load_prime(load);
    if (status == 0 && load->options->warmup_ms > 0) {
        status = load_with(load, STREAM_WARMUP, 0, load->options->warmup_ms, &totals);
    }
    web_times_free(&totals.latency);
    return status;
}

/* A window, whose server is on this or another host. */
struct window {
    const struct web_server *server;
    struct web_outcome *outcome;
    uint64_t own_before;
};

static struct window window_of(const struct web_server *server, pid_t tracer,
                               struct web_outcome *outcome) {
    if (server->control < 0) {
        web_accounting_open(&outcome->usage.accounting, server->keeper, tracer);
    }
    return (struct window){.server = server, .outcome = outcome};
}

static int window_begins(void *argument) {
    struct window *window = argument;
    window->own_before = own_cpu_ns();
    return window->server->control >= 0 ? web_control_begin(window->server)
                                        : web_usage_begin(&window->outcome->usage);
}

static int window_ends(void *argument) {
    const struct window *window = argument;
    if ((window->server->control >= 0 ? web_control_end(window->server)
                                      : web_usage_end(&window->outcome->usage)) != 0) {
        return -1;
    }
    window->outcome->driver_ns = own_cpu_ns() - window->own_before;
    return 0;
}

static int conclude(const struct web_server *server, struct web_usage *usage) {
    return server->control >= 0 ? web_control_conclude(server, usage)
                                : web_usage_conclude(usage, server);
}

/* Refuse the throughput of a server that was not busy. */
static int check_saturated(const struct web_options *options, const struct web_outcome *outcome) {
    double share = (double)outcome->usage.cpu.total_ns / (double)outcome->totals.elapsed_ns;
    return web_is(options->loop, "saturate") && share < LEAST_SHARE
               ? web_fail("saturation: expected a server that is busy for at least %.0f %% of the "
                          "window, got %.1f %%: the driver or another process was the limit; "
                          "choose more --users, or stop other processes",
                          100 * LEAST_SHARE, 100 * share)
               : 0;
}

/* Let the runner count what the server's host does in the window. On one host, it would count the
 * driver, too. */
static int mark(const struct web_server *server, const char *border) {
    return server->control >= 0 && regatta_border(border, 0) != 0
               ? web_fail("REGATTA_COUNTERS: the runner does not answer: %s", strerror(errno))
               : 0;
}

static int measure(const struct web_load *load, pid_t tracer, struct web_outcome *outcome) {
    const struct web_options *options = load->options;
    struct window window = window_of(load->server, tracer, outcome);
    return window_begins(&window) != 0 || mark(load->server, "begin") != 0 ||
                   load_with(load, STREAM_WINDOW, options->requests, options->window_ms,
                             &outcome->totals) != 0 ||
                   mark(load->server, "end") != 0 || window_ends(&window) != 0
               ? -1
               : conclude(load->server, &outcome->usage);
}

static int watched(const struct web_load *load, struct web_outcome *outcome) {
    if (load->options->trace_command == NULL) {
        return measure(load, 0, outcome);
    }
    struct web_tracer tracer = {0};
    int status = web_tracer_start(&tracer, load->server);
    if (status == 0) {
        status = measure(load, tracer.pid, outcome);
    }
    (void)web_tracer_stop(&tracer);
    outcome->tracer_exit_code = tracer.exit_code;
    return status;
}

static int measure_sessions(const struct web_site *site, const struct web_server *server,
                            struct web_outcome *outcome) {
    struct window window = window_of(server, 0, outcome);
    const struct web_timed_load load = {.server = server,
                                        .sessions = &site->sessions,
                                        .objects = &site->objects,
                                        .plan = &site->plan,
                                        .begins = window_begins,
                                        .ends = window_ends,
                                        .argument = &window};
    return web_timed_load_run(&load, &outcome->totals) != 0 ? -1
                                                            : conclude(server, &outcome->usage);
}

/* A firewall (Netfilter) that tracks connections remembers closed ones for two minutes. It drops
 * packets when its table is full: some connections then take seconds, which is not the server's. */
static void note_tracking(struct web_totals *totals) {
    static const char directory[] = "/proc/sys/net/netfilter";
    if (!web_group_number(directory, "nf_conntrack_count", "", &totals->tracked) ||
        !web_group_number(directory, "nf_conntrack_max", "", &totals->tracked_most)) {
        totals->tracked_most = 0;
    } else if (totals->tracked >= totals->tracked_most - totals->tracked_most / 50) {
        (void)fprintf(
            stderr,
            "web: warning: the firewall tracks %llu of at most %llu connections and drops "
            "packets: raise net.netfilter.nf_conntrack_max, or wait two minutes\n",
            (unsigned long long)totals->tracked, (unsigned long long)totals->tracked_most);
    }
}

static int load_and_measure(const struct web_site *site, const struct web_server *server,
                            struct web_outcome *outcome) {
    const struct web_load load = {
        .options = server->options, .server = server, .files = &site->files};
    int status = 0;
    if (server->options->sessions != NULL) {
        status = measure_sessions(site, server, outcome);
    } else {
        status = warm_up(&load) != 0 ? -1 : watched(&load, outcome);
    }
    note_tracking(&outcome->totals);
    return status;
}

/* Start the server, and load it or let another host do so. */
static int run_server(struct web_server *server, struct web_folder *folder,
                      const struct web_site *site, struct web_outcome *outcome) {
    if (web_folder_make(folder, server->options, &server->identity) != 0) {
        return -1;
    }
    if (web_site_write(site, server->options, folder) != 0 ||
        (server->origin != NULL && web_origin_open(server->origin, site, server) != 0) ||
        web_server_configure(server) != 0 || web_server_start(server) != 0 ||
        web_place_driver(server->placement) != 0 ||
        (server->options->serve != NULL ? web_control_serve(server)
                                        : load_and_measure(site, server, outcome)) != 0) {
        char words[900];
        /* The reason of a failure is often in the server's log, not in its response. */
        web_folder_last_lines(folder, "logs/error.log", words, sizeof words);
        if (words[0] != '\0') {
            (void)fprintf(stderr, "web: the server's log ends: %s\n", words);
        }
        return -1;
    }
    return 0;
}

static int run(struct web_server *server, struct web_options *options, struct web_folder *folder,
               struct web_site *site, struct web_outcome *outcome) {
    if (web_placement_find(server->placement, options) != 0 ||
        (options->load != NULL && web_control_connect(server, options) != 0) ||
        web_site_make(site, options) != 0) {
        return -1;
    }
    return options->load != NULL ? load_and_measure(site, server, outcome)
                                 : run_server(server, folder, site, outcome);
}

int main(int argc, char **argv) {
    struct web_options options = web_options_parse(argc, argv);
    struct web_placement placement;
    struct web_folder folder = {.path = ""};
    struct web_site site = {0};
    struct web_outcome outcome = {0};
    struct web_server server = {.options = &options,
                                .folder = &folder,
                                .identity = web_identity_find(),
                                .placement = &placement,
                                .control = -1};
    struct web_origin origin = {.listener = -1, .epoll = -1, .alarm = -1, .stop = -1};
    if (web_proxied(&options)) {
        server.origin = &origin;
    }
    FILE *results = web_results_open();
    struct web_log_copy copy = {.descriptor = -1, .log = -1};
    int status = web_signals_settle() != 0 || web_log_copy_open(&copy, &options) != 0
                     ? -1
                     : run(&server, &options, &folder, &site, &outcome);
    if (status == 0) {
        status = web_log_copy_hold(&copy, &folder);
    }
    if (status == 0 && options.serve == NULL) {
        status = check_saturated(&options, &outcome);
    }
    if (web_keeper_stop(&server) != 0) {
        status = -1;
    }
    if (web_origin_close(&origin, &outcome.fetches) != 0) {
        status = -1;
    }
    if (web_log_copy_write(&copy) != 0) {
        status = -1;
    }
    if (status == 0 && options.serve == NULL) {
        status = web_report(results, &server, &outcome);
    }
    if (status != 0) {
        web_report_failure(results);
    }
    if (results != NULL && fclose(results) != 0) {
        perror("web: REGATTA_RESULTS");
        status = -1;
    }
    web_times_free(&outcome.totals.latency);
    web_times_free(&outcome.totals.send_delay);
    web_times_free(&outcome.fetches.latency);
    web_times_free(&outcome.fetches.delay);
    web_site_free(&site);
    if (web_stop_signal != 0) {
        (void)signal(web_stop_signal, SIG_DFL);
        (void)raise(web_stop_signal);
    }
    return status == 0 ? 0 : WEB_EXIT_FAILED;
}
