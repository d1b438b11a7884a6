/* Bandwidth of a pipe. */
#define _DEFAULT_SOURCE /* for bw_transfer.h: FIONREAD */

#include "bw_transfer.h"

int main(int argc, char **argv) {
    return bw_main("bw_pipe",
                   "Measure the bandwidth of a pipe from a writing process to a reading process. "
                   "An operation is\n"
                   "--total-kib of data. Received bytes are counted; their content is ignored. "
                   "With --placement\n"
                   "compact or scattered, both processes run on one processor.\n"
                   "Metric: bandwidth, in MB/s (10^6 bytes).",
                   pipe, BW_ON_ONE_HOST, argc, argv);
}
