/*
 * System V semaphores outlive their processes, and a killed Apache does not remove its own. Driver
 * and keeper note them in shared memory; the one that cleans up removes them. A semaphore belongs
 * to the server if the last process that used it does. Queries and removal run as the server's
 * user, because root may lack the capabilities for them.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SEMAPHORES = 8 };

struct web_semaphores {
    size_t count;
    int id[MOST_SEMAPHORES];
};

int web_semaphores_open(struct web_server *server) {
    if (!web_is(server->options->acceptance, "sysvsem")) {
        return 0;
    }
    void *shared = mmap(NULL, sizeof *server->semaphores, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return web_fail("semaphores: cannot allocate memory: %s", strerror(errno));
    }
    server->semaphores = shared;
    return 0;
}

static void note(struct web_semaphores *semaphores, int id) {
    for (size_t i = 0; i < semaphores->count; i++) {
        if (semaphores->id[i] == id) {
            return;
        }
    }
    if (semaphores->count < MOST_SEMAPHORES) {
        semaphores->id[semaphores->count++] = id;
    }
}

/* Note the private semaphores of this user that one of these processes was the last to use. */
static int note_all(struct web_semaphores *semaphores, const struct web_process *list,
                    ssize_t count) {
    char line[300];
    FILE *file = fopen("/proc/sysvipc/sem", "re");
    if (file == NULL) {
        return -1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        int key, id;
        unsigned owner;
        if (sscanf(line, "%d %d %*o %*u %*u %*u %u", &key, &id, &owner) != 3 ||
            key != IPC_PRIVATE || owner != (unsigned)geteuid()) {
            continue; /* also the head of the table */
        }
        int user = semctl(id, 0, GETPID);
        for (ssize_t i = 0; i < count; i++) {
            if (user == (int)list[i].pid) {
                note(semaphores, id);
            }
        }
    }
    return fclose(file);
}

static int remove_all(const struct web_semaphores *semaphores) {
    int status = 0;
    for (size_t i = 0; i < semaphores->count; i++) {
        /* A server that ends in order has removed it. */
        if (semctl(semaphores->id[i], 0, IPC_RMID) != 0 && errno != EINVAL && errno != EIDRM) {
            status = -1;
        }
    }
    return status;
}

static int finish(pid_t child) {
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int web_semaphores_note(const struct web_server *server, pid_t root) {
    if (server->semaphores == NULL) {
        return 0;
    }
    struct web_process *list = NULL;
    ssize_t count = web_descendants(root, false, &list);
    pid_t child = fork();
    if (child == 0) {
        _exit(web_identity_take(&server->identity) == 0 &&
                      note_all(server->semaphores, list, count) == 0
                  ? 0
                  : 1);
    }
    free(list);
    return finish(child);
}

int web_semaphores_remove(const struct web_server *server) {
    if (server->semaphores == NULL || server->semaphores->count == 0) {
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(web_identity_take(&server->identity) == 0 && remove_all(server->semaphores) == 0 ? 0
                                                                                               : 1);
    }
    return finish(child);
}
