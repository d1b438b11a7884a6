/* Profile of the heap: options, allocated objects, and checkpoints. */
#include "heap.h"

#include "events.h"
#include "jvm.h"
#include "windows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODE "heap,"

/* Collections whose positions are kept. */
enum { MOST_COLLECTIONS = 1 << 16 };

/* Fractions of objects and bytes, as whole numbers that threads can add without a lock. */
enum { OBJECT_BITS = 20, BYTE_BITS = 10 };

static const char *path;
static uint64_t interval, every = 1U << 20, warmup;

/* Objects allocated since the start, by bin. Only bins of several sizes need bytes. */
static _Atomic uint64_t objects[HEAP_BINS], bytes[HEAP_BINS];
static _Atomic uint64_t samples, clock_bytes;
/* Position of the next checkpoint on the clock. */
static _Atomic uint64_t due;
static atomic_bool closed;

static _Atomic uint64_t collections[MOST_COLLECTIONS];
static _Atomic size_t collection_count;
/* The first checkpoint whose new objects no collection has moved. */
static _Atomic size_t unmoved_from;
/* Methods with machine code, and its bytes. */
static _Atomic long compiled_methods;
static _Atomic uint64_t code_bytes;

/* The lock of all that follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic size_t checkpoint_count;
static size_t window;
/* In warm-up iterations, only their ends are checkpoints. */
static bool warming_up;
static struct heap_allocated before, now;
static struct heap_facts facts;

/* ---- options ---- */

bool heap_is_wanted(const char *option) {
    return strncmp(option, MODE, strlen(MODE)) == 0;
}

/* Parse a number that ends with a comma. Return the rest, or null. */
static const char *read_number(const char *digits, uint64_t most, uint64_t *number) {
    char *end = NULL;
    errno = 0;
    unsigned long long read = strtoull(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || errno != 0 || read > most || *end != ',') {
        return NULL;
    }
    *number = read;
    return end + 1;
}

const char *heap_read_option(const char *option, const char **file) {
    static const struct {
        const char *key;
        uint64_t most;
        uint64_t *value;
        const char *wrong;
    } numbers[] = {
        {"interval=", INT_MAX, &interval, "interval: got no number of bytes from 0 to 2147483647"},
        {"every=", INT64_MAX, &every, "every: got no number of bytes from 0"},
        {"warmup=", INT64_MAX, &warmup, "warmup: got no number of iterations from 0"},
    };
    const char *rest = option + strlen(MODE);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strncmp(rest, numbers[i].key, strlen(numbers[i].key)) == 0) {
            rest = read_number(rest + strlen(numbers[i].key), numbers[i].most, numbers[i].value);
            if (rest == NULL) {
                return numbers[i].wrong;
            }
        }
    }
    *file = rest;
    return NULL;
}

/* ---- checkpoints ---- */

/* Read the counters. Other threads are stopped, but some may still be in a handler of this agent.
 */
static void read_allocated(void) {
    for (unsigned bin = 0; bin < HEAP_BINS; bin++) {
        now.objects[bin] = ldexp((double)atomic_load(&objects[bin]), -OBJECT_BITS);
        now.bytes[bin] = bin < HEAP_FINE ? now.objects[bin] * (double)heap_bound(bin)
                                         : ldexp((double)atomic_load(&bytes[bin]), -BYTE_BITS);
    }
    now.clock_bytes = atomic_load(&clock_bytes);
    now.samples = atomic_load(&samples);
}

static long loaded_classes(jvmtiEnv *jvmti, JNIEnv *jni) {
    jint count = 0;
    jclass *types = NULL;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &types) != JVMTI_ERROR_NONE) {
        return 0;
    }
    for (jint i = 0; i < count; i++) {
        (*jni)->DeleteLocalRef(jni, types[i]);
    }
    jvm_release(jvmti, types);
    return count;
}

/* Count the methods with machine code anew: some are gone since the last window. */
static void count_code(jvmtiEnv *jvmti) {
    atomic_store(&compiled_methods, 0);
    atomic_store(&code_bytes, 0);
    if ((*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_COMPILED_METHOD_LOAD) != JVMTI_ERROR_NONE) {
        ev_missing("GenerateEvents", EV_NONE);
    }
}

/* Call with the lock. */
static void take_checkpoint(jvmtiEnv *jvmti, JNIEnv *jni, bool ends_window) {
    if (checkpoint_count >= HEAP_MOST_CHECKPOINTS) {
        ev_missing("checkpoints: too many", EV_NONE);
        atomic_store(&due, UINT64_MAX);
        return;
    }
    uint64_t started_ns = jvm_now_ns();
    const struct heap_live *live = NULL;
    if (every == 0) {
        read_allocated();
    } else if ((live = heap_walk(jvmti, checkpoint_count, unmoved_from, read_allocated)) == NULL) {
        atomic_store(&due, UINT64_MAX);
        return;
    }
    struct heap_checkpoint checkpoint = {
        .window = window,
        .ends_window = ends_window,
        .before = &before,
        .now = &now,
        .live = live,
        .walk_ns = jvm_now_ns() - started_ns,
        .loaded_classes = loaded_classes(jvmti, jni),
        .compiled_methods = atomic_load(&compiled_methods),
        .code_bytes = atomic_load(&code_bytes),
    };
    heap_keep(&checkpoint);
    checkpoint_count++;
    before = now;
    if (every != 0) {
        uint64_t next = now.clock_bytes / every + 1;
        atomic_store(&due, warming_up || next > UINT64_MAX / every ? UINT64_MAX : next * every);
    }
}

static void window_ended(jvmtiEnv *jvmti, JNIEnv *jni, const char *name) {
    unsigned long next = 0;
    (void)pthread_mutex_lock(&lock);
    window = ev_end_window(name);
    if (strcmp(name, "startup") == 0 || sscanf(name, "before %lu", &next) == 1) {
        warming_up = next < warmup;
    }
    count_code(jvmti);
    take_checkpoint(jvmti, jni, true);
    window++;
    (void)pthread_mutex_unlock(&lock);
}

/* ---- events ---- */

/* Return how many objects a sample of this size represents: the JVM samples each byte with the same
 * probability, independently of all others. */
static double weight_of(uint64_t size) {
    return interval == 0 ? 1 : -1 / expm1(-(double)size / (double)interval);
}

static void JNICALL allocated(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object,
                              jclass type, jlong length) {
    (void)thread, (void)object, (void)type;
    if (atomic_load_explicit(&closed, memory_order_relaxed)) {
        return;
    }
    uint64_t size = (uint64_t)length;
    unsigned bin = heap_bin(size);
    uint64_t represented = 1ULL << OBJECT_BITS, passed = size, fraction = size << BYTE_BITS;
    if (interval != 0) {
        double weight = weight_of(size);
        represented = (uint64_t)llround(ldexp(weight, OBJECT_BITS));
        passed = (uint64_t)llround(weight * (double)size);
        fraction = (uint64_t)llround(ldexp(weight * (double)size, BYTE_BITS));
    }
    (void)atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&objects[bin], represented, memory_order_relaxed);
    if (bin >= HEAP_FINE) {
        (void)atomic_fetch_add_explicit(&bytes[bin], fraction, memory_order_relaxed);
    }
    uint64_t clock = atomic_fetch_add_explicit(&clock_bytes, passed, memory_order_relaxed) + passed;
    if (clock < atomic_load_explicit(&due, memory_order_relaxed)) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    /* Another thread may have come first, or the JVM may have ended. */
    if (!atomic_load(&closed) && atomic_load(&clock_bytes) >= atomic_load(&due)) {
        take_checkpoint(jvmti, jni, false);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Only counters: the JVM allows no call here. */
static void JNICALL collecting(jvmtiEnv *jvmti) {
    (void)jvmti;
    size_t at = atomic_fetch_add(&collection_count, 1);
    atomic_store(&unmoved_from, atomic_load(&checkpoint_count) + 1);
    if (at < MOST_COLLECTIONS) {
        atomic_store(&collections[at], atomic_load(&clock_bytes));
    }
}

static void JNICALL compiled(jvmtiEnv *jvmti, jmethodID method, jint code_size, const void *code,
                             jint map_length, const jvmtiAddrLocationMap *map, const void *info) {
    (void)jvmti, (void)method, (void)code, (void)map_length, (void)map, (void)info;
    (void)atomic_fetch_add(&compiled_methods, 1);
    (void)atomic_fetch_add(&code_bytes, (uint64_t)code_size);
}

static void JNICALL class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type) {
    if (every != 0) {
        heap_walk_prepare(jvmti, jni, type);
    }
    win_class_prepared(jvmti, jni, thread, type);
}

/* ---- start and end of the JVM ---- */

/* Find the alignment: the sizes of arrays of bytes have no larger divisor. */
static unsigned alignment_of(jvmtiEnv *jvmti, JNIEnv *jni) {
    uint64_t divisor = 0;
    for (jsize length = 0; length <= 1024; length += 8) {
        jbyteArray array = (*jni)->NewByteArray(jni, length);
        jlong size = 0;
        if (array != NULL && (*jvmti)->GetObjectSize(jvmti, array, &size) == JVMTI_ERROR_NONE) {
            divisor |= (uint64_t)size;
        }
        (*jni)->DeleteLocalRef(jni, array);
    }
    (*jni)->ExceptionClear(jni);
    /* Alignments are powers of two. */
    return (unsigned)(divisor & -divisor);
}

static bool has_compressed_references(jvmtiEnv *jvmti, JNIEnv *jni) {
    enum { LENGTH = 1000 };
    jclass object = (*jni)->FindClass(jni, "java/lang/Object");
    jobjectArray array = object == NULL ? NULL : (*jni)->NewObjectArray(jni, LENGTH, object, NULL);
    jlong size = 0;
    (*jni)->ExceptionClear(jni);
    return array != NULL && (*jvmti)->GetObjectSize(jvmti, array, &size) == JVMTI_ERROR_NONE &&
           size < 6 * LENGTH;
}

static void JNICALL started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)thread;
    (void)pthread_mutex_lock(&lock);
    jvm_name(jvmti, facts.java, sizeof facts.java);
    facts.alignment = alignment_of(jvmti, jni);
    facts.compressed = has_compressed_references(jvmti, jni);
    if (every != 0) {
        heap_walk_start(jvmti, jni);
    }
    /* Threads that already run do not sample their current buffer of free memory. They lose it. */
    if ((*jvmti)->ForceGarbageCollection(jvmti) != JVMTI_ERROR_NONE) {
        ev_missing("ForceGarbageCollection", EV_NONE);
    }
    atomic_store(&collection_count, 0);
    atomic_store(&unmoved_from, 0);
    /* The objects that the JVM has allocated before its program are the first cohort. */
    take_checkpoint(jvmti, jni, false);
    (void)pthread_mutex_unlock(&lock);
}

static void JNICALL ended(jvmtiEnv *jvmti, JNIEnv *jni) {
    (void)pthread_mutex_lock(&lock);
    take_checkpoint(jvmti, jni, true);
    atomic_store(&closed, true);
    static uint64_t read[MOST_COLLECTIONS];
    size_t count = atomic_load(&collection_count);
    if (count > MOST_COLLECTIONS) {
        ev_missing("collections: too many", EV_NONE);
        count = MOST_COLLECTIONS;
    }
    for (size_t i = 0; i < count; i++) {
        read[i] = atomic_load(&collections[i]);
    }
    facts.interval = interval;
    facts.every = every;
    facts.collections = read;
    facts.collection_count = count;
    if (heap_write(path, &facts) != 0) {
        jvm_complain(path, strerror(errno));
    }
    (void)pthread_mutex_unlock(&lock);
}

static bool set_callbacks(jvmtiEnv *jvmti) {
    jvmtiEventCallbacks callbacks = {
        .VMInit = started,
        .VMDeath = ended,
        .ClassPrepare = class_prepared,
        .Breakpoint = win_at_breakpoint,
        .SampledObjectAlloc = allocated,
        .GarbageCollectionStart = collecting,
        .CompiledMethodLoad = compiled,
    };
    return (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) == JVMTI_ERROR_NONE;
}

static jvmtiCapabilities add_capabilities(jvmtiEnv *jvmti) {
    jvmtiCapabilities available = {0}, wanted = {0};
    (void)(*jvmti)->GetPotentialCapabilities(jvmti, &available);
    (void)win_request(&available, &wanted);
    if (every != 0) {
        JVM_WANT(available, wanted, can_tag_objects, EV_NONE);
    }
    JVM_WANT(available, wanted, can_generate_sampled_object_alloc_events, EV_NONE);
    JVM_WANT(available, wanted, can_generate_garbage_collection_events, EV_NONE);
    JVM_WANT(available, wanted, can_generate_compiled_method_load_events, EV_NONE);
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE) {
        ev_missing("AddCapabilities", EV_NONE);
        wanted = (jvmtiCapabilities){0};
    }
    return wanted;
}

static void enable_events(jvmtiEnv *jvmti, const jvmtiCapabilities *has) {
    if (has->can_generate_breakpoint_events && has->can_get_bytecodes) {
        win_enable(jvmti, window_ended);
    } else {
        JVM_ENABLE(jvmti, CLASS_PREPARE, EV_NONE);
    }
    if (has->can_generate_garbage_collection_events) {
        JVM_ENABLE(jvmti, GARBAGE_COLLECTION_START, EV_NONE);
    }
    if (has->can_generate_compiled_method_load_events) {
        JVM_ENABLE(jvmti, COMPILED_METHOD_LOAD, EV_NONE);
    }
    if (has->can_generate_sampled_object_alloc_events) {
        if ((*jvmti)->SetHeapSamplingInterval(jvmti, (jint)interval) != JVMTI_ERROR_NONE) {
            ev_missing("SetHeapSamplingInterval", EV_NONE);
        }
        JVM_ENABLE(jvmti, SAMPLED_OBJECT_ALLOC, EV_NONE);
    }
}

void heap_start(jvmtiEnv *jvmti, const char *file) {
    path = file;
    ev_unwanted(EV_EVERY);
    jvmtiCapabilities has = add_capabilities(jvmti);
    /* The first checkpoint is that of the start, not one that is due before. */
    atomic_store(&due, UINT64_MAX);
    if ((every != 0 && !has.can_tag_objects) || !set_callbacks(jvmti)) {
        jvm_complain("the heap is not profiled", "the JVM has no tags of objects");
        return;
    }
    JVM_ENABLE(jvmti, VM_INIT, EV_NONE);
    JVM_ENABLE(jvmti, VM_DEATH, EV_NONE);
    enable_events(jvmti, &has);
}
