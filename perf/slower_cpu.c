/* slower_cpu CPU SHARE: take this share of a CPU away from all other programs, in turns of a
   millisecond, until killed. Ends with its parent. SHARE: above 0, at most 0.5. Exit code 1 where
   the kernel does not allow real-time priority. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { TURN_NS = 1000000, SECOND_NS = 1000000000 };

static long long ns_of(struct timespec at) {
    return (long long)at.tv_sec * SECOND_NS + at.tv_nsec;
}

static long long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return ns_of(at);
}

int main(int count, char **arguments) {
    const double share = count == 3 ? atof(arguments[2]) : 0.0;
    /* More would leave too little for the system. */
    if (share <= 0.0 || share > 0.5)
        return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(arguments[1]), &cpus);
    struct sched_param priority = {.sched_priority = 10};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || sched_setaffinity(0, sizeof cpus, &cpus) ||
        sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("slower_cpu");
        return 1;
    }
    const long long own_ns = (long long)(share * TURN_NS);
    for (long long turn_ns = now();; turn_ns += TURN_NS) {
        struct timespec next = {turn_ns / SECOND_NS, turn_ns % SECOND_NS};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
            return 1;
        while (now() < turn_ns + own_ns) {
        }
    }
}
