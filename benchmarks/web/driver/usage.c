/* What the server uses in a window: processor time, memory, and the cache of a proxy. */
#define _POSIX_C_SOURCE 200809L

#include "web.h"

#include <stdlib.h>

/* The exact total, split in the reported proportion of user to system time. */
static struct web_cpu spent_between(const struct web_cpu *before, const struct web_cpu *after) {
    /* The subtrahend is read slightly later than the minuend. */
    int64_t user = (int64_t)(after->user_ns - before->user_ns);
    int64_t system = (int64_t)(after->system_ns - before->system_ns);
    double share = user <= 0 ? 0 : system <= 0 ? 1 : (double)user / (double)(user + system);
    struct web_cpu spent = {.total_ns = after->total_ns - before->total_ns};
    spent.user_ns = (uint64_t)((double)spent.total_ns * share);
    spent.system_ns = spent.total_ns - spent.user_ns;
    return spent;
}

static int read_cpu(const struct web_usage *usage, struct web_cpu *used) {
    return web_accounting_read(&usage->accounting, used) != 0
               ? web_fail("the server reported no processor time")
               : 0;
}

int web_usage_begin(struct web_usage *usage) {
    return read_cpu(usage, &usage->before);
}

int web_usage_end(struct web_usage *usage) {
    struct web_cpu after;
    if (read_cpu(usage, &after) != 0) {
        return -1;
    }
    usage->cpu = spent_between(&usage->before, &after);
    return 0;
}

/* Anonymous memory of the largest direct child of the main process: the children serve requests and
 * start CGI programs. */
static uint64_t resident_kib(pid_t main_process) {
    struct web_process *list = NULL;
    ssize_t count = web_descendants(main_process, false, &list);
    uint64_t largest = 0;
    for (ssize_t i = 0; i < count; i++) {
        uint64_t kib = list[i].parent == main_process ? web_resident_kib(list[i].pid) : 0;
        largest = kib > largest ? kib : largest;
    }
    free(list);
    return largest;
}

int web_usage_conclude(struct web_usage *usage, const struct web_server *server) {
    if (usage->accounting.version != 0 && !web_accounting_own(&usage->accounting)) {
        return web_fail("control group: another process joined during the run");
    }
    usage->resident_kib = resident_kib(server->pid);
    if (server->origin != NULL && web_is(server->options->server, "nginx")) {
        usage->cached_bytes = web_folder_bytes(server->folder, "cache");
    }
    return web_server_check(server);
}
