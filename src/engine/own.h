/* own.h -- the engine from within: what its files share. */
#ifndef RN_ENGINE_OWN_H
#define RN_ENGINE_OWN_H

#include "base/queue.h"
#include "engine/catalog.h"
#include "engine/container.h"
#include "engine/key.h"
#include "engine/row.h"
#include "store/tree.h"

#include <pthread.h>

struct rn_engine {
    struct rn_engine_opts opts;
    struct rn_env *env;
    struct rn_store *store;
    struct rn_committer *committer;

    /* The catalog in memory; values are pointers to objects that it shares. */
    pthread_mutex_t lock;
    struct rn_tree by_name; /* kind, owner, id */
    struct rn_tree by_rid;  /* kind, owner, rid */

    struct rn_operation sweep; /* sweep.c */
    atomic_bool sweeping;      /* it is queued */
};

/* catalog.c: puts an object in place, takes one out; the catalog shares it.
 * Thread: committer, or before there is one. */
enum rn_code rn_catalog_put(struct rn_engine *e, struct rn_object *o) RN_CHECK;
void rn_catalog_remove(struct rn_engine *e, struct rn_object *o);
enum rn_code rn_catalog_load(struct rn_engine *e, struct rn_err *err) RN_CHECK;
void rn_catalog_unload(struct rn_engine *e);

/* object.c: an object as a row of the store; decoding makes a new one, owned
 * once.  A container's ranges are read from `txn`. */
enum rn_code rn_object_new(enum rn_kind kind, struct rn_rid rid,
                           struct rn_view id, struct rn_view body,
                           struct rn_object **out) RN_CHECK;
enum rn_code rn_object_encode(const struct rn_object *o,
                              struct rn_buf *out) RN_CHECK;
enum rn_code rn_object_decode(struct rn_txn *txn, enum rn_kind kind,
                              struct rn_rid rid, struct rn_view bytes,
                              struct rn_object **out,
                              struct rn_err *err) RN_CHECK;

/* definition.c: checks the JSON of a new or replaced container and prints it
 * with every default filled in, as the service answers it, without the system
 * properties and the closing brace.  `old` is what it replaces, or NULL. */
enum rn_code rn_definition_print(struct rn_view json,
                                 const struct rn_object *old,
                                 struct rn_buf *out,
                                 struct rn_err *err) RN_CHECK;

/* container.c: of an object whose body is known; ranges from the store. */
enum rn_code rn_container_new(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_container **out,
                              struct rn_err *err) RN_CHECK;
void rn_container_free(struct rn_container *c); /* NULL is fine */
/* The rows of a new container's `count` ranges. */
enum rn_code rn_container_make_ranges(struct rn_txn *txn, uint32_t number,
                                      const struct rn_pkdef *def,
                                      uint32_t count) RN_CHECK;

/* reading.c */
bool rn_document_is_expired(const struct rn_container *c,
                            const struct rn_row_feed *row, int64_t now);
/* The body that a 'd' row points to. */
enum rn_code rn_document_follow(struct rn_txn *txn,
                                const struct rn_container *c,
                                const struct rn_row_document *d,
                                struct rn_row_feed *out) RN_CHECK;

/* The 'd' key of the document of a rid. */
enum rn_code rn_document_key_of(struct rn_txn *txn,
                                const struct rn_container *c, uint64_t rid,
                                struct rn_key *out) RN_CHECK;

/* sweep.c */
enum rn_code rn_doomed_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
void rn_sweeper_wake(struct rn_engine *e);

#endif
