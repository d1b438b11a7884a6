/* Start the server and wait until it answers. See configuration.c for its configuration. */
#define _GNU_SOURCE /* getentropy, pipe2 */

#include "origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t START_NS = UINT64_C(15000000000);
static const uint64_t VERSION_NS = UINT64_C(5000000000);
/* Below the ephemeral ports, so that no client connection uses it by chance. */
enum { FIRST_PORT = 15000, PORTS = 15000, PORT_ATTEMPTS = 200 };

static struct sockaddr_in address_of(const struct web_server *server, uint16_t port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = server->options->host};
}

struct sockaddr_in web_server_address(const struct web_server *server) {
    return address_of(server, server->port);
}

static bool port_is_free(const struct web_server *server, uint16_t port) {
    const struct sockaddr_in address = address_of(server, port);
    const int yes = 1;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = descriptor >= 0 &&
                   setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                   bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(descriptor, 1) == 0;
    int kept = errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    errno = kept;
    return is_free;
}

/* Find a free port other than `taken`. */
static int find_port(const struct web_server *server, uint16_t *port, uint16_t taken) {
    for (int i = 0; i < PORT_ATTEMPTS; i++) {
        uint16_t random;
        if (getentropy(&random, sizeof random) != 0) {
            return web_fail("getentropy: %s", strerror(errno));
        }
        *port = (uint16_t)(FIRST_PORT + random % PORTS);
        if (*port != taken && port_is_free(server, *port)) {
            return 0;
        }
    }
    return web_fail("port: found no free one of %s from %d to %d (%s): choose one with --port",
                    server->options->host_text, FIRST_PORT, FIRST_PORT + PORTS - 1,
                    strerror(errno));
}

int web_server_choose_port(struct web_server *server) {
    server->port = (uint16_t)server->options->port;
    if (server->port == 0 && find_port(server, &server->port, 0) != 0) {
        return -1;
    }
    return web_acceptance_serialised(server->options)
               ? find_port(server, &server->idle_port, server->port)
               : 0;
}

/* Read the first line of the program's version output, on either stream; the program is trusted as
 * little as the server itself. */
static void read_version(struct web_server *server) {
    int ends[2];
    char text[300] = "";
    char version[] = "-v", varnish[] = "-V";
    const bool is_varnish = web_is(server->options->server, "varnish");
    char *argv[] = {server->argv[0], is_varnish ? varnish : version, NULL};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        char *none[] = {NULL};
        if (dup2(ends[1], 1) >= 0 && dup2(ends[1], 2) >= 0 &&
            web_identity_take(&server->identity) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
            (void)execve(argv[0], argv, none);
        }
        _exit(127);
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got = 1;
    const uint64_t until = web_now_ns() + VERSION_NS;
    while (pid > 0 && got > 0 && used < sizeof text - 1 && web_now_ns() < until) {
        struct pollfd waits = {.fd = ends[0], .events = POLLIN};
        if (poll(&waits, 1, 100) > 0) {
            got = read(ends[0], text + used, sizeof text - 1 - used);
            used += got > 0 ? (size_t)got : 0;
        }
    }
    (void)close(ends[0]);
    if (pid > 0 && got > 0) {
        (void)kill(pid, SIGKILL);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    text[strcspn(text, "\n")] = '\0';
    /* varnishd (varnish-7.1.1 revision ...) */
    const char *before = is_varnish ? "(varnish-" : "ersion: ";
    const char *number = strstr(text, before);
    number = number != NULL ? number + strlen(before) : "";
    (void)snprintf(server->version, sizeof server->version, "%.*s",
                   is_varnish ? (int)strcspn(number, " )") : 90, number);
}

/* The last server message, from its log or standard error. */
static void last_words(const struct web_server *server, char *words, size_t bytes) {
    web_folder_last_lines(server->folder, "stderr.log", words, bytes);
    if (words[0] == '\0') {
        web_folder_last_lines(server->folder, "logs/error.log", words, bytes);
    }
    if (words[0] == '\0') {
        (void)snprintf(words, bytes, "no message");
    }
}

int web_server_check(const struct web_server *server) {
    struct pollfd waits = {.fd = server->words, .events = POLLIN};
    if (server->control >= 0) {
        return web_control_check(server);
    }
    if (server->origin != NULL && web_origin_check(server->origin) != 0) {
        return -1;
    }
    if (poll(&waits, 1, 0) <= 0) {
        return 0;
    }
    int status;
    if (read(server->words, &status, sizeof status) != (ssize_t)sizeof status) {
        return web_fail("%s: its keeper ended", server->options->server);
    }
    char words[900];
    last_words(server, words, sizeof words);
    return WIFEXITED(status) ? web_fail("%s: ended with exit code %d: %s", server->options->server,
                                        WEXITSTATUS(status), words)
                             : web_fail("%s: killed by signal %d: %s", server->options->server,
                                        WTERMSIG(status), words);
}

static bool answers(const struct web_server *server) {
    char body[64];
    ssize_t got = web_get(server, "/nonce", body, sizeof body);
    return got == (ssize_t)strlen(server->folder->nonce) &&
           memcmp(body, server->folder->nonce, (size_t)got) == 0;
}

/* Whether the main process has as many children as accept connections; mod_fcgid adds one. */
static bool complete(const struct web_server *server) {
    struct web_process *list = NULL;
    ssize_t count = web_descendants(server->pid, false, &list);
    unsigned children = 0;
    for (ssize_t i = 0; i < count; i++) {
        children += list[i].parent == server->pid;
    }
    free(list);
    return children >= web_server_processes(server->options) +
                           (web_is(server->options->dynamic, "fastcgi") ? 1 : 0);
}

int web_server_start(struct web_server *server) {
    const struct timespec pause = {.tv_nsec = 5000000};
    if (access(server->argv[0], X_OK) != 0) {
        return web_fail("%s: cannot find the program of %s: %s: install it (Debian: %s), or set "
                        "--%s",
                        server->argv[0], server->options->server, strerror(errno),
                        web_is(server->options->server, "nginx") ? "nginx-light"
                        : web_is(server->options->server, "varnish")
                            ? "varnish"
                            : "apache2-bin, and libapache2-mod-fcgid for FastCGI",
                        server->options->server);
    }
    read_version(server);
    if (web_keeper_start(server) != 0 ||
        (server->origin != NULL && web_origin_start(server->origin) != 0)) {
        return -1;
    }
    uint64_t until = web_now_ns() + START_NS;
    while (!answers(server) || !complete(server)) {
        if (web_server_check(server) != 0) {
            return -1;
        }
        if (web_stop_signal != 0) {
            return web_fail("stopped by signal %d", (int)web_stop_signal);
        }
        if (web_now_ns() > until) {
            char words[900];
            last_words(server, words, sizeof words);
            return web_fail("%s: no response on %s:%u from %u processes within 15 s: %s",
                            server->options->server, server->options->host_text,
                            (unsigned)server->port, web_server_processes(server->options), words);
        }
        (void)nanosleep(&pause, NULL);
    }
    return web_semaphores_note(server, server->pid) == 0
               ? 0
               : web_fail("%s: cannot query its semaphores", server->options->server);
}
