/* Latency of creating and joining a thread that ends immediately. */
#define _POSIX_C_SOURCE 200809L

#include "harness/lm.h"

#include <errno.h>
#include <pthread.h>

static void *end_at_once(void *argument) {
    return argument;
}

static int create_and_join(uint64_t operations, void *cookie) {
    (void)cookie;
    int mark = 0;
    for (uint64_t i = 0; i < operations; i++) {
        pthread_t thread;
        void *returned = NULL;
        int status = pthread_create(&thread, NULL, end_at_once, &mark);
        if (status == 0) {
            status = pthread_join(thread, &returned);
        }
        if (status != 0 || returned != &mark) {
            errno = status != 0 ? status : EPROTO;
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    return lm_latency_main(
        "lat_thread",
        "Measure the latency of pthread_create for a thread that ends immediately, and of\n"
        "pthread_join.\n"
        "Metric: latency, in ns per thread.",
        create_and_join, argc, argv);
}
