/* Samples of one quantity, and their percentiles. */
#include "web.h"

#include <stdlib.h>

enum { FIRST_ROOM = 65536 };

int web_times_add(struct web_times *times, uint64_t ns) {
    if (times->count == times->room) {
        size_t room = times->room == 0 ? FIRST_ROOM : times->room * 2;
        uint64_t *more = realloc(times->ns, room * sizeof *more);
        if (more == NULL) {
            return web_fail("latencies: cannot allocate memory for %zu", room);
        }
        times->ns = more;
        times->room = room;
    }
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
