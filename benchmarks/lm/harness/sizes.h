/* An option whose value is a list of sizes. */
#ifndef LM_SIZES_H
#define LM_SIZES_H

#include "lm.h"

enum { LM_MOST_SIZES = 32 };

/* Reads sizes in KiB with commas between them into `kib`, which has place for LM_MOST_SIZES.
 * Returns how many; ends the program by lm_usage_error() where `text` is no such list. */
size_t lm_sizes_parse(const char *program, const char *option, const char *text, uint64_t *kib);

#endif
