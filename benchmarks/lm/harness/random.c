/* Random numbers that are identical on all machines. */
#include "lm.h"

#include <stdlib.h>

uint64_t lm_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t lm_seed(const char *program) {
    uint64_t seed = 1;
    const char *text = getenv("REGATTA_SEED");
    if (text != NULL && !lm_number_parse(text, 0, UINT64_MAX, &seed)) {
        lm_usage_error(program, "REGATTA_SEED", "an integer from 0 to 18446744073709551615", text);
    }
    return seed;
}
