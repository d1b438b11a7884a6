/* What a benchmark's own control group used of the processors, in user mode and in the kernel. */
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

/* Finds the control group of this process, where it holds nothing but this process, those it has
 * started and those that wait for it (its ancestors). Returns 0; -1 with the reason in `why`. */
int lm_group_find(struct lm_group *group, char *why, size_t why_bytes);

/* Whether that is (still) so, asked by the process that found it. Returns 0; -1 with the reason. */
int lm_group_check(const struct lm_group *group, char *why, size_t why_bytes);

/* Whether the processor time of this process' group, or of one around it, is limited. */
bool lm_group_has_quota(void);

/* What all its processes, ended ones included, have used since the group was made. Returns 0, or
 * -1 with errno. */
int lm_group_read(const struct lm_group *group, struct lm_split *split);

#endif
