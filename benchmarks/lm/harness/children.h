/* Internal interface between parent and children of one measurement; invisible to benchmarks. */
#ifndef LM_CHILDREN_H
#define LM_CHILDREN_H

#include "lm.h"

#include <stdatomic.h>

enum { LM_FAILURE_BYTES = 240 };

/*
 * The steps of Staelin 2004, table I. The parent advances all children. A child that has reported
 * READY runs the benchmark until GO, is timed, reports DONE, and runs the benchmark until RESULT.
 * Therefore all children run while any child is timed. After a failure the parent enters GIVEN_UP.
 */
enum lm_phase { LM_PHASE_START, LM_PHASE_GO, LM_PHASE_RESULT, LM_PHASE_GIVEN_UP };
/* Reports of a child, one byte each. */
enum lm_message { LM_READY = 'r', LM_DONE = 'd', LM_FINISHED = 'f' };

struct lm_child {
    /* Start and end of running the benchmark, and of the timed part within. */
    uint64_t running_from_ns, timed_from_ns, timed_to_ns, running_to_ns;
    uint64_t shortest_ns; /* shortest timed interval */
    uint64_t operations;
    char failure[LM_FAILURE_BYTES]; /* empty: no failure */
};

/* Memory shared by parent and children. */
struct lm_shared {
    atomic_int phase;
    struct lm_child *child; /* [children] */
    double *value_ns;       /* [children * repetitions] */
    double *cpu_ns;         /* [children * repetitions] */
};

/* Configuration of the children of one measurement. */
struct lm_order {
    const struct lm_calibration *calibration;
    const struct lm_workload *workload;
    const char *placement;
    uint64_t repetitions, children;
    uint64_t interval_ns; /* minimum length of an interval */
    uint64_t operations;  /* 0: the child finds the number that fills an interval */
};

/* The child's part; ends the process. It writes to `messages`; `exit_signal` reaches end of file
 * when the parent releases the children. */
_Noreturn void lm_child_run(const struct lm_order *order, struct lm_shared *shared, unsigned index,
                            pid_t parent, int messages, int exit_signal);

/* The parent's part: start the children and take them through the steps. The counts of `samples`
 * must be set and its values allocated. Return 0, or -1 with a message in `failure`. */
int lm_children_measure(const struct lm_order *order, uint64_t warmup_us,
                        struct lm_samples *samples, uint64_t *shortest_ns, char *failure);

/* Place this process on the processor of child `index` under `placement`. Return 0, or -1 with
 * errno. */
int lm_place(const char *placement, unsigned index);

/* Kill this process when `parent` ends, or end it immediately if `parent` has already ended. */
void lm_die_with(pid_t parent);

#endif
