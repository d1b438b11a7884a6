/*
 * Runs N copies of a program at once: speed is one copy, rate is as many as are wanted.
 *
 * Each copy has a directory of its own with a copy of the files that lie in the working directory.
 * Two processes belong to a copy: a keeper, which leads a process group, and the program. The first
 * program process of every copy is there and ready before any is released; the time is from the
 * release to the end of the last program. If the parent dies, however it dies, the kernel tells the
 * keepers, and they take their groups with them.
 */
#ifndef COPIES_H
#define COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { COPIES_EXIT_FAILED = 1, COPIES_EXIT_USAGE = 2 };

/* A release is one write to a pipe, a byte a copy: whole up to PIPE_BUF, which POSIX makes 512 or
 * more and Linux 4096. */
enum { COPIES_MOST = 1024, COPIES_MOST_PASSES = 1000 };

enum { COPIES_MESSAGE_SIZE = 600, COPIES_NAME_SIZE = 64 };

struct copies_options {
    uint64_t copies, passes;
    const char *placement; /* "free" or "compact" */
    bool check;            /* in the directories of an earlier run; nothing is reported */
    char **command;        /* NULL-terminated */
};

/* One copy. Times are CLOCK_MONOTONIC. */
struct copies_copy {
    pid_t pid; /* of its keeper, who leads the process group; 0: not there */
    int fd;    /* what it says; -1: closed */
    int cpu;   /* where it must run; -1: anywhere */
    bool ready, ended;
    uint64_t end_ns;
    double user_s, system_s;
    long max_rss_kib;
};

struct copies_run {
    const struct copies_options *options;
    struct copies_copy *copy; /* as many as options->copies */
    uint64_t release_ns;
    char failure[COPIES_MESSAGE_SIZE]; /* empty: none */
};

uint64_t copies_now_ns(void);

/* Writes a file's name: the directory of copy `index` (from 0), or a file beside it. */
void copies_directory_name(char name[COPIES_NAME_SIZE], size_t index);
void copies_stdout_name(char name[COPIES_NAME_SIZE], size_t index, uint64_t pass, bool check);
void copies_stderr_name(char name[COPIES_NAME_SIZE], size_t index, bool check);

/* ---- files.c; each returns 0, or -1 with a message in `failure` ---- */

/* Makes the directories, each with a copy of every file of the working directory. */
int copies_make_directories(struct copies_run *run);
/* Compares what the copies printed in every pass, and prints it once to standard output. */
int copies_print_output(struct copies_run *run);
/* Appends the last line of a copy's standard error to the failure, where there is one. */
void copies_append_last_words(struct copies_run *run, size_t index);

/* ---- placement.c ---- */

/* Chooses a CPU for each copy. Compact: those that may be used, hardware threads of a core first,
 * then the next core of the package; from the first again when there are more copies than CPUs. */
int copies_place(struct copies_run *run);

/* ---- keeper.c ---- */

/* What a copy tells the parent, in one write each. */
enum copies_kind { COPIES_READY, COPIES_ENDED, COPIES_FAILED };
struct copies_message {
    int kind;
    int status;      /* ENDED: as wait() gives it; FAILED: errno */
    uint64_t pass;   /* from 1 */
    uint64_t end_ns; /* ENDED */
    char step[32];   /* FAILED: what could not be done */
};

/* The whole life of a copy, in a process that was just forked. `fd` takes its messages; the program
 * starts when it has read a byte from `go_fd`. */
_Noreturn void copies_keep(const struct copies_run *run, size_t index, pid_t parent, int fd,
                           int go_fd);

/* ---- start.c ---- */

/* Starts the copies, releases them together and waits for all. Returns 0, or -1 with the failure
 * told, and no copy left. */
int copies_execute(struct copies_run *run);

/* ---- report.c ---- */

/* Opens the file of REGATTA_RESULTS and takes the variable away; NULL where it is not set. Ends the
 * program where the file cannot be opened. */
FILE *copies_open_results(void);
/* Lines of docs/protocol.md to `results` (may be NULL), and one for people to standard error.
 * Returns 0, or -1 when it cannot be written. */
int copies_report(const struct copies_run *run, FILE *results);
int copies_report_failure(const struct copies_run *run, FILE *results);

#endif
