/* Hash the numbers below the argument, and print the result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t hash = 14695981039346656037u;
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    for (uint64_t number = 0; number < count; number++) {
        hash = (hash ^ number) * 1099511628211u;
    }
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
