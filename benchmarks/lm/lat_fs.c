/*
 * Latency of creating and deleting files. The program works in a separate directory, so that no
 * other process holds its lock.
 *
 * An interval needs files that exist before (delete) or are removed afterwards (create). They are
 * created and removed between the intervals. Nothing is flushed to a disk.
 *
 * A file system can remember deleted files: ext4 does not reuse an inode for some seconds and
 * skips it at each creation, which slows down creation after many deletions. This effect is part
 * of the measurement and a reason for the small number of files per interval.
 */
#define _XOPEN_SOURCE 700

#include "harness/file.h"
#include "numbers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_fs";
static const char SUMMARY[] =
    "Measure the latency of file operations. create: open a new file, write --size-bytes, close.\n"
    "delete: unlink such a file. The files are in a separate directory in --directory (default:\n"
    "TMPDIR if it is an absolute path, otherwise the working directory); nothing is flushed to a\n"
    "disk. An interval has at most 64 operations and is shorter than usual if they are fast.\n"
    "Metric: latency, in ns per file.";
static const char SINGLE[] =
    "the number of files per interval is limited, and they take less than a time slice";

/* Few: see above. */
enum {
    MOST_FILES = 64,
    NAME_BYTES = 8,
    BLOCK_BYTES = 65536,
    MOST_BYTES = 16 * 1024 * 1024,
};

struct files {
    const char *top; /* contains one directory per child */
    uint64_t size_bytes;
    int top_descriptor, own_descriptor; /* -1: not open */
    char (*names)[NAME_BYTES];          /* prepared, so that creating names is not timed */
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

/* Files left by a failure are removed with the directory at the end of the program. */
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

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "create", "delete", NULL};
    const char *chosen = choices[0], *sizes_text = "0,1024,4096,10240",
               *directory = lm_folder_default();
    const struct lm_option options[] = {
        {.name = "--operation",
         .help = "operation to measure",
         .text = &chosen,
         .choices = choices},
        {.name = "--size-bytes", .help = "bytes per file, a list", .text = &sizes_text},
        {.name = "--directory", .help = "directory for the files", .text = &directory},
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
    lm_folder_check(PROGRAM, "--directory", directory);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    const char *top = lm_folder_make(&harness, directory);
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
