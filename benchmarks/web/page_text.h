/* The text of a dynamic page: `page` writes it, `web` expects it. */
#ifndef PAGE_TEXT_H
#define PAGE_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_PATH_BYTES = 48, PAGE_TEXT_BYTES = 640 };

#define PAGE_DIRECTORY "/file_set/dir00000/"
/* Query in place of a file's path: wait, so that each such request occupies one process. */
#define PAGE_WAIT "wait"
#define PAGE_WAIT_MS 100

static const char PAGE_AFTER[] = "\n</pre>\n</body></html>\n";

/* Write the text before the file. Returns its length, or -1 if it does not fit. */
static inline int page_before(char text[static PAGE_TEXT_BYTES], const char *software,
                              const char *address, const char *script, const char *query) {
    int length = snprintf(text, PAGE_TEXT_BYTES,
                          "<html><head><title>A page made for each request</title></head>\n<body>\n"
                          "<p>SERVER_SOFTWARE = %s\n<p>REMOTE_ADDR = %s\n<p>SCRIPT_NAME = %s\n"
                          "<p>QUERY_STRING = %s\n<pre>\n",
                          software, address, script, query);
    return length < 0 || length >= PAGE_TEXT_BYTES ? -1 : length;
}

/* Whether a query names a file of the set: no other file is ever opened. */
static inline bool page_query_is_valid(const char *query) {
    const size_t length = sizeof PAGE_DIRECTORY - 1;
    if (strncmp(query, PAGE_DIRECTORY "class", length + 5) != 0) {
        return false;
    }
    const char *rest = query + length + 5;
    return rest[0] >= '0' && rest[0] <= '3' && rest[1] == '_' && rest[2] >= '1' && rest[2] <= '9' &&
           rest[3] == '\0';
}

#endif
