/* index_fill.h -- builds an index in slices: adds the documents that are older
 * than it. */
#ifndef RN_ENGINE_INDEX_INDEX_FILL_H
#define RN_ENGINE_INDEX_INDEX_FILL_H

#include "engine/index/index.h"

struct rn_index_work; /* indexer.h */

enum {
    RN_INDEX_CHANGED = 1 << 16,
    RN_FEED_PLACE = 16, /* bytes of a feed key after its tag */
};

/* The documents of an index build in progress: they are read, then sorted, then
 * added.  The progress of a slice counts when it is durable. */
struct rn_index_filling {
    uint32_t container; /* 0: none */
    uint8_t number;
    struct rn_buf entries, offsets, sorted; /* both into `entries` */
    bool is_full;                           /* ready to be added */
    bool is_end;                            /* all documents have been read */
    size_t added;
    char at[RN_FEED_PLACE];                     /* the last position read */
    size_t at_len;                              /* 0: none yet */
    size_t entries_len, offsets_len, was_added; /* durable values */
    size_t was_at_len;
    char was_at[RN_FEED_PLACE];
    bool was_full;
    /* Bits, by hash of rid, of documents that may have changed since they were
     * read. */
    uint64_t changed[RN_INDEX_CHANGED / 64];
    uint64_t resets, seen; /* as the slice saw it */
};

/* Continues the build of an index. */
enum rn_code rn_index_fill(struct rn_index_work *w,
                           struct rn_index *x) RN_CHECK;
/* The slice is durable; or it was undone. */
void rn_index_filling_done(struct rn_index_filling *f);
void rn_index_filling_cut(struct rn_index_filling *f);
void rn_index_filling_reset(struct rn_index_filling *f);
/* A document is changed or deleted. */
void rn_index_filling_note(struct rn_index_filling *f, uint32_t container,
                           uint64_t rid);
void rn_index_filling_release(struct rn_index_filling *f);

#endif
