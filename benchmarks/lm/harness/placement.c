/*
 * Assignment of a child to a processor.
 *
 * The seven-process mystery of the paper (its figure 11) is an effect of placement: with seven of
 * eight processors busy, the scheduler determined which of two buses had the idle one. Therefore
 * placement can be fixed. Processors are ordered by package, core and thread. compact fills
 * neighbors first, including threads of one core. scattered alternates between packages and uses
 * second threads last. Only processors that this process may use are counted.
 *
 * apart is for a server whose cost is measured and a peer that must not share its processor.
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include "children.h"
#include "group.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct processor {
    int number, package, core, thread;
    int rank; /* index of the core within its package, from 0 */
};

/* A number from the processor topology; 0 if the kernel does not report it. */
static int topology(int processor, const char *what) {
    char path[100];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", processor, what);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return strcmp(what, "core_id") == 0 ? processor : 0;
    }
    int value = 0;
    if (fscanf(file, "%d", &value) != 1 || value < 0) {
        value = 0;
    }
    (void)fclose(file);
    return value;
}

static int compactly(const void *left, const void *right) {
    const struct processor *a = left, *b = right;
    if (a->package != b->package) {
        return a->package - b->package;
    }
    return a->core != b->core ? a->core - b->core : a->number - b->number;
}

static int scattered(const void *left, const void *right) {
    const struct processor *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread - b->thread;
    }
    return a->rank != b->rank ? a->rank - b->rank : a->package - b->package;
}

/* Number the threads of each core and the cores of each package, for processors in compact order.
 */
static void number_threads(struct processor *processors, int count) {
    for (int i = 1; i < count; i++) {
        struct processor *own = &processors[i], *before = &processors[i - 1];
        if (own->package != before->package) {
            continue;
        }
        bool same_core = own->core == before->core;
        own->thread = same_core ? before->thread + 1 : 0;
        own->rank = same_core ? before->rank : before->rank + 1;
    }
}

/* Processors that this process may use, in compact order, at most CPU_SETSIZE. Return their number,
 * or -1 with errno. */
static int allowed_processors(struct processor *processors) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return -1;
    }
    int count = 0;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &allowed)) {
            processors[count++] = (struct processor){.number = i,
                                                     .package = topology(i, "physical_package_id"),
                                                     .core = topology(i, "core_id")};
        }
    }
    qsort(processors, (size_t)count, sizeof processors[0], compactly);
    number_threads(processors, count);
    return count;
}

static int place_on(int processor) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    return sched_setaffinity(0, sizeof own, &own);
}

/* Of a child with placement "apart"; its helpers inherit a copy. -1: other placement. */
static int own_processor = -1, peer_processor = -1;
/* Under a quota, each takes processor time from the other on any processor. */
static bool under_quota;

int lm_sides(int *serving, int *peer) {
    struct processor processors[CPU_SETSIZE] = {{0}};
    int count = allowed_processors(processors);
    if (count < 1) {
        return -1;
    }
    /* The last processor, because the first handles most interrupts. */
    const struct processor *last = &processors[count - 1], *chosen = last;
    for (int i = 0; i < count - 1; i++) {
        if (processors[i].core != last->core || processors[i].package != last->package ||
            chosen == last) {
            chosen = &processors[i];
        }
    }
    *serving = last->number;
    *peer = chosen->number;
    return 0;
}

int lm_place_peer(void) {
    return peer_processor < 0 ? 0 : place_on(peer_processor);
}

bool lm_has_own_peer(void) {
    return own_processor != peer_processor && !under_quota;
}

int lm_place(const char *placement, unsigned index) {
    if (strcmp(placement, "free") == 0) {
        return 0;
    }
    if (strcmp(placement, "apart") == 0) {
        under_quota = lm_group_has_quota();
        return lm_sides(&own_processor, &peer_processor) != 0 ? -1 : place_on(own_processor);
    }
    struct processor processors[CPU_SETSIZE] = {{0}};
    int count = allowed_processors(processors);
    if (count < 1) {
        return -1;
    }
    if (strcmp(placement, "scattered") == 0) {
        qsort(processors, (size_t)count, sizeof processors[0], scattered);
    }
    return place_on(processors[index % (unsigned)count].number);
}
