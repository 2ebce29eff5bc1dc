/* batch.h -- a batch: the changes of one page, all or some, that a program or a
 * handler gets in one call.
 *
 * Reference-counted: a program may keep a batch beyond its callback.  A batch
 * shares its page with others and is immutable.  Any thread.
 */
#ifndef RN_CLIENT_FEED_BATCH_H
#define RN_CLIENT_FEED_BATCH_H

#include "client/feed/page.h"

struct rn_delivery; /* of a processor: how the batch is acknowledged */

struct runnel_batch {
    atomic_uint refs;
    struct rn_change_page *page;
    size_t count;
    const uint32_t *picks; /* places in the page; NULL: all of it */
    const char *token;
    const char *rid; /* of the container */
    runnel_range range;
    struct rn_delivery *delivery; /* NULL: of a feed */
    struct rn_arena arena;        /* of picks and texts */
};

struct rn_batch_options {
    struct rn_change_page *page; /* the batch takes a reference */
    const uint32_t *picks;
    size_t pick_count; /* with picks */
    const char *token;
    const char *rid; /* NULL: as the page has it */
    const char *range_id;
    const struct rn_epk_range *keys;
};

/* Everything is copied. */
runnel_code rn_batch_new(const struct rn_batch_options *options,
                         runnel_batch **out, runnel_error *error) RUNNEL_CHECK;
/* Change `i` of the batch; i < count. */
const runnel_change *rn_batch_at(const runnel_batch *b, size_t i);
runnel_batch *rn_batch_ref(runnel_batch *b);
void rn_batch_unref(runnel_batch *b); /* NULL is fine */

#endif
