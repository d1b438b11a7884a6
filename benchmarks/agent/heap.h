/*
 * Profile of the heap: heap.c counts every allocated object and takes checkpoints, heap_walk.c
 * counts the reachable objects of a checkpoint, and heap_report.c writes the file.
 *
 * The agent either profiles the heap or counts events: both need the tags of classes.
 */
#ifndef HEAP_H
#define HEAP_H

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_OPTION "heap,interval=BYTES,every=BYTES,warmup=NUMBER,FILE"

/* Bins of sizes: every multiple of 8 up to 256, then powers of two. The last has no limit. */
enum { HEAP_FINE = 32, HEAP_BINS = 64 };

/* Bins of references: 0, 1, 2, 3 to 4, 5 to 8, and so on. The last has no limit. */
enum { HEAP_FAN_BINS = 12 };

/* More cannot be told apart by the tag of an object. */
enum { HEAP_MOST_CHECKPOINTS = (1 << 21) - 2 };

struct heap_sum {
    uint64_t objects;
    uint64_t bytes;
};

/* Reachable objects that the same checkpoint saw first. */
struct heap_cohort {
    struct heap_sum all;
    /* References to them, from objects, arrays and static fields. */
    uint64_t references;
    /* Of these, to an object that was born far from the one that refers to it, and far from the
     * object before it: to follow them misses the caches. */
    uint64_t far;
};

/* Reachable objects of a checkpoint. */
struct heap_live {
    struct heap_sum sizes[HEAP_BINS];
    uint64_t fan_in[HEAP_FAN_BINS];
    uint64_t fan_out[HEAP_FAN_BINS];
    /* From stacks, handles of native code, and the JVM. */
    uint64_t roots;
    /* By the checkpoint that saw the objects first. */
    struct heap_cohort *cohorts;
    size_t cohort_count;
    /* Objects that no collection has moved, and those of them that a walk reaches by a jump in
     * memory: they miss the caches. Only some checkpoints look. */
    struct {
        uint64_t objects;
        uint64_t jumps;
    } unmoved;
};

/* Objects allocated since the start of the JVM. A sample represents several objects, so these are
 * fractions. */
struct heap_allocated {
    double objects[HEAP_BINS];
    double bytes[HEAP_BINS];
    uint64_t samples;
    uint64_t clock_bytes;
};

struct heap_checkpoint {
    size_t window;
    bool ends_window;
    const struct heap_allocated *before;
    const struct heap_allocated *now;
    /* Null: not counted. */
    const struct heap_live *live;
    uint64_t walk_ns;
    long loaded_classes;
    long compiled_methods;
    uint64_t code_bytes;
};

/* Facts about the run, for the head of the file. */
struct heap_facts {
    char java[256];
    uint64_t interval;
    uint64_t every;
    unsigned alignment;
    bool compressed;
    const uint64_t *collections;
    size_t collection_count;
};

static inline unsigned heap_bits(uint64_t above_zero) {
    return 64U - (unsigned)__builtin_clzll(above_zero);
}

/* Bin of a size above 0. */
static inline unsigned heap_bin(uint64_t size) {
    if (size <= 8U * HEAP_FINE) {
        return (unsigned)(size - 1) / 8;
    }
    /* 257 to 512 is the first bin after the fine ones. */
    unsigned bin = HEAP_FINE + heap_bits(size - 1) - 9;
    return bin < HEAP_BINS ? bin : HEAP_BINS - 1;
}

/* Largest size of a bin. */
static inline uint64_t heap_bound(unsigned bin) {
    return bin < HEAP_FINE ? 8U * (bin + 1) : 1ULL << (bin - HEAP_FINE + 9);
}

static inline unsigned heap_fan_bin(uint64_t references) {
    unsigned bin = references < 2 ? (unsigned)references : 1 + heap_bits(references - 1);
    return bin < HEAP_FAN_BINS ? bin : HEAP_FAN_BINS - 1;
}

static inline uint64_t heap_fan_bound(unsigned bin) {
    return bin < 2 ? bin : 1ULL << (bin - 1);
}

/* ---- heap.c ---- */

bool heap_is_wanted(const char *option);

/* Parse the option. Return null and the rest, or the reason of the failure. */
const char *heap_read_option(const char *option, const char **file);

/* Profile the heap until the end of the JVM, which writes the file. */
void heap_start(jvmtiEnv *jvmti, const char *file);

/* ---- heap_walk.c ---- */

/* Learn the classes of weak and phantom references, whose referents do not count as reachable. */
void heap_walk_start(jvmtiEnv *jvmti, JNIEnv *jni);

/* Mark a class if it is one of these. */
void heap_walk_prepare(jvmtiEnv *jvmti, JNIEnv *jni, jclass type);

/* Count the reachable objects. Call one at a time. `unmoved_from`: the first cohort that no
 * collection has moved. `stopped` is called while no thread runs Java code. Return null and report
 * what is missing on failure. */
const struct heap_live *heap_walk(jvmtiEnv *jvmti, size_t checkpoint, size_t unmoved_from,
                                  void (*stopped)(void));

/* ---- heap_report.c ---- */

/* Keep a checkpoint for the file. */
void heap_keep(const struct heap_checkpoint *checkpoint);

/* Write the file; result as for ev_write_whole. */
int heap_write(const char *path, const struct heap_facts *facts);

#endif
