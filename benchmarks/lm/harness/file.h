/* Files for benchmarks that read: created in the working directory with known content, and removed
 * at the end. */
#ifndef LM_FILE_H
#define LM_FILE_H

#include "lm.h"

struct lm_file {
    uint64_t bytes;
    int descriptor; /* for reading and writing; -1: no file */
    char name[40];  /* relative to the working directory; empty: the file has no name */
};

/* Create a file of `bytes`, a multiple of 8, and write it to the disk. Unless it is `named`, unlink
 * it immediately, so that it cannot be left behind. Each 8 bytes hold a different number
 * (lm_file_word). Return 0, or -1 with errno and no file. */
int lm_file_make(struct lm_file *file, uint64_t bytes, bool named);

/* Remove the file, if any. Return 0, or -1 with errno. */
int lm_file_remove(struct lm_file *file);

/* Content of the 8 bytes with number `index`, and the sum of all, modulo 2^64. */
uint64_t lm_file_word(uint64_t index);
uint64_t lm_file_sum(uint64_t bytes);

/* Sum `bytes` bytes, a multiple of 64, of the file as they are in memory. */
uint64_t lm_file_add(const void *area, uint64_t bytes);

/* Number of pages of the file in the page cache. Return 0, or -1 with errno. */
int lm_file_resident(const struct lm_file *file, uint64_t *pages);

/* Write back the file, drop it from the page cache, and verify this: -1 with errno EBUSY if pages
 * remain. No mapping of the file may hold pages. */
int lm_file_drop(const struct lm_file *file);

/* ---- where the files are (folder.c) ---- */

/* Directory whose disk is measured: TMPDIR if it is an absolute path, otherwise the working
 * directory. The runner sets TMPDIR to the working directory, unless an experiment has another
 * value. */
const char *lm_folder_default(void);

/* End the program by lm_usage_error() unless `directory` is a writable directory. `where` is the
 * option or variable that has selected it. */
void lm_folder_check(const char *program, const char *where, const char *directory);

/* Create a directory in `directory`, and remove it with its content at the end of the program,
 * however it ends. At most one. Return its path; end the program by lm_fail() if it cannot be
 * created. */
const char *lm_folder_make(struct lm_harness *harness, const char *directory);

/* ---- common part of the benchmarks that read files ---- */

/* Assignment of files to children, and their state in the page cache at the start of an interval.
 */
struct lm_file_use {
    const char *sharing; /* "shared": one file for all children, "own": one file per child */
    const char *cache;   /* "warm" or "cold" */
    uint64_t bytes;
    bool named;
    struct lm_file file; /* in a child; in main if it is shared */
};

/* Entries of an option table; they set `use`. */
#define LM_FILE_OPTION(use)                                                                        \
    {.name = "--file",                                                                             \
     .help = "one file for all processes or one per process",                                      \
     .text = &(use).sharing,                                                                       \
     .choices = LM_FILE_SHARINGS}
#define LM_FILE_CACHE_OPTION(use)                                                                  \
    {.name = "--cache",                                                                            \
     .help = "state of the page cache at the start of a repetition",                               \
     .text = &(use).cache,                                                                         \
     .choices = LM_FILE_CACHES}

extern const char *const LM_FILE_SHARINGS[], *const LM_FILE_CACHES[];

bool lm_file_is_cold(const struct lm_file_use *use);

/* Reject impossible combinations: a file that several children share is never cold for all of them.
 */
void lm_file_check(const struct lm_program *program, const struct lm_settings *settings,
                   const struct lm_file_use *use);

/* In main, before and after the series. A file that remains after a failure is removed at exit. At
 * most one file at a time. lm_file_open() ends the program by lm_fail() if the file cannot be
 * created, or cannot be dropped from the page cache for `cold`. */
void lm_file_open(struct lm_harness *harness, struct lm_file_use *use);
void lm_file_close(struct lm_harness *harness, struct lm_file_use *use);

/* In a child: for initialise(0), initialise(operations) and cleanup(0). Return 0, or -1 with errno.
 */
int lm_file_child_begin(struct lm_file_use *use);
int lm_file_child_interval(struct lm_file_use *use);
int lm_file_child_end(struct lm_file_use *use);

#endif
