/*
 * Bandwidth of reading a file that is mapped into memory.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/file.h"
#include "harness/lm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static const char PROGRAM[] = "bw_mmap_rd";
static const char SUMMARY[] =
    "Measures the bandwidth of reading a mapped file; all that is read is added up, and the sum "
    "is\n"
    "checked. The mapping stays (kept), or the file is mapped, read and unmapped each time "
    "(fresh;\n"
    "then a page fault for some of its pages is part of it). The file is made in the working\n"
    "directory. cold: dropped from this system's page cache before each repetition; a disk or a\n"
    "host may still hold it in another cache. Mapped pages stay in the page cache, so "
    "that\n"
    "only fresh mappings are measured cold. An operation is one reading of the whole file.\n"
    "Metric: bandwidth, in MB/s (10^6 bytes).";

struct mapping {
    struct lm_file_use use;
    bool kept;
    void *area;   /* where the kept mapping is; NULL: nowhere */
    uint64_t sum; /* what the file's words must add up to */
};

static void *map(const struct mapping *mapping) {
    void *area = mmap(NULL, (size_t)mapping->use.bytes, PROT_READ, MAP_SHARED,
                      mapping->use.file.descriptor, 0);
    return area == MAP_FAILED ? NULL : area;
}

static int read_all(const struct mapping *mapping, const void *area) {
    if (lm_file_add(area, mapping->use.bytes) != mapping->sum) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static int mmap_kept(uint64_t operations, void *cookie) {
    const struct mapping *mapping = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (read_all(mapping, mapping->area) != 0) {
            return -1;
        }
        lm_keep(mapping->area);
    }
    return 0;
}

static int mmap_fresh(uint64_t operations, void *cookie) {
    const struct mapping *mapping = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        void *area = map(mapping);
        if (area == NULL) {
            return -1;
        }
        int status = read_all(mapping, area);
        int reason = errno;
        if (munmap(area, (size_t)mapping->use.bytes) != 0) {
            return -1;
        }
        if (status != 0) {
            errno = reason;
            return -1;
        }
    }
    return 0;
}

static int mmap_initialise(uint64_t operations, void *cookie) {
    struct mapping *mapping = cookie;
    if (operations != 0) {
        return lm_file_child_interval(&mapping->use);
    }
    if (lm_file_child_begin(&mapping->use) != 0) {
        return -1;
    }
    if (mapping->kept) {
        mapping->area = map(mapping);
        /* Read once, so that every page of it is mapped. */
        return mapping->area != NULL ? read_all(mapping, mapping->area) : -1;
    }
    return 0;
}

static int mmap_cleanup(uint64_t operations, void *cookie) {
    struct mapping *mapping = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = 0;
    if (mapping->area != NULL) {
        status = munmap(mapping->area, (size_t)mapping->use.bytes);
        mapping->area = NULL;
    }
    return lm_file_child_end(&mapping->use) != 0 ? -1 : status;
}

static void measure(struct lm_harness *harness, struct mapping *mapping) {
    const struct lm_workload workload = {.initialise = mmap_initialise,
                                         .benchmark = mapping->kept ? mmap_kept : mmap_fresh,
                                         .cleanup = mmap_cleanup,
                                         .cookie = mapping,
                                         .most_operations = lm_file_is_cold(&mapping->use) ? 1 : 0};
    const struct lm_parameter parameters[] = {
        {.name = "mapping", .text = mapping->kept ? "kept" : "fresh"},
        {.name = "size_bytes", .number = mapping->use.bytes},
        {.name = "file", .text = mapping->use.sharing},
        {.name = "cache", .text = mapping->use.cache}};
    const struct lm_series series = {.bytes_per_operation = mapping->use.bytes,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_file_open(harness, &mapping->use);
    lm_run(harness, &workload, &series);
    lm_file_close(harness, &mapping->use);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "kept", "fresh", NULL};
    const char *chosen = choices[0];
    uint64_t kib = 8192;
    struct mapping mapping = {.use = {.sharing = LM_FILE_SHARINGS[0], .cache = LM_FILE_CACHES[0]}};
    const struct lm_option options[] = {
        {.name = "--mapping", .help = "mapping", .text = &chosen, .choices = choices},
        {.name = "--kib",
         .help = "size of the file, in KiB",
         .number = &kib,
         .minimum = 1,
         .maximum = UINT64_C(1) << 30},
        LM_FILE_OPTION(mapping.use),
        LM_FILE_CACHE_OPTION(mapping.use),
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    lm_file_check(&program, &settings, &mapping.use);
    bool cold = lm_file_is_cold(&mapping.use);
    if (cold && strcmp(chosen, "kept") == 0) {
        lm_usage_error(PROGRAM, "--mapping", "fresh with --cache cold", chosen);
    }
    mapping.use.bytes = kib * 1024;
    mapping.sum = lm_file_sum(mapping.use.bytes);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    if (!cold && strcmp(chosen, "fresh") != 0) {
        mapping.kept = true;
        measure(&harness, &mapping);
    }
    if (strcmp(chosen, "kept") != 0) {
        mapping.kept = false;
        measure(&harness, &mapping);
    }
    return lm_close(&harness);
}
