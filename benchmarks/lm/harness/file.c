/* Files for benchmarks that read. */
#define _DEFAULT_SOURCE /* mkstemp, mincore */

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_WORDS = 8192 };
/* Pages that another processor has just read or written can still be in its per-CPU lists, which
 * prevents dropping them. It drains these lists soon. */
enum { DROP_ATTEMPTS = 50 };
static const long DROP_PAUSE_NS = 2000000;

uint64_t lm_file_word(uint64_t index) {
    /* Multiplication by an odd factor: all words differ. */
    return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t lm_file_sum(uint64_t bytes) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) {
        sum += lm_file_word(i);
    }
    return sum;
}

/* Two words at a time, which every processor of either architecture can add at once. */
typedef uint64_t file_vector __attribute__((vector_size(16)));

uint64_t lm_file_add(const void *area, uint64_t bytes) {
    const file_vector *at = area;
    file_vector a = {0}, b = {0}, c = {0}, d = {0};
    for (uint64_t i = 0; i < bytes / sizeof *at; i += 4) {
        a += at[i];
        b += at[i + 1];
        c += at[i + 2];
        d += at[i + 3];
    }
    a += b + c + d;
    return a[0] + a[1];
}

static int write_all(int descriptor, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t written = write(descriptor, at, bytes);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        if (written > 0) {
            at += written;
            bytes -= (size_t)written;
        }
    }
    return 0;
}

static int fill(const struct lm_file *file) {
    uint64_t block[BLOCK_WORDS];
    const uint64_t words = file->bytes / sizeof block[0];
    for (uint64_t first = 0; first < words; first += BLOCK_WORDS) {
        uint64_t count = words - first < BLOCK_WORDS ? words - first : BLOCK_WORDS;
        for (uint64_t i = 0; i < count; i++) {
            block[i] = lm_file_word(first + i);
        }
        if (write_all(file->descriptor, block, (size_t)count * sizeof block[0]) != 0) {
            return -1;
        }
    }
    return fsync(file->descriptor);
}

int lm_file_make(struct lm_file *file, uint64_t bytes, bool named) {
    *file = (struct lm_file){.bytes = bytes, .name = "lm_file.XXXXXX"};
    file->descriptor = mkstemp(file->name);
    if (file->descriptor < 0) {
        file->name[0] = '\0';
        return -1;
    }
    int status = 0;
    if (!named) {
        status = unlink(file->name);
        file->name[0] = '\0';
    }
    if (status == 0) {
        status = fill(file);
    }
    if (status != 0) {
        int reason = errno;
        (void)lm_file_remove(file);
        errno = reason;
    }
    return status;
}

int lm_file_remove(struct lm_file *file) {
    if (file->descriptor < 0) {
        return 0;
    }
    int status = close(file->descriptor);
    file->descriptor = -1;
    if (file->name[0] != '\0' && unlink(file->name) != 0) {
        status = -1;
    }
    file->name[0] = '\0';
    return status;
}

int lm_file_resident(const struct lm_file *file, uint64_t *pages) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t count = (file->bytes + page_bytes - 1) / page_bytes;
    unsigned char *resident = malloc((size_t)count);
    if (resident == NULL) {
        return -1;
    }
    /* Mapping alone does not load pages. */
    void *area = mmap(NULL, (size_t)file->bytes, PROT_READ, MAP_SHARED, file->descriptor, 0);
    if (area == MAP_FAILED) {
        free(resident);
        return -1;
    }
    int status = mincore(area, (size_t)file->bytes, resident);
    *pages = 0;
    for (uint64_t i = 0; status == 0 && i < count; i++) {
        *pages += resident[i] & 1;
    }
    free(resident);
    return munmap(area, (size_t)file->bytes) == 0 ? status : -1;
}

int lm_file_drop(const struct lm_file *file) {
    const struct timespec pause = {.tv_nsec = DROP_PAUSE_NS};
    if (fsync(file->descriptor) != 0) {
        return -1;
    }
    for (int attempt = 0; attempt < DROP_ATTEMPTS; attempt++) {
        uint64_t pages = 0;
        int status = posix_fadvise(file->descriptor, 0, 0, POSIX_FADV_DONTNEED);
        if (status != 0) {
            errno = status;
            return -1;
        }
        if (lm_file_resident(file, &pages) != 0) {
            return -1;
        }
        if (pages == 0) {
            return 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    errno = EBUSY;
    return -1;
}
