/* A heap of timers: the earliest comes first, and any can be cancelled. */
#include "timed.h"

#include <stdlib.h>

static void put(struct web_timers *timers, size_t place, struct web_timer *timer) {
    timers->heap[place] = timer;
    timer->place = place + 1;
}

static void rise(struct web_timers *timers, size_t place, struct web_timer *timer) {
    while (place > 0 && timers->heap[(place - 1) / 2]->at_ns > timer->at_ns) {
        put(timers, place, timers->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(timers, place, timer);
}

static void sink(struct web_timers *timers, size_t place, struct web_timer *timer) {
    for (size_t child; (child = 2 * place + 1) < timers->count; place = child) {
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->at_ns < timers->heap[child]->at_ns) {
            child++;
        }
        if (timers->heap[child]->at_ns >= timer->at_ns) {
            break;
        }
        put(timers, place, timers->heap[child]);
    }
    put(timers, place, timer);
}

int web_timers_set(struct web_timers *timers, struct web_timer *timer, uint64_t at_ns) {
    web_timers_cancel(timers, timer);
    struct web_timer **grown =
        web_grown((void *)timers->heap, timers->count, &timers->room, sizeof *grown, "timers");
    if (grown == NULL) {
        return -1;
    }
    timers->heap = grown;
    timer->at_ns = at_ns;
    rise(timers, timers->count++, timer);
    return 0;
}

void web_timers_cancel(struct web_timers *timers, struct web_timer *timer) {
    if (timer->place == 0) {
        return;
    }
    size_t place = timer->place - 1;
    struct web_timer *last = timers->heap[--timers->count];
    timer->place = 0;
    if (last == timer) {
        return;
    }
    if (place > 0 && timers->heap[(place - 1) / 2]->at_ns > last->at_ns) {
        rise(timers, place, last);
    } else {
        sink(timers, place, last);
    }
}

struct web_timer *web_timers_first(const struct web_timers *timers) {
    return timers->count == 0 ? NULL : timers->heap[0];
}

void web_timers_free(struct web_timers *timers) {
    free((void *)timers->heap);
    *timers = (struct web_timers){0};
}
