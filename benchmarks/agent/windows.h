/* Windows of the harness, for both modes of the agent. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include <jvmti.h>

/* Called at the end of each window, in the thread that runs the iterations; the name of the window
 * is `format` with a number. */
typedef void wn_border(jvmtiEnv *jvmti, JNIEnv *jni, const char *format, unsigned long number);

/* Set what is called. It needs the capabilities for breakpoints and bytecodes, and the two handlers
 * below as handlers of BREAKPOINT and CLASS_PREPARE. */
void wn_watch(wn_border *at_border);
void JNICALL wn_at_breakpoint(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                              jlocation location);
void JNICALL wn_class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type);

#endif
