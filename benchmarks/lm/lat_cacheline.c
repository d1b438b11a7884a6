/*
 * Latency of moving a cache line from one processor to another and back: two threads, each on a
 * processor of its own, write a number in turns into the same line and wait for the other's.
 *
 * Not in the paper's suite: what it costs to share anything at all between processors.
 */
#define _GNU_SOURCE /* sched_setaffinity() */

#include "harness/lm.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "lat_cacheline";
static const char SUMMARY[] =
    "Measures the latency of a cache line's way to another processor and back. An operation is a\n"
    "round trip, that is two transfers: a thread on from_cpu writes a number, a thread on to_cpu\n"
    "sees it and writes the next, the first sees that. --pairs first: from the first processor\n"
    "that may be used to each other (of the first 8); all: every pair both ways (of the first 8).\n"
    "Metric: latency, in ns per round trip.";

enum {
    LINE_BYTES = 256,
    MOST_CPUS = 8
}; /* no machine has longer lines, prefetched pairs included */

/* So many looks at the line between two looks at the clock; and no answer may take longer. */
static const uint32_t LOOKS = UINT32_C(1) << 20;
static const uint64_t PATIENCE_NS = UINT64_C(3000000000);

struct bounce {
    int from_cpu, to_cpu;
    pthread_t partner;
    bool started;
    bool lost;                                /* the partner did not answer */
    uint64_t sent;                            /* the number of this thread's last message */
    _Alignas(LINE_BYTES) atomic_int ready;    /* 1: the partner is in place; -1: it failed */
    _Alignas(LINE_BYTES) atomic_bool ending;  /* apart from the line that is measured */
    _Alignas(LINE_BYTES) _Atomic uint64_t at; /* odd: from this thread; even: the answer */
    _Alignas(LINE_BYTES) char after;
};

static int pin(int cpu) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    return sched_setaffinity(0, sizeof only, &only);
}

/* Waits for `number`. Returns false when all is to end, or when it does not come in time. */
static bool await(struct bounce *bounce, uint64_t number) {
    uint64_t deadline_ns = 0;
    for (;;) {
        for (uint32_t looks = LOOKS; looks > 0; looks--) {
            if (atomic_load_explicit(&bounce->at, memory_order_acquire) == number) {
                return true;
            }
        }
        uint64_t now_ns = lm_now_ns();
        deadline_ns = deadline_ns == 0 ? now_ns + PATIENCE_NS : deadline_ns;
        if (now_ns > deadline_ns || atomic_load(&bounce->ending)) {
            return false;
        }
    }
}

static void *answer(void *cookie) {
    struct bounce *bounce = cookie;
    if (pin(bounce->to_cpu) != 0) {
        atomic_store(&bounce->ready, -errno);
        return NULL;
    }
    atomic_store(&bounce->ready, 1);
    uint64_t number = 1;
    while (!atomic_load_explicit(&bounce->ending, memory_order_relaxed)) {
        if (await(bounce, number)) {
            atomic_store_explicit(&bounce->at, number + 1, memory_order_release);
            number += 2;
        }
    }
    return NULL;
}

static int lose(struct bounce *bounce) {
    bounce->lost = true;
    errno = ETIMEDOUT;
    return -1;
}

static int bounce_benchmark(uint64_t operations, void *cookie) {
    struct bounce *bounce = cookie;
    uint64_t number = bounce->sent;
    for (uint64_t i = 0; i < operations; i++) {
        atomic_store_explicit(&bounce->at, number + 1, memory_order_release);
        number += 2;
        if (!await(bounce, number)) {
            return lose(bounce);
        }
    }
    bounce->sent = number;
    return 0;
}

static int start(uint64_t operations, void *cookie) {
    struct bounce *bounce = cookie;
    if (operations != 0) {
        return 0;
    }
    if (pin(bounce->from_cpu) != 0) {
        return -1;
    }
    int status = pthread_create(&bounce->partner, NULL, answer, bounce);
    if (status != 0) {
        errno = status;
        return -1;
    }
    bounce->started = true;
    int ready;
    uint64_t deadline_ns = lm_now_ns() + PATIENCE_NS;
    while ((ready = atomic_load(&bounce->ready)) == 0) {
        if (lm_now_ns() > deadline_ns) {
            return lose(bounce);
        }
        (void)sched_yield();
    }
    errno = ready < 0 ? -ready : 0;
    return ready < 0 ? -1 : 0;
}

static int stop(uint64_t operations, void *cookie) {
    struct bounce *bounce = cookie;
    if (operations != 0 || !bounce->started) {
        return 0;
    }
    atomic_store(&bounce->ending, true);
    if (bounce->lost) {
        return 0; /* it may never end; it does with this process */
    }
    bounce->started = false;
    int status = pthread_join(bounce->partner, NULL);
    if (status != 0) {
        errno = status;
        return -1;
    }
    return 0;
}

static void measure(struct lm_harness *harness, int from_cpu, int to_cpu) {
    struct bounce bounce = {.from_cpu = from_cpu, .to_cpu = to_cpu};
    const struct lm_workload workload = {
        .initialise = start, .benchmark = bounce_benchmark, .cleanup = stop, .cookie = &bounce};
    const struct lm_parameter parameters[] = {{.name = "from_cpu", .number = (uint64_t)from_cpu},
                                              {.name = "to_cpu", .number = (uint64_t)to_cpu}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

/* The number of a processor that this process may use; -1 where none is asked for. */
static int chosen_cpu(const char *option, const char *text, const cpu_set_t *allowed) {
    uint64_t number = 0;
    if (text == NULL) {
        return -1;
    }
    if (!lm_number_parse(text, 0, CPU_SETSIZE - 1, &number) || !CPU_ISSET((int)number, allowed)) {
        lm_usage_error(PROGRAM, option, "the number of a processor that this process may use",
                       text[0] == '\0' ? "nothing" : text);
    }
    return (int)number;
}

struct choice {
    bool all_pairs;
    int from_cpu, to_cpu; /* -1: any */
};

/* Processors that may be used, the chosen ones first and at most MOST_CPUS. Returns how many. */
static int list_cpus(const cpu_set_t *allowed, const struct choice *choice, int *cpus) {
    int count = 0;
    if (choice->from_cpu >= 0) {
        cpus[count++] = choice->from_cpu;
    }
    if (choice->to_cpu >= 0) {
        cpus[count++] = choice->to_cpu;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && count < MOST_CPUS; cpu++) {
        if (CPU_ISSET(cpu, allowed) && cpu != choice->from_cpu && cpu != choice->to_cpu) {
            cpus[count++] = cpu;
        }
    }
    return count;
}

static void measure_pairs(struct lm_harness *harness, const struct choice *choice, const int *cpus,
                          int count) {
    /* The first of the list that is not the chosen goal: the only start of --pairs first. */
    int first = choice->from_cpu < 0 && cpus[0] == choice->to_cpu ? cpus[1] : cpus[0];
    for (int i = 0; i < count; i++) {
        if (choice->from_cpu >= 0 ? cpus[i] != choice->from_cpu
                                  : !choice->all_pairs && cpus[i] != first) {
            continue;
        }
        for (int j = 0; j < count; j++) {
            if (j != i && (choice->to_cpu < 0 || cpus[j] == choice->to_cpu)) {
                measure(harness, cpus[i], cpus[j]);
            }
        }
    }
}

int main(int argc, char **argv) {
    static const char *const pairs[] = {"first", "all", NULL};
    const char *chosen = pairs[0], *from_text = NULL, *to_text = NULL;
    const struct lm_option options[] = {
        {.name = "--pairs", .help = "pairs of processors", .text = &chosen, .choices = pairs},
        {.name = "--from-cpu", .help = "only pairs from this processor", .text = &from_text},
        {.name = "--to-cpu", .help = "only pairs to this processor", .text = &to_text},
    };
    const struct lm_program program = {
        .name = PROGRAM,
        .summary = SUMMARY,
        .single = "a pair needs two processors to itself: a thread that waits for its turn on a "
                  "processor is measured as a slow transfer",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);

    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        perror(PROGRAM);
        return LM_EXIT_FAILED;
    }
    const struct choice choice = {.all_pairs = strcmp(chosen, "all") == 0,
                                  .from_cpu = chosen_cpu("--from-cpu", from_text, &allowed),
                                  .to_cpu = chosen_cpu("--to-cpu", to_text, &allowed)};
    if (choice.from_cpu >= 0 && choice.from_cpu == choice.to_cpu) {
        lm_usage_error(PROGRAM, "--to-cpu", "another processor than --from-cpu", to_text);
    }
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    int cpus[MOST_CPUS];
    int count = list_cpus(&allowed, &choice, cpus);
    if (count < 2) {
        lm_fail(&harness, "expected at least 2 processors that this process may use, got 1; a "
                          "wider affinity or another machine is needed (see taskset -p)");
    }
    measure_pairs(&harness, &choice, cpus, count);
    return lm_close(&harness);
}
