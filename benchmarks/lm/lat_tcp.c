/* Latency of a round trip through a TCP connection. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <sys/socket.h>

static const char SUMMARY[] =
    "Measure the latency of a TCP connection between two processes over the loopback interface\n"
    "(127.0.0.1, TCP_NODELAY). An operation is a round trip: a byte goes to the other process and\n"
    "comes back; each process waits for it.\n" LM_PLACEMENT_HELP LM_REMOTE_HELP
    "Metric: latency, in ns per round trip.";

static int connection(struct lm_ends *ends) {
    struct sockaddr_in address;
    int listening = lm_socket_listening(1, &address);
    if (listening < 0) {
        return -1;
    }
    int own = socket(AF_INET, SOCK_STREAM, 0);
    int other = own < 0 ? -1 : lm_socket_join(own, listening, &address);
    lm_shut(&listening);
    if (other < 0) {
        lm_shut(&own);
        return -1;
    }
    *ends = (struct lm_ends){.own = {own, own}, .partner = {other, other}};
    return 0;
}

int main(int argc, char **argv) {
    return lm_potato_remote_main("lat_tcp", SUMMARY, connection, NULL, argc, argv);
}
