/*
 * Latency of mapping a file into memory, touching its pages, and unmapping it.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/file.h"
#include "harness/lm.h"
#include "harness/sizes.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_mmap";
static const char SUMMARY[] =
    "Measures mapping a file, reading a byte of every page of it, and unmapping it, a series for\n"
    "each size. The file is made in the working directory and is in the page cache. An operation\n"
    "is all three. Metric: latency, in ns. lat_pagefault measures a fault alone.";

struct mapping {
    struct lm_file_use use;
    uint64_t page_bytes;
};

static int map_touch_unmap(uint64_t operations, void *cookie) {
    const struct mapping *mapping = cookie;
    const size_t bytes = (size_t)mapping->use.bytes;
    for (uint64_t i = 0; i < operations; i++) {
        void *area = mmap(NULL, bytes, PROT_READ, MAP_SHARED, mapping->use.file.descriptor, 0);
        if (area == MAP_FAILED) {
            return -1;
        }
        const volatile unsigned char *bytes_of_file = area;
        for (uint64_t at = 0; at < bytes; at += mapping->page_bytes) {
            (void)bytes_of_file[at];
        }
        if (munmap(area, bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static int mmap_initialise(uint64_t operations, void *cookie) {
    struct mapping *mapping = cookie;
    return operations == 0 ? lm_file_child_begin(&mapping->use) : 0;
}

static int mmap_cleanup(uint64_t operations, void *cookie) {
    struct mapping *mapping = cookie;
    return operations == 0 ? lm_file_child_end(&mapping->use) : 0;
}

static void measure(struct lm_harness *harness, struct mapping *mapping) {
    const struct lm_workload workload = {.initialise = mmap_initialise,
                                         .benchmark = map_touch_unmap,
                                         .cleanup = mmap_cleanup,
                                         .cookie = mapping};
    const struct lm_parameter parameters[] = {{.name = "size_bytes", .number = mapping->use.bytes},
                                              {.name = "file", .text = mapping->use.sharing}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_file_open(harness, &mapping->use);
    lm_run(harness, &workload, &series);
    lm_file_close(harness, &mapping->use);
}

int main(int argc, char **argv) {
    const char *sizes = "16,1024,8192";
    struct mapping mapping = {.use = {.sharing = LM_FILE_SHARINGS[0], .cache = LM_FILE_CACHES[0]},
                              .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    const struct lm_option options[] = {
        {.name = "--kib", .help = "sizes of the file, in KiB", .text = &sizes},
        LM_FILE_OPTION(mapping.use),
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    uint64_t kib[LM_MOST_SIZES] = {0};
    lm_options_parse(&program, &settings, argc, argv);
    const size_t count = lm_sizes_parse(PROGRAM, "--kib", sizes, kib);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < count; i++) {
        mapping.use.bytes = kib[i] * 1024;
        measure(&harness, &mapping);
    }
    return lm_close(&harness);
}
