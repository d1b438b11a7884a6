/* The control group (version 1 or 2) of this process, and the contents of its files. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether a word is in a comma-separated list. */
static bool among(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Return the path of this process's group in the hierarchy of a controller ("": version 2). */
static bool own_path(const char *controller, char *path, size_t bytes) {
    char line[1024];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *end = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (end == NULL) {
            continue;
        }
        *end = '\0';
        controllers++;
        if (*controller == '\0' ? *controllers == '\0' : among(controllers, controller)) {
            (void)snprintf(path, bytes, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
            found = true;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static bool holds_this(const char *directory) {
    char path[WEB_PATH_BYTES + 20];
    long pid;
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fscanf(file, "%ld", &pid) == 1) {
        found = pid == (long)getpid();
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Map the part below the mount's root to the mount point; in a container, the mount point itself.
 */
bool web_group_find(const char *kind, const char *controller,
                    char directory[static WEB_PATH_BYTES]) {
    char own[WEB_PATH_BYTES / 2], line[2048];
    if (!own_path(controller, own, sizeof own)) {
        return false;
    }
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char root[WEB_PATH_BYTES / 2], point[WEB_PATH_BYTES / 2], type[32], options[400];
        const char *rest = strstr(line, " - ");
        if (rest == NULL || sscanf(line, "%*d %*d %*s %255s %255s", root, point) != 2 ||
            sscanf(rest, " - %31s %*s %399s", type, options) != 2 || strcmp(type, kind) != 0 ||
            (*controller != '\0' && !among(options, controller))) {
            continue;
        }
        size_t shared = strcmp(root, "/") == 0 ? 0 : strlen(root);
        const char *below = strncmp(own, root, shared) == 0 ? own + shared : "";
        (void)snprintf(directory, WEB_PATH_BYTES, "%s%s", point,
                       strcmp(below, "/") == 0 ? "" : below);
        found = holds_this(directory);
        if (!found) {
            (void)snprintf(directory, WEB_PATH_BYTES, "%s", point);
            found = holds_this(directory);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

bool web_group_number(const char *directory, const char *file_name, const char *name,
                      uint64_t *number) {
    char path[WEB_PATH_BYTES + 20], line[100];
    bool found = false;
    size_t length = strlen(name);
    (void)snprintf(path, sizeof path, "%s/%s", directory, file_name);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        if (length == 0 || (strncmp(line, name, length) == 0 && line[length] == ' ')) {
            char *end;
            *number = strtoull(line + length, &end, 10);
            found = end != line + length;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

void web_group_leave(void) {
    static const char *const kinds[][2] = {{"cgroup", "cpuacct"}, {"cgroup2", ""}};
    char directory[WEB_PATH_BYTES], path[WEB_PATH_BYTES + 20];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!web_group_find(kinds[i][0], kinds[i][1], directory)) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/../cgroup.procs", directory);
        /* If absent, do not create it: that is the folder of all hierarchies. */
        int descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (descriptor >= 0) {
            (void)!write(descriptor, "0", 1); /* this process */
            (void)close(descriptor);
        }
    }
}

/* Whether a file of the group limits its processor time. */
static bool limited(const char *directory, const char *file_name) {
    char path[WEB_PATH_BYTES + 20], word[32] = "";
    (void)snprintf(path, sizeof path, "%s/%s", directory, file_name);
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fscanf(file, "%31s", word) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read && word[0] >= '0' && word[0] <= '9'; /* otherwise -1, or max */
}

bool web_group_has_quota(void) {
    static const char *const kinds[][3] = {{"cgroup", "cpu", "cpu.cfs_quota_us"},
                                           {"cgroup2", "", "cpu.max"}};
    char directory[WEB_PATH_BYTES];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!web_group_find(kinds[i][0], kinds[i][1], directory)) {
            continue;
        }
        /* The limit of the group or of a parent. */
        for (char *slash = directory + strlen(directory); slash != NULL && slash != directory;
             slash = strrchr(directory, '/')) {
            *slash = '\0';
            if (limited(directory, kinds[i][2])) {
                return true;
            }
        }
    }
    return false;
}
