/*
 * Latency of file operations that the page cache cannot serve: what a miss costs, and what a write
 * costs that must reach the disk. lat_file_io, lat_syscall and lat_fs measure hits.
 *
 * All reads and writes use one file without a name, which is dropped from the page cache before
 * each interval. Files for stat and open have names. Only the kernel can drop those, and only for
 * the whole machine; therefore this needs an option.
 *
 * Whether an operation really waits depends on the file system. On tmpfs nothing is ever dropped.
 * ext4 keeps the blocks of inodes and directories in the page cache of its device, where dropping
 * names does not reach them. Both cases are costs of hits, and the parameter `cached` reports them.
 */
#define _GNU_SOURCE /* syncfs() */

#include "harness/file.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_uncached";
static const char SUMMARY[] =
    "Measure file operations that the page cache cannot serve. The files are created in TMPDIR, "
    "if\n"
    "it is an absolute path, otherwise in the working directory: this selects the disk.\n"
    "  read   one pread of the given size at a random place of a file of 64 MiB that was dropped\n"
    "         from the page cache, without read-ahead; no place is read twice in an interval\n"
    "  ahead  one pread of 64 KiB, in a sequential read of this dropped file with read-ahead\n"
    "  write  one pwrite of the given size over the start of the file, then fdatasync\n"
    "  stat   stat of a file whose name and inode were dropped from memory\n"
    "  open   open of such a file, and close\n"
    "read and write have one series per size of --bytes. stat and open use each of 256 files in "
    "64\n"
    "directories once per interval, in random order. They need --drop-caches yes and root, "
    "because\n"
    "names can only be dropped for the whole machine (/proc/sys/vm/drop_caches). Without these,\n"
    "`all` omits them, and `stat` and `open` in the first lines of the results have the reason.\n"
    "Parameter cached: true if the operations did not wait for a disk. For read, ahead and write,\n"
    "the file cannot be dropped from memory (tmpfs). For stat and open, there was an interval\n"
    "without a read from a disk: the blocks of the inodes were still in memory. Caches below the\n"
    "system, in the drive or in the host of a virtual machine, are part of the result.\n"
    "Metrics: latency, in ns per operation; for ahead also bandwidth, in MB/s.";
static const char SINGLE[] = "simultaneous processes would wait for each other's requests";
static const char DROP_CACHES[] = "/proc/sys/vm/drop_caches";

enum {
    FILE_BYTES = 64 << 20, /* the windows of read-ahead reach their full size at the start */
    LEAST_BYTES = 512,     /* a sector */
    MOST_BYTES = FILE_BYTES / 16,
    AHEAD_BYTES = 65536,
    FOLDERS = 64,
    FILES = 256,
    NAME_BYTES = 16,
};

static _Noreturn void fail(struct lm_harness *harness, const char *what) {
    char text[300];
    (void)snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    lm_fail(harness, text);
}

/* Exchange the first `count` of `total` numbers for random ones of all of them. */
static void draw(uint32_t *numbers, uint64_t count, uint64_t total, uint64_t *state) {
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t other = i + lm_random(state) % (total - i);
        const uint32_t number = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = number;
    }
}

static uint32_t *count_up(uint64_t total) {
    uint32_t *numbers = calloc((size_t)total, sizeof *numbers);
    for (uint64_t i = 0; numbers != NULL && i < total; i++) {
        numbers[i] = (uint32_t)i;
    }
    return numbers;
}

/* ---- read, ahead and write ---- */

struct work {
    struct lm_file_use use;
    uint64_t bytes;
    uint64_t step_bytes; /* between places: whole pages, so that no two places share one */
    uint64_t places, random;
    int advice;      /* for posix_fadvise() */
    uint32_t *order; /* of the places */
    char *buffer;
};

static int begin(struct work *work) {
    void *buffer = NULL;
    errno = posix_memalign(&buffer, (size_t)sysconf(_SC_PAGESIZE), (size_t)work->step_bytes);
    if (errno != 0) {
        return -1;
    }
    work->buffer = buffer;
    /* The start of the file: writing it does not change the content. */
    for (uint64_t i = 0; i < work->step_bytes / sizeof(uint64_t); i++) {
        ((uint64_t *)buffer)[i] = lm_file_word(i);
    }
    work->order = count_up(work->places);
    if (work->order == NULL || lm_file_child_begin(&work->use) != 0) {
        return -1;
    }
    errno = posix_fadvise(work->use.file.descriptor, 0, 0, work->advice);
    return errno == 0 ? 0 : -1;
}

static int initialise(uint64_t operations, void *cookie) {
    struct work *work = cookie;
    if (operations == 0) {
        return begin(work);
    }
    if (work->advice == POSIX_FADV_RANDOM) {
        draw(work->order, operations, work->places, &work->random);
    }
    return lm_file_child_interval(&work->use);
}

static int cleanup(uint64_t operations, void *cookie) {
    struct work *work = cookie;
    if (operations != 0) {
        return 0;
    }
    free(work->buffer);
    free(work->order);
    return lm_file_child_end(&work->use);
}

/* A short transfer is also a failure: a full disk or a limit. */
static bool is_whole(ssize_t done, const struct work *work) {
    if (done >= 0 && (uint64_t)done != work->bytes) {
        errno = EIO;
    }
    return done >= 0 && (uint64_t)done == work->bytes;
}

/* For `ahead` the order is that of the file. */
static int read_benchmark(uint64_t operations, void *cookie) {
    const struct work *work = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        const uint64_t at_bytes = work->order[i] * work->step_bytes;
        if (!is_whole(pread(work->use.file.descriptor, work->buffer, (size_t)work->bytes,
                            (off_t)at_bytes),
                      work)) {
            return -1;
        }
        if (*(const uint64_t *)work->buffer != lm_file_word(at_bytes / sizeof(uint64_t))) {
            errno = EBADMSG;
            return -1;
        }
    }
    return 0;
}

static int write_benchmark(uint64_t operations, void *cookie) {
    const struct work *work = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (!is_whole(pwrite(work->use.file.descriptor, work->buffer, (size_t)work->bytes, 0),
                      work) ||
            fdatasync(work->use.file.descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

struct kind {
    const char *name;
    lm_step *benchmark;
    int advice;
    uint64_t bytes; /* 0: one series per size of --bytes */
};

static const struct kind KINDS[] = {
    {"read", read_benchmark, POSIX_FADV_RANDOM, 0},
    {"ahead", read_benchmark, POSIX_FADV_NORMAL, AHEAD_BYTES},
    {"write", write_benchmark, POSIX_FADV_NORMAL, 0},
};

static void measure(struct lm_harness *harness, const struct kind *kind,
                    const struct lm_file_use *use, uint64_t bytes) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const bool is_ahead = kind->bytes != 0;
    struct work work = {.use = *use,
                        .bytes = bytes,
                        .step_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes,
                        .random = lm_seed(PROGRAM),
                        .advice = kind->advice};
    work.places = FILE_BYTES / work.step_bytes;
    const struct lm_workload workload = {.initialise = initialise,
                                         .benchmark = kind->benchmark,
                                         .cleanup = cleanup,
                                         .cookie = &work,
                                         /* A sequential read is always of the whole file. */
                                         .operations_per_turn = is_ahead ? work.places : 1,
                                         .most_operations =
                                             kind->benchmark == read_benchmark ? work.places : 0};
    const struct lm_parameter parameters[] = {
        {.name = "operation", .text = kind->name},
        {.name = "bytes", .number = bytes},
        {.name = "cached", .text = lm_file_is_cold(use) ? "false" : "true"}};
    struct lm_series series = {.parameters = parameters,
                               .parameter_count = sizeof parameters / sizeof parameters[0]};
    struct lm_samples samples;
    lm_measure(harness, &workload, &samples);
    lm_report_samples(harness, &series, &samples);
    if (is_ahead) {
        series.bytes_per_operation = bytes;
        lm_report_samples(harness, &series, &samples);
    }
    lm_samples_free(&samples);
}

static void measure_files(struct lm_harness *harness, const char *chosen,
                          const struct lm_numbers *sizes) {
    struct lm_file_use use = {.sharing = "shared", .cache = "warm", .bytes = FILE_BYTES};
    lm_file_open(harness, &use);
    if (lm_file_drop(&use.file) == 0) {
        use.cache = "cold";
    } else if (errno != EBUSY) {
        fail(harness, "cannot drop a file from the page cache");
    }
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, KINDS[i].name) != 0) {
            continue;
        }
        for (size_t j = 0; j < (KINDS[i].bytes == 0 ? sizes->count : 1); j++) {
            measure(harness, &KINDS[i], &use, KINDS[i].bytes == 0 ? sizes->number[j] : AHEAD_BYTES);
        }
    }
    lm_file_close(harness, &use);
}

/* ---- stat and open ---- */

struct named {
    int top, drop; /* descriptors of the directory and of DROP_CACHES */
    uint64_t random, blocks;
    uint64_t *least_blocks; /* read from disks in an interval; shared with main */
    uint32_t *order;
    char names[FILES][NAME_BYTES]; /* prepared, so that creating names is not timed */
};

static uint64_t blocks_read(void) {
    struct rusage used = {0};
    (void)getrusage(RUSAGE_SELF, &used);
    return (uint64_t)used.ru_inblock;
}

static int named_initialise(uint64_t operations, void *cookie) {
    struct named *named = cookie;
    if (operations == 0) {
        named->order = count_up(FILES);
        /* Only clean inodes can be dropped. */
        return named->order == NULL ? -1 : syncfs(named->top);
    }
    draw(named->order, FILES, FILES, &named->random);
    if (pwrite(named->drop, "2", 1, 0) != 1) {
        return -1;
    }
    named->blocks = blocks_read();
    return 0;
}

static int named_cleanup(uint64_t operations, void *cookie) {
    struct named *named = cookie;
    if (operations == 0) {
        free(named->order);
        return 0;
    }
    const uint64_t blocks = blocks_read() - named->blocks;
    *named->least_blocks = blocks < *named->least_blocks ? blocks : *named->least_blocks;
    return 0;
}

static int stat_benchmark(uint64_t operations, void *cookie) {
    const struct named *named = cookie;
    struct stat status;
    for (uint64_t i = 0; i < operations; i++) {
        if (fstatat(named->top, named->names[named->order[i]], &status, 0) != 0) {
            return -1;
        }
    }
    lm_keep(&status);
    return 0;
}

static int open_benchmark(uint64_t operations, void *cookie) {
    const struct named *named = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        const int descriptor = openat(named->top, named->names[named->order[i]], O_RDONLY);
        if (descriptor < 0 || close(descriptor) != 0) {
            return -1;
        }
    }
    return 0;
}

static void measure_named(struct lm_harness *harness, struct named *named, const char *name,
                          lm_step *benchmark) {
    const struct lm_workload workload = {.initialise = named_initialise,
                                         .benchmark = benchmark,
                                         .cleanup = named_cleanup,
                                         .cookie = named,
                                         .operations_per_turn = FILES,
                                         .most_operations = FILES};
    struct lm_samples samples;
    *named->least_blocks = UINT64_MAX;
    lm_measure(harness, &workload, &samples);
    const struct lm_parameter parameters[] = {
        {.name = "operation", .text = name},
        {.name = "cached", .text = *named->least_blocks == 0 ? "true" : "false"}};
    const struct lm_series series = {.parameters = parameters, .parameter_count = 2};
    lm_report_samples(harness, &series, &samples);
    lm_samples_free(&samples);
}

static void make_named(struct lm_harness *harness, struct named *named) {
    const char *path = lm_folder_make(harness, ".");
    named->top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (named->top < 0) {
        fail(harness, path);
    }
    for (unsigned i = 0; i < FILES; i++) {
        char folder[NAME_BYTES];
        (void)snprintf(folder, sizeof folder, "d%u", i % FOLDERS);
        (void)snprintf(named->names[i], NAME_BYTES, "d%u/f%u", i % FOLDERS, i / FOLDERS);
        if (i < FOLDERS && mkdirat(named->top, folder, 0700) != 0) {
            fail(harness, "cannot create a directory");
        }
        const int file = openat(named->top, named->names[i], O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (file < 0 || close(file) != 0) {
            fail(harness, "cannot create a file");
        }
    }
}

static void measure_names(struct lm_harness *harness, const char *chosen) {
    static struct named named;
    void *area = mmap(NULL, sizeof *named.least_blocks, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        fail(harness, "cannot share memory with the child");
    }
    named = (struct named){.random = lm_seed(PROGRAM), .least_blocks = area};
    named.drop = open(DROP_CACHES, O_WRONLY | O_CLOEXEC);
    if (named.drop < 0) {
        char reason[200];
        (void)snprintf(reason, sizeof reason, "%s: %s; expected root", DROP_CACHES,
                       strerror(errno));
        if (strcmp(chosen, "all") != 0) {
            lm_fail(harness, reason);
        }
        lm_report_note(harness, "stat", reason);
        lm_report_note(harness, "open", reason);
        (void)fprintf(stderr, "%s: stat and open are omitted: %s\n", PROGRAM, reason);
        return;
    }
    make_named(harness, &named);
    if (strcmp(chosen, "open") != 0) {
        measure_named(harness, &named, "stat", stat_benchmark);
    }
    if (strcmp(chosen, "stat") != 0) {
        measure_named(harness, &named, "open", open_benchmark);
    }
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "read", "ahead", "write", "stat", "open", NULL};
    static const char *const answers[] = {"no", "yes", NULL};
    const char *chosen = choices[0], *sizes_text = "4096,16384,65536,262144", *drop = answers[0];
    const struct lm_option options[] = {
        {.name = "--operation",
         .help = "operation to measure",
         .text = &chosen,
         .choices = choices},
        {.name = "--bytes", .help = "bytes per read and write, a list", .text = &sizes_text},
        {.name = "--drop-caches",
         .help = "drop names and inodes of the whole machine, for stat and open",
         .text = &drop,
         .choices = answers},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers sizes;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--bytes", sizes_text, LEAST_BYTES, MOST_BYTES, &sizes);
    const bool names_only = strcmp(chosen, "stat") == 0 || strcmp(chosen, "open") == 0;
    const bool drops = strcmp(drop, "yes") == 0;
    if (names_only && !drops) {
        lm_usage_error(PROGRAM, "--drop-caches", "yes (stat and open need it)", drop);
    }
    lm_folder_check(PROGRAM, "TMPDIR", lm_folder_default());

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    if (chdir(lm_folder_default()) != 0) {
        fail(&harness, "TMPDIR");
    }
    if (!names_only) {
        measure_files(&harness, chosen, &sizes);
    }
    if (drops && (names_only || strcmp(chosen, "all") == 0)) {
        measure_names(&harness, chosen);
    } else if (strcmp(chosen, "all") == 0) {
        lm_report_note(&harness, "stat", "not requested: --drop-caches yes");
        lm_report_note(&harness, "open", "not requested: --drop-caches yes");
    }
    return lm_close(&harness);
}
