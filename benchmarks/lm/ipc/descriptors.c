/* Many open files or connections, for calls that examine many descriptors. */
#define _DEFAULT_SOURCE /* mkstemp */

#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_files(struct lm_many *many) {
    char name[] = "lm_many.XXXXXX";
    int made = mkstemp(name);
    if (made < 0) {
        return -1;
    }
    int status = 0;
    for (uint64_t i = 0; i < many->count && status == 0; i++) {
        many->looked_at[i] = open(name, O_RDONLY);
        status = many->looked_at[i] < 0 ? -1 : 0;
    }
    lm_shut(&made);
    int failure = errno;
    if (unlink(name) != 0 && status == 0) {
        return -1;
    }
    errno = failure;
    return status;
}

static int open_pipes(struct lm_many *many) {
    for (uint64_t i = 0; i < many->count; i++) {
        int ends[2];
        if (pipe(ends) != 0) {
            return -1;
        }
        many->looked_at[i] = ends[0];
        many->other[i] = ends[1];
    }
    return 0;
}

/* All examined sockets first: select() supports only low descriptors. */
static int open_connections(struct lm_many *many) {
    struct sockaddr_in address;
    for (uint64_t i = 0; i < many->count; i++) {
        many->looked_at[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (many->looked_at[i] < 0) {
            return -1;
        }
    }
    int listening = lm_socket_listening(1, &address);
    for (uint64_t i = 0; i < many->count && listening >= 0; i++) {
        many->other[i] = lm_socket_join(many->looked_at[i], listening, &address);
        if (many->other[i] < 0) {
            lm_shut(&listening);
        }
    }
    int status = listening < 0 ? -1 : 0;
    lm_shut(&listening);
    return status;
}

int lm_many_open(struct lm_many *many) {
    many->looked_at = malloc((size_t)many->count * sizeof *many->looked_at);
    many->other = malloc((size_t)many->count * sizeof *many->other);
    if (many->looked_at == NULL || many->other == NULL) {
        free(many->looked_at);
        free(many->other);
        many->looked_at = many->other = NULL;
        return -1;
    }
    for (uint64_t i = 0; i < many->count; i++) {
        many->looked_at[i] = many->other[i] = -1;
    }
    if (strcmp(many->kind, "file") == 0) {
        return open_files(many);
    }
    return strcmp(many->kind, "pipe") == 0 ? open_pipes(many) : open_connections(many);
}

void lm_many_close(struct lm_many *many) {
    for (uint64_t i = 0; many->looked_at != NULL && i < many->count; i++) {
        lm_shut(&many->looked_at[i]);
        lm_shut(&many->other[i]);
    }
    free(many->looked_at);
    free(many->other);
    many->looked_at = many->other = NULL;
}

void lm_many_run(struct lm_harness *harness, struct lm_workload *workload, struct lm_many *many,
                 const char *chosen, const char *const *kinds) {
    for (size_t i = 1; kinds[i] != NULL; i++) {
        if (strcmp(chosen, kinds[0]) == 0 || strcmp(chosen, kinds[i]) == 0) {
            many->kind = kinds[i];
            const struct lm_parameter parameters[] = {
                {.name = "kind", .text = many->kind},
                {.name = "descriptors", .number = many->count}};
            const struct lm_series series = {.parameters = parameters, .parameter_count = 2};
            lm_run(harness, workload, &series);
        }
    }
}
