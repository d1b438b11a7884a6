/* Helper processes, and processes that do not outlive their parent. */
#define _GNU_SOURCE /* prctl */

#include "children.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void lm_die_with(pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have ended before the previous line. */
    if (getppid() != parent) {
        _exit(LM_EXIT_FAILED);
    }
}

pid_t lm_helper_start(int (*run)(void *cookie), void *cookie) {
    pid_t parent = getpid();
    (void)fflush(NULL);
    pid_t helper = fork();
    if (helper == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        lm_die_with(parent);
        _exit(run(cookie));
    }
    return helper;
}

int lm_helper_stop(pid_t helper) {
    int status = 0;
    pid_t ended = waitpid(helper, &status, WNOHANG);
    if (ended == 0) {
        if (kill(helper, SIGKILL) != 0) {
            return -1;
        }
        while ((ended = waitpid(helper, &status, 0)) < 0 && errno == EINTR) {
        }
    }
    if (ended < 0) {
        return -1;
    }
    /* Killed here, or ended successfully because its partner closed: both are expected. */
    if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
        (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        return 0;
    }
    errno = ECHILD;
    return -1;
}
