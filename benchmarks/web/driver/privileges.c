/*
 * Servers never run as root: if this process does, its children become nobody before they execute a
 * program. That needs only CAP_SETUID and CAP_SETGID. A child that has become nobody also sends the
 * signals, because root without CAP_KILL may not.
 */
#define _DEFAULT_SOURCE /* setgroups */

#include "web.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 }; /* without a user database, as in a small image */

struct web_identity web_identity_find(void) {
    if (geteuid() != 0) {
        return (struct web_identity){.drop = false, .uid = geteuid(), .gid = getegid()};
    }
    const struct passwd *nobody = getpwnam("nobody");
    if (nobody == NULL || nobody->pw_uid == 0) {
        return (struct web_identity){.drop = true, .uid = NOBODY, .gid = NOBODY};
    }
    return (struct web_identity){.drop = true, .uid = nobody->pw_uid, .gid = nobody->pw_gid};
}

int web_identity_take(const struct web_identity *identity) {
    if (!identity->drop) {
        return 0;
    }
    return setgroups(0, NULL) != 0 || setgid(identity->gid) != 0 || setuid(identity->uid) != 0 ? -1
                                                                                               : 0;
}

bool web_identity_reaches(const struct web_identity *identity, const char *path) {
    if (!identity->drop) {
        return true;
    }
    char part[WEB_PATH_BYTES];
    for (size_t i = 1;; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        struct stat status;
        if (i >= sizeof part) {
            return false;
        }
        (void)memcpy(part, path, i);
        part[i] = '\0';
        /* Check the rights of others only: user nobody owns no files and is in no group. */
        if (stat(part, &status) != 0 || (status.st_mode & S_IXOTH) == 0) {
            return false;
        }
        if (path[i] == '\0') {
            return true;
        }
    }
}

int web_identity_signal(const struct web_identity *identity, pid_t pid, int number) {
    if (kill(pid, number) == 0 || errno != EPERM || !identity->drop) {
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(web_identity_take(identity) == 0 && kill(pid, number) == 0 ? 0 : 1);
    }
    if (child > 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return child > 0 ? 0 : -1;
}
