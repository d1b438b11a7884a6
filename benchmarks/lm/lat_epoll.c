/* Latency of epoll_wait() with one descriptor ready of many. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_epoll";
static const char SUMMARY[] =
    "Measures the latency of epoll_wait() where one of --descriptors descriptors, the last, can "
    "be\n"
    "read from (level-triggered, without waiting). An operation is a call that reports that one.\n"
    "  pipe  the descriptors are pipes\n"
    "  tcp   they are connections over the loopback interface\n"
    "Metric: latency, in ns per call.";

enum { MOST_DESCRIPTORS = 100000, EVENTS = 64 };

struct polling {
    struct lm_many many; /* the first: lm_many_run() sets its kind */
    int epoll;
};

static int polling_initialise(uint64_t operations, void *cookie) {
    struct polling *polling = cookie;
    if (operations != 0) {
        return 0;
    }
    polling->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (polling->epoll < 0 || lm_many_open(&polling->many) != 0) {
        return -1;
    }
    const uint64_t last = polling->many.count - 1;
    for (uint64_t i = 0; i <= last; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = i}};
        if (epoll_ctl(polling->epoll, EPOLL_CTL_ADD, polling->many.looked_at[i], &event) != 0) {
            return -1;
        }
    }
    if (write(polling->many.other[last], "x", 1) != 1) {
        return -1;
    }
    /* The byte has arrived once the first call has told of it. */
    struct epoll_event event;
    int ready = epoll_wait(polling->epoll, &event, 1, LM_TIME_LIMIT_S * 1000);
    if (ready == 0) {
        errno = ETIMEDOUT;
    }
    return ready == 1 ? 0 : -1;
}

static int polling_benchmark(uint64_t operations, void *cookie) {
    const struct polling *polling = cookie;
    const uint64_t last = polling->many.count - 1;
    struct epoll_event events[EVENTS];
    for (uint64_t i = 0; i < operations; i++) {
        int ready = epoll_wait(polling->epoll, events, EVENTS, 0);
        if (ready != 1 || events[0].data.u64 != last) {
            if (ready >= 0) {
                errno = EPROTO;
            }
            return -1;
        }
    }
    return 0;
}

static int polling_cleanup(uint64_t operations, void *cookie) {
    struct polling *polling = cookie;
    if (operations == 0) {
        lm_many_close(&polling->many);
        lm_shut(&polling->epoll);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const kinds[] = {"all", "pipe", "tcp", NULL};
    const char *kind = kinds[0];
    struct polling polling = {.many = {.count = 100}, .epoll = -1};
    const struct lm_option options[] = {
        {.name = "--kind",
         .help = "kind of descriptors to wait for",
         .text = &kind,
         .choices = kinds},
        {.name = "--descriptors",
         .help = "number of descriptors to wait for",
         .number = &polling.many.count,
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
    lm_need_descriptors(&harness, lm_many_needed(polling.many.count));
    struct lm_workload workload = {.initialise = polling_initialise,
                                   .benchmark = polling_benchmark,
                                   .cleanup = polling_cleanup,
                                   .cookie = &polling};
    lm_many_run(&harness, &workload, &polling.many, kind, kinds);
    return lm_close(&harness);
}
