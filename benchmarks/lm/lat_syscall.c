/*
 * Latency of simple system calls: entering and leaving the kernel (null), and what the simplest
 * work in it adds.
 */
#define _DEFAULT_SOURCE /* syscall() and mkstemp(); POSIX has no call that does nothing */

#include "harness/lm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_syscall";
static const char SUMMARY[] = "Measures the latency of system calls: null (getppid), read (a byte "
                              "of /dev/zero), write (a byte\n"
                              "to /dev/null), stat, fstat, open_close and fcntl (F_GETFL; of a "
                              "file made in the working\n"
                              "directory, or --file).\n"
                              "Metric: latency, in ns per call.";

struct target {
    int descriptor;   /* of /dev/zero, /dev/null or the file; -1 when the call needs none */
    const char *path; /* of the file */
};

static int call_null(uint64_t operations, void *cookie) {
    (void)cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (syscall(SYS_getppid) < 0) {
            return -1;
        }
    }
    return 0;
}

static int call_read(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    char byte;
    for (uint64_t i = 0; i < operations; i++) {
        if (read(target->descriptor, &byte, 1) != 1) {
            return -1;
        }
    }
    lm_keep(&byte);
    return 0;
}

static int call_write(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    const char byte = 'x';
    for (uint64_t i = 0; i < operations; i++) {
        if (write(target->descriptor, &byte, 1) != 1) {
            return -1;
        }
    }
    return 0;
}

static int call_stat(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    struct stat status;
    for (uint64_t i = 0; i < operations; i++) {
        if (stat(target->path, &status) != 0) {
            return -1;
        }
    }
    lm_keep(&status);
    return 0;
}

static int call_fstat(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    struct stat status;
    for (uint64_t i = 0; i < operations; i++) {
        if (fstat(target->descriptor, &status) != 0) {
            return -1;
        }
    }
    lm_keep(&status);
    return 0;
}

static int call_open_close(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        int descriptor = open(target->path, O_RDONLY);
        if (descriptor < 0 || close(descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

static int call_fcntl(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (fcntl(target->descriptor, F_GETFL) < 0) {
            return -1;
        }
    }
    return 0;
}

struct call {
    const char *name;
    lm_step *benchmark;
    const char *device; /* what its descriptor is opened on; NULL: the file, where it needs one */
    int flags;
};

static const struct call CALLS[] = {
    {"null", call_null, NULL, O_RDONLY},          {"read", call_read, "/dev/zero", O_RDONLY},
    {"write", call_write, "/dev/null", O_WRONLY}, {"stat", call_stat, NULL, O_RDONLY},
    {"fstat", call_fstat, NULL, O_RDONLY},        {"open_close", call_open_close, NULL, O_RDONLY},
    {"fcntl", call_fcntl, NULL, O_RDONLY},
};

static void measure_call(struct lm_harness *harness, const struct call *call, const char *path) {
    const char *opened = call->device != NULL ? call->device : path;
    struct target target = {.descriptor = open(opened, call->flags), .path = path};
    if (target.descriptor < 0) {
        char what[200];
        (void)snprintf(what, sizeof what, "%s: %s", opened, strerror(errno));
        lm_fail(harness, what);
    }
    const struct lm_workload workload = {.benchmark = call->benchmark, .cookie = &target};
    const struct lm_parameter parameter = {.name = "call", .text = call->name};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(harness, &workload, &series);
    if (close(target.descriptor) != 0) {
        lm_fail(harness, strerror(errno));
    }
}

/* The file's name is relative: stat and open then cost the same however deep the working directory
 * lies. */
static char made_file[] = "lat_syscall.XXXXXX";

static void remove_made_file(void) {
    if (unlink(made_file) != 0) {
        perror(made_file);
    }
}

/* Makes the file. It is removed at exit, because a failure anywhere ends the program (lm_fail). */
static void make_file(struct lm_harness *harness) {
    int descriptor = mkstemp(made_file);
    if (descriptor < 0 || close(descriptor) != 0 || atexit(remove_made_file) != 0) {
        char what[200];
        (void)snprintf(what, sizeof what, "a file in the working directory: %s", strerror(errno));
        lm_fail(harness, what);
    }
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all",   "null",       "read",  "write", "stat",
                                          "fstat", "open_close", "fcntl", NULL};
    const char *chosen = choices[0], *path = NULL;
    const struct lm_option options[] = {
        {.name = "--call", .help = "system call", .text = &chosen, .choices = choices},
        {.name = "--file",
         .help = "file for null, stat, fstat, open_close and fcntl instead of a new file",
         .text = &path},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    if (path != NULL && access(path, R_OK) != 0) {
        lm_usage_error(PROGRAM, "--file", "a file that can be read", path);
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    if (path == NULL) {
        make_file(&harness);
        path = made_file;
    }
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
        if (strcmp(chosen, "all") == 0 || strcmp(chosen, CALLS[i].name) == 0) {
            measure_call(&harness, &CALLS[i], path);
        }
    }
    return lm_close(&harness);
}
