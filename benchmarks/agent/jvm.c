/* Messages, memory and name of the JVM. */
#include "jvm.h"

#include "events.h"

#include <stdio.h>
#include <time.h>

void jvm_complain(const char *what, const char *why) {
    (void)fprintf(stderr, "error: regatta events: %s: %s\n", what, why);
}

void jvm_release(jvmtiEnv *jvmti, void *memory) {
    (void)(*jvmti)->Deallocate(jvmti, memory);
}

uint64_t jvm_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void jvm_name(jvmtiEnv *jvmti, char *java, size_t size) {
    char *name = NULL, *version = NULL;
    (void)snprintf(java, size, "unknown");
    if ((*jvmti)->GetSystemProperty(jvmti, "java.vm.name", &name) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetSystemProperty(jvmti, "java.vm.version", &version) == JVMTI_ERROR_NONE) {
        (void)snprintf(java, size, "%s %s", name, version);
    }
    jvm_release(jvmti, name);
    jvm_release(jvmti, version);
}

void jvm_enable(jvmtiEnv *jvmti, jvmtiEvent event, const char *name, unsigned kinds) {
    if ((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, event, NULL) != JVMTI_ERROR_NONE) {
        ev_missing(name, kinds);
    }
}
