/*
 * Latency of signals: installing a handler, handling a signal that a process sends to itself, and
 * handling the signal of a write to a page that may only be read.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "harness/lm.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_sig";
static const char SUMMARY[] =
    "Measures the latency of signals. install: one sigaction. handle: kill of the process itself,\n"
    "its handler, and the way back. fault: a write to a page that may only be read, the handler "
    "of\n"
    "SIGSEGV, and the way back to the write, which fails again.\n"
    "Metric: latency, in ns per installation or a signal.";

/* Written by handlers. */
static volatile uint64_t handled, faults_left;
static sigjmp_buf after_faults;

static void on_signal(int signal_number) {
    (void)signal_number;
    handled = handled + 1;
}

/* Returning repeats the write that failed: nothing but the fault and its handling is timed. */
static void on_fault(int signal_number) {
    (void)signal_number;
    faults_left = faults_left - 1;
    if (faults_left == 0) {
        siglongjmp(after_faults, 1);
    }
}

struct target {
    char *page; /* that may only be read; NULL: not needed */
    long page_bytes;
    struct sigaction before; /* what the signal did before this program handled it */
};

static int install_benchmark(uint64_t operations, void *cookie) {
    (void)cookie;
    struct sigaction action = {.sa_handler = on_signal};
    if (sigemptyset(&action.sa_mask) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < operations; i++) {
        if (sigaction(SIGUSR1, &action, NULL) != 0) {
            return -1;
        }
    }
    return 0;
}

static int handle_benchmark(uint64_t operations, void *cookie) {
    (void)cookie;
    pid_t own = getpid();
    handled = 0;
    /* POSIX: a signal that a process of one thread sends to itself is delivered before kill()
     * returns. */
    for (uint64_t i = 0; i < operations; i++) {
        if (kill(own, SIGUSR1) != 0) {
            return -1;
        }
    }
    if (handled != operations) {
        errno = EPROTO;
        return -1;
    }
    return 0;
}

static int fault_benchmark(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    faults_left = operations;
    if (sigsetjmp(after_faults, 1) == 0) {
        *(volatile char *)target->page = 1;
        errno = EPROTO; /* the write was allowed */
        return -1;
    }
    return faults_left == 0 ? 0 : -1;
}

static int start_handling(uint64_t operations, void *cookie) {
    if (operations != 0) {
        return 0;
    }
    struct target *target = cookie;
    struct sigaction action = {.sa_handler = on_signal};
    return sigemptyset(&action.sa_mask) != 0 ? -1 : sigaction(SIGUSR1, &action, &target->before);
}

static int stop_handling(uint64_t operations, void *cookie) {
    const struct target *target = cookie;
    return operations != 0 ? 0 : sigaction(SIGUSR1, &target->before, NULL);
}

static int start_faults(uint64_t operations, void *cookie) {
    if (operations != 0) {
        return 0;
    }
    struct target *target = cookie;
    target->page_bytes = sysconf(_SC_PAGESIZE);
    if (target->page_bytes <= 0) {
        return -1;
    }
    void *page =
        mmap(NULL, (size_t)target->page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return -1;
    }
    target->page = page;
    /* Read once, so that there is a page to protect: not the first touch of it is measured. */
    lm_keep(page);
    if (*(volatile char *)target->page != 0) {
        return -1;
    }
    struct sigaction action = {.sa_handler = on_fault};
    return sigemptyset(&action.sa_mask) != 0 ? -1 : sigaction(SIGSEGV, &action, &target->before);
}

static int stop_faults(uint64_t operations, void *cookie) {
    struct target *target = cookie;
    if (operations != 0 || target->page == NULL) {
        return 0;
    }
    int status = sigaction(SIGSEGV, &target->before, NULL);
    return munmap(target->page, (size_t)target->page_bytes) != 0 ? -1 : status;
}

struct operation {
    const char *name;
    lm_step *initialise, *benchmark, *cleanup;
};

static const struct operation OPERATIONS[] = {
    {"install", start_handling, install_benchmark, stop_handling},
    {"handle", start_handling, handle_benchmark, stop_handling},
    {"fault", start_faults, fault_benchmark, stop_faults},
};

int main(int argc, char **argv) {
    static const char *const choices[] = {"all", "install", "handle", "fault", NULL};
    const char *chosen = choices[0];
    const struct lm_option options[] = {
        {.name = "--operation", .help = "operation", .text = &chosen, .choices = choices}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++) {
        const struct operation *operation = &OPERATIONS[i];
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, operation->name) != 0) {
            continue;
        }
        struct target target = {0};
        const struct lm_workload workload = {.initialise = operation->initialise,
                                             .benchmark = operation->benchmark,
                                             .cleanup = operation->cleanup,
                                             .cookie = &target};
        const struct lm_parameter parameter = {.name = "operation", .text = operation->name};
        const struct lm_series series = {.parameters = &parameter, .parameter_count = 1};
        lm_run(&harness, &workload, &series);
    }
    return lm_close(&harness);
}
