/*
 * Bandwidth of memory: reading, writing, copying and filling by loops of our own, and copying and
 * filling by the C library, over areas from within the first cache to well past the last.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/lm.h"
#include "harness/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "bw_mem";
static const char SUMMARY[] =
    "Measures the bandwidth of memory, a series for each operation and size: read (every word is\n"
    "added up), write (every 8 bytes get another value), copy and fill (16 bytes at a "
    "time)\n"
    "by loops, libc_copy and libc_fill by memcpy() and memset(). Every process has separate "
    "areas;\n"
    "copies go from one area of the size to another. The data read and written are checked.\n"
    "An operation is one pass over the area. Metric: bandwidth, in MB/s (10^6 bytes); a byte that\n"
    "is copied counts once.";

/* What every processor of either architecture loads and stores at once, four to a turn. The empty
 * statement in each turn keeps a loop from being replaced by a call of memcpy() or memset(). */
typedef uint64_t mem_vector __attribute__((vector_size(16)));
#define KEEP_LOOP __asm__ volatile("")

enum { PAGE_BYTES = 4096 };
static const uint64_t SEED = UINT64_C(0x0123456789abcdef);

struct areas {
    const struct operation *operation;
    uint64_t bytes;
    uint64_t *target, *source; /* source: only where the operation has one */
    uint64_t passes, sum;
};

struct operation {
    const char *name;
    lm_step *benchmark;
    bool copies;
    /* Whether the areas are what `passes` passes leave. */
    bool (*verified)(const struct areas *areas);
};

static uint64_t word_count(const struct areas *areas) {
    return areas->bytes / sizeof(uint64_t);
}

/* A different value in each place, so that a copy of a wrong place is found. */
static uint64_t word_at(uint64_t index) {
    return (index + 1) * SEED;
}

static int mem_read(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    const mem_vector *at = (const mem_vector *)(const void *)areas->target;
    const uint64_t vectors = areas->bytes / sizeof *at;
    mem_vector a = {0}, b = {0}, c = {0}, d = {0};
    for (uint64_t pass = 0; pass < operations; pass++) {
        a = b = c = d = (mem_vector){0};
        for (uint64_t i = 0; i < vectors; i += 4) {
            a += at[i];
            b += at[i + 1];
            c += at[i + 2];
            d += at[i + 3];
            KEEP_LOOP;
        }
        lm_keep(areas);
    }
    a += b + c + d;
    areas->sum = a[0] + a[1];
    areas->passes += operations;
    return 0;
}

static int mem_write(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    /* volatile, or a compiler would make vectors of the words. */
    volatile uint64_t *at = areas->target;
    const uint64_t words = word_count(areas);
    for (uint64_t pass = 0; pass < operations; pass++) {
        uint64_t value = ++areas->passes;
        for (uint64_t i = 0; i < words; i += 8, value += 8) {
            at[i] = value;
            at[i + 1] = value + 1;
            at[i + 2] = value + 2;
            at[i + 3] = value + 3;
            at[i + 4] = value + 4;
            at[i + 5] = value + 5;
            at[i + 6] = value + 6;
            at[i + 7] = value + 7;
        }
        lm_keep(areas);
    }
    return 0;
}

static int mem_copy(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    mem_vector *restrict to = (mem_vector *)(void *)areas->target;
    const mem_vector *restrict from = (const mem_vector *)(const void *)areas->source;
    const uint64_t vectors = areas->bytes / sizeof *to;
    for (uint64_t pass = 0; pass < operations; pass++) {
        for (uint64_t i = 0; i < vectors; i += 4) {
            to[i] = from[i];
            to[i + 1] = from[i + 1];
            to[i + 2] = from[i + 2];
            to[i + 3] = from[i + 3];
            KEEP_LOOP;
        }
        lm_keep(areas);
    }
    areas->passes += operations;
    return 0;
}

static int mem_fill(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    mem_vector *to = (mem_vector *)(void *)areas->target;
    const mem_vector value = {SEED, SEED};
    const uint64_t vectors = areas->bytes / sizeof *to;
    for (uint64_t pass = 0; pass < operations; pass++) {
        for (uint64_t i = 0; i < vectors; i += 4) {
            to[i] = value;
            to[i + 1] = value;
            to[i + 2] = value;
            to[i + 3] = value;
            KEEP_LOOP;
        }
        lm_keep(areas);
    }
    areas->passes += operations;
    return 0;
}

static int mem_libc_copy(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    for (uint64_t pass = 0; pass < operations; pass++) {
        (void)memcpy(areas->target, areas->source, (size_t)areas->bytes);
        lm_keep(areas->target);
    }
    areas->passes += operations;
    return 0;
}

static int mem_libc_fill(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    for (uint64_t pass = 0; pass < operations; pass++) {
        (void)memset(areas->target, 0x5a, (size_t)areas->bytes);
        lm_keep(areas->target);
    }
    areas->passes += operations;
    return 0;
}

static bool read_verified(const struct areas *areas) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < word_count(areas); i++) {
        sum += word_at(i);
    }
    return areas->sum == sum;
}

static bool write_verified(const struct areas *areas) {
    for (uint64_t i = 0; i < word_count(areas); i++) {
        if (areas->target[i] != areas->passes + i) {
            return false;
        }
    }
    return true;
}

static bool copy_verified(const struct areas *areas) {
    for (uint64_t i = 0; i < word_count(areas); i++) {
        if (areas->target[i] != word_at(i)) {
            return false;
        }
    }
    return true;
}

static bool holds(const struct areas *areas, uint64_t word) {
    for (uint64_t i = 0; i < word_count(areas); i++) {
        if (areas->target[i] != word) {
            return false;
        }
    }
    return true;
}

static bool fill_verified(const struct areas *areas) {
    return holds(areas, SEED);
}

static bool libc_fill_verified(const struct areas *areas) {
    return holds(areas, UINT64_C(0x5a5a5a5a5a5a5a5a));
}

static const struct operation OPERATIONS[] = {
    {"read", mem_read, false, read_verified},
    {"write", mem_write, false, write_verified},
    {"copy", mem_copy, true, copy_verified},
    {"fill", mem_fill, false, fill_verified},
    {"libc_copy", mem_libc_copy, true, copy_verified},
    {"libc_fill", mem_libc_fill, false, libc_fill_verified},
};

static uint64_t *new_area(uint64_t bytes) {
    void *area = NULL;
    int status = posix_memalign(&area, PAGE_BYTES, (size_t)bytes);
    if (status != 0) {
        errno = status;
        return NULL;
    }
    return area;
}

static void release(struct areas *areas) {
    free(areas->target);
    free(areas->source);
    areas->target = areas->source = NULL;
}

static int mem_initialise(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    if (operations != 0) {
        return 0;
    }
    areas->passes = 0;
    if ((areas->target = new_area(areas->bytes)) == NULL ||
        (areas->operation->copies && (areas->source = new_area(areas->bytes)) == NULL)) {
        release(areas);
        return -1;
    }
    /* Every page is written before it is measured: those never written are all the same one. */
    (void)memset(areas->target, 0, (size_t)areas->bytes);
    uint64_t *from = areas->operation->copies ? areas->source : areas->target;
    for (uint64_t i = 0; i < word_count(areas); i++) {
        from[i] = word_at(i);
    }
    return 0;
}

static int mem_cleanup(uint64_t operations, void *cookie) {
    struct areas *areas = cookie;
    if (operations != 0 || areas->target == NULL) {
        return 0;
    }
    bool right = areas->passes == 0 || areas->operation->verified(areas);
    release(areas);
    if (!right) {
        /* The nearest that errno has to say that the data are wrong. */
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static void measure(struct lm_harness *harness, const struct operation *operation, uint64_t bytes) {
    struct areas areas = {.operation = operation, .bytes = bytes};
    const struct lm_workload workload = {.initialise = mem_initialise,
                                         .benchmark = operation->benchmark,
                                         .cleanup = mem_cleanup,
                                         .cookie = &areas};
    const struct lm_parameter parameters[] = {{.name = "operation", .text = operation->name},
                                              {.name = "size_bytes", .number = bytes}};
    const struct lm_series series = {.bytes_per_operation = bytes,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

int main(int argc, char **argv) {
    static const char *const choices[] = {"all",  "read",      "write",     "copy",
                                          "fill", "libc_copy", "libc_fill", NULL};
    const char *chosen = choices[0], *sizes = "16,256,4096,65536";
    const struct lm_option options[] = {
        {.name = "--operation", .help = "operation", .text = &chosen, .choices = choices},
        {.name = "--kib", .help = "sizes of the area, in KiB", .text = &sizes},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    uint64_t kib[LM_MOST_SIZES] = {0};
    lm_options_parse(&program, &settings, argc, argv);
    size_t count = lm_sizes_parse(PROGRAM, "--kib", sizes, kib);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++) {
        for (size_t size = 0; size < count; size++) {
            if (strcmp(chosen, "all") == 0 || strcmp(chosen, OPERATIONS[i].name) == 0) {
                measure(&harness, &OPERATIONS[i], kib[size] * 1024);
            }
        }
    }
    return lm_close(&harness);
}
