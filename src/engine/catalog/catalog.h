/* catalog.h -- the catalog: databases, containers and the other named objects:
 * users, their permissions, client encryption keys, offers.
 *
 * The catalog is in memory, loaded at open, and on disk in container number 0.
 * An object is immutable and has a reference count; a change makes a new one
 * and installs it once it is durable.  Readers therefore never wait.
 *
 * A change reads the rows it depends on in its own transaction, not from
 * memory, so that changes of one group see each other.
 */
#ifndef RN_ENGINE_CATALOG_CATALOG_H
#define RN_ENGINE_CATALOG_CATALOG_H

#include "cosmos/etag.h"
#include "cosmos/rid.h"
#include "engine/engine.h"

#include <stdatomic.h>

struct rn_container; /* container.h */

struct rn_object {
    enum rn_kind kind;
    struct rn_rid rid;
    struct rn_view id;
    struct rn_view body; /* JSON as served */
    struct rn_etag etag;
    int64_t ts;
    int64_t created_ts;             /* of a client key while it is printed */
    uint32_t throughput, autoscale; /* of an offer, RU/s; one of them is 0 */
    uint32_t number; /* of a container, in keys; of an offer, the highest RU/s
                        it ever had */
    bool has_series; /* of a container: its documents' etags contain its series;
                        false for containers older than series */
    atomic_ullong spent;            /* of an offer: see rest/budget.c */
    struct rn_container *container; /* of a container, else NULL */
    atomic_uint owners;
};

/* Both return a shared object, which the caller releases, or NULL.  `owner` is
 * all zero for the account. */
struct rn_object *rn_catalog_find(struct rn_engine *e, enum rn_kind kind,
                                  struct rn_rid owner, struct rn_view id);
struct rn_object *rn_catalog_find_rid(struct rn_engine *e, struct rn_rid rid);
/* The offer of a database or container; NULL if it has none of its own. */
struct rn_object *rn_catalog_find_offer(struct rn_engine *e, struct rn_rid of);

/* Lists the objects of a kind under an owner (the account: under any) in the
 * order of their rids, after the rid `after` (NULL: from the first).  Returns
 * the number of objects, at most `max`; they are shared. */
size_t rn_catalog_list(struct rn_engine *e, enum rn_kind kind,
                       struct rn_rid owner, const struct rn_rid *after,
                       struct rn_object **out, size_t max);

/* The terms of an offer: manual RU/s, or the maximum of autoscale. */
struct rn_offer_terms {
    uint32_t manual, autoscale; /* at most one is not 0 */
    struct rn_view upgrade;     /* the autoUpgradePolicy, JSON; at NULL: none */
    const char *type;           /* legacy performance level; NULL: none */
};

/* A change from manual to autoscale or back.  The service requires a header for
 * it in addition to the terms. */
enum rn_offer_move {
    RN_OFFER_STAYS,
    RN_OFFER_TO_AUTOSCALE,
    RN_OFFER_TO_MANUAL
};

/* Installs an object in memory; the catalog shares it.  Thread: committer, or
 * before there is one. */
enum rn_code rn_catalog_put(struct rn_engine *e, struct rn_object *o) RN_CHECK;
/* Removes an object that is no longer in the store, with its offer and, for a
 * user, the permissions. */
void rn_catalog_forget(struct rn_engine *e, struct rn_rid rid);
/* Hides the objects of a deleted database, which will be removed; or notes that
 * they have been removed. */
void rn_catalog_drop(struct rn_engine *e, struct rn_rid database);
void rn_catalog_end_drop(struct rn_engine *e);
enum rn_code rn_catalog_load(struct rn_engine *e, struct rn_err *err) RN_CHECK;
void rn_catalog_unload(struct rn_engine *e);

#endif
