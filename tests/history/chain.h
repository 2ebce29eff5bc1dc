/* chain.h -- the session token of a client, as the client libraries keep it.
 *
 * Of every range it keeps the newest LSN that any answer told, and sends all of
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
    uint64_t keys[CHAIN_KEYS_MAX]; /* what was told of each key */
};

void chain_init(struct chain *c);
/* An answer about a key told this session token. */
void chain_tell(struct chain *c, uint32_t key, struct rn_view token);
/* The token to send, as a header, empty if nothing was told yet; `ahead` makes
 * it one of what has not been yet.  Returns what it demands of a key. */
uint64_t chain_print(struct chain *c, uint32_t key, uint64_t ahead,
                     char out[CHAIN_TEXT_MAX]);
/* What a header demands of a range; 0 if it does not name it. */
uint64_t chain_demand(const char *header, uint32_t range);

#endif
