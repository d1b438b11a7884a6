/* Helpers whose end is not visible on the shared channel. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <signal.h>

/* Global, because a signal handler has no argument for it. */
static volatile int *watched;
static void (*watched_wake)(void *cookie);
static void *watched_cookie;

static void on_end(int signal_number) {
    (void)signal_number;
    int before = errno;
    *watched = 1;
    if (watched_wake != NULL) {
        watched_wake(watched_cookie);
    }
    errno = before;
}

int lm_watch_helpers(volatile int *ended, void (*wake)(void *cookie), void *cookie) {
    /* Without SA_RESTART: a call that waits for the helper returns. */
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_NOCLDSTOP};
    watched = ended;
    watched_wake = wake;
    watched_cookie = cookie;
    return sigemptyset(&action.sa_mask) != 0 ? -1 : sigaction(SIGCHLD, &action, NULL);
}
