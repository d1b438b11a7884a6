/*
 * The keeper is a process between driver and server. It reaps all processes that the server starts,
 * and holds one end of a pipe whose other end only the driver has. When that end closes, it stops
 * the server, ends remaining processes and removes the folder. When the keeper itself is killed,
 * the kernel signals the server and the pipe informs the driver.
 */
#define _GNU_SOURCE /* pipe2 */

#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Time limit for the server to stop by itself: mod_fcgid would sleep for 1 s. All remaining files
 * are in the folder. */
static const uint64_t PATIENCE_MS = 400;
/* Processes left by ended ones are killed after this time. */
static const uint64_t ORPHANS_MS = 200;

static _Noreturn void become_server(const struct web_server *server, pid_t keeper) {
    char log[WEB_PATH_BYTES];
    sigset_t none;
    (void)snprintf(log, sizeof log, "%s/stderr.log", server->folder->path);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    if (null < 0 || err < 0 || dup2(null, 0) < 0 || dup2(err, 1) < 0 || dup2(err, 2) < 0 ||
        sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ||
        setpgid(0, 0) != 0 || chdir(server->folder->path) != 0) {
        perror("cannot prepare the server process");
        _exit(126);
    }
    if (web_place_server() != 0) {
        perror("cannot pin the server to its CPU");
        _exit(126);
    }
    if (web_identity_take(&server->identity) != 0) {
        perror("cannot switch to user nobody; servers do not run as root (in a container: add the "
               "capabilities SETUID and SETGID)");
        _exit(126);
    }
    /* After the change of user, which resets it. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != keeper) {
        _exit(126);
    }
    static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LC_ALL=C.UTF-8";
    char *environment[] = {path, language, NULL};
    (void)execve(server->argv[0], server->argv, environment);
    perror(server->argv[0]);
    _exit(127);
}

/* Reap ended processes; inform the driver if the server was one of them. */
static void reap(pid_t server, int words, bool *running) {
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended == server) {
            *running = false;
            (void)!write(words, &status, sizeof status);
        }
    }
}

static void watch(pid_t server, int life, int words, int children, bool *running) {
    struct pollfd waits[] = {{.fd = life, .events = POLLIN}, {.fd = children, .events = POLLIN}};
    while ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        struct signalfd_siginfo taken;
        if ((waits[1].revents & POLLIN) != 0 && read(children, &taken, sizeof taken) > 0) {
            reap(server, words, running);
        }
    }
}

static int stop_all(const struct web_server *server, pid_t pid, bool running) {
    const struct timespec pause = {.tv_nsec = 2000000};
    uint64_t until = web_now_ns() + PATIENCE_MS * UINT64_C(1000000);
    if (running) {
        (void)web_identity_signal(&server->identity, pid, SIGTERM);
    }
    while (running && web_now_ns() < until) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
            running = running && ended != pid;
        }
        if (running) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return web_end_children(&server->identity, running ? 0 : ORPHANS_MS);
}

/* Orphans are reparented to this process, except under user-mode emulators: there they go to init.
 */
static int adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0 || errno == EINVAL ? 0 : -1;
}

static _Noreturn void keep(const struct web_server *server, int life, int words) {
    sigset_t blocked;
    /* A signal to the driver's group ends the driver; this process then cleans up in order. */
    if (setpgid(0, 0) != 0 || adopt_orphans() != 0 || signal(SIGTERM, SIG_IGN) == SIG_ERR ||
        signal(SIGINT, SIG_IGN) == SIG_ERR || signal(SIGHUP, SIG_IGN) == SIG_ERR ||
        sigemptyset(&blocked) != 0 || sigaddset(&blocked, SIGCHLD) != 0 ||
        sigprocmask(SIG_BLOCK, &blocked, NULL) != 0) {
        _exit(WEB_EXIT_FAILED);
    }
    int children = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t keeper = getpid();
    pid_t pid = children < 0 ? -1 : fork();
    if (pid == 0) {
        become_server(server, keeper);
    }
    bool running = pid > 0;
    if (running && write(words, &pid, sizeof pid) == (ssize_t)sizeof pid) {
        watch(pid, life, words, children, &running);
    }
    (void)web_semaphores_note(server, keeper);
    bool ended = stop_all(server, pid, running) == 0;
    bool removed = web_semaphores_remove(server) == 0;
    removed = web_folder_remove(server->folder) == 0 && removed;
    _exit(ended && removed ? 0 : WEB_EXIT_FAILED);
}

int web_keeper_start(struct web_server *server) {
    int life[2] = {-1, -1}, words[2] = {-1, -1};
    if (web_semaphores_open(server) != 0) {
        return -1;
    }
    if (adopt_orphans() != 0 || pipe2(life, O_CLOEXEC) != 0 || pipe2(words, O_CLOEXEC) != 0 ||
        fflush(NULL) != 0 || (server->keeper = fork()) < 0) {
        return web_fail("keeper: cannot start it: %s", strerror(errno));
    }
    if (server->keeper == 0) {
        (void)close(life[1]);
        (void)close(words[0]);
        keep(server, life[0], words[1]);
    }
    (void)close(life[0]);
    (void)close(words[1]);
    server->life = life[1];
    server->words = words[0];
    ssize_t got;
    while ((got = read(server->words, &server->pid, sizeof server->pid)) < 0 && errno == EINTR) {
    }
    return got == (ssize_t)sizeof server->pid
               ? 0
               : web_fail("keeper: ended before it started the server");
}

int web_keeper_stop(struct web_server *server) {
    if (server->keeper <= 0) {
        return web_folder_remove(server->folder) == 0
                   ? 0
                   : web_fail("%s: cannot remove it: %s", server->folder->path, strerror(errno));
    }
    (void)close(server->life);
    int status = 0;
    while (waitpid(server->keeper, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(server->words);
    server->keeper = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    /* The keeper was killed or failed: this process takes over its children and folder. */
    bool ended = web_end_children(&server->identity, ORPHANS_MS) == 0;
    bool removed = web_semaphores_remove(server) == 0;
    removed = web_folder_remove(server->folder) == 0 && removed;
    return ended && removed ? web_fail("keeper: ended before it stopped the server")
                            : web_fail("%s: cannot stop the server and remove its folder: %s",
                                       server->folder->path, strerror(errno));
}
