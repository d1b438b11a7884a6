/* The file of a heap: one JSON object, described in benchmarks/java/README.md. */
#include "heap.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1 };

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

static void write_strings(FILE *out, const char *key, const char *const *texts, size_t count) {
    (void)fprintf(out, ",\n \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        write_string(out, texts[i]);
    }
    (void)fputs("]", out);
}

static void write_amounts(FILE *out, const char *key, const struct hp_amount *bins) {
    (void)fprintf(out, ", \"%s\": [", key);
    bool first = true;
    for (size_t i = 0; i < HP_BINS; i++) {
        if (bins[i].objects > 0.0) {
            (void)fprintf(out, "%s[%zu, %.12g, %.15g]", first ? "" : ", ", i, bins[i].objects,
                          bins[i].bytes);
            first = false;
        }
    }
    (void)fputs("]", out);
}

static void write_degrees(FILE *out, const char *key, const uint64_t *degrees) {
    (void)fprintf(out, ", \"%s\": [", key);
    for (size_t i = 0; i < HP_DEGREES; i++) {
        (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", degrees[i]);
    }
    (void)fputs("]", out);
}

static void write_walk(FILE *out, const struct hp_walk *walk) {
    (void)fprintf(out, "{\"window\": %zu, \"ends_window\": %s, \"clock_bytes\": %.15g, \"samples\": %" PRIu64,
                  walk->window, walk->ends_window ? "true" : "false", walk->clock, walk->samples);
    write_amounts(out, "allocated", walk->allocated);
    write_amounts(out, "live", walk->live);
    (void)fprintf(out, ", \"references\": %" PRIu64 ", \"far\": %" PRIu64, walk->references,
                  walk->far);
    write_degrees(out, "fan_in", walk->fan_in);
    write_degrees(out, "fan_out", walk->fan_out);
    (void)fputs(", \"cohorts\": [", out);
    for (size_t i = 0; i < walk->cohort_count; i++) {
        (void)fprintf(out, "%s[%" PRIu32 ", %" PRIu32 ", %" PRIu64 "]", i == 0 ? "" : ", ",
                      walk->cohorts[i].walk, walk->cohorts[i].objects, walk->cohorts[i].bytes);
    }
    (void)fprintf(out, "], \"loaded_classes\": %" PRIu32 ", \"compiled_methods\": %" PRIu32 "}",
                  walk->loaded_classes, walk->compiled_methods);
}

static void write_all(FILE *out, const struct hp_all *all) {
    (void)fprintf(out, "{\"heap_profile\": %d,\n \"java\": ", VERSION);
    write_string(out, all->java);
    (void)fprintf(out,
                  ",\n \"sampling_interval\": %" PRIu64 ",\n \"every_bytes\": %" PRIu64
                  ",\n \"compressed_references\": %s",
                  all->interval, all->every, all->compressed_references ? "true" : "false");
    write_strings(out, "windows", (const char *const *)all->windows, all->window_count);
    write_strings(out, "missing", all->missing, all->missing_count);
    (void)fputs(",\n \"collections_at\": [", out);
    for (size_t i = 0; i < all->collection_count; i++) {
        (void)fprintf(out, "%s%.15g", i == 0 ? "" : ", ", all->collections[i]);
    }
    (void)fputs("],\n \"checkpoints\": [", out);
    for (size_t i = 0; i < all->walk_count; i++) {
        (void)fputs(i == 0 ? "\n  " : ",\n  ", out);
        write_walk(out, all->walks[i]);
    }
    (void)fputs("\n ]}\n", out);
}

int hp_write(const char *path, const struct hp_all *all) {
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp", path);
    if (length < 0 || (size_t)length >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *out = fopen(temporary, "we");
    if (out == NULL) {
        return -1;
    }
    write_all(out, all);
    int failed = ferror(out);
    if (fclose(out) != 0 || failed || rename(temporary, path) != 0) {
        int why = errno;
        (void)remove(temporary);
        errno = why;
        return -1;
    }
    return 0;
}
