/* Counters, windows and sums per thread. The counters are lock-free; growing structures share one
 * lock. */
#include "events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The number of tallies of the profiler. */
enum { MOST_NAMES = 256, MOST_MISSING = 16, FIRST_WINDOWS = 64, FIRST_METHODS = 4096 };

const char *const ev_kind_names[EV_KINDS] = {
    [EV_CLASSES_LOADED] = "classes_loaded",
    [EV_APPLICATION_CLASSES] = "application_classes",
    [EV_METHODS_COMPILED] = "methods_compiled",
    [EV_METHODS_RECOMPILED] = "methods_recompiled",
    [EV_BYTES_COMPILED] = "bytes_compiled",
    [EV_BYTES_RECOMPILED] = "bytes_recompiled",
    [EV_CODE_BYTES] = "code_bytes",
    [EV_EXCEPTIONS] = "exceptions",
    [EV_EXCEPTIONS_UNCAUGHT] = "exceptions_uncaught",
    [EV_CONTENDED_MONITORS] = "contended_monitors",
    [EV_CONTENDED_NS] = "contended_ns",
    [EV_THREADS_STARTED] = "threads_started",
    [EV_VIRTUAL_THREADS_STARTED] = "virtual_threads_started",
    [EV_THREAD_CPU_NS] = "thread_cpu_ns",
};

static _Atomic uint64_t counters[EV_KINDS];
static _Atomic uint64_t live[EV_KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct ev_window *windows;
static size_t window_count, window_room;
/* Reported data stay unchanged, whatever threads do while the JVM ends. */
static bool closed;

/* A hash table with open addressing; null marks a free slot. */
static const void **methods;
static size_t method_count, method_room;

static struct ev_thread_sums other_threads = {.name = "(other threads)"};
/* One more than the number of names, for all other threads. */
static struct ev_thread_sums *threads[MOST_NAMES + 1] = {&other_threads};
static size_t thread_count = 1;

static const char *missing[MOST_MISSING];
static size_t missing_count;
static unsigned absent;

void ev_add(enum ev_kind kind, uint64_t amount) {
    (void)atomic_fetch_add_explicit(&counters[kind], amount, memory_order_relaxed);
}

static void add_missing(const char *what) {
    for (size_t i = 0; i < missing_count; i++) {
        if (strcmp(missing[i], what) == 0) {
            return;
        }
    }
    if (missing_count < MOST_MISSING) {
        missing[missing_count++] = what;
    }
}

void ev_set_live(enum ev_kind kind, uint64_t amount) {
    atomic_store_explicit(&live[kind], amount, memory_order_relaxed);
}

void ev_unwanted(unsigned kinds) {
    (void)pthread_mutex_lock(&lock);
    absent |= kinds;
    (void)pthread_mutex_unlock(&lock);
}

void ev_missing(const char *what, unsigned kinds) {
    (void)pthread_mutex_lock(&lock);
    add_missing(what);
    absent |= kinds;
    (void)pthread_mutex_unlock(&lock);
}

static uint64_t since_1970_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void end_window(const char *name) {
    if (closed) {
        return;
    }
    if (window_count == window_room) {
        size_t room = window_room == 0 ? FIRST_WINDOWS : 2 * window_room;
        struct ev_window *more = realloc(windows, room * sizeof *more);
        if (more == NULL) {
            add_missing("memory for windows");
            return;
        }
        windows = more;
        window_room = room;
    }
    struct ev_window *window = &windows[window_count++];
    (void)snprintf(window->name, sizeof window->name, "%s", name);
    window->ended_ns = since_1970_ns();
    for (int kind = 0; kind < EV_KINDS; kind++) {
        uint64_t until = atomic_load(&counters[kind]) + atomic_load(&live[kind]);
        /* A thread that ends right now may have been in both. */
        uint64_t before = window_count > 1 ? window[-1].until[kind] : 0;
        window->until[kind] = until > before ? until : before;
    }
}

size_t ev_end_window(const char *name) {
    (void)pthread_mutex_lock(&lock);
    end_window(name);
    size_t ended = window_count > 0 ? window_count - 1 : 0;
    (void)pthread_mutex_unlock(&lock);
    return ended;
}

/* Slot of a method in a table with free slots. */
static size_t place_of(const void *const *table, size_t room, const void *method) {
    /* Fibonacci hashing: addresses are multiples of 8. */
    size_t at = (size_t)(((uint64_t)(uintptr_t)method * 0x9e3779b97f4a7c15ULL) >> 20) & (room - 1);
    while (table[at] != NULL && table[at] != method) {
        at = (at + 1) & (room - 1);
    }
    return at;
}

static bool make_room(void) {
    if (2 * method_count < method_room) {
        return true;
    }
    size_t room = method_room == 0 ? FIRST_METHODS : 2 * method_room;
    const void **table = calloc(room, sizeof *table);
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i < method_room; i++) {
        if (methods[i] != NULL) {
            table[place_of(table, room, methods[i])] = methods[i];
        }
    }
    free(methods);
    methods = table;
    method_room = room;
    return true;
}

bool ev_compiled_before(const void *method) {
    (void)pthread_mutex_lock(&lock);
    bool before = false;
    if (make_room()) {
        size_t at = place_of(methods, method_room, method);
        before = methods[at] != NULL;
        method_count += !before;
        methods[at] = method;
    } else {
        add_missing("memory for methods");
        absent |= EV_ONLY(EV_METHODS_COMPILED) | EV_ONLY(EV_METHODS_RECOMPILED) |
                  EV_ONLY(EV_BYTES_COMPILED) | EV_ONLY(EV_BYTES_RECOMPILED);
    }
    (void)pthread_mutex_unlock(&lock);
    return before;
}

static struct ev_thread_sums *sums_of(const char *name) {
    for (size_t i = 0; i < thread_count; i++) {
        if (strcmp(threads[i]->name, name) == 0) {
            return threads[i];
        }
    }
    if (thread_count > MOST_NAMES) {
        return &other_threads;
    }
    struct ev_thread_sums *sums = calloc(1, sizeof *sums);
    char *copy = strdup(name);
    if (sums == NULL || copy == NULL) {
        free(sums);
        free(copy);
        return &other_threads;
    }
    sums->name = copy;
    return threads[thread_count++] = sums;
}

struct ev_thread_sums *ev_sums_of(const char *name) {
    (void)pthread_mutex_lock(&lock);
    struct ev_thread_sums *sums = sums_of(name);
    (void)pthread_mutex_unlock(&lock);
    return sums;
}

struct ev_all ev_all(void) {
    (void)pthread_mutex_lock(&lock);
    end_window("rest");
    closed = true;
    struct ev_all all = {
        windows, window_count, threads, thread_count, missing, missing_count, absent,
    };
    (void)pthread_mutex_unlock(&lock);
    return all;
}
