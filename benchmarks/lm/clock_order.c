/*
 * Checks that time increases across processors. Two threads on two processors read the clock in
 * turns; each waits for the reading of the other. A reading must not be earlier than the previous
 * one, otherwise measurements across processors are invalid.
 *
 * The check detects clock differences that exceed the transfer time between the processors: the
 * minimum step, which is reported.
 */
#define _GNU_SOURCE /* pthread_attr_setaffinity_np */

#include "harness/lm.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "clock_order";
static const char SUMMARY[] =
    "Read the clock alternately on two processors: the first available one and each of the\n"
    "others. A reading that is earlier than the previous one is an error.\n"
    "Metric: clock_step, in ns, the minimum time from a reading on one processor to the next\n"
    "reading on the other, in either direction.";
static const char SINGLE[] = "the test occupies two processors";

/* Long enough for both threads to be switched out and in several times. */
static const uint64_t LONGEST_NS = 200000000;
enum { DESCRIPTION_BYTES = 200 };

struct exchange {
    atomic_int turn; /* whose turn it is: 0 or 1 */
    atomic_bool stopped;
    int64_t last_ns;  /* previous reading; only the thread whose turn it is accesses it */
    int64_t least_ns; /* minimum step between consecutive readings */
    uint64_t done, wanted;
    uint64_t end_ns;
};

struct reader {
    struct exchange *exchange;
    int own;
};

static void *read_in_turns(void *cookie) {
    const struct reader *reader = cookie;
    struct exchange *exchange = reader->exchange;
    for (;;) {
        while (atomic_load(&exchange->turn) != reader->own) {
            if (atomic_load(&exchange->stopped)) {
                return NULL;
            }
        }
        int64_t now_ns = (int64_t)lm_now_ns();
        int64_t step_ns = now_ns - exchange->last_ns;
        if (exchange->done > 0 && step_ns < exchange->least_ns) {
            exchange->least_ns = step_ns;
        }
        exchange->last_ns = now_ns;
        exchange->done++;
        /* At least one step. */
        if (exchange->done > 1 &&
            (exchange->done >= exchange->wanted || (uint64_t)now_ns > exchange->end_ns)) {
            atomic_store(&exchange->stopped, true);
            return NULL;
        }
        atomic_store(&exchange->turn, 1 - reader->own);
    }
}

/* Start a reader on `processor`. Return 0 or the error. */
static int start(pthread_t *thread, struct reader *reader, int processor) {
    pthread_attr_t attributes;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)processor, &only);
    int status = pthread_attr_init(&attributes);
    if (status != 0) {
        return status;
    }
    status = pthread_attr_setaffinity_np(&attributes, sizeof only, &only);
    if (status == 0) {
        status = pthread_create(thread, &attributes, read_in_turns, reader);
    }
    (void)pthread_attr_destroy(&attributes);
    return status;
}

static int64_t least_step_ns(struct lm_harness *harness, uint64_t exchanges, int from, int to) {
    struct exchange exchange = {
        .least_ns = INT64_MAX, .wanted = exchanges, .end_ns = lm_now_ns() + LONGEST_NS};
    struct reader readers[] = {{&exchange, 0}, {&exchange, 1}};
    const int processors[] = {from, to};
    pthread_t threads[2];
    char what[DESCRIPTION_BYTES] = "";
    int started = 0;
    atomic_init(&exchange.turn, 0);
    atomic_init(&exchange.stopped, false);
    while (started < 2) {
        int status = start(&threads[started], &readers[started], processors[started]);
        if (status != 0) {
            (void)snprintf(what, sizeof what, "thread on processor %d: %s", processors[started],
                           strerror(status));
            atomic_store(&exchange.stopped, true);
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        if (pthread_join(threads[i], NULL) != 0) {
            lm_fail(harness, "cannot join a thread");
        }
    }
    if (started == 2 && exchange.least_ns < 0) {
        (void)snprintf(
            what, sizeof what,
            "the clock goes backward: %lld ns between a reading on processor %d or %d and "
            "the next one on the other",
            (long long)exchange.least_ns, from, to);
    }
    if (what[0] != '\0') {
        lm_fail(harness, what);
    }
    return exchange.least_ns;
}

static void measure_pair(struct lm_harness *harness, uint64_t exchanges, int from, int to) {
    uint64_t repetitions = harness->settings.repetitions;
    double *step_ns = calloc((size_t)repetitions, sizeof *step_ns);
    if (step_ns == NULL) {
        lm_fail(harness, "out of memory for the steps");
    }
    for (uint64_t i = 0; i < repetitions; i++) {
        step_ns[i] = (double)least_step_ns(harness, exchanges, from, to);
    }
    const struct lm_parameter parameters[] = {{.name = "from", .number = (uint64_t)from},
                                              {.name = "to", .number = (uint64_t)to}};
    const struct lm_result result = {.metric = "clock_step",
                                     .unit = "ns",
                                     .values = step_ns,
                                     .count = repetitions,
                                     .least = true,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report(harness, &result);
    free(step_ns);
}

int main(int argc, char **argv) {
    uint64_t exchanges = 10000;
    const struct lm_option options[] = {{.name = "--exchanges",
                                         .help = "number of readings per repetition",
                                         .number = &exchanges,
                                         .minimum = 2,
                                         .maximum = UINT64_C(1) << 40}};
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .single = SINGLE,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        lm_fail(&harness, strerror(errno));
    }
    if (CPU_COUNT(&allowed) < 2) {
        lm_fail(&harness, "expected two available processors, got one");
    }
    int first = -1;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET((size_t)processor, &allowed)) {
            continue;
        }
        if (first < 0) {
            first = processor;
        } else {
            measure_pair(&harness, exchanges, first, processor);
        }
    }
    return lm_close(&harness);
}
