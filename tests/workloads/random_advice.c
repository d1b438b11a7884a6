/* Preloaded into a program, advise the kernel that all its maps of files are used in random order.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *advised(long result, size_t bytes, int file) {
    if (result == -1) {
        return MAP_FAILED;
    }
    void *data = (void *)(intptr_t)result;
    if (file >= 0 && madvise(data, bytes, MADV_RANDOM) != 0) {
        _exit(111);
    }
    return data;
}

void *mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset) {
    return advised(syscall(SYS_mmap, address, bytes, access, flags, file, offset), bytes, file);
}

void *mmap64(void *address, size_t bytes, int access, int flags, int file, off_t offset) {
    return mmap(address, bytes, access, flags, file, offset);
}
