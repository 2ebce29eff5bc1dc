/* bloom_fill.h -- fills the Bloom filter of a container that has documents, in
 * background slices.
 *
 * Filters are in memory only (bloom.h).  After a start, the first look-up of an
 * id that is new makes its container have one: slices read the keys of its
 * documents in order and add them, and the last one completes the filter.  What
 * is put meanwhile is added as well, so at the end no key is missing.
 *
 * While clients write, a slice goes along with each of their groups and costs
 * the group 0.1 to 0.3 ms: 2.5 million documents took 2,150 groups.
 *
 * Thread: the committer's.
 */
#ifndef RN_ENGINE_DOCUMENT_BLOOM_FILL_H
#define RN_ENGINE_DOCUMENT_BLOOM_FILL_H

#include "engine/background.h"
#include "engine/key.h"

struct rn_bloom_fill {
    uint32_t container; /* 0: none */
    bool is_end;        /* the slice has read the last key */
    struct rn_key at;   /* the first key that is not in the filter yet */
    struct rn_key next; /* the same once the slice is done */
};

/* A look-up in this container would have been saved by a filter.  One container
 * is filled at a time; another one begins with a later look-up. */
void rn_bloom_fill_want(struct rn_engine *e, uint32_t container);

/* Due while a filter is being filled. */
extern const struct rn_background_ops rn_bloom_background;

#endif
