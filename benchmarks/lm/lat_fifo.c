/* Latency of a round trip through two FIFOs (named pipes). */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char SUMMARY[] =
    "Measures the latency of a pair of FIFOs (named pipes) between two processes. They are made\n"
    "in the working directory, and their names removed once they are open. An operation is a\n"
    "round trip: a byte goes to the other process through one FIFO and comes back through the\n"
    "other; each process waits for it.\n" LM_PLACEMENT_HELP
    "Metric: latency, in ns per round trip.";

/* Opens both ends of the FIFO `name`. To open one end for reading would wait for a writer, so that
 * end is opened without waiting and set to wait afterwards. */
static int open_ends(const char *name, int ends[2]) {
    ends[1] = -1;
    ends[0] = open(name, O_RDONLY | O_NONBLOCK);
    if (ends[0] < 0) {
        return -1;
    }
    ends[1] = open(name, O_WRONLY);
    if (ends[1] < 0 || fcntl(ends[0], F_SETFL, 0) != 0) {
        lm_shut(&ends[0]);
        lm_shut(&ends[1]);
        return -1;
    }
    return 0;
}

static int make(const char *which, int ends[2]) {
    char name[80];
    (void)snprintf(name, sizeof name, "lat_fifo.%ld.%s", (long)getpid(), which);
    if (mkfifo(name, S_IRUSR | S_IWUSR) != 0) {
        return -1;
    }
    int status = open_ends(name, ends), failure = errno;
    if (unlink(name) != 0) {
        if (status == 0) {
            failure = errno;
            lm_shut(&ends[0]);
            lm_shut(&ends[1]);
        }
        status = -1;
    }
    errno = failure;
    return status;
}

static int fifos(struct lm_ends *ends) {
    int there[2], back[2];
    if (make("there", there) != 0) {
        return -1;
    }
    if (make("back", back) != 0) {
        lm_shut(&there[0]);
        lm_shut(&there[1]);
        return -1;
    }
    *ends = (struct lm_ends){.own = {back[0], there[1]}, .partner = {there[0], back[1]}};
    return 0;
}

int main(int argc, char **argv) {
    return lm_potato_main("lat_fifo", SUMMARY, fifos, argc, argv);
}
