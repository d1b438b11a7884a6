/* An option with a list of sizes as its value. */
#include "sizes.h"

#include <string.h>

/* 1 TiB: larger than the memory of any machine. */
static const uint64_t MOST_KIB = UINT64_C(1) << 30;

size_t lm_sizes_parse(const char *program, const char *option, const char *text, uint64_t *kib) {
    size_t count = 0;
    for (const char *at = text; count < LM_MOST_SIZES; at++) {
        char word[24];
        size_t length = strcspn(at, ",");
        if (length >= sizeof word) {
            break;
        }
        (void)memcpy(word, at, length);
        word[length] = '\0';
        if (!lm_number_parse(word, 1, MOST_KIB, &kib[count])) {
            break;
        }
        count++;
        at += length;
        if (*at == '\0') {
            return count;
        }
    }
    lm_usage_error(program, option, "1 to 32 sizes from 1 to 1073741824 KiB, separated by commas",
                   text[0] == '\0' ? "nothing" : text);
}
