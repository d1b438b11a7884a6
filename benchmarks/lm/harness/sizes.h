/* An option with a list of sizes as its value. */
#ifndef LM_SIZES_H
#define LM_SIZES_H

#include "lm.h"

enum { LM_MOST_SIZES = 32 };

/* Parse comma-separated sizes in KiB into `kib`, which has room for LM_MOST_SIZES. Return their
 * number; end the program by lm_usage_error() if `text` is invalid. */
size_t lm_sizes_parse(const char *program, const char *option, const char *text, uint64_t *kib);

#endif
