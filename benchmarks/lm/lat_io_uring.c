/*
 * Latency of operations through io_uring, by its own system calls: one entry is submitted and its
 * completion waited for by the same call.
 */
#define _DEFAULT_SOURCE /* syscall, mkstemp, MAP_POPULATE */

#include "ipc/ipc.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_io_uring";
static const char SUMMARY[] =
    "Measures the latency of io_uring. An operation is: fill an entry, submit it and wait for its\n"
    "completion (one call of io_uring_enter), take the completion.\n"
    "  nop   the entry asks for nothing\n"
    "  read  it reads 1 and 4096 bytes of a file in the page cache, made in the working "
    "directory,\n"
    "        its name removed at once\n"
    "Each of --parallel processes has a separate ring and file.\n"
    "Metric: latency, in ns per operation.";

enum { ENTRIES = 2, FILE_BYTES = 4096 };

struct ring {
    uint64_t read_bytes; /* 0: nop */
    int descriptor, file;
    char *queues; /* both rings are in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4) */
    size_t queues_bytes;
    struct io_uring_sqe *entries;
    size_t entries_bytes;
    struct io_uring_params layout;
    char buffer[FILE_BYTES];
};

static unsigned *at(const struct ring *ring, uint32_t offset) {
    return (unsigned *)(void *)(ring->queues + offset);
}

static int set_up(struct io_uring_params *layout) {
    *layout = (struct io_uring_params){0};
    return (int)syscall(SYS_io_uring_setup, ENTRIES, layout);
}

static int map_queues(struct ring *ring) {
    const struct io_uring_params *layout = &ring->layout;
    const size_t submission = layout->sq_off.array + layout->sq_entries * sizeof(unsigned);
    const size_t completion =
        layout->cq_off.cqes + layout->cq_entries * sizeof(struct io_uring_cqe);
    ring->queues_bytes = submission > completion ? submission : completion;
    void *area = mmap(NULL, ring->queues_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      ring->descriptor, IORING_OFF_SQ_RING);
    if (area == MAP_FAILED) {
        return -1;
    }
    ring->queues = area;
    ring->entries_bytes = layout->sq_entries * sizeof *ring->entries;
    area = mmap(NULL, ring->entries_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                ring->descriptor, IORING_OFF_SQES);
    if (area == MAP_FAILED) {
        return -1;
    }
    ring->entries = area;
    return 0;
}

/* A file of no name, its bytes in the page cache. */
static int make_file(struct ring *ring) {
    char name[] = "lat_io_uring.XXXXXX";
    ring->file = mkstemp(name);
    if (ring->file < 0 || unlink(name) != 0) {
        return -1;
    }
    (void)memset(ring->buffer, 'x', sizeof ring->buffer);
    ssize_t written = write(ring->file, ring->buffer, sizeof ring->buffer);
    if (written >= 0 && written != (ssize_t)sizeof ring->buffer) {
        errno = ENOSPC;
    }
    return written == (ssize_t)sizeof ring->buffer ? 0 : -1;
}

static int ring_initialise(uint64_t operations, void *cookie) {
    struct ring *ring = cookie;
    if (operations != 0) {
        return 0;
    }
    ring->descriptor = set_up(&ring->layout);
    if (ring->descriptor < 0 || map_queues(ring) != 0) {
        return -1;
    }
    return ring->read_bytes != 0 ? make_file(ring) : 0;
}

static void fill(const struct ring *ring, struct io_uring_sqe *entry, uint64_t which) {
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .fd = -1, .user_data = which};
    if (ring->read_bytes != 0) {
        entry->opcode = IORING_OP_READ;
        entry->fd = ring->file;
        entry->addr = (uint64_t)(uintptr_t)ring->buffer;
        entry->len = (uint32_t)ring->read_bytes;
    }
}

/* Submits one entry and waits until something has completed. */
static int enter(const struct ring *ring) {
    long submitted = 0;
    do {
        submitted =
            syscall(SYS_io_uring_enter, ring->descriptor, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    } while (submitted < 0 && errno == EINTR);
    if (submitted == 0) {
        errno = EAGAIN;
    }
    return submitted == 1 ? 0 : -1;
}

/* Takes the completion of entry `which`. */
static int take(const struct ring *ring, uint64_t which) {
    const struct io_uring_params *layout = &ring->layout;
    unsigned *head = at(ring, layout->cq_off.head);
    const unsigned mask = *at(ring, layout->cq_off.ring_mask);
    const struct io_uring_cqe *completions =
        (const struct io_uring_cqe *)(const void *)(ring->queues + layout->cq_off.cqes);
    const unsigned first = *head;
    /* Acquire and release: the kernel, maybe on another processor, is the other side of the queue.
     */
    if (first == __atomic_load_n(at(ring, layout->cq_off.tail), __ATOMIC_ACQUIRE)) {
        errno = EIO; /* it returned without a completion */
        return -1;
    }
    const struct io_uring_cqe *completion = &completions[first & mask];
    const uint64_t completed = completion->user_data;
    const int32_t result = completion->res;
    __atomic_store_n(head, first + 1, __ATOMIC_RELEASE);
    if (result != (int32_t)ring->read_bytes || completed != which) {
        errno = result < 0 ? -result : EPROTO;
        return -1;
    }
    return 0;
}

static int ring_benchmark(uint64_t operations, void *cookie) {
    struct ring *ring = cookie;
    unsigned *tail = at(ring, ring->layout.sq_off.tail);
    unsigned *array = at(ring, ring->layout.sq_off.array);
    const unsigned mask = *at(ring, ring->layout.sq_off.ring_mask);
    for (uint64_t i = 0; i < operations; i++) {
        const unsigned last = *tail;
        fill(ring, &ring->entries[last & mask], i);
        array[last & mask] = last & mask;
        __atomic_store_n(tail, last + 1, __ATOMIC_RELEASE);
        if (enter(ring) != 0 || take(ring, i) != 0) {
            return -1;
        }
    }
    lm_keep(ring->buffer);
    return 0;
}

static int ring_cleanup(uint64_t operations, void *cookie) {
    struct ring *ring = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = 0;
    if (ring->entries != NULL && munmap(ring->entries, ring->entries_bytes) != 0) {
        status = -1;
    }
    if (ring->queues != NULL && munmap(ring->queues, ring->queues_bytes) != 0) {
        status = -1;
    }
    lm_shut(&ring->descriptor);
    lm_shut(&ring->file);
    return status;
}

/* Says why where there is no io_uring, before anything is measured. */
static void try_io_uring(struct lm_harness *harness) {
    struct io_uring_params layout;
    char what[240];
    int descriptor = set_up(&layout);
    if (descriptor < 0) {
        (void)snprintf(what, sizeof what,
                       "io_uring_setup: %s; expected Linux 5.6 or newer that allows io_uring "
                       "(sysctl kernel.io_uring_disabled=0, no seccomp filter against it)",
                       strerror(errno));
        lm_fail(harness, what);
    }
    lm_shut(&descriptor);
    /* IORING_OP_READ, since 5.6, has no feature of its own; this came with it. */
    if ((layout.features & IORING_FEAT_SINGLE_MMAP) == 0 ||
        (layout.features & IORING_FEAT_RW_CUR_POS) == 0) {
        lm_fail(harness, "io_uring_setup: expected Linux 5.6 or newer, got an older io_uring");
    }
}

static void measure(struct lm_harness *harness, const char *call, uint64_t read_bytes) {
    struct ring ring = {.read_bytes = read_bytes, .descriptor = -1, .file = -1};
    const struct lm_workload workload = {.initialise = ring_initialise,
                                         .benchmark = ring_benchmark,
                                         .cleanup = ring_cleanup,
                                         .cookie = &ring};
    const struct lm_parameter parameters[] = {{.name = "call", .text = call},
                                              {.name = "size_bytes", .number = read_bytes}};
    const struct lm_series series = {.parameters = parameters, .parameter_count = 2};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const calls[] = {"all", "nop", "read", NULL};
    const char *call = calls[0];
    const struct lm_option options[] = {
        {.name = "--call", .help = "requested operation", .text = &call, .choices = calls}};
    const struct lm_program program = {
        .name = PROGRAM, .summary = SUMMARY, .options = options, .option_count = 1};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    try_io_uring(&harness);
    if (strcmp(call, "read") != 0) {
        measure(&harness, "nop", 0);
    }
    if (strcmp(call, "nop") != 0) {
        measure(&harness, "read", 1);
        measure(&harness, "read", FILE_BYTES);
    }
    return lm_close(&harness);
}
