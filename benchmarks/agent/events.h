/*
 * Events of a JVM, counted: what the agent hears (agent.c) is added here (counts.c), split into the
 * windows of the harness, and written when the JVM ends (report.c).
 *
 * Every function may be called by any thread at any time.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ev_kind {
    EV_CLASSES_LOADED,
    /* The first code of a method, and any later one: another tier, a loop, after a deoptimisation.
     */
    EV_METHODS_COMPILED,
    EV_METHODS_RECOMPILED,
    /* Of both: bytecode of the methods themselves, without what is inlined, and machine code. */
    EV_BYTES_COMPILED,
    EV_CODE_BYTES,
    EV_EXCEPTIONS,
    /* Of these, those that no method on the stack of the thread catches. */
    EV_EXCEPTIONS_UNCAUGHT,
    EV_CONTENDED_MONITORS,
    EV_CONTENDED_NS,
    /* Without those that the JVM starts for itself. */
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

/* The name of a kind in the file. */
extern const char *const ev_kind_names[EV_KINDS];

/* The part of a run between two marks. */
struct ev_window {
    char name[32];
    /* Its end, in ns since 1970. */
    uint64_t ended_ns;
    /* What was counted from the start of the JVM to the end of the window. */
    uint64_t until[EV_KINDS];
};

/* The events that a thread itself causes, summed over all threads of one name. */
struct ev_thread_sums {
    char *name;
    _Atomic uint64_t exceptions;
    _Atomic uint64_t contended_monitors;
    _Atomic uint64_t contended_ns;
};

/* ---- counts.c ---- */

void ev_add(enum ev_kind kind, uint64_t amount);

/* What the threads that still run add to a kind until the end of the current window. */
void ev_set_live(enum ev_kind kind, uint64_t amount);

/* Kinds of events that nobody asked for: the file has no numbers of them. */
void ev_unwanted(unsigned kinds);

/* The same because the JVM lacks something, which the file names. `what` is kept. */
void ev_missing(const char *what, unsigned kinds);

/* Ends a window; the name is that of `format` with a number. */
void ev_end_window(const char *format, unsigned long number);

/* Whether a method was compiled before; from now on it was. */
bool ev_compiled_before(const void *method);

/* Never null. Of more than 256 names, and of names for which there is no memory, one for all. */
struct ev_thread_sums *ev_sums_of(const char *name);

/* What report.c writes. */
struct ev_all {
    const struct ev_window *windows;
    size_t window_count;
    struct ev_thread_sums *const *threads;
    size_t thread_count;
    const char *const *missing;
    size_t missing_count;
    /* The kinds without numbers. */
    unsigned absent;
};

/* Ends the last window and returns everything; later events are not in it. */
struct ev_all ev_all(void);

/* ---- report.c ---- */

/* Writes the file whole or not at all. Returns 0, or -1 with errno set. */
int ev_write(const char *path, const char *java, const struct ev_all *all);

#endif
