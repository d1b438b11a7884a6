/* An empty loop, measured by the harness of benchmarks/lm: the result is the overhead of the
 * harness. */
#include "harness/lm.h"

static int empty(uint64_t operations, void *cookie) {
    (void)cookie;
    for (uint64_t i = 0; i < operations; i++) {
        lm_keep(NULL);
    }
    return 0;
}

int main(int argc, char **argv) {
    return lm_latency_main("empty", "A loop that does nothing.", empty, argc, argv);
}
