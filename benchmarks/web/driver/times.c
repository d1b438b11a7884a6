/* Samples of one quantity, and their percentiles. */
#include "web.h"

#include <stdlib.h>

int web_times_add(struct web_times *times, uint64_t ns) {
    uint64_t *grown = web_grown(times->ns, times->count, &times->room, sizeof *grown, "latencies");
    if (grown == NULL) {
        return -1;
    }
    times->ns = grown;
    times->ns[times->count++] = ns;
    return 0;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void web_times_sort(struct web_times *times) {
    if (times->count > 0) {
        qsort(times->ns, times->count, sizeof *times->ns, compare);
    }
}

bool web_times_percentile(const struct web_times *times, uint64_t count, unsigned permille,
                          uint64_t *ns) {
    uint64_t rank = (count * permille + 999) / 1000;
    rank = rank == 0 ? 1 : rank;
    if (rank > times->count) {
        return false;
    }
    *ns = times->ns[rank - 1];
    return true;
}

void web_times_free(struct web_times *times) {
    free(times->ns);
    *times = (struct web_times){0};
}
