/* Latency of a round trip through a connection of UNIX-domain stream sockets. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <sys/socket.h>

static const char SUMMARY[] =
    "Measures the latency of a UNIX-domain stream connection between two processes. An operation\n"
    "is a round trip: a byte goes to the other process and comes back; each process waits\n"
    "for it.\n" LM_PLACEMENT_HELP "Metric: latency, in ns per round trip.";

static int connection(struct lm_ends *ends) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        return -1;
    }
    *ends = (struct lm_ends){.own = {pair[0], pair[0]}, .partner = {pair[1], pair[1]}};
    return 0;
}

int main(int argc, char **argv) {
    return lm_potato_main("lat_unix", SUMMARY, connection, argc, argv);
}
