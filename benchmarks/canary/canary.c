/*
 * A program that never changes: what changes its time is the host. One iteration does fixed work in
 * four parts, so that it depends on the processor, its caches and the memory, as programs do:
 * dependent multiplications, sorting (unpredictable branches in the cache), loads that depend on
 * each other from an area larger than most caches, and a sum over that area.
 *
 * Changing this file, its Makefile or the flags makes another canary, whose times are not
 * comparable. Therefore it uses no file of the other programs.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SORTED = 1 << 15, AREA = 1 << 22, LINE_WORDS = 8, LINES = AREA / LINE_WORDS };
enum { FAILED = 1, MISUSED = 2 };

static uint64_t sorted[SORTED];
static uint64_t area[AREA]; /* 32 MiB */

static void fail(const char *what, const char *why) {
    (void)fprintf(stderr, "canary: %s: %s\n", what, why);
    exit(FAILED);
}

static uint64_t now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        fail("clock", strerror(errno));
    }
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003) */
static uint64_t next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static uint64_t multiply(uint64_t turns) {
    uint64_t x = 1;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    return x;
}

static void sift(uint64_t *heap, size_t root, size_t size) {
    uint64_t value = heap[root];
    for (size_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
        if (child + 1 < size && heap[child] < heap[child + 1]) {
            child++;
        }
        if (heap[child] <= value) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = value;
}

static uint64_t sort(void) {
    uint64_t state = 88172645463325252U;
    for (size_t i = 0; i < SORTED; i++) {
        sorted[i] = next(&state);
    }
    for (size_t root = SORTED / 2; root-- > 0;) {
        sift(sorted, root, SORTED);
    }
    for (size_t size = SORTED; size-- > 1;) {
        uint64_t largest = sorted[0];
        sorted[0] = sorted[size];
        sorted[size] = largest;
        sift(sorted, 0, size);
    }
    for (size_t i = 1; i < SORTED; i++) {
        if (sorted[i - 1] > sorted[i]) {
            fail("sort", "wrong order");
        }
    }
    return sorted[SORTED / 2];
}

/* Link the lines of the area to one random cycle (Sattolo). The first word of a line is the next
 * line. */
static void link_lines(void) {
    uint64_t state = 1234567;
    for (size_t i = 0; i < AREA; i++) {
        area[i] = i % LINE_WORDS == 0 ? i / LINE_WORDS : i;
    }
    for (size_t i = LINES - 1; i > 0; i--) {
        size_t j = (size_t)(next(&state) % i);
        uint64_t line = area[i * LINE_WORDS];
        area[i * LINE_WORDS] = area[j * LINE_WORDS];
        area[j * LINE_WORDS] = line;
    }
}

static uint64_t chase(uint64_t steps) {
    uint64_t line = 0;
    for (uint64_t i = 0; i < steps; i++) {
        line = area[line * LINE_WORDS];
    }
    return line;
}

static uint64_t sum(void) {
    uint64_t total = 0;
    for (size_t i = 0; i < AREA; i++) {
        total += area[i] ^ i;
    }
    return total;
}

/* The parts in the caches. About 35 ms on a processor of 2020. */
static uint64_t compute(void) {
    uint64_t result = multiply(UINT64_C(20000000));
    for (int i = 0; i < 3; i++) {
        result ^= sort();
    }
    return result;
}

/* All parts. About 70 ms on the same. */
static uint64_t mix(void) {
    uint64_t result = compute() ^ chase(100000);
    for (int i = 0; i < 2; i++) {
        result = result * 31 + sum();
    }
    return result;
}

static uint64_t number(const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > 1000000) {
        (void)fprintf(stderr, "canary: expected a whole number from 1 to 1000000, got %s\n", text);
        exit(MISUSED);
    }
    return (uint64_t)value;
}

int main(int count, char **arguments) {
    int is_mixed = count == 4 && strcmp(arguments[1], "mixed") == 0;
    if (count != 4 || (!is_mixed && strcmp(arguments[1], "processor") != 0)) {
        (void)fprintf(stderr, "usage: canary mixed|processor ITERATIONS TURNS\n");
        return MISUSED;
    }
    uint64_t (*work)(void) = is_mixed ? mix : compute;
    uint64_t iterations = number(arguments[2]), turns = number(arguments[3]);
    const char *path = getenv("REGATTA_RESULTS");
    FILE *results = path == NULL ? stderr : fopen(path, "a");
    if (results == NULL) {
        fail(path, strerror(errno));
    }
    if (is_mixed) {
        link_lines();
    }
    uint64_t expected = work(); /* also loads what it uses */
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t start_ns = now_ns();
        for (uint64_t turn = 0; turn < turns; turn++) {
            if (work() != expected) {
                fail("work", "another result than before");
            }
        }
        (void)fprintf(results,
                      "{\"iteration\": %" PRIu64 ", \"metric\": \"elapsed\", \"value\": %" PRIu64
                      ", \"unit\": \"ns\"}\n",
                      i, now_ns() - start_ns);
    }
    if (fflush(results) != 0 || ferror(results) != 0) {
        fail("results", strerror(errno));
    }
    printf("%016" PRIx64 "\n", expected);
    return fflush(stdout) == 0 ? 0 : FAILED;
}
