/* Latency of a round trip of UDP datagrams over the loopback interface. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <sys/socket.h>

static const char SUMMARY[] =
    "Measures the latency of UDP between two processes over the loopback interface (127.0.0.1,\n"
    "connected sockets). An operation is a round trip: a datagram of a byte goes to the other\n"
    "process and comes back; each process waits for it. A datagram that is lost is not sent\n"
    "again: after 10 s without an answer the measurement fails.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns per round trip.";

static int sockets(struct lm_ends *ends) {
    struct sockaddr_in own_address, other_address;
    int own = lm_socket_bound(SOCK_DGRAM, &own_address);
    int other = lm_socket_bound(SOCK_DGRAM, &other_address);
    /* The helper has no limit: it waits for as long as the child lives. */
    if (own < 0 || other < 0 || lm_socket_limits(own) != 0 ||
        connect(own, (struct sockaddr *)&other_address, sizeof other_address) != 0 ||
        connect(other, (struct sockaddr *)&own_address, sizeof own_address) != 0) {
        lm_shut(&own);
        lm_shut(&other);
        return -1;
    }
    *ends = (struct lm_ends){.own = {own, own}, .partner = {other, other}};
    return 0;
}

int main(int argc, char **argv) {
    return lm_potato_main("lat_udp", SUMMARY, sockets, argc, argv);
}
