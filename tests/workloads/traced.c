/* A program whose system calls are known, for the tests of tracing: `traced calls`, `traced forks
 * N`, `traced serve`. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void traced_check(int fine) {
    if (!fine)
        _exit(9);
}

static void *traced_nothing(void *argument) {
    return argument;
}

static void traced_files(void) {
    char bytes[4000] = {0};
    char name[] = "/tmp/traced-XXXXXX";
    struct stat facts;
    int file = mkstemp(name); /* 1 open_close */
    traced_check(file >= 0);
    for (int i = 0; i < 7; i++)
        traced_check(write(file, bytes, 4000) == 4000);
    for (int i = 0; i < 5; i++)
        traced_check(pread(file, bytes, 600, 0) == 600);
    traced_check(fcntl(file, F_GETFL) >= 0);
    void *mapped = mmap(NULL, 20000, PROT_READ, MAP_SHARED, file, 0);
    traced_check(mapped != MAP_FAILED && munmap(mapped, 20000) == 0);
    traced_check(close(file) == 0 && unlink(name) == 0);
    for (int i = 0; i < 3; i++)
        traced_check(stat(name, &facts) != 0);
    for (int i = 0; i < 6; i++)
        traced_check(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    for (int i = 0; i < 11; i++)
        traced_check(syscall(SYS_getppid) > 0);
    for (int i = 0; i < 2; i++)
        traced_check(syscall(SYS_quotactl, 0, NULL, 0, NULL) < 0); /* in no rule */
}

static void traced_pipes(void) {
    int pipes[2], pair[2];
    char bytes[1000] = {0};
    traced_check(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int i = 0; i < 4; i++)
        traced_check(write(pipes[1], bytes, 1000) == 1000 && read(pipes[0], bytes, 1000) == 1000);
    for (int i = 0; i < 3; i++)
        traced_check(write(pair[1], bytes, 500) == 500 && read(pair[0], bytes, 1000) == 500);
}

static void
traced_anonymous(void) { /* what has no name: 1 write and 2 reads that wait for nothing, 5 closes */
    uint64_t number = 1;
    struct itimerspec soon = {.it_value.tv_nsec = 1};
    sigset_t none;
    int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0),
        polled = epoll_create1(0);
    traced_check(event >= 0 && timer >= 0 && polled >= 0 && sigemptyset(&none) == 0);
    int signals = signalfd(-1, &none, 0), process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    traced_check(write(event, &number, 8) == 8 && read(event, &number, 8) == 8);
    traced_check(timerfd_settime(timer, 0, &soon, NULL) == 0 && read(timer, &number, 8) == 8);
    traced_check(close(event) == 0 && close(timer) == 0 && close(polled) == 0);
    traced_check(close(signals) == 0 && close(process) == 0);
}

/* A server's child closes the connection that it inherits between request and reply, as Apache's
 * for a CGI program does. */
static void traced_inherited(int listening, const struct sockaddr_in *address) {
    char bytes[100] = {0};
    int there = socket(AF_INET, SOCK_STREAM, 0), status;
    traced_check(connect(there, (const struct sockaddr *)address, sizeof *address) == 0);
    int here = accept(listening, NULL, NULL);
    traced_check(send(there, bytes, 50, 0) == 50 && recv(here, bytes, 100, 0) == 50);
    pid_t child = fork();
    traced_check(child >= 0);
    if (child == 0)
        _exit(close(here));
    traced_check(waitpid(child, &status, 0) == child && status == 0);
    traced_check(write(here, bytes, 100) == 100 && recv(there, bytes, 100, MSG_WAITALL) == 100);
    traced_check(close(there) == 0 && close(here) == 0);
}

/* Connections that come about later, and that do not. */
static void traced_connects(int listening, struct sockaddr_in *address) {
    int pending = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int begun = connect(pending, (struct sockaddr *)address, sizeof *address);
    traced_check(begun == 0 || errno == EINPROGRESS);
    int here = accept(listening, NULL, NULL);
    traced_check(close(pending) == 0 && close(here) == 0 && close(listening) == 0);
    for (int i = 0; i < 4; i++) {
        int refused = socket(AF_INET, SOCK_STREAM, 0);
        traced_check(connect(refused, (struct sockaddr *)address, sizeof *address) != 0 &&
                     close(refused) == 0);
    }
}

static void traced_tcp(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char bytes[3000] = {0};
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    traced_check(bind(listening, (struct sockaddr *)&address, length) == 0 &&
                 listen(listening, 4) == 0);
    traced_check(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
    traced_inherited(listening, &address);
    for (int i = 0; i < 5; i++) {
        int there = socket(AF_INET, SOCK_STREAM, 0);
        traced_check(connect(there, (struct sockaddr *)&address, length) == 0);
        int here = accept(listening, NULL, NULL);
        traced_check(send(there, bytes, 50, 0) == 50 && recv(here, bytes, 100, 0) == 50);
        traced_check(write(here, bytes, 2000) == 2000 && write(here, bytes, 1000) == 1000);
        traced_check(recv(there, bytes, 3000, MSG_WAITALL) == 3000);
        traced_check(close(there) == 0 && read(here, bytes, 10) == 0 && close(here) == 0);
    }
    traced_connects(listening, &address);
}

static void traced_processes(void) {
    pthread_t thread;
    traced_check(pthread_create(&thread, NULL, traced_nothing, NULL) == 0 &&
                 pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 8; i++) {
        int exec = i < 6; /* six programs and two forks alone */
        pid_t child = fork();
        if (child == 0) {
            if (exec)
                execl("/bin/true", "true", (char *)NULL);
            _exit(exec);
        }
        int status;
        traced_check(waitpid(child, &status, 0) == child && status == 0);
    }
}

static void traced_forks(int count) {
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        traced_check(child >= 0);
        if (child == 0)
            _exit(0);
        traced_check(waitpid(child, NULL, 0) == child);
    }
}

static void
traced_serve(void) { /* a process and its child, each of which calls some now and then */
    pid_t first = getpid();
    traced_check(fork() >= 0);
    if (getpid() != first)
        traced_check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    for (;;) {
        syscall(SYS_getppid);
        usleep(2000);
    }
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "forks") == 0) {
        traced_forks(atoi(arguments[2]));
    } else if (count == 2 && strcmp(arguments[1], "serve") == 0) {
        traced_serve();
    } else {
        traced_files();
        traced_pipes();
        traced_anonymous();
        traced_tcp();
        traced_processes();
    }
    return 0;
}
