/* A loop that does nothing, measured by the harness of benchmarks/lm: what is left is the harness'
 * own. */
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
