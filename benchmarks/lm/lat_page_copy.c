/*
 * Latency of a fault that copies a page.
 *
 * After a fork, parent and child have their pages in common until one of them writes; so has a
 * private mapping with its file. Pages of a private mapping are read first, which is not timed, so
 * that they are mapped. Then a byte of each is written (a fault, a page from the kernel, a copy),
 * and the copies are given back. That each write was a fault is counted: one that was none is an
 * error.
 */
#define _GNU_SOURCE /* memfd_create */

#include "harness/lm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_page_copy";
static const char SUMMARY[] =
    "Measures the latency of writing to a page that is to be copied then, as pages are that a\n"
    "fork has left to parent and child: a private mapping of a file in memory, of which every "
    "page\n"
    "was read. The copy's end is in it. That each write was a fault is checked. An operation is\n"
    "one page. Metric: latency, in ns.";

/* So many pages are copied and given back again at a time, which takes little memory. */
enum { PAGES = 1024 };

struct copying {
    size_t page_bytes;
    int file; /* of PAGES pages */
};

/* Writes to `count` pages, at most PAGES, and gives the copies back; that alone is timed. */
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
        errno = ERANGE; /* the nearest that there is: pages were mapped to be written to before */
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
    /* A page of the file that was never written to is made by the fault. */
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

/* Once before it is measured: here a failure can be told with its cause. */
static void try_once(struct lm_harness *harness, struct copying copying) {
    if (copy_initialise(0, &copying) == 0 && copy_benchmark(PAGES, &copying) == 0 &&
        copy_cleanup(0, &copying) == 0) {
        return;
    }
    char what[200];
    (void)snprintf(what, sizeof what, "copying %d pages: %s", PAGES,
                   errno == ERANGE
                       ? "expected a fault for each, got fewer: this kernel copies several at once"
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
