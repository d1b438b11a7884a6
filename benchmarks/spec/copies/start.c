/* Starts the copies, releases them together, and waits for all. */
#define _GNU_SOURCE

#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(struct copies_run *run, size_t index, const char *what) {
    (void)snprintf(run->failure, sizeof run->failure, "copy %zu: %s", index + 1, what);
    return -1;
}

static int fail_errno(struct copies_run *run, size_t index, const char *what) {
    char text[200];
    (void)snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    return fail(run, index, text);
}

static int start(struct copies_run *run, size_t index, int go_read, int go_write) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return fail_errno(run, index, "pipe");
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        /* The pipes of other copies must end with their writers, not with this process. */
        if (close(go_write) != 0 || close(pipe_fds[0]) != 0) {
            _exit(COPIES_EXIT_FAILED);
        }
        copies_keep(run, index, parent, pipe_fds[1], go_read);
    }
    int error = errno;
    (void)close(pipe_fds[1]);
    if (pid < 0) {
        (void)close(pipe_fds[0]);
        errno = error;
        return fail_errno(run, index, "fork");
    }
    run->copy[index].pid = pid;
    run->copy[index].fd = pipe_fds[0];
    return 0;
}

/* Describe the end of a program that should have ended with 0. */
static int tell_end(struct copies_run *run, size_t index, const struct copies_message *message) {
    char pass[64] = "", text[200];
    if (run->options->passes > 1) {
        (void)snprintf(pass, sizeof pass, " in pass %llu", (unsigned long long)message->pass);
    }
    if (WIFSIGNALED(message->status)) {
        int number = WTERMSIG(message->status);
        (void)snprintf(text, sizeof text, "ended by signal %d (%s)%s", number, strsignal(number),
                       pass);
    } else {
        (void)snprintf(text, sizeof text, "exit code %d%s", WEXITSTATUS(message->status), pass);
    }
    (void)fail(run, index, text);
    copies_append_last_words(run, index);
    return -1;
}

/* Process one message of a copy. */
static int hear(struct copies_run *run, size_t index) {
    struct copies_copy *copy = &run->copy[index];
    struct copies_message message;
    ssize_t got;
    do {
        got = read(copy->fd, &message, sizeof message);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof message) {
        return fail(run, index, "its keeper was killed");
    }
    if (message.kind == COPIES_FAILED) {
        message.step[sizeof message.step - 1] = '\0';
        errno = message.status;
        return fail_errno(run, index, message.step);
    }
    if (message.kind == COPIES_READY) {
        copy->ready = true;
        return 0;
    }
    if (message.status != 0 || !copy->ready) {
        return tell_end(run, index, &message);
    }
    copy->ended = true;
    copy->end_ns = message.end_ns;
    return 0;
}

/* Wait until all copies are ready or all have ended. */
static int wait_for_all(struct copies_run *run, bool ended) {
    size_t count = (size_t)run->options->copies;
    struct pollfd *polled = calloc(count, sizeof *polled);
    if (polled == NULL) {
        return fail_errno(run, 0, "memory");
    }
    int status = 0;
    for (size_t waiting = count; waiting > 0 && status == 0;) {
        waiting = 0;
        for (size_t i = 0; i < count; i++) {
            bool done = ended ? run->copy[i].ended : run->copy[i].ready;
            polled[i] = (struct pollfd){.fd = done ? -1 : run->copy[i].fd, .events = POLLIN};
            waiting += !done;
        }
        if (waiting > 0 && poll(polled, (nfds_t)count, -1) < 0 && errno != EINTR) {
            status = fail_errno(run, 0, "poll");
        }
        for (size_t i = 0; waiting > 0 && i < count && status == 0; i++) {
            if (polled[i].fd >= 0 && polled[i].revents != 0) {
                status = hear(run, i);
            }
        }
    }
    free(polled);
    return status;
}

static int release(struct copies_run *run, int go_write) {
    char go[COPIES_MOST] = {0};
    size_t count = (size_t)run->options->copies;
    run->release_ns = copies_now_ns();
    ssize_t written = write(go_write, go, count);
    return written == (ssize_t)count ? 0 : fail_errno(run, 0, "cannot release");
}

/* After a failure, kill the remaining groups and reap every keeper. */
static int collect(struct copies_run *run, bool failed) {
    int status = 0;
    for (size_t i = 0; i < run->options->copies; i++) {
        struct copies_copy *copy = &run->copy[i];
        if (failed && copy->pid > 0) {
            /* The group may not exist yet or any more; its number still belongs to the keeper. */
            (void)kill(-copy->pid, SIGKILL);
            (void)kill(copy->pid, SIGKILL);
        }
    }
    for (size_t i = 0; i < run->options->copies; i++) {
        struct copies_copy *copy = &run->copy[i];
        struct rusage usage;
        pid_t got = 0;
        while (copy->pid > 0 && (got = wait4(copy->pid, NULL, 0, &usage)) < 0 && errno == EINTR) {
        }
        if (got > 0) {
            copy->user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
            copy->system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
            copy->max_rss_kib = usage.ru_maxrss;
        } else if (got < 0 && !failed) {
            status = fail_errno(run, i, "wait4");
        }
        if (copy->fd >= 0) {
            (void)close(copy->fd);
        }
        copy->pid = 0;
        copy->fd = -1;
    }
    return status;
}

int copies_execute(struct copies_run *run) {
    for (size_t i = 0; i < run->options->copies; i++) {
        run->copy[i].fd = -1;
    }
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) {
        return fail_errno(run, 0, "pipe");
    }
    int status = 0;
    for (size_t i = 0; i < run->options->copies && status == 0; i++) {
        status = start(run, i, go[0], go[1]);
    }
    if (status == 0) {
        status = wait_for_all(run, false);
    }
    if (status == 0) {
        status = release(run, go[1]);
    }
    if (status == 0) {
        status = wait_for_all(run, true);
    }
    if (collect(run, status != 0) != 0) {
        status = -1;
    }
    (void)close(go[0]);
    (void)close(go[1]);
    return status;
}
