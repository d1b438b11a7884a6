/*
 * Latency of a fault that copies a page.
 *
 * After a fork, parent and child share their pages until one of them writes. A private mapping
 * shares pages with its file in the same way. Pages of a private mapping are first read, which
 * maps them and is not timed. Then a byte of each is written (a fault, a new page from the kernel,
 * a copy), and the copies are released. The number of faults is checked: a write without a fault
 * is an error.
 */
#define _GNU_SOURCE /* memfd_create */

#include "harness/lm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_page_copy";
static const char SUMMARY[] =
    "Measure the latency of a write to a page that must be copied, as after a fork: pages of a\n"
    "private mapping of a file in memory, after each has been read. The result includes releasing\n"
    "the copy. The program checks that each write is a fault. An operation is one page.\n"
    "Metric: latency, in ns per page.";

/* Number of pages that are copied and released together, which uses little memory. */
enum { PAGES = 1024 };

struct copying {
    size_t page_bytes;
    int file; /* of PAGES pages */
};

/* Write to `count` pages, at most PAGES, and release the copies; only this is timed. */
static int copy(const struct copying *copying, uint64_t count) {
    const size_t bytes = PAGES * copying->page_bytes;
    uint64_t before = 0, after = 0;
    volatile unsigned char *area =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, copying->file, 0);
    if (area == MAP_FAILED) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        (void)area[i * copying->page_bytes];
    }
    if (lm_count_faults(&before) != 0) {
        return -1;
    }
    lm_resume();
    for (size_t i = 0; i < count; i++) {
        area[i * copying->page_bytes] = 'x';
    }
    if (lm_count_faults(&after) != 0 || munmap((void *)area, bytes) != 0) {
        return -1;
    }
    lm_pause();
    if (after - before < count) {
        errno = ERANGE; /* the closest errno: pages were already mapped for writing */
        return -1;
    }
    return 0;
}

static int copy_benchmark(uint64_t operations, void *cookie) {
    const struct copying *copying = cookie;
    int status = 0;
    lm_pause();
    while (operations > 0 && status == 0) {
        const uint64_t count = operations < PAGES ? operations : PAGES;
        status = copy(copying, count);
        operations -= count;
    }
    lm_resume();
    return status;
}

static int copy_initialise(uint64_t operations, void *cookie) {
    struct copying *copying = cookie;
    if (operations != 0) {
        return 0;
    }
    const size_t bytes = PAGES * copying->page_bytes;
    copying->file = memfd_create(PROGRAM, MFD_CLOEXEC);
    if (copying->file < 0 || ftruncate(copying->file, (off_t)bytes) != 0) {
        return -1;
    }
    /* A fault on a never-written page of the file would create the page. */
    for (size_t i = 0; i < PAGES; i++) {
        if (pwrite(copying->file, "y", 1, (off_t)(i * copying->page_bytes)) != 1) {
            return -1;
        }
    }
    return 0;
}

static int copy_cleanup(uint64_t operations, void *cookie) {
    struct copying *copying = cookie;
    return operations != 0 || copying->file < 0 ? 0 : close(copying->file);
}

/* Once before the measurement, to report a failure with its cause. */
static void try_once(struct lm_harness *harness, struct copying copying) {
    if (copy_initialise(0, &copying) == 0 && copy_benchmark(PAGES, &copying) == 0 &&
        copy_cleanup(0, &copying) == 0) {
        return;
    }
    char what[200];
    (void)snprintf(
        what, sizeof what, "cannot copy %d pages: %s", PAGES,
        errno == ERANGE
            ? "expected one fault per page, got fewer: this kernel copies several at once"
            : strerror(errno));
    lm_fail(harness, what);
}

int main(int argc, char **argv) {
    const struct lm_program program = {.name = PROGRAM, .summary = SUMMARY};
    struct copying copying = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE), .file = -1};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    const struct lm_workload workload = {.initialise = copy_initialise,
                                         .benchmark = copy_benchmark,
                                         .cleanup = copy_cleanup,
                                         .cookie = &copying};
    const struct lm_series series = {.parameter_count = 0};
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    try_once(&harness, copying);
    lm_run(&harness, &workload, &series);
    return lm_close(&harness);
}
