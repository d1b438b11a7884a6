/*
 * Measure the processor time of the server's process tree. Use the own control group minus the
 * driver if the group has no other processes; otherwise sum over processes. The kernel's split of
 * ended processes into user and system time is wrong for processes shorter than its tick (all
 * becomes user time). For CGI the split of the group is better, because it samples all processes
 * together.
 */
#define _DEFAULT_SOURCE /* rusage */

#include "web.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- whether the group holds this tree only ---- */

static bool has_groups_inside(const char *directory) {
    DIR *opened = opendir(directory);
    bool found = opened == NULL;
    const struct dirent *entry;
    while (opened != NULL && !found && (entry = readdir(opened)) != NULL) {
        char path[WEB_PATH_BYTES + 260];
        struct stat status;
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        found = entry->d_name[0] != '.' && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    }
    if (opened != NULL) {
        (void)closedir(opened);
    }
    return found;
}

/* Whether one process descends from another: 1, 0, or -1 if an ancestor has ended. */
static int descends(pid_t pid, pid_t ancestor) {
    while (pid != ancestor) {
        if (pid <= 0) {
            return pid == 0 ? 0 : -1;
        }
        pid = web_parent(pid);
    }
    return 1;
}

bool web_accounting_own(const struct web_accounting *accounting) {
    char path[WEB_PATH_BYTES + 20];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", accounting->directory);
    FILE *file = fopen(path, "re");
    bool alone = file != NULL && !has_groups_inside(accounting->directory);
    long pid;
    while (alone && fscanf(file, "%ld", &pid) == 1) {
        /* Not a foreign process: this process and its descendants, one that has just ended (such as
         * a CGI program), and waiting ancestors (such as the shell of a container). The tracing
         * command is also a descendant. */
        alone = pid > 0 &&
                (descends((pid_t)pid, getpid()) != 0 || descends(getpid(), (pid_t)pid) == 1) &&
                (accounting->tracer <= 0 || descends((pid_t)pid, accounting->tracer) != 1);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return alone;
}

void web_accounting_open(struct web_accounting *accounting, pid_t root, pid_t tracer) {
    *accounting = (struct web_accounting){.root = root, .tracer = tracer};
    if (web_group_find("cgroup", "cpuacct", accounting->directory)) {
        accounting->version = 1;
    } else if (web_group_find("cgroup2", "", accounting->directory)) {
        accounting->version = 2;
    } else {
        (void)snprintf(accounting->reason, sizeof accounting->reason,
                       "no control group with processor time found");
        return;
    }
    struct web_cpu trial;
    if (!web_accounting_own(accounting)) {
        accounting->version = 0;
        (void)snprintf(accounting->reason, sizeof accounting->reason,
                       "the control group has other processes");
    } else if (web_accounting_read(accounting, &trial) != 0) {
        accounting->version = 0;
        (void)snprintf(accounting->reason, sizeof accounting->reason,
                       "the control group reports no processor time");
    }
}

/* ---- reading ---- */

static int read_group(const struct web_accounting *accounting, struct web_cpu *used) {
    const char *directory = accounting->directory;
    uint64_t unit =
        accounting->version == 1 ? UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK) : 1000;
    bool read = accounting->version == 1
                    ? web_group_number(directory, "cpuacct.usage", "", &used->total_ns) &&
                          web_group_number(directory, "cpuacct.stat", "user", &used->user_ns) &&
                          web_group_number(directory, "cpuacct.stat", "system", &used->system_ns)
                    : web_group_number(directory, "cpu.stat", "usage_usec", &used->total_ns) &&
                          web_group_number(directory, "cpu.stat", "user_usec", &used->user_ns) &&
                          web_group_number(directory, "cpu.stat", "system_usec", &used->system_ns);
    if (accounting->version == 2) {
        used->total_ns *= 1000;
    }
    used->user_ns *= unit;
    used->system_ns *= unit;
    /* the driver itself */
    struct rusage own;
    struct timespec spent;
    if (!read || getrusage(RUSAGE_SELF, &own) != 0 ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0) {
        return -1;
    }
    used->total_ns -= (uint64_t)spent.tv_sec * UINT64_C(1000000000) + (uint64_t)spent.tv_nsec;
    used->user_ns -= (uint64_t)own.ru_utime.tv_sec * UINT64_C(1000000000) +
                     (uint64_t)own.ru_utime.tv_usec * 1000;
    used->system_ns -= (uint64_t)own.ru_stime.tv_sec * UINT64_C(1000000000) +
                       (uint64_t)own.ru_stime.tv_usec * 1000;
    return 0;
}

/* Prefer the scheduler's clock, because a tick is 10 ms. It has the time of all threads, also ended
 * ones. */
static uint64_t running_ns(pid_t pid, uint64_t otherwise) {
    clockid_t clock;
    struct timespec spent;
    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &spent) == 0
               ? (uint64_t)spent.tv_sec * UINT64_C(1000000000) + (uint64_t)spent.tv_nsec
               : otherwise;
}

static int read_processes(const struct web_accounting *accounting, struct web_cpu *used) {
    const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    struct web_process *list = NULL;
    ssize_t count = web_descendants(accounting->root, true, &list);
    *used = (struct web_cpu){0};
    for (ssize_t i = 0; i < count; i++) {
        const struct web_process *process = &list[i];
        uint64_t own = process->user_ticks + process->system_ticks;
        uint64_t children = process->children_user_ticks + process->children_system_ticks;
        used->total_ns += running_ns(process->pid, own * tick_ns) + children * tick_ns;
        used->user_ns += (process->user_ticks + process->children_user_ticks) * tick_ns;
        used->system_ns += (process->system_ticks + process->children_system_ticks) * tick_ns;
    }
    free(list);
    return count > 0 ? 0 : -1;
}

int web_accounting_read(const struct web_accounting *accounting, struct web_cpu *used) {
    return accounting->version == 0 ? read_processes(accounting, used)
                                    : read_group(accounting, used);
}
