/*
 * Runs N simultaneous copies of a program: one copy for speed, several for rate.
 *
 * Each copy has a separate directory with a copy of the files of the working directory. Two
 * processes belong to a copy: a keeper, which leads a process group, and the program. The first
 * program process of every copy is ready before any is released. The time is from the release to
 * the end of the last program. If the parent dies for any reason, the kernel notifies the keepers,
 * which kill their groups.
 */
#ifndef COPIES_H
#define COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { COPIES_EXIT_FAILED = 1, COPIES_EXIT_USAGE = 2 };

/* A release is one write to a pipe, one byte per copy. It is atomic up to PIPE_BUF, which is at
 * least 512 in POSIX and 4096 in Linux. */
enum { COPIES_MOST = 1024, COPIES_MOST_PASSES = 1000 };

enum { COPIES_MESSAGE_SIZE = 600, COPIES_NAME_SIZE = 64 };

struct copies_options {
    uint64_t copies, passes;
    const char *placement; /* "free" or "compact" */
    bool check;            /* in the directories of an earlier run, without a report */
    char **command;        /* NULL-terminated */
};

/* One copy. Times are CLOCK_MONOTONIC. */
struct copies_copy {
    pid_t pid; /* of its keeper, which leads the process group; 0: none */
    int fd;    /* its messages; -1: closed */
    int cpu;   /* its processor; -1: any */
    bool ready, ended;
    uint64_t end_ns;
    double user_s, system_s;
    long max_rss_kib;
};

struct copies_run {
    const struct copies_options *options;
    struct copies_copy *copy; /* options->copies elements */
    uint64_t release_ns;
    char failure[COPIES_MESSAGE_SIZE]; /* empty: no failure */
};

uint64_t copies_now_ns(void);

/* Write a file name: the directory of copy `index` (from 0), or a file next to it. */
void copies_directory_name(char name[COPIES_NAME_SIZE], size_t index);
void copies_stdout_name(char name[COPIES_NAME_SIZE], size_t index, uint64_t pass, bool check);
void copies_stderr_name(char name[COPIES_NAME_SIZE], size_t index, bool check);

/* ---- files.c; each returns 0, or -1 with a message in `failure` ---- */

/* Create the directories, each with a copy of every file of the working directory. */
int copies_make_directories(struct copies_run *run);
/* Compare the output of the copies in every pass, and print it once to standard output. */
int copies_print_output(struct copies_run *run);
/* Append the last line of a copy's standard error to the failure, if any. */
void copies_append_last_words(struct copies_run *run, size_t index);

/* ---- placement.c ---- */

/* Select a CPU for each copy. compact: available CPUs, hardware threads of a core first, then the
 * next core of the package; starts again from the first if there are more copies than CPUs. */
int copies_place(struct copies_run *run);

/* ---- keeper.c ---- */

/* Messages of a copy to the parent, one write each. */
enum copies_kind { COPIES_READY, COPIES_ENDED, COPIES_FAILED };
struct copies_message {
    int kind;
    int status;      /* ENDED: as from wait(); FAILED: errno */
    uint64_t pass;   /* from 1 */
    uint64_t end_ns; /* ENDED */
    char step[32];   /* FAILED: the failed step */
};

/* The complete life of a copy, in a process that was just forked. Its messages go to `fd`; the
 * program starts after it has read a byte from `go_fd`. */
_Noreturn void copies_keep(const struct copies_run *run, size_t index, pid_t parent, int fd,
                           int go_fd);

/* ---- start.c ---- */

/* Start the copies, release them together and wait for all. Return 0, or -1 with the failure
 * reported and no copy left. */
int copies_execute(struct copies_run *run);

/* ---- report.c ---- */

/* Open the file of REGATTA_RESULTS and remove the variable; return NULL if it is not set. End the
 * program if the file cannot be opened. */
FILE *copies_open_results(void);
/* Write lines of docs/protocol.md to `results` (may be NULL), and a readable line to standard
 * error. Return 0, or -1 if writing fails. */
int copies_report(const struct copies_run *run, FILE *results);
int copies_report_failure(const struct copies_run *run, FILE *results);

#endif
