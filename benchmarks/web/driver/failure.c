/* Failure messages, the clock, and the signals that request termination. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

static char failure[1600];

int web_fail(const char *format, ...) {
    if (failure[0] != '\0') {
        return -1; /* later failures follow from the first */
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "web: %s\n", failure);
    return -1;
}

const char *web_failure(void) {
    return failure;
}

uint64_t web_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        perror("web: CLOCK_MONOTONIC");
        abort();
    }
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

volatile sig_atomic_t web_stop_signal;

static void note(int number) {
    web_stop_signal = number;
}

int web_signals_settle(void) {
    static const int stopping[] = {SIGTERM, SIGINT, SIGHUP};
    /* Without SA_RESTART, so that blocking calls return. */
    struct sigaction action = {.sa_handler = note};
    sigset_t none;
    if (sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ||
        sigemptyset(&action.sa_mask) != 0 || signal(SIGCHLD, SIG_DFL) == SIG_ERR ||
        signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
        return web_fail("signals: cannot install the handlers");
    }
    for (size_t i = 0; i < sizeof stopping / sizeof stopping[0]; i++) {
        if (sigaction(stopping[i], &action, NULL) != 0) {
            return web_fail("signals: cannot install the handlers");
        }
    }
    return 0;
}
