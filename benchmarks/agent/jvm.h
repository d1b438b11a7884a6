/* What both modes need of the JVM: messages, memory, time, and its name. */
#ifndef JVM_H
#define JVM_H

#include <jvmti.h>
#include <stddef.h>
#include <stdint.h>

void jvm_complain(const char *what, const char *why);

/* Free memory of the JVM; null is allowed. */
void jvm_release(jvmtiEnv *jvmti, void *memory);

/* Time since an arbitrary start. */
uint64_t jvm_now_ns(void);

/* Name and version, or "unknown". */
void jvm_name(jvmtiEnv *jvmti, char *name, size_t size);

/* Enable an event. A JVM that refuses is reported in the file as missing `name`; `kinds` as in
 * ev_missing. */
void jvm_enable(jvmtiEnv *jvmti, jvmtiEvent event, const char *name, unsigned kinds);

#define JVM_ENABLE(jvmti, event, kinds) jvm_enable(jvmti, JVMTI_EVENT_##event, #event, kinds)

/* Request a capability that the JVM has. */
#define JVM_WANT(available, wanted, capability, kinds)                                             \
    do {                                                                                           \
        if ((available).capability) {                                                              \
            (wanted).capability = 1;                                                               \
        } else {                                                                                   \
            ev_missing(#capability, kinds);                                                        \
        }                                                                                          \
    } while (0)

#endif
