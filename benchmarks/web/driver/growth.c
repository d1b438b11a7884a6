/* Arrays that grow as items are added. */
#include "web.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

void *web_grown(void *items, size_t used, size_t *room, size_t bytes, const char *what) {
    if (used < *room) {
        return items;
    }
    size_t more_room = *room == 0 ? FIRST_ROOM : *room * 2;
    void *more = realloc(items, more_room * bytes);
    if (more == NULL) {
        (void)web_fail("%s: cannot allocate memory for %zu", what, more_room);
        return NULL;
    }
    *room = more_room;
    return more;
}
