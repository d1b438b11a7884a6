/*
 * How long N jobs take that are started together and each do the same work, as of a parallel make:
 * what a system's placing and balancing of short processes is worth.
 *
 * The work is a number of turns of a loop, found once by the processor's time that they take: a job
 * that has to wait for a processor then takes longer, which is what is to be seen.
 */
#define _GNU_SOURCE /* prctl */

#include "numbers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_pmake";
static const char SUMMARY[] =
    "Measures how long --jobs processes take, from the start of the first to the end of the last,\n"
    "that each do --work-us of work. An operation is one such set of jobs, their forks and exits\n"
    "included. The work is a loop that needs so much of a processor's time when nothing disturbs\n"
    "it. Metric: latency, in ns per set of jobs.";

enum { MOST_JOBS = 1024 };
static const uint64_t LONGEST_WORK_US = 10000000;
/* The work is measured so often, and the fastest taken. */
enum { CALIBRATIONS = 11 };
static const double CALIBRATION_NS = 2e6;

struct jobs {
    uint64_t count;
    uint64_t turns; /* of the loop that is one job's work */
};

/* Each turn needs the result of the one before: nothing to run side by side, or to leave out. */
static void work(uint64_t turns) {
    uint64_t value = turns;
    for (; turns > 0; turns--) {
        value = value * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(value));
    }
}

static double processor_ns(struct lm_harness *harness) {
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) {
        lm_fail(harness, "the processor time of this process cannot be read");
    }
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

/* Turns in a microsecond of processor time. The most of several: whatever disturbs makes it fewer.
 */
static double turns_per_us(struct lm_harness *harness) {
    uint64_t turns = 1000;
    double most = 0;
    for (int trial = 0; trial < CALIBRATIONS;) {
        double start_ns = processor_ns(harness);
        work(turns);
        double elapsed_ns = processor_ns(harness) - start_ns;
        if (elapsed_ns < CALIBRATION_NS) {
            turns *= 2;
            continue;
        }
        double found = (double)turns * 1000 / elapsed_ns;
        most = found > most ? found : most;
        trial++;
    }
    return most;
}

static _Noreturn void run_job(const struct jobs *jobs, pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(LM_EXIT_FAILED);
    }
    work(jobs->turns);
    _exit(0);
}

/* Waits for `count` jobs, all of them also when one has failed. */
static int await(uint64_t count) {
    int failure = 0;
    while (count > 0) {
        int status = 0;
        if (wait(&status) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -1;
        }
        count--;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            failure = ECHILD;
        }
    }
    errno = failure;
    return failure == 0 ? 0 : -1;
}

static int make_benchmark(uint64_t operations, void *cookie) {
    const struct jobs *jobs = cookie;
    pid_t own = getpid();
    for (uint64_t i = 0; i < operations; i++) {
        for (uint64_t started = 0; started < jobs->count; started++) {
            pid_t id = fork();
            if (id == 0) {
                run_job(jobs, own);
            }
            if (id < 0) {
                int cause = errno;
                (void)await(started);
                errno = cause;
                return -1;
            }
        }
        if (await(jobs->count) != 0) {
            return -1;
        }
    }
    return 0;
}

static void measure(struct lm_harness *harness, uint64_t count, uint64_t work_us,
                    double turns_a_us) {
    struct jobs jobs = {.count = count, .turns = (uint64_t)((double)work_us * turns_a_us)};
    const struct lm_workload workload = {.benchmark = make_benchmark, .cookie = &jobs};
    const struct lm_parameter parameters[] = {{.name = "jobs", .number = count},
                                              {.name = "work_us", .number = work_us}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    const char *jobs_text = "1,2,4,8", *work_text = "1000";
    const struct lm_option options[] = {
        {.name = "--jobs", .help = "number of jobs, a list", .text = &jobs_text},
        {.name = "--work-us", .help = "work per job, a list", .text = &work_text},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers counts, works;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--jobs", jobs_text, 1, MOST_JOBS, &counts);
    lm_numbers_parse(PROGRAM, "--work-us", work_text, 1, LONGEST_WORK_US, &works);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    double turns_a_us = turns_per_us(&harness);
    for (size_t i = 0; i < works.count; i++) {
        for (size_t j = 0; j < counts.count; j++) {
            measure(&harness, counts.number[j], works.number[i], turns_a_us);
        }
    }
    return lm_close(&harness);
}
