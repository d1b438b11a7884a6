/*
 * The files of the site that sessions ask for. All contents are parts of one buffer of letters, so
 * that the driver keeps only the largest object in memory. The files are nevertheless distinct: the
 * server needs as much page cache as it would need for any other site.
 */
#define _GNU_SOURCE /* syncfs */

#include "sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OFFSETS = 1 << 16, PER_FOLDER = 1000 };

/* nginx answers 304 only to exactly this date, Apache also to later ones. */
const char WEB_OBJECTS_DATE[] = "Sat, 01 Jan 2000 00:00:00 GMT";
static const int64_t MODIFIED_S = 946684800;

const char WEB_OBJECTS_MISSING[] = "/missing.html";
static const char MISSING_TEXT[] = "There is no such file.\n";

int web_objects_make(struct web_objects *objects, const struct web_sessions *sessions) {
    size_t bytes = (size_t)sessions->most_bytes + OFFSETS;
    objects->sessions = sessions;
    objects->letters = malloc(bytes);
    if (objects->letters == NULL) {
        return web_fail("objects: cannot allocate %zu bytes", bytes);
    }
    web_letters(objects->letters, bytes, 1);
    return 0;
}

static const char *content_of(const struct web_objects *objects, uint32_t object) {
    uint64_t state = object;
    return objects->letters + web_random_next(&state) % OFFSETS;
}

/* Store the path of an object below the site. Returns the length of the path of its folder. */
static int path_of(char *path, uint32_t object) {
    int folder = snprintf(path, WEB_OBJECT_PATH_BYTES, "/f/%u", object / PER_FOLDER);
    (void)snprintf(path + folder, (size_t)(WEB_OBJECT_PATH_BYTES - folder), "/%u", object);
    return folder;
}

static int make_folder(const char *path) {
    return mkdir(path, 0755) != 0 || chmod(path, 0755) != 0
               ? web_fail("%s: cannot create it: %s", path, strerror(errno))
               : 0;
}

/* Write the files to the disk now, not during the window. */
static int settle(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool written = descriptor >= 0 && syncfs(descriptor) == 0;
    int kept = errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return written ? 0 : web_fail("%s: cannot write it to the disk: %s", path, strerror(kept));
}

int web_objects_write(const struct web_objects *objects, const struct web_folder *folder) {
    char path[WEB_PATH_BYTES];
    int site = snprintf(path, sizeof path, "%s/site", folder->path);
    (void)snprintf(path + site, sizeof path - (size_t)site, "%s", WEB_OBJECTS_MISSING);
    if (web_file_write(path, MISSING_TEXT, sizeof MISSING_TEXT - 1, MODIFIED_S) != 0) {
        return -1;
    }
    (void)snprintf(path + site, sizeof path - (size_t)site, "/f");
    if (make_folder(path) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < objects->sessions->objects; i++) {
        char name[WEB_OBJECT_PATH_BYTES];
        int length = path_of(name, i);
        if (web_stop_signal != 0) {
            return web_fail("stopped by signal %d", (int)web_stop_signal);
        }
        if (i % PER_FOLDER == 0) {
            (void)snprintf(path + site, sizeof path - (size_t)site, "%.*s", length, name);
            if (make_folder(path) != 0) {
                return -1;
            }
        }
        (void)snprintf(path + site, sizeof path - (size_t)site, "%s", name);
        if (web_file_write(path, content_of(objects, i), objects->sessions->object_bytes[i],
                           MODIFIED_S) != 0) {
            return -1;
        }
    }
    return settle(folder->path);
}

void web_objects_expect(const struct web_objects *objects, const struct web_listed_request *request,
                        char *path, struct web_wanted *wanted) {
    static const int statuses[] = {
        [WEB_GET] = 200, [WEB_HEAD] = 200, [WEB_CONDITIONAL] = 304, [WEB_MISSING] = 404};
    uint32_t object = (uint32_t)request->object;
    (void)path_of(path, object);
    *wanted = (struct web_wanted){
        .path = path,
        .status = statuses[request->kind],
        .content = content_of(objects, object),
        .bytes = objects->sessions->object_bytes[object],
        .body = request->kind == WEB_HEAD          ? WEB_BODY_OF_HEAD
                : request->kind == WEB_CONDITIONAL ? WEB_BODY_NONE
                                                   : WEB_BODY_SENT,
        .stays_open = true,
    };
    if (request->kind == WEB_MISSING) {
        /* Next to the object, so that the server finds the folder, but not the file. */
        (void)strcat(path, ".missing");
        wanted->content = MISSING_TEXT;
        wanted->bytes = sizeof MISSING_TEXT - 1;
    }
}

void web_objects_free(struct web_objects *objects) {
    free(objects->letters);
    objects->letters = NULL;
}
