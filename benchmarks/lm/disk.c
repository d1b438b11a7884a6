/*
 * A disk, or a file on one: how fast it is read from end to end, and what a move of the head costs.
 *
 * Zones: a disk that turns passes more sectors under its head at the rim than near the hub, so that
 * the bandwidth falls along its addresses; on other devices the points should agree. Seeks: reads
 * of one sector, each about the same distance from the one before; what the distance costs is what
 * the series show.
 *
 * Only ever read, but for the file that the program makes itself. That file has no name: it is
 * unlinked before a byte is in it, so that nothing can stay behind.
 */
#define _GNU_SOURCE /* O_DIRECT */

#include "harness/lm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "disk";
static const char SUMMARY[] =
    "Measures a disk through a file or a device, one request at a time. zones: sequential reads "
    "at\n"
    "points along it; metric bandwidth, in MB/s. seeks: reads of one sector of 4096 bytes, each\n"
    "distance_bytes (half to one and a half of it) from the one before; metric latency, in ns a "
    "read.\n"
    "Reads bypass the cache of the system (O_DIRECT) if the file system allows it: see direct.\n"
    "If it does not, the cache is asked to forget the file before each interval. A cache below "
    "the\n"
    "system, in the drive or in the machine that plays it, is part of the result: a file that fits "
    "into\n"
    "it shows the cache. A path that is given is only read.";

enum {
    SECTOR_BYTES = 4096, /* of today's drives; a multiple of what O_DIRECT asks for */
    MOST_ZONES = 1000,
    DISTANCE_STEP = 4, /* from one series of seeks to the next */
};
static const uint64_t FIRST_DISTANCE_BYTES = UINT64_C(256) * 1024;
static const uint64_t MIB = UINT64_C(1) << 20;
static const uint64_t MOST_MIB = UINT64_C(1) << 20;

struct disk {
    const char *path; /* NULL: the file made by this program */
    int descriptor;
    bool direct;
    uint64_t bytes;
    uint64_t at_bytes; /* where the next read begins (zones), or where the last one was (seeks) */
    uint64_t start_bytes, block_bytes; /* zones */
    uint64_t distance_bytes, random;   /* seeks */
    char *buffer;
};

/* What the system's cache holds of the file is dropped, where reads go through it. */
static int forget(const struct disk *disk) {
    if (disk->direct) {
        return 0;
    }
    errno = posix_fadvise(disk->descriptor, 0, 0, POSIX_FADV_DONTNEED);
    return errno == 0 ? 0 : -1;
}

static int read_at(const struct disk *disk, uint64_t offset_bytes, size_t bytes) {
    ssize_t got;
    do {
        got = pread(disk->descriptor, disk->buffer, bytes, (off_t)offset_bytes);
    } while (got < 0 && errno == EINTR);
    if (got >= 0 && (size_t)got != bytes) {
        errno = EIO; /* it has become shorter, or the device has a gap */
    }
    return got == (ssize_t)bytes ? 0 : -1;
}

static int allocate(struct disk *disk, size_t bytes) {
    void *buffer = NULL;
    int status = posix_memalign(&buffer, SECTOR_BYTES, bytes);
    if (status != 0) {
        errno = status;
        return -1;
    }
    disk->buffer = buffer;
    return 0;
}

static int zone_initialise(uint64_t operations, void *cookie) {
    struct disk *disk = cookie;
    if (operations == 0 && allocate(disk, (size_t)disk->block_bytes) != 0) {
        return -1;
    }
    disk->at_bytes = disk->start_bytes;
    return forget(disk);
}

static int zone_benchmark(uint64_t operations, void *cookie) {
    struct disk *disk = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (read_at(disk, disk->at_bytes, (size_t)disk->block_bytes) != 0) {
            return -1;
        }
        disk->at_bytes += disk->block_bytes;
    }
    lm_keep(disk->buffer);
    return 0;
}

static int seek_initialise(uint64_t operations, void *cookie) {
    struct disk *disk = cookie;
    if (operations == 0 &&
        (allocate(disk, SECTOR_BYTES) != 0 ||
         (errno = posix_fadvise(disk->descriptor, 0, 0, POSIX_FADV_RANDOM)) != 0)) {
        return -1;
    }
    return forget(disk);
}

/* A sector from half to one and a half of the distance away, on the side chosen by chance where
 * both have room. So the sectors differ from read to read even for the longest distance. */
static uint64_t next_sector(struct disk *disk) {
    uint64_t last_bytes = disk->bytes - SECTOR_BYTES;
    uint64_t spread = disk->distance_bytes / SECTOR_BYTES + 1;
    uint64_t jump_bytes =
        disk->distance_bytes / 2 + lm_random(&disk->random) % spread * SECTOR_BYTES;
    uint64_t below = disk->at_bytes, above = last_bytes - disk->at_bytes;
    bool upwards = (lm_random(&disk->random) & 1) != 0;
    if (jump_bytes > above && jump_bytes > below) {
        jump_bytes = above > below ? above : below;
    }
    if (jump_bytes > above || (!upwards && jump_bytes <= below)) {
        return disk->at_bytes - jump_bytes;
    }
    return disk->at_bytes + jump_bytes;
}

static int seek_benchmark(uint64_t operations, void *cookie) {
    struct disk *disk = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        disk->at_bytes = next_sector(disk) / SECTOR_BYTES * SECTOR_BYTES;
        if (read_at(disk, disk->at_bytes, SECTOR_BYTES) != 0) {
            return -1;
        }
    }
    lm_keep(disk->buffer);
    return 0;
}

static int disk_cleanup(uint64_t operations, void *cookie) {
    struct disk *disk = cookie;
    if (operations == 0) {
        free(disk->buffer);
        disk->buffer = NULL;
    }
    return 0;
}

static void measure_zone(struct lm_harness *harness, struct disk *disk, uint64_t zone_bytes) {
    const struct lm_workload workload = {.initialise = zone_initialise,
                                         .benchmark = zone_benchmark,
                                         .cleanup = disk_cleanup,
                                         .cookie = disk,
                                         /* What was read in an interval is not read again in it. */
                                         .most_operations = zone_bytes / disk->block_bytes};
    const struct lm_parameter parameters[] = {
        {.name = "test", .text = "zone"},
        {.name = "offset_bytes", .number = disk->start_bytes},
        {.name = "block_bytes", .number = disk->block_bytes},
        {.name = "direct", .text = disk->direct ? "true" : "false"},
    };
    const struct lm_series series = {.bytes_per_operation = disk->block_bytes,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

static void measure_zones(struct lm_harness *harness, struct disk *disk, uint64_t zones) {
    uint64_t zone_bytes = disk->bytes / zones / disk->block_bytes * disk->block_bytes;
    for (uint64_t zone = 0; zone < zones; zone++) {
        /* The last one ends where the disk ends. */
        uint64_t free_bytes = disk->bytes - zone_bytes;
        double share = zones > 1 ? (double)zone / (double)(zones - 1) : 0;
        disk->start_bytes = (uint64_t)((double)free_bytes * share) / SECTOR_BYTES * SECTOR_BYTES;
        measure_zone(harness, disk, zone_bytes);
    }
}

static void measure_seeks(struct lm_harness *harness, struct disk *disk) {
    const struct lm_workload workload = {.initialise = seek_initialise,
                                         .benchmark = seek_benchmark,
                                         .cleanup = disk_cleanup,
                                         .cookie = disk};
    for (uint64_t distance = FIRST_DISTANCE_BYTES; distance <= disk->bytes / 2;
         distance *= DISTANCE_STEP) {
        const struct lm_parameter parameters[] = {
            {.name = "test", .text = "seek"},
            {.name = "distance_bytes", .number = distance},
            {.name = "sector_bytes", .number = SECTOR_BYTES},
            {.name = "direct", .text = disk->direct ? "true" : "false"},
        };
        const struct lm_series series = {
            .parameters = parameters, .parameter_count = sizeof parameters / sizeof parameters[0]};
        disk->distance_bytes = distance;
        disk->at_bytes = disk->bytes / 2 / SECTOR_BYTES * SECTOR_BYTES;
        lm_run(harness, &workload, &series);
    }
}

static _Noreturn void fail(struct lm_harness *harness, const char *what) {
    char text[300];
    (void)snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    lm_fail(harness, text);
}

/* Random bytes: neither a compressing file system nor one with holes makes less of them. */
static void fill(struct lm_harness *harness, const struct disk *disk, uint64_t seed) {
    enum { CHUNK_BYTES = 1 << 20, WORDS = CHUNK_BYTES / 8 };
    static uint64_t chunk[WORDS];
    uint64_t state = seed;
    for (uint64_t done = 0; done < disk->bytes; done += CHUNK_BYTES) {
        for (size_t i = 0; i < WORDS; i++) {
            chunk[i] = lm_random(&state);
        }
        for (size_t written = 0; written < CHUNK_BYTES;) {
            ssize_t more =
                write(disk->descriptor, (const char *)chunk + written, CHUNK_BYTES - written);
            if (more < 0 && errno != EINTR) {
                fail(harness, "writing a file in the working directory (--mib asks for less)");
            }
            written += more > 0 ? (size_t)more : 0;
        }
    }
    if (fsync(disk->descriptor) != 0) {
        fail(harness, "writing a file in the working directory");
    }
}

static void make_file(struct lm_harness *harness, struct disk *disk, uint64_t seed) {
    char name[] = "disk.XXXXXX";
    disk->descriptor = mkstemp(name);
    if (disk->descriptor < 0 || unlink(name) != 0) {
        fail(harness, "making a file in the working directory");
    }
    fill(harness, disk, seed);
}

/* Ends the program when the path cannot be measured. */
static void open_path(struct disk *disk) {
    struct stat status;
    disk->descriptor = open(disk->path, O_RDONLY | O_CLOEXEC);
    if (disk->descriptor < 0 || fstat(disk->descriptor, &status) != 0) {
        lm_usage_error(PROGRAM, "--file", "a file or a block device that can be read", disk->path);
    }
    off_t end = lseek(disk->descriptor, 0, SEEK_END);
    if (!(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) || end < 0) {
        lm_usage_error(PROGRAM, "--file", "a file or a block device", disk->path);
    }
    disk->bytes = (uint64_t)end / SECTOR_BYTES * SECTOR_BYTES;
}

/* Reads pass the cache by from here on, if they can: some file systems take the flag and refuse
 * the read. Returns 0 when they do. */
static int go_direct(struct disk *disk) {
    int flags = fcntl(disk->descriptor, F_GETFL);
    if (flags < 0 || fcntl(disk->descriptor, F_SETFL, flags | O_DIRECT) != 0 ||
        allocate(disk, SECTOR_BYTES) != 0) {
        return -1;
    }
    int status = read_at(disk, 0, SECTOR_BYTES);
    int reason = errno;
    free(disk->buffer);
    disk->buffer = NULL;
    disk->direct = status == 0;
    if (status != 0 && fcntl(disk->descriptor, F_SETFL, flags) != 0) {
        return -1;
    }
    errno = reason;
    return status;
}

static void open_disk(struct lm_harness *harness, struct disk *disk, const char *direct) {
    if (disk->path == NULL) {
        make_file(harness, disk, lm_seed(PROGRAM));
    }
    if (strcmp(direct, "no") != 0 && go_direct(disk) != 0 && strcmp(direct, "yes") == 0) {
        fail(harness, "O_DIRECT");
    }
}

static void check_size(const struct disk *disk, uint64_t zones) {
    char expected[150], got[50];
    uint64_t least = zones * disk->block_bytes;
    least = least > 2 * FIRST_DISTANCE_BYTES ? least : 2 * FIRST_DISTANCE_BYTES;
    if (disk->bytes < least) {
        (void)snprintf(expected, sizeof expected,
                       "at least %llu bytes (a block for each zone, and room for a seek)",
                       (unsigned long long)least);
        (void)snprintf(got, sizeof got, "%llu bytes", (unsigned long long)disk->bytes);
        lm_usage_error(PROGRAM, disk->path != NULL ? "--file" : "--mib", expected, got);
    }
}

int main(int argc, char **argv) {
    static const char *const tests[] = {"all", "zones", "seeks", NULL};
    static const char *const ways[] = {"auto", "yes", "no", NULL};
    const char *test = tests[0], *direct = ways[0];
    uint64_t mib = 32, zones = 5, block_kib = 256;
    struct disk disk = {.descriptor = -1};
    const struct lm_option options[] = {
        {.name = "--test", .help = "test", .text = &test, .choices = tests},
        {.name = "--file",
         .help = "file or device to read instead of a new file in the working directory",
         .text = &disk.path},
        {.name = "--mib",
         .help = "size of the new file, in MiB",
         .number = &mib,
         .minimum = 1,
         .maximum = MOST_MIB},
        {.name = "--zones",
         .help = "number of points at which the bandwidth is measured",
         .number = &zones,
         .minimum = 1,
         .maximum = MOST_ZONES},
        {.name = "--block-kib",
         .help = "size of a sequential read, in KiB, a multiple of 4",
         .number = &block_kib,
         .minimum = 4,
         .maximum = 1 << 20},
        {.name = "--direct",
         .help = "whether reads bypass the cache of the system; auto: if possible",
         .text = &direct,
         .choices = ways},
    };
    const struct lm_program program = {
        .name = PROGRAM,
        .summary = SUMMARY,
        .single = "processes that read one disk at different places measure the seeks between them",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    if (block_kib * 1024 % SECTOR_BYTES != 0) {
        char got[50];
        (void)snprintf(got, sizeof got, "%llu", (unsigned long long)block_kib);
        lm_usage_error(PROGRAM, "--block-kib", "a multiple of 4", got);
    }
    disk.block_bytes = block_kib * 1024;
    disk.bytes = mib * MIB;
    disk.random = lm_seed(PROGRAM);
    if (disk.path != NULL) {
        open_path(&disk);
    }
    check_size(&disk, zones);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    open_disk(&harness, &disk, direct);
    if (strcmp(test, "seeks") != 0) {
        measure_zones(&harness, &disk, zones);
    }
    if (strcmp(test, "zones") != 0) {
        measure_seeks(&harness, &disk);
    }
    if (close(disk.descriptor) != 0) {
        fail(&harness, "closing");
    }
    return lm_close(&harness);
}
