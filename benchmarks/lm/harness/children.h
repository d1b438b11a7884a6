/* Between the parent and the children of one measurement; no part of what a benchmark sees. */
#ifndef LM_CHILDREN_H
#define LM_CHILDREN_H

#include "lm.h"

#include <stdatomic.h>

enum { LM_FAILURE_BYTES = 240 };

/*
 * The steps of Staelin 2004, table I. The parent moves everyone on: a child that has reported
 * READY runs the benchmark until GO, is timed, reports DONE, and runs the benchmark until RESULT.
 * So that while any child is timed, all of them run. After a failure the parent goes to GIVEN_UP.
 */
enum lm_phase { LM_PHASE_START, LM_PHASE_GO, LM_PHASE_RESULT, LM_PHASE_GIVEN_UP };
/* What a child reports, a byte each. */
enum lm_message { LM_READY = 'r', LM_DONE = 'd', LM_FINISHED = 'f' };

struct lm_child {
    /* When it ran the benchmark, and when it was timed (all within the former). */
    uint64_t running_from_ns, timed_from_ns, timed_to_ns, running_to_ns;
    uint64_t shortest_ns; /* the shortest of its intervals as it was timed */
    uint64_t operations;
    char failure[LM_FAILURE_BYTES]; /* empty: none */
};

/* Memory that parent and children share. */
struct lm_shared {
    atomic_int phase;
    struct lm_child *child; /* [children] */
    double *value_ns;       /* [children * repetitions] */
    double *cpu_ns;         /* [children * repetitions] */
};

/* What each child of one measurement is told. */
struct lm_order {
    const struct lm_calibration *calibration;
    const struct lm_workload *workload;
    const char *placement;
    uint64_t repetitions, children;
    uint64_t interval_ns; /* least length of an interval */
    uint64_t operations;  /* 0: the child finds how many fill an interval */
};

/* The child's part; ends the process. `messages` is written to, `exit_signal` is at its end when
 * the parent lets the children go. */
_Noreturn void lm_child_run(const struct lm_order *order, struct lm_shared *shared, unsigned index,
                            pid_t parent, int messages, int exit_signal);

/* The parent's part: starts the children and leads them through the steps. `samples` has its
 * counts set and its values allocated. Returns 0, or -1 with a message in `failure`. */
int lm_children_measure(const struct lm_order *order, uint64_t warmup_us,
                        struct lm_samples *samples, uint64_t *shortest_ns, char *failure);

/* Puts this process on the processor that child `index` has by `placement`. Returns 0, or -1 with
 * errno. */
int lm_place(const char *placement, unsigned index);

/* Kills this process when `parent` ends; ends it at once when `parent` has ended already. */
void lm_die_with(pid_t parent);

#endif
