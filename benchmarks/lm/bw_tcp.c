/* Bandwidth of a TCP connection. */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD */

#include "bw_transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Time limit of a stalled connection. */
enum { PATIENCE_S = 10 };

/* Close a descriptor and preserve errno. */
static void drop(int descriptor) {
    int reason = errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    errno = reason;
}

static int listen_locally(struct sockaddr_in *address) {
    socklen_t bytes = sizeof *address;
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)address, sizeof *address) != 0 ||
        listen(listening, 1) != 0 ||
        getsockname(listening, (struct sockaddr *)address, &bytes) != 0) {
        drop(listening);
        return -1;
    }
    return listening;
}

/* Return whether `accepted` is the other end of `connected` and not a foreign connection. */
static bool belong_together(int accepted, int connected) {
    struct sockaddr_in peer = {0}, own = {0};
    socklen_t peer_bytes = sizeof peer, own_bytes = sizeof own;
    if (getpeername(accepted, (struct sockaddr *)&peer, &peer_bytes) != 0 ||
        getsockname(connected, (struct sockaddr *)&own, &own_bytes) != 0) {
        return false;
    }
    errno = ECONNABORTED;
    return peer.sin_port == own.sin_port && peer.sin_addr.s_addr == own.sin_addr.s_addr;
}

/* The kernel completes the connection before accept(), so one process can create both ends. */
static int connect_locally(int ends[2]) {
    struct sockaddr_in address;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int listening = listen_locally(&address);
    if (listening < 0) {
        return -1;
    }
    int connected = socket(AF_INET, SOCK_STREAM, 0), accepted = -1;
    if (connected >= 0 &&
        setsockopt(connected, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(connected, (struct sockaddr *)&address, sizeof address) == 0 &&
        setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0) {
        accepted = accept(listening, NULL, NULL);
    }
    if (accepted < 0 || !belong_together(accepted, connected) ||
        setsockopt(accepted, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
        drop(accepted);
        drop(connected);
        drop(listening);
        return -1;
    }
    ends[0] = accepted;
    ends[1] = connected;
    return close(listening);
}

int main(int argc, char **argv) {
    return bw_main("bw_tcp",
                   "Measure the bandwidth of a TCP connection on 127.0.0.1 from a writing process "
                   "to a reading\n"
                   "process. An operation is --total-kib of data. Received bytes are counted; "
                   "their content is\n"
                   "ignored. The socket buffers have the default size of the system. With "
                   "--placement compact or\n"
                   "scattered, both processes run on one processor.\n" LM_REMOTE_HELP
                   "The server then writes and the client reads; the client is timed. An interval "
                   "contains the\n"
                   "round trip of one request.\n"
                   "Metric: bandwidth, in MB/s (10^6 bytes).",
                   connect_locally, BW_BETWEEN_HOSTS, argc, argv);
}
