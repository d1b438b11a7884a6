/* Assignment of files to the children of a benchmark. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const LM_FILE_SHARINGS[] = {"shared", "own", NULL};
const char *const LM_FILE_CACHES[] = {"warm", "cold", NULL};

/* The file that main has created and not yet removed. */
static struct lm_file *to_remove;

static bool is_shared(const struct lm_file_use *use) {
    return strcmp(use->sharing, "shared") == 0;
}

bool lm_file_is_cold(const struct lm_file_use *use) {
    return strcmp(use->cache, "cold") == 0;
}

void lm_file_check(const struct lm_program *program, const struct lm_settings *settings,
                   const struct lm_file_use *use) {
    if (lm_file_is_cold(use) && is_shared(use) && settings->parallel > 1) {
        lm_usage_error(
            program->name, "--cache",
            "--file own with several processes (a process would read data that another has "
            "just cached)",
            "cold and --file shared");
    }
}

static void remove_at_exit(void) {
    if (to_remove != NULL && lm_file_remove(to_remove) != 0) {
        perror("cannot remove the file");
    }
    to_remove = NULL;
}

_Noreturn static void fail(struct lm_harness *harness, const char *doing) {
    char what[300];
    if (errno == EBUSY) {
        (void)snprintf(what, sizeof what,
                       "%s: pages remain in the page cache; expected a working directory on a "
                       "disk (tmpfs keeps files in memory), or --cache warm",
                       doing);
    } else {
        (void)snprintf(what, sizeof what, "%s: %s", doing, strerror(errno));
    }
    lm_fail(harness, what);
}

void lm_file_open(struct lm_harness *harness, struct lm_file_use *use) {
    static bool registered;
    struct lm_file probe;
    if (!registered && atexit(remove_at_exit) != 0) {
        fail(harness, "cannot prepare the removal of the file");
    }
    registered = true;
    use->file = (struct lm_file){.descriptor = -1};
    /* A small separate file, to report the reason before the measurement. */
    if (lm_file_is_cold(use)) {
        if (lm_file_make(&probe, 1 << 20, false) != 0) {
            fail(harness, "cannot create a file in the working directory");
        }
        if (lm_file_drop(&probe) != 0) {
            fail(harness, "cannot drop a file in the working directory from the page cache");
        }
        if (lm_file_remove(&probe) != 0) {
            fail(harness, "cannot remove a file from the working directory");
        }
    }
    if (is_shared(use)) {
        if (lm_file_make(&use->file, use->bytes, use->named) != 0) {
            fail(harness, "cannot create a file in the working directory");
        }
        to_remove = &use->file;
    }
}

void lm_file_close(struct lm_harness *harness, struct lm_file_use *use) {
    to_remove = NULL;
    if (lm_file_remove(&use->file) != 0) {
        fail(harness, "cannot remove a file from the working directory");
    }
}

int lm_file_child_begin(struct lm_file_use *use) {
    return is_shared(use) ? 0 : lm_file_make(&use->file, use->bytes, use->named);
}

int lm_file_child_interval(struct lm_file_use *use) {
    return lm_file_is_cold(use) ? lm_file_drop(&use->file) : 0;
}

int lm_file_child_end(struct lm_file_use *use) {
    return is_shared(use) ? 0 : lm_file_remove(&use->file);
}
