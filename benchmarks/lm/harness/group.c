/*
 * The control group of this process.
 *
 * For a process that is shorter than a clock tick, the times of wait4() are wrong: all time counts
 * as either user or system time. A control group sums the ticks of all its processes, so the
 * fractions are correct over a second (version 1). Version 2 reports exact times if the kernel
 * supports it.
 */
#define _POSIX_C_SOURCE 200809L

#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 8192, MOST_ANCESTORS = 256 };

/* Return whether `word` is an element of the comma-separated `list`. */
static bool is_among(const char *word, const char *list) {
    const size_t length = strlen(word);
    for (const char *at = list;; at++) {
        const size_t one = strcspn(at, ",\n");
        if (one == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += one;
        if (*at != ',') {
            return false;
        }
    }
}

/* Path of this process in the hierarchy, from /proc/self/cgroup. */
static bool own_path(bool second, const char *controller, char *path, size_t bytes) {
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *own = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (own == NULL) {
            continue;
        }
        *own++ = '\0';
        controllers++;
        own[strcspn(own, "\n")] = '\0';
        found = second ? *controllers == '\0' : is_among(controller, controllers);
        found = found && (size_t)snprintf(path, bytes, "%s", own) < bytes;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Directory of the group below a mount of its hierarchy, of which `root` is mounted at `point`. In
 * a container that shows only its own group, it is `point` itself. */
static bool join(const char *point, const char *root, const char *path, char *joined,
                 size_t bytes) {
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *below = "";
    if (strncmp(path, root, length) == 0 && path[length] == '/' && path[length + 1] != '\0') {
        below = path + length;
    }
    return (size_t)snprintf(joined, bytes, "%s%s", point, below) < bytes;
}

/* A line of /proc/self/mountinfo: proc(5). */
static bool is_mount(char *line, bool second, const char *controller, const char *path,
                     struct lm_group *group) {
    char *field[6] = {NULL}, *rest = NULL;
    char *kind = strstr(line, " - ");
    if (kind == NULL) {
        return false;
    }
    *kind = '\0';
    kind += strlen(" - ");
    for (int i = 0; i < 6; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
        if (field[i] == NULL) {
            return false;
        }
    }
    char *type = strtok_r(kind, " ", &rest), *source = strtok_r(NULL, " ", &rest);
    char *options = strtok_r(NULL, " \n", &rest);
    if (type == NULL || source == NULL || options == NULL ||
        strcmp(type, second ? "cgroup2" : "cgroup") != 0 ||
        (!second && !is_among(controller, options))) {
        return false;
    }
    group->second = second;
    return join(field[4], field[3], path, group->directory, sizeof group->directory);
}

static bool find_directory(bool second, const char *controller, struct lm_group *group) {
    char line[LINE_BYTES], path[4096];
    if (!own_path(second, controller, path, sizeof path)) {
        return false;
    }
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = is_mount(line, second, controller, path, group);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Parent of a process; 0 if it is outside the namespace or has ended. */
static long parent_of(long id) {
    char path[64], line[LINE_BYTES] = "";
    long parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", id);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    size_t got = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[got] = '\0';
    /* The name, in parentheses, can contain any character. */
    const char *after = strrchr(line, ')');
    return after != NULL && sscanf(after, ") %*c %ld", &parent) == 1 ? parent : 0;
}

static bool descends(long from, long ancestor) {
    for (int step = 0; step < MOST_ANCESTORS && from > 0; step++) {
        if (from == ancestor) {
            return true;
        }
        from = parent_of(from);
    }
    return false;
}

static FILE *open_in(const struct lm_group *group, const char *name) {
    char path[sizeof group->directory + 40];
    (void)snprintf(path, sizeof path, "%s/%s", group->directory, name);
    return fopen(path, "r");
}

static int check_processes(const struct lm_group *group, char *why, size_t why_bytes) {
    long id = 0;
    const long self = (long)getpid();
    bool has_self = false;
    FILE *file = open_in(group, "cgroup.procs");
    if (file == NULL) {
        (void)snprintf(why, why_bytes, "%s/cgroup.procs: %s", group->directory, strerror(errno));
        return -1;
    }
    while (fscanf(file, "%ld", &id) == 1) {
        char path[64];
        has_self = has_self || id == self;
        (void)snprintf(path, sizeof path, "/proc/%ld", id);
        /* 0: a process of another namespace. */
        if (id == 0 || (!descends(id, self) && !descends(self, id) && access(path, F_OK) == 0)) {
            (void)fclose(file);
            (void)snprintf(why, why_bytes, "%s also contains other processes (%ld)",
                           group->directory, id);
            return -1;
        }
    }
    (void)fclose(file);
    if (!has_self) {
        (void)snprintf(why, why_bytes, "%s does not contain this process", group->directory);
        return -1;
    }
    return 0;
}

/* Child groups would be counted too. */
static int check_alone(const struct lm_group *group, char *why, size_t why_bytes) {
    DIR *directory = opendir(group->directory);
    if (directory == NULL) {
        (void)snprintf(why, why_bytes, "%s: %s", group->directory, strerror(errno));
        return -1;
    }
    int status = 0;
    for (const struct dirent *entry = NULL; status == 0 && (entry = readdir(directory)) != NULL;) {
        struct stat about;
        char path[sizeof group->directory + sizeof entry->d_name + 1];
        (void)snprintf(path, sizeof path, "%s/%s", group->directory, entry->d_name);
        if (entry->d_name[0] != '.' && lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
            (void)snprintf(why, why_bytes, "%s has child groups", group->directory);
            status = -1;
        }
    }
    (void)closedir(directory);
    return status;
}

int lm_group_check(const struct lm_group *group, char *why, size_t why_bytes) {
    struct lm_split split;
    if (check_processes(group, why, why_bytes) != 0 || check_alone(group, why, why_bytes) != 0) {
        return -1;
    }
    if (lm_group_read(group, &split) != 0) {
        (void)snprintf(why, why_bytes, "%s does not report user and system time", group->directory);
        return -1;
    }
    return 0;
}

int lm_group_find(struct lm_group *group, char *why, size_t why_bytes) {
    (void)snprintf(why, why_bytes, "no control group with processor time is mounted");
    /* If both versions are mounted, either can be the one that contains only these processes. */
    for (int version = 1; version <= 2; version++) {
        if (find_directory(version == 2, "cpuacct", group) &&
            lm_group_check(group, why, why_bytes) == 0) {
            return 0;
        }
    }
    return -1;
}

bool lm_group_has_quota(void) {
    for (int version = 1; version <= 2; version++) {
        struct lm_group group;
        if (!find_directory(version == 2, "cpu", &group)) {
            continue;
        }
        /* The quota of this group or of an ancestor. */
        for (char *end = group.directory + strlen(group.directory);
             end != NULL && end != group.directory; end = strrchr(group.directory, '/')) {
            char word[32] = "";
            *end = '\0';
            FILE *file = open_in(&group, version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
            const bool read = file != NULL && fscanf(file, "%31s", word) == 1;
            if (file != NULL) {
                (void)fclose(file);
            }
            if (read && word[0] >= '0' && word[0] <= '9') { /* otherwise -1 or max */
                return true;
            }
        }
    }
    return false;
}

int lm_group_read(const struct lm_group *group, struct lm_split *split) {
    char name[64];
    unsigned long long value = 0;
    int found = 0;
    const double scale = group->second ? 1e-6 : 1.0 / (double)sysconf(_SC_CLK_TCK);
    FILE *file = open_in(group, group->second ? "cpu.stat" : "cpuacct.stat");
    if (file == NULL) {
        return -1;
    }
    while (fscanf(file, "%63s %llu", name, &value) == 2) {
        if (strcmp(name, group->second ? "user_usec" : "user") == 0) {
            split->user_s = (double)value * scale;
            found++;
        } else if (strcmp(name, group->second ? "system_usec" : "system") == 0) {
            split->system_s = (double)value * scale;
            found++;
        }
    }
    (void)fclose(file);
    errno = ENODATA;
    return found == 2 ? 0 : -1;
}
