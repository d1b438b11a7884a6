/* Assignment of copies to CPUs. */
#define _GNU_SOURCE

#include "copies.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct place {
    long package, core, cpu;
};

/* If the system does not report the topology, all CPUs count as one package, and each CPU as a
 * core. */
static long topology(int cpu, const char *what, long unknown) {
    char name[128];
    long value = unknown;
    (void)snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
    FILE *file = fopen(name, "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &value) != 1) {
            value = unknown;
        }
        (void)fclose(file);
    }
    return value;
}

static int by_place(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->package != b->package) {
        return a->package < b->package ? -1 : 1;
    }
    if (a->core != b->core) {
        return a->core < b->core ? -1 : 1;
    }
    return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

int copies_place(struct copies_run *run) {
    for (size_t i = 0; i < run->options->copies; i++) {
        run->copy[i].cpu = -1;
    }
    if (strcmp(run->options->placement, "free") == 0) {
        return 0;
    }
    cpu_set_t allowed;
    static struct place places[CPU_SETSIZE];
    size_t count = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        (void)snprintf(run->failure, sizeof run->failure, "cannot read the available CPUs: %s",
                       strerror(errno));
        return -1;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed)) {
            places[count++] = (struct place){topology(cpu, "physical_package_id", 0),
                                             topology(cpu, "core_id", cpu), cpu};
        }
    }
    qsort(places, count, sizeof places[0], by_place);
    for (size_t i = 0; i < run->options->copies; i++) {
        run->copy[i].cpu = (int)places[i % count].cpu;
    }
    return 0;
}
