/*
 * Latency of a simple process, as a web server starts one for a request: fork, execve of a small
 * program that is linked dynamically with the C library only, its end, and the wait for it.
 *
 * What the parent holds of memory is copied page table by page table, and mapping by mapping, and
 * given back as the child executes, so that both are varied.
 * Part of the time passes in user mode: the loader links the program. How much is told by the
 * control group, where there is one with these processes only.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */

#include "harness/group.h"
#include "harness/lm.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_simple";
static const char SUMMARY[] =
    "Measures the latency of a simple process: fork, execve of --program in the new process, its\n"
    "end, the wait for it; a series for each of --resident-kib, the private memory of the parent\n"
    "in pages of the usual size, and one for each of --mappings except the first: this number of\n"
    "mappings of files in addition to `own_mappings` (in the first lines of the results),\n"
    "with the first of --resident-kib. --program shall be small and linked with the C library\n"
    "only. Metrics: latency, in ns per process, and user_share, the share of the\n"
    "processor's time that passes in user mode, where the control group of this program holds no\n"
    "other processes (`user_share` of the first lines of the results gives the reason if not).";
static const char SINGLE[] = "the control group counts all processes together";

enum { EXIT_NOT_EXECUTED = 126, MOST_KIB = 1 << 26, MOST_MAPPINGS = 50000 };
/* With less of what was asked for the share is not told. */
static const double LEAST_OF_SHARE = 0.4;

extern char **environ;

/* What the child found, in memory that it has in common with main. */
struct found {
    struct lm_split first, last;
    bool begun;
    int exit_code; /* of the last process that failed */
};

struct simple {
    const char *path;
    const struct lm_group *group; /* NULL: the share is not known */
    struct found *found;
    size_t bytes;
    char *memory;
    size_t mapping_count;
    size_t mapped; /* of `mappings`, so many are there */
    void **mappings;
};

static int await(pid_t id, struct found *found) {
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(id, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) {
        return -1;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        found->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        errno = ECHILD;
        return -1;
    }
    return 0;
}

static int simple_benchmark(uint64_t operations, void *cookie) {
    const struct simple *simple = cookie;
    char *const arguments[] = {(char *)simple->path, NULL};
    for (uint64_t i = 0; i < operations; i++) {
        pid_t id = fork();
        if (id == 0) {
            (void)execve(simple->path, arguments, environ);
            _exit(EXIT_NOT_EXECUTED);
        }
        if (id < 0 || await(id, simple->found) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One page of the program at a time: neighbours that do not follow each other in their file stay
 * mappings of their own. Of the five that a library has, two have a page that was written to. */
static int map_more(struct simple *simple) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    simple->mappings = calloc(simple->mapping_count + 1, sizeof *simple->mappings);
    const int file = open(simple->path, O_RDONLY | O_CLOEXEC);
    int status = simple->mappings != NULL && file >= 0 ? 0 : -1;
    while (status == 0 && simple->mapped < simple->mapping_count) {
        const bool written = simple->mapped % 5 >= 3;
        const int protection = written ? PROT_READ | PROT_WRITE : PROT_READ;
        volatile char *area = mmap(NULL, page, protection, MAP_PRIVATE, file, 0);
        if (area == MAP_FAILED) {
            status = -1;
            break;
        }
        simple->mappings[simple->mapped++] = (void *)area;
        const char first = area[0];
        if (written) {
            area[0] = first;
        }
    }
    const int cause = errno;
    if (file >= 0) {
        (void)close(file);
    }
    errno = cause;
    return status;
}

static int unmap_more(struct simple *simple) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int status = 0;
    while (simple->mapped > 0) {
        status = munmap(simple->mappings[--simple->mapped], page) != 0 ? -1 : status;
    }
    free(simple->mappings);
    simple->mappings = NULL;
    return status;
}

static int begin(struct simple *simple) {
    if (simple->mapping_count > 0 && map_more(simple) != 0) {
        return -1;
    }
    if (simple->bytes == 0) {
        return 0;
    }
    void *area =
        mmap(NULL, simple->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        return -1;
    }
    simple->memory = area;
    /* A server's memory is in many small areas; refused where the kernel has no huge pages. */
    (void)madvise(area, simple->bytes, MADV_NOHUGEPAGE);
    (void)memset(area, 'x', simple->bytes);
    return 0;
}

static int simple_initialise(uint64_t operations, void *cookie) {
    struct simple *simple = cookie;
    if (operations == 0) {
        return begin(simple);
    }
    if (simple->group == NULL || simple->found->begun) {
        return 0;
    }
    simple->found->begun = true;
    return lm_group_read(simple->group, &simple->found->first);
}

static int simple_cleanup(uint64_t operations, void *cookie) {
    struct simple *simple = cookie;
    if (operations != 0) {
        return simple->group != NULL ? lm_group_read(simple->group, &simple->found->last) : 0;
    }
    int status = unmap_more(simple);
    if (simple->memory != NULL && munmap(simple->memory, simple->bytes) != 0) {
        status = -1;
    }
    simple->memory = NULL;
    return status;
}

/* Once before it is measured: here a failure can be told with its cause. */
static void try_once(struct lm_harness *harness, struct simple *simple) {
    if (simple_benchmark(1, simple) == 0) {
        return;
    }
    char what[4400];
    if (simple->found->exit_code == 0) {
        (void)snprintf(what, sizeof what, "fork: %s", strerror(errno));
    } else {
        (void)snprintf(
            what, sizeof what, "%s: expected exit code 0, got %d%s; --program names it",
            simple->path, simple->found->exit_code,
            simple->found->exit_code == EXIT_NOT_EXECUTED ? " (it cannot be executed here)" : "");
    }
    lm_fail(harness, what);
}

static void report_share(struct lm_harness *harness, const struct simple *simple,
                         const struct lm_series *series, double least_s) {
    char why[4400];
    const struct lm_split *first = &simple->found->first, *last = &simple->found->last;
    double user_s = last->user_s - first->user_s, system_s = last->system_s - first->system_s;
    if (lm_group_check(simple->group, why, sizeof why) != 0) {
        lm_report_note(harness, "user_share", why);
        return;
    }
    if (user_s + system_s <= 0 || user_s + system_s < LEAST_OF_SHARE * least_s) {
        (void)snprintf(why, sizeof why, "%.2f s of processor time are too little to tell it",
                       user_s + system_s);
        lm_report_note(harness, "user_share", why);
        return;
    }
    const double share = user_s / (user_s + system_s);
    const struct lm_result result = {.metric = "user_share",
                                     .unit = "ratio",
                                     .values = &share,
                                     .count = 1,
                                     .parameters = series->parameters,
                                     .parameter_count = series->parameter_count};
    lm_report(harness, &result);
}

/* How many mappings this process has; the one of old system calls is no memory that a fork copies.
 */
static void report_mappings(struct lm_harness *harness) {
    char told[24], line[4400];
    unsigned long long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        lines += strchr(line, '\n') != NULL && strstr(line, "[vsyscall]") == NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)snprintf(told, sizeof told, "%llu", lines);
    lm_report_note(harness, "own_mappings", lines > 0 ? told : "/proc/self/maps cannot be read");
}

static void measure(struct lm_harness *harness, struct simple *simple, uint64_t kib,
                    uint64_t mappings, uint64_t share_us) {
    const uint64_t interval_us = harness->settings.interval_us;
    const uint64_t needed_us = share_us / harness->settings.repetitions;
    const struct lm_workload workload = {.initialise = simple_initialise,
                                         .benchmark = simple_benchmark,
                                         .cleanup = simple_cleanup,
                                         .cookie = simple};
    const struct lm_parameter parameters[] = {{.name = "resident_kib", .number = kib},
                                              {.name = "mappings", .number = mappings}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    *simple->found = (struct found){.begun = false};
    simple->bytes = (size_t)kib * 1024;
    simple->mapping_count = (size_t)mappings;
    if (simple->group != NULL && interval_us < needed_us) {
        harness->settings.interval_us = needed_us;
    }
    lm_run(harness, &workload, &series);
    harness->settings.interval_us = interval_us;
    if (simple->group != NULL) {
        report_share(harness, simple, &series, (double)share_us * 1e-6);
    }
}

/* The program that is built beside this one. */
static const char *beside(struct lm_harness *harness) {
    static const char name[] = "/programs/simple_process";
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    if (length < 0) {
        lm_fail(harness, "/proc/self/exe cannot be read; --program names a program to execute");
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    (void)memcpy(slash != NULL ? slash : path, name, sizeof name);
    return path;
}

int main(int argc, char **argv) {
    const char *sizes = "0,16384,65536", *more = "0,300", *path = NULL;
    uint64_t share_us = 1000000;
    const struct lm_option options[] = {
        {.name = "--resident-kib", .help = "memory of the parent, in KiB", .text = &sizes},
        {.name = "--mappings", .help = "additional mappings of the parent", .text = &more},
        {.name = "--program",
         .help = "program to execute instead of programs/simple_process next to this program",
         .text = &path},
        {.name = "--user-share-us",
         .help = "minimum processor time behind user_share; 0: no user_share",
         .number = &share_us,
         .maximum = 60000000},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers kib, mappings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--resident-kib", sizes, 0, MOST_KIB, &kib);
    lm_numbers_parse(PROGRAM, "--mappings", more, 0, MOST_MAPPINGS, &mappings);
    if (path != NULL && (strchr(path, '/') == NULL || access(path, X_OK) != 0)) {
        lm_usage_error(PROGRAM, "--program", "the path of a program, with a / in it", path);
    }

    struct lm_harness harness;
    struct lm_group group;
    char why[4400] = "not asked for";
    lm_open(&harness, &program, &settings);
    const bool is_known = share_us != 0 && lm_group_find(&group, why, sizeof why) == 0;
    lm_report_note(&harness, "user_share", is_known ? "from the own control group" : why);
    report_mappings(&harness);
    struct simple simple = {.path = path != NULL ? path : beside(&harness),
                            .group = is_known ? &group : NULL};
    void *area =
        mmap(NULL, sizeof *simple.found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        lm_fail(&harness, "no memory shared with the child");
    }
    simple.found = area;
    try_once(&harness, &simple);
    for (size_t i = 0; i < kib.count; i++) {
        measure(&harness, &simple, kib.number[i], mappings.number[0], share_us);
    }
    for (size_t i = 1; i < mappings.count; i++) {
        measure(&harness, &simple, kib.number[0], mappings.number[i], share_us);
    }
    (void)munmap(area, sizeof *simple.found);
    return lm_close(&harness);
}
