/*
 * Exact counts of JVM events: -agentpath:/path/to/libregatta_events.so=FILE.
 *
 * With =windows,FILE, the agent writes only the names and ends of windows, and changes only two
 * methods of the harness.
 *
 * When the JVM ends, the agent writes counts to FILE for each window of Regatta's harness: loaded
 * classes, compiled methods, exceptions, contended monitors and started threads. The output and
 * exit code of the program do not change. FILE names the data that the JVM cannot provide.
 *
 * With =heap,interval=BYTES,every=BYTES,warmup=NUMBER,FILE, it profiles the heap instead (heap.h).
 */
#include "events.h"
#include "heap.h"
#include "jvm.h"
#include "windows.h"

#include <errno.h>
#include <jvmti.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

#define PLATFORM_LOADER "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;"
#define VIRTUAL_THREADS "(virtual threads)"
#define WINDOWS_ONLY "windows,"

/* Kinds of events that need each capability of the JVM. */
#define OF_CLASSES (EV_ONLY(EV_CLASSES_LOADED) | EV_ONLY(EV_APPLICATION_CLASSES))
#define OF_EXCEPTIONS (EV_ONLY(EV_EXCEPTIONS) | EV_ONLY(EV_EXCEPTIONS_UNCAUGHT))
#define OF_MONITORS (EV_ONLY(EV_CONTENDED_MONITORS) | EV_ONLY(EV_CONTENDED_NS))
#define OF_THREADS EV_ONLY(EV_THREADS_STARTED)
#define OF_CPU EV_ONLY(EV_THREAD_CPU_NS)
#define OF_VIRTUAL_THREADS EV_ONLY(EV_VIRTUAL_THREADS_STARTED)
#define OF_COMPILATIONS                                                                            \
    (EV_ONLY(EV_METHODS_COMPILED) | EV_ONLY(EV_METHODS_RECOMPILED) | EV_ONLY(EV_BYTES_COMPILED) |  \
     EV_ONLY(EV_BYTES_RECOMPILED) | EV_ONLY(EV_CODE_BYTES))

/* Defined by release 21 and fixed by the interface; numeric, because headers of older releases lack
 * the names. */
enum {
    FIRST_EVENT = 50,
    VIRTUAL_THREAD_START = 87,
    VIRTUAL_THREAD_END = 88,
    SUPPORTS_VIRTUAL_THREADS_WORD = 1,
    SUPPORTS_VIRTUAL_THREADS_BIT = 12,
};

union capabilities {
    jvmtiCapabilities named;
    uint32_t words[sizeof(jvmtiCapabilities) / sizeof(uint32_t)];
};

union callbacks {
    jvmtiEventCallbacks named;
    void(JNICALL *by_number[VIRTUAL_THREAD_END - FIRST_EVENT + 1])(jvmtiEnv *, JNIEnv *, jthread);
};

/* Data of one thread, from its first event to its end. */
struct own {
    struct ev_thread_sums *sums;
    /* Start of the wait for a monitor; 0: not waiting. */
    uint64_t waits_since_ns;
};

static char path[PATH_MAX];
static bool windows_only, heap_only, tells_cpu;
static pthread_mutex_t tagging = PTHREAD_MUTEX_INITIALIZER;

/* ---- threads ---- */

/* Return null if out of memory, or if the JVM stores no data for the thread. */
static struct own *open_own(jvmtiEnv *jvmti, jthread thread, const char *name) {
    struct own *own = calloc(1, sizeof *own);
    if (own == NULL) {
        return NULL;
    }
    own->sums = ev_sums_of(name);
    if ((*jvmti)->SetThreadLocalStorage(jvmti, thread, own) != JVMTI_ERROR_NONE) {
        free(own);
        return NULL;
    }
    return own;
}

static struct own *own_of(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    void *own = NULL;
    if ((*jvmti)->GetThreadLocalStorage(jvmti, thread, &own) != JVMTI_ERROR_NONE) {
        return NULL;
    }
    if (own != NULL) {
        return own;
    }
    jvmtiThreadInfo info;
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) != JVMTI_ERROR_NONE) {
        return NULL;
    }
    struct own *opened = open_own(jvmti, thread, info.name);
    jvm_release(jvmti, info.name);
    (*jni)->DeleteLocalRef(jni, info.thread_group);
    (*jni)->DeleteLocalRef(jni, info.context_class_loader);
    return opened;
}

/*
 * Return whether the JVM started the thread internally. The number and time of these threads
 * differ between runs of one program, and some start only after the program. They belong to the
 * group "system", which has no parent, or to the group of threads without permissions. One more
 * thread waits for the end.
 */
static bool of_the_jvm(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    jvmtiThreadInfo info;
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info) != JVMTI_ERROR_NONE) {
        return false;
    }
    bool waits = info.name != NULL && strcmp(info.name, "DestroyJavaVM") == 0;
    jvm_release(jvmti, info.name);
    (*jni)->DeleteLocalRef(jni, info.context_class_loader);
    jvmtiThreadGroupInfo group;
    if (info.thread_group == NULL ||
        (*jvmti)->GetThreadGroupInfo(jvmti, info.thread_group, &group) != JVMTI_ERROR_NONE) {
        return waits;
    }
    bool apart = group.parent == NULL || strcmp(group.name, "InnocuousThreadGroup") == 0;
    jvm_release(jvmti, group.name);
    (*jni)->DeleteLocalRef(jni, group.parent);
    (*jni)->DeleteLocalRef(jni, info.thread_group);
    return waits || apart;
}

static void JNICALL thread_started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    if (!of_the_jvm(jvmti, jni, thread)) {
        ev_add(EV_THREADS_STARTED, 1);
    }
}

static void JNICALL virtual_thread_started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)jni;
    ev_add(EV_VIRTUAL_THREADS_STARTED, 1);
    (void)open_own(jvmti, thread, VIRTUAL_THREADS);
}

static void thread_ended(jvmtiEnv *jvmti, jthread thread) {
    void *own = NULL;
    if ((*jvmti)->GetThreadLocalStorage(jvmti, thread, &own) == JVMTI_ERROR_NONE && own != NULL &&
        (*jvmti)->SetThreadLocalStorage(jvmti, thread, NULL) == JVMTI_ERROR_NONE) {
        free(own);
    }
}

static void JNICALL virtual_thread_ended(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)jni;
    thread_ended(jvmti, thread);
}

static void JNICALL platform_thread_ended(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)jni;
    jlong cpu_ns = 0;
    if (tells_cpu && (*jvmti)->GetCurrentThreadCpuTime(jvmti, &cpu_ns) == JVMTI_ERROR_NONE) {
        ev_add(EV_THREAD_CPU_NS, (uint64_t)cpu_ns);
    }
    thread_ended(jvmti, thread);
}

/* Reads the clocks of the threads that run. The JVM does not list its compilers and collectors. */
static void read_clocks(jvmtiEnv *jvmti, JNIEnv *jni) {
    jint count = 0;
    jthread *threads = NULL;
    if (!tells_cpu || (*jvmti)->GetAllThreads(jvmti, &count, &threads) != JVMTI_ERROR_NONE) {
        return;
    }
    uint64_t sum_ns = 0;
    for (jint i = 0; i < count; i++) {
        jlong cpu_ns = 0;
        if ((*jvmti)->GetThreadCpuTime(jvmti, threads[i], &cpu_ns) == JVMTI_ERROR_NONE) {
            sum_ns += (uint64_t)cpu_ns;
        }
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    jvm_release(jvmti, threads);
    ev_set_live(EV_THREAD_CPU_NS, sum_ns);
}

static void JNICALL monitor_entering(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object) {
    (void)object;
    struct own *own = own_of(jvmti, jni, thread);
    if (own != NULL) {
        own->waits_since_ns = jvm_now_ns();
    }
}

static void JNICALL monitor_entered(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object) {
    (void)object;
    ev_add(EV_CONTENDED_MONITORS, 1);
    struct own *own = own_of(jvmti, jni, thread);
    if (own == NULL || own->waits_since_ns == 0) {
        return;
    }
    uint64_t waited_ns = jvm_now_ns() - own->waits_since_ns;
    own->waits_since_ns = 0;
    ev_add(EV_CONTENDED_NS, waited_ns);
    own->sums->contended_monitors++;
    own->sums->contended_ns += waited_ns;
}

/* ---- exceptions, compilations, classes ---- */

static void JNICALL thrown(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                           jlocation location, jobject exception, jmethodID catcher,
                           jlocation catch_location) {
    (void)method, (void)location, (void)exception, (void)catch_location;
    ev_add(EV_EXCEPTIONS, 1);
    if (catcher == NULL) {
        ev_add(EV_EXCEPTIONS_UNCAUGHT, 1);
    }
    struct own *own = own_of(jvmti, jni, thread);
    if (own != NULL) {
        own->sums->exceptions++;
    }
}

static void JNICALL compiled(jvmtiEnv *jvmti, jmethodID method, jint code_size, const void *code,
                             jint map_length, const jvmtiAddrLocationMap *map, const void *info) {
    (void)code, (void)map_length, (void)map, (void)info;
    bool again = ev_compiled_before(method);
    ev_add(again ? EV_METHODS_RECOMPILED : EV_METHODS_COMPILED, 1);
    ev_add(EV_CODE_BYTES, (uint64_t)code_size);
    jlocation first = 0, last = -1;
    /* A native method has no bytecode; its code converts the arguments. */
    if ((*jvmti)->GetMethodLocation(jvmti, method, &first, &last) == JVMTI_ERROR_NONE) {
        ev_add(again ? EV_BYTES_RECOMPILED : EV_BYTES_COMPILED, (uint64_t)(last + 1));
    }
}

/* Return whether a class is seen for the first time. The JVM also reports a class that a loader
 * obtains from another loader, so counted classes have a tag. */
static bool is_new(jvmtiEnv *jvmti, jclass type) {
    jlong tag = 0;
    (void)pthread_mutex_lock(&tagging);
    bool found = (*jvmti)->GetTag(jvmti, type, &tag) == JVMTI_ERROR_NONE && tag == 0 &&
                 (*jvmti)->SetTag(jvmti, type, 1) == JVMTI_ERROR_NONE;
    (void)pthread_mutex_unlock(&tagging);
    return found;
}

/* Return whether a class is of the application, not of the boot loader or the platform loader. */
static bool of_application(jvmtiEnv *jvmti, JNIEnv *jni, jclass type) {
    jobject loader = NULL;
    if ((*jvmti)->GetClassLoader(jvmti, type, &loader) != JVMTI_ERROR_NONE || loader == NULL) {
        return false;
    }
    jclass kind = (*jni)->GetObjectClass(jni, loader);
    char *name = NULL;
    bool found = (*jvmti)->GetClassSignature(jvmti, kind, &name, NULL) == JVMTI_ERROR_NONE &&
                 strcmp(name, PLATFORM_LOADER) != 0;
    jvm_release(jvmti, name);
    (*jni)->DeleteLocalRef(jni, kind);
    (*jni)->DeleteLocalRef(jni, loader);
    return found;
}

static void JNICALL class_loaded(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass type) {
    (void)thread;
    if (!is_new(jvmti, type)) {
        return;
    }
    ev_add(EV_CLASSES_LOADED, 1);
    if (of_application(jvmti, jni, type)) {
        ev_add(EV_APPLICATION_CLASSES, 1);
    }
}

/* The JVM loads its first classes before it can report them. */
static void count_loaded(jvmtiEnv *jvmti, JNIEnv *jni) {
    jint count = 0;
    jclass *types = NULL;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &types) != JVMTI_ERROR_NONE) {
        ev_missing("GetLoadedClasses", OF_CLASSES);
        return;
    }
    for (jint i = 0; i < count; i++) {
        jboolean is_array = JNI_FALSE;
        if ((*jvmti)->IsArrayClass(jvmti, types[i], &is_array) == JVMTI_ERROR_NONE && !is_array) {
            class_loaded(jvmti, jni, NULL, types[i]);
        }
        (*jni)->DeleteLocalRef(jni, types[i]);
    }
    jvm_release(jvmti, types);
}

/* ---- start and end of the JVM ---- */

static void window_ended(jvmtiEnv *jvmti, JNIEnv *jni, const char *name) {
    read_clocks(jvmti, jni);
    ev_end_window(name);
}

static void JNICALL vm_started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread) {
    (void)thread;
    count_loaded(jvmti, jni);
}

static void JNICALL vm_ended(jvmtiEnv *jvmti, JNIEnv *jni) {
    read_clocks(jvmti, jni);
    struct ev_all all = ev_all();
    char java[256];
    jvm_name(jvmti, java, sizeof java);
    if (ev_write(path, java, &all) != 0) {
        jvm_complain(path, strerror(errno));
    }
}

#define ENABLE(event, kinds) JVM_ENABLE(jvmti, event, kinds)
#define WANT(capability, kinds) JVM_WANT(available.named, wanted.named, capability, kinds)

/* Request the capabilities that this JVM has and a run needs. */
static union capabilities add_capabilities(jvmtiEnv *jvmti) {
    union capabilities available = {.words = {0}}, wanted = {.words = {0}};
    (void)(*jvmti)->GetPotentialCapabilities(jvmti, &available.named);
    (void)win_request(&available.named, &wanted.named);
    if (windows_only) {
        ev_unwanted(EV_EVERY);
    } else {
        WANT(can_tag_objects, OF_CLASSES);
        WANT(can_generate_exception_events, OF_EXCEPTIONS);
        WANT(can_generate_monitor_events, OF_MONITORS);
        WANT(can_generate_compiled_method_load_events, OF_COMPILATIONS);
        WANT(can_get_thread_cpu_time, OF_CPU);
        WANT(can_get_current_thread_cpu_time, OF_CPU);
        /* Releases before 21 have no virtual threads to miss. */
        wanted.words[SUPPORTS_VIRTUAL_THREADS_WORD] |=
            available.words[SUPPORTS_VIRTUAL_THREADS_WORD] & 1U << SUPPORTS_VIRTUAL_THREADS_BIT;
    }
    if ((*jvmti)->AddCapabilities(jvmti, &wanted.named) != JVMTI_ERROR_NONE) {
        ev_missing("AddCapabilities", EV_EVERY & ~OF_THREADS);
        wanted = (union capabilities){.words = {0}};
    }
    tells_cpu =
        wanted.named.can_get_thread_cpu_time && wanted.named.can_get_current_thread_cpu_time;
    return wanted;
}

static void enable_events(jvmtiEnv *jvmti, union capabilities has) {
    if (has.named.can_generate_breakpoint_events && has.named.can_get_bytecodes) {
        win_enable(jvmti, window_ended);
    }
    if (windows_only) {
        return;
    }
    ENABLE(THREAD_START, OF_THREADS);
    ENABLE(THREAD_END, EV_NONE);
    if (has.named.can_tag_objects) {
        ENABLE(VM_INIT, OF_CLASSES);
        ENABLE(CLASS_LOAD, OF_CLASSES);
    }
    if (has.named.can_generate_exception_events) {
        ENABLE(EXCEPTION, OF_EXCEPTIONS);
    }
    if (has.named.can_generate_monitor_events) {
        ENABLE(MONITOR_CONTENDED_ENTER, OF_MONITORS);
        ENABLE(MONITOR_CONTENDED_ENTERED, OF_MONITORS);
    }
    if (has.named.can_generate_compiled_method_load_events) {
        ENABLE(COMPILED_METHOD_LOAD, OF_COMPILATIONS);
    }
    if (has.words[SUPPORTS_VIRTUAL_THREADS_WORD] & 1U << SUPPORTS_VIRTUAL_THREADS_BIT) {
        jvm_enable(jvmti, (jvmtiEvent)VIRTUAL_THREAD_START, "VIRTUAL_THREAD_START",
                   OF_VIRTUAL_THREADS);
        jvm_enable(jvmti, (jvmtiEvent)VIRTUAL_THREAD_END, "VIRTUAL_THREAD_END", EV_NONE);
    }
}

static bool set_callbacks(jvmtiEnv *jvmti) {
    union callbacks callbacks;
    (void)memset(&callbacks, 0, sizeof callbacks);
    callbacks.named = (jvmtiEventCallbacks){
        .VMInit = vm_started,
        .VMDeath = vm_ended,
        .ThreadStart = thread_started,
        .ThreadEnd = platform_thread_ended,
        .ClassLoad = class_loaded,
        .ClassPrepare = win_class_prepared,
        .Exception = thrown,
        .Breakpoint = win_at_breakpoint,
        .CompiledMethodLoad = compiled,
        .MonitorContendedEnter = monitor_entering,
        .MonitorContendedEntered = monitor_entered,
    };
    callbacks.by_number[VIRTUAL_THREAD_START - FIRST_EVENT] = virtual_thread_started;
    callbacks.by_number[VIRTUAL_THREAD_END - FIRST_EVENT] = virtual_thread_ended;
    return (*jvmti)->SetEventCallbacks(jvmti, &callbacks.named, sizeof callbacks) ==
           JVMTI_ERROR_NONE;
}

/* Parse and store the option. Return null, or the reason of the failure. */
static const char *read_option(const char *option) {
    if (option != NULL && heap_is_wanted(option)) {
        heap_only = true;
        const char *wrong = heap_read_option(option, &option);
        if (wrong != NULL) {
            return wrong;
        }
    } else if (option != NULL && strncmp(option, WINDOWS_ONLY, strlen(WINDOWS_ONLY)) == 0) {
        windows_only = true;
        option += strlen(WINDOWS_ONLY);
    }
    if (option == NULL || option[0] == '\0') {
        return "got no FILE";
    }
    if (strlen(option) >= sizeof path) {
        return "path too long";
    }
    (void)strcpy(path, option);
    return NULL;
}

EXPORTED JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if (path[0] != '\0') {
        jvm_complain(options == NULL ? "" : options,
                     "not written: the agent is loaded twice and counts only once");
        return JNI_OK;
    }
    const char *wrong = read_option(options);
    if (wrong != NULL) {
        jvm_complain(heap_only ? "expected -agentpath:libregatta_events.so=" HEAP_OPTION
                               : "expected -agentpath:libregatta_events.so=FILE or =windows,FILE",
                     wrong);
        /* The program has not started yet, and its events would be lost. */
        return JNI_ERR;
    }
    jvmtiEnv *jvmti = NULL;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        jvm_complain("no events are counted", "expected a JVM with JVMTI 1.2");
        return JNI_OK;
    }
    if (heap_only) {
        heap_start(jvmti, path);
        return JNI_OK;
    }
    union capabilities has = add_capabilities(jvmti);
    if (!set_callbacks(jvmti) ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) !=
            JVMTI_ERROR_NONE) {
        jvm_complain("no events are counted", "the JVM does not report its end");
        return JNI_OK;
    }
    enable_events(jvmti, has);
    return JNI_OK;
}
