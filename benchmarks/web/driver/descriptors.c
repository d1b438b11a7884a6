/* The limit of open files: each connection needs one descriptor at both ends. */
#define _POSIX_C_SOURCE 200809L

#include "sessions.h"

#include <errno.h>
#include <sys/resource.h>

/* Files other than connections. */
enum { OTHERS = 64 };
/* A server allocates memory for as many connections. */
static const rlim_t MOST = 65536;

int web_descriptors_raise(const struct web_options *options) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return web_fail("open files: cannot query the limit: %s", strerror(errno));
    }
    limit.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return web_fail("open files: cannot set the limit to %llu: %s",
                        (unsigned long long)limit.rlim_cur, strerror(errno));
    }
    return options->users + OTHERS <= limit.rlim_cur
               ? 0
               : web_fail("open files: expected a limit of %llu or more for %llu users, got %llu: "
                          "raise the hard limit (ulimit -Hn)",
                          (unsigned long long)options->users + OTHERS,
                          (unsigned long long)options->users, (unsigned long long)limit.rlim_cur);
}

uint64_t web_descriptors(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < OTHERS * 2
               ? OTHERS
               : (uint64_t)limit.rlim_cur - OTHERS;
}
