/* Files of the agent: JSON strings, and files that are complete or absent. */
#include "events.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* Bytes outside printable ASCII become '?': the encoding of the JVM is not
 * UTF-8. */
void ev_write_string(FILE *out, const char *text) {
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            (void)fputc('\\', out);
        }
        (void)fputc(byte >= 0x20 && byte < 0x7f ? byte : '?', out);
    }
    (void)fputc('"', out);
}

void ev_write_strings(FILE *out, const char *const *texts, size_t count) {
    (void)fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        ev_write_string(out, texts[i]);
    }
    (void)fputc(']', out);
}

int ev_write_whole(const char *path, void (*write)(FILE *out, const void *data), const void *data) {
    char unfinished[PATH_MAX];
    int length = snprintf(unfinished, sizeof unfinished, "%s.unfinished", path);
    if (length < 0 || (size_t)length >= sizeof unfinished) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *out = fopen(unfinished, "we");
    if (out == NULL) {
        return -1;
    }
    errno = 0;
    write(out, data);
    bool failed = ferror(out) != 0;
    int why = errno;
    if (fclose(out) != 0 && !failed) {
        failed = true;
        why = errno;
    }
    if (!failed && rename(unfinished, path) == 0) {
        return 0;
    }
    why = failed ? why : errno;
    (void)remove(unfinished);
    errno = why;
    return -1;
}
