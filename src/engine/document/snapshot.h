/* snapshot.h -- snapshot reads of documents, and look-ups that writes share. */
#ifndef RN_ENGINE_DOCUMENT_SNAPSHOT_H
#define RN_ENGINE_DOCUMENT_SNAPSHOT_H

#include "cosmos/etag.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/range/container.h"
#include "engine/row.h"

enum { RN_PLACE_MAX = RN_KEY_MAX }; /* bytes of a place in a list */

/* The range, LSN and etag of a read or a write, for the headers of its answer.
 */
struct rn_document_place {
    uint32_t range;
    uint64_t lsn;        /* of the range at that time */
    struct rn_etag etag; /* of the document, if there is one */
    bool is_linkless;    /* it was read, and was written without links */
};

/* A snapshot; short-lived, one thread.  Views from it last until its end. */
struct rn_snapshot {
    struct rn_engine *engine;
    const struct rn_container *container;
    struct rn_txn *txn;
    int64_t now; /* documents that expired by then do not exist */
};

enum rn_code rn_snapshot_begin(struct rn_snapshot *r, struct rn_engine *e,
                               const struct rn_container *c,
                               struct rn_err *err) RN_CHECK;
void rn_snapshot_end(struct rn_snapshot *r); /* zeroed is fine */

/* RN_NOT_FOUND if there is no such document or it has expired.  `place` is
 * filled even so, except the etag, unless the range of a rid is unknown. */
enum rn_code rn_document_read(struct rn_snapshot *r, const struct rn_pk *pk,
                              struct rn_view id, struct rn_view *body,
                              struct rn_document_place *place) RN_CHECK;
enum rn_code rn_document_read_rid(struct rn_snapshot *r, uint64_t number,
                                  struct rn_view *body,
                                  struct rn_document_place *place) RN_CHECK;

/* Iterates over documents in the order of their keys (EPK, then id).  Updates
 * do not change that order, so a list that is read page by page has each
 * document once. */
struct rn_documents {
    struct rn_snapshot *reading;
    struct rn_cursor *cursor;
    struct rn_view at;      /* the place of the last document returned, */
    uint64_t rid;           /* and its rid */
    const struct rn_pk *pk; /* set if other key values may collide with it */
    bool no_bodies;
};

struct rn_documents_scan {
    struct rn_epk_range epks;
    const struct rn_pk *pk; /* only documents of this key; NULL: all */
    struct rn_view after;   /* a place; empty: from the start */
    bool from_there;        /* begin with that place itself, if it exists */
    bool no_bodies;         /* the caller only counts: bodies are empty */
};

/* The interval of 'd' keys of such a scan.  RN_BAD_REQUEST if `after` is not a
 * place. */
struct rn_documents_bounds {
    struct rn_key from, before;
};
enum rn_code rn_documents_bound(const struct rn_container *c,
                                const struct rn_documents_scan *scan,
                                struct rn_documents_bounds *out) RN_CHECK;
bool rn_documents_bounds_have(const struct rn_documents_bounds *b,
                              struct rn_view place);
/* The document at a place, which according to an index has that rid;
 * RN_NOT_FOUND if it has expired. */
enum rn_code rn_document_at(struct rn_snapshot *r, struct rn_view place,
                            uint64_t rid, struct rn_view *body) RN_CHECK;
/* How many documents were ever created in the container: an estimate of how
 * many it has. */
enum rn_code rn_documents_count(struct rn_snapshot *r, uint64_t *out) RN_CHECK;

/* RN_BAD_REQUEST if `after` is not a place. */
enum rn_code rn_documents_open(struct rn_documents *d, struct rn_snapshot *r,
                               const struct rn_documents_scan *scan) RN_CHECK;
/* RN_NOT_FOUND at the end; then, and on failure, d->at is the last place
 * reached. */
enum rn_code rn_documents_next(struct rn_documents *d,
                               struct rn_view *body) RN_CHECK;
void rn_documents_close(struct rn_documents *d); /* zeroed is fine */

/* ---- look-ups that writes share -------------------------------------------
 */

bool rn_document_is_expired(const struct rn_container *c,
                            const struct rn_row_feed *row, int64_t now);
/* The body that a 'd' row points to. */
enum rn_code rn_document_follow(struct rn_txn *txn,
                                const struct rn_container *c,
                                const struct rn_row_document *d,
                                struct rn_row_feed *out) RN_CHECK;

/* Is `pk` the full partition key value of that document?  Different values may
 * have the same key; see key.h. */
enum rn_code rn_document_has_key(const struct rn_container *c,
                                 const struct rn_pk *pk, struct rn_view json,
                                 bool *yes) RN_CHECK;

/* The 'd' key of the document with a rid. */
enum rn_code rn_document_key_of(struct rn_txn *txn,
                                const struct rn_container *c, uint64_t rid,
                                struct rn_key *out) RN_CHECK;

#endif
