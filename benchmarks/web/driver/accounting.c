/*
 * Processor time of the server's tree: that of the own control group less the driver's, where the
 * group has nothing but the driver's processes; otherwise the sum over processes. The kernel's
 * split of ended processes into user and system is wrong where they live shorter than its tick (all
 * of it is user time then), so that the group's split is better for CGI: it samples the whole.
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

/* ---- whether it has nothing but this tree ---- */

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

/* Whether one process comes from another: 1, 0, or -1 where one on the way has ended. */
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
        /* Not a stranger: this process and what comes from it, one that has just ended, such as a
         * CGI program, and those that wait for this one, such as the shell that holds a container.
         * The command that traces comes from it, too, and is one. */
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
                       "no control group that tells processor time is to be seen");
        return;
    }
    struct web_cpu trial;
    if (!web_accounting_own(accounting)) {
        accounting->version = 0;
        (void)snprintf(accounting->reason, sizeof accounting->reason,
                       "the control group has other processes too");
    } else if (web_accounting_read(accounting, &trial) != 0) {
        accounting->version = 0;
        (void)snprintf(accounting->reason, sizeof accounting->reason,
                       "the control group tells no processor time");
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
    /* The driver's own. */
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

/* By the scheduler's own clock where it tells it, for a tick is 10 ms. */
static uint64_t running_ns(pid_t pid, uint64_t otherwise) {
    char path[64];
    unsigned long long ns = otherwise;
    (void)snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%llu", &ns) != 1) {
            ns = otherwise;
        }
        (void)fclose(file);
    }
    return ns;
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
