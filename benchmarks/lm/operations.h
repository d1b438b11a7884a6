/*
 * Chains of arithmetic operations, for lat_ops and par_ops. Each operation depends on the result
 * of the previous one in its chain; several independent chains run in parallel.
 *
 * After each operation the result passes through an empty statement that is opaque to the
 * compiler. Therefore the compiler cannot evaluate, merge or vectorize operations.
 *
 * The operands are not easier than in general. No chain reaches 0, a subnormal number or infinity,
 * however long it is. Floating-point additions and multiplications are undone exactly by the next
 * operation, and x -> a / x returns to its start. Integer quotients have half the bits of the
 * type, because many processors divide faster if numbers are small.
 */
#ifndef LM_OPERATIONS_H
#define LM_OPERATIONS_H

#include "harness/lm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Maximum number of chains. Programs that need only one define OPS_ONE_CHAIN first. */
#ifdef OPS_ONE_CHAIN
static const uint64_t OPS_CHAINS[] = {1};
#else
static const uint64_t OPS_CHAINS[] = {1, 3, 6, 12};
#endif

enum { OPS_CHAIN_NUMBERS = sizeof OPS_CHAINS / sizeof OPS_CHAINS[0] };

/* Operations of each chain per turn of the loop. A single chain has many: the loop instructions run
 * in parallel, and yet the loop is subtracted, one cycle in 256. */
#ifdef OPS_ONE_CHAIN
enum { OPS_STEPS_PER_TURN = 256 };
#define OPS_TURN(...) OPS_16(OPS_4(__VA_ARGS__) OPS_4(__VA_ARGS__))
#else
enum { OPS_STEPS_PER_TURN = 32 };
#define OPS_TURN(...) OPS_16(__VA_ARGS__)
#endif

struct ops_integers {
    int64_t start, a, b, c;
};

struct ops_reals {
    double start, a, b, c;
};

struct ops_operation {
    const char *name, *type;
    lm_step *chains[OPS_CHAIN_NUMBERS]; /* OPS_CHAINS gives the number; the cookie is this struct */
    struct ops_integers integers;
    struct ops_reals reals;
    bool has_xor; /* each operation includes a xor in addition to its named operation */
    bool divides; /* takes about ten times as long as others */
};

/* Fail if a number has left the range in which an operation takes its usual time. */
static inline int ops_verdict(bool is_sound) {
    if (!is_sound) {
        errno = ERANGE;
    }
    return is_sound ? 0 : -1;
}

#define OPS_HIDE_INTEGER(x) __asm__ volatile("" : "+r"(x))
#if defined(__x86_64__)
#define OPS_HIDE_REAL(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define OPS_HIDE_REAL(x) __asm__ volatile("" : "+w"(x))
#else
#error "unknown asm constraint of floating-point registers for this architecture"
#endif

/* Expected value at the end. Integers cannot leave their range: they wrap, or stay within it. */
#define OPS_SOUND_INTEGER(x) true
#define OPS_SOUND_REAL(x) (isfinite(x) && (x) >= 0.25 && (x) <= 4)

/* One operation; a, b and c are variables of the function. The second of two differs if it must
 * undo the first. */
#define OPS_XOR_A(x) ((x) ^ a)
#define OPS_XOR_B(x) ((x) ^ b)
#define OPS_ADD_A(x) ((x) + a)
#define OPS_ADD_B(x) ((x) + b)
#define OPS_MUL_A(x) ((x) * a)
#define OPS_MUL_B(x) ((x) * b)
#define OPS_DIV(x) (a / (x))
/* A remainder is below its divisor: without the bits of b the next operation would be trivial. */
#define OPS_MOD(x) (((x) ^ b) % a)
#define OPS_MIX(x) (((x) + a) * b / c)

/* M(0, ...) M(1, ...) and so on, for the given number of chains. */
#define OPS_CHAINS_1(M, ...) M(0, __VA_ARGS__)
#define OPS_CHAINS_3(M, ...) M(0, __VA_ARGS__) M(1, __VA_ARGS__) M(2, __VA_ARGS__)
#define OPS_CHAINS_6(M, ...)                                                                       \
    OPS_CHAINS_3(M, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__) M(5, __VA_ARGS__)
#define OPS_CHAINS_12(M, ...)                                                                      \
    OPS_CHAINS_6(M, __VA_ARGS__)                                                                   \
    M(6, __VA_ARGS__)                                                                              \
    M(7, __VA_ARGS__) M(8, __VA_ARGS__) M(9, __VA_ARGS__) M(10, __VA_ARGS__) M(11, __VA_ARGS__)

#define OPS_4(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define OPS_16(...) OPS_4(OPS_4(__VA_ARGS__))

#define OPS_BEGIN(i, c_type, start, HIDE)                                                          \
    c_type x##i = (start);                                                                         \
    HIDE(x##i);
#define OPS_STEP(i, HIDE, STEP)                                                                    \
    x##i = STEP(x##i);                                                                             \
    HIDE(x##i);
#define OPS_CHECK(i, SOUND) is_sound = is_sound && SOUND(x##i);

#define OPS_FUNCTION(k, operation, type, c_type, KIND, values, FIRST, SECOND)                      \
    static int ops_##operation##_##type##_##k(uint64_t operations, void *cookie) {                 \
        const struct ops_operation *own = cookie;                                                  \
        c_type a = (c_type)own->values.a, b = (c_type)own->values.b, c = (c_type)own->values.c;    \
        OPS_HIDE_##KIND(a);                                                                        \
        OPS_HIDE_##KIND(b);                                                                        \
        OPS_HIDE_##KIND(c);                                                                        \
        OPS_CHAINS_##k(OPS_BEGIN, c_type, (c_type)own->values.start, OPS_HIDE_##KIND);             \
        for (uint64_t turn = operations / (OPS_STEPS_PER_TURN * k); turn > 0; turn--) {            \
            OPS_TURN(OPS_CHAINS_##k(OPS_STEP, OPS_HIDE_##KIND, FIRST)                              \
                         OPS_CHAINS_##k(OPS_STEP, OPS_HIDE_##KIND, SECOND))                        \
        }                                                                                          \
        bool is_sound = true;                                                                      \
        OPS_CHAINS_##k(OPS_CHECK, OPS_SOUND_##KIND);                                               \
        return ops_verdict(is_sound);                                                              \
    }

#ifdef OPS_ONE_CHAIN
#define OPS_DEFINE(...) OPS_FUNCTION(1, __VA_ARGS__)
#define OPS_CHAINS_OF(prefix) {prefix##1}
#else
#define OPS_DEFINE(...)                                                                            \
    OPS_FUNCTION(1, __VA_ARGS__)                                                                   \
    OPS_FUNCTION(3, __VA_ARGS__)                                                                   \
    OPS_FUNCTION(6, __VA_ARGS__)                                                                   \
    OPS_FUNCTION(12, __VA_ARGS__)
#define OPS_CHAINS_OF(prefix) {prefix##1, prefix##3, prefix##6, prefix##12}
#endif

/* Additions and multiplications of integers wrap, which only unsigned types may. */
OPS_DEFINE(xor, int, uint32_t, INTEGER, integers, OPS_XOR_A, OPS_XOR_B)
OPS_DEFINE(add, int, uint32_t, INTEGER, integers, OPS_ADD_A, OPS_ADD_B)
OPS_DEFINE(mul, int, uint32_t, INTEGER, integers, OPS_MUL_A, OPS_MUL_B)
OPS_DEFINE(div, int, int32_t, INTEGER, integers, OPS_DIV, OPS_DIV)
OPS_DEFINE(mod, int, int32_t, INTEGER, integers, OPS_MOD, OPS_MOD)
OPS_DEFINE(xor, int64, uint64_t, INTEGER, integers, OPS_XOR_A, OPS_XOR_B)
OPS_DEFINE(add, int64, uint64_t, INTEGER, integers, OPS_ADD_A, OPS_ADD_B)
OPS_DEFINE(mul, int64, uint64_t, INTEGER, integers, OPS_MUL_A, OPS_MUL_B)
OPS_DEFINE(div, int64, int64_t, INTEGER, integers, OPS_DIV, OPS_DIV)
OPS_DEFINE(mod, int64, int64_t, INTEGER, integers, OPS_MOD, OPS_MOD)
OPS_DEFINE(add, float, float, REAL, reals, OPS_ADD_A, OPS_ADD_B)
OPS_DEFINE(mul, float, float, REAL, reals, OPS_MUL_A, OPS_MUL_B)
OPS_DEFINE(div, float, float, REAL, reals, OPS_DIV, OPS_DIV)
OPS_DEFINE(mix, float, float, REAL, reals, OPS_MIX, OPS_MIX)
OPS_DEFINE(add, double, double, REAL, reals, OPS_ADD_A, OPS_ADD_B)
OPS_DEFINE(mul, double, double, REAL, reals, OPS_MUL_A, OPS_MUL_B)
OPS_DEFINE(div, double, double, REAL, reals, OPS_DIV, OPS_DIV)
OPS_DEFINE(mix, double, double, REAL, reals, OPS_MIX, OPS_MIX)

#define OPS_OF_INTEGERS(operation, type_, with_xor, with_division, ...)                            \
    {.name = #operation,                                                                           \
     .type = #type_,                                                                               \
     .has_xor = (with_xor),                                                                        \
     .divides = (with_division),                                                                   \
     .integers = {__VA_ARGS__},                                                                    \
     .chains = OPS_CHAINS_OF(ops_##operation##_##type_##_)}
#define OPS_OF_REALS(operation, type_, with_division, ...)                                         \
    {.name = #operation,                                                                           \
     .type = #type_,                                                                               \
     .divides = (with_division),                                                                   \
     .reals = {__VA_ARGS__},                                                                       \
     .chains = OPS_CHAINS_OF(ops_##operation##_##type_##_)}

/* start, a, b, c. */
static const struct ops_operation OPS_ALL[] = {
    OPS_OF_INTEGERS(xor, int, false, false, 0x12345679, 0x35a5a5a5, 0x4c3c3c3d, 1),
    OPS_OF_INTEGERS(add, int, false, false, 0x12345679, 0x35a5a5a5, 0x4c3c3c3d, 1),
    OPS_OF_INTEGERS(mul, int, false, false, 0x12345679, 0x35a5a5a5, 0x4c3c3c3d, 1),
    OPS_OF_INTEGERS(div, int, false, true, 46000, INT32_MAX, 1, 1),
    /* 15 bits of the divisor; b has none of them. */
    OPS_OF_INTEGERS(mod, int, true, true, 12345, 32749, 0x7fff8000, 1),
    OPS_OF_INTEGERS(xor, int64, false, false, 0x123456789abcdef1, 0x35a5a5a5a5a5a5a5,
                    0x4c3c3c3c3c3c3c3d, 1),
    OPS_OF_INTEGERS(add, int64, false, false, 0x123456789abcdef1, 0x35a5a5a5a5a5a5a5,
                    0x4c3c3c3c3c3c3c3d, 1),
    OPS_OF_INTEGERS(mul, int64, false, false, 0x123456789abcdef1, 0x35a5a5a5a5a5a5a5,
                    0x4c3c3c3c3c3c3c3d, 1),
    OPS_OF_INTEGERS(div, int64, false, true, 3000000000, INT64_MAX, 1, 1),
    /* 31 bits of the divisor. */
    OPS_OF_INTEGERS(mod, int64, true, true, 1234567890, 2147483629, 0x7fffffff80000000, 1),
    OPS_OF_REALS(add, float, false, 1.25, 0.5, -0.5, 1),
    OPS_OF_REALS(mul, float, false, 1.25, 2, 0.5, 1),
    OPS_OF_REALS(div, float, true, 1.7, 3.1, 1, 1),
    /* (1 + 1) * 1.5 / 3 = 1, exactly. */
    OPS_OF_REALS(mix, float, true, 1, 1.1, 1.3, 2.9),
    OPS_OF_REALS(add, double, false, 1.25, 0.5, -0.5, 1),
    OPS_OF_REALS(mul, double, false, 1.25, 2, 0.5, 1),
    OPS_OF_REALS(div, double, true, 1.7, 3.1, 1, 1),
    OPS_OF_REALS(mix, double, true, 1, 1.1, 1.3, 2.9),
};

enum { OPS_COUNT = sizeof OPS_ALL / sizeof OPS_ALL[0] };

#define OPS_OPERATION_CHOICES {"all", "xor", "add", "mul", "div", "mod", "mix", NULL}
#define OPS_TYPE_CHOICES {"all", "int", "int64", "float", "double", NULL}

static inline bool ops_is_chosen(const struct ops_operation *operation, const char *name,
                                 const char *type) {
    return (strcmp(name, "all") == 0 || strcmp(name, operation->name) == 0) &&
           (strcmp(type, "all") == 0 || strcmp(type, operation->type) == 0);
}

/* An impossible combination (a floating-point remainder) is a usage error. */
static inline void ops_check_choice(const char *program, const char *name, const char *type) {
    for (size_t i = 0; i < OPS_COUNT; i++) {
        if (ops_is_chosen(&OPS_ALL[i], name, type)) {
            return;
        }
    }
    lm_usage_error(program, "--operation",
                   "an operation of --type (int, int64: xor add mul div mod; "
                   "float, double: add mul div mix)",
                   name);
}

/* With OPS_CHAINS[index] chains. */
static inline struct lm_workload ops_workload(const struct ops_operation *operation, size_t index) {
    return (struct lm_workload){.benchmark = operation->chains[index],
                                .cookie = (void *)operation,
                                .operations_per_turn = OPS_STEPS_PER_TURN * OPS_CHAINS[index]};
}

/* Complete main() of a program that measures the selected operations one after another. */
static inline int ops_main(const char *name, const char *summary, const char *single,
                           void (*measure)(struct lm_harness *, const struct ops_operation *),
                           int argc, char **argv) {
    static const char *const operations[] = OPS_OPERATION_CHOICES, *const types[] =
                                                                       OPS_TYPE_CHOICES;
    const char *operation = operations[0], *type = types[0];
    const struct lm_option options[] = {
        {.name = "--operation",
         .help = "operation to measure",
         .text = &operation,
         .choices = operations},
        {.name = "--type", .help = "type of the operands", .text = &type, .choices = types},
    };
    const struct lm_program program = {.name = name,
                                       .summary = summary,
                                       .single = single,
                                       .options = options,
                                       .option_count = sizeof options / sizeof options[0]};
    struct lm_settings settings;
    lm_options_parse(&program, &settings, argc, argv);
    ops_check_choice(name, operation, type);

    struct lm_harness harness;
    lm_open(&harness, &program, &settings);
    for (size_t i = 0; i < OPS_COUNT; i++) {
        if (ops_is_chosen(&OPS_ALL[i], operation, type)) {
            measure(&harness, &OPS_ALL[i]);
        }
    }
    return lm_close(&harness);
}

#endif
