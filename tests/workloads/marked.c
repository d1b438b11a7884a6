/* Writes the marks of its arguments, four to a mark. */
#include "regatta_probe.h"

int main(int count, char **words) {
    for (int i = 1; i + 3 < count; i += 4)
        regatta_mark(words[i], words[i + 1], strtol(words[i + 2], NULL, 10), words[i + 3]);
    return 0;
}
