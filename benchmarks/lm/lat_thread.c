/* Latency of making a thread that ends at once, and of waiting for its end. */
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
    return lm_latency_main("lat_thread",
                           "Measures the latency of pthread_create of a thread that ends at once "
                           "and of pthread_join of it.\nMetric: latency, in ns per thread.",
                           create_and_join, argc, argv);
}
