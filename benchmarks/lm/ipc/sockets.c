/* Sockets. */
#define _POSIX_C_SOURCE 200809L

#include "ipc/ipc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int lm_socket_bound_at(int type, struct sockaddr_in *address) {
    socklen_t bytes = sizeof *address;
    int descriptor = socket(AF_INET, type, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(descriptor, (struct sockaddr *)address, &bytes) != 0) {
        lm_shut(&descriptor);
    }
    return descriptor;
}

int lm_socket_bound(int type, struct sockaddr_in *address) {
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return lm_socket_bound_at(type, address);
}

int lm_socket_listening(int queue, struct sockaddr_in *address) {
    int descriptor = lm_socket_bound(SOCK_STREAM, address);
    if (descriptor >= 0 && listen(descriptor, queue) != 0) {
        lm_shut(&descriptor);
    }
    return descriptor;
}

int lm_socket_resets(int descriptor) {
    const struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int lm_socket_limits(int descriptor) {
    const struct timeval limit = {.tv_sec = LM_TIME_LIMIT_S};
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
        return -1;
    }
    return setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int lm_socket_undelayed(int descriptor) {
    const int on = 1;
    return setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int lm_socket_prepare(int descriptor) {
    return lm_socket_resets(descriptor) != 0 || lm_socket_undelayed(descriptor) != 0 ? -1 : 0;
}

uint64_t lm_queue_limit(struct lm_harness *harness, uint64_t most) {
    static const char path[] = "/proc/sys/net/core/somaxconn";
    char what[200], line[40] = "";
    uint64_t limit = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        (void)snprintf(what, sizeof what, "%s: %s", path, strerror(errno));
        lm_fail(harness, what);
    }
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    if (!lm_number_parse(line, 2, UINT64_MAX, &limit)) {
        (void)snprintf(what, sizeof what, "%s: expected at least 2, got %s", path, line);
        lm_fail(harness, what);
    }
    return limit / 2 < most ? limit / 2 : most;
}

/* TCP retransmits a SYN after a second (RFC 6298). */
static const struct timeval CONNECT_LIMIT = {.tv_usec = 500000};

int lm_socket_connected(const struct sockaddr *address, socklen_t address_bytes) {
    int descriptor = socket(address->sa_family, SOCK_STREAM, 0);
    if (descriptor < 0) {
        return -1;
    }
    if ((address->sa_family == AF_INET && lm_socket_resets(descriptor) != 0) ||
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &CONNECT_LIMIT, sizeof CONNECT_LIMIT) !=
            0) {
        lm_shut(&descriptor);
        return -1;
    }
    if (connect(descriptor, address, address_bytes) != 0) {
        lm_shut(&descriptor);
        return lm_not_received(-1);
    }
    return descriptor;
}

int lm_serve(int listening, int (*serve)(int connection, void *cookie), void *cookie) {
    for (;;) {
        int connection = accept(listening, NULL, NULL);
        if (connection >= 0) {
            if (serve(connection, cookie) != 0) {
                return LM_EXIT_FAILED;
            }
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return LM_EXIT_FAILED;
        }
    }
}

int lm_socket_link(int from, const struct sockaddr_in *address) {
    if (lm_socket_prepare(from) != 0 || lm_socket_limits(from) != 0 ||
        connect(from, (const struct sockaddr *)address, sizeof *address) != 0) {
        return lm_not_received(-1);
    }
    return 0;
}

int lm_socket_join(int from, int listening, const struct sockaddr_in *address) {
    if (lm_socket_link(from, address) != 0) {
        return -1;
    }
    int other = accept(listening, NULL, NULL);
    if (other >= 0 && lm_socket_prepare(other) != 0) {
        lm_shut(&other);
    }
    return other;
}
