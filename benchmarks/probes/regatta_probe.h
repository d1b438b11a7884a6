/* Marks of a program in the kernel's trace. See README.md. Linux, with gcc or clang. */
#ifndef REGATTA_PROBE_H
#define REGATTA_PROBE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGATTA_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
#define REGATTA_IS_WORD(text) (*(text) != '\0' && (text)[strspn((text), REGATTA_LETTERS)] == '\0')

static int regatta_trace = -1;

/* Open the trace before `main`, so before any thread starts. */
__attribute__((constructor)) static void regatta_open(void) {
    const char *path = getenv("REGATTA_TRACE_MARKER");
    path = path != NULL ? path : "/sys/kernel/tracing/trace_marker";
    regatta_trace = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* Write a mark, such as ("request", "lock", -1, "cache"). A negative number is left out. Without a
   trace, or with another character than those above in a word, nothing is written. */
static inline void regatta_mark(const char *kind, const char *object, long number,
                                const char *name) {
    char mark[256], digits[24] = "";
    if (regatta_trace < 0 || !REGATTA_IS_WORD(kind) || !REGATTA_IS_WORD(object) ||
        !REGATTA_IS_WORD(name))
        return;
    if (number >= 0)
        snprintf(digits, sizeof digits, "%ld ", number);
    int length = snprintf(mark, sizeof mark, "regatta: %s %s %s%s\n", kind, object, digits, name);
    if (length > 0 && length < (int)sizeof mark && write(regatta_trace, mark, (size_t)length) < 0)
        return; /* The trace is off: the program continues. */
}

#endif
