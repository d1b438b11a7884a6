/* The reachable objects of a checkpoint, by one walk over all references. */
#include "events.h"
#include "heap.h"
#include "jvm.h"

#include <stdlib.h>
#include <string.h>

/*
 * Tag of an object, from the lowest bit: references to it and from it in this walk, a bit of
 * classes, the checkpoint that saw it first, and one more than the last that saw it. Zero: not
 * seen.
 */
enum {
    IN_BITS = 11,
    OUT_BITS = 10,
    OUT_AT = IN_BITS,
    WEAK_AT = OUT_AT + OUT_BITS,
    BORN_AT = WEAK_AT + 1,
    NUMBER_BITS = 21,
    SEEN_AT = BORN_AT + NUMBER_BITS,
};
#define IN_MOST ((1ULL << IN_BITS) - 1)
#define OUT_MOST ((1ULL << OUT_BITS) - 1)
#define WEAK (1ULL << WEAK_AT)
#define NUMBER_MOST ((1ULL << NUMBER_BITS) - 1)

_Static_assert(SEEN_AT + NUMBER_BITS == 64, "a tag has 64 bits");
_Static_assert(HEAP_MOST_CHECKPOINTS < (1 << NUMBER_BITS) - 1, "checkpoints must fit into a tag");

enum { FIRST_COHORTS = 1024 };

/* Checkpoints from one look at the order in memory to the next, and the objects of a look: the JVM
 * needs a microsecond or more for each of them. */
enum { LOOK_EVERY = 8, LOOK_AT = 2, MOST_LOOKED = 1 << 20 };

/* In a look, the bits of references have the place of the object in memory, and whether it was
 * reached. A place is in units of two cache lines, and 0 if it is unknown. A jump leads further
 * than what a processor loads ahead. */
enum { PLACE_BITS = 20, PLACE_UNIT = 128, NEAR_UNITS = 2 };
#define PLACE_MOST ((1ULL << PLACE_BITS) - 1)
#define REACHED (1ULL << PLACE_BITS)
#define OF_LOOK (REACHED | PLACE_MOST)

_Static_assert(PLACE_BITS + 1 <= WEAK_AT, "the place must not change the bit of classes");

static struct heap_live live;
static size_t cohort_room;

/* State of the walk. No function of the JVM may be called in it, and no memory allocated. */
static struct {
    uint64_t number;
    void (*stopped)(void);
    /* The last reference: kind, place in the object, and cohort of the object it leads to. The JVM
     * reports the references of an object one after the other, by rising place. */
    jvmtiHeapReferenceKind kind;
    jint place;
    uint64_t to;
} walk;

/* State of a look at the memory. */
static struct {
    uint64_t unmoved_from;
    uint64_t objects;
    uint64_t bytes;
    /* Places of the object that was reached before, from its first byte to its last. */
    uint64_t first, last;
} look;

static jclass weak_class, phantom_class;
/* Position of the field `referent` among the fields of its class. */
static jint referent_index = -1;

static uint64_t with_number(uint64_t tag, unsigned at, uint64_t number) {
    return (tag & ~(NUMBER_MOST << at)) | number << at;
}

static uint64_t number_in(uint64_t tag, unsigned at) {
    return tag >> at & NUMBER_MOST;
}

static void move(uint64_t *bins, uint64_t references) {
    bins[heap_fan_bin(references)]--;
    bins[heap_fan_bin(references + 1)]++;
}

/* Count an object that this walk reaches for the first time. Return its tag. */
static uint64_t first_seen(uint64_t tag, uint64_t size) {
    if (number_in(tag, SEEN_AT) == 0) {
        tag = with_number(tag, BORN_AT, walk.number);
    }
    tag = with_number(tag, SEEN_AT, walk.number + 1);
    tag &= ~(IN_MOST | OUT_MOST << OUT_AT);
    struct heap_sum *sums[] = {&live.sizes[heap_bin(size)],
                               &live.cohorts[number_in(tag, BORN_AT)].all};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        sums[i]->objects++;
        sums[i]->bytes += size;
    }
    live.fan_in[0]++;
    live.fan_out[0]++;
    return tag;
}

static bool is_far(uint64_t one, uint64_t other) {
    return one > other + 1 || other > one + 1;
}

/* Count a reference to an object of cohort `to`. `near`: the one before leads close to it. */
static void count_out(jlong *referrer, uint64_t to, bool near) {
    uint64_t tag = (uint64_t)*referrer;
    if (number_in(tag, SEEN_AT) != walk.number + 1) {
        return;
    }
    uint64_t out = tag >> OUT_AT & OUT_MOST;
    live.cohorts[to].far += !near && is_far(number_in(tag, BORN_AT), to);
    if (out < OUT_MOST) {
        move(live.fan_out, out);
        *referrer = (jlong)(tag + (1ULL << OUT_AT));
    }
}

static jint JNICALL referred(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
                             jlong class_tag, jlong referrer_class_tag, jlong size, jlong *tag,
                             jlong *referrer, jint length, void *data) {
    (void)class_tag, (void)length, (void)data;
    if (walk.stopped != NULL) {
        walk.stopped();
        walk.stopped = NULL;
    }
    bool of_object = kind == JVMTI_HEAP_REFERENCE_FIELD ||
                     kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT ||
                     kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD;
    if (kind == JVMTI_HEAP_REFERENCE_FIELD && ((uint64_t)referrer_class_tag & WEAK) != 0 &&
        info->field.index == referent_index) {
        return 0;
    }
    uint64_t seen = (uint64_t)*tag;
    if (number_in(seen, SEEN_AT) != walk.number + 1) {
        seen = first_seen(seen, (uint64_t)size);
    }
    uint64_t to = number_in(seen, BORN_AT);
    if (of_object) {
        live.cohorts[to].references++;
        if ((seen & IN_MOST) < IN_MOST) {
            move(live.fan_in, seen & IN_MOST);
            seen++;
        }
    } else if (kind >= JVMTI_HEAP_REFERENCE_JNI_GLOBAL) {
        live.roots++;
    }
    *tag = (jlong)seen;
    jint place = !of_object                                   ? 0
                 : kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT ? info->array.index
                                                              : info->field.index;
    /* The two tags are one if an object refers to itself. */
    if (of_object && referrer != NULL) {
        bool of_same = kind == walk.kind && place > walk.place;
        count_out(referrer, to, of_same && !is_far(walk.to, to));
    }
    walk.kind = kind;
    walk.place = place;
    walk.to = to;
    return JVMTI_VISIT_OBJECTS;
}

/* ---- order in memory ---- */

static bool is_reachable(uint64_t tag) {
    return number_in(tag, SEEN_AT) == walk.number + 1;
}

static jint JNICALL forget_place(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
                                 jlong class_tag, jlong referrer_class_tag, jlong size, jlong *tag,
                                 jlong *referrer, jint length, void *data) {
    (void)kind, (void)info, (void)class_tag, (void)referrer_class_tag, (void)size, (void)referrer;
    (void)length, (void)data;
    uint64_t seen = (uint64_t)*tag;
    if (!is_reachable(seen)) {
        return 0;
    }
    *tag = (jlong)(seen & ~OF_LOOK);
    return JVMTI_VISIT_OBJECTS;
}

/* Objects come by rising address, dead ones too. Z and Shenandoah report only reachable ones. */
static jint JNICALL take_place(jlong class_tag, jlong size, jlong *tag, jint length, void *data) {
    (void)class_tag, (void)length, (void)data;
    uint64_t seen = (uint64_t)*tag, place = look.bytes / PLACE_UNIT + 1;
    look.bytes += (uint64_t)size;
    if (place > PLACE_MOST || ++look.objects > MOST_LOOKED) {
        return JVMTI_VISIT_ABORT;
    }
    if (is_reachable(seen)) {
        *tag = (jlong)(seen | place);
    }
    return 0;
}

static jint JNICALL count_jump(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
                               jlong class_tag, jlong referrer_class_tag, jlong size, jlong *tag,
                               jlong *referrer, jint length, void *data) {
    (void)kind, (void)info, (void)class_tag, (void)referrer_class_tag, (void)referrer;
    (void)length, (void)data;
    uint64_t seen = (uint64_t)*tag, place = seen & PLACE_MOST;
    if (!is_reachable(seen)) {
        return 0;
    }
    if (place != 0 && (seen & REACHED) == 0 && number_in(seen, BORN_AT) >= look.unmoved_from) {
        live.unmoved.objects++;
        live.unmoved.jumps += place + NEAR_UNITS < look.first || place > look.last + NEAR_UNITS;
        look.first = place;
        look.last = place + (uint64_t)size / PLACE_UNIT;
    }
    *tag = (jlong)(seen | REACHED);
    return JVMTI_VISIT_OBJECTS;
}

static void look_at_memory(jvmtiEnv *jvmti, size_t unmoved_from) {
    (void)memset(&look, 0, sizeof look);
    look.unmoved_from = unmoved_from;
    jvmtiHeapCallbacks forgetting = {.heap_reference_callback = forget_place};
    jvmtiHeapCallbacks placing = {.heap_iteration_callback = take_place};
    jvmtiHeapCallbacks counting = {.heap_reference_callback = count_jump};
    if ((*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &forgetting, NULL) != JVMTI_ERROR_NONE ||
        (*jvmti)->IterateThroughHeap(jvmti, 0, NULL, &placing, NULL) != JVMTI_ERROR_NONE ||
        (*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &counting, NULL) != JVMTI_ERROR_NONE) {
        ev_missing("order in memory", EV_NONE);
    }
}

/* ---- walk ---- */

/* Make room for the cohorts up to this checkpoint, and set all counts to zero. */
static bool reset(size_t checkpoint) {
    if (checkpoint >= cohort_room) {
        size_t room = cohort_room == 0 ? FIRST_COHORTS : 2 * cohort_room;
        struct heap_cohort *more = realloc(live.cohorts, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        live.cohorts = more;
        cohort_room = room;
    }
    struct heap_cohort *cohorts = live.cohorts;
    (void)memset(cohorts, 0, (checkpoint + 1) * sizeof *cohorts);
    live = (struct heap_live){.cohorts = cohorts, .cohort_count = checkpoint + 1};
    return true;
}

const struct heap_live *heap_walk(jvmtiEnv *jvmti, size_t checkpoint, size_t unmoved_from,
                                  void (*stopped)(void)) {
    if (!reset(checkpoint)) {
        ev_missing("memory for cohorts", EV_NONE);
        return NULL;
    }
    walk.number = checkpoint;
    walk.stopped = stopped;
    jvmtiHeapCallbacks callbacks = {.heap_reference_callback = referred};
    if ((*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, NULL) != JVMTI_ERROR_NONE) {
        ev_missing("FollowReferences", EV_NONE);
        return NULL;
    }
    if (checkpoint % LOOK_EVERY == LOOK_AT) {
        look_at_memory(jvmti, unmoved_from);
    }
    return &live;
}

/* ---- classes of references ---- */

/* Return the number of fields of all superinterfaces; they come before the fields of a class. */
static long interface_fields(jvmtiEnv *jvmti, JNIEnv *jni, jclass type) {
    long fields = 0;
    jint count = 0;
    jclass *interfaces = NULL;
    if ((*jvmti)->GetImplementedInterfaces(jvmti, type, &count, &interfaces) == JVMTI_ERROR_NONE) {
        for (jint i = 0; i < count; i++) {
            jint own = 0;
            jfieldID *ids = NULL;
            if ((*jvmti)->GetClassFields(jvmti, interfaces[i], &own, &ids) == JVMTI_ERROR_NONE) {
                fields += own;
                jvm_release(jvmti, ids);
            }
            fields += interface_fields(jvmti, jni, interfaces[i]);
            (*jni)->DeleteLocalRef(jni, interfaces[i]);
        }
        jvm_release(jvmti, interfaces);
    }
    jclass super = (*jni)->GetSuperclass(jni, type);
    if (super != NULL) {
        fields += interface_fields(jvmti, jni, super);
        (*jni)->DeleteLocalRef(jni, super);
    }
    return fields;
}

void heap_walk_prepare(jvmtiEnv *jvmti, JNIEnv *jni, jclass type) {
    if (weak_class == NULL || phantom_class == NULL || referent_index < 0) {
        return;
    }
    bool weak = (*jni)->IsAssignableFrom(jni, type, weak_class) ||
                (*jni)->IsAssignableFrom(jni, type, phantom_class);
    jlong tag = 0;
    /* Where the index is shifted, the referents count as reachable. */
    if (weak && interface_fields(jvmti, jni, type) == 0 &&
        (*jvmti)->GetTag(jvmti, type, &tag) == JVMTI_ERROR_NONE &&
        (*jvmti)->SetTag(jvmti, type, (jlong)((uint64_t)tag | WEAK)) != JVMTI_ERROR_NONE) {
        ev_missing("SetTag", EV_NONE);
    }
}

static jint index_of_referent(jvmtiEnv *jvmti, jclass reference) {
    jint count = 0, found = -1;
    jfieldID *fields = NULL;
    if ((*jvmti)->GetClassFields(jvmti, reference, &count, &fields) != JVMTI_ERROR_NONE) {
        return -1;
    }
    for (jint i = 0; i < count && found < 0; i++) {
        char *name = NULL;
        if ((*jvmti)->GetFieldName(jvmti, reference, fields[i], &name, NULL, NULL) ==
            JVMTI_ERROR_NONE) {
            found = strcmp(name, "referent") == 0 ? i : -1;
            jvm_release(jvmti, name);
        }
    }
    jvm_release(jvmti, fields);
    return found;
}

/* Return null if the JVM has no such class. */
static jclass lasting(JNIEnv *jni, const char *name) {
    jclass type = (*jni)->FindClass(jni, name);
    if (type == NULL) {
        (*jni)->ExceptionClear(jni);
        return NULL;
    }
    jclass global = (*jni)->NewGlobalRef(jni, type);
    (*jni)->DeleteLocalRef(jni, type);
    return global;
}

void heap_walk_start(jvmtiEnv *jvmti, JNIEnv *jni) {
    jclass reference = lasting(jni, "java/lang/ref/Reference");
    weak_class = lasting(jni, "java/lang/ref/WeakReference");
    phantom_class = lasting(jni, "java/lang/ref/PhantomReference");
    referent_index = reference == NULL ? -1 : index_of_referent(jvmti, reference);
    if (weak_class == NULL || phantom_class == NULL || referent_index < 0) {
        ev_missing("weak references: their referents count as reachable", EV_NONE);
    }
    (*jni)->DeleteGlobalRef(jni, reference);
    jint count = 0;
    jclass *types = NULL;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &types) != JVMTI_ERROR_NONE) {
        return;
    }
    for (jint i = 0; i < count; i++) {
        heap_walk_prepare(jvmti, jni, types[i]);
        (*jni)->DeleteLocalRef(jni, types[i]);
    }
    jvm_release(jvmti, types);
}
