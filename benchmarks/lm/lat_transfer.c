/*
 * What it costs that one process sends and another receives, on one processor: the work of both
 * sides, and the switches between them.
 */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD beside POSIX */

#include "bw_transfer.h"
#include "ipc/ipc.h"
#include "numbers.h"

#include <sys/socket.h>

static const char PROGRAM[] = "lat_transfer";
static const char SUMMARY[] =
    "Measures what communication between two processes costs both of them.\n"
    "  transfer  one writes a message with one write, the other reads them, through a pipe or\n"
    "            a UNIX stream socket; a series for each of --bytes. The writer goes on until the\n"
    "            channel is full, so that small messages share a switch between the processes.\n"
    "  connect   one connects with the UNIX stream socket of the other by its name, which accepts\n"
    "            the connection and closes it; both close\n"
    "An operation is what both do. Both are on one processor, unless --placement is free.\n"
    "Metric: latency, in ns per operation.";

enum { MOST_BYTES = 1 << 30 };

static int socket_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static void measure_transfer(struct lm_harness *harness, const char *through, uint64_t bytes) {
    struct bw_transfer transfer = {.connect = strcmp(through, "pipe") == 0 ? pipe : socket_pair,
                                   .message_bytes = (size_t)bytes,
                                   .operation_bytes = bytes,
                                   .ends = {-1, -1},
                                   .control = {-1, -1},
                                   .writer = -1};
    const struct lm_workload workload = {.initialise = bw_initialise,
                                         .benchmark = bw_benchmark,
                                         .cleanup = bw_cleanup,
                                         .cookie = &transfer};
    const struct lm_parameter parameters[] = {{.name = "through", .text = through},
                                              {.name = "operation", .text = "transfer"},
                                              {.name = "bytes", .number = bytes}};
    const struct lm_series series = {.parameters = parameters, .parameter_count = 3};
    lm_run(harness, &workload, &series);
}

static void measure_connect(struct lm_harness *harness) {
    struct lm_unix_accepting connecting = {.accepting = {.listening = -1}};
    const struct lm_workload workload = {.initialise = lm_unix_accepting_initialise,
                                         .benchmark = lm_accepting_benchmark,
                                         .cleanup = lm_unix_accepting_cleanup,
                                         .cookie = &connecting};
    const struct lm_parameter parameters[] = {{.name = "through", .text = "unix"},
                                              {.name = "operation", .text = "connect"}};
    const struct lm_series series = {.parameters = parameters, .parameter_count = 2};
    lm_run(harness, &workload, &series);
}

static bool is_chosen(const char *chosen, const char *one) {
    return strcmp(chosen, "all") == 0 || strcmp(chosen, one) == 0;
}

int main(int argc, char **argv) {
    static const char *const channels[] = {"all", "pipe", "unix", NULL};
    static const char *const operations[] = {"all", "transfer", "connect", NULL};
    static const char *const placements[] = {"compact", "scattered", "free", NULL};
    const char *through = channels[0], *operation = operations[0];
    const char *sizes = "64,1024,4096,16384,65536";
    const struct lm_option options[] = {
        {.name = "--through",
         .help = "connection of the processes",
         .text = &through,
         .choices = channels},
        {.name = "--operation",
         .help = "operation; a pipe has no connect",
         .text = &operation,
         .choices = operations},
        {.name = "--bytes", .help = "bytes per write", .text = &sizes},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0],
                                       .placements = placements};
    struct lm_settings settings;
    struct lm_numbers bytes;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--bytes", sizes, 1, MOST_BYTES, &bytes);
    if (strcmp(through, "pipe") == 0 && strcmp(operation, "connect") == 0) {
        lm_usage_error(PROGRAM, "--operation", "transfer with --through pipe", operation);
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (const char *const *channel = &channels[1]; *channel != NULL; channel++) {
        for (size_t i = 0; i < bytes.count; i++) {
            if (is_chosen(through, *channel) && is_chosen(operation, "transfer")) {
                measure_transfer(&harness, *channel, bytes.number[i]);
            }
        }
    }
    if (is_chosen(through, "unix") && is_chosen(operation, "connect")) {
        measure_connect(&harness);
    }
    return lm_close(&harness);
}
