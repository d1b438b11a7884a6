/* Bandwidth of a Unix stream socket. */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD */

#include "bw_transfer.h"

#include <sys/socket.h>

static int connect_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

int main(int argc, char **argv) {
    return bw_main(
        "bw_unix",
        "Measure the bandwidth of a Unix stream socket from a writing process to a reading "
        "process.\n"
        "An operation is --total-kib of data. Received bytes are counted; their content is "
        "ignored.\n"
        "The socket buffers have the default size of the system. With --placement compact or\n"
        "scattered, both processes run on one processor.\n"
        "Metric: bandwidth, in MB/s (10^6 bytes).",
        connect_pair, BW_ON_ONE_HOST, argc, argv);
}
