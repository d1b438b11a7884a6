/* Latency of a round trip of UDP datagrams. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <sys/socket.h>

static const char SUMMARY[] =
    "Measure the latency of UDP between two processes over the loopback interface (127.0.0.1,\n"
    "connected sockets). An operation is a round trip: a datagram of one byte goes to the other\n"
    "process and comes back; each process waits for it. A lost datagram is not sent again: after\n"
    "10 s without a reply the measurement fails.\n" LM_PLACEMENT_HELP LM_REMOTE_HELP
    "Metric: latency, in ns per round trip.";

static int sockets(struct lm_ends *ends) {
    struct sockaddr_in own_address, other_address;
    int own = lm_socket_bound(SOCK_DGRAM, &own_address);
    int other = lm_socket_bound(SOCK_DGRAM, &other_address);
    /* The helper has no time limit: it waits as long as the child lives. */
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

/* Between hosts, server and client exchange the ports of their sockets over a TCP connection, whose
 * end also ends the session of the server. */
static int socket_over(int connection) {
    struct sockaddr_in own, peer;
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    uint64_t port = 0;
    if (getsockname(connection, (struct sockaddr *)&own, &own_bytes) != 0 ||
        getpeername(connection, (struct sockaddr *)&peer, &peer_bytes) != 0) {
        return -1;
    }
    own.sin_port = 0;
    int descriptor = lm_socket_bound_at(SOCK_DGRAM, &own);
    if (descriptor < 0 || lm_remote_exchange(connection, own.sin_port, &port) != 0) {
        lm_shut(&descriptor);
        return -1;
    }
    peer.sin_port = (in_port_t)port;
    if (connect(descriptor, (struct sockaddr *)&peer, sizeof peer) != 0) {
        lm_shut(&descriptor);
    }
    return descriptor;
}

int main(int argc, char **argv) {
    return lm_potato_remote_main("lat_udp", SUMMARY, sockets, socket_over, argc, argv);
}
