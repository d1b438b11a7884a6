/*
 * How long a sleep really takes, by each interface that a program may ask for one.
 *
 * A sleep may be longer than asked for, by the resolution of the system's timers, by the slack that
 * it allows itself (50 us on Linux, prctl(2)) and by the way back to the processor. It may never be
 * shorter: then the clock or the timer is wrong, and nothing measured with them can be trusted.
 */
#define _GNU_SOURCE /* usleep() beside C11 and what came after it */

#include "numbers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char PROGRAM[] = "lat_usleep";
static const char SUMMARY[] =
    "Measures how long sleeps of --requested-us really take, by usleep, nanosleep, select, "
    "pselect\n"
    "and itimer (setitimer and the wait for its signal). A sleep that is shorter than asked for "
    "is\n"
    "an error. Each sleep holds one reading of the clock, for that check.\n"
    "Metric: latency, in ns per sleep, from the request to the return.";

static const uint64_t LONGEST_US = 10000000;

static int sleep_usleep(uint64_t us) {
    return usleep((useconds_t)us);
}

static int sleep_nanosleep(uint64_t us) {
    const struct timespec duration = {.tv_sec = (time_t)(us / 1000000),
                                      .tv_nsec = (long)(us % 1000000 * 1000)};
    return nanosleep(&duration, NULL);
}

static int sleep_select(uint64_t us) {
    struct timeval duration = {.tv_sec = (time_t)(us / 1000000),
                               .tv_usec = (suseconds_t)(us % 1000000)};
    return select(0, NULL, NULL, NULL, &duration);
}

static int sleep_pselect(uint64_t us) {
    const struct timespec duration = {.tv_sec = (time_t)(us / 1000000),
                                      .tv_nsec = (long)(us % 1000000 * 1000)};
    return pselect(0, NULL, NULL, NULL, &duration, NULL);
}

static volatile sig_atomic_t alarmed;

static void on_alarm(int signal_number) {
    (void)signal_number;
    alarmed = 1;
}

/* The signal is blocked but in sigsuspend(): it cannot come before the wait for it has begun. */
static int sleep_itimer(uint64_t us) {
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)}};
    sigset_t waiting;
    alarmed = 0;
    if (sigprocmask(SIG_SETMASK, NULL, &waiting) != 0 || sigdelset(&waiting, SIGALRM) != 0 ||
        setitimer(ITIMER_REAL, &timer, NULL) != 0) {
        return -1;
    }
    while (alarmed == 0) {
        (void)sigsuspend(&waiting); /* always -1 with EINTR */
    }
    return 0;
}

struct call {
    const char *name;
    int (*sleep)(uint64_t us);
};

static const struct call CALLS[] = {
    {"usleep", sleep_usleep},   {"nanosleep", sleep_nanosleep}, {"select", sleep_select},
    {"pselect", sleep_pselect}, {"itimer", sleep_itimer},
};

struct request {
    const struct call *call;
    uint64_t us;
};

static int sleep_benchmark(uint64_t operations, void *cookie) {
    const struct request *request = cookie;
    const struct call *call = request->call;
    uint64_t before_ns = lm_now_ns();
    for (uint64_t i = 0; i < operations; i++) {
        if (call->sleep(request->us) != 0) {
            return -1;
        }
        uint64_t after_ns = lm_now_ns();
        if (after_ns - before_ns < request->us * 1000) {
            (void)fprintf(stderr,
                          "%s: %s: expected a sleep of at least %llu us, got one of %llu ns\n",
                          PROGRAM, call->name, (unsigned long long)request->us,
                          (unsigned long long)(after_ns - before_ns));
            errno = ETIME;
            return -1;
        }
        before_ns = after_ns;
    }
    return 0;
}

static int prepare_alarm(uint64_t operations, void *cookie) {
    (void)cookie;
    if (operations != 0) {
        return 0;
    }
    struct sigaction action = {.sa_handler = on_alarm};
    sigset_t held;
    if (sigemptyset(&action.sa_mask) != 0 || sigemptyset(&held) != 0 ||
        sigaddset(&held, SIGALRM) != 0 || sigaction(SIGALRM, &action, NULL) != 0) {
        return -1;
    }
    return sigprocmask(SIG_BLOCK, &held, NULL);
}

static void measure(struct lm_harness *harness, const struct call *call, uint64_t us) {
    struct request request = {.call = call, .us = us};
    const struct lm_workload workload = {
        .initialise = prepare_alarm, .benchmark = sleep_benchmark, .cookie = &request};
    const struct lm_parameter parameters[] = {{.name = "call", .text = call->name},
                                              {.name = "requested_us", .number = us}};
    const struct lm_series series = {.parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all",     "usleep", "nanosleep", "select",
                                          "pselect", "itimer", NULL};
    const char *chosen = choices[0], *requested = "1,10,100,1000";
    const struct lm_option options[] = {
        {.name = "--call", .help = "system call", .text = &chosen, .choices = choices},
        {.name = "--requested-us", .help = "time to sleep, a list", .text = &requested},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    struct lm_numbers requests;
    lm_options_parse(&program, &settings, argc, argv);
    lm_numbers_parse(PROGRAM, "--requested-us", requested, 1, LONGEST_US, &requests);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
        if (strcmp(chosen, "all") != 0 && strcmp(chosen, CALLS[i].name) != 0) {
            continue;
        }
        for (size_t j = 0; j < requests.count; j++) {
            measure(&harness, &CALLS[i], requests.number[j]);
        }
    }
    return lm_close(&harness);
}
