/* Process trees from /proc. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* pid (name) state ppid ...; the name may contain any character, so search for the last
 * parenthesis. */
static bool read_process(pid_t pid, struct web_process *process) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t got = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[got] = '\0';
    const char *rest = strrchr(text, ')');
    long parent = 0;
    unsigned long long user, system;
    long long children_user, children_system;
    /* Fields 3 (state), 4 (parent), 14 and 15 (user, system), 16 and 17 (the same of children). */
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
               &parent, &user, &system, &children_user, &children_system) != 5) {
        return false;
    }
    *process = (struct web_process){pid,    (pid_t)parent,           user,
                                    system, (uint64_t)children_user, (uint64_t)children_system};
    return true;
}

pid_t web_parent(pid_t pid) {
    struct web_process process;
    return read_process(pid, &process) ? process.parent : -1;
}

static ssize_t read_all(struct web_process **list) {
    DIR *directory = opendir("/proc");
    if (directory == NULL) {
        return -1;
    }
    size_t count = 0, room = 256;
    *list = malloc(room * sizeof **list);
    const struct dirent *entry;
    while (*list != NULL && (entry = readdir(directory)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end != '\0' || !read_process((pid_t)pid, &(*list)[count])) {
            continue;
        }
        if (++count == room) {
            struct web_process *more = realloc(*list, (room *= 2) * sizeof **list);
            if (more == NULL) {
                free(*list);
            }
            *list = more;
        }
    }
    (void)closedir(directory);
    return *list == NULL ? -1 : (ssize_t)count;
}

/* Move members of the tree to the front until no more are found. */
static size_t gather(struct web_process *list, size_t count, size_t found, pid_t ancestor) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = found; i < count; i++) {
            bool belongs = list[i].parent == ancestor;
            for (size_t j = 0; j < found && !belongs; j++) {
                belongs = list[i].parent == list[j].pid;
            }
            if (belongs) {
                struct web_process process = list[i];
                list[i] = list[found];
                list[found++] = process;
                more = true;
            }
        }
    }
    return found;
}

ssize_t web_descendants(pid_t ancestor, bool with_itself, struct web_process **list) {
    ssize_t count = read_all(list);
    if (count < 0) {
        return -1;
    }
    size_t found = 0;
    for (size_t i = 0; i < (size_t)count && with_itself; i++) {
        if ((*list)[i].pid == ancestor) {
            struct web_process process = (*list)[i];
            (*list)[i] = (*list)[0];
            (*list)[0] = process;
            found = 1;
            break;
        }
    }
    return (ssize_t)gather(*list, (size_t)count, found, ancestor);
}

uint64_t web_resident_kib(pid_t pid) {
    char path[64], line[200];
    unsigned long long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "RssAnon: %llu kB", &kib);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

static void signal_all(const struct web_identity *identity, int number) {
    struct web_process *list = NULL;
    ssize_t count = web_descendants(getpid(), false, &list);
    for (ssize_t i = 0; i < count; i++) {
        (void)web_identity_signal(identity, list[i].pid, number);
    }
    free(list);
}

/* Whether any child is left after reaping ended ones. */
static bool any_left(void) {
    pid_t ended;
    do {
        ended = waitpid(-1, NULL, WNOHANG);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    return ended == 0;
}

int web_end_children(const struct web_identity *identity, uint64_t patience_ms) {
    const struct timespec pause = {.tv_nsec = 2000000};
    static const uint64_t KILL_NS = UINT64_C(10000000000);
    uint64_t patient_until = web_now_ns() + patience_ms * UINT64_C(1000000);
    uint64_t until = patient_until + KILL_NS;
    while (any_left()) {
        uint64_t now = web_now_ns();
        if (now > until) {
            return -1;
        }
        if (now > patient_until) {
            signal_all(identity, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}
