/* Measure a web server under load: the main sequence. */
#define _POSIX_C_SOURCE 200809L

#include "driver/web.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Random streams of one seed: warm-up and measurement use different ones. */
enum { STREAM_WINDOW = 0, STREAM_WARMUP = 1 };

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

/* The exact total, split in the reported proportion of user to system time. */
static struct web_cpu spent_between(const struct web_cpu *before, const struct web_cpu *after) {
    /* The subtrahend is read slightly later than the minuend. */
    int64_t user = (int64_t)(after->user_ns - before->user_ns);
    int64_t system = (int64_t)(after->system_ns - before->system_ns);
    double share = user <= 0 ? 0 : system <= 0 ? 1 : (double)user / (double)(user + system);
    struct web_cpu spent = {.total_ns = after->total_ns - before->total_ns};
    spent.user_ns = (uint64_t)((double)spent.total_ns * share);
    spent.system_ns = spent.total_ns - spent.user_ns;
    return spent;
}

/* Anonymous memory of the largest direct child of the main process: the children serve requests and
 * start CGI programs. */
static uint64_t resident_kib(pid_t main_process) {
    struct web_process *list = NULL;
    ssize_t count = web_descendants(main_process, false, &list);
    uint64_t largest = 0;
    for (ssize_t i = 0; i < count; i++) {
        uint64_t kib = list[i].parent == main_process ? web_resident_kib(list[i].pid) : 0;
        largest = kib > largest ? kib : largest;
    }
    free(list);
    return largest;
}

static int measure(const struct web_load *load, pid_t tracer, struct web_accounting *accounting,
                   struct web_outcome *outcome) {
    const struct web_options *options = load->options;
    struct web_cpu before, after;
    web_accounting_open(accounting, load->server->keeper, tracer);
    uint64_t own_before = own_cpu_ns();
    if (web_accounting_read(accounting, &before) != 0) {
        return web_fail("the server reported no processor time");
    }
    if (load_with(load, STREAM_WINDOW, options->requests, options->window_ms, &outcome->totals) !=
        0) {
        return -1;
    }
    if (web_accounting_read(accounting, &after) != 0) {
        return web_fail("the server reported no processor time");
    }
    outcome->driver_ns = own_cpu_ns() - own_before;
    if (accounting->version != 0 && !web_accounting_own(accounting)) {
        return web_fail("control group: another process joined during the run");
    }
    outcome->server = spent_between(&before, &after);
    outcome->resident_kib = resident_kib(load->server->pid);
    return web_server_check(load->server);
}

static int watched(const struct web_load *load, struct web_accounting *accounting,
                   struct web_outcome *outcome) {
    if (load->options->trace_command == NULL) {
        return measure(load, 0, accounting, outcome);
    }
    struct web_tracer tracer = {0};
    int status = web_tracer_start(&tracer, load->server);
    if (status == 0) {
        status = measure(load, tracer.pid, accounting, outcome);
    }
    (void)web_tracer_stop(&tracer);
    outcome->tracer_exit_code = tracer.exit_code;
    return status;
}

static int run(struct web_server *server, struct web_folder *folder, const struct web_files *files,
               struct web_accounting *accounting, struct web_outcome *outcome) {
    char site[WEB_PATH_BYTES];
    const struct web_load load = {.options = server->options, .server = server, .files = files};
    if (web_folder_make(folder, server->options, &server->identity) != 0) {
        return -1;
    }
    (void)snprintf(site, sizeof site, "%s/site", folder->path);
    if (web_files_write(files, site) != 0 || web_server_configure(server) != 0 ||
        web_server_start(server) != 0 || web_place_driver(server->placement) != 0 ||
        warm_up(&load) != 0 || watched(&load, accounting, outcome) != 0) {
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

int main(int argc, char **argv) {
    const struct web_options options = web_options_parse(argc, argv);
    struct web_placement placement;
    struct web_folder folder = {.path = ""};
    struct web_files files = {0};
    struct web_accounting accounting;
    struct web_outcome outcome = {0};
    struct web_server server = {.options = &options,
                                .folder = &folder,
                                .identity = web_identity_find(),
                                .placement = &placement};
    FILE *results = web_results_open();
    int status = web_signals_settle() != 0 || web_placement_find(&placement, &options) != 0 ||
                         web_files_make(&files) != 0
                     ? -1
                     : run(&server, &folder, &files, &accounting, &outcome);
    if (web_keeper_stop(&server) != 0) {
        status = -1;
    }
    if (status == 0) {
        status = web_report(results, &server, &accounting, &outcome);
    }
    if (status != 0) {
        web_report_failure(results);
    }
    if (results != NULL && fclose(results) != 0) {
        perror("web: REGATTA_RESULTS");
        status = -1;
    }
    web_times_free(&outcome.totals.latency);
    web_files_free(&files);
    if (web_stop_signal != 0) {
        (void)signal(web_stop_signal, SIG_DFL);
        (void)raise(web_stop_signal);
    }
    return status == 0 ? 0 : WEB_EXIT_FAILED;
}
