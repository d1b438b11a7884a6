/* Reports: lines of docs/protocol.md to the results, and a readable line to standard error, because
 * standard output belongs to the copied program. */
#define _POSIX_C_SOURCE 200809L

#include "copies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

FILE *copies_open_results(void) {
    const char *path = getenv("REGATTA_RESULTS");
    if (path == NULL) {
        return NULL;
    }
    FILE *results = fopen(path, "ae");
    if (results == NULL) {
        perror(path);
        (void)fprintf(stderr, "copies: cannot open REGATTA_RESULTS for appending\n");
        exit(COPIES_EXIT_FAILED);
    }
    /* A program that reports results itself would mix its lines with those of the other copies. */
    if (unsetenv("REGATTA_RESULTS") != 0) {
        perror("copies: REGATTA_RESULTS");
        exit(COPIES_EXIT_FAILED);
    }
    return results;
}

static void write_list(FILE *results, const struct copies_run *run, bool cpus) {
    for (size_t i = 0; i < run->options->copies; i++) {
        const struct copies_copy *copy = &run->copy[i];
        (void)fprintf(results, "%s%" PRIu64, i == 0 ? "" : ", ",
                      cpus ? (uint64_t)copy->cpu : copy->end_ns - run->release_ns);
    }
}

static void write_info(FILE *results, const struct copies_run *run) {
    const struct copies_options *options = run->options;
    (void)fprintf(results,
                  "{\"info\": {\"clock\": \"CLOCK_MONOTONIC\", \"copies\": %" PRIu64
                  ", \"passes\": %" PRIu64 ", \"placement\": \"%s\", \"release_ns\": %" PRIu64
                  ", \"copy_elapsed_ns\": [",
                  options->copies, options->passes, options->placement, run->release_ns);
    write_list(results, run, false);
    if (run->copy[0].cpu >= 0) {
        (void)fputs("], \"copy_cpu\": [", results);
        write_list(results, run, true);
    }
    (void)fputs("]}}\n", results);
}

static void write_metric(FILE *results, const struct copies_run *run, const char *metric,
                         double value, const char *unit) {
    (void)fprintf(results,
                  "{\"iteration\": 0, \"metric\": \"%s\", \"value\": %.15g, \"unit\": \"%s\", "
                  "\"parameters\": {\"copies\": %" PRIu64 "}}\n",
                  metric, value, unit, run->options->copies);
}

/* The stream remembers a failed write. */
static int written(FILE *results) {
    if (fflush(results) != 0 || ferror(results)) {
        perror("copies: REGATTA_RESULTS");
        return -1;
    }
    return 0;
}

int copies_report(const struct copies_run *run, FILE *results) {
    uint64_t end_ns = run->release_ns;
    double user_s = 0, system_s = 0;
    long max_rss_kib = 0;
    for (size_t i = 0; i < run->options->copies; i++) {
        const struct copies_copy *copy = &run->copy[i];
        end_ns = copy->end_ns > end_ns ? copy->end_ns : end_ns;
        max_rss_kib = copy->max_rss_kib > max_rss_kib ? copy->max_rss_kib : max_rss_kib;
        user_s += copy->user_s;
        system_s += copy->system_s;
    }
    double elapsed_ns = (double)(end_ns - run->release_ns);
    (void)fprintf(stderr, "%s copies=%" PRIu64 ": elapsed %.3f s (user %.3f s, system %.3f s)\n",
                  run->options->command[0], run->options->copies, elapsed_ns * 1e-9, user_s,
                  system_s);
    if (results == NULL) {
        return 0;
    }
    write_info(results, run);
    write_metric(results, run, "elapsed", elapsed_ns, "ns");
    write_metric(results, run, "user", user_s, "s");
    write_metric(results, run, "system", system_s, "s");
    /* Of the largest process: values of several processes cannot be added, because they share
     * pages. */
    write_metric(results, run, "max_rss", (double)max_rss_kib, "KiB");
    return written(results);
}

int copies_report_failure(const struct copies_run *run, FILE *results) {
    (void)fprintf(stderr, "copies: %s\n", run->failure);
    if (results == NULL) {
        return 0;
    }
    (void)fputs("{\"error\": \"", results);
    for (const char *letter = run->failure; *letter != '\0'; letter++) {
        unsigned char byte = (unsigned char)*letter;
        if (byte == '"' || byte == '\\') {
            (void)fputc('\\', results);
        }
        /* A message can quote the output of a program, in any encoding. */
        (void)fputc(byte >= 0x20 && byte < 0x7f ? byte : '?', results);
    }
    (void)fputs("\"}\n", results);
    return written(results);
}
