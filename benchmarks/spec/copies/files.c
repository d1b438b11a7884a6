/* Directories for the copies, and the output of the copies. */
#define _POSIX_C_SOURCE 200809L

#include "copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_SIZE = 1 << 16, LAST_WORDS_SIZE = 200 };

static int fail(struct copies_run *run, const char *name, const char *what) {
    (void)snprintf(run->failure, sizeof run->failure, "%.200s: %s", name, what);
    return -1;
}

static int fail_errno(struct copies_run *run, const char *name) {
    return fail(run, name, strerror(errno));
}

void copies_directory_name(char name[COPIES_NAME_SIZE], size_t index) {
    (void)snprintf(name, COPIES_NAME_SIZE, "copy-%zu", index + 1);
}

void copies_stdout_name(char name[COPIES_NAME_SIZE], size_t index, uint64_t pass, bool check) {
    (void)snprintf(name, COPIES_NAME_SIZE, "copy-%zu.%sstdout-%llu", index + 1,
                   check ? "check-" : "", (unsigned long long)pass);
}

void copies_stderr_name(char name[COPIES_NAME_SIZE], size_t index, bool check) {
    (void)snprintf(name, COPIES_NAME_SIZE, "copy-%zu.%sstderr", index + 1, check ? "check-" : "");
}

/* ---- directories ---- */

static int write_whole(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return -1;
        }
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int copy_data(int from, int to) {
    char block[BLOCK_SIZE];
    for (;;) {
        ssize_t got = read(from, block, sizeof block);
        if (got == 0) {
            /* Flush to the disk before the clock starts: a later flush would be part of the time.
             */
            return fdatasync(to);
        }
        if ((got < 0 && errno != EINTR) || (got > 0 && write_whole(to, block, (size_t)got) != 0)) {
            return -1;
        }
    }
}

static int copy_file(struct copies_run *run, const char *name, const struct stat *status,
                     int directory) {
    int from = open(name, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return fail_errno(run, name);
    }
    int to = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    status->st_mode & (mode_t)0777);
    bool copied = to >= 0 && copy_data(from, to) == 0;
    int error = errno;
    if (to >= 0 && close(to) != 0 && copied) {
        copied = false;
        error = errno;
    }
    (void)close(from);
    errno = error;
    return copied ? 0 : fail_errno(run, name);
}

/* Copy the regular files next to the directories of this program. */
static int fill(struct copies_run *run, DIR *here, int directory) {
    rewinddir(here);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(here);
        if (entry == NULL) {
            return errno == 0 ? 0 : fail_errno(run, ".");
        }
        const char *name = entry->d_name;
        struct stat status;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, "copy-", 5) == 0) {
            continue;
        }
        if (lstat(name, &status) != 0) {
            return fail_errno(run, name);
        }
        if (!S_ISREG(status.st_mode)) {
            return fail(run, name, "expected only regular files in the directory to copy");
        }
        if (copy_file(run, name, &status, directory) != 0) {
            return -1;
        }
    }
}

static int make_directory(struct copies_run *run, DIR *here, size_t index) {
    char name[COPIES_NAME_SIZE];
    copies_directory_name(name, index);
    if (mkdir(name, 0755) != 0) {
        return errno == EEXIST ? fail(run, name, "expected no directory of an earlier run")
                               : fail_errno(run, name);
    }
    int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return fail_errno(run, name);
    }
    int status = fill(run, here, directory);
    (void)close(directory);
    return status;
}

int copies_make_directories(struct copies_run *run) {
    DIR *here = opendir(".");
    if (here == NULL) {
        return fail_errno(run, ".");
    }
    int status = 0;
    for (size_t i = 0; i < run->options->copies && status == 0; i++) {
        status = make_directory(run, here, i);
    }
    (void)closedir(here);
    return status;
}

/* ---- output ---- */

static FILE *open_output(struct copies_run *run, size_t index, uint64_t pass) {
    char name[COPIES_NAME_SIZE];
    copies_stdout_name(name, index, pass, run->options->check);
    FILE *file = fopen(name, "re");
    if (file == NULL) {
        (void)fail_errno(run, name);
    }
    return file;
}

static int tell_difference(struct copies_run *run, size_t index, uint64_t pass,
                           unsigned long long offset) {
    (void)snprintf(run->failure, sizeof run->failure,
                   "wrong output: copy %zu in pass %llu differs from copy 1 in pass 1 from byte "
                   "%llu on",
                   index + 1, (unsigned long long)pass, offset);
    return -1;
}

static int compare_streams(struct copies_run *run, FILE *first, FILE *other, size_t index,
                           uint64_t pass) {
    char a[BLOCK_SIZE], b[BLOCK_SIZE];
    unsigned long long offset = 0;
    for (;;) {
        size_t got_a = fread(a, 1, sizeof a, first), got_b = fread(b, 1, sizeof b, other);
        if (ferror(first) || ferror(other)) {
            return fail(run, "output of the copies", "cannot be read");
        }
        size_t same = 0, common = got_a < got_b ? got_a : got_b;
        while (same < common && a[same] == b[same]) {
            same++;
        }
        if (same < common || got_a != got_b) {
            return tell_difference(run, index, pass, offset + same);
        }
        if (got_a == 0) {
            return 0;
        }
        offset += got_a;
    }
}

static int compare(struct copies_run *run, FILE *first, size_t index, uint64_t pass) {
    FILE *other = open_output(run, index, pass);
    if (other == NULL) {
        return -1;
    }
    rewind(first);
    int status = compare_streams(run, first, other, index, pass);
    (void)fclose(other);
    return status;
}

static int print_file(struct copies_run *run, FILE *file) {
    char block[BLOCK_SIZE];
    size_t got;
    rewind(file);
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        if (fwrite(block, 1, got, stdout) != got) {
            return fail_errno(run, "standard output");
        }
    }
    if (ferror(file)) {
        return fail(run, "output of the copies", "cannot be read");
    }
    return fflush(stdout) == 0 ? 0 : fail_errno(run, "standard output");
}

int copies_print_output(struct copies_run *run) {
    FILE *first = open_output(run, 0, 1);
    if (first == NULL) {
        return -1;
    }
    int status = 0;
    for (size_t i = 0; i < run->options->copies; i++) {
        for (uint64_t pass = 1; pass <= run->options->passes && status == 0; pass++) {
            status = i == 0 && pass == 1 ? 0 : compare(run, first, i, pass);
        }
    }
    status = status == 0 ? print_file(run, first) : status;
    (void)fclose(first);
    return status;
}

void copies_append_last_words(struct copies_run *run, size_t index) {
    char name[COPIES_NAME_SIZE], line[LAST_WORDS_SIZE], last[LAST_WORDS_SIZE] = "";
    copies_stderr_name(name, index, run->options->check);
    FILE *file = fopen(name, "re");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') {
            memcpy(last, line, sizeof last);
        }
    }
    (void)fclose(file);
    size_t used = strlen(run->failure);
    if (last[0] != '\0' && used < sizeof run->failure) {
        (void)snprintf(run->failure + used, sizeof run->failure - used, ": %s", last);
    }
}
