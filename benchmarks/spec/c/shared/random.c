/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
#include "sp.h"

uint64_t sp_random_next(struct sp_random *random) {
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double sp_random_uniform(struct sp_random *random) {
    return (double)(sp_random_next(random) >> 11) * 0x1p-53;
}

double sp_random_between(struct sp_random *random, double low, double high) {
    return low + (high - low) * sp_random_uniform(random);
}

uint64_t sp_random_below(struct sp_random *random, uint64_t limit) {
    return ((sp_random_next(random) >> 32) * limit) >> 32;
}
