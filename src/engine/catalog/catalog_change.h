/* catalog_change.h -- a change of the catalog: an object is created, replaced
 * or deleted. */
#ifndef RN_ENGINE_CATALOG_CATALOG_CHANGE_H
#define RN_ENGINE_CATALOG_CATALOG_CHANGE_H

#include "engine/catalog/catalog.h"
#include "engine/operation.h"

enum rn_catalog_verb {
    RN_CATALOG_CREATE,
    RN_CATALOG_UPSERT, /* users and permissions */
    RN_CATALOG_REPLACE,
    RN_CATALOG_DELETE,
};

struct rn_catalog_change {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    enum rn_catalog_verb verb;
    enum rn_kind kind;
    struct rn_rid owner;
    struct rn_view id;       /* REPLACE, DELETE: the object's */
    struct rn_rid rid;       /* likewise, whatever its current id; 0: none */
    struct rn_view body;     /* all but DELETE: JSON as sent */
    struct rn_view if_match; /* a condition; at NULL: none */
    struct rn_offer_terms
        terms;               /* CREATE of a database or container; 0: none */
    enum rn_offer_move move; /* REPLACE of an offer */
    /* CREATE of a container, 0 for the default: how many ranges it has, and the
     * LSN after which they begin. */
    uint32_t ranges;
    uint64_t lsn;

    /* Out, in done.call and until released. */
    bool created;
    struct rn_object *object; /* as it is now; after DELETE, as it was */

    /* Private. */
    struct rn_object *offer; /* created with `object` */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_arena arena;
    struct rn_buf text;  /* the client's part of the body, normalised */
    struct rn_view name; /* the id in the body */
};

/* Checks the body and queues the change.  An invalid body fails at once, and
 * then `done` is not called.  Decided in order: RN_CONFLICT, RN_NOT_FOUND
 * (reason OWNER if the database is missing), RN_PRECONDITION. */
enum rn_code rn_catalog_change_start(struct rn_engine *e,
                                     struct rn_catalog_change *c,
                                     struct rn_err *err) RN_CHECK;
void rn_catalog_change_release(struct rn_catalog_change *c);

#endif
