/*
 * Latency of remote procedure calls (SUN RPC, RFC 5531) by libtirpc, over the loopback interface.
 *
 * Neither side asks a port mapper: the server is registered for protocol 0, which is none, and the
 * client is given the port. Without libtirpc the program is built all the same, and says so.
 */
#define _DEFAULT_SOURCE /* the library's headers use u_int and the like */

#include "ipc/ipc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_rpc";
static const char SUMMARY[] =
    "Measures the latency of remote procedure calls (SUN RPC by libtirpc) to another process over\n"
    "the loopback interface (127.0.0.1), on a separate port without a port mapper. An operation\n"
    "is a call of a procedure that takes a number and returns the next. A call over UDP that is\n"
    "lost is not sent again: after 10 s without an answer the measurement\n"
    "fails.\n" LM_PLACEMENT_HELP "Metric: latency, in ns per call.";
static const char *const PROTOCOLS[] = {"all", "udp", "tcp", NULL};

#ifdef LM_TIRPC
#include <rpc/rpc.h>
#include <stdarg.h>

/* From the range that RFC 5531 leaves to users. */
enum { PROGRAM_NUMBER = 0x20001234, VERSION = 1, NEXT = 1 };

struct calling {
    bool tcp;
    int listening;
    struct sockaddr_in address;
    pid_t server;
    int own; /* the client's socket */
    CLIENT *client;
    u_int number;
};

/* What the library's xdr_u_int is, in the type that its calls ask for. */
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
    /* What cannot be answered is seen by the client: by its time limit, or by the connection. */
    (void)svc_sendreply(transport, xdr_number, (char *)&number);
}

static int server_run(void *cookie) {
    const struct calling *calling = cookie;
    SVCXPRT *transport =
        calling->tcp ? svctcp_create(calling->listening, 0, 0) : svcudp_create(calling->listening);
    if (transport == NULL ||
        !svc_register(transport, PROGRAM_NUMBER, VERSION, dispatch, /* no protocol */ 0)) {
        return LM_EXIT_FAILED;
    }
    svc_run(); /* returns only when it fails */
    return LM_EXIT_FAILED;
}

/* Sets the errno that is nearest to what the library tells; returns -1. */
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

/* The client's socket is bound by us: the library would take a reserved port. */
static int make_client(struct calling *calling) {
    struct sockaddr_in own_address;
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
        calling->own = lm_socket_bound(SOCK_DGRAM, &own_address);
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

static void measure(struct lm_harness *harness, const char *protocol) {
    struct calling calling = {.tcp = strcmp(protocol, "tcp") == 0, .listening = -1, .own = -1};
    const struct lm_workload workload = {.initialise = calling_initialise,
                                         .benchmark = calling_benchmark,
                                         .cleanup = calling_cleanup,
                                         .cookie = &calling};
    const struct lm_parameter parameter = {.name = "protocol", .text = protocol};
    const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
    lm_run(harness, &workload, &series);
}
#else
static void measure(struct lm_harness *harness, const char *protocol) {
    (void)protocol;
    lm_fail(harness, "built without libtirpc: install it with its headers and pkg-config (Debian: "
                     "libtirpc-dev, pkgconf), then `make clean` and `make`");
}
#endif

int main(int argc, char **argv) {
    const char *protocol = PROTOCOLS[0];
    const struct lm_option options[] = {{.name = "--protocol",
                                         .help = "transport of the calls",
                                         .text = &protocol,
                                         .choices = PROTOCOLS}};
    const struct lm_program program = {
        .name = PROGRAM, .summary = SUMMARY, .options = options, .option_count = 1};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    for (size_t i = 1; PROTOCOLS[i] != NULL; i++) {
        if (strcmp(protocol, PROTOCOLS[0]) == 0 || strcmp(protocol, PROTOCOLS[i]) == 0) {
            measure(&harness, PROTOCOLS[i]);
        }
    }
    return lm_close(&harness);
}
