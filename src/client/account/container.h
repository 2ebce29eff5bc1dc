/* container.h -- a container as a client sees it: its names and the caches of
 * its rid, its partition key and its routing map.
 *
 * Reference-counted; it keeps its account alive.  Several handles of one
 * container have caches of their own.
 *
 * A cached object is replaced, never changed, so a reference that a caller
 * holds stays valid.  Threads: any, for all functions.
 */
#ifndef RN_CLIENT_ACCOUNT_CONTAINER_H
#define RN_CLIENT_ACCOUNT_CONTAINER_H

#include "client/account/account.h"
#include "client/account/routing.h"
#include "cosmos/link.h"
#include "cosmos/pkdef.h"

/* RUNNEL_BAD_REQUEST if nothing of that kind can have the id, or if it is
 * NULL. */
runnel_code rn_name_check(enum rn_kind kind, const char *id,
                          runnel_error *error) RUNNEL_CHECK;

/* The answer to a GET of the container.  Reference-counted. */
struct rn_definition {
    atomic_uint refs;
    struct rn_arena arena;
    const char *rid;
    struct rn_pkdef key;
};

/* Does not go to the network. */
runnel_code rn_client_container_open(struct rn_account *account,
                                     const char *database,
                                     const char *container,
                                     struct rn_client_container **out,
                                     runnel_error *error) RUNNEL_CHECK;
struct rn_client_container *
rn_client_container_ref(struct rn_client_container *c);
void rn_client_container_unref(
    struct rn_client_container *c); /* NULL is fine */

struct rn_account *
rn_client_container_account(const struct rn_client_container *c);
/* "dbs/D/colls/C", the key of its session tokens. */
struct rn_view rn_client_container_path(const struct rn_client_container *c);
struct rn_cancel *rn_client_container_cancel(struct rn_client_container *c);

/* "dbs/D/colls/C", or with a kind a list in it, or with an id a resource of
 * it.  Ids are borrowed from the container and from `id`. */
struct rn_link rn_client_container_link(const struct rn_client_container *c);
struct rn_link rn_client_container_list(const struct rn_client_container *c,
                                        enum rn_kind kind);
struct rn_link rn_client_container_item(const struct rn_client_container *c,
                                        const char *id);

/* The definition, read at the first call and after rn_client_container_forget.
 * Blocks for at most one request, unless `cancel` is set; NULL: the
 * container's. The caller unrefs it. */
runnel_code rn_client_container_define(struct rn_client_container *c,
                                       const struct rn_cancel *cancel,
                                       struct rn_definition **out,
                                       runnel_error *error) RUNNEL_CHECK;
/* The same for a caller that has read it itself, without blocking: `body` is
 * the answer to a GET of the container. */
runnel_code rn_client_container_learn(struct rn_client_container *c,
                                      struct rn_view body,
                                      struct rn_definition **out,
                                      runnel_error *error) RUNNEL_CHECK;
void rn_definition_unref(struct rn_definition *d); /* NULL is fine */
/* A copy of the rid if it is known, else "". */
void rn_client_container_rid(struct rn_client_container *c, char out[32]);
/* The container may have been created anew: drops definition, map and session
 * tokens. */
void rn_client_container_forget(struct rn_client_container *c);

/* The routing map, read at the first call and, if `stale` is the current one,
 * again: incrementally.  Blocks for the requests, with `cancel` as above.  The
 * caller unrefs it. */
runnel_code rn_client_container_route(struct rn_client_container *c,
                                      const struct rn_cancel *cancel,
                                      const struct rn_routing *stale,
                                      struct rn_routing **out,
                                      runnel_error *error) RUNNEL_CHECK;
/* The map if there is one, else NULL.  No request.  The caller unrefs it. */
struct rn_routing *rn_client_container_routing(struct rn_client_container *c);
/* A range of the map is gone: the next rn_client_container_route reads it
 * again. */
void rn_client_container_reroute(struct rn_client_container *c);

#endif
