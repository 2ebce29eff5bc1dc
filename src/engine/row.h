/* row.h -- the encoding of the store's values, byte by byte; all big endian.
 *
 *   'd'  rid 8 | range 4 | lsn 8 | n 4 [| birth range 4 | birth n 4];
 *        n's highest bit: there is a 't' row
 *   'f'  version 1 | epk length 1 | flags 1 | reserved 1 | ttl 4 | _ts 8 |
 *        rid 8 | epk | JSON; flags' lowest bit: without links
 *   'r'  lsn 8 | last _ts 8 | next rid counter 8 | state 1 | parents 1 |
 *        parent 4 * 2 | min length 1 | min | max length 1 | max |
 *        children 1 | child 4 * children [| mixed 8 [| lost 8]]
 *
 * The decoders read values that Runnel wrote and whose checksum the store has
 * verified: a value that does not decode is damaged, RN_CORRUPT.
 */
#ifndef RN_ENGINE_ROW_H
#define RN_ENGINE_ROW_H

#include "cosmos/epk.h"
#include "cosmos/etag.h"

enum {
    RN_ROW_DOCUMENT_MAX = 32,
    RN_ROW_FEED_HEADER = 24, /* before the epk */
    RN_ROW_RANGE_MAX = 34 + 2 + 2 * RN_EPK_MAX + 9 + 16,
};

struct rn_row_document {
    uint64_t rid;
    uint32_t range;
    uint64_t lsn;
    uint32_t n;
    bool is_timed; /* it has a 't' row */
    /* Its 'f' row was re-homed to another range.  These name the range in which
     * the version was written, which its etag contains. */
    bool is_moved;
    uint32_t birth_range, birth_n;
};

struct rn_row_feed {
    int32_t ttl; /* the document's own; 0: none */
    /* The client asked for an answer without links (_self, _attachments). */
    bool is_linkless;
    int64_t ts;
    uint64_t rid;
    struct rn_view epk;
    struct rn_view json;
};

/* A dead range takes no writes.  Its children do, which together cover it: two
 * after a split, one after a merge. */
enum rn_range_state {
    RN_RANGE_ALIVE,
    RN_RANGE_DEAD,
    RN_RANGE_EMPTY, /* dead, and its feed entries were re-homed to its
                       descendants; so were those of all its ancestors */
    RN_RANGE_BARE,  /* empty, and it holds no history either; nor do its
                       ancestors */
};

struct rn_row_range {
    uint64_t lsn;
    int64_t last_ts;
    uint64_t next_rid;
    enum rn_range_state state;
    uint32_t parent_count, parents[2];
    uint32_t child_count, children[2];
    uint64_t mixed; /* up to this LSN _ts may decrease along the feed, because
                       of a merge; 0: nowhere */
    /* Up to this LSN there are writes of which no history is kept (history.h).
     * If no history was ever kept this equals `lsn`, and the row omits it. */
    uint64_t lost;
    struct rn_epk_range epks;
};

size_t rn_row_document_encode(const struct rn_row_document *d,
                              char out[RN_ROW_DOCUMENT_MAX]);
enum rn_code rn_row_document_decode(struct rn_view bytes,
                                    struct rn_row_document *out) RN_CHECK;

/* The etag of the version, also after re-homing; `series` is its container's.
 */
static inline struct rn_etag
rn_row_document_etag(const struct rn_row_document *d, uint32_t series)
{
    return (struct rn_etag){ .lsn = d->lsn,
                             .range = d->is_moved ? d->birth_range : d->range,
                             .n = d->is_moved ? d->birth_n : d->n,
                             .series = series };
}

/* Encodes the header and the epk only; the JSON follows. */
size_t rn_row_feed_encode(const struct rn_row_feed *f, char *out);
enum rn_code rn_row_feed_decode(struct rn_view bytes,
                                struct rn_row_feed *out) RN_CHECK;
/* The whole row again, after decoding. */
static inline struct rn_view rn_row_feed_bytes(const struct rn_row_feed *f)
{
    return rn_view_of(f->epk.at - RN_ROW_FEED_HEADER,
                      RN_ROW_FEED_HEADER + f->epk.len + f->json.len);
}

size_t rn_row_range_encode(const struct rn_row_range *r,
                           char out[RN_ROW_RANGE_MAX]);
enum rn_code rn_row_range_decode(struct rn_view bytes,
                                 struct rn_row_range *out) RN_CHECK;

#endif
