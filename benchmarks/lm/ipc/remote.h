/*
 * The server and the client of a benchmark on two hosts: `--serve ADDRESS` and `--server
 * ADDRESS:PORT`. The server executes the serving code that is otherwise a helper of the client.
 *
 * In main(), between lm_options_parse() and lm_open():
 *
 *     lm_remote_parse(&program, &settings, &remote)
 *     if (remote.serve != NULL) {
 *         listening = lm_remote_listening(name, &remote, queue)
 *         server = lm_helper_start(...) or lm_remote_sessions(listening, ...)
 *         return lm_remote_serve(name, &remote, server)
 *     }
 *
 * and after lm_open(), if remote.server != NULL, lm_remote_reach(). The workload then connects to
 * remote.address and starts no helper.
 */
#ifndef LM_REMOTE_H
#define LM_REMOTE_H

#include "harness/lm.h"

#include <netinet/in.h>

struct lm_remote {
    const char *serve;          /* address on which to serve; NULL: not a server */
    const char *server;         /* address and port of the server; NULL: not a client */
    struct sockaddr_in address; /* of the server */
};

/* Rows of a table of options. */
#define LM_REMOTE_OPTIONS(remote)                                                                  \
    {.name = "--serve",                                                                            \
     .help = "serve clients on other hosts at this address until SIGTERM",                         \
     .text = &(remote).serve},                                                                     \
    {                                                                                              \
        .name = "--server", .help = "ADDRESS:PORT of a server on another host",                    \
        .text = &(remote).server                                                                   \
    }

/* Number of these rows. */
enum { LM_REMOTE_OPTION_COUNT = 2 };

/* Help text for both options. */
#define LM_REMOTE_HELP                                                                             \
    "For two hosts, --serve ADDRESS starts only the server: it selects a port, prints \"ready\n"   \
    "port=PORT\" and serves until SIGTERM. --server ADDRESS:PORT measures with it.\n"

/* Resolve the address; an invalid one, or a setting of the harness that has no effect, ends the
 * program with LM_EXIT_USAGE. */
void lm_remote_parse(const struct lm_program *program, const struct lm_settings *settings,
                     struct lm_remote *remote);

/* For an option of the client: with --serve it is a usage error. */
void lm_remote_refuse(const struct lm_program *program, const struct lm_remote *remote,
                      const char *option, bool given);

/* ---- server ---- */

/* Listen on a port that the system selects, which remote->address receives. Later helpers do not
 * receive SIGTERM. On failure, end the program with LM_EXIT_FAILED. */
int lm_remote_listening(const char *program, struct lm_remote *remote, int queue);

/* Report a failure and end the program with LM_EXIT_FAILED. */
_Noreturn void lm_remote_fail(const char *program, const struct lm_remote *remote,
                              const char *what);

/* Start a helper that serves each connection by a process that executes `session`, and ends with
 * it. Return the helper, or -1 with errno. */
pid_t lm_remote_sessions(int listening, int (*session)(int connection, void *cookie), void *cookie);

/* Print the ready line, and end the helper `server` when SIGTERM or SIGINT arrives. Return the exit
 * code of the program. */
int lm_remote_serve(const char *program, const struct lm_remote *remote, pid_t server);

/* ---- client ---- */

/* Connect to the server without delay of small messages, with time limits; closing resets. Return
 * the connection, or -1 with errno. */
int lm_remote_connected(const struct sockaddr_in *server);

/* The same, before anything is measured: on failure, end the program by lm_fail(). */
int lm_remote_reach(struct lm_harness *harness, const struct lm_remote *remote);

/* ---- both ---- */

/* Send a number, and receive that of the other side, which does the same. Return 0, or -1 with
 * errno. */
int lm_remote_exchange(int connection, uint64_t own, uint64_t *other);

#endif
