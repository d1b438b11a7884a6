/* A program whose time has known parts: loops of four kinds. `TURNS` has the turns of each. Prints
 * the time of each in s. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static double compute(long turns) {
    volatile double x = 1;

    for (long i = 0; i < turns; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

__attribute__((noinline)) static void ask(long turns) {
    static char buffer[4096];
    int zero = open("/dev/zero", O_RDONLY);

    for (long i = 0; i < turns; i++)
        if (read(zero, buffer, sizeof(buffer)) < 0)
            exit(1);
    close(zero);
}

__attribute__((noinline)) static void touch(long turns) {
    for (long i = 0; i < turns; i++) {
        char *page =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (int at = 0; at < 1 << 20; at += 4096)
            page[at] = 1;
        munmap(page, 1 << 20);
    }
}

int main(void) {
    const char *text = getenv("TURNS");
    long turns[4];
    double t[5];

    if (text == NULL ||
        sscanf(text, "%ld %ld %ld %ld", turns, turns + 1, turns + 2, turns + 3) != 4)
        return 1;
    t[0] = now();
    compute(turns[0]);
    t[1] = now();
    ask(turns[1]);
    t[2] = now();
    touch(turns[2]);
    t[3] = now();
    usleep(turns[3]);
    t[4] = now();
    printf("%.6f %.6f %.6f %.6f\n", t[1] - t[0], t[2] - t[1], t[3] - t[2], t[4] - t[3]);
    return 0;
}
