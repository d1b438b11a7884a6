/* Breakpoints in the meters of the harness, exactly at the start and end of an iteration's time.
 * Therefore no class of the harness depends on this agent. */
#include "windows.h"

#include "events.h"
#include "jvm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Class whose methods `start` and `stop` delimit the measured time of an iteration. */
#define METERS "Lorg/regatta/bench/Meters;"

enum { RETURN = 0xb1 };

static win_ended *on_end;
static jmethodID iteration_starts, iteration_stops;
static _Atomic unsigned long iterations;

void JNICALL win_at_breakpoint(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                               jlocation location) {
    (void)thread, (void)location;
    unsigned long iteration = atomic_load(&iterations);
    char name[EV_NAME_SIZE];
    if (method == iteration_starts) {
        (void)snprintf(name, sizeof name, iteration == 0 ? "startup" : "before %lu", iteration);
        on_end(jvmti, jni, name);
    } else if (method == iteration_stops) {
        (void)snprintf(name, sizeof name, "iteration %lu", iteration);
        on_end(jvmti, jni, name);
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
    jvm_release(jvmti, code);
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
    jvm_release(jvmti, name);
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
        jvm_release(jvmti, methods);
    }
    if (iteration_starts == NULL || iteration_stops == NULL) {
        ev_missing("windows: unknown meters of the harness", EV_NONE);
    }
}

void JNICALL win_class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type) {
    (void)jni, (void)thread;
    char *name = NULL;
    if ((*jvmti)->GetClassSignature(jvmti, type, &name, NULL) == JVMTI_ERROR_NONE) {
        if (strcmp(name, METERS) == 0) {
            mark_meters(jvmti, type);
        }
        jvm_release(jvmti, name);
    }
}

bool win_request(const jvmtiCapabilities *available, jvmtiCapabilities *wanted) {
    JVM_WANT(*available, *wanted, can_generate_breakpoint_events, EV_NONE);
    JVM_WANT(*available, *wanted, can_get_bytecodes, EV_NONE);
    return wanted->can_generate_breakpoint_events && wanted->can_get_bytecodes;
}

void win_enable(jvmtiEnv *jvmti, win_ended *ended) {
    on_end = ended;
    JVM_ENABLE(jvmti, CLASS_PREPARE, EV_NONE);
    JVM_ENABLE(jvmti, BREAKPOINT, EV_NONE);
}
