/* A list of numbers on the command line, "1,10,100": one series each. */
#ifndef LM_NUMBERS_H
#define LM_NUMBERS_H

#include "harness/lm.h"

#include <string.h>

enum { LM_MOST_NUMBERS = 32 };

struct lm_numbers {
    uint64_t number[LM_MOST_NUMBERS];
    size_t count;
};

/* Parse `text`; an invalid, empty or overlong list ends the program with LM_EXIT_USAGE. */
static inline void lm_numbers_parse(const char *program, const char *option, const char *text,
                                    uint64_t minimum, uint64_t maximum,
                                    struct lm_numbers *numbers) {
    numbers->count = 0;
    for (const char *at = text;;) {
        char one[24] = "";
        size_t length = strcspn(at, ",");
        if (length < sizeof one) {
            (void)memcpy(one, at, length);
        }
        if (numbers->count == LM_MOST_NUMBERS ||
            !lm_number_parse(one, minimum, maximum, &numbers->number[numbers->count])) {
            char expected[160];
            (void)snprintf(expected, sizeof expected,
                           "at most %d integers from %llu to %llu, separated by commas",
                           LM_MOST_NUMBERS, (unsigned long long)minimum,
                           (unsigned long long)maximum);
            lm_usage_error(program, option, expected, text[0] == '\0' ? "nothing" : text);
        }
        numbers->count++;
        if (at[length] == '\0') {
            return;
        }
        at += length + 1;
    }
}

#endif
