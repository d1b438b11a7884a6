/*
 * The truth for the profiler: counts by JVMTI each entry of a system method whose caller is of the
 * application, and writes lines to the file that its option names: whether the caller is a class
 * that the JVM made of a lambda ("$$Lambda", otherwise "-"), the class, the method, the count.
 *
 * No byte of any class is rewritten, but the JVM interprets everything: for small programs only.
 */
#include <jvmti.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 4096 };

static struct {
    jmethodID method;
    int by_lambda;
    unsigned long count;
} counted[MOST_METHODS];
static int used;
static jrawMonitorID lock;
static jobject platform_loader;
static char path[4096];

static void fail(const char *what) {
    (void)fprintf(stderr, "entries: %s\n", what);
    exit(99);
}

/* Whether a method's class was loaded by the boot loader or the platform loader. */
static int is_of_system(jvmtiEnv *jvmti, JNIEnv *jni, jmethodID method) {
    jclass type = NULL;
    jobject loader = NULL;
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &type) != JVMTI_ERROR_NONE ||
        (*jvmti)->GetClassLoader(jvmti, type, &loader) != JVMTI_ERROR_NONE) {
        fail("no class of a method");
    }
    int found = loader == NULL || (*jni)->IsSameObject(jni, loader, platform_loader);
    (*jni)->DeleteLocalRef(jni, type);
    (*jni)->DeleteLocalRef(jni, loader);
    return found;
}

/* Whether a method's class was made by the JVM for a lambda or a method reference. */
static int is_of_lambda(jvmtiEnv *jvmti, JNIEnv *jni, jmethodID method) {
    jclass type = NULL;
    char *name = NULL;
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &type) != JVMTI_ERROR_NONE ||
        (*jvmti)->GetClassSignature(jvmti, type, &name, NULL) != JVMTI_ERROR_NONE) {
        fail("no class of a caller");
    }
    int found = strstr(name, "$$Lambda") != NULL;
    (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jni)->DeleteLocalRef(jni, type);
    return found;
}

static void JNICALL entered(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method) {
    jvmtiFrameInfo frames[2];
    jint depth = 0;
    if ((*jvmti)->GetStackTrace(jvmti, thread, 0, 2, frames, &depth) != JVMTI_ERROR_NONE ||
        depth < 2 || is_of_system(jvmti, jni, frames[1].method) ||
        !is_of_system(jvmti, jni, method)) {
        return;
    }
    int by_lambda = is_of_lambda(jvmti, jni, frames[1].method);
    (*jvmti)->RawMonitorEnter(jvmti, lock);
    int at = 0;
    while (at < used && (counted[at].method != method || counted[at].by_lambda != by_lambda)) {
        at++;
    }
    if (at == MOST_METHODS) {
        fail("too many methods");
    }
    used += at == used;
    counted[at].method = method;
    counted[at].by_lambda = by_lambda;
    counted[at].count++;
    (*jvmti)->RawMonitorExit(jvmti, lock);
}

static void JNICALL started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)thread;
    jclass type = (*jni)->FindClass(jni, "java/lang/ClassLoader");
    jmethodID get =
        (*jni)->GetStaticMethodID(jni, type, "getPlatformClassLoader", "()Ljava/lang/ClassLoader;");
    platform_loader = (*jni)->NewGlobalRef(jni, (*jni)->CallStaticObjectMethod(jni, type, get));
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_METHOD_ENTRY, NULL);
}

static void JNICALL ended(jvmtiEnv *jvmti, JNIEnv *jni) {
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_METHOD_ENTRY, NULL);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fail("the file cannot be written");
    }
    for (int i = 0; i < used; i++) {
        jclass type = NULL;
        char *name = NULL, *descriptor = NULL, *of = NULL;
        (*jvmti)->GetMethodDeclaringClass(jvmti, counted[i].method, &type);
        (*jvmti)->GetClassSignature(jvmti, type, &of, NULL);
        (*jvmti)->GetMethodName(jvmti, counted[i].method, &name, &descriptor, NULL);
        (void)fprintf(out, "%s %s %s%s %lu\n", counted[i].by_lambda ? "$$Lambda" : "-", of, name,
                      descriptor, counted[i].count);
        (*jni)->DeleteLocalRef(jni, type);
    }
    (void)fclose(out);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    jvmtiEnv *jvmti = NULL;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        fail("no JVMTI");
    }
    (void)snprintf(path, sizeof path, "%s", options);
    jvmtiCapabilities wanted = {.can_generate_method_entry_events = 1};
    jvmtiEventCallbacks callbacks = {.VMInit = started, .VMDeath = ended, .MethodEntry = entered};
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
        (*jvmti)->CreateRawMonitor(jvmti, "entries", &lock) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) !=
            JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) !=
            JVMTI_ERROR_NONE) {
        fail("JVMTI refuses");
    }
    return JNI_OK;
}
