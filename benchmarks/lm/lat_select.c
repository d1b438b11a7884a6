/* Latency of select() on many descriptors. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <string.h>
#include <sys/select.h>

static const char PROGRAM[] = "lat_select";
static const char SUMMARY[] =
    "Measures the latency of select() on --descriptors descriptors, asking which can be read "
    "from,\n"
    "without waiting. An operation is a call, with the copy of the set that it needs.\n"
    "  file  of a file in the working directory, opened once for each: all can always be read\n"
    "  tcp   of connections over the loopback interface, on which nothing is sent: none can be\n"
    "        read; the call looks at all and returns\n"
    "Metric: latency, in ns per call.";

/* Some low numbers belong to others already; select() cannot look beyond FD_SETSIZE. */
enum { MOST_DESCRIPTORS = FD_SETSIZE - 24 };

struct selecting {
    struct lm_many many; /* the first: lm_many_run() sets its kind */
    fd_set set;
    int highest;
};

static int selecting_initialise(uint64_t operations, void *cookie) {
    struct selecting *selecting = cookie;
    if (operations != 0) {
        return 0;
    }
    if (lm_many_open(&selecting->many) != 0) {
        return -1;
    }
    FD_ZERO(&selecting->set);
    for (uint64_t i = 0; i < selecting->many.count; i++) {
        int descriptor = selecting->many.looked_at[i];
        if (descriptor >= FD_SETSIZE) {
            errno = EMFILE;
            return -1;
        }
        FD_SET(descriptor, &selecting->set);
        selecting->highest = descriptor > selecting->highest ? descriptor : selecting->highest;
    }
    return 0;
}

static int selecting_benchmark(uint64_t operations, void *cookie) {
    const struct selecting *selecting = cookie;
    const int expected = strcmp(selecting->many.kind, "file") == 0 ? (int)selecting->many.count : 0;
    for (uint64_t i = 0; i < operations; i++) {
        fd_set set = selecting->set;
        struct timeval at_once = {0};
        int ready = select(selecting->highest + 1, &set, NULL, NULL, &at_once);
        if (ready != expected) {
            if (ready >= 0) {
                errno = EPROTO;
            }
            return -1;
        }
    }
    return 0;
}

static int selecting_cleanup(uint64_t operations, void *cookie) {
    if (operations == 0) {
        lm_many_close(&((struct selecting *)cookie)->many);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const kinds[] = {"all", "file", "tcp", NULL};
    const char *kind = kinds[0];
    struct selecting selecting = {.many = {.count = 100}};
    const struct lm_option options[] = {
        {.name = "--kind", .help = "kind of descriptors", .text = &kind, .choices = kinds},
        {.name = "--descriptors",
         .help = "number of descriptors",
         .number = &selecting.many.count,
         .minimum = 1,
         .maximum = MOST_DESCRIPTORS},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_need_descriptors(&harness, lm_many_needed(selecting.many.count));
    struct lm_workload workload = {.initialise = selecting_initialise,
                                   .benchmark = selecting_benchmark,
                                   .cleanup = selecting_cleanup,
                                   .cookie = &selecting};
    lm_many_run(&harness, &workload, &selecting.many, kind, kinds);
    return lm_close(&harness);
}
