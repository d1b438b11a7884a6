/* Directories for benchmarks that create many files, or that measure a selected disk. */
#define _XOPEN_SOURCE 700 /* nftw() */

#include "file.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, SUFFIX_BYTES = 32 };

static char made[PATH_BYTES];

const char *lm_folder_default(void) {
    const char *chosen = getenv("TMPDIR");
    return chosen != NULL && chosen[0] == '/' ? chosen : ".";
}

void lm_folder_check(const char *program, const char *where, const char *directory) {
    struct stat status;
    if (strlen(directory) > PATH_BYTES - SUFFIX_BYTES || stat(directory, &status) != 0 ||
        !S_ISDIR(status.st_mode) || access(directory, W_OK | X_OK) != 0) {
        lm_usage_error(program, where, "a writable directory", directory);
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status;
    (void)type;
    (void)where;
    if (remove(path) != 0) {
        perror(path);
    }
    return 0;
}

/* A child that died has left its files. */
static void remove_made(void) {
    enum { DEPTH = 3 };
    if (nftw(made, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS) != 0) {
        perror(made);
    }
}

const char *lm_folder_make(struct lm_harness *harness, const char *directory) {
    (void)snprintf(made, sizeof made, "%s/%s.XXXXXX", directory, harness->program->name);
    if (mkdtemp(made) == NULL || atexit(remove_made) != 0) {
        char what[PATH_BYTES + 300];
        (void)snprintf(what, sizeof what, "cannot create a directory in %s: %s", directory,
                       strerror(errno));
        lm_fail(harness, what);
    }
    return made;
}
