/*
 * Description of the heap of an application: heap.c receives the events and walks the heap,
 * heap_report.c writes the result when the JVM ends.
 */
#ifndef HEAP_H
#define HEAP_H

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin of the option of the agent. */
#define HP_OPTION "heap,"

/* Bins of object sizes: each multiple of 8 bytes up to 256, then each power of two. */
enum { HP_FINE = 32, HP_BINS = HP_FINE + 40, HP_DEGREES = 13 };

/* Number and bytes of objects; not integers, because a sampled object represents several. */
struct hp_amount {
    double objects, bytes;
};

/* Live objects that were allocated between two walks: before walk `walk`, after the previous. */
struct hp_cohort {
    uint32_t walk;
    uint32_t objects;
    uint64_t bytes;
};

struct hp_walk {
    /* Window in which the walk took place, and whether it is at its end. */
    size_t window;
    bool ends_window;
    /* Bytes allocated since the start of the JVM. */
    double clock;
    uint64_t samples;
    /* Allocated since the previous walk, and live, by bin. */
    struct hp_amount allocated[HP_BINS], live[HP_BINS];
    /* References between objects; of these, between objects whose cohorts are not neighbours. */
    uint64_t references, far;
    /* Objects by the number of references to and from them: 0, 1, 2, up to 4, up to 8, ... */
    uint64_t fan_in[HP_DEGREES], fan_out[HP_DEGREES];
    struct hp_cohort *cohorts;
    size_t cohort_count;
    uint32_t loaded_classes, compiled_methods;
};

struct hp_all {
    const char *java;
    uint64_t interval, every;
    bool compressed_references;
    char *const *windows;
    size_t window_count;
    struct hp_walk *const *walks;
    size_t walk_count;
    const double *collections;
    size_t collection_count;
    const char *const *missing;
    size_t missing_count;
};

/* Start this mode: `option` is INTERVAL,EVERY,FILE. Return the result of Agent_OnLoad. */
jint hp_load(JavaVM *vm, const char *option);

/* Write the complete file or nothing. Return 0, or -1 with errno set. */
int hp_write(const char *path, const struct hp_all *all);

#endif
