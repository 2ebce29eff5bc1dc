/* document.h -- documents: create, read, replace, upsert, delete, list.
 *
 * A document is stored as the JSON that is served: the client's properties as
 * it sent them, then _rid, _self, _etag, _attachments, _ts.  A version is
 * identified by (range, LSN, n), from which its etag is made.
 */
#ifndef RN_ENGINE_DOCUMENT_DOCUMENT_H
#define RN_ENGINE_DOCUMENT_DOCUMENT_H

#include "engine/document/version.h"
#include "engine/engine.h"

enum { RN_PLACE_MAX = RN_KEY_MAX }; /* bytes of a place in a list */

/* The range, LSN and etag of a read or a write, for the headers of its answer.
 */
struct rn_document_place {
    uint32_t range;
    uint64_t lsn;        /* of the range at that time */
    struct rn_etag etag; /* of the document, if there is one */
    bool is_linkless;    /* it was read, and was written without links */
};

/* ---- reading ------------------------------------------------------------- */

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

/* How many documents were created in each range that the container has had, by
 * range id.  An interval of EPKs has at most the sum over the ranges it
 * overlaps, and about that many if none is deleted. */
struct rn_birth {
    uint32_t range;
    uint64_t documents;
    struct rn_epk_range epks;
};
struct rn_births {
    struct rn_birth *list; /* in the arena */
    uint32_t count;
};
enum rn_code rn_births_read(struct rn_births *b, struct rn_snapshot *r,
                            struct rn_arena *arena) RN_CHECK;
uint64_t rn_births_count(const struct rn_births *b,
                         const struct rn_epk_range *epks);

/* Iterates over the places of documents in the order of their rids: those of a
 * range come in the order in which they were created.  The documents themselves
 * are not read, and expired ones are included. */
struct rn_rid_scan {
    struct rn_snapshot *reading;
    const struct rn_births *births;
    struct rn_epk_range epks;
    struct rn_documents_bounds bounds;
    struct rn_cursor *cursor;
    uint32_t next;        /* index of the next range in births */
    uint64_t from;        /* the least wanted rid */
    uint64_t rid;         /* of the last document returned, */
    struct rn_view place; /* and its place */
};
/* `scan` selects the documents; its `after`, a place in key order, is empty. */
enum rn_code rn_rid_scan_open(struct rn_rid_scan *s, struct rn_snapshot *r,
                              const struct rn_births *births,
                              const struct rn_documents_scan *scan,
                              uint64_t from) RN_CHECK;
enum rn_code rn_rid_scan_next(struct rn_rid_scan *s) RN_CHECK;
void rn_rid_scan_close(struct rn_rid_scan *s); /* zeroed is fine */
/* The rid of the document at a place; RN_NOT_FOUND if none exists. */
enum rn_code rn_document_rid_at(struct rn_snapshot *r, struct rn_view place,
                                uint64_t *rid) RN_CHECK;

/* ---- writing ------------------------------------------------------------- */

enum rn_document_verb {
    RN_DOCUMENT_CREATE,
    RN_DOCUMENT_UPSERT,
    RN_DOCUMENT_REPLACE,
    RN_DOCUMENT_DELETE,
    RN_DOCUMENT_PATCH, /* PATCH and READ: in batch.h only */
    RN_DOCUMENT_READ,
};

struct rn_document_conditions {
    struct rn_view if_match, if_none_match; /* empty: none */
};
struct rn_found; /* apply.h */
/* Is `verb` allowed on the current version?  In order: RN_CONFLICT,
 * RN_NOT_FOUND, RN_PRECONDITION; for a READ, RN_NOT_MODIFIED. */
enum rn_code rn_document_decide(enum rn_document_verb verb,
                                const struct rn_document_conditions *c,
                                const struct rn_found *old,
                                struct rn_err *err) RN_CHECK;

struct rn_document_write {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    enum rn_document_verb verb;
    const struct rn_container *container;
    const struct rn_pk *pk; /* from the header; NULL: taken from the body */
    struct rn_view id;      /* REPLACE, DELETE */
    bool keeps_id;          /* REPLACE: the body must have the same id */
    bool is_linkless;       /* the client wants no links: see row.h */
    uint64_t rid;           /* required rid of the document; 0: any */
    struct rn_view body;    /* all but DELETE: JSON as sent */
    struct rn_document_conditions conditions;
    struct rn_buf *room; /* lends its memory until release; NULL: none */

    /* Out. */
    bool created;
    struct rn_document_place place;
    struct rn_view stored; /* the document as served; empty after DELETE */

    /* Private. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_arena arena;
    struct rn_version version;
};

/* Parses, checks, locates and renders the body, and queues the write.  An
 * invalid body fails at once, and then `done` is not called: RN_BAD_REQUEST
 * (reason KEY_MISMATCH if the key is wrong), RN_TOO_LARGE.  Decided in order:
 * RN_CONFLICT, RN_NOT_FOUND, RN_PRECONDITION. */
enum rn_code rn_document_write_start(struct rn_engine *e,
                                     struct rn_document_write *w,
                                     struct rn_err *err) RN_CHECK;
void rn_document_write_release(struct rn_document_write *w);

#endif
