/* document.h -- writes of documents: create, replace, upsert, delete.
 *
 * A document is stored as the JSON that is served: the client's properties as
 * it sent them, then _rid, _self, _etag, _attachments, _ts.  A version is
 * identified by (range, LSN, n), from which its etag is made.
 */
#ifndef RN_ENGINE_DOCUMENT_DOCUMENT_H
#define RN_ENGINE_DOCUMENT_DOCUMENT_H

#include "engine/document/snapshot.h"
#include "engine/document/version.h"
#include "engine/engine.h"

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
