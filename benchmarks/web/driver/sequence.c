/*
 * The request sequence, determined by the seed alone. Kinds, classes and connections are dealt from
 * decks, and the files of a class are taken at golden-ratio steps through their distribution. A few
 * thousand requests therefore have the intended shares, mean size and connections per request, and
 * two servers never differ by chance.
 */
#include "web.h"

#include <stdlib.h>

uint64_t web_random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int deck_open(struct web_deck *deck, const size_t *counts, unsigned kinds) {
    size_t count = 0;
    for (unsigned kind = 0; kind < kinds; kind++) {
        count += counts[kind];
    }
    deck->card = malloc(count);
    if (deck->card == NULL) {
        return web_fail("sequence: cannot allocate %zu bytes", count);
    }
    deck->count = 0;
    for (unsigned kind = 0; kind < kinds; kind++) {
        for (size_t i = 0; i < counts[kind]; i++) {
            deck->card[deck->count++] = (uint8_t)kind;
        }
    }
    deck->dealt = deck->count; /* shuffled before the first is dealt */
    return 0;
}

static uint8_t deck_deal(struct web_deck *deck, uint64_t *random) {
    if (deck->dealt == deck->count) {
        for (size_t i = deck->count - 1; i > 0; i--) {
            size_t j = (size_t)(web_random_next(random) % (i + 1));
            uint8_t card = deck->card[i];
            deck->card[i] = deck->card[j];
            deck->card[j] = card;
        }
        deck->dealt = 0;
    }
    return deck->card[deck->dealt++];
}

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

int web_sequence_open(struct web_sequence *sequence, const struct web_options *options,
                      uint64_t stream) {
    *sequence = (struct web_sequence){
        .random = options->seed,
        .requests_per_connection = (unsigned)options->requests_per_connection,
    };
    sequence->random = web_random_next(&sequence->random) + stream;
    /* Of 100 * k requests, the persistent share comes k per connection, every other request on its
     * own. */
    size_t persistent = (size_t)options->persistent_percent;
    size_t single = (100 - persistent) * (size_t)options->requests_per_connection;
    size_t divisor = common_divisor(persistent, single);
    const size_t sessions[] = {single / divisor, persistent / divisor};
    size_t percent = web_is(options->dynamic, "none") ? 0 : (size_t)options->dynamic_percent;
    const size_t dynamic[] = {100 - percent, percent};
    const size_t classes[] = {WEB_CLASS_PERCENT[0], WEB_CLASS_PERCENT[1], WEB_CLASS_PERCENT[2],
                              WEB_CLASS_PERCENT[3]};
    if (deck_open(&sequence->sessions, sessions, 2) != 0 ||
        deck_open(&sequence->dynamic, dynamic, 2) != 0) {
        return -1;
    }
    for (unsigned kind = 0; kind < 2; kind++) {
        if (deck_open(&sequence->classes[kind], classes, WEB_CLASSES) != 0) {
            return -1;
        }
        for (unsigned class = 0; class < WEB_CLASSES; class++) {
            sequence->file_state[kind][class] = web_random_next(&sequence->random);
        }
    }
    return 0;
}

static unsigned file_of_class(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    unsigned place = (unsigned)(((*state >> 32) * 1000) >> 32);
    unsigned number = 0;
    while (place >= WEB_FILE_PERMILLE[number]) {
        place -= WEB_FILE_PERMILLE[number++];
    }
    return number;
}

void web_sequence_next(struct web_sequence *sequence, struct web_session *session) {
    session->persistent = deck_deal(&sequence->sessions, &sequence->random) == 1;
    session->count = session->persistent ? sequence->requests_per_connection : 1;
    for (size_t i = 0; i < session->count; i++) {
        unsigned kind = deck_deal(&sequence->dynamic, &sequence->random);
        unsigned class = deck_deal(&sequence->classes[kind], &sequence->random);
        unsigned number = file_of_class(&sequence->file_state[kind][class]);
        session->request[i] = (struct web_request){
            .file = (uint8_t)(class * WEB_FILES_PER_CLASS + number), .dynamic = kind == 1};
    }
}

void web_sequence_close(struct web_sequence *sequence) {
    free(sequence->sessions.card);
    free(sequence->dynamic.card);
    free(sequence->classes[0].card);
    free(sequence->classes[1].card);
}
