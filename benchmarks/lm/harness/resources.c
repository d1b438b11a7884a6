/* System resources that a benchmark requests before the measurement, and their use. */
#define _DEFAULT_SOURCE /* fault counts of getrusage */

#include "lm.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Standard streams, the results, pipes of the harness, and descriptors of the C library. */
static const uint64_t ALREADY_OPEN = 16;

void lm_need_descriptors(struct lm_harness *harness, uint64_t count) {
    struct rlimit limit;
    uint64_t needed = count + ALREADY_OPEN;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        lm_fail(harness, strerror(errno));
    }
    if (limit.rlim_cur >= needed) {
        return;
    }
    if (limit.rlim_max >= needed) {
        limit.rlim_cur = needed;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0) {
            return;
        }
    }
    char what[200];
    (void)snprintf(what, sizeof what,
                   "too few file descriptors: expected a limit of at least %llu, got %llu; "
                   "raise it with ulimit -n %llu",
                   (unsigned long long)needed, (unsigned long long)limit.rlim_max,
                   (unsigned long long)needed);
    lm_fail(harness, what);
}

int lm_count_faults(uint64_t *count) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return -1;
    }
    *count = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
    return 0;
}
