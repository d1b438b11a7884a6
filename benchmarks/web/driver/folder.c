/* The folder of one invocation: holds all files that the server reads and writes. */
#define _XOPEN_SOURCE 700 /* nftw */
#define _DEFAULT_SOURCE   /* mkdtemp, getentropy */

#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit of open directories during removal. */
enum { REMOVAL_DESCRIPTORS = 16 };

static int join(char path[static WEB_PATH_BYTES], const struct web_folder *folder,
                const char *name) {
    int length = snprintf(path, WEB_PATH_BYTES, "%s/%s", folder->path, name);
    return length < 0 || length >= WEB_PATH_BYTES
               ? web_fail("folder: expected a shorter path than %s/%s", folder->path, name)
               : 0;
}

/* Choose the first of the working directory, /tmp, /var/tmp and /dev/shm that the server can
 * access. */
static int choose_parent(char *parent, size_t room, const struct web_options *options,
                         const struct web_identity *identity) {
    static const char *const usual[] = {"/tmp", "/var/tmp", "/dev/shm"};
    if (options->folder != NULL) {
        char *absolute = realpath(options->folder, NULL);
        bool fits = absolute != NULL && strlen(absolute) < room;
        if (fits) {
            (void)memcpy(parent, absolute, strlen(absolute) + 1);
        }
        free(absolute);
        if (!fits || !web_identity_reaches(identity, parent)) {
            return web_fail("--folder: expected a folder that user %u (the server) can access, got "
                            "%s: run chmod o+x on all folders of its path, or choose another",
                            (unsigned)identity->uid, options->folder);
        }
        return 0;
    }
    if (getcwd(parent, room) != NULL && web_identity_reaches(identity, parent) &&
        access(parent, W_OK | X_OK) == 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (web_identity_reaches(identity, usual[i]) && access(usual[i], W_OK | X_OK) == 0) {
            (void)memcpy(parent, usual[i], strlen(usual[i]) + 1);
            return 0;
        }
    }
    return web_fail("folder: found none that user %u (the server) can access: choose one with "
                    "--folder",
                    (unsigned)identity->uid);
}

static int make_nonce(struct web_folder *folder) {
    unsigned char bytes[16];
    if (getentropy(bytes, sizeof bytes) != 0) {
        return web_fail("getentropy: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(folder->nonce + 2 * i, 3, "%02x", bytes[i]);
    }
    return 0;
}

int web_folder_make(struct web_folder *folder, const struct web_options *options,
                    const struct web_identity *identity) {
    static const char NAME[] = "/web.XXXXXX";
    char parent[sizeof folder->path - sizeof NAME];
    if (make_nonce(folder) != 0 || choose_parent(parent, sizeof parent, options, identity) != 0) {
        return -1;
    }
    (void)snprintf(folder->path, sizeof folder->path, "%s%s",
                   strcmp(parent, "/") == 0 ? "" : parent, NAME);
    if (strpbrk(folder->path, "\"\\ \t\n$%;{}'#") != NULL) {
        folder->path[0] = '\0';
        return web_fail("folder: expected a path without special characters, got %s", parent);
    }
    /* Others may traverse but not list it. */
    if (mkdtemp(folder->path) == NULL) {
        folder->path[0] = '\0';
        return web_fail("%s: cannot create a folder in it: %s", parent, strerror(errno));
    }
    if (chmod(folder->path, identity->drop ? 0711 : 0700) != 0) {
        return web_fail("%s: %s", folder->path, strerror(errno));
    }
    static const char *const parts[] = {"site", "site/file_set", "site/file_set/dir00000",
                                        "programs"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char path[WEB_PATH_BYTES];
        if (join(path, folder, parts[i]) != 0) {
            return -1;
        }
        if (mkdir(path, 0755) != 0 || chmod(path, 0755) != 0) {
            return web_fail("%s: %s", path, strerror(errno));
        }
    }
    return web_folder_write(folder, "site/nonce", folder->nonce, 0644);
}

static int write_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t now = write(descriptor, bytes, count);
        if (now < 0 && errno != EINTR) {
            return -1;
        }
        bytes += now > 0 ? now : 0;
        count -= now > 0 ? (size_t)now : 0;
    }
    return 0;
}

int web_folder_write(const struct web_folder *folder, const char *name, const char *text,
                     mode_t mode) {
    char path[WEB_PATH_BYTES];
    if (join(path, folder, name) != 0) {
        return -1;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    bool written = file >= 0 && write_all(file, text, strlen(text)) == 0 && fchmod(file, mode) == 0;
    if (file >= 0 && close(file) != 0) {
        written = false;
    }
    return written ? 0 : web_fail("%s: cannot write it: %s", path, strerror(errno));
}

int web_folder_pour(int from, int to) {
    char chunk[16384];
    ssize_t got;
    while ((got = read(from, chunk, sizeof chunk)) > 0) {
        if (write_all(to, chunk, (size_t)got) != 0) {
            return -1;
        }
    }
    return got == 0 ? 0 : -1;
}

int web_folder_copy(const struct web_folder *folder, const char *name, const char *from) {
    char path[WEB_PATH_BYTES];
    if (join(path, folder, name) != 0) {
        return -1;
    }
    int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0) {
        return web_fail("%s: expected a program, got: %s", from, strerror(errno));
    }
    int copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    bool copied = copy >= 0 && web_folder_pour(source, copy) == 0 && fchmod(copy, 0755) == 0;
    (void)close(source);
    if (copy >= 0 && close(copy) != 0) {
        copied = false;
    }
    return copied ? 0 : web_fail("%s: cannot copy %s: %s", path, from, strerror(errno));
}

int web_folder_shared(const struct web_folder *folder, const char *name,
                      const struct web_identity *identity) {
    char path[WEB_PATH_BYTES];
    if (join(path, folder, name) != 0) {
        return -1;
    }
    mode_t mode = 0700;
    if (mkdir(path, mode) != 0) {
        return web_fail("%s: %s", path, strerror(errno));
    }
    if (identity->drop) {
        /* This process stays the owner, so that removal needs no further capabilities. If it cannot
         * change the group, all users may write: the folder's name is not guessable. */
        mode = chown(path, (uid_t)-1, identity->gid) == 0 ? 0770 : 0777;
    }
    return chmod(path, mode) != 0 ? web_fail("%s: %s", path, strerror(errno)) : 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static uint64_t disk_bytes; /* nftw passes no argument */

static int add_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)path;
    (void)place;
    disk_bytes += kind == FTW_F ? (uint64_t)status->st_blocks * 512 : 0;
    return 0;
}

uint64_t web_folder_bytes(const struct web_folder *folder, const char *name) {
    char path[WEB_PATH_BYTES];
    disk_bytes = 0;
    /* Files that disappear meanwhile are not counted. */
    return join(path, folder, name) == 0 &&
                   nftw(path, add_entry, REMOVAL_DESCRIPTORS, FTW_PHYS) == 0
               ? disk_bytes
               : 0;
}

int web_folder_remove(const struct web_folder *folder) {
    if (folder->path[0] == '\0') {
        return 0;
    }
    /* Retry if a process that is about to end has created a file meanwhile. */
    for (int attempt = 0; attempt < 3; attempt++) {
        if (nftw(folder->path, remove_entry, REMOVAL_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 ||
            errno == ENOENT) {
            return 0;
        }
    }
    return -1;
}

void web_folder_last_lines(const struct web_folder *folder, const char *name, char *words,
                           size_t bytes) {
    enum { LINES = 3, LINE_BYTES = 300 };
    char path[WEB_PATH_BYTES], text[LINES][LINE_BYTES];
    size_t count = 0, used = 0;
    words[0] = '\0';
    /* The folder of a server on another host has no path. */
    if (folder->path[0] == '\0' || join(path, folder, name) != 0) {
        return;
    }
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(text[count % LINES], LINE_BYTES, file) != NULL) {
        char *line = text[count % LINES];
        line[strcspn(line, "\n")] = '\0';
        count += line[0] != '\0' && strstr(line, "notice]") == NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    for (size_t i = count < LINES ? 0 : count - LINES; i < count && used < bytes; i++) {
        used += (size_t)snprintf(words + used, bytes - used, "%s%s", used == 0 ? "" : " | ",
                                 text[i % LINES]);
    }
}
