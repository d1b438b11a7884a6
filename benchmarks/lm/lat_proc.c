/*
 * Latency of a procedure call and of making a process, in the steps of the paper: fork alone, fork
 * and exec of another program, fork and a shell that starts the program.
 *
 * What is executed is this program itself, told to end at once: the same work of the loader on
 * every machine, whereas /bin/true differs from one system to the next (and reads locales on some).
 */
#define _DEFAULT_SOURCE

#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_proc";
static const char SUMMARY[] =
    "Measures the latency of a procedure call and of making a process.\n"
    "procedure: a call with an integer that is returned, each call needing the result of the one\n"
    "before. fork: fork, exit in the new process, wait for it. exec: the same with an execve of\n"
    "--program before the exit. shell: fork, execve of /bin/sh -c, which starts --program.\n"
    "Metric: latency, in ns per call or a process.";

/* As its only argument it makes this program end at once, before anything is set up. */
static const char END_AT_ONCE[] = "--end-at-once";
/* What a shell says too of what it could not execute. */
enum { EXIT_NOT_EXECUTED = 126 };

extern char **environ;

struct target {
    const char *path; /* of the program executed */
    int exit_code;    /* of the last process that failed */
};

/* Not inlined, and with a statement that the compiler cannot see through, so that the call cannot
 * be taken out. */
static __attribute__((noinline)) uint64_t procedure(uint64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

#define CALL value = procedure(value);
#define CALL_4 CALL CALL CALL CALL
#define CALL_16 CALL_4 CALL_4 CALL_4 CALL_4
enum { CALLS_PER_TURN = 16 };

static int make_calls(uint64_t operations, void *cookie) {
    (void)cookie;
    uint64_t value = operations;
    for (uint64_t turn = operations / CALLS_PER_TURN; turn > 0; turn--) {
        CALL_16
    }
    return value == operations ? 0 : -1;
}

/* Waits for a process; anything but success is a failure. */
static int await(pid_t id, struct target *target) {
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(id, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) {
        return -1;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        target->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        errno = ECHILD;
        return -1;
    }
    return 0;
}

static int make_forks(uint64_t operations, void *cookie) {
    for (uint64_t i = 0; i < operations; i++) {
        pid_t id = fork();
        if (id == 0) {
            _exit(0);
        }
        if (id < 0 || await(id, cookie) != 0) {
            return -1;
        }
    }
    return 0;
}

static int execute(uint64_t operations, struct target *target, const char *path,
                   char *const *arguments) {
    for (uint64_t i = 0; i < operations; i++) {
        pid_t id = fork();
        if (id == 0) {
            (void)execve(path, arguments, environ);
            _exit(EXIT_NOT_EXECUTED);
        }
        if (id < 0 || await(id, target) != 0) {
            return -1;
        }
    }
    return 0;
}

static int make_execs(uint64_t operations, void *cookie) {
    struct target *target = cookie;
    char *const arguments[] = {(char *)target->path, (char *)END_AT_ONCE, NULL};
    return execute(operations, target, target->path, arguments);
}

static int make_shells(uint64_t operations, void *cookie) {
    struct target *target = cookie;
    /* The path is an argument of the command, so that nothing in it can mean something to the
     * shell. */
    char *const arguments[] = {
        "sh", "-c", "\"$0\" \"$1\"", (char *)target->path, (char *)END_AT_ONCE, NULL};
    return execute(operations, target, "/bin/sh", arguments);
}

struct kind {
    const char *name;
    lm_step *benchmark;
    uint64_t per_turn;
};

static const struct kind KINDS[] = {
    {"procedure", make_calls, CALLS_PER_TURN},
    {"fork", make_forks, 1},
    {"exec", make_execs, 1},
    {"shell", make_shells, 1},
};

/* Once before it is measured: here a failure can be told with its cause. */
static void try_once(struct lm_harness *harness, const struct kind *kind, struct target *target) {
    if (kind->benchmark(kind->per_turn, target) == 0) {
        return;
    }
    char what[4400];
    if (target->exit_code == 0) {
        (void)snprintf(what, sizeof what, "%s: %s", kind->name, strerror(errno));
    } else {
        (void)snprintf(what, sizeof what,
                       "%s of %s: expected exit code 0, got %d%s; --program names another program",
                       kind->name, target->path, target->exit_code,
                       target->exit_code == EXIT_NOT_EXECUTED ? " (it cannot be executed here)"
                                                              : "");
    }
    lm_fail(harness, what);
}

static void measure_kind(struct lm_harness *harness, const struct kind *kind,
                         struct target *target) {
    try_once(harness, kind, target);
    const struct lm_workload workload = {
        .benchmark = kind->benchmark, .cookie = target, .operations_per_turn = kind->per_turn};
    const struct lm_parameter parameter = {.name = "kind", .text = kind->name};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(harness, &workload, &series);
}

/* The path of this program. The link itself would mean the shell where a shell executes it. */
static const char *own_path(struct lm_harness *harness) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) {
        lm_fail(harness, "/proc/self/exe cannot be read; --program names a program to execute");
    }
    path[length] = '\0';
    return path;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], END_AT_ONCE) == 0) {
        _exit(0);
    }
    static const char *const choices[] = {"all", "procedure", "fork", "exec", "shell", NULL};
    const char *chosen = choices[0], *path = NULL;
    const struct lm_option options[] = {
        {.name = "--kind", .help = "operation", .text = &chosen, .choices = choices},
        {.name = "--program",
         .help = "program for exec and shell instead of this program; it must succeed\n"
                 "                 with the argument --end-at-once",
         .text = &path},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    if (path != NULL && (strchr(path, '/') == NULL || access(path, X_OK) != 0)) {
        lm_usage_error(PROGRAM, "--program", "the path of a program, with a / in it", path);
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    struct target target = {.path = path != NULL ? path : own_path(&harness)};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(chosen, "all") == 0 || strcmp(chosen, KINDS[i].name) == 0) {
            measure_kind(&harness, &KINDS[i], &target);
        }
    }
    return lm_close(&harness);
}
