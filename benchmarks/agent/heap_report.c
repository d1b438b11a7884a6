/* The file: one JSON object with a line per checkpoint, described in benchmarks/java/README.md. */
#include "events.h"
#include "heap.h"

#include <inttypes.h>
#include <stdlib.h>

enum { VERSION = 3 };

/* The lines of all checkpoints. */
static FILE *lines;
static char *text;
static size_t text_size;
static size_t kept;

static const char *between(bool *first) {
    const char *separator = *first ? "" : ", ";
    *first = false;
    return separator;
}

static void write_allocated(const struct heap_checkpoint *at) {
    (void)fputs("\"allocated\": [", lines);
    bool first = true;
    for (int bin = 0; bin < HEAP_BINS; bin++) {
        double objects = at->now->objects[bin] - at->before->objects[bin];
        double bytes = at->now->bytes[bin] - at->before->bytes[bin];
        if (objects > 0) {
            /* Counts of all objects are whole numbers. */
            (void)fprintf(lines, "%s[%d, %.15g, %.15g]", between(&first), bin, objects, bytes);
        }
    }
    (void)fprintf(lines, "], \"samples\": %" PRIu64, at->now->samples - at->before->samples);
}

static void write_sums(const char *name, const struct heap_sum *sums, size_t count) {
    (void)fprintf(lines, ", \"%s\": [", name);
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (sums[i].objects > 0) {
            (void)fprintf(lines, "%s[%zu, %" PRIu64 ", %" PRIu64 "]", between(&first), i,
                          sums[i].objects, sums[i].bytes);
        }
    }
    (void)fputc(']', lines);
}

static void write_fan(const char *name, const uint64_t *bins) {
    (void)fprintf(lines, ", \"%s\": [", name);
    bool first = true;
    for (unsigned bin = 0; bin < HEAP_FAN_BINS; bin++) {
        if (bins[bin] > 0) {
            (void)fprintf(lines, "%s[%" PRIu64 ", %" PRIu64 "]", between(&first),
                          heap_fan_bound(bin), bins[bin]);
        }
    }
    (void)fputc(']', lines);
}

static void write_cohorts(const struct heap_live *live) {
    (void)fputs(", \"cohorts\": [", lines);
    bool first = true;
    for (size_t i = 0; i < live->cohort_count; i++) {
        const struct heap_cohort *at = &live->cohorts[i];
        if (at->all.objects > 0) {
            (void)fprintf(lines, "%s[%zu, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                          between(&first), i, at->all.objects, at->all.bytes, at->references,
                          at->far);
        }
    }
    (void)fputc(']', lines);
}

void heap_keep(const struct heap_checkpoint *at) {
    if (lines == NULL && (lines = open_memstream(&text, &text_size)) == NULL) {
        ev_missing("memory for checkpoints", EV_NONE);
        return;
    }
    (void)fprintf(
        lines, "%s\n  {\"window\": %zu, \"ends_window\": %s, \"clock_bytes\": %" PRIu64 ", ",
        kept == 0 ? "" : ",", at->window, at->ends_window ? "true" : "false", at->now->clock_bytes);
    write_allocated(at);
    static const struct heap_live nothing;
    const struct heap_live *live = at->live == NULL ? &nothing : at->live;
    (void)fprintf(lines, ", \"walk_ns\": %" PRIu64, at->walk_ns);
    write_sums("live", live->sizes, HEAP_BINS);
    (void)fprintf(lines, ", \"roots\": %" PRIu64, live->roots);
    write_fan("fan_in", live->fan_in);
    write_fan("fan_out", live->fan_out);
    write_cohorts(live);
    (void)fprintf(lines, ", \"unmoved_objects\": %" PRIu64 ", \"jumps\": %" PRIu64,
                  live->unmoved.objects, live->unmoved.jumps);
    (void)fprintf(
        lines, ", \"loaded_classes\": %ld, \"compiled_methods\": %ld, \"code_bytes\": %" PRIu64 "}",
        at->loaded_classes, at->compiled_methods, at->code_bytes);
    kept++;
}

static void write_head(FILE *out, const struct heap_facts *facts, const struct ev_all *all) {
    (void)fprintf(out, "{\"heap_profile\": %d, \"java\": ", VERSION);
    ev_write_string(out, facts->java);
    (void)fprintf(out,
                  ", \"sampling_interval\": %" PRIu64 ", \"every_bytes\": %" PRIu64
                  ", \"object_alignment\": %u, \"compressed_references\": %s, \"windows\": [",
                  facts->interval, facts->every, facts->alignment,
                  facts->compressed ? "true" : "false");
    for (size_t i = 0; i < all->window_count; i++) {
        (void)fputs(i == 0 ? "" : ", ", out);
        ev_write_string(out, all->windows[i].name);
    }
    (void)fputs("], \"missing\": ", out);
    ev_write_strings(out, all->missing, all->missing_count);
    (void)fputs(",\n\"collections_at\": [", out);
    for (size_t i = 0; i < facts->collection_count; i++) {
        (void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", facts->collections[i]);
    }
    (void)fputs("],\n\"sizes\": [", out);
    for (unsigned bin = 0; bin < HEAP_BINS; bin++) {
        (void)fprintf(out, "%s%" PRIu64, bin == 0 ? "" : ", ", heap_bound(bin));
    }
    (void)fputs("],\n\"checkpoints\": [", out);
}

static void write_all(FILE *out, const void *data) {
    struct ev_all all = ev_all();
    write_head(out, data, &all);
    if (text != NULL) {
        (void)fwrite(text, 1, text_size, out);
    }
    (void)fputs("\n]}\n", out);
}

int heap_write(const char *path, const struct heap_facts *facts) {
    if (lines != NULL) {
        bool failed = ferror(lines) != 0;
        if (fclose(lines) != 0 || failed) {
            ev_missing("memory for checkpoints", EV_NONE);
            free(text);
            text = NULL;
        }
        lines = NULL;
    }
    return ev_write_whole(path, write_all, facts);
}
