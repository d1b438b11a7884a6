/* Choose the CPUs of server and driver: disjoint if there are at least two. */
#define _GNU_SOURCE /* CPU_SET, sched_setaffinity */

#include "web.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

static cpu_set_t allowed;

int web_placement_find(struct web_placement *placement, const struct web_options *options) {
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return web_fail("CPUs: cannot query the allowed ones: %s", strerror(errno));
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed)) {
            placement->server = cpu;
        }
    }
    placement->shared = CPU_COUNT(&allowed) == 1;
    /* If the driver shares the server's CPU, it does not spin. */
    placement->spin_ns =
        placement->shared || web_group_has_quota() ? 0 : options->spin_us * UINT64_C(1000);
    size_t used = 0;
    placement->driver[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < sizeof placement->driver; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed) && (cpu != placement->server || placement->shared)) {
            used += (size_t)snprintf(placement->driver + used, sizeof placement->driver - used,
                                     "%s%d", used == 0 ? "" : ",", cpu);
        }
    }
    return 0;
}

int web_place_server(const struct web_placement *placement) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)placement->server, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

int web_place_driver(const struct web_placement *placement) {
    cpu_set_t others = allowed;
    if (!placement->shared) {
        CPU_CLR((size_t)placement->server, &others);
    }
    return sched_setaffinity(0, sizeof others, &others) != 0
               ? web_fail("CPUs: cannot pin to %s: %s", placement->driver, strerror(errno))
               : 0;
}
