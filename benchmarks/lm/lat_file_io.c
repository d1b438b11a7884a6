/*
 * Latency of reading and writing a part of a file that is in the page cache, and of mapping one.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/file.h"
#include "harness/lm.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_file_io";
static const char SUMMARY[] =
    "Measures calls on a file in the page cache, with a separate file for each process.\n"
    "  read       one pread of this many bytes from the beginning of the file\n"
    "  write      one pwrite of this many bytes over the beginning of the file\n"
    "  mmap_read  map this many bytes of the file, read a byte of each page, unmap\n"
    "  append     one write of 100 bytes at the end of the file, as to a log; the file is cut to\n"
    "             nothing between the repetitions, and when it has 16 MiB\n"
    "  mmap       map 64 KiB of the file, unmap\n"
    "An operation is one of these; the first three have a series for each of --bytes. The file is\n"
    "made in the working directory. Metric: latency, in ns per operation.";

enum { MAPPED_BYTES = 65536, APPENDED_BYTES = 100, MOST_FILE_BYTES = 1 << 30 };
/* Far below what a system lets a process write before it has to wait for the disk. */
static const uint64_t MOST_APPENDED_BYTES = UINT64_C(1) << 24;

struct work {
    uint64_t bytes, page_bytes;
    uint64_t appended_bytes; /* since the file was cut */
    bool appends;
    struct lm_file file;
    char *buffer;
};

/* Less than what was asked for is a failure too: of a full disk, or of a limit. */
static bool is_whole(ssize_t done, const struct work *work) {
    if (done >= 0 && (uint64_t)done != work->bytes) {
        errno = EIO;
    }
    return done >= 0 && (uint64_t)done == work->bytes;
}

static int read_benchmark(uint64_t operations, void *cookie) {
    const struct work *work = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (!is_whole(pread(work->file.descriptor, work->buffer, work->bytes, 0), work)) {
            return -1;
        }
    }
    lm_keep(work->buffer);
    return 0;
}

static int write_benchmark(uint64_t operations, void *cookie) {
    const struct work *work = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (!is_whole(pwrite(work->file.descriptor, work->buffer, work->bytes, 0), work)) {
            return -1;
        }
    }
    return 0;
}

static int cut(struct work *work) {
    work->appended_bytes = 0;
    return ftruncate(work->file.descriptor, 0);
}

static int append_benchmark(uint64_t operations, void *cookie) {
    struct work *work = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (work->appended_bytes >= MOST_APPENDED_BYTES && cut(work) != 0) {
            return -1;
        }
        if (!is_whole(write(work->file.descriptor, work->buffer, work->bytes), work)) {
            return -1;
        }
        work->appended_bytes += work->bytes;
    }
    return 0;
}

static int map_touch_unmap(uint64_t operations, const struct work *work, uint64_t touched_bytes) {
    const size_t bytes = (size_t)work->bytes;
    for (uint64_t i = 0; i < operations; i++) {
        void *area = mmap(NULL, bytes, PROT_READ, MAP_SHARED, work->file.descriptor, 0);
        if (area == MAP_FAILED) {
            return -1;
        }
        const volatile unsigned char *bytes_of_file = area;
        for (uint64_t at = 0; at < touched_bytes; at += work->page_bytes) {
            (void)bytes_of_file[at];
        }
        if (munmap(area, bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static int mmap_read_benchmark(uint64_t operations, void *cookie) {
    const struct work *work = cookie;
    return map_touch_unmap(operations, work, work->bytes);
}

static int mmap_benchmark(uint64_t operations, void *cookie) {
    return map_touch_unmap(operations, cookie, 0);
}

static int begin(struct work *work) {
    work->buffer = malloc((size_t)work->bytes);
    if (work->buffer == NULL) {
        return -1;
    }
    (void)memset(work->buffer, 'x', (size_t)work->bytes);
    /* What is made is written to the disk at once: nothing is left to write while it is read. */
    if (lm_file_make(&work->file, (work->bytes + 7) / 8 * 8, false) != 0) {
        return -1;
    }
    if (!work->appends) {
        return 0;
    }
    return fcntl(work->file.descriptor, F_SETFL, O_APPEND) != 0 ? -1 : cut(work);
}

static int initialise(uint64_t operations, void *cookie) {
    return operations == 0 ? begin(cookie) : 0;
}

static int cleanup(uint64_t operations, void *cookie) {
    struct work *work = cookie;
    if (operations != 0) {
        return work->appends ? cut(work) : 0;
    }
    free(work->buffer);
    work->buffer = NULL;
    return lm_file_remove(&work->file);
}

struct kind {
    const char *name;
    lm_step *benchmark;
    uint64_t bytes; /* 0: a series for each of --bytes */
};

static const struct kind KINDS[] = {
    {"read", read_benchmark, 0},
    {"write", write_benchmark, 0},
    {"mmap_read", mmap_read_benchmark, 0},
    {"append", append_benchmark, APPENDED_BYTES},
    {"mmap", mmap_benchmark, MAPPED_BYTES},
};

static void measure(struct lm_harness *harness, const struct kind *kind, uint64_t bytes) {
    struct work work = {.bytes = bytes,
                        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                        .appends = kind->benchmark == append_benchmark,
                        .file = {.descriptor = -1}};
    const struct lm_workload workload = {.initialise = initialise,
                                         .benchmark = kind->benchmark,
                                         .cleanup = cleanup,
                                         .cookie = &work};
    const struct lm_parameter parameters[] = {{.name = "operation", .text = kind->name},
                                              {.name = "bytes", .number = bytes}};
    const struct lm_series series = {.parameters = parameters, .parameter_count = 2};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all",    "read", "write", "mmap_read",
                                          "append", "mmap", NULL};
    const char *chosen = choices[0], *sizes = "512,4096,16384,65536,262144,1048576";
    const struct lm_option options[] = {
        {.name = "--operation",
         .help = "operation on the file",
         .text = &chosen,
         .choices = choices},
        {.name = "--bytes", .help = "bytes per call", .text = &sizes},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers bytes;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--bytes", sizes, 1, MOST_FILE_BYTES, &bytes);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, KINDS[i].name) != 0) {
            continue;
        }
        for (size_t size = 0; size < (KINDS[i].bytes == 0 ? bytes.count : 1); size++) {
            measure(&harness, &KINDS[i], KINDS[i].bytes == 0 ? bytes.number[size] : KINDS[i].bytes);
        }
    }
    return lm_close(&harness);
}
