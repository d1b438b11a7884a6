/*
 * One-way transfer from a writer to the measured child: the common part of bw_pipe, bw_unix and
 * bw_tcp. lat_transfer uses these steps for messages of other sizes.
 *
 * Each child has a separate writer. The child requests the bytes of an interval over a control
 * pipe, within the timed part, and reads until it has received all of them. Therefore the
 * connection is empty at the beginning and end of an interval. Only bytes that are both sent and
 * received in the interval count, whatever the size of the buffers.
 *
 * With --server, the writer is a process of the server on another host, and the child requests the
 * bytes over the connection itself.
 */
#ifndef LM_BW_TRANSFER_H
#define LM_BW_TRANSFER_H

#include "harness/lm.h"
#include "ipc/ipc.h"
#include "ipc/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* BW_QUEUE: connections that wait to be accepted, one per child of a client. */
enum { BW_MOST_KIB = 1 << 20, BW_PAGE_BYTES = 4096, BW_QUEUE = 16 };

/* Create a connection within one process: data written to ends[1] can be read from ends[0]. Return
 * 0, or -1 with errno. */
typedef int bw_connect(int ends[2]);

struct bw_transfer {
    bw_connect *connect;
    struct lm_remote remote;
    size_t message_bytes;
    uint64_t operation_bytes; /* a multiple of message_bytes */
    int ends[2], control[2];
    pid_t writer;
    char *buffer;
};

static int bw_write_all(int descriptor, const char *from, size_t bytes) {
    while (bytes > 0) {
        ssize_t written = write(descriptor, from, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return -1;
        }
        from += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* The writer: for each received number, write that number of messages. It exits when the reader
 * closes. */
static int bw_writer_run(void *cookie) {
    struct bw_transfer *transfer = cookie;
    uint64_t messages = 0;
    (void)close(transfer->ends[0]);
    (void)close(transfer->control[1]);
    for (;;) {
        /* A write of this size to a pipe is atomic, and to a connection one segment. */
        ssize_t got = read(transfer->control[0], &messages, sizeof messages);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)sizeof messages) {
            return got == 0 ? 0 : LM_EXIT_FAILED;
        }
        for (; messages > 0; messages--) {
            if (bw_write_all(transfer->ends[1], transfer->buffer, transfer->message_bytes) != 0) {
                return errno == EPIPE || errno == ECONNRESET ? 0 : LM_EXIT_FAILED;
            }
        }
    }
}

static int bw_benchmark(uint64_t operations, void *cookie) {
    struct bw_transfer *transfer = cookie;
    uint64_t left_bytes = operations * transfer->operation_bytes;
    uint64_t messages = left_bytes / transfer->message_bytes;
    if (bw_write_all(transfer->control[1], (const char *)&messages, sizeof messages) != 0) {
        return -1;
    }
    while (left_bytes > 0) {
        size_t wanted =
            left_bytes < transfer->message_bytes ? (size_t)left_bytes : transfer->message_bytes;
        ssize_t got = read(transfer->ends[0], transfer->buffer, wanted);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            /* End of file although more was requested: the writer has died. */
            errno = got == 0 ? EPIPE : errno;
            return -1;
        }
        left_bytes -= (uint64_t)got;
    }
    lm_keep(transfer->buffer);
    return 0;
}

static int bw_allocate(struct bw_transfer *transfer) {
    void *buffer = NULL;
    int status = posix_memalign(&buffer, BW_PAGE_BYTES, transfer->message_bytes);
    if (status != 0) {
        errno = status;
        return -1;
    }
    transfer->buffer = buffer;
    /* Touch every page, also for the writer, before the timed part. */
    (void)memset(buffer, 'x', transfer->message_bytes);
    return 0;
}

/* Both sides send the size of their messages. Return 0, or -1 with errno (EBADMSG: unequal). */
static int bw_agree(struct bw_transfer *transfer, int connection) {
    uint64_t other_bytes = 0;
    if (lm_remote_exchange(connection, transfer->message_bytes, &other_bytes) != 0) {
        return -1;
    }
    errno = EBADMSG;
    return other_bytes == transfer->message_bytes ? 0 : -1;
}

/* Write to a client on another host until it closes its connection. */
static int bw_session(int connection, void *cookie) {
    struct bw_transfer *transfer = cookie;
    transfer->ends[1] = connection;
    transfer->control[0] = dup(connection);
    if (transfer->control[0] < 0 || lm_socket_prepare(connection) != 0 ||
        bw_agree(transfer, connection) != 0 || bw_allocate(transfer) != 0) {
        return LM_EXIT_FAILED;
    }
    return bw_writer_run(transfer);
}

static int bw_join(struct bw_transfer *transfer) {
    transfer->ends[0] = lm_remote_connected(&transfer->remote.address);
    transfer->control[1] = transfer->ends[0] < 0 ? -1 : dup(transfer->ends[0]);
    return transfer->control[1] < 0 ? -1 : bw_agree(transfer, transfer->ends[0]);
}

static int bw_initialise(uint64_t operations, void *cookie) {
    struct bw_transfer *transfer = cookie;
    if (operations != 0) {
        return 0;
    }
    if (bw_allocate(transfer) != 0) {
        return -1;
    }
    if (transfer->remote.server != NULL) {
        return bw_join(transfer);
    }
    if (transfer->connect(transfer->ends) != 0 || pipe(transfer->control) != 0) {
        return -1;
    }
    transfer->writer = lm_helper_start(bw_writer_run, transfer);
    if (transfer->writer < 0) {
        return -1;
    }
    /* Only the writer keeps these ends, so the reader sees end of file when the writer dies. */
    if (close(transfer->ends[1]) != 0 || close(transfer->control[0]) != 0) {
        return -1;
    }
    transfer->ends[1] = transfer->control[0] = -1;
    return 0;
}

static int bw_cleanup(uint64_t operations, void *cookie) {
    struct bw_transfer *transfer = cookie;
    int left_bytes = 0;
    if (operations != 0) {
        /* Extra bytes would count in the next interval. */
        if (ioctl(transfer->ends[0], FIONREAD, &left_bytes) != 0) {
            return -1;
        }
        errno = EPROTO;
        return left_bytes == 0 ? 0 : -1;
    }
    int *const all[] = {&transfer->ends[0], &transfer->ends[1], &transfer->control[0],
                        &transfer->control[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (*all[i] >= 0) {
            (void)close(*all[i]);
            *all[i] = -1;
        }
    }
    free(transfer->buffer);
    transfer->buffer = NULL;
    pid_t writer = transfer->writer;
    transfer->writer = -1;
    return writer > 0 ? lm_helper_stop(writer) : 0;
}

/* Before anything is measured. */
static inline void bw_reach(struct lm_harness *harness, struct bw_transfer *transfer) {
    int reached = lm_remote_reach(harness, &transfer->remote);
    if (bw_agree(transfer, reached) != 0) {
        lm_fail(harness, errno == EBADMSG
                             ? "--message-kib: expected the value of the server, got another one"
                             : "--server: no answer from a server of this program");
    }
    lm_shut(&reached);
}

enum { BW_ON_ONE_HOST = 0, BW_BETWEEN_HOSTS = LM_REMOTE_OPTION_COUNT };

/* Complete main() for a connection created by `connect`; with BW_BETWEEN_HOSTS also for --serve and
 * --server. */
static inline int bw_main(const char *name, const char *summary, bw_connect *connect,
                          size_t remote_options, int argc, char **argv) {
    uint64_t message_kib = 64, total_kib = 1024;
    const uint64_t default_total_kib = total_kib;
    struct lm_remote remote = {0};
    const struct lm_option options[] = {
        {.name = "--message-kib",
         .help = "size of a write and maximum size of a read, in KiB",
         .number = &message_kib,
         .minimum = 1,
         .maximum = BW_MOST_KIB},
        {.name = "--total-kib",
         .help = "size of an operation in KiB, rounded up to whole messages",
         .number = &total_kib,
         .minimum = 1,
         .maximum = BW_MOST_KIB},
        LM_REMOTE_OPTIONS(remote),
    };
    const size_t own_options = sizeof options / sizeof options[0] - LM_REMOTE_OPTION_COUNT;
    const struct lm_program program = {.name = name,
                                       .summary = summary,
                                       .options = options,
                                       .option_count = own_options + remote_options};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_remote_parse(&program, &settings, &remote);
    lm_remote_refuse(&program, &remote, "--total-kib", total_kib != default_total_kib);

    uint64_t message_bytes = message_kib * 1024;
    uint64_t messages = (total_kib + message_kib - 1) / message_kib;
    struct bw_transfer transfer = {.connect = connect,
                                   .message_bytes = (size_t)message_bytes,
                                   .operation_bytes = messages * message_bytes,
                                   .ends = {-1, -1},
                                   .control = {-1, -1},
                                   .writer = -1};
    if (remote.serve != NULL) {
        int listening = lm_remote_listening(name, &remote, BW_QUEUE);
        return lm_remote_serve(name, &remote, lm_remote_sessions(listening, bw_session, &transfer));
    }
    transfer.remote = remote;
    const struct lm_workload workload = {.initialise = bw_initialise,
                                         .benchmark = bw_benchmark,
                                         .cleanup = bw_cleanup,
                                         .cookie = &transfer};
    const struct lm_parameter parameter = {.name = "message_bytes", .number = message_bytes};
    const struct lm_series series = {.bytes_per_operation = transfer.operation_bytes,
                                     .parameters = &parameter,
                                     .parameter_count = 1};
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    if (remote.server != NULL) {
        bw_reach(&harness, &transfer);
    }
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}

#endif
