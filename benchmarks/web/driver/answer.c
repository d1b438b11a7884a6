/* Parse one response: check its head and compare its body byte by byte with the expected one. */
#include "web.h"

#include <stdlib.h>
#include <strings.h>

void web_answer_expect(struct web_answer *answer, const struct web_wanted *wanted) {
    answer->wanted = *wanted;
    answer->before_bytes = 0;
    answer->body_bytes = wanted->body == WEB_BODY_SENT ? wanted->bytes : 0;
    if (wanted->script != NULL) {
        /* The configuration makes the server identify itself as "Apache". */
        int length =
            page_before(answer->before, "Apache", "127.0.0.1", wanted->script, wanted->path);
        answer->before_bytes = length > 0 ? (size_t)length : 0;
        answer->body_bytes += answer->before_bytes + sizeof PAGE_AFTER - 1;
    }
    answer->head_bytes = answer->body_got = answer->received = 0;
    answer->chunks = (struct web_chunks){.state = WEB_NOT_CHUNKED};
    answer->head_done = false;
}

const char *web_head_field(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1;
            return line + strspn(line, " ");
        }
    }
    return NULL;
}

/* The end of the body is marked by its length, by chunks, or by the end of the connection.
 * Since 2.4.59, Apache drops the length that a CGI program reports. */
static int check_length(struct web_answer *answer) {
    const char *length = web_head_field(answer->head, "Content-Length");
    const char *coding = web_head_field(answer->head, "Transfer-Encoding");
    bool dynamic = answer->wanted.script != NULL;
    /* A response to HEAD has the length of the body that GET would get. */
    size_t bytes =
        answer->wanted.body == WEB_BODY_OF_HEAD ? answer->wanted.bytes : answer->body_bytes;
    if (answer->wanted.body == WEB_BODY_NONE) {
        return 0;
    }
    if (dynamic && coding != NULL && strncasecmp(coding, "chunked\r", 8) == 0) {
        answer->chunks.state = WEB_CHUNK_SIZE;
        return 0;
    }
    if (length == NULL && dynamic && !answer->wanted.stays_open) {
        return 0;
    }
    if (length == NULL || strtoull(length, NULL, 10) != bytes) {
        return web_fail(
            "response for %s: expected Content-Length %zu, got %.*s", answer->wanted.path, bytes,
            length == NULL ? 4 : (int)strcspn(length, "\r\n"), length == NULL ? "none" : length);
    }
    return 0;
}

static int check_head(struct web_answer *answer) {
    const char *asked = answer->wanted.path;
    const char *status = strchr(answer->head, ' ');
    if (strncmp(answer->head, "HTTP/1.", 7) != 0 || status == NULL ||
        atoi(status) != answer->wanted.status) {
        return web_fail("response for %s: expected status %d, got %.*s", asked,
                        answer->wanted.status, (int)strcspn(answer->head, "\r\n"), answer->head);
    }
    const char *connection = web_head_field(answer->head, "Connection");
    if (answer->wanted.stays_open && connection != NULL &&
        strncasecmp(connection, "close", 5) == 0) {
        return web_fail("response for %s: expected a persistent connection, got Connection: close",
                        asked);
    }
    return check_length(answer);
}

/* Compare the body bytes in one buffer; return the number of bytes, 0 if they differ. */
static size_t compare(const struct web_answer *answer, const char *bytes, size_t count) {
    const char *parts[] = {answer->before, answer->wanted.content, PAGE_AFTER};
    const size_t sizes[] = {answer->before_bytes, answer->wanted.bytes, sizeof PAGE_AFTER - 1};
    size_t at = answer->body_got, part = 0;
    while (at >= sizes[part]) {
        at -= sizes[part++];
    }
    size_t here = sizes[part] - at < count ? sizes[part] - at : count;
    return memcmp(parts[part] + at, bytes, here) == 0 ? here : 0;
}

static int take_body(struct web_answer *answer, const char *bytes, size_t count) {
    if (count > answer->body_bytes - answer->body_got) {
        return web_fail("response for %s: expected %zu bytes, got more", answer->wanted.path,
                        answer->body_bytes);
    }
    while (count > 0) {
        size_t same = compare(answer, bytes, count);
        if (same == 0) {
            return web_fail("response for %s: expected the contents of the file, got a difference "
                            "after byte %zu",
                            answer->wanted.path, answer->body_got);
        }
        answer->body_got += same;
        bytes += same;
        count -= same;
    }
    return answer->body_got == answer->body_bytes;
}

/* Read one line of the chunk framing. Returns 1: complete, 0: incomplete, -1 with a message. */
static int take_line(struct web_answer *answer, const char **bytes, size_t *count) {
    struct web_chunks *chunks = &answer->chunks;
    while (*count > 0) {
        char byte = *(*bytes)++;
        (*count)--;
        if (byte == '\n') {
            chunks->line[chunks->line_bytes] = '\0';
            chunks->line_bytes = 0;
            return 1;
        }
        if (chunks->line_bytes == sizeof chunks->line - 1) {
            return web_fail("response for %s: expected a chunk size, got a longer line",
                            answer->wanted.path);
        }
        chunks->line[chunks->line_bytes++] = byte;
    }
    return 0;
}

/* Set the state after a line. Returns 0, or -1 with a message. */
static int follow_line(struct web_answer *answer) {
    struct web_chunks *chunks = &answer->chunks;
    if (chunks->state == WEB_CHUNK_SIZE) {
        char *end;
        chunks->left = (size_t)strtoull(chunks->line, &end, 16);
        if (end == chunks->line || *end != '\r') {
            return web_fail("response for %s: expected a chunk size, got %s", answer->wanted.path,
                            chunks->line);
        }
        chunks->state = chunks->left > 0 ? WEB_CHUNK_DATA : WEB_CHUNKS_END;
        return 0;
    }
    if (strcmp(chunks->line, "\r") != 0) {
        return web_fail("response for %s: expected the end of a chunk, got %s", answer->wanted.path,
                        chunks->line);
    }
    chunks->state = chunks->state == WEB_CHUNK_END ? WEB_CHUNK_SIZE : WEB_NOT_CHUNKED;
    return 0;
}

static int take_chunks(struct web_answer *answer, const char *bytes, size_t count) {
    struct web_chunks *chunks = &answer->chunks;
    while (count > 0) {
        if (chunks->state == WEB_NOT_CHUNKED) {
            return take_body(answer, bytes, count); /* marks excess data */
        }
        if (chunks->state == WEB_CHUNK_DATA) {
            size_t now = chunks->left < count ? chunks->left : count;
            if (take_body(answer, bytes, now) < 0) {
                return -1;
            }
            bytes += now;
            count -= now;
            chunks->left -= now;
            chunks->state = chunks->left > 0 ? WEB_CHUNK_DATA : WEB_CHUNK_END;
            continue;
        }
        int whole = take_line(answer, &bytes, &count);
        if (whole < 0 || (whole == 1 && follow_line(answer) != 0)) {
            return -1;
        }
    }
    if (chunks->state != WEB_NOT_CHUNKED) {
        return 0;
    }
    return answer->body_got == answer->body_bytes
               ? 1
               : web_fail("response for %s: expected %zu bytes, got %zu", answer->wanted.path,
                          answer->body_bytes, answer->body_got);
}

static int take_rest(struct web_answer *answer, const char *bytes, size_t count) {
    return answer->chunks.state != WEB_NOT_CHUNKED ? take_chunks(answer, bytes, count)
                                                   : take_body(answer, bytes, count);
}

int web_answer_take(struct web_answer *answer, const char *bytes, size_t count) {
    answer->received += count;
    if (answer->head_done) {
        return take_rest(answer, bytes, count);
    }
    size_t room = WEB_HEAD_BYTES - answer->head_bytes;
    size_t now = count < room ? count : room;
    size_t before = answer->head_bytes;
    (void)memcpy(answer->head + before, bytes, now);
    answer->head_bytes += now;
    answer->head[answer->head_bytes] = '\0';
    char *end = strstr(answer->head, "\r\n\r\n");
    if (end == NULL) {
        return answer->head_bytes < WEB_HEAD_BYTES
                   ? 0
                   : web_fail("response for %s: expected a head of at most %d bytes, got more",
                              answer->wanted.path, WEB_HEAD_BYTES);
    }
    end[2] = '\0';
    answer->head_done = true;
    answer->head_bytes = (size_t)(end + 4 - answer->head);
    size_t of_head = answer->head_bytes - before;
    return check_head(answer) != 0 ? -1 : take_rest(answer, bytes + of_head, count - of_head);
}
