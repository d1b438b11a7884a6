/* A server and its client on two hosts. */
#define _GNU_SOURCE /* prctl */

#include "ipc/remote.h"

#include "ipc/ipc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* RFC 1035: a name has at most 255 characters. */
enum { MOST_HOST_BYTES = 256 };

/* ---- command line ---- */

/* Numbers and points alone are an address: the resolver would accept "10.1" as 10.0.0.1. */
static bool resolve(const char *host, struct in_addr *address) {
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (strspn(host, "0123456789.") == strlen(host)) {
        return inet_pton(AF_INET, host, address) == 1;
    }
    if (getaddrinfo(host, NULL, &wanted, &found) != 0) {
        return false;
    }
    struct sockaddr_in first;
    (void)memcpy(&first, found->ai_addr, sizeof first);
    freeaddrinfo(found);
    *address = first.sin_addr;
    return true;
}

static bool resolve_with_port(const char *text, struct sockaddr_in *address) {
    char host[MOST_HOST_BYTES] = "";
    uint64_t port = 0;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host ||
        !lm_number_parse(colon + 1, 1, UINT16_MAX, &port)) {
        return false;
    }
    (void)memcpy(host, text, (size_t)(colon - text));
    address->sin_port = htons((uint16_t)port);
    return resolve(host, &address->sin_addr);
}

static void check_settings(const struct lm_program *program, const struct lm_settings *settings,
                           const struct lm_remote *remote) {
    if (settings->parallel != 1) {
        lm_usage_error(program->name, "--parallel", "1 with --serve or --server", "more");
    }
    if (strcmp(settings->placement, "free") != 0) {
        lm_usage_error(program->name, "--placement", "free with --serve or --server",
                       settings->placement);
    }
    lm_remote_refuse(program, remote, "--repetitions",
                     settings->repetitions != LM_DEFAULT_REPETITIONS);
    lm_remote_refuse(program, remote, "--interval-us", settings->interval_us != 0);
    lm_remote_refuse(program, remote, "--warmup-us", settings->warmup_us != 0);
}

void lm_remote_parse(const struct lm_program *program, const struct lm_settings *settings,
                     struct lm_remote *remote) {
    if (remote->serve == NULL && remote->server == NULL) {
        return;
    }
    if (remote->serve != NULL && remote->server != NULL) {
        lm_usage_error(program->name, "command line", "--serve or --server", "both");
    }
    check_settings(program, settings, remote);
    remote->address = (struct sockaddr_in){.sin_family = AF_INET};
    if (remote->serve != NULL && !resolve(remote->serve, &remote->address.sin_addr)) {
        lm_usage_error(program->name, "--serve", "an IPv4 address, or the name of a host with one",
                       remote->serve[0] == '\0' ? "nothing" : remote->serve);
    }
    if (remote->server != NULL && !resolve_with_port(remote->server, &remote->address)) {
        lm_usage_error(program->name, "--server",
                       "an IPv4 address, or the name of a host with one, and a port, such as "
                       "10.0.0.1:5000",
                       remote->server[0] == '\0' ? "nothing" : remote->server);
    }
}

void lm_remote_refuse(const struct lm_program *program, const struct lm_remote *remote,
                      const char *option, bool given) {
    if (given && remote->serve != NULL) {
        lm_usage_error(program->name, option, "no option of the client with --serve", "one");
    }
}

/* ---- server ---- */

static void expected_signals(sigset_t *signals) {
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGCHLD);
}

void lm_remote_fail(const char *program, const struct lm_remote *remote, const char *what) {
    (void)fprintf(stderr, "%s: --serve %s: %s\n", program, remote->serve, what);
    exit(LM_EXIT_FAILED);
}

int lm_remote_listening(const char *program, struct lm_remote *remote, int queue) {
    sigset_t signals;
    expected_signals(&signals);
    remote->address.sin_port = 0;
    int listening = sigprocmask(SIG_BLOCK, &signals, NULL) != 0
                        ? -1
                        : lm_socket_bound_at(SOCK_STREAM, &remote->address);
    if (listening < 0 || listen(listening, queue) != 0) {
        lm_remote_fail(program, remote, strerror(errno));
    }
    return listening;
}

struct sessions {
    int listening, connection;
    int (*session)(int connection, void *cookie);
    void *cookie;
};

static int session_run(void *cookie) {
    struct sessions *sessions = cookie;
    lm_shut(&sessions->listening);
    /* A session can have a helper, whose exit code it needs. */
    (void)signal(SIGCHLD, SIG_DFL);
    return sessions->session(sessions->connection, sessions->cookie);
}

static int start_session(int connection, void *cookie) {
    struct sessions *sessions = cookie;
    sessions->connection = connection;
    pid_t session = lm_helper_start(session_run, sessions);
    return close(connection) != 0 || session < 0 ? -1 : 0;
}

static int sessions_run(void *cookie) {
    struct sessions *sessions = cookie;
    /* No session remains as a zombie. */
    (void)signal(SIGCHLD, SIG_IGN);
    return lm_serve(sessions->listening, start_session, sessions);
}

pid_t lm_remote_sessions(int listening, int (*session)(int connection, void *cookie),
                         void *cookie) {
    struct sessions sessions = {
        .listening = listening, .connection = -1, .session = session, .cookie = cookie};
    return lm_helper_start(sessions_run, &sessions);
}

static bool has_ended(pid_t helper) {
    siginfo_t found = {0};
    return waitid(P_PID, (id_t)helper, &found, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           found.si_pid == helper;
}

/* Sessions die with the helper that started them. This process then reaps them, so that none
 * outlives it. */
static void end(pid_t server) {
    (void)lm_helper_stop(server);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
    }
}

int lm_remote_serve(const char *program, const struct lm_remote *remote, pid_t server) {
    sigset_t signals;
    expected_signals(&signals);
    if (server < 0) {
        lm_remote_fail(program, remote, strerror(errno));
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (printf("ready port=%u\n", (unsigned)ntohs(remote->address.sin_port)) < 0 ||
        fflush(stdout) != 0) {
        lm_remote_fail(program, remote, "cannot write to standard output");
    }
    for (;;) {
        int received = 0;
        if (sigwait(&signals, &received) != 0) {
            continue;
        }
        if (received != SIGCHLD) {
            end(server);
            return 0;
        }
        /* Not a stopped or continued helper. */
        if (has_ended(server)) {
            end(server);
            (void)fprintf(stderr, "%s: --serve %s: the serving process has ended\n", program,
                          remote->serve);
            return LM_EXIT_FAILED;
        }
    }
}

/* ---- client ---- */

int lm_remote_connected(const struct sockaddr_in *server) {
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection >= 0 && lm_socket_link(connection, server) != 0) {
        lm_shut(&connection);
    }
    return connection;
}

int lm_remote_reach(struct lm_harness *harness, const struct lm_remote *remote) {
    char what[MOST_HOST_BYTES + 200];
    int connection = lm_remote_connected(&remote->address);
    if (connection < 0) {
        (void)snprintf(what, sizeof what, "--server %s: %s", remote->server, strerror(errno));
        lm_fail(harness, what);
    }
    return connection;
}

/* ---- both ---- */

int lm_remote_exchange(int connection, uint64_t own, uint64_t *other) {
    ssize_t moved = 0;
    do {
        moved = send(connection, &own, sizeof own, MSG_NOSIGNAL);
    } while (moved < 0 && errno == EINTR);
    if (moved != (ssize_t)sizeof own) {
        return lm_not_received(moved);
    }
    do {
        moved = recv(connection, other, sizeof *other, MSG_WAITALL);
    } while (moved < 0 && errno == EINTR);
    return moved == (ssize_t)sizeof *other ? 0 : lm_not_received(moved);
}
