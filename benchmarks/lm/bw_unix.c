/* Bandwidth of a stream socket of the Unix domain. */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD beside POSIX */

#include "bw_transfer.h"

#include <sys/socket.h>

static int connect_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

int main(int argc, char **argv) {
    return bw_main("bw_unix",
                   "Measures the bandwidth of a Unix stream socket, from a process that writes to "
                   "one that reads.\n"
                   "An operation is --total-kib of data; what the reader has received is counted. "
                   "The data are not\n"
                   "looked at. The socket's buffers are the system's default. With --placement "
                   "compact or scattered\n"
                   "the two share a processor. Metric: bandwidth, in MB/s.",
                   connect_pair, argc, argv);
}
