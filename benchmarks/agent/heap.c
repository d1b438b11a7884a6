/*
 * The heap of an application: =heap,INTERVAL,EVERY,FILE.
 *
 * Each allocated object is counted (INTERVAL 0), or one for each INTERVAL bytes on average. After
 * each EVERY allocated bytes, and at each end of a window, the agent walks the reachable objects.
 * An object that it sees for the first time gets a tag with the number of the walk: its cohort.
 * Therefore later walks know the age of each object, and no allocation needs a tag.
 *
 * With EVERY 0, nothing is walked. HotSpot removes no allocations (escape analysis) while an agent
 * can tag objects: only such a run counts what the application allocates without an agent.
 */
#include "heap.h"

#include "events.h"
#include "windows.h"

#include <errno.h>
#include <inttypes.h>
#include <jvmti.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a tag, from the lowest bit: references from and to the object, the last walk that saw
 * it, and its cohort. A tag is never 0, because walks count from 1. */
enum { OUT_BITS = 12, IN_BITS = 11, WALK_BITS = 20 };
#define IN_SHIFT OUT_BITS
#define WALK_SHIFT (IN_SHIFT + IN_BITS)
#define COHORT_SHIFT (WALK_SHIFT + WALK_BITS)
#define MASK(bits) ((UINT64_C(1) << (bits)) - 1)

/* In an array of so many references, a reference has 4 or 8 bytes. */
enum { PROBE_LENGTH = 1000, PROBE_BYTES = 6000 };

static char path[PATH_MAX];
static uint64_t interval, every;
static bool compressed_references;
static jrawMonitorID walking;

/* Guards everything below. The collector may take it: no holder waits for the JVM. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double clock_bytes, next_walk_bytes;
static uint64_t samples;
static struct hp_amount allocated[HP_BINS];
static double *collections;
static size_t collection_count, collection_room;
static uint32_t loaded_classes, compiled_methods;
static bool lost;

/* Changed only by the thread that walks. */
static struct hp_walk **walks;
static size_t walk_count, walk_room;
static char **windows;
static size_t window_count, window_room;
/* By cohort, of the current walk. */
static struct hp_cohort *by_cohort;
static size_t cohort_room;
static struct hp_walk *current;

static void complain(const char *what, const char *why) {
    (void)fprintf(stderr, "error: regatta heap: %s: %s\n", what, why);
}

/* Make room for one more element; return whether there is some. */
static bool grow(void **elements, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return true;
    }
    size_t wanted = *room == 0 ? 64 : 2 * *room;
    void *larger = realloc(*elements, wanted * size);
    if (larger == NULL) {
        lost = true;
        return false;
    }
    *elements = larger;
    *room = wanted;
    return true;
}

static size_t bin_of(uint64_t size) {
    if (size <= UINT64_C(8) * HP_FINE) {
        return size == 0 ? 0 : (size - 1) / 8;
    }
    size_t bin = HP_FINE;
    for (uint64_t most = UINT64_C(16) * HP_FINE; most < size && bin < HP_BINS - 1; most *= 2) {
        bin++;
    }
    return bin;
}

static size_t degree_of(uint64_t references) {
    size_t bin = references < 2 ? references : 2;
    for (uint64_t most = 2; most < references && bin < HP_DEGREES - 1; most *= 2) {
        bin++;
    }
    return bin;
}

static void add(struct hp_amount *bins, uint64_t size, double objects) {
    struct hp_amount *bin = &bins[bin_of(size)];
    bin->objects += objects;
    bin->bytes += objects * (double)size;
}

/* ---- the walk ---- */

static bool is_between_objects(jvmtiHeapReferenceKind kind) {
    return kind == JVMTI_HEAP_REFERENCE_FIELD || kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT ||
           kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD;
}

/* Count one reference more in a field of a tag, and move the object to its bin of the degrees. */
static void count_reference(uint64_t *tag, unsigned shift, unsigned bits, uint64_t *degrees) {
    uint64_t before = *tag >> shift & MASK(bits);
    if (before == MASK(bits)) {
        return;
    }
    degrees[degree_of(before)]--;
    degrees[degree_of(before + 1)]++;
    *tag += UINT64_C(1) << shift;
}

/* Runs in a safepoint: no JNI, no JVMTI, no memory of the JVM. */
static jint JNICALL at_reference(jvmtiHeapReferenceKind kind,
                                 const jvmtiHeapReferenceInfo *reference, jlong class_tag,
                                 jlong referrer_class_tag, jlong size, jlong *tag_place,
                                 jlong *referrer_place, jint length, void *data) {
    (void)reference, (void)class_tag, (void)referrer_class_tag, (void)length, (void)data;
    const uint64_t walk = walk_count;
    uint64_t tag = (uint64_t)*tag_place;
    uint64_t cohort = tag >> COHORT_SHIFT;
    if (tag == 0) {
        cohort = walk;
    }
    if (tag == 0 || (tag >> WALK_SHIFT & MASK(WALK_BITS)) != walk) {
        tag = cohort << COHORT_SHIFT | walk << WALK_SHIFT;
        add(current->live, (uint64_t)size, 1.0);
        by_cohort[cohort].objects++;
        by_cohort[cohort].bytes += (uint64_t)size;
        current->fan_in[0]++;
        current->fan_out[0]++;
    }
    if (is_between_objects(kind)) {
        current->references++;
        count_reference(&tag, IN_SHIFT, IN_BITS, current->fan_in);
        if (referrer_place == tag_place) {
            count_reference(&tag, 0, OUT_BITS, current->fan_out);
        } else if (referrer_place != NULL && *referrer_place != 0) {
            uint64_t referrer = (uint64_t)*referrer_place;
            count_reference(&referrer, 0, OUT_BITS, current->fan_out);
            *referrer_place = (jlong)referrer;
            uint64_t from = referrer >> COHORT_SHIFT;
            current->far += from > cohort + 1 || cohort > from + 1;
        }
    }
    *tag_place = (jlong)tag;
    return JVMTI_VISIT_OBJECTS;
}

static struct hp_walk *open_walk(bool ends_window) {
    struct hp_walk *walk = calloc(1, sizeof *walk);
    void *places = walks;
    if (walk == NULL || !grow(&places, walk_count, &walk_room, sizeof(struct hp_walk *))) {
        free(walk);
        lost = true;
        return NULL;
    }
    walks = places;
    void *cohorts = by_cohort;
    if (!grow(&cohorts, walk_count + 1, &cohort_room, sizeof *by_cohort)) {
        free(walk);
        return NULL;
    }
    by_cohort = cohorts;
    walk->window = window_count;
    walk->ends_window = ends_window;
    (void)pthread_mutex_lock(&lock);
    walk->clock = clock_bytes;
    walk->samples = samples;
    samples = 0;
    (void)memcpy(walk->allocated, allocated, sizeof allocated);
    (void)memset(allocated, 0, sizeof allocated);
    walk->loaded_classes = loaded_classes;
    walk->compiled_methods = compiled_methods;
    next_walk_bytes = every == 0 ? INFINITY : clock_bytes + (double)every;
    (void)pthread_mutex_unlock(&lock);
    return walk;
}

/* Keep the cohorts that have live objects. */
static void close_walk(struct hp_walk *walk) {
    size_t count = 0;
    for (size_t i = 1; i <= walk_count; i++) {
        count += by_cohort[i].objects > 0;
    }
    walk->cohorts = count == 0 ? NULL : calloc(count, sizeof *walk->cohorts);
    lost |= count > 0 && walk->cohorts == NULL;
    for (size_t i = 1; i <= walk_count && walk->cohorts != NULL; i++) {
        if (by_cohort[i].objects > 0) {
            walk->cohorts[walk->cohort_count] = by_cohort[i];
            walk->cohorts[walk->cohort_count++].walk = (uint32_t)(i - 1);
        }
    }
}

static void walk_heap(jvmtiEnv *jvmti, bool ends_window) {
    if (walk_count + 1 >= MASK(WALK_BITS)) {
        return;
    }
    current = open_walk(ends_window);
    if (current == NULL) {
        return;
    }
    walks[walk_count++] = current;
    if (every == 0) {
        return;
    }
    (void)memset(by_cohort, 0, (walk_count + 1) * sizeof *by_cohort);
    jvmtiHeapCallbacks callbacks;
    (void)memset(&callbacks, 0, sizeof callbacks);
    callbacks.heap_reference_callback = at_reference;
    if ((*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, NULL) != JVMTI_ERROR_NONE) {
        ev_missing("FollowReferences", EV_NONE);
    }
    close_walk(current);
}

/* Walk alone; `unless_done`: not if another thread has just walked. */
static void walk_alone(jvmtiEnv *jvmti, bool ends_window, bool unless_done) {
    if ((*jvmti)->RawMonitorEnter(jvmti, walking) != JVMTI_ERROR_NONE) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    bool due = clock_bytes >= next_walk_bytes;
    (void)pthread_mutex_unlock(&lock);
    if (due || !unless_done) {
        walk_heap(jvmti, ends_window);
    }
    (void)(*jvmti)->RawMonitorExit(jvmti, walking);
}

/* ---- events ---- */

static void JNICALL object_allocated(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object,
                                     jclass type, jlong size) {
    (void)jni, (void)thread, (void)object, (void)type;
    /* The JVM samples a byte after a distance with an exponential distribution. */
    double weight = interval == 0 ? 1.0 : -1.0 / expm1(-(double)size / (double)interval);
    (void)pthread_mutex_lock(&lock);
    samples++;
    add(allocated, (uint64_t)size, weight);
    clock_bytes += weight * (double)size;
    bool due = clock_bytes >= next_walk_bytes;
    (void)pthread_mutex_unlock(&lock);
    if (due) {
        walk_alone(jvmti, false, true);
    }
}

static void JNICALL collected(jvmtiEnv *jvmti) {
    (void)jvmti;
    (void)pthread_mutex_lock(&lock);
    void *places = collections;
    if (grow(&places, collection_count, &collection_room, sizeof *collections)) {
        collections = places;
        collections[collection_count++] = clock_bytes;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void JNICALL method_compiled(jvmtiEnv *jvmti, jmethodID method, jint code_size,
                                    const void *code, jint map_length,
                                    const jvmtiAddrLocationMap *map, const void *info) {
    (void)jvmti, (void)method, (void)code_size, (void)code, (void)map_length, (void)map, (void)info;
    (void)pthread_mutex_lock(&lock);
    compiled_methods++;
    (void)pthread_mutex_unlock(&lock);
}

static void JNICALL method_unloaded(jvmtiEnv *jvmti, jmethodID method, const void *code) {
    (void)jvmti, (void)method, (void)code;
    (void)pthread_mutex_lock(&lock);
    compiled_methods -= compiled_methods > 0;
    (void)pthread_mutex_unlock(&lock);
}

static void JNICALL class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type) {
    (void)pthread_mutex_lock(&lock);
    loaded_classes++;
    (void)pthread_mutex_unlock(&lock);
    wn_class_prepared(jvmti, jni, thread, type);
}

static void end_window(jvmtiEnv *jvmti, JNIEnv *jni, const char *format, unsigned long number) {
    (void)jni;
    char name[32];
    (void)snprintf(name, sizeof name, format, number);
    walk_alone(jvmti, true, false);
    void *places = windows;
    if (grow(&places, window_count, &window_room, sizeof *windows)) {
        windows = places;
        windows[window_count] = strdup(name);
        lost |= windows[window_count] == NULL;
        window_count += windows[window_count] != NULL;
    }
}

/* ---- start and end of the JVM ---- */

/* Before it, the JVM prepares classes without reporting them. */
static void count_loaded(jvmtiEnv *jvmti, JNIEnv *jni) {
    jint count = 0;
    jclass *types = NULL;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &types) != JVMTI_ERROR_NONE) {
        return;
    }
    for (jint i = 0; i < count; i++) {
        (*jni)->DeleteLocalRef(jni, types[i]);
    }
    (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)types);
    (void)pthread_mutex_lock(&lock);
    loaded_classes = (uint32_t)count;
    (void)pthread_mutex_unlock(&lock);
}

static void JNICALL vm_started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)thread;
    count_loaded(jvmti, jni);
    jclass object = (*jni)->FindClass(jni, "java/lang/Object");
    jobjectArray probe = (*jni)->NewObjectArray(jni, PROBE_LENGTH, object, NULL);
    jlong size = 0;
    (void)(*jvmti)->GetObjectSize(jvmti, probe, &size);
    compressed_references = size < PROBE_BYTES;
    (*jni)->DeleteLocalRef(jni, probe);
    (*jni)->DeleteLocalRef(jni, object);
}

static void JNICALL vm_ended(jvmtiEnv *jvmti, JNIEnv *jni) {
    end_window(jvmti, jni, "end", 0);
    char *name = NULL, *version = NULL;
    char java[256] = "unknown";
    if ((*jvmti)->GetSystemProperty(jvmti, "java.vm.name", &name) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetSystemProperty(jvmti, "java.vm.version", &version) == JVMTI_ERROR_NONE) {
        (void)snprintf(java, sizeof java, "%s %s", name, version);
    }
    (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)version);
    struct ev_all events = ev_all();
    struct hp_all all = {
        java,    interval,       every,   compressed_references, windows, window_count,
        walks,   walk_count,     collections, collection_count,
        events.missing, events.missing_count,
    };
    if (lost) {
        complain(path, "not written: out of memory");
    } else if (hp_write(path, &all) != 0) {
        complain(path, strerror(errno));
    }
}

static bool enable(jvmtiEnv *jvmti) {
    static const jvmtiEvent events[] = {
        JVMTI_EVENT_VM_INIT,
        JVMTI_EVENT_VM_DEATH,
        JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
        JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
        JVMTI_EVENT_COMPILED_METHOD_LOAD,
        JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
        JVMTI_EVENT_CLASS_PREPARE,
        JVMTI_EVENT_BREAKPOINT,
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if ((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL) !=
            JVMTI_ERROR_NONE) {
            return false;
        }
    }
    return true;
}

static bool prepare(jvmtiEnv *jvmti) {
    jvmtiCapabilities wanted;
    (void)memset(&wanted, 0, sizeof wanted);
    wanted.can_tag_objects = every > 0;
    wanted.can_generate_sampled_object_alloc_events = 1;
    wanted.can_generate_garbage_collection_events = 1;
    wanted.can_generate_compiled_method_load_events = 1;
    wanted.can_generate_breakpoint_events = 1;
    wanted.can_get_bytecodes = 1;
    jvmtiEventCallbacks callbacks;
    (void)memset(&callbacks, 0, sizeof callbacks);
    callbacks.VMInit = vm_started;
    callbacks.VMDeath = vm_ended;
    callbacks.SampledObjectAlloc = object_allocated;
    callbacks.GarbageCollectionFinish = collected;
    callbacks.CompiledMethodLoad = method_compiled;
    callbacks.CompiledMethodUnload = method_unloaded;
    callbacks.ClassPrepare = class_prepared;
    callbacks.Breakpoint = wn_at_breakpoint;
    wn_watch(end_window);
    return (*jvmti)->AddCapabilities(jvmti, &wanted) == JVMTI_ERROR_NONE &&
           (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) == JVMTI_ERROR_NONE &&
           (*jvmti)->CreateRawMonitor(jvmti, "regatta heap", &walking) == JVMTI_ERROR_NONE &&
           (*jvmti)->SetHeapSamplingInterval(jvmti, (jint)interval) == JVMTI_ERROR_NONE &&
           enable(jvmti);
}

/* Read a number that ends with a comma; -1 otherwise. */
static int64_t read_number(const char **option, int64_t least) {
    char *end = NULL;
    errno = 0;
    long long found = strtoll(*option, &end, 10);
    if (errno != 0 || end == *option || *end != ',' || found < least || found > INT_MAX) {
        return -1;
    }
    *option = end + 1;
    return found;
}

jint hp_load(JavaVM *vm, const char *option) {
    int64_t first = read_number(&option, 0);
    int64_t second = first < 0 ? -1 : read_number(&option, 0);
    if (second < 0 || option[0] == '\0' || strlen(option) >= sizeof path) {
        complain("expected =heap,INTERVAL,EVERY,FILE with two numbers of bytes", "got another option");
        return JNI_ERR;
    }
    interval = (uint64_t)first;
    every = (uint64_t)second;
    next_walk_bytes = every == 0 ? INFINITY : (double)every;
    (void)strcpy(path, option);
    jvmtiEnv *jvmti = NULL;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK || !prepare(jvmti)) {
        complain("no heap is described", "expected a JVM of release 11 or later with JVMTI");
        return JNI_ERR;
    }
    return JNI_OK;
}
