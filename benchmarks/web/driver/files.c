/*
 * The file set: four SPECweb99 classes of nine files. The letters depend on the file alone, so that
 * all systems serve the same bytes.
 */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Source: SPECweb99's workload as used in the thesis: Zipf over the order 5, 4, 6, 3, 7, 2, 8, 9,
 * 1. The printed thousandths add up to 999; the smallest file, printed as 39, gets the rest. */
const unsigned WEB_CLASS_PERCENT[WEB_CLASSES] = {35, 50, 14, 1};
const unsigned WEB_FILE_PERMILLE[WEB_FILES_PER_CLASS] = {40, 59, 88, 177, 353, 118, 71, 50, 44};

/* Step between the sizes of a class: 0.1, 1, 10 and 100 KiB. */
static const double STEP_BYTES[WEB_CLASSES] = {102.4, 1024, 10240, 102400};

void web_letters(char *content, size_t bytes, uint64_t state) {
    for (size_t i = 0; i < bytes; i++) {
        if (i % 8 == 0) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        }
        content[i] = i % 64 == 63 ? '\n' : (char)('a' + ((state >> (i % 8 * 4 + 24)) & 15));
    }
}

int web_files_make(struct web_files *files) {
    *files = (struct web_files){0};
    for (unsigned i = 0; i < WEB_FILES; i++) {
        struct web_file *file = &files->file[i];
        unsigned class = i / WEB_FILES_PER_CLASS, number = i % WEB_FILES_PER_CLASS + 1;
        (void)snprintf(file->path, sizeof file->path, PAGE_DIRECTORY "class%u_%u", class, number);
        file->bytes = (size_t)(STEP_BYTES[class] * number + 0.5);
        file->content = malloc(file->bytes);
        if (file->content == NULL) {
            return web_fail("file set: cannot allocate %zu bytes", file->bytes);
        }
        web_letters(file->content, file->bytes, i + 1);
    }
    return 0;
}

int web_file_write(const char *path, const char *content, size_t bytes, int64_t modified_s) {
    const struct timespec times[] = {{.tv_sec = modified_s}, {.tv_sec = modified_s}};
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        return web_fail("%s: cannot create it: %s", path, strerror(errno));
    }
    size_t done = 0;
    while (done < bytes) {
        ssize_t now = write(descriptor, content + done, bytes - done);
        if (now < 0 && errno != EINTR) {
            (void)close(descriptor);
            return web_fail("%s: cannot write it: %s", path, strerror(errno));
        }
        done += now > 0 ? (size_t)now : 0;
    }
    bool written =
        fchmod(descriptor, 0644) == 0 && (modified_s == 0 || futimens(descriptor, times) == 0);
    return close(descriptor) == 0 && written
               ? 0
               : web_fail("%s: cannot write it: %s", path, strerror(errno));
}

int web_files_write(const struct web_files *files, const char *root) {
    for (unsigned i = 0; i < WEB_FILES; i++) {
        const struct web_file *file = &files->file[i];
        char path[WEB_PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s%s", root, file->path);
        if (web_file_write(path, file->content, file->bytes, 0) != 0) {
            return -1;
        }
    }
    return 0;
}

void web_files_free(struct web_files *files) {
    for (unsigned i = 0; i < WEB_FILES; i++) {
        free(files->file[i].content);
    }
}
