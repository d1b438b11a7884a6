/* Copy the server's access log after the run. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Apache writes to its log after the response. A log that has not grown for this time is whole. */
enum { SETTLED_NS = 200000000 };

int web_log_copy_open(struct web_log_copy *copy, const struct web_options *options) {
    *copy = (struct web_log_copy){.path = options->log_copy, .descriptor = -1, .log = -1};
    if (copy->path == NULL) {
        return 0;
    }
    copy->descriptor = open(copy->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return copy->descriptor >= 0
               ? 0
               : web_fail("--log-copy: expected a file that can be written, got %s: %s", copy->path,
                          strerror(errno));
}

int web_log_copy_hold(struct web_log_copy *copy, const struct web_folder *folder) {
    const struct timespec pause = {.tv_nsec = SETTLED_NS};
    char path[WEB_PATH_BYTES];
    struct stat status;
    if (copy->path == NULL) {
        return 0;
    }
    (void)snprintf(path, sizeof path, "%s/logs/access.log", folder->path);
    copy->log = open(path, O_RDONLY | O_CLOEXEC);
    if (copy->log < 0) {
        return web_fail("%s: cannot open it: %s", path, strerror(errno));
    }
    for (off_t before = -1; web_stop_signal == 0; before = status.st_size) {
        if (fstat(copy->log, &status) != 0 || status.st_size == before) {
            return 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    return web_fail("stopped by signal %d", (int)web_stop_signal);
}

int web_log_copy_write(struct web_log_copy *copy) {
    bool written = copy->log < 0 || web_folder_pour(copy->log, copy->descriptor) == 0;
    int kept = errno;
    if (copy->log >= 0) {
        (void)close(copy->log);
    }
    if (copy->descriptor >= 0 && close(copy->descriptor) != 0) {
        kept = errno;
        written = false;
    }
    return written ? 0 : web_fail("--log-copy: cannot write %s: %s", copy->path, strerror(kept));
}
