/*
 * Bandwidth of reading a file: through read() into a buffer, and from there into the processor.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/file.h"
#include "harness/lm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "bw_file_rd";
static const char SUMMARY[] =
    "Measures the bandwidth of reading a file, block by block into one buffer, where all that was\n"
    "read is added up (and the sum is checked). The file is read through a descriptor that stays\n"
    "open (read), or opened, read and closed each time (open_close). It is made in the working\n"
    "directory. cold: dropped from this system's page cache before each repetition; a disk or a\n"
    "host may still hold it in another cache. bw_mmap_rd reads by mapping. An operation is\n"
    "one reading of the whole file. Metric: bandwidth, in MB/s (10^6 bytes).";

enum { BUFFER_ALIGNMENT = 4096 };

struct reading {
    struct lm_file_use use;
    size_t block_bytes;
    void *block;
    uint64_t sum; /* what the file's words must add up to */
};

/* Reads all of the file by pread(), so that children that share a descriptor share no position. */
static int read_all(const struct reading *reading, int descriptor) {
    uint64_t sum = 0, at = 0;
    while (at < reading->use.bytes) {
        ssize_t got = pread(descriptor, reading->block, reading->block_bytes, (off_t)at);
        /* A file on a disk is read in whole blocks; the last may be shorter. */
        if (got <= 0 || got % 64 != 0) {
            errno = got < 0 ? errno : EIO;
            return -1;
        }
        sum += lm_file_add(reading->block, (uint64_t)got);
        at += (uint64_t)got;
    }
    if (sum != reading->sum) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static int file_read(uint64_t operations, void *cookie) {
    const struct reading *reading = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (read_all(reading, reading->use.file.descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

static int file_open_close(uint64_t operations, void *cookie) {
    const struct reading *reading = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        int descriptor = open(reading->use.file.name, O_RDONLY);
        if (descriptor < 0) {
            return -1;
        }
        if (read_all(reading, descriptor) != 0) {
            int reason = errno;
            (void)close(descriptor);
            errno = reason;
            return -1;
        }
        if (close(descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

static int file_initialise(uint64_t operations, void *cookie) {
    struct reading *reading = cookie;
    if (operations != 0) {
        return lm_file_child_interval(&reading->use);
    }
    int status = posix_memalign(&reading->block, BUFFER_ALIGNMENT, reading->block_bytes);
    if (status != 0) {
        reading->block = NULL;
        errno = status;
        return -1;
    }
    /* Its pages are there before the first read. */
    (void)memset(reading->block, 0, reading->block_bytes);
    return lm_file_child_begin(&reading->use);
}

static int file_cleanup(uint64_t operations, void *cookie) {
    struct reading *reading = cookie;
    if (operations != 0) {
        return 0;
    }
    free(reading->block);
    reading->block = NULL;
    return lm_file_child_end(&reading->use);
}

struct method {
    const char *name;
    lm_step *benchmark;
};

static const struct method METHODS[] = {{"read", file_read}, {"open_close", file_open_close}};

static void measure(struct lm_harness *harness, const struct method *method,
                    struct reading *reading) {
    const struct lm_workload workload = {.initialise = file_initialise,
                                         .benchmark = method->benchmark,
                                         .cleanup = file_cleanup,
                                         .cookie = reading,
                                         .most_operations = lm_file_is_cold(&reading->use) ? 1 : 0};
    const struct lm_parameter parameters[] = {
        {.name = "method", .text = method->name},
        {.name = "size_bytes", .number = reading->use.bytes},
        {.name = "block_bytes", .number = reading->block_bytes},
        {.name = "file", .text = reading->use.sharing},
        {.name = "cache", .text = reading->use.cache}};
    const struct lm_series series = {.bytes_per_operation = reading->use.bytes,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_file_open(harness, &reading->use);
    lm_run(harness, &workload, &series);
    lm_file_close(harness, &reading->use);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "read", "open_close", NULL};
    const char *chosen = choices[0];
    uint64_t kib = 8192, block_kib = 64;
    struct reading reading = {.use = {.sharing = LM_FILE_SHARINGS[0], .cache = LM_FILE_CACHES[0]}};
    const struct lm_option options[] = {
        {.name = "--method", .help = "method of reading", .text = &chosen, .choices = choices},
        {.name = "--kib",
         .help = "size of the file, in KiB",
         .number = &kib,
         .minimum = 1,
         .maximum = UINT64_C(1) << 30},
        {.name = "--block-kib",
         .help = "size of the buffer, in KiB",
         .number = &block_kib,
         .minimum = 1,
         .maximum = UINT64_C(1) << 20},
        LM_FILE_OPTION(reading.use),
        LM_FILE_CACHE_OPTION(reading.use),
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_file_check(&program, &settings, &reading.use);
    reading.use.bytes = kib * 1024;
    reading.block_bytes = (size_t)block_kib * 1024;
    reading.sum = lm_file_sum(reading.use.bytes);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof METHODS / sizeof METHODS[0]; i++) {
        if (strcmp(chosen, "all") == 0 || strcmp(chosen, METHODS[i].name) == 0) {
            reading.use.named = METHODS[i].benchmark == file_open_close;
            measure(&harness, &METHODS[i], &reading);
        }
    }
    return lm_close(&harness);
}
