/*
 * The kernels of J. McCalpin's STREAM (version 1: copy, scale, add, triad; version 2: fill, copy,
 * daxpy, sum), written from their definitions in "Memory bandwidth and machine balance in current
 * high performance computers", 1995, and in table III of the paper that lm.h names.
 *
 * Bytes are counted as STREAM does: what the kernel reads and writes, not what the caches fetch
 * before they write.
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/lm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char PROGRAM[] = "stream";
static const char SUMMARY[] =
    "Measures memory bandwidth with the kernels of STREAM 1 (copy, scale, add, triad) and STREAM "
    "2\n"
    "(fill, copy, daxpy, sum). Every process has separate arrays; their size should be at least\n"
    "four times that of the last cache. What the arrays hold is checked after each series. An\n"
    "operation is one element of 8 bytes. Metric: bandwidth, in MB/s (10^6 bytes), by the bytes\n"
    "that the kernel reads and writes.";

/* Two elements at a time, which every processor of either architecture can, and eight a turn. The
 * empty statement in each turn keeps the loop from being replaced by a call of memcpy() or
 * memset(). */
typedef double stream_vector __attribute__((vector_size(16)));
enum { LANES = 2, VECTORS_PER_TURN = 4 };

/* The scalar is exact in binary, and so small that daxpy can be repeated 2^33 times before a sum
 * is rounded: every result is known exactly. */
static const double SCALAR = 0x1p-20;
static const double A = 1, B = 2, C = 5;

struct arrays {
    const struct kernel *kernel;
    uint64_t elements;
    stream_vector *a, *b, *c;
    uint64_t passes; /* how often the kernel has run over the arrays */
    double sum;      /* of the last pass */
};

struct kernel {
    const char *name;
    uint64_t version; /* of STREAM */
    uint64_t bytes;   /* read and written an element */
    lm_step *benchmark;
    /* The array that it writes (0: none), and what each element of it must then hold: `expected`,
     * and `growth` more for each pass. */
    char written;
    double expected, growth;
};

/* `statement` is a macro that does vector i + j. Four sums, so that none waits for another. */
#define STREAM_KERNEL(name, statement)                                                             \
    static int name(uint64_t operations, void *cookie) {                                           \
        struct arrays *arrays = cookie;                                                            \
        stream_vector *restrict a = arrays->a, *restrict b = arrays->b, *restrict c = arrays->c;   \
        const uint64_t vectors = arrays->elements / LANES;                                         \
        const stream_vector q = {SCALAR, SCALAR};                                                  \
        stream_vector sum[VECTORS_PER_TURN] = {{0}};                                               \
        for (uint64_t pass = operations / arrays->elements; pass > 0; pass--) {                    \
            sum[0] = sum[1] = sum[2] = sum[3] = (stream_vector){0};                                \
            for (uint64_t i = 0; i < vectors; i += VECTORS_PER_TURN) {                             \
                statement(0) statement(1) statement(2) statement(3) __asm__ volatile("");          \
            }                                                                                      \
            arrays->passes++;                                                                      \
            lm_keep(arrays);                                                                       \
        }                                                                                          \
        sum[0] += sum[1] + sum[2] + sum[3];                                                        \
        arrays->sum = sum[0][0] + sum[0][1];                                                       \
        (void)a, (void)b, (void)c, (void)q;                                                        \
        return 0;                                                                                  \
    }

#define COPY(j) c[i + j] = a[i + j];
#define SCALE(j) b[i + j] = q * c[i + j];
#define ADD(j) c[i + j] = a[i + j] + b[i + j];
#define TRIAD(j) a[i + j] = b[i + j] + q * c[i + j];
#define FILL(j) a[i + j] = q;
#define COPY_2(j) a[i + j] = b[i + j];
#define DAXPY(j) a[i + j] += q * b[i + j];
#define SUM(j) sum[j] += a[i + j];
STREAM_KERNEL(stream_copy, COPY)
STREAM_KERNEL(stream_scale, SCALE)
STREAM_KERNEL(stream_add, ADD)
STREAM_KERNEL(stream_triad, TRIAD)
STREAM_KERNEL(stream_fill, FILL)
STREAM_KERNEL(stream_copy_2, COPY_2)
STREAM_KERNEL(stream_daxpy, DAXPY)
STREAM_KERNEL(stream_sum, SUM)

/* The expected values are computed by hand from A = 1, B = 2, C = 5 and the scalar 1/1048576. */
static const struct kernel KERNELS[] = {
    {"copy", 1, 16, stream_copy, 'c', 1, 0},
    {"scale", 1, 16, stream_scale, 'b', 5.0 / 1048576, 0},
    {"add", 1, 24, stream_add, 'c', 3, 0},
    {"triad", 1, 24, stream_triad, 'a', 2 + 5.0 / 1048576, 0},
    {"fill", 2, 8, stream_fill, 'a', 1.0 / 1048576, 0},
    {"copy", 2, 16, stream_copy_2, 'a', 2, 0},
    {"daxpy", 2, 24, stream_daxpy, 'a', 1, 1.0 / 524288},
    {"sum", 2, 8, stream_sum, 0, 0, 0},
};

static stream_vector *new_array(uint64_t elements, double value) {
    void *area = NULL;
    int status = posix_memalign(&area, 4096, (size_t)(elements * sizeof(double)));
    if (status != 0) {
        errno = status;
        return NULL;
    }
    double *array = area;
    for (uint64_t i = 0; i < elements; i++) {
        array[i] = value;
    }
    return area;
}

static void release(struct arrays *arrays) {
    free(arrays->a);
    free(arrays->b);
    free(arrays->c);
    arrays->a = arrays->b = arrays->c = NULL;
}

static int stream_initialise(uint64_t operations, void *cookie) {
    struct arrays *arrays = cookie;
    if (operations != 0) {
        return 0;
    }
    arrays->passes = 0;
    if ((arrays->a = new_array(arrays->elements, A)) == NULL ||
        (arrays->b = new_array(arrays->elements, B)) == NULL ||
        (arrays->c = new_array(arrays->elements, C)) == NULL) {
        release(arrays);
        return -1;
    }
    return 0;
}

static bool holds(const stream_vector *array, uint64_t elements, double expected) {
    const double *element = (const double *)array;
    for (uint64_t i = 0; i < elements; i++) {
        if (element[i] != expected) {
            return false;
        }
    }
    return true;
}

/* Whether the arrays and the sum are what the kernel must have left. */
static bool verified(const struct arrays *arrays) {
    const struct kernel *kernel = arrays->kernel;
    double written = kernel->expected + (double)arrays->passes * kernel->growth;
    return holds(arrays->a, arrays->elements, kernel->written == 'a' ? written : A) &&
           holds(arrays->b, arrays->elements, kernel->written == 'b' ? written : B) &&
           holds(arrays->c, arrays->elements, kernel->written == 'c' ? written : C) &&
           arrays->sum == (kernel->written == 0 ? (double)arrays->elements * A : 0);
}

static int stream_cleanup(uint64_t operations, void *cookie) {
    struct arrays *arrays = cookie;
    if (operations != 0 || arrays->a == NULL) {
        return 0;
    }
    bool right = arrays->passes == 0 || verified(arrays);
    release(arrays);
    if (!right) {
        /* "Bad message" is the nearest that errno has to say that the data are wrong. */
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

static void measure_kernel(struct lm_harness *harness, const struct kernel *kernel,
                           uint64_t elements) {
    struct arrays arrays = {.kernel = kernel, .elements = elements};
    const struct lm_workload workload = {.initialise = stream_initialise,
                                         .benchmark = kernel->benchmark,
                                         .cleanup = stream_cleanup,
                                         .cookie = &arrays,
                                         .operations_per_turn = elements};
    const struct lm_parameter parameters[] = {{.name = "version", .number = kernel->version},
                                              {.name = "kernel", .text = kernel->name},
                                              {.name = "array_bytes", .number = elements * 8}};
    const struct lm_series series = {.bytes_per_operation = kernel->bytes,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_run(harness, &workload, &series);
}

static bool is_chosen(const struct kernel *kernel, const char *version, const char *name) {
    return (strcmp(version, "all") == 0 || (uint64_t)(version[0] - '0') == kernel->version) &&
           (strcmp(name, "all") == 0 || strcmp(name, kernel->name) == 0);
}

int main(int argc, char **argv) {
    static const char *const versions[] = {"all", "1", "2", NULL};
    static const char *const kernels[] = {"all",  "copy",  "scale", "add", "triad",
                                          "fill", "daxpy", "sum",   NULL};
    const char *version = versions[0], *kernel = kernels[0];
    uint64_t mib = 64;
    const struct lm_option options[] = {
        {.name = "--version", .help = "version of STREAM", .text = &version, .choices = versions},
        {.name = "--kernel", .help = "kernel", .text = &kernel, .choices = kernels},
        {.name = "--mib",
         .help = "size of each array, in MiB",
         .number = &mib,
         .minimum = 1,
         .maximum = UINT64_C(1) << 20},
    };
    const struct lm_program program = {.name = PROGRAM,
                                       .summary = SUMMARY,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    const size_t count = sizeof KERNELS / sizeof KERNELS[0];
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        chosen += is_chosen(&KERNELS[i], version, kernel);
    }
    if (chosen == 0) {
        lm_usage_error(PROGRAM, "--kernel", "a kernel of this --version", kernel);
    }

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < count; i++) {
        if (is_chosen(&KERNELS[i], version, kernel)) {
            measure_kernel(&harness, &KERNELS[i], mib * 1024 * 1024 / sizeof(double));
        }
    }
    return lm_close(&harness);
}
