/* Latency of a round trip through two pipes. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <unistd.h>

static const char SUMMARY[] =
    "Measures the latency of a pair of pipes between two processes. An operation is a round trip:\n"
    "a byte goes to the other process through one pipe and comes back through the other; each\n"
    "process waits for it.\n" LM_PLACEMENT_HELP "Metric: latency, in ns per round trip.";

static int pipes(struct lm_ends *ends) {
    int there[2], back[2];
    if (pipe(there) != 0) {
        return -1;
    }
    if (pipe(back) != 0) {
        lm_shut(&there[0]);
        lm_shut(&there[1]);
        return -1;
    }
    *ends = (struct lm_ends){.own = {back[0], there[1]}, .partner = {there[0], back[1]}};
    return 0;
}

int main(int argc, char **argv) {
    return lm_potato_main("lat_pipe", SUMMARY, pipes, argc, argv);
}
