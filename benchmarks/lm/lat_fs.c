/*
 * Latency of creating and of deleting files. It works in a directory of its own, so that
 * nobody else holds its lock.
 *
 * An interval needs files that are there before (delete) or gone afterwards (create): they are made
 * and removed between the intervals. Nothing is written through to a disk.
 *
 * A file system may remember what was just deleted: ext4 does not give an inode out again for some
 * seconds, and passes over it at each creation, which then takes longer the more files were deleted
 * just before. That is part of what is measured, and a reason to let an interval hold few files.
 */
#define _XOPEN_SOURCE 700 /* nftw() */

#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_fs";
static const char SUMMARY[] =
    "Measures the latency of file operations. create: open of a file that is not there, write of\n"
    "--size-bytes, close. delete: unlink of such a file. The directory is its own, made\n"
    "in --directory; nothing is flushed to a disk. An interval holds at most 64 operations, and\n"
    "is shorter than others where they need less. Metric: latency, in ns per file.";
static const char SINGLE[] =
    "an interval can hold only so many files, which take less than a time slice of the scheduler";

/* Few: see above. */
enum {
    MOST_FILES = 64,
    NAME_BYTES = 8,
    BLOCK_BYTES = 65536,
    MOST_BYTES = 16 * 1024 * 1024,
};

struct files {
    const char *top; /* holds a directory for each child */
    uint64_t size_bytes;
    int top_descriptor, own_descriptor; /* -1: not open */
    char (*names)[NAME_BYTES];          /* ready, so that making them is not timed */
};

static int write_all(int descriptor, uint64_t size_bytes) {
    static const char block[BLOCK_BYTES];
    while (size_bytes > 0) {
        size_t wanted = size_bytes < BLOCK_BYTES ? (size_t)size_bytes : BLOCK_BYTES;
        ssize_t written = write(descriptor, block, wanted);
        if (written <= 0) {
            return -1;
        }
        size_bytes -= (uint64_t)written;
    }
    return 0;
}

static int create_all(uint64_t operations, void *cookie) {
    const struct files *files = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        int descriptor =
            openat(files->own_descriptor, files->names[i], O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (descriptor < 0) {
            return -1;
        }
        int status = write_all(descriptor, files->size_bytes);
        if (close(descriptor) != 0 || status != 0) {
            return -1;
        }
    }
    return 0;
}

static int delete_all(uint64_t operations, void *cookie) {
    const struct files *files = cookie;
    for (uint64_t i = 0; i < operations; i++) {
        if (unlinkat(files->own_descriptor, files->names[i], 0) != 0) {
            return -1;
        }
    }
    return 0;
}

static void own_name(char *name, size_t bytes) {
    (void)snprintf(name, bytes, "%u", lm_child_index());
}

static int start(struct files *files) {
    char name[16];
    own_name(name, sizeof name);
    files->names = calloc(MOST_FILES, sizeof *files->names);
    files->top_descriptor = open(files->top, O_RDONLY | O_DIRECTORY);
    if (files->names == NULL || files->top_descriptor < 0 ||
        mkdirat(files->top_descriptor, name, 0700) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < MOST_FILES; i++) {
        (void)snprintf(files->names[i], NAME_BYTES, "f%u", i);
    }
    files->own_descriptor = openat(files->top_descriptor, name, O_RDONLY | O_DIRECTORY);
    return files->own_descriptor < 0 ? -1 : 0;
}

/* What a failure left in the directory goes with all the rest at the end of the program. */
static int stop(struct files *files) {
    char name[16];
    own_name(name, sizeof name);
    int status = 0;
    if (files->own_descriptor >= 0) {
        status = unlinkat(files->top_descriptor, name, AT_REMOVEDIR);
        status = close(files->own_descriptor) != 0 ? -1 : status;
    }
    if (files->top_descriptor >= 0 && close(files->top_descriptor) != 0) {
        status = -1;
    }
    free(files->names);
    files->names = NULL;
    return status;
}

static int create_initialise(uint64_t operations, void *cookie) {
    return operations == 0 ? start(cookie) : 0;
}

static int create_cleanup(uint64_t operations, void *cookie) {
    return operations == 0 ? stop(cookie) : delete_all(operations, cookie);
}

static int delete_initialise(uint64_t operations, void *cookie) {
    return operations == 0 ? start(cookie) : create_all(operations, cookie);
}

static int delete_cleanup(uint64_t operations, void *cookie) {
    return operations == 0 ? stop(cookie) : 0;
}

struct operation {
    const char *name;
    lm_step *initialise, *benchmark, *cleanup;
};

static const struct operation OPERATIONS[] = {
    {"create", create_initialise, create_all, create_cleanup},
    {"delete", delete_initialise, delete_all, delete_cleanup},
};

static void measure(struct lm_harness *harness, const struct operation *operation, const char *top,
                    uint64_t size_bytes) {
    struct files files = {
        .top = top, .size_bytes = size_bytes, .top_descriptor = -1, .own_descriptor = -1};
    const struct lm_workload workload = {.initialise = operation->initialise,
                                         .benchmark = operation->benchmark,
                                         .cleanup = operation->cleanup,
                                         .cookie = &files,
                                         .most_operations = MOST_FILES};
    const struct lm_parameter parameters[] = {{.name = "operation", .text = operation->name},
                                              {.name = "size_bytes", .number = size_bytes}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

static char top[4096];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status;
    (void)type;
    (void)where;
    if (remove(path) != 0) {
        perror(path);
    }
    return 0;
}

/* At the end of the program, however it ends: a child that died has left its files. */
static void remove_top(void) {
    enum { DEPTH = 3 };
    if (nftw(top, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS) != 0) {
        perror(top);
    }
}

static void make_top(struct lm_harness *harness, const char *directory) {
    (void)snprintf(top, sizeof top, "%s/lat_fs.XXXXXX", directory);
    if (mkdtemp(top) == NULL || atexit(remove_top) != 0) {
        char what[4400];
        (void)snprintf(what, sizeof what, "a directory in %s: %s", directory, strerror(errno));
        lm_fail(harness, what);
    }
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "create", "delete", NULL};
    const char *chosen = choices[0], *sizes_text = "0,1024,4096,10240", *directory = ".";
    const struct lm_option options[] = {
        {.name = "--operation", .help = "operation", .text = &chosen, .choices = choices},
        {.name = "--size-bytes", .help = "bytes in each file, a list", .text = &sizes_text},
        {.name = "--directory", .help = "folder for the files", .text = &directory},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers sizes;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--size-bytes", sizes_text, 0, MOST_BYTES, &sizes);
    struct stat status;
    if (strlen(directory) > sizeof top - 32 || stat(directory, &status) != 0 ||
        !S_ISDIR(status.st_mode) || access(directory, W_OK | X_OK) != 0) {
        lm_usage_error(PROGRAM, "--directory", "a directory in which files can be made", directory);
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    make_top(&harness, directory);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, OPERATIONS[i].name) != 0) {
            continue;
        }
        for (size_t j = 0; j < sizes.count; j++) {
            measure(&harness, &OPERATIONS[i], top, sizes.number[j]);
        }
    }
    return lm_close(&harness);
}
