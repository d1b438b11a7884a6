/* Bandwidth of a pipe. */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD beside POSIX */

#include "bw_transfer.h"

int main(int argc, char **argv) {
    return bw_main("bw_pipe",
                   "Measures the bandwidth of a pipe, from a process that writes to one that "
                   "reads. An operation is\n"
                   "--total-kib of data; what the reader has received is counted. The data are "
                   "not looked at.\n"
                   "With --placement compact or scattered the two share a processor. Metric: "
                   "bandwidth, in MB/s.",
                   pipe, argc, argv);
}
