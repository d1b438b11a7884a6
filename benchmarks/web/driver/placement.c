/* Choose the CPUs of server and driver: by default disjoint, if there are at least two. */
#define _GNU_SOURCE /* CPU_SET, sched_setaffinity */

#include "web.h"

#include <errno.h>
#include <sched.h>

static cpu_set_t server_cpus, driver_cpus;

static void list(const cpu_set_t *cpus, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < bytes; cpu++) {
        if (CPU_ISSET((size_t)cpu, cpus)) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%d", used == 0 ? "" : ",", cpu);
        }
    }
}

int web_placement_find(struct web_placement *placement, const struct web_options *options) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return web_fail("CPUs: cannot query the allowed ones: %s", strerror(errno));
    }
    server_cpus = driver_cpus = allowed;
    placement->server = -1;
    placement->shared = true;
    if (options->load != NULL) {
        placement->shared = false;
    } else if (web_is(options->server_cpus, "last")) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET((size_t)cpu, &allowed)) {
                placement->server = cpu;
            }
        }
        CPU_ZERO(&server_cpus);
        CPU_SET((size_t)placement->server, &server_cpus);
        placement->shared = CPU_COUNT(&allowed) == 1;
        if (!placement->shared) {
            CPU_CLR((size_t)placement->server, &driver_cpus);
        }
    }
    /* If the driver shares the server's CPU, it does not spin. */
    /* The same holds for the origin behind a proxy, which shares the driver's CPUs. */
    bool crowded = web_proxied(options) && CPU_COUNT(&driver_cpus) == 1;
    /* A server on another host does not pay for the driver's wake-up. */
    bool apart = options->load != NULL;
    placement->spin_ns = placement->shared || crowded || apart || web_group_has_quota()
                             ? 0
                             : options->spin_us * UINT64_C(1000);
    list(&server_cpus, placement->servers, sizeof placement->servers);
    list(&driver_cpus, placement->driver, sizeof placement->driver);
    return 0;
}

int web_place_server(void) {
    return sched_setaffinity(0, sizeof server_cpus, &server_cpus);
}

int web_place_driver(const struct web_placement *placement) {
    return sched_setaffinity(0, sizeof driver_cpus, &driver_cpus) != 0
               ? web_fail("CPUs: cannot pin to %s: %s", placement->driver, strerror(errno))
               : 0;
}
