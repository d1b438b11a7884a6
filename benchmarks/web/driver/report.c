/* Output: lines of docs/protocol.md to the results file, one line to standard output. */
#define _POSIX_C_SOURCE 200809L

#include "origin.h"

#include <errno.h>
#include <stdlib.h>

FILE *web_results_open(void) {
    const char *path = getenv("REGATTA_RESULTS");
    if (path == NULL) {
        return NULL;
    }
    FILE *results = fopen(path, "ae");
    if (results == NULL) {
        (void)fprintf(stderr, "web: REGATTA_RESULTS: cannot append to %s: %s\n", path,
                      strerror(errno));
        exit(WEB_EXIT_FAILED);
    }
    return results;
}

/* Replace bytes outside printable ASCII with '?': a message may quote arbitrary data. */
static void put_string(FILE *file, const char *text) {
    (void)fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            (void)fputc('\\', file);
        }
        (void)fputc(byte >= 0x20 && byte < 0x7f ? byte : '?', file);
    }
    (void)fputc('"', file);
}

void web_report_failure(FILE *results) {
    if (results != NULL) {
        (void)fputs("{\"error\": ", results);
        put_string(results, web_failure()[0] != '\0' ? web_failure() : "failed");
        (void)fputs("}\n", results);
    }
}

/* ---- percentiles ---- */

static const unsigned PERMILLES[] = {500, 990, 0};
static const unsigned MORE_PERMILLES[] = {500, 900, 990, 999, 0}; /* of sessions */

/* With fewer values, a percentile above the median would be the maximum. */
static uint64_t least_for(unsigned permille) {
    return permille <= 500 ? 1 : 1000 / (1000 - permille);
}

static void put_text(FILE *file, const char *name, const char *text, const char *after) {
    (void)fprintf(file, "\"%s\": ", name);
    put_string(file, text);
    (void)fputs(after, file);
}

/* ---- info ---- */

static void put_classes(FILE *file, const struct web_options *options) {
    (void)fprintf(
        file,
        "\"dynamic_percent\": %llu, \"connections\": %llu, \"persistent_percent\": %llu, "
        "\"requests_per_connection\": %llu, ",
        (unsigned long long)(web_is(options->dynamic, "none") ? 0 : options->dynamic_percent),
        (unsigned long long)options->connections, (unsigned long long)options->persistent_percent,
        (unsigned long long)options->requests_per_connection);
}

/* Name the percentiles of latency that unanswered requests make undefined. */
static void put_undefined(FILE *file, const struct web_totals *totals) {
    uint64_t ns, count = totals->latency.count + totals->unanswered;
    char text[160];
    size_t used = 0;
    for (const unsigned *permille = MORE_PERMILLES; *permille != 0; permille++) {
        if (count >= least_for(*permille) &&
            !web_times_percentile(&totals->latency, count, *permille, &ns)) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.4g",
                                     used == 0 ? "" : ", ", *permille / 10.0);
        }
    }
    if (used > 0) {
        (void)snprintf(text + used, sizeof text - used, ": undefined (unanswered requests)");
        put_text(file, "latency_percentiles", text, ", ");
    }
}

static void put_sessions(FILE *file, const struct web_options *options,
                         const struct web_totals *totals) {
    put_text(file, "sessions", options->sessions, ", ");
    put_text(file, "loop", options->loop, ", ");
    (void)fprintf(file,
                  "\"rate\": %llu, \"users\": %llu, \"client_kbit\": %llu, \"planned\": %llu, "
                  "\"connections_beyond_limit\": %llu, ",
                  (unsigned long long)options->rate, (unsigned long long)options->users,
                  (unsigned long long)options->client_kbit, (unsigned long long)totals->planned,
                  (unsigned long long)totals->beyond_limit);
    if (totals->tracked_most > 0) {
        (void)fprintf(file, "\"tracked_connections\": %llu, \"most_tracked_connections\": %llu, ",
                      (unsigned long long)totals->tracked,
                      (unsigned long long)totals->tracked_most);
    }
    put_undefined(file, totals);
}

static void put_info(FILE *file, const struct web_server *server,
                     const struct web_outcome *outcome) {
    const struct web_options *options = server->options;
    const struct web_accounting *accounting = &outcome->usage.accounting;
    char cpu[300], split[120];
    if (accounting->version != 0) {
        (void)snprintf(cpu, sizeof cpu, "control group, version %d, minus the driver",
                       accounting->version);
        (void)snprintf(split, sizeof split, "kernel samples over the whole group");
    } else {
        (void)snprintf(cpu, sizeof cpu, "sum over the server processes: %s", accounting->reason);
        (void)snprintf(split, sizeof split,
                       "inaccurate for short processes (CGI): kernel values per process");
    }
    (void)fputs("{\"info\": {", file);
    put_text(file, "server", options->server, ", ");
    put_text(file, "server_version", server->version, ", ");
    put_text(file, "dynamic", options->dynamic, ", ");
    if (options->sessions != NULL) {
        put_sessions(file, options, &outcome->totals);
    } else {
        put_classes(file, options);
    }
    if (server->origin != NULL) {
        (void)fprintf(file,
                      "\"cache_bytes\": %llu, \"origin_requests\": %llu, "
                      "\"latencies\": %u, ",
                      (unsigned long long)options->cache_bytes,
                      (unsigned long long)outcome->fetches.all,
                      (unsigned)server->origin->sessions->latencies);
    }
    (void)fprintf(file,
                  "\"warmup_ms\": %llu, \"requests\": %llu, "
                  "\"window_ns\": %llu, \"driver_ns\": %llu, \"servers\": %u, ",
                  (unsigned long long)options->warmup_ms,
                  (unsigned long long)outcome->totals.requests,
                  (unsigned long long)outcome->totals.elapsed_ns,
                  (unsigned long long)outcome->driver_ns, web_server_processes(options));
    put_text(file, "acceptance", options->acceptance, ", ");
    if (server->placement->server >= 0) {
        (void)fprintf(file, "\"server_cpu\": %d, ", server->placement->server);
    }
    put_text(file, "server_cpus", server->placement->servers, ", ");
    put_text(file, "driver_cpus", server->placement->driver, ", ");
    (void)fprintf(file, "\"shared_cpu\": %s, \"spin_ns\": %llu, \"server_user\": %u, ",
                  server->placement->shared ? "true" : "false",
                  (unsigned long long)server->placement->spin_ns, (unsigned)server->identity.uid);
    if (server->control >= 0) {
        put_text(file, "server_host", server->options->host_text, ", ");
    } else {
        put_text(file, "folder", server->folder->path, ", ");
    }
    put_text(file, "cpu_from", cpu, ", ");
    put_text(file, "split_from", split, "}}\n");
}

/* ---- metrics ---- */

static void put_metric(FILE *file, const char *metric, double value, const char *unit) {
    (void)fprintf(file,
                  "{\"iteration\": 0, \"metric\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}\n",
                  metric, value, unit);
}

/* Report percentiles of `count` times, of which those that are missing are the longest. */
static void put_percentiles(FILE *file, const char *metric, const struct web_times *times,
                            uint64_t count, const unsigned *permilles) {
    uint64_t ns;
    for (; *permilles != 0; permilles++) {
        if (count >= least_for(*permilles) && web_times_percentile(times, count, *permilles, &ns)) {
            (void)fprintf(file,
                          "{\"iteration\": 0, \"metric\": \"%s\", \"value\": %llu, "
                          "\"unit\": \"ns\", \"parameters\": {\"percentile\": %.4g}}\n",
                          metric, (unsigned long long)ns, *permilles / 10.0);
        }
    }
}

static void put_session_metrics(FILE *file, const struct web_totals *totals) {
    put_percentiles(file, "latency", &totals->latency, totals->latency.count + totals->unanswered,
                    MORE_PERMILLES);
    if (totals->planned_ns > 0) { /* 0: the closed loop, or a replay of one instant */
        put_metric(file, "planned_rate", (double)totals->planned * 1e9 / (double)totals->planned_ns,
                   "ops/s");
    }
    put_percentiles(file, "send_delay", &totals->send_delay, totals->send_delay.count,
                    MORE_PERMILLES);
    put_metric(file, "unanswered", (double)totals->unanswered, "count");
    put_metric(file, "connection_errors", (double)totals->connection_errors, "count");
    put_metric(file, "open_connections", (double)totals->most_open, "count");
}

/* Without an answer, it is not known whether the cache had it. */
static void put_proxy_metrics(FILE *file, const struct web_outcome *outcome) {
    const struct web_totals *totals = &outcome->totals;
    const struct web_fetches *fetches = &outcome->fetches;
    const double requests = (double)totals->planned;
    if (totals->unanswered == 0) {
        put_metric(file, "hit_ratio", 1 - (double)fetches->requests / requests, "ratio");
        put_metric(file, "origin_bytes_per_request", (double)fetches->bytes / requests, "bytes");
    }
    if (outcome->usage.cached_bytes > 0) {
        put_metric(file, "cached_bytes", (double)outcome->usage.cached_bytes, "bytes");
    }
    put_percentiles(file, "origin_latency", &fetches->latency, fetches->latency.count,
                    MORE_PERMILLES);
    put_percentiles(file, "origin_delay", &fetches->delay, fetches->delay.count, MORE_PERMILLES);
}

/* With the number of operations, counters of the server's host are also reported per request. */
static void put_elapsed(FILE *file, const struct web_server *server,
                        const struct web_totals *totals) {
    double per_request = (double)totals->elapsed_ns / (double)totals->requests;
    if (server->control < 0 || server->options->sessions != NULL) {
        put_metric(file, "elapsed_per_request", per_request, "ns");
        return;
    }
    (void)fprintf(file,
                  "{\"iteration\": 0, \"metric\": \"elapsed_per_request\", \"value\": %.9g, "
                  "\"unit\": \"ns\", \"operations\": %llu}\n",
                  per_request, (unsigned long long)totals->requests);
}

static void put_metrics(FILE *file, const struct web_server *server,
                        const struct web_outcome *outcome) {
    const struct web_options *options = server->options;
    const struct web_totals *totals = &outcome->totals;
    double requests = (double)totals->requests;
    put_elapsed(file, server, totals);
    put_metric(file, "cpu_time", (double)outcome->usage.cpu.total_ns / requests, "ns");
    put_metric(file, "kernel_time", (double)outcome->usage.cpu.system_ns / requests, "ns");
    put_metric(file, "user_time", (double)outcome->usage.cpu.user_ns / requests, "ns");
    put_metric(file, "throughput", requests * 1e9 / (double)totals->elapsed_ns, "ops/s");
    if (options->sessions != NULL) {
        put_session_metrics(file, totals);
    } else {
        put_percentiles(file, "latency", &totals->latency, totals->latency.count, PERMILLES);
    }
    if (web_proxied(options)) {
        put_proxy_metrics(file, outcome);
    }
    put_metric(file, "bytes_per_request", (double)totals->body_bytes / requests, "bytes");
    put_metric(file, "received_per_request", (double)totals->received_bytes / requests, "bytes");
    put_metric(file, "connections_per_request", (double)totals->connections / requests, "ratio");
    put_metric(file, "resident_kib", (double)outcome->usage.resident_kib, "KiB");
    put_metric(file, "server_share",
               (double)outcome->usage.cpu.total_ns / (double)totals->elapsed_ns, "ratio");
}

/* ---- standard output ---- */

static int put_json(const struct web_server *server, const struct web_outcome *outcome) {
    const struct web_totals *totals = &outcome->totals;
    int status =
        printf("{\"requests\": %llu, \"connections\": %llu, \"dynamic_requests\": %llu, "
               "\"body_bytes\": %llu, \"received_bytes\": %llu, \"elapsed_ns\": %llu, "
               "\"user_ns\": %llu, \"system_ns\": %llu, \"resident_kib\": %llu, \"pid\": %ld, "
               "\"tracer_exit_code\": %d",
               (unsigned long long)totals->requests, (unsigned long long)totals->connections,
               (unsigned long long)totals->dynamic_requests, (unsigned long long)totals->body_bytes,
               (unsigned long long)totals->received_bytes, (unsigned long long)totals->elapsed_ns,
               (unsigned long long)outcome->usage.cpu.user_ns,
               (unsigned long long)outcome->usage.cpu.system_ns,
               (unsigned long long)outcome->usage.resident_kib, (long)server->pid,
               outcome->tracer_exit_code);
    if (status >= 0 && server->options->sessions != NULL) {
        status = printf(", \"planned\": %llu, \"unanswered\": %llu, \"connection_errors\": %llu, "
                        "\"open_connections\": %llu",
                        (unsigned long long)totals->planned, (unsigned long long)totals->unanswered,
                        (unsigned long long)totals->connection_errors,
                        (unsigned long long)totals->most_open);
    }
    if (status >= 0 && server->origin != NULL) {
        status = printf(", \"origin_requests\": %llu, \"origin_bytes\": %llu",
                        (unsigned long long)outcome->fetches.requests,
                        (unsigned long long)outcome->fetches.bytes);
    }
    return status < 0 ? status : printf("}\n");
}

/* Write a percentile of latency in microseconds, or "undefined" among unanswered requests. */
static void put_us(char *text, size_t bytes, const struct web_totals *totals, unsigned permille) {
    uint64_t ns;
    if (web_times_percentile(&totals->latency, totals->latency.count + totals->unanswered, permille,
                             &ns)) {
        (void)snprintf(text, bytes, "%.4g", (double)ns / 1e3);
    } else {
        (void)snprintf(text, bytes, "undefined");
    }
}

static int put_line(const struct web_server *server, const struct web_outcome *outcome) {
    const struct web_totals *totals = &outcome->totals;
    double requests = (double)totals->requests;
    char median_us[24], long_us[24];
    put_us(median_us, sizeof median_us, totals, 500);
    put_us(long_us, sizeof long_us, totals, 990);
    if (server->options->sessions != NULL) {
        return printf(
            "web %s sessions (%s): %llu requests planned in the window, %.0f answered "
            "per second, %llu unanswered, latency %s us (99 %%: %s), at most %llu "
            "connections\n",
            server->options->server, server->options->loop, (unsigned long long)totals->planned,
            requests * 1e9 / (double)totals->elapsed_ns, (unsigned long long)totals->unanswered,
            median_us, long_us, (unsigned long long)totals->most_open);
    }
    return printf(
        "web %s dynamic=%s: %.4g us per request (server: kernel %.4g, user %.4g), %.0f requests/s, "
        "latency %s us (99 %%: %s), %llu requests of %.0f bytes on %llu connections\n",
        server->options->server, server->options->dynamic,
        (double)totals->elapsed_ns / requests / 1e3,
        (double)outcome->usage.cpu.system_ns / requests / 1e3,
        (double)outcome->usage.cpu.user_ns / requests / 1e3,
        requests * 1e9 / (double)totals->elapsed_ns, median_us, long_us,
        (unsigned long long)totals->requests, (double)totals->body_bytes / requests,
        (unsigned long long)totals->connections);
}

int web_report(FILE *results, const struct web_server *server, struct web_outcome *outcome) {
    struct web_totals *totals = &outcome->totals;
    web_times_sort(&totals->latency);
    web_times_sort(&totals->send_delay);
    web_times_sort(&outcome->fetches.latency);
    web_times_sort(&outcome->fetches.delay);
    if (results != NULL) {
        put_info(results, server, outcome);
        put_metrics(results, server, outcome);
        if (fflush(results) != 0 || ferror(results)) {
            return web_fail("REGATTA_RESULTS: cannot write it: %s", strerror(errno));
        }
    }
    int status = server->options->json ? put_json(server, outcome) : put_line(server, outcome);
    return status < 0 || fflush(stdout) != 0
               ? web_fail("standard output: cannot write to it: %s", strerror(errno))
               : 0;
}
