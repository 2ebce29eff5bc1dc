/* chain.h -- the session token of a client, as the client libraries keep it.
 *
 * Of every range it keeps the newest LSN of any answer, and sends all of
 * them with each request.  Several clients may share one, as the threads of a
 * program do.
 *
 * Any thread.
 */
#ifndef RN_TEST_CHAIN_H
#define RN_TEST_CHAIN_H

#include "base/mem.h"

#include <pthread.h>

enum { CHAIN_PARTS_MAX = 128, CHAIN_KEYS_MAX = 64, CHAIN_TEXT_MAX = 4096 };

struct chain {
    pthread_mutex_t lock;
    size_t count;
    struct chain_part {
        uint32_t range;
        uint64_t lsn;
    } parts[CHAIN_PARTS_MAX];      /* those of ranges that are gone, too */
    uint64_t keys[CHAIN_KEYS_MAX]; /* the highest LSN of each */
};

void chain_init(struct chain *c);
/* An answer about a key had this session token. */
void chain_note(struct chain *c, uint32_t key, struct rn_view token);
/* The token to send, as a header, empty if none was noted yet; `ahead` makes
 * it one of what has not been yet.  Returns what it demands of a key. */
uint64_t chain_print(struct chain *c, uint32_t key, uint64_t ahead,
                     char out[CHAIN_TEXT_MAX]);
/* What a header demands of a range; 0 if it does not name it. */
uint64_t chain_demand(const char *header, uint32_t range);

#endif
