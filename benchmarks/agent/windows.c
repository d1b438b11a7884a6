/* The ends of windows: breakpoints in the meters of the harness, exactly at the start and end of an
 * iteration's time. Therefore no class of the harness depends on this agent. */
#include "windows.h"

#include "events.h"

#include <string.h>

/* Class whose methods `start` and `stop` delimit the measured time of an iteration. */
#define METERS "Lorg/regatta/bench/Meters;"
enum { RETURN = 0xb1 };

static wn_border *border;
static jmethodID iteration_starts, iteration_stops;
static _Atomic unsigned long iterations;

void wn_watch(wn_border *at_border) { border = at_border; }

static void release(jvmtiEnv *jvmti, void *memory) {
    (void)(*jvmti)->Deallocate(jvmti, memory);
}

void JNICALL wn_at_breakpoint(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                              jlocation location) {
    (void)thread, (void)location;
    unsigned long iteration = atomic_load(&iterations);
    if (method == iteration_starts) {
        border(jvmti, jni, iteration == 0 ? "startup" : "before %lu", iteration);
    } else if (method == iteration_stops) {
        border(jvmti, jni, "iteration %lu", iteration);
        atomic_store(&iterations, iteration + 1);
    }
}

/* Offset of the last instruction of a method that ends with a return; -1 otherwise. */
static jlocation return_of(jvmtiEnv *jvmti, jmethodID method) {
    jint length = 0;
    unsigned char *code = NULL;
    if ((*jvmti)->GetBytecodes(jvmti, method, &length, &code) != JVMTI_ERROR_NONE) {
        return -1;
    }
    jlocation found = length > 0 && code[length - 1] == RETURN ? length - 1 : -1;
    release(jvmti, code);
    return found;
}

/* Return whether the method has the wanted name; if so, it now has a breakpoint. */
static bool is_marked(jvmtiEnv *jvmti, jmethodID method, const char *wanted) {
    char *name = NULL;
    if ((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL) != JVMTI_ERROR_NONE) {
        return false;
    }
    bool starts = strcmp(wanted, "start") == 0;
    bool marked = strcmp(name, wanted) == 0;
    release(jvmti, name);
    /* The work of the meters is not part of the iteration. */
    jlocation at = marked && starts ? return_of(jvmti, method) : 0;
    return marked && at >= 0 && (*jvmti)->SetBreakpoint(jvmti, method, at) == JVMTI_ERROR_NONE;
}

static void mark_meters(jvmtiEnv *jvmti, jclass meters) {
    jint count = 0;
    jmethodID *methods = NULL;
    if ((*jvmti)->GetClassMethods(jvmti, meters, &count, &methods) == JVMTI_ERROR_NONE) {
        for (jint i = 0; i < count; i++) {
            if (is_marked(jvmti, methods[i], "start")) {
                iteration_starts = methods[i];
            } else if (is_marked(jvmti, methods[i], "stop")) {
                iteration_stops = methods[i];
            }
        }
        release(jvmti, methods);
    }
    if (iteration_starts == NULL || iteration_stops == NULL) {
        ev_missing("windows: unknown meters of the harness", EV_NONE);
    }
}

void JNICALL wn_class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type) {
    (void)jni, (void)thread;
    char *name = NULL;
    if ((*jvmti)->GetClassSignature(jvmti, type, &name, NULL) == JVMTI_ERROR_NONE) {
        if (strcmp(name, METERS) == 0) {
            mark_meters(jvmti, type);
        }
        release(jvmti, name);
    }
}
