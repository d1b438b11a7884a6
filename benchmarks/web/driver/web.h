/*
 * The parts of `web`; comments above the functions describe each part. Failures are reported once,
 * by web_fail() with where, expected, got and fix, and then passed up as -1.
 */
#ifndef WEB_H
#define WEB_H

#include "../page_text.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { WEB_EXIT_FAILED = 1, WEB_EXIT_USAGE = 2 };
enum {
    WEB_PATH_BYTES = 512,
    WEB_MOST_CONNECTIONS = 256, /* without sessions */
    WEB_MOST_USERS = 10000,
    WEB_MOST_PER_CONNECTION = 1000,
    WEB_MOST_SERVERS = 256
};

/* ---- options.c ---- */

struct web_options {
    const char *server;  /* apache, nginx, varnish */
    const char *dynamic; /* none, cgi, fastcgi */
    const char *acceptance, *server_cpus;
    uint64_t servers; /* 0: by default, see web_server_processes() */
    uint64_t dynamic_percent, persistent_percent, requests_per_connection, connections;
    uint64_t requests; /* 0: use window_ms */
    uint64_t window_ms, warmup_ms, spin_us, trace_wait_ms, port, seed;
    const char *sessions; /* file; NULL: the load is SPECweb99's */
    const char *loop;     /* of sessions: open, closed, saturate, replay */
    uint64_t rate, users, client_kbit;
    uint64_t cache_bytes; /* 0: the server is no proxy */
    const char *log_copy;
    const char *serve, *load; /* not both: the other part is on another host; NULL: no */
    struct in_addr host;      /* of the server */
    char host_text[INET_ADDRSTRLEN];
    uint16_t control_port; /* of --load */
    const char *apache, *apache_modules, *nginx, *varnish, *cgi_program, *fastcgi_program, *folder;
    bool json;
    char **trace_command; /* NULL: no tracing */
};

/* Exits on a wrong command line and on --help. */
struct web_options web_options_parse(int argc, char **argv);
bool web_is(const char *word, const char *other);
/* Whether the load is that of --users. */
bool web_has_users(const struct web_options *options);

/* ---- failure.c ---- */

/* Store the first message of this process for the results, and print it. Returns -1. */
__attribute__((format(printf, 1, 2))) int web_fail(const char *format, ...);
const char *web_failure(void); /* "": none */

uint64_t web_now_ns(void);

/* Set by a signal that requests termination; blocking loops then give up. */
extern volatile sig_atomic_t web_stop_signal;
int web_signals_settle(void);

/* ---- growth.c ---- */

/* Return an array with room for another item of `bytes`; NULL with a message: the old one is kept.
 * `room` starts with 0. */
void *web_grown(void *items, size_t used, size_t *room, size_t bytes, const char *what);

/* ---- files.c: SPECweb99's classes ---- */

enum { WEB_CLASSES = 4, WEB_FILES_PER_CLASS = 9, WEB_FILES = 36 };

struct web_file {
    char path[PAGE_PATH_BYTES]; /* as a request names it */
    size_t bytes;
    char *content;
};

struct web_files {
    struct web_file file[WEB_FILES];
};

/* Frequency of a class in percent, and of a file in its class in thousandths (0: the smallest). */
extern const unsigned WEB_CLASS_PERCENT[WEB_CLASSES];
extern const unsigned WEB_FILE_PERMILLE[WEB_FILES_PER_CLASS];

int web_files_make(struct web_files *files);
/* Fill with letters that depend on `state` alone. */
void web_letters(char *content, size_t bytes, uint64_t state);
/* Create a file that all may read; `modified_s`: its time, 0: now. */
int web_file_write(const char *path, const char *content, size_t bytes, int64_t modified_s);
/* Writes them below `root`. */
int web_files_write(const struct web_files *files, const char *root);
void web_files_free(struct web_files *files);

/* ---- sequence.c: which requests come, on which connections ---- */

uint64_t web_random_next(uint64_t *state);

/* A deck: the given number of cards of each kind, dealt in random order, repeatedly: every round is
 * exact. */
struct web_deck {
    uint8_t *card;
    size_t count, dealt;
};

struct web_sequence {
    uint64_t random;
    unsigned requests_per_connection;
    struct web_deck sessions, dynamic, classes[2];
    uint64_t file_state[2][WEB_CLASSES];
};

struct web_request {
    uint8_t file;
    bool dynamic;
};

/* Requests of one connection. */
struct web_session {
    bool persistent;
    size_t count;
    struct web_request request[WEB_MOST_PER_CONNECTION];
};

int web_sequence_open(struct web_sequence *sequence, const struct web_options *options,
                      uint64_t stream);
void web_sequence_next(struct web_sequence *sequence, struct web_session *session);
void web_sequence_close(struct web_sequence *sequence);

/* ---- folder.c: the folder of an invocation ---- */

struct web_identity {
    bool drop; /* to be owned by the server */
    uid_t uid;
    gid_t gid;
};

struct web_folder {
    char path[WEB_PATH_BYTES / 2];
    char nonce[33];
};

int web_folder_make(struct web_folder *folder, const struct web_options *options,
                    const struct web_identity *identity);
int web_folder_write(const struct web_folder *folder, const char *name, const char *text,
                     mode_t mode);
int web_folder_copy(const struct web_folder *folder, const char *name, const char *from);
/* A folder that is writable for the server. */
int web_folder_shared(const struct web_folder *folder, const char *name,
                      const struct web_identity *identity);
/* Copy an open file to its end. Returns 0, or -1 with errno. */
int web_folder_pour(int from, int to);
/* Return the bytes on the disk of the files below a folder; 0 if unknown. */
uint64_t web_folder_bytes(const struct web_folder *folder, const char *name);
/* Remove the whole folder. Returns 0, or -1 with errno. */
int web_folder_remove(const struct web_folder *folder);
/* Return the last lines of a log, without notices; "" if none. */
void web_folder_last_lines(const struct web_folder *folder, const char *name, char *words,
                           size_t bytes);

/* ---- log_copy.c: --log-copy ---- */

struct web_log_copy {
    const char *path; /* NULL: none */
    int descriptor, log;
};

/* Create the copy. */
int web_log_copy_open(struct web_log_copy *copy, const struct web_options *options);
/* Keep the log when the server has written all of it: its folder is removed before it is copied. */
int web_log_copy_hold(struct web_log_copy *copy, const struct web_folder *folder);
/* Write the log that was kept, if any. */
int web_log_copy_write(struct web_log_copy *copy);

/* ---- privileges.c ---- */

struct web_identity web_identity_find(void);
/* Take the identity permanently. Returns 0, or -1 with errno. */
int web_identity_take(const struct web_identity *identity);
/* Whether that identity can traverse all folders of an absolute path. */
bool web_identity_reaches(const struct web_identity *identity, const char *path);
/* Send a signal to a process of that identity. */
int web_identity_signal(const struct web_identity *identity, pid_t pid, int number);

/* ---- placement.c ---- */

struct web_placement {
    int server; /* CPU; -1: all allowed ones */
    bool shared;
    uint64_t spin_ns;
    char servers[64], driver[64]; /* for people */
};

int web_placement_find(struct web_placement *placement, const struct web_options *options);
int web_place_server(void);
int web_place_driver(const struct web_placement *placement);

/* ---- server.c, configuration.c ---- */

struct web_origin;

struct web_server {
    const struct web_options *options;
    const struct web_folder *folder;
    struct web_identity identity;
    struct web_placement *placement;
    struct web_origin *origin; /* NULL: the server is no proxy */
    /* The connection to its host with --load; -1: it is on this host. */
    int control;
    uint16_t port, idle_port; /* idle_port: without connections; 0: none */
    char version[100];
    char program[WEB_PATH_BYTES], root[WEB_PATH_BYTES], configuration[WEB_PATH_BYTES];
    char address[32], storage[48]; /* of Varnish */
    char *argv[16];
    /* The keeper and its pipe. */
    pid_t keeper, pid;
    int life, words;
    struct web_semaphores *semaphores; /* shared with the keeper; NULL: the server has none */
};

struct sockaddr_in web_server_address(const struct web_server *server);
/* Also the port without connections, if the acceptance needs one. */
int web_server_choose_port(struct web_server *server);
/* Whether it is a caching proxy. */
bool web_proxied(const struct web_options *options);
/* Path of the program. */
const char *web_server_program(const struct web_options *options);
/* Number of processes that accept connections. */
unsigned web_server_processes(const struct web_options *options);
/* Write all files that the server reads into its folder; configuration.c. */
int web_server_configure(struct web_server *server);
/* Start the server and wait until it answers and all its processes exist. */
int web_server_start(struct web_server *server);
/* Whether it still runs; prints a message if not. */
int web_server_check(const struct web_server *server);

/* ---- acceptance.c: how the server processes accept connections ---- */

/* Whether the server has this kind; stores the kinds that it has. */
bool web_acceptance_known(const struct web_options *options, char *expected, size_t bytes);
uint64_t web_acceptance_least_servers(const struct web_options *options);
/* Whether one process at a time accepts, under a mutex of Apache. */
bool web_acceptance_serialised(const struct web_options *options);
/* Store the directives of Apache; "" by default. */
void web_acceptance_directives(const struct web_server *server, char *text, size_t bytes);

/* ---- semaphores.c: System V semaphores of the server ---- */

int web_semaphores_open(struct web_server *server);
/* Note those that a descendant of `root` was the last to use. Returns 0, or -1 without a message.
 */
int web_semaphores_note(const struct web_server *server, pid_t root);
/* Remove all noted ones. Returns 0, or -1 without a message. */
int web_semaphores_remove(const struct web_server *server);

/* ---- keeper.c: starts the server and cleans up when the driver ends ---- */

int web_keeper_start(struct web_server *server);
/* Stop server and keeper; remove the folder. */
int web_keeper_stop(struct web_server *server);

/* ---- processes.c ---- */

struct web_process {
    pid_t pid, parent;
    uint64_t user_ticks, system_ticks, children_user_ticks, children_system_ticks;
};

/* Return the number of descendants of `ancestor`, and itself first if `with_itself`; -1 with errno.
 * The caller frees the list. */
ssize_t web_descendants(pid_t ancestor, bool with_itself, struct web_process **list);
/* -1: it has ended. */
pid_t web_parent(pid_t pid);
/* Anonymous memory of a process in KiB; 0 if unknown. */
uint64_t web_resident_kib(pid_t pid);
/* End all children of this process, which reaps its descendants, including orphans. */
int web_end_children(const struct web_identity *identity, uint64_t patience_ms);

/* ---- group.c: the control group of this process ---- */

/* Return the folder of its group. `kind` is cgroup (version 1) or cgroup2, `controller` is "" for
 * version 2. */
bool web_group_find(const char *kind, const char *controller,
                    char directory[static WEB_PATH_BYTES]);
/* The number after a name in a file of names and numbers; without a name, the only number. */
bool web_group_number(const char *directory, const char *file_name, const char *name,
                      uint64_t *number);
/* Move this process to the parent of the measured group, if permitted. */
void web_group_leave(void);
/* Whether its processor time is limited (except by the number of CPUs). */
bool web_group_has_quota(void);

/* ---- accounting.c: processor time of the server's tree ---- */

struct web_cpu {
    uint64_t total_ns, user_ns, system_ns;
};

struct web_accounting {
    pid_t root;   /* of the server's tree */
    pid_t tracer; /* root of a tree to exclude from the server's; 0: none */
    int version;  /* of the control group; 0: sums over processes */
    char directory[WEB_PATH_BYTES];
    char reason[160]; /* reason for summing over processes */
};

void web_accounting_open(struct web_accounting *accounting, pid_t root, pid_t tracer);
int web_accounting_read(const struct web_accounting *accounting, struct web_cpu *used);
/* Whether the group still holds this tree only. */
bool web_accounting_own(const struct web_accounting *accounting);

/* ---- usage.c: what the server uses in a window, on its host ---- */

struct web_usage {
    struct web_accounting accounting;
    struct web_cpu before, cpu; /* cpu: of the window */
    uint64_t resident_kib;      /* of its largest process */
    uint64_t cached_bytes;      /* on the disk, by nginx */
};

int web_usage_begin(struct web_usage *usage);
int web_usage_end(struct web_usage *usage);
/* After all load: the rest, and whether the numbers are valid. */
int web_usage_conclude(struct web_usage *usage, const struct web_server *server);

/* ---- control.c: a server on another host ---- */

/* Find the address of the server. */
bool web_control_resolve(struct web_options *options);
/* Serve until a signal requests the end. */
int web_control_serve(struct web_server *server);
/* Connect to the server, and take over its settings. */
int web_control_connect(struct web_server *server, struct web_options *options);
/* As web_usage_begin() and so on, on the host of the server. */
int web_control_begin(const struct web_server *server);
int web_control_end(const struct web_server *server);
int web_control_conclude(const struct web_server *server, struct web_usage *usage);
/* Whether the server still runs; prints a message if not. */
int web_control_check(const struct web_server *server);

/* ---- times.c: samples of one quantity ---- */

struct web_times {
    uint64_t *ns; /* [count], unsorted until web_times_sort() */
    size_t count, room;
};

int web_times_add(struct web_times *times, uint64_t ns);
void web_times_sort(struct web_times *times);
/* Return the nearest rank of sorted times among `count` or more; false if it is not among them. */
bool web_times_percentile(const struct web_times *times, uint64_t count, unsigned permille,
                          uint64_t *ns);
void web_times_free(struct web_times *times);

/* ---- load.c: the closed loop ---- */

struct web_totals {
    uint64_t requests, connections, dynamic_requests, body_bytes, received_bytes;
    uint64_t elapsed_ns;
    struct web_times latency;
    /* Of the load from sessions. `latency` then includes responses after the window. */
    uint64_t planned, unanswered, connection_errors, most_open;
    uint64_t planned_ns;            /* time in which requests are planned */
    uint64_t beyond_limit;          /* connections that the driver could not open */
    uint64_t tracked, tracked_most; /* by the firewall; tracked_most 0: none are */
    struct web_times send_delay;
};

struct web_load {
    const struct web_options *options;
    const struct web_server *server;
    const struct web_files *files;
};

/* Check the response of each file once, and start the required FastCGI processes. */
int web_load_prime(const struct web_load *load);
/* Serve `requests` (0: those that start within `window_ms`), including connections. */
int web_load_run(const struct web_load *load, struct web_sequence *sequence, uint64_t requests,
                 uint64_t window_ms, struct web_totals *totals);
/* Fetch one body on a separate connection. Returns its length, or -1 (without a message). */
ssize_t web_get(const struct web_server *server, const char *path, char *body, size_t room);

/* ---- answer.c: read one response and verify it ---- */

enum { WEB_HEAD_BYTES = 2048 };

/* Position of the next byte in a chunked body (RFC 9112, section 7.1). */
struct web_chunks {
    enum { WEB_NOT_CHUNKED, WEB_CHUNK_SIZE, WEB_CHUNK_DATA, WEB_CHUNK_END, WEB_CHUNKS_END } state;
    size_t left; /* of the chunk data */
    char line[20];
    size_t line_bytes;
};

/* Return the value of a header field after the first line of a head; NULL if absent. */
const char *web_head_field(const char *head, const char *name);

struct web_wanted {
    const char *path; /* of the request, for messages; outlives the answer */
    int status;
    const char *content; /* of the file */
    size_t bytes;
    enum { WEB_BODY_SENT, WEB_BODY_OF_HEAD, WEB_BODY_NONE } body;
    const char *script; /* the program that sends the file within a page; NULL: none */
    bool stays_open;
};

struct web_answer {
    /* Expected values. */
    struct web_wanted wanted;
    char before[PAGE_TEXT_BYTES];
    size_t before_bytes, body_bytes;
    /* Progress. */
    char head[WEB_HEAD_BYTES + 1];
    size_t head_bytes, body_got, received;
    bool head_done;
    struct web_chunks chunks;
};

void web_answer_expect(struct web_answer *answer, const struct web_wanted *wanted);
/* Process received bytes. Returns 1: complete, 0: incomplete, -1 with a message. */
int web_answer_take(struct web_answer *answer, const char *bytes, size_t count);

/* ---- tracer.c ---- */

struct web_tracer {
    pid_t pid;
    int exit_code;
    char ready[WEB_PATH_BYTES];
};

int web_tracer_start(struct web_tracer *tracer, const struct web_server *server);
int web_tracer_stop(struct web_tracer *tracer);

/* ---- report.c ---- */

/* What the server behind a proxy was asked for. */
struct web_fetches {
    uint64_t all;             /* requests, also those of the warm-up */
    uint64_t requests, bytes; /* for requests of the window */
    /* Of these: time from a request to its answer; part of it after the answer was due. */
    struct web_times latency, delay;
};

struct web_outcome {
    struct web_totals totals;
    struct web_fetches fetches;
    struct web_usage usage;
    uint64_t driver_ns;
    int tracer_exit_code;
};

FILE *web_results_open(void);
int web_report(FILE *results, const struct web_server *server, struct web_outcome *outcome);
void web_report_failure(FILE *results);

#endif
