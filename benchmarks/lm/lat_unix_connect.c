/* Latency of UNIX-domain stream connections. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

static const char SUMMARY[] =
    "Measures the latency of UNIX-domain stream connections. An operation is: make a socket,\n"
    "connect it by the name of the server's in the working directory, wait until the server,\n"
    "another process, has accepted the connection and closed its end, close it. Each of\n"
    "--parallel processes has a separate server.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns per connection.";

int main(int argc, char **argv) {
    const struct lm_program program = {.name = "lat_unix_connect", .summary = SUMMARY};
    struct lm_unix_accepting connecting = {.accepting = {.listening = -1}};
    const struct lm_workload workload = {.initialise = lm_unix_accepting_initialise,
                                         .benchmark = lm_accepting_benchmark,
                                         .cleanup = lm_unix_accepting_cleanup,
                                         .cookie = &connecting};
    const struct lm_series series = {0};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
