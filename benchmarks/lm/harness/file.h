/* Files that benchmarks read: made in the working directory, filled with what is known, gone at the
 * end. */
#ifndef LM_FILE_H
#define LM_FILE_H

#include "lm.h"

struct lm_file {
    uint64_t bytes;
    int descriptor; /* for reading and writing; -1: there is no file */
    char name[40];  /* relative to the working directory; empty: the file has no name (any more) */
};

/* Makes a file of `bytes`, a multiple of 8, and writes it to the disk. Unless it is `named`, its
 * name is removed at once, so that nothing can stay behind. Each 8 bytes hold a number of their
 * own (lm_file_word). Returns 0, or -1 with errno and no file. */
int lm_file_make(struct lm_file *file, uint64_t bytes, bool named);

/* Removes the file. Does nothing where there is none. Returns 0, or -1 with errno. */
int lm_file_remove(struct lm_file *file);

/* What the file holds in its 8 bytes number `index`, and the sum of all, modulo 2^64. */
uint64_t lm_file_word(uint64_t index);
uint64_t lm_file_sum(uint64_t bytes);

/* Adds up `bytes`, a multiple of 64, of the file, as they are in memory. */
uint64_t lm_file_add(const void *area, uint64_t bytes);

/* How much of the file is in the page cache, in pages. Returns 0, or -1 with errno. */
int lm_file_resident(const struct lm_file *file, uint64_t *pages);

/* Writes back and drops the file from the page cache, and sees that it is gone: where pages of it
 * stay, -1 with errno EBUSY. No mapping of it may hold pages. */
int lm_file_drop(const struct lm_file *file);

/* ---- what the benchmarks that read files have in common ---- */

/* Which file each child has, and whether it is in the page cache when an interval begins. */
struct lm_file_use {
    const char *sharing; /* "shared": one file for all children, "own": each makes its own */
    const char *cache;   /* "warm" or "cold" */
    uint64_t bytes;
    bool named;
    struct lm_file file; /* in a child, and in main where it is shared */
};

/* Entries of a table of options; `use` is what they set. */
#define LM_FILE_OPTION(use)                                                                        \
    {.name = "--file",                                                                             \
     .help = "one file for all processes, or one for each",                                        \
     .text = &(use).sharing,                                                                       \
     .choices = LM_FILE_SHARINGS}
#define LM_FILE_CACHE_OPTION(use)                                                                  \
    {.name = "--cache",                                                                            \
     .help = "whether the page cache holds the file when a repetition begins",                     \
     .text = &(use).cache,                                                                         \
     .choices = LM_FILE_CACHES}

extern const char *const LM_FILE_SHARINGS[], *const LM_FILE_CACHES[];

bool lm_file_is_cold(const struct lm_file_use *use);

/* Refuses what cannot be: a file that several children share is never cold for all of them. */
void lm_file_check(const struct lm_program *program, const struct lm_settings *settings,
                   const struct lm_file_use *use);

/* In main, before and after the series. A file that is left after a failure is removed at exit. At
 * most one at a time. lm_file_open() ends the program by lm_fail() where the file cannot be made,
 * or cannot be dropped from the page cache though it shall be cold. */
void lm_file_open(struct lm_harness *harness, struct lm_file_use *use);
void lm_file_close(struct lm_harness *harness, struct lm_file_use *use);

/* In a child: for initialise(0), initialise(operations) and cleanup(0). Return 0, or -1 with
 * errno. */
int lm_file_child_begin(struct lm_file_use *use);
int lm_file_child_interval(struct lm_file_use *use);
int lm_file_child_end(struct lm_file_use *use);

#endif
