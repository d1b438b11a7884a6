/*
 * A copy as dd makes it, timed: its own command line (key=value, as dd has), no repetitions.
 *
 * The integrity check: a pattern in which each 8 bytes hold their own offset, so that a block that
 * is lost, doubled or in the wrong place is seen, and where.
 */
#define _GNU_SOURCE /* O_DIRECT */

#include "harness/lm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROGRAM[] = "lmdd";
static const char REASON[] = "it is a clone of dd, and it is not clear what a parallel dd would be";
static const char INTERNAL[] = "internal";

enum { PAGE_BYTES = 4096, WORD_BYTES = 8, MOST_BLOCK_BYTES = 1 << 30 };

struct copy {
    const char *input, *output; /* NULL: standard input or output; "internal": neither */
    uint64_t block_bytes, count, skip, seek;
    uint64_t check_input, pattern, fsync, direct; /* 0 or 1 */
    bool counted;                                 /* count= was given */
    int from, to;                                 /* -1: internal */
    unsigned char *block;
};

static void help(void) {
    printf(
        "usage: lmdd [key=value ...]\n\n"
        "Copies as dd does and reports the bandwidth, in MB/s (10^6 bytes), of the bytes "
        "written, from the\n"
        "first read to the last write. Sizes may end in k, m or g (powers of 1024).\n\n"
        "  if=FILE       input; internal: zeros, or the pattern; not given: standard input\n"
        "  of=FILE       output; internal: nowhere; not given: standard output\n"
        "  bs=SIZE       bytes of a block (default 64k)\n"
        "  count=N       copy at most N blocks (default: until the input ends)\n"
        "  skip=N        skip the first N blocks of the input\n"
        "  seek=N        begin N blocks into the output, which stays as it is up to there\n"
        "  opat=0|1      write the pattern: each 8 bytes hold their offset (with if=internal)\n"
        "  ipat=0|1      check that the input is the pattern; a difference ends the copy\n"
        "  fsync=0|1     the time includes bringing the output to the disk\n"
        "  direct=0|1    files bypass the cache of the system (O_DIRECT)\n"
        "  --help        print this text and stop\n\n"
        "one process only: %s\n\n"
        "environment:\n"
        "  REGATTA_RESULTS  file to which the measurement is appended, one JSON object per line\n\n"
        "exit code: 0 success, 1 the copy or its check failed, 2 wrong usage\n",
        REASON);
}

static bool parse_size(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number) {
    char digits[32];
    size_t length = strlen(text);
    unsigned shift = 0;
    if (length == 0 || length >= sizeof digits) {
        return false;
    }
    (void)memcpy(digits, text, length + 1);
    const char *const units = "kmg", *unit = strchr(units, digits[length - 1]);
    if (unit != NULL) {
        shift = 10 * (unsigned)(unit - units + 1);
        digits[length - 1] = '\0';
    }
    uint64_t parsed = 0;
    if (!lm_number_parse(digits, 0, maximum >> shift, &parsed) || parsed << shift < minimum) {
        return false;
    }
    *number = parsed << shift;
    return true;
}

struct key {
    const char *name;
    uint64_t *number; /* NULL: text */
    const char **text;
    uint64_t minimum, maximum;
};

static void assign(const struct key *key, const char *value) {
    char expected[100];
    if (key->number == NULL) {
        if (value[0] == '\0') {
            lm_usage_error(PROGRAM, key->name, "a file, or internal", "nothing");
        }
        *key->text = value;
    } else if (!parse_size(value, key->minimum, key->maximum, key->number)) {
        (void)snprintf(expected, sizeof expected, "an integer from %" PRIu64 " to %" PRIu64,
                       key->minimum, key->maximum);
        lm_usage_error(PROGRAM, key->name, expected, value[0] != '\0' ? value : "nothing");
    }
}

static bool is_internal(const char *path) {
    return path != NULL && strcmp(path, INTERNAL) == 0;
}

/* What the keys say together. */
static void check(const struct copy *copy) {
    char got[50];
    if (is_internal(copy->input) && !copy->counted) {
        lm_usage_error(PROGRAM, "count", "a number with if=internal, which never ends", "none");
    }
    if (is_internal(copy->input) && (copy->check_input != 0 || copy->skip != 0)) {
        lm_usage_error(PROGRAM, copy->skip != 0 ? "skip" : "ipat", "a file as input",
                       "if=internal");
    }
    if (is_internal(copy->output) && (copy->fsync != 0 || copy->seek != 0)) {
        lm_usage_error(PROGRAM, copy->seek != 0 ? "seek" : "fsync", "a file as output",
                       "of=internal");
    }
    if (is_internal(copy->input) && is_internal(copy->output) && copy->pattern == 0) {
        lm_usage_error(PROGRAM, "opat", "1 with if=internal of=internal, or nothing is done", "0");
    }
    if (copy->pattern != 0 && !is_internal(copy->input)) {
        lm_usage_error(PROGRAM, "opat", "if=internal: the pattern is the input", "another input");
    }
    (void)snprintf(got, sizeof got, "%" PRIu64, copy->block_bytes);
    if ((copy->pattern != 0 || copy->check_input != 0) && copy->block_bytes % WORD_BYTES != 0) {
        lm_usage_error(PROGRAM, "bs", "a multiple of 8 for the pattern", got);
    }
    uint64_t longest = INT64_MAX / copy->block_bytes;
    if (copy->skip > longest || copy->seek > longest - (copy->counted ? 1 : 0) ||
        (copy->counted && copy->count > longest - copy->seek)) {
        lm_usage_error(PROGRAM, "skip, seek, count", "less than 2^63 bytes", "more");
    }
}

static void parse(struct copy *copy, int argc, char **argv) {
    const uint64_t most = INT64_MAX;
    const struct key keys[] = {{"if", NULL, &copy->input, 0, 0},
                               {"of", NULL, &copy->output, 0, 0},
                               {"bs", &copy->block_bytes, NULL, 1, MOST_BLOCK_BYTES},
                               {"count", &copy->count, NULL, 1, most},
                               {"skip", &copy->skip, NULL, 0, most},
                               {"seek", &copy->seek, NULL, 0, most},
                               {"opat", &copy->pattern, NULL, 0, 1},
                               {"ipat", &copy->check_input, NULL, 0, 1},
                               {"fsync", &copy->fsync, NULL, 0, 1},
                               {"direct", &copy->direct, NULL, 0, 1}};
    const size_t key_count = sizeof keys / sizeof keys[0];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            help();
            exit(fflush(stdout) == 0 ? 0 : LM_EXIT_FAILED);
        }
        const char *equals = strchr(argv[i], '=');
        size_t length = equals != NULL ? (size_t)(equals - argv[i]) : 0;
        size_t k = 0;
        while (k < key_count && (equals == NULL || strlen(keys[k].name) != length ||
                                 strncmp(keys[k].name, argv[i], length) != 0)) {
            k++;
        }
        if (k == key_count) {
            lm_usage_error(
                PROGRAM, "command line",
                "one of if= of= bs= count= skip= seek= opat= ipat= fsync= direct=", argv[i]);
        }
        assign(&keys[k], equals + 1);
        copy->counted = copy->counted || keys[k].number == &copy->count;
    }
    check(copy);
}

static _Noreturn void fail(struct lm_harness *harness, const char *where, const char *what) {
    char text[400];
    (void)snprintf(text, sizeof text, "%s: %s", where, what);
    lm_fail(harness, text);
}

static const char *name_of(const char *path, const char *standard) {
    return path != NULL ? path : standard;
}

static void open_input(struct lm_harness *harness, struct copy *copy) {
    if (is_internal(copy->input)) {
        copy->from = -1;
        return;
    }
    int flags = O_RDONLY | (copy->direct != 0 ? O_DIRECT : 0);
    copy->from = copy->input != NULL ? open(copy->input, flags) : STDIN_FILENO;
    if (copy->from < 0) {
        fail(harness, copy->input, strerror(errno));
    }
}

/* As dd: a file that exists is cut off where the copy begins. */
static void open_output(struct lm_harness *harness, struct copy *copy) {
    if (is_internal(copy->output)) {
        copy->to = -1;
        return;
    }
    const char *name = name_of(copy->output, "standard output");
    int flags = O_WRONLY | O_CREAT | (copy->direct != 0 ? O_DIRECT : 0);
    struct stat in = {0}, out = {0};
    copy->to = copy->output != NULL ? open(copy->output, flags, 0666) : STDOUT_FILENO;
    if (copy->to < 0 || fstat(copy->to, &out) != 0 ||
        (copy->from >= 0 && fstat(copy->from, &in) != 0)) {
        fail(harness, name, strerror(errno));
    }
    if (copy->from >= 0 && S_ISREG(out.st_mode) && in.st_dev == out.st_dev &&
        in.st_ino == out.st_ino) {
        fail(harness, name, "expected another file than the input, got the same");
    }
    off_t begin = (off_t)(copy->seek * copy->block_bytes);
    if (S_ISREG(out.st_mode) && copy->output != NULL && ftruncate(copy->to, begin) != 0) {
        fail(harness, name, strerror(errno));
    }
    if (copy->seek != 0 && lseek(copy->to, begin, SEEK_SET) < 0) {
        fail(harness, name, strerror(errno));
    }
}

/* Reads a whole block, or what is left; pipes give what they have. Returns the bytes, -1 with
 * errno. */
static ssize_t read_block(const struct copy *copy) {
    size_t filled = 0;
    while (filled < copy->block_bytes) {
        ssize_t got = read(copy->from, copy->block + filled, (size_t)copy->block_bytes - filled);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

static int write_block(const struct copy *copy, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t written = write(copy->to, copy->block + done, bytes - done);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* The pattern is little-endian on every machine, so that a file can be checked on another. */
static void put_word(unsigned char *at, uint64_t word) {
    for (int i = 0; i < WORD_BYTES; i++) {
        at[i] = (unsigned char)(word >> (8 * i));
    }
}

static uint64_t get_word(const unsigned char *at) {
    uint64_t word = 0;
    for (int i = 0; i < WORD_BYTES; i++) {
        word |= (uint64_t)at[i] << (8 * i);
    }
    return word;
}

static void make_pattern(const struct copy *copy, uint64_t offset) {
    for (uint64_t i = 0; i < copy->block_bytes; i += WORD_BYTES) {
        put_word(copy->block + i, offset + i);
    }
}

/* Bytes after the last whole word are compared too. */
static void check_pattern(struct lm_harness *harness, const struct copy *copy, uint64_t offset,
                          size_t bytes) {
    for (size_t i = 0; i < bytes; i += WORD_BYTES) {
        unsigned char expected[WORD_BYTES], found[WORD_BYTES] = {0};
        size_t length = bytes - i < WORD_BYTES ? bytes - i : WORD_BYTES;
        put_word(expected, offset + i);
        if (memcmp(expected, copy->block + i, length) != 0) {
            char what[150];
            (void)memcpy(found, copy->block + i, length);
            (void)snprintf(what, sizeof what,
                           "ipat: at byte %" PRIu64 " expected the pattern's %" PRIu64
                           ", got %" PRIu64,
                           offset + i, offset + i, get_word(found));
            fail(harness, name_of(copy->input, "standard input"), what);
        }
    }
}

static void skip_input(struct lm_harness *harness, const struct copy *copy) {
    const char *name = name_of(copy->input, "standard input");
    if (copy->skip == 0 ||
        lseek(copy->from, (off_t)(copy->skip * copy->block_bytes), SEEK_SET) >= 0) {
        return;
    }
    for (uint64_t i = 0; i < copy->skip; i++) {
        ssize_t got = read_block(copy);
        if (got != (ssize_t)copy->block_bytes) {
            fail(harness, name, got < 0 ? strerror(errno) : "it ends before skip= is over");
        }
    }
}

/* Copies; returns how many bytes. */
static uint64_t copy_all(struct lm_harness *harness, const struct copy *copy) {
    uint64_t in_offset = copy->skip * copy->block_bytes, copied = 0;
    uint64_t out_offset = copy->seek * copy->block_bytes;
    for (uint64_t i = 0; !copy->counted || i < copy->count; i++) {
        ssize_t got = (ssize_t)copy->block_bytes;
        if (copy->from >= 0) {
            got = read_block(copy);
        } else if (copy->pattern != 0) {
            make_pattern(copy, out_offset + copied);
        }
        if (got < 0) {
            fail(harness, name_of(copy->input, "standard input"), strerror(errno));
        }
        if (got == 0) {
            break;
        }
        if (copy->check_input != 0) {
            check_pattern(harness, copy, in_offset + copied, (size_t)got);
        }
        lm_keep(copy->block);
        if (copy->to >= 0 && write_block(copy, (size_t)got) != 0) {
            fail(harness, name_of(copy->output, "standard output"), strerror(errno));
        }
        copied += (uint64_t)got;
    }
    if (copy->fsync != 0 && fsync(copy->to) != 0) {
        fail(harness, name_of(copy->output, "standard output"), strerror(errno));
    }
    return copied;
}

static void report(struct lm_harness *harness, const struct copy *copy, uint64_t bytes,
                   double elapsed_ns) {
    const struct lm_parameter parameters[] = {
        {.name = "input", .text = name_of(copy->input, "standard input")},
        {.name = "output", .text = name_of(copy->output, "standard output")},
        {.name = "block_bytes", .number = copy->block_bytes},
        {.name = "bytes", .number = bytes}};
    double bandwidth = (double)bytes * 1000 / elapsed_ns;
    const struct lm_result result = {.metric = "bandwidth",
                                     .unit = "MB/s",
                                     .values = &bandwidth,
                                     .count = 1,
                                     .parameters = parameters,
                                     .parameter_count = sizeof parameters / sizeof parameters[0]};
    lm_report_lines(harness, &result);
    /* Where the data went to standard output, people read the other. */
    FILE *people = copy->output == NULL ? stderr : stdout;
    if (fprintf(people, "lmdd block_bytes=%" PRIu64 ": bandwidth %.4g MB/s, %.6g MB in %.4g s\n",
                copy->block_bytes, bandwidth, (double)bytes / 1e6, elapsed_ns / 1e9) < 0 ||
        fflush(people) != 0) {
        fail(harness, "telling the result", strerror(errno));
    }
}

int main(int argc, char **argv) {
    struct copy copy = {.block_bytes = 65536};
    parse(&copy, argc, argv);
    const struct lm_program program = {.name = PROGRAM, .single = REASON};
    const struct lm_settings settings = {.repetitions = 1, .parallel = 1, .placement = "free"};
    struct lm_harness harness;
    void *block = NULL;
    lm_open(&harness, &program, &settings);
    if (posix_memalign(&block, PAGE_BYTES, (size_t)copy.block_bytes) != 0) {
        fail(&harness, "bs", "no memory for a block");
    }
    (void)memset(block, 0, (size_t)copy.block_bytes);
    copy.block = block;
    open_input(&harness, &copy);
    open_output(&harness, &copy);
    skip_input(&harness, &copy);

    uint64_t start_ns = lm_now_ns();
    uint64_t bytes = copy_all(&harness, &copy);
    double elapsed_ns = (double)(lm_now_ns() - start_ns);
    double blocks = (double)(bytes / copy.block_bytes);
    elapsed_ns -= harness.calibration.clock_overhead_ns;
    elapsed_ns -= harness.calibration.loop_overhead_ns * blocks;
    if (bytes == 0) {
        fail(&harness, name_of(copy.input, "standard input"), "no bytes, and so no bandwidth");
    }
    if (elapsed_ns <= 0) {
        fail(&harness, "count", "too few bytes to be timed");
    }
    if (copy.to >= 0 && close(copy.to) != 0) {
        fail(&harness, name_of(copy.output, "standard output"), strerror(errno));
    }
    report(&harness, &copy, bytes, elapsed_ns);
    free(block);
    return lm_close(&harness);
}
