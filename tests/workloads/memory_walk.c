/* Touch pages of a mapped file in a known order: walk FILE loop|zipf|random TOUCHES
 * [random-advice]. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static uint64_t state = 88172645463325252u;

static double uniform(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

int main(int count, char **words) {
    if (count < 4) {
        return 2;
    }
    int file = open(words[1], O_RDONLY);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0) {
        return 3;
    }
    long pages = found.st_size / PAGE;
    volatile const char *data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        return 4;
    }
    if (count > 4 && madvise((void *)(uintptr_t)data, (size_t)found.st_size, MADV_RANDOM) != 0) {
        return 5;
    }
    long touches = atol(words[3]);
    for (long at = 0; at < touches; at++) {
        long page = at % pages;
        if (words[2][0] == 'z') {
            /* Zipf with exponent 1, over pages in a scattered order. The factor is prime, so no two
             * ranks share a page. */
            page = (long)(pow((double)pages, uniform())) % pages * 7919 % pages;
        } else if (words[2][0] == 'r') {
            page = (long)((double)pages * uniform());
        }
        (void)data[page * PAGE];
    }
    return 0;
}
