/*
 * Latency of a page fault: touching a page of a mapped file that is not mapped yet.
 *
 * A kernel maps the pages around a faulting one with it, so that the next touch would not fault.
 * So one page in each --step-kib is touched, and it is counted that every touch was a fault: one
 * that was none is an error.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "harness/file.h"
#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char PROGRAM[] = "lat_pagefault";
static const char SUMMARY[] =
    "Measures the latency of a page fault: reading a byte of one page in each --step-kib of a\n"
    "mapped file. warm: the page is in the page cache, and only has to be mapped (with those\n"
    "around it, as the kernel does). cold: the file was dropped from this system's page cache, "
    "and\n"
    "the page is read from the disk, without reading ahead (a disk or a host may still hold it in\n"
    "another cache). The file is made in the working directory. That each touch was a fault\n"
    "is checked. An operation is one fault. Metric: latency, in ns.";

/* The file is mapped as often as an interval needs touches. No more than this, because page tables
 * for it grow by some 128 bytes a fault: intervals of several processes then last less than the
 * second that they do elsewhere. */
static const uint64_t MOST_TOUCHES = 200000;
enum { PROBE_TOUCHES = 16 };

struct faulting {
    struct lm_file_use use;
    uint64_t step_bytes;
    volatile unsigned char **areas; /* the file, mapped `area_count` times */
    uint64_t area_count;
    uint64_t faults_before;
};

/* How many touches a mapping is good for. */
static uint64_t touches_of(const struct faulting *faulting) {
    return faulting->use.bytes / faulting->step_bytes;
}

static int touch(uint64_t operations, void *cookie) {
    const struct faulting *faulting = cookie;
    const uint64_t end = touches_of(faulting) * faulting->step_bytes;
    volatile unsigned char *const *area = faulting->areas;
    uint64_t at = 0;
    for (uint64_t i = 0; i < operations; i++) {
        (void)(*area)[at];
        at += faulting->step_bytes;
        if (at == end) {
            at = 0;
            area++;
        }
    }
    return 0;
}

static int unmap_all(struct faulting *faulting) {
    int status = 0;
    for (uint64_t i = 0; i < faulting->area_count; i++) {
        if (munmap((void *)faulting->areas[i], (size_t)faulting->use.bytes) != 0) {
            status = -1;
        }
    }
    faulting->area_count = 0;
    free(faulting->areas);
    faulting->areas = NULL;
    return status;
}

static int map_all(struct faulting *faulting, uint64_t count) {
    faulting->areas = calloc((size_t)count, sizeof *faulting->areas);
    if (faulting->areas == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < count; i++) {
        void *area = mmap(NULL, (size_t)faulting->use.bytes, PROT_READ, MAP_SHARED,
                          faulting->use.file.descriptor, 0);
        if (area == MAP_FAILED) {
            return -1;
        }
        faulting->areas[faulting->area_count++] = area;
        /* Without reading ahead. */
        if (madvise(area, (size_t)faulting->use.bytes, MADV_RANDOM) != 0) {
            return -1;
        }
    }
    return 0;
}

static int fault_initialise(uint64_t operations, void *cookie) {
    struct faulting *faulting = cookie;
    if (operations == 0) {
        return lm_file_child_begin(&faulting->use);
    }
    uint64_t touches = touches_of(faulting);
    if (lm_file_child_interval(&faulting->use) != 0 ||
        map_all(faulting, (operations + touches - 1) / touches) != 0) {
        return -1;
    }
    return lm_count_faults(&faulting->faults_before);
}

static int fault_cleanup(uint64_t operations, void *cookie) {
    struct faulting *faulting = cookie;
    uint64_t faults = 0;
    if (operations == 0) {
        int status = faulting->areas != NULL ? unmap_all(faulting) : 0;
        return lm_file_child_end(&faulting->use) != 0 ? -1 : status;
    }
    if (lm_count_faults(&faults) != 0 || unmap_all(faulting) != 0) {
        return -1;
    }
    if (faults - faulting->faults_before < operations) {
        /* The nearest that errno has; see check_faults(). */
        errno = ERANGE;
        return -1;
    }
    return 0;
}

_Noreturn static void fail(struct lm_harness *harness, const char *doing) {
    char what[200];
    (void)snprintf(what, sizeof what, "%s: %s", doing, strerror(errno));
    lm_fail(harness, what);
}

/* A few touches of a small file, so that too small a step is told before anything is measured. */
static void check_faults(struct lm_harness *harness, uint64_t step_bytes) {
    struct faulting probe = {.step_bytes = step_bytes};
    uint64_t before = 0, after = 0;
    probe.use.bytes = PROBE_TOUCHES * step_bytes;
    if (lm_file_make(&probe.use.file, probe.use.bytes, false) != 0) {
        fail(harness, "making a file in the working directory");
    }
    if (map_all(&probe, 1) != 0 || lm_count_faults(&before) != 0 ||
        touch(PROBE_TOUCHES, &probe) != 0 || lm_count_faults(&after) != 0 ||
        unmap_all(&probe) != 0 || lm_file_remove(&probe.use.file) != 0) {
        fail(harness, "counting the faults of a few touches");
    }
    if (after - before < PROBE_TOUCHES) {
        char what[200];
        (void)snprintf(what, sizeof what,
                       "--step-kib: expected a step that the kernel does not map at once, got %llu "
                       "(%llu faults in %d touches); make it larger",
                       (unsigned long long)(step_bytes / 1024),
                       (unsigned long long)(after - before), PROBE_TOUCHES);
        lm_fail(harness, what);
    }
}

static void measure(struct lm_harness *harness, struct faulting *faulting) {
    uint64_t most = lm_file_is_cold(&faulting->use) ? touches_of(faulting) : MOST_TOUCHES;
    const struct lm_workload workload = {.initialise = fault_initialise,
                                         .benchmark = touch,
                                         .cleanup = fault_cleanup,
                                         .cookie = faulting,
                                         .most_operations = most};
    const struct lm_parameter parameters[] = {
        {.name = "size_bytes", .number = faulting->use.bytes},
        {.name = "step_bytes", .number = faulting->step_bytes},
        {.name = "file", .text = faulting->use.sharing},
        {.name = "cache", .text = faulting->use.cache}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_file_open(harness, &faulting->use);
    lm_run(harness, &workload, &series);
    lm_file_close(harness, &faulting->use);
}

int main(int argc, char **argv) {
    uint64_t kib = 16384, step_kib = 64;
    struct faulting faulting = {
        .use = {.sharing = LM_FILE_SHARINGS[0], .cache = LM_FILE_CACHES[0]}};
    const struct lm_option options[] = {
        {.name = "--kib",
         .help = "size of the file, in KiB",
         .number = &kib,
         .minimum = 1,
         .maximum = UINT64_C(1) << 30},
        {.name = "--step-kib",
         .help = "distance of two touched pages, in KiB",
         .number = &step_kib,
         .minimum = 4,
         .maximum = UINT64_C(1) << 20},
        LM_FILE_OPTION(faulting.use),
        LM_FILE_CACHE_OPTION(faulting.use),
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_file_check(&program, &settings, &faulting.use);
    if (kib < step_kib) {
        char got[30];
        (void)snprintf(got, sizeof got, "%llu", (unsigned long long)kib);
        lm_usage_error(PROGRAM, "--kib", "no less than --step-kib", got);
    }
    faulting.use.bytes = kib * 1024;
    faulting.step_bytes = step_kib * 1024;

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    check_faults(&harness, faulting.step_bytes);
    measure(&harness, &faulting);
    return lm_close(&harness);
}
