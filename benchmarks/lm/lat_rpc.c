/*
 * Latency of remote procedure calls (SUN RPC, RFC 5531) with libtirpc.
 *
 * Neither side uses a port mapper: the server is registered for protocol 0 (no protocol), and the
 * client receives the port. Without libtirpc the program is still built, and it reports this.
 */
#define _DEFAULT_SOURCE /* the library headers use u_int and similar types */

#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_rpc";
static const char SUMMARY[] =
    "Measure the latency of remote procedure calls (SUN RPC with libtirpc) to another process\n"
    "over the loopback interface (127.0.0.1), on a separate port without a port mapper. An\n"
    "operation is a call of a procedure that takes a number and returns its successor. A lost UDP\n"
    "call is not sent again: after 10 s without a reply the measurement "
    "fails.\n" LM_PLACEMENT_HELP LM_REMOTE_HELP "Metric: latency, in ns per call.";
static const char *const PROTOCOLS[] = {"all", "udp", "tcp", NULL};

#ifdef LM_TIRPC
#include <rpc/rpc.h>
#include <stdarg.h>

/* From the range that RFC 5531 reserves for users. */
enum { PROGRAM_NUMBER = 0x20001234, VERSION = 1, NEXT = 1 };
/* Connections that wait to be accepted; attempts to find a port that is free for UDP and TCP. */
enum { QUEUE = 16, MOST_ATTEMPTS = 16 };

struct calling {
    bool tcp, remote; /* remote: the server is on another host */
    int listening;
    struct sockaddr_in address;
    pid_t server;
    int own; /* the socket of the client */
    CLIENT *client;
    u_int number;
};

/* The library's xdr_u_int, with the type that its calls expect. */
static bool_t xdr_number(XDR *stream, ...) {
    va_list arguments;
    va_start(arguments, stream);
    u_int *number = va_arg(arguments, u_int *);
    va_end(arguments);
    return xdr_u_int(stream, number);
}

static void dispatch(struct svc_req *request, SVCXPRT *transport) {
    u_int number = 0;
    if (request->rq_proc != NEXT) {
        svcerr_noproc(transport);
        return;
    }
    if (!svc_getargs(transport, xdr_number, (char *)&number)) {
        svcerr_decode(transport);
        return;
    }
    number++;
    /* The client detects a missing reply by its time limit or by the connection. */
    (void)svc_sendreply(transport, xdr_number, (char *)&number);
}

static bool register_on(SVCXPRT *transport) {
    return transport != NULL &&
           svc_register(transport, PROGRAM_NUMBER, VERSION, dispatch, /* no protocol */ 0);
}

static int server_run(void *cookie) {
    const struct calling *calling = cookie;
    SVCXPRT *transport =
        calling->tcp ? svctcp_create(calling->listening, 0, 0) : svcudp_create(calling->listening);
    if (!register_on(transport)) {
        return LM_EXIT_FAILED;
    }
    svc_run(); /* returns only on failure */
    return LM_EXIT_FAILED;
}

/* For clients on other hosts, one server has both protocols, on ports with the same number. */
struct ports {
    int tcp, udp;
};

static int both_run(void *cookie) {
    const struct ports *ports = cookie;
    if (!register_on(svctcp_create(ports->tcp, 0, 0)) || !register_on(svcudp_create(ports->udp))) {
        return LM_EXIT_FAILED;
    }
    svc_run();
    return LM_EXIT_FAILED;
}

static int serve_both(struct lm_remote *remote) {
    struct ports ports = {.tcp = -1, .udp = -1};
    for (int attempt = 0; attempt < MOST_ATTEMPTS && ports.udp < 0; attempt++) {
        lm_shut(&ports.tcp);
        ports.tcp = lm_remote_listening(PROGRAM, remote, QUEUE);
        ports.udp = lm_socket_bound_at(SOCK_DGRAM, &remote->address);
    }
    if (ports.udp < 0) {
        lm_remote_fail(PROGRAM, remote, strerror(errno));
    }
    return lm_remote_serve(PROGRAM, remote, lm_helper_start(both_run, &ports));
}

/* Set the errno closest to the library's status; return -1. */
static int failed(enum clnt_stat status) {
    if (status == RPC_TIMEDOUT) {
        errno = ETIMEDOUT;
    } else if (status == RPC_CANTSEND || status == RPC_CANTRECV) {
        errno = EPIPE;
    } else if (status != RPC_SYSTEMERROR || errno == 0) {
        errno = EPROTO;
    }
    return -1;
}

/* This program binds the socket of the client: the library would use a reserved port. */
static int make_client(struct calling *calling) {
    struct sockaddr_in own_address = {.sin_family = AF_INET};
    const struct timeval never_again = {.tv_sec = LM_TIME_LIMIT_S};
    if (calling->tcp) {
        calling->own = lm_socket_connected((const struct sockaddr *)&calling->address,
                                           sizeof calling->address);
        if (calling->own < 0 || lm_socket_undelayed(calling->own) != 0) {
            return -1;
        }
        calling->client =
            clnttcp_create(&calling->address, PROGRAM_NUMBER, VERSION, &calling->own, 0, 0);
    } else {
        calling->own = calling->remote ? lm_socket_bound_at(SOCK_DGRAM, &own_address)
                                       : lm_socket_bound(SOCK_DGRAM, &own_address);
        if (calling->own < 0) {
            return -1;
        }
        calling->client =
            clntudp_create(&calling->address, PROGRAM_NUMBER, VERSION, never_again, &calling->own);
    }
    return calling->client != NULL ? 0 : failed(rpc_createerr.cf_stat);
}

static int calling_initialise(uint64_t operations, void *cookie) {
    struct calling *calling = cookie;
    if (operations != 0) {
        return 0;
    }
    if (calling->remote) {
        return make_client(calling);
    }
    calling->listening = calling->tcp ? lm_socket_listening(1, &calling->address)
                                      : lm_socket_bound(SOCK_DGRAM, &calling->address);
    if (calling->listening < 0) {
        return -1;
    }
    calling->server = lm_helper_start(server_run, calling);
    lm_shut(&calling->listening);
    return calling->server > 0 ? make_client(calling) : -1;
}

static int calling_benchmark(uint64_t operations, void *cookie) {
    struct calling *calling = cookie;
    const struct timeval limit = {.tv_sec = LM_TIME_LIMIT_S};
    for (uint64_t i = 0; i < operations; i++) {
        u_int answer = 0;
        enum clnt_stat status =
            clnt_call(calling->client, NEXT, xdr_number, (char *)&calling->number, xdr_number,
                      (char *)&answer, limit);
        if (status != RPC_SUCCESS) {
            return failed(status);
        }
        if (answer != calling->number + 1) {
            errno = EBADMSG;
            return -1;
        }
        calling->number = answer;
    }
    return 0;
}

static int calling_cleanup(uint64_t operations, void *cookie) {
    struct calling *calling = cookie;
    if (operations != 0) {
        return 0;
    }
    if (calling->client != NULL) {
        clnt_destroy(calling->client);
    }
    int status = calling->server > 0 ? lm_helper_stop(calling->server) : 0;
    lm_shut(&calling->own);
    lm_shut(&calling->listening);
    return status;
}

static void measure(struct lm_harness *harness, const struct lm_remote *remote,
                    const char *protocol) {
    struct calling calling = {.tcp = strcmp(protocol, "tcp") == 0,
                              .remote = remote->server != NULL,
                              .address = remote->address,
                              .listening = -1,
                              .own = -1};
    const struct lm_workload workload = {.initialise = calling_initialise,
                                         .benchmark = calling_benchmark,
                                         .cleanup = calling_cleanup,
                                         .cookie = &calling};
    const struct lm_parameter parameter = {.name = "protocol", .text = protocol};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(harness, &workload, &series);
}
#else
#define WITHOUT_LIBRARY                                                                            \
    "built without libtirpc: install it with its headers and pkg-config (Debian: "                 \
    "libtirpc-dev, pkgconf), then run `make clean` and `make`"

static void measure(struct lm_harness *harness, const struct lm_remote *remote,
                    const char *protocol) {
    (void)remote;
    (void)protocol;
    lm_fail(harness, WITHOUT_LIBRARY);
}

static int serve_both(struct lm_remote *remote) {
    lm_remote_fail(PROGRAM, remote, WITHOUT_LIBRARY);
}
#endif

int main(int argc, char **argv) {
    const char *protocol = PROTOCOLS[0];
    struct lm_remote remote = {0};
    const struct lm_option options[] = {{.name = "--protocol",
                                         .help = "transport of the calls",
                                         .text = &protocol,
                                         .choices = PROTOCOLS},
                                        LM_REMOTE_OPTIONS(remote)};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_remote_parse(&program, &settings, &remote);
    lm_remote_refuse(&program, &remote, "--protocol", protocol != PROTOCOLS[0]);
    if (remote.serve != NULL) {
        return serve_both(&remote);
    }
    lm_open(&harness, &program, &settings);
    if (remote.server != NULL) {
        int reached = lm_remote_reach(&harness, &remote);
        lm_shut(&reached);
    }
    for (size_t i = 1; PROTOCOLS[i] != NULL; i++) {
        if (strcmp(protocol, PROTOCOLS[0]) == 0 || strcmp(protocol, PROTOCOLS[i]) == 0) {
            measure(&harness, &remote, PROTOCOLS[i]);
        }
    }
    return lm_close(&harness);
}
