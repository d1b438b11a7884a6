/*
 * Context switches: processes with a working set each pass a token on through pipes.
 *
 * The ring is that of lmbench: one process at a time has something to do. The star is what Staelin
 * 2004, "Context switching", considered beside it.
 */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_ctx";
static const char SUMMARY[] =
    "Measures context switches: --processes processes pass a token on through pipes, and each "
    "reads\n"
    "a working set of --kib KiB (a word a cache line) whenever it has the token.\n"
    "  ring  the token goes from each process to the next. An operation is one pass: a process\n"
    "        writes, the next one is switched to, reads, and reads its working set. One process\n"
    "        alone does the same through as many pipes without a switch; the least that this "
    "costs\n"
    "        is subtracted. So the rest is the switch, with the misses of the working set that it\n"
    "        causes. Each of --parallel children has a separate ring.\n"
    "  star  one process sends a token to each of the others and waits until all are back. An\n"
    "        operation is a token there and back. Only what its write and its read cost the one "
    "in\n"
    "        the middle (without a switch or working set) is subtracted: the others may work at "
    "the\n"
    "        same time on several processors. The one in the middle has no working set.\n"
    "With --placement compact or scattered a ring or star runs on one processor. With free, it\n"
    "can use several, and to wake another processor can then take most of the time.\n"
    "A ring favors schedulers that hand the processor over; a star hides parallel work.\n"
    "Metric: latency, in ns per operation.";

enum { LINE_BYTES = 64, MOST_PROCESSES = 1024 };

struct crowd {
    bool star;
    unsigned processes; /* the child included */
    size_t words;       /* of the working set */
    uint64_t *words_of_own;
    int (*pipes)[2]; /* see ring_pipes() and star_pipes() */
    unsigned pipe_count;
    pid_t *helpers; /* [processes - 1] */
    unsigned index; /* of a helper that is being started: 1 .. processes - 1 */
};

/* Each process has its own memory: a copy is made by writing. */
static int make_working_set(struct crowd *crowd) {
    if (crowd->words == 0) {
        return 0;
    }
    void *area = NULL;
    int status = posix_memalign(&area, LINE_BYTES, crowd->words * sizeof(uint64_t));
    if (status != 0) {
        errno = status;
        return -1;
    }
    (void)memset(area, 1, crowd->words * sizeof(uint64_t));
    crowd->words_of_own = area;
    return 0;
}

static void read_working_set(const struct crowd *crowd) {
    uint64_t sum = 0;
    for (size_t i = 0; i < crowd->words; i += LINE_BYTES / sizeof(uint64_t)) {
        sum += crowd->words_of_own[i];
    }
    lm_keep((const void *)(uintptr_t)sum);
}

static int take(int from) {
    char token;
    ssize_t got = 0;
    do {
        got = read(from, &token, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? 0 : lm_not_received(got);
}

static int give(int to) {
    return write(to, "t", 1) == 1 ? 0 : -1;
}

/* Closes all ends but these two: a process that ends is then seen by its neighbours. */
static void keep_only(struct crowd *crowd, int from, int to) {
    for (unsigned i = 0; i < crowd->pipe_count; i++) {
        for (int end = 0; end < 2; end++) {
            if (crowd->pipes[i][end] != from && crowd->pipes[i][end] != to) {
                lm_shut(&crowd->pipes[i][end]);
            }
        }
    }
}

static int helper_run(void *cookie) {
    struct crowd *crowd = cookie;
    /* Ring: pipe i goes from process i to the next. Star: pipe i goes to process i, pipe 0 back. */
    int from = crowd->pipes[crowd->star ? crowd->index : crowd->index - 1][0];
    int to = crowd->pipes[crowd->star ? 0 : crowd->index][1];
    keep_only(crowd, from, to);
    if (make_working_set(crowd) != 0) {
        return LM_EXIT_FAILED;
    }
    for (;;) {
        if (take(from) != 0) {
            return errno == EPIPE ? 0 : LM_EXIT_FAILED;
        }
        read_working_set(crowd);
        if (give(to) != 0) {
            return LM_EXIT_FAILED;
        }
    }
}

static int make_pipes(struct crowd *crowd) {
    crowd->pipes = calloc(crowd->processes, sizeof *crowd->pipes);
    crowd->helpers = calloc(crowd->processes, sizeof *crowd->helpers);
    if (crowd->pipes == NULL || crowd->helpers == NULL) {
        return -1;
    }
    for (; crowd->pipe_count < crowd->processes; crowd->pipe_count++) {
        if (pipe(crowd->pipes[crowd->pipe_count]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The same pipes, but no other process: what passing the token costs by itself. */
static int alone_initialise(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    if (operations != 0) {
        return 0;
    }
    if (make_pipes(crowd) != 0) {
        return -1;
    }
    if (crowd->star) {
        crowd->words = 0;
    }
    return make_working_set(crowd);
}

static int alone_benchmark(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    unsigned passes = crowd->star ? crowd->processes - 1 : crowd->processes;
    for (uint64_t lap = operations / passes; lap > 0; lap--) {
        for (unsigned i = 0; i < passes; i++) {
            if (give(crowd->pipes[i][1]) != 0 || take(crowd->pipes[i][0]) != 0) {
                return -1;
            }
            read_working_set(crowd);
        }
    }
    return 0;
}

static int crowd_initialise(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    if (operations != 0) {
        return 0;
    }
    if (make_pipes(crowd) != 0) {
        return -1;
    }
    for (crowd->index = 1; crowd->index < crowd->processes; crowd->index++) {
        crowd->helpers[crowd->index - 1] = lm_helper_start(helper_run, crowd);
        if (crowd->helpers[crowd->index - 1] < 0) {
            return -1;
        }
    }
    if (!crowd->star) {
        keep_only(crowd, crowd->pipes[crowd->processes - 1][0], crowd->pipes[0][1]);
        return make_working_set(crowd);
    }
    lm_shut(&crowd->pipes[0][1]);
    for (unsigned i = 1; i < crowd->pipe_count; i++) {
        lm_shut(&crowd->pipes[i][0]);
    }
    return 0;
}

static int ring_benchmark(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    int from = crowd->pipes[crowd->processes - 1][0], to = crowd->pipes[0][1];
    for (uint64_t lap = operations / crowd->processes; lap > 0; lap--) {
        if (give(to) != 0 || take(from) != 0) {
            return -1;
        }
        read_working_set(crowd);
    }
    return 0;
}

static int star_benchmark(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    for (uint64_t lap = operations / (crowd->processes - 1); lap > 0; lap--) {
        for (unsigned i = 1; i < crowd->processes; i++) {
            if (give(crowd->pipes[i][1]) != 0) {
                return -1;
            }
        }
        for (unsigned i = 1; i < crowd->processes; i++) {
            if (take(crowd->pipes[0][0]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int crowd_cleanup(uint64_t operations, void *cookie) {
    struct crowd *crowd = cookie;
    if (operations != 0) {
        return 0;
    }
    int status = 0;
    for (unsigned i = 0; crowd->helpers != NULL && i + 1 < crowd->processes; i++) {
        if (crowd->helpers[i] > 0 && lm_helper_stop(crowd->helpers[i]) != 0) {
            status = -1;
        }
    }
    if (crowd->pipes != NULL) {
        keep_only(crowd, -1, -1);
    }
    free(crowd->words_of_own);
    free(crowd->pipes);
    free(crowd->helpers);
    return status;
}

/* What a pass costs without a switch, in ns: by one process, however many there are to be, in
 * intervals as short as can be trusted. The least of its repetitions: others that use the processor
 * can only lengthen one. */
static double pass_alone_ns(const struct lm_harness *harness, const struct lm_workload *workload) {
    struct lm_harness one = *harness;
    one.settings.parallel = 1;
    one.settings.repetitions = LM_DEFAULT_REPETITIONS;
    one.settings.interval_us = one.settings.warmup_us = 0;
    struct lm_samples samples;
    lm_measure(&one, workload, &samples);
    lm_sort(samples.value_ns, (size_t)samples.repetitions);
    double least_ns = samples.value_ns[0];
    lm_samples_free(&samples);
    return least_ns;
}

static void subtract(struct lm_harness *harness, struct lm_samples *samples, double pass_ns) {
    char what[200];
    for (uint64_t i = 0; i < samples->children * samples->repetitions; i++) {
        if (!(samples->value_ns[i] > pass_ns)) {
            (void)snprintf(what, sizeof what,
                           "repetition %llu: %.1f ns a pass are no more than the %.1f ns of "
                           "passing without a switch: the system is too unsteady",
                           (unsigned long long)(i % samples->repetitions), samples->value_ns[i],
                           pass_ns);
            lm_fail(harness, what);
        }
        samples->value_ns[i] -= pass_ns;
    }
}

static void measure_shape(struct lm_harness *harness, const char *shape, uint64_t processes,
                          uint64_t kib) {
    struct crowd crowd = {.star = strcmp(shape, "star") == 0,
                          .processes = (unsigned)processes,
                          .words = (size_t)(kib * 1024 / sizeof(uint64_t))};
    struct lm_workload workload = {.initialise = alone_initialise,
                                   .benchmark = alone_benchmark,
                                   .cleanup = crowd_cleanup,
                                   .cookie = &crowd,
                                   .operations_per_turn = crowd.star ? processes - 1 : processes};
    struct lm_samples together;
    const double pass_ns = pass_alone_ns(harness, &workload);
    workload.initialise = crowd_initialise;
    workload.benchmark = crowd.star ? star_benchmark : ring_benchmark;
    lm_measure(harness, &workload, &together);
    subtract(harness, &together, pass_ns);
    const struct lm_parameter parameters[] = {{.name = "shape", .text = shape},
                                              {.name = "processes", .number = processes},
                                              {.name = "size_bytes", .number = kib * 1024}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report_samples(harness, &series, &together);
    lm_samples_free(&together);
}

int main(int argc, char **argv) {
    static const char *const shapes[] = {"all", "ring", "star", NULL};
    const char *shape = shapes[0];
    uint64_t processes = 2, kib = 0;
    const struct lm_option options[] = {
        {.name = "--shape",
         .help = "connection of the processes",
         .text = &shape,
         .choices = shapes},
        {.name = "--processes",
         .help = "number of processes in a ring or star",
         .number = &processes,
         .minimum = 2,
         .maximum = MOST_PROCESSES},
        {.name = "--kib",
         .help = "working set of each process, in KiB",
         .number = &kib,
         .minimum = 0,
         .maximum = UINT64_C(1) << 20},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_harness harness;
    lm_options_parse(&program, &settings, argc, argv);
    lm_open(&harness, &program, &settings);
    lm_need_descriptors(&harness, 2 * processes);
    for (size_t i = 1; shapes[i] != NULL; i++) {
        if (strcmp(shape, shapes[0]) == 0 || strcmp(shape, shapes[i]) == 0) {
            measure_shape(&harness, shapes[i], processes, kib);
        }
    }
    return lm_close(&harness);
}
