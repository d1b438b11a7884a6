/*
 * Latency of a simple process, as a web server starts one per request: fork, execve of a small
 * program that is dynamically linked to the C library only, its end, and the wait for it.
 *
 * The kernel copies the memory of the parent page table by page table and mapping by mapping, and
 * releases it when the child executes. Therefore both are parameters.
 *
 * Part of the time is in user mode, where the loader links the program. The control group reports
 * this part, if it contains only these processes.
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
    "Measure the latency of a simple process: fork, execve of --program in the new process, its\n"
    "end, and the wait for it.\n"
    "One series per value of --resident-kib: private memory of the parent, in pages of the\n"
    "default size. One further series per value of --mappings except the first: file mappings in\n"
    "addition to the own ones (`own_mappings` in the first lines of the results), with the first\n"
    "value of --resident-kib. --program should be small and linked to the C library only.\n"
    "Metrics: latency, in ns per process; user_share, the fraction of processor time in user\n"
    "mode, if the control group of this program contains no other processes (otherwise,\n"
    "`user_share` in the first lines of the results has the reason).";
static const char SINGLE[] = "the control group reports the sum of all processes";

enum { EXIT_NOT_EXECUTED = 126, MOST_KIB = 1 << 26, MOST_MAPPINGS = 50000 };
/* Below this fraction of the requested time, user_share is omitted. */
static const double LEAST_OF_SHARE = 0.4;

extern char **environ;

/* Results of the child, in memory shared with main. */
struct found {
    struct lm_split first, last;
    bool begun;
    int exit_code; /* of the last process that failed */
};

struct simple {
    const char *path;
    const struct lm_group *group; /* NULL: user_share is unknown */
    struct found *found;
    size_t bytes;
    char *memory;
    size_t mapping_count;
    size_t mapped; /* existing number of `mappings` */
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

/* One page of the program at a time: neighbors that are not consecutive in their file stay separate
 * mappings. Of the five mappings of a library, two have a written page. */
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
    /* The memory of a server is in many small areas; fails if the kernel has no huge pages. */
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

/* Once before the measurement, to report a failure with its cause. */
static void try_once(struct lm_harness *harness, struct simple *simple) {
    if (simple_benchmark(1, simple) == 0) {
        return;
    }
    char what[4400];
    if (simple->found->exit_code == 0) {
        (void)snprintf(what, sizeof what, "fork: %s", strerror(errno));
    } else {
        (void)snprintf(what, sizeof what,
                       "%s: expected exit code 0, got %d%s; select a program with --program",
                       simple->path, simple->found->exit_code,
                       simple->found->exit_code == EXIT_NOT_EXECUTED ? " (cannot be executed here)"
                                                                     : "");
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
        (void)snprintf(why, sizeof why, "%.2f s of processor time are too short",
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

/* Number of mappings of this process; the vsyscall mapping is not copied by a fork. */
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
    lm_report_note(harness, "own_mappings", lines > 0 ? told : "cannot read /proc/self/maps");
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

/* The program that is built next to this one. */
static const char *beside(struct lm_harness *harness) {
    static const char name[] = "/programs/simple_process";
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    if (length < 0) {
        lm_fail(harness, "cannot read /proc/self/exe; select a program with --program");
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
        {.name = "--resident-kib", .help = "memory of the parent in KiB, a list", .text = &sizes},
        {.name = "--mappings", .help = "additional mappings of the parent, a list", .text = &more},
        {.name = "--program",
         .help = "program to execute instead of programs/simple_process next to this program",
         .text = &path},
        {.name = "--user-share-us",
         .help = "minimum processor time for user_share; 0: omit user_share",
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
        lm_usage_error(PROGRAM, "--program", "the path of a program, containing a /", path);
    }

    struct lm_harness harness;
    struct lm_group group;
    char why[4400] = "not requested";
    lm_open(&harness, &program, &settings);
    const bool is_known = share_us != 0 && lm_group_find(&group, why, sizeof why) == 0;
    lm_report_note(&harness, "user_share", is_known ? "from the own control group" : why);
    report_mappings(&harness);
    struct simple simple = {.path = path != NULL ? path : beside(&harness),
                            .group = is_known ? &group : NULL};
    void *area =
        mmap(NULL, sizeof *simple.found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        lm_fail(&harness, "cannot share memory with the child");
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
