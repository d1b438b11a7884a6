/* The file: one JSON object, described in benchmarks/java/README.md. */
#include "events.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1 };

/* Write a JSON string. Bytes outside printable ASCII become '?': the encoding of the JVM is not
 * UTF-8. */
static void write_string(FILE *out, const char *text) {
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

static void write_counts(FILE *out, const struct ev_all *all) {
    bool first = true;
    for (int kind = 0; kind < EV_KINDS; kind++) {
        if (all->absent & EV_ONLY(kind)) {
            continue;
        }
        (void)fprintf(out, "%s\"%s\": [", first ? "" : ", ", ev_kind_names[kind]);
        first = false;
        uint64_t before = 0;
        for (size_t i = 0; i < all->window_count; i++) {
            uint64_t until = all->windows[i].until[kind];
            (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", until - before);
            before = until;
        }
        (void)fputs("]", out);
    }
}

static void write_threads(FILE *out, const struct ev_all *all) {
    bool first = true;
    for (size_t i = 0; i < all->thread_count; i++) {
        struct ev_thread_sums *sums = all->threads[i];
        uint64_t exceptions = atomic_load(&sums->exceptions);
        uint64_t contended = atomic_load(&sums->contended_monitors);
        if (exceptions == 0 && contended == 0) {
            continue;
        }
        (void)fputs(first ? "" : ", ", out);
        first = false;
        write_string(out, sums->name);
        (void)fprintf(out,
                      ": {\"exceptions\": %" PRIu64 ", \"contended_monitors\": %" PRIu64
                      ", \"contended_ns\": %" PRIu64 "}",
                      exceptions, contended, atomic_load(&sums->contended_ns));
    }
}

static void write_all(FILE *out, const char *java, const struct ev_all *all) {
    (void)fprintf(out, "{\"events\": %d, \"java\": ", VERSION);
    write_string(out, java);
    (void)fputs(", \"windows\": [", out);
    for (size_t i = 0; i < all->window_count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        write_string(out, all->windows[i].name);
    }
    (void)fputs("], \"ended_ns\": [", out);
    for (size_t i = 0; i < all->window_count; i++) {
        (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", all->windows[i].ended_ns);
    }
    (void)fputs("], \"counts\": {", out);
    write_counts(out, all);
    (void)fputs("}, \"threads\": {", out);
    write_threads(out, all);
    (void)fputs("}, \"missing\": [", out);
    for (size_t i = 0; i < all->missing_count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        write_string(out, all->missing[i]);
    }
    (void)fputs("]}\n", out);
}

int ev_write(const char *path, const char *java, const struct ev_all *all) {
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
    write_all(out, java, all);
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
