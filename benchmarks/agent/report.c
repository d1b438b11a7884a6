/* The file: one JSON object, described in benchmarks/java/README.md. */
#include "events.h"

#include <inttypes.h>
#include <stdio.h>

enum { VERSION = 1 };

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
        ev_write_string(out, sums->name);
        (void)fprintf(out,
                      ": {\"exceptions\": %" PRIu64 ", \"contended_monitors\": %" PRIu64
                      ", \"contended_ns\": %" PRIu64 "}",
                      exceptions, contended, atomic_load(&sums->contended_ns));
    }
}

struct told {
    const char *java;
    const struct ev_all *all;
};

static void write_all(FILE *out, const void *data) {
    const struct told *told = data;
    const struct ev_all *all = told->all;
    (void)fprintf(out, "{\"events\": %d, \"java\": ", VERSION);
    ev_write_string(out, told->java);
    (void)fputs(", \"windows\": [", out);
    for (size_t i = 0; i < all->window_count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        ev_write_string(out, all->windows[i].name);
    }
    (void)fputs("], \"ended_ns\": [", out);
    for (size_t i = 0; i < all->window_count; i++) {
        (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", all->windows[i].ended_ns);
    }
    (void)fputs("], \"counts\": {", out);
    write_counts(out, all);
    (void)fputs("}, \"threads\": {", out);
    write_threads(out, all);
    (void)fputs("}, \"missing\": ", out);
    ev_write_strings(out, all->missing, all->missing_count);
    (void)fputs("}\n", out);
}

int ev_write(const char *path, const char *java, const struct ev_all *all) {
    struct told told = {java, all};
    return ev_write_whole(path, write_all, &told);
}
