/* The command that observes the server during the measured requests. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t SETTLE_NS = UINT64_C(1000000000); /* if it does not report readiness */
/* `regatta trace os` may need 150 s to detach on a throttled or very busy machine. */
static const uint64_t END_NS = UINT64_C(200000000000);

/* Room for the ids of all processes that a server can have. */
enum { PIDS_BYTES = 12 * (WEB_MOST_CONNECTIONS * 3 + 32) };

static char *list_pids(const struct web_server *server) {
    char *text = calloc(1, PIDS_BYTES);
    struct web_process *list = NULL;
    ssize_t count = web_descendants(server->pid, true, &list);
    size_t used = 0;
    for (ssize_t i = 0; text != NULL && i < count && used + 12 < PIDS_BYTES; i++) {
        used += (size_t)snprintf(text + used, PIDS_BYTES - used, "%s%ld", i == 0 ? "" : ",",
                                 (long)list[i].pid);
    }
    free(list);
    return text;
}

/* Return a copy of `argument` with each `name` replaced by `value`; the caller frees it. */
static char *replaced(const char *argument, const char *name, const char *value) {
    size_t length = strlen(argument) + 1, name_length = strlen(name);
    for (const char *at = argument; (at = strstr(at, name)) != NULL; at += name_length) {
        length += strlen(value);
    }
    char *copy = malloc(length), *end = copy;
    while (copy != NULL) {
        const char *at = strstr(argument, name);
        size_t before = at == NULL ? strlen(argument) : (size_t)(at - argument);
        (void)memcpy(end, argument, before);
        end += before;
        if (at == NULL) {
            *end = '\0';
            break;
        }
        (void)memcpy(end, value, strlen(value));
        end += strlen(value);
        argument = at + name_length;
    }
    return copy;
}

static char **command(const struct web_tracer *tracer, const struct web_server *server,
                      bool *tells) {
    char pid[24], requests[24], *pids = list_pids(server);
    (void)snprintf(pid, sizeof pid, "%ld", (long)server->pid);
    (void)snprintf(requests, sizeof requests, "%llu",
                   (unsigned long long)server->options->requests);
    const char *const names[] = {"{pid}", "{pids}", "{requests}", "{ready}"};
    const char *const values[] = {pid, pids, requests, tracer->ready};
    char **given = server->options->trace_command;
    size_t count = 0;
    while (given[count] != NULL) {
        count++;
    }
    char **made = calloc(count + 1, sizeof *made);
    *tells = false;
    for (size_t i = 0; made != NULL && pids != NULL && i < count; i++) {
        *tells = *tells || strstr(given[i], "{ready}") != NULL;
        char *argument = strdup(given[i]);
        for (size_t j = 0; argument != NULL && j < sizeof names / sizeof names[0]; j++) {
            char *next = replaced(argument, names[j], values[j]);
            free(argument);
            argument = next;
        }
        made[i] = argument;
    }
    free(pids);
    return made;
}

static void free_command(char **made) {
    for (size_t i = 0; made != NULL && made[i] != NULL; i++) {
        free(made[i]);
    }
    free((void *)made);
}

static int ended(struct web_tracer *tracer, int status) {
    tracer->pid = 0;
    tracer->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return tracer->exit_code;
}

static int wait_until_it_watches(struct web_tracer *tracer, const struct web_server *server,
                                 bool tells) {
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t until =
        web_now_ns() + (tells ? server->options->trace_wait_ms * UINT64_C(1000000) : SETTLE_NS);
    while (!(tells && access(tracer->ready, F_OK) == 0)) {
        int status;
        if (waitpid(tracer->pid, &status, WNOHANG) == tracer->pid) {
            return web_fail("%s: ended with exit code %d while observing the server",
                            server->options->trace_command[0], ended(tracer, status));
        }
        if (web_stop_signal != 0) {
            return web_fail("stopped by signal %d", (int)web_stop_signal);
        }
        if (web_now_ns() > until) {
            return tells ? web_fail("%s: did not create %s within %llu ms",
                                    server->options->trace_command[0], tracer->ready,
                                    (unsigned long long)server->options->trace_wait_ms)
                         : 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

int web_tracer_start(struct web_tracer *tracer, const struct web_server *server) {
    bool tells;
    (void)snprintf(tracer->ready, sizeof tracer->ready, "%s/watching", server->folder->path);
    char **made = command(tracer, server, &tells);
    if (made == NULL || fflush(NULL) != 0 || (tracer->pid = fork()) < 0) {
        free_command(made);
        return web_fail("%s: cannot start it: %s", server->options->trace_command[0],
                        strerror(errno));
    }
    if (tracer->pid == 0) {
        /* Its processor time is not the server's; if it cannot leave the group, accounting detects
         * it. */
        web_group_leave();
        /* In a separate process group: on Ctrl-C, the driver ends it. */
        if (prctl(PR_SET_PDEATHSIG, SIGINT) == 0 && setpgid(0, 0) == 0 &&
            dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
            (void)signal(SIGPIPE, SIG_DFL);
            (void)signal(SIGINT, SIG_DFL);
            (void)signal(SIGTERM, SIG_DFL);
            (void)signal(SIGHUP, SIG_DFL);
            (void)execvp(made[0], made);
            perror(made[0]);
        }
        _exit(127);
    }
    free_command(made);
    return wait_until_it_watches(tracer, server, tells);
}

int web_tracer_stop(struct web_tracer *tracer) {
    const struct timespec pause = {.tv_nsec = 5000000};
    if (tracer->pid <= 0) {
        return 0;
    }
    uint64_t until = web_now_ns() + END_NS;
    (void)kill(tracer->pid, SIGINT);
    int status;
    pid_t got;
    while ((got = waitpid(tracer->pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (web_now_ns() > until) {
            (void)kill(tracer->pid, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)ended(tracer, status);
    return 0;
}
