/* One copy: the keeper, which leads a process group, and the program that it starts. */
#define _GNU_SOURCE

#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_FLAGS = O_WRONLY | O_CREAT | O_TRUNC };

/* If even this fails, the parent sees the end of the pipe. */
static void tell(int fd, const struct copies_message *message) {
    ssize_t written;
    do {
        written = write(fd, message, sizeof *message);
    } while (written < 0 && errno == EINTR);
}

static _Noreturn void fail(int fd, uint64_t pass, const char *step) {
    struct copies_message message = {.kind = COPIES_FAILED, .status = errno, .pass = pass};
    (void)snprintf(message.step, sizeof message.step, "%s", step);
    tell(fd, &message);
    _exit(COPIES_EXIT_FAILED);
}

/* The parent is gone: kill this group with all descendants of the program. */
static void end_group(int signal_number) {
    (void)signal_number;
    (void)kill(0, SIGKILL);
}

/* Request `signal_number` for the death of `parent`, and check whether it has already died. */
static void follow(pid_t parent, int signal_number, int fd) {
    if (prctl(PR_SET_PDEATHSIG, signal_number) != 0) {
        fail(fd, 1, "PR_SET_PDEATHSIG");
    }
    if (getppid() != parent) {
        _exit(COPIES_EXIT_FAILED);
    }
}

static void redirect(int target, const char *name, int flags, int fd) {
    int opened = open(name, flags | O_CLOEXEC, 0644);
    if (opened < 0 || dup2(opened, target) < 0 || (opened != target && close(opened) != 0)) {
        fail(fd, 1, "cannot open its standard files");
    }
}

/* The program has a separate directory, standard files, CPU and environment. */
static void settle(const struct copies_run *run, size_t index, int fd) {
    char name[COPIES_NAME_SIZE];
    redirect(STDIN_FILENO, "/dev/null", O_RDONLY, fd);
    copies_stderr_name(name, index, run->options->check);
    redirect(STDERR_FILENO, name, OUTPUT_FLAGS, fd);
    copies_directory_name(name, index);
    if (chdir(name) != 0) {
        fail(fd, 1, "cannot enter its directory");
    }
    char *directory = realpath(".", NULL);
    if (directory == NULL || setenv("HOME", directory, 1) != 0 ||
        setenv("TMPDIR", directory, 1) != 0) {
        fail(fd, 1, "cannot name its directory");
    }
    free(directory);
    int cpu = run->copy[index].cpu;
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) {
            fail(fd, 1, "cannot bind to its CPU");
        }
    }
}

static _Noreturn void become_program(const struct copies_run *run, size_t index, uint64_t pass,
                                     pid_t keeper, int fd, int go_fd) {
    const struct copies_options *options = run->options;
    char name[COPIES_NAME_SIZE], path[COPIES_NAME_SIZE + 3];
    follow(keeper, SIGKILL, fd);
    copies_stdout_name(name, index, pass, options->check);
    (void)snprintf(path, sizeof path, "../%s", name);
    redirect(STDOUT_FILENO, path, OUTPUT_FLAGS, fd);
    if (pass == 1) {
        struct copies_message ready = {.kind = COPIES_READY, .pass = pass};
        tell(fd, &ready);
        char go;
        ssize_t got;
        do {
            got = read(go_fd, &go, 1);
        } while (got < 0 && errno == EINTR);
        if (got != 1) {
            /* End of file is no release: the parent has died. */
            _exit(COPIES_EXIT_FAILED);
        }
    }
    (void)execvp(options->command[0], options->command);
    fail(fd, pass, "cannot start the command");
}

_Noreturn void copies_keep(const struct copies_run *run, size_t index, pid_t parent, int fd,
                           int go_fd) {
    /* Create the group first: the handler kills the group that it belongs to. */
    struct sigaction action = {.sa_handler = end_group};
    if (setpgid(0, 0) != 0 || sigaction(SIGTERM, &action, NULL) != 0) {
        fail(fd, 1, "cannot create a process group");
    }
    follow(parent, SIGTERM, fd);
    settle(run, index, fd);
    struct copies_message ended = {.kind = COPIES_ENDED};
    pid_t keeper = getpid();
    for (ended.pass = 1; ended.pass <= run->options->passes; ended.pass++) {
        pid_t program = fork();
        if (program < 0) {
            fail(fd, ended.pass, "fork");
        }
        if (program == 0) {
            become_program(run, index, ended.pass, keeper, fd, go_fd);
        }
        while (waitpid(program, &ended.status, 0) < 0) {
            if (errno != EINTR) {
                fail(fd, ended.pass, "waitpid");
            }
        }
        ended.end_ns = copies_now_ns();
        if (ended.status != 0) {
            break;
        }
    }
    tell(fd, &ended);
    _exit(0);
}
