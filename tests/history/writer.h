/* writer.h -- writers to partition keys of their own, which note all they do.
 *
 * Keys go to writers in turn.  What they write: transactions upon one key, with
 * deletions of what they have just put there; bulks upon one range; single
 * deletions.  A writer whose answer was lost looks whether its write has
 * happened.  It is the only one that writes to its keys, so it knows, and the
 * checker has no doubts left.
 */
#ifndef RN_TEST_WRITER_H
#define RN_TEST_WRITER_H

#include "history/server_process.h"

struct writers {
    uint32_t count, slots; /* documents of a key */
    uint32_t group;        /* operations of a transaction, of a bulk */
    atomic_ulong done, tokens;
};
extern struct writers writers;

/* `text` is room for a request, to be released. */
void writer_init(struct rn_buf *text);
void writer_step(struct client *c, struct rn_buf *text);

#endif
