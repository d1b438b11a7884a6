/*
 * Counts of JVM events: agent.c receives the events, counts.c adds them per window of the harness,
 * and report.c writes the result when the JVM ends.
 *
 * Any thread may call any function at any time.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ev_kind {
    EV_CLASSES_LOADED,
    /* Of these, the classes of all loaders but the boot loader and the platform loader. */
    EV_APPLICATION_CLASSES,
    /* The first code of a method, and any later code: another tier, a loop, or after
       deoptimization. */
    EV_METHODS_COMPILED,
    EV_METHODS_RECOMPILED,
    /* Bytecode of both, of the methods themselves without inlined methods. */
    EV_BYTES_COMPILED,
    EV_BYTES_RECOMPILED,
    /* Machine code of both together. */
    EV_CODE_BYTES,
    EV_EXCEPTIONS,
    /* Exceptions that no method on the stack of the thread catches. */
    EV_EXCEPTIONS_UNCAUGHT,
    EV_CONTENDED_MONITORS,
    EV_CONTENDED_NS,
    /* Without threads that the JVM starts internally. */
    EV_THREADS_STARTED,
    EV_VIRTUAL_THREADS_STARTED,
    /* Processor time of Java threads: without the collector and the compilers. */
    EV_THREAD_CPU_NS,
    EV_KINDS
};

/* A set of kinds. */
#define EV_ONLY(kind) (1U << (kind))
#define EV_NONE 0U
#define EV_EVERY (EV_ONLY(EV_KINDS) - 1)

/* Name of a kind in the file. */
extern const char *const ev_kind_names[EV_KINDS];

enum { EV_NAME_SIZE = 32 };

/* Part of a run between two marks. */
struct ev_window {
    char name[EV_NAME_SIZE];
    /* End of the window, in ns since 1970. */
    uint64_t ended_ns;
    /* Counts from the start of the JVM to the end of the window. */
    uint64_t until[EV_KINDS];
};

/* Events caused by a thread, summed over all threads of the same name. */
struct ev_thread_sums {
    char *name;
    _Atomic uint64_t exceptions;
    _Atomic uint64_t contended_monitors;
    _Atomic uint64_t contended_ns;
};

/* ---- counts.c ---- */

void ev_add(enum ev_kind kind, uint64_t amount);

/* Set the part of a kind that running threads contribute until the end of the current window. */
void ev_set_live(enum ev_kind kind, uint64_t amount);

/* Mark kinds of events that were not requested: the file has no numbers for them. */
void ev_unwanted(unsigned kinds);

/* The same for kinds that the JVM lacks; the file names them. `what` is kept. */
void ev_missing(const char *what, unsigned kinds);

/* End a window. Return its index. */
size_t ev_end_window(const char *name);

/* Return whether a method was compiled before, and mark it as compiled. */
bool ev_compiled_before(const void *method);

/* Never null. Beyond 256 names, and if out of memory, all further names share one entry. */
struct ev_thread_sums *ev_sums_of(const char *name);

/* Input of report.c. */
struct ev_all {
    const struct ev_window *windows;
    size_t window_count;
    struct ev_thread_sums *const *threads;
    size_t thread_count;
    const char *const *missing;
    size_t missing_count;
    /* Kinds without numbers. */
    unsigned absent;
};

/* End the last window and return all data; later events are not included. */
struct ev_all ev_all(void);

/* ---- output.c ---- */

/* Write a JSON string. */
void ev_write_string(FILE *out, const char *text);

/* Write a JSON list of strings. */
void ev_write_strings(FILE *out, const char *const *texts, size_t count);

/* Write a complete file with `write`, or nothing. Return 0, or -1 with errno set. */
int ev_write_whole(const char *path, void (*write)(FILE *out, const void *data), const void *data);

/* ---- report.c ---- */

/* Write the file; result as for ev_write_whole. */
int ev_write(const char *path, const char *java, const struct ev_all *all);

#endif
