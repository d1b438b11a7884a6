/* Processor time of the benchmark's control group, in user and kernel mode. */
#ifndef LM_GROUP_H
#define LM_GROUP_H

#include "lm.h"

struct lm_group {
    char directory[4096];
    bool second; /* version 2 of control groups */
};

struct lm_split {
    double user_s, system_s;
};

/* Find the control group of this process if it contains only this process, its descendants, and
 * ancestors that wait for it. Return 0, or -1 with the reason in `why`. */
int lm_group_find(struct lm_group *group, char *why, size_t why_bytes);

/* Return whether this is still true, for the process that found the group. Return 0, or -1 with the
 * reason. */
int lm_group_check(const struct lm_group *group, char *why, size_t why_bytes);

/* Return whether the processor time of this group or of an ancestor is limited. */
bool lm_group_has_quota(void);

/* Time used by all its processes, including ended ones, since the group was created. Return 0, or
 * -1 with errno. */
int lm_group_read(const struct lm_group *group, struct lm_split *split);

#endif
