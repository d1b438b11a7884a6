/* Decision order: the variable with the highest activity in recent conflicts first (Moskewicz et
 * al., "Chaff: engineering an efficient SAT solver", 2001). */
#include "sat.h"

#include "shared/sp.h"

static const uint32_t ABSENT = UINT32_MAX;

/* Ties go to the lower number, so the order is identical on all machines. */
static int before(const struct sat_order *order, uint32_t a, uint32_t b) {
    return order->activity[a] > order->activity[b] ||
           (order->activity[a] == order->activity[b] && a < b);
}

static void set(struct sat_order *order, size_t place, uint32_t variable) {
    order->heap[place] = variable;
    order->place[variable] = (uint32_t)place;
}

static void up(struct sat_order *order, size_t place) {
    uint32_t variable = order->heap[place];
    while (place > 0 && before(order, variable, order->heap[(place - 1) / 2])) {
        set(order, place, order->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    set(order, place, variable);
}

static void down(struct sat_order *order, size_t place) {
    uint32_t variable = order->heap[place];
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= order->used) {
            break;
        }
        if (child + 1 < order->used && before(order, order->heap[child + 1], order->heap[child])) {
            child++;
        }
        if (!before(order, order->heap[child], variable)) {
            break;
        }
        set(order, place, order->heap[child]);
        place = child;
    }
    set(order, place, variable);
}

void sat_order_open(struct sat_solver *solver) {
    struct sat_order *order = &solver->order;
    const uint32_t count = solver->variables;
    order->heap = sp_allocate(solver->program, count, sizeof *order->heap);
    order->place = sp_allocate(solver->program, count, sizeof *order->place);
    order->activity = sp_allocate(solver->program, count, sizeof *order->activity);
    order->increment = 1;
    for (uint32_t variable = 0; variable < count; variable++) {
        order->place[variable] = ABSENT;
        sat_order_put(order, variable);
    }
}

void sat_order_put(struct sat_order *order, uint32_t variable) {
    if (order->place[variable] == ABSENT) {
        order->heap[order->used] = variable;
        up(order, order->used++);
    }
}

uint32_t sat_order_take(struct sat_order *order) {
    uint32_t variable = order->heap[0];
    order->place[variable] = ABSENT;
    if (--order->used > 0) {
        set(order, 0, order->heap[order->used]);
        down(order, 0);
    }
    return variable;
}

void sat_order_raise(struct sat_solver *solver, uint32_t variable) {
    struct sat_order *order = &solver->order;
    order->activity[variable] += order->increment;
    if (order->activity[variable] > 0x1p300) {
        /* Powers of two: scaling does not round and preserves the order. */
        for (uint32_t i = 0; i < solver->variables; i++) {
            order->activity[i] *= 0x1p-300;
        }
        order->increment *= 0x1p-300;
    }
    if (order->place[variable] != ABSENT) {
        up(order, order->place[variable]);
    }
}
