/* The windows of a run, which breakpoints in the meters of the harness delimit. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include <jvmti.h>
#include <stdbool.h>

/* Called at each border, in the thread of the harness, with the name of the window that ends. */
typedef void win_ended(jvmtiEnv *jvmti, JNIEnv *jni, const char *name);

/* Request the capabilities for breakpoints; the file names those that the JVM lacks. Return whether
 * it has all. */
bool win_request(const jvmtiCapabilities *available, jvmtiCapabilities *wanted);

/* Enable the events, and report borders to `ended`. */
void win_enable(jvmtiEnv *jvmti, win_ended *ended);

/* Handlers of the two events, for the callbacks of the agent. */
void JNICALL win_class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type);
void JNICALL win_at_breakpoint(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                               jlocation location);

#endif
