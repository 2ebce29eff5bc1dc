/* own.h -- the engine from within: what its files share. */
#ifndef RN_ENGINE_OWN_H
#define RN_ENGINE_OWN_H

#include "base/queue.h"
#include "engine/catalog/catalog.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/cleanup/ttl.h"
#include "engine/document/bloom.h"
#include "engine/index/indexer.h"
#include "engine/key.h"
#include "engine/range/container.h"
#include "engine/row.h"
#include "store/tree.h"
#include "waiters/waiters.h"

#include <pthread.h>

enum { RN_MOVED_MAX = 256 };

/* What brings entries to their ranges.  Nothing is ever added to a dead range,
 * so a slice goes on where the last one ended: what that moved lies there as
 * marks, which a scan from the start would read anew each time. */
struct rn_rehome {
    atomic_bool is_wanted; /* there may be something to do */

    /* The committer's. */
    struct rn_operation op;
    bool is_queued;
    struct rn_key at;   /* committed up to here, */
    struct rn_key next; /* and what `run` has come to */
    uint32_t entries;   /* of a slice, */
    uint64_t turns;     /* by how many writes of clients there have been */
};

/* How far a deleted database's objects have been removed.  Nothing is added to
 * them, so a slice goes on where the last one ended: what that removed lies
 * there as tombstones, which a scan from the start would pass over anew. */
struct rn_removal {
    uint32_t database;
    size_t kind; /* which of its kinds of objects; see catalog_remove.c */
    struct rn_key at;
};

/* What a slice took out of the store, and memory is to follow. */
enum { RN_REMOVED_MAX = 16 };
struct rn_removed {
    size_t count;
    struct rn_rid rids[RN_REMOVED_MAX];
    bool is_last;           /* nothing is left of the database */
    struct rn_removal next; /* where the next slice begins */
};

struct rn_engine {
    struct rn_engine_opts opts;
    struct rn_env *env;
    struct rn_store *store;
    struct rn_committer *committer;

    /* The catalog in memory; values are pointers to objects that it shares. */
    pthread_mutex_t lock;
    struct rn_tree by_name; /* kind, owner, id */
    struct rn_tree by_rid;  /* kind, owner, rid */
    uint32_t dropped;       /* deleted databases that have left objects */

    /* Ranges that were written to since the last publish.  Thread:
     * committer. */
    struct {
        uint32_t container;
        int64_t range;
        struct rn_stretch stretch;
    } moved[RN_MOVED_MAX];
    size_t moved_count;
    struct rn_waiters *waiters;

    struct rn_operation sweep; /* drop_container.c */
    atomic_bool sweeping;      /* it is queued */
    struct rn_removed removed; /* by it; the committer's, */
    struct rn_removal removal; /* and this: how far it has committed */
    struct rn_rehome home;     /* rehome.c */
    bool was_home;             /* it had the last turn; the committer's */

    /* Slices of removal that found something they could not remove. */
    _Atomic uint64_t removals_failed;
    struct rn_expiry expiry;   /* the committer's, */
    struct rn_purger purger;   /* and this, */
    struct rn_indexer indexer; /* and this, */
    struct rn_blooms sieves;   /* and this */
};

/* catalog.c: puts an object in place, takes one out; the catalog shares it.
 * Thread: committer, or before there is one. */
enum rn_code rn_catalog_put(struct rn_engine *e, struct rn_object *o) RN_CHECK;
/* An object that is not in the store any more, with its offer and, of a user,
 * the permissions. */
void rn_catalog_forget(struct rn_engine *e, struct rn_rid rid);
/* A database has been deleted, and what lies in it is to go: nobody sees it any
 * more.  Or it is gone. */
void rn_catalog_drop(struct rn_engine *e, struct rn_rid database);
void rn_catalog_end_drop(struct rn_engine *e);
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

/* catalog_rows.c: the same within a transaction, with its names.  Putting fails
 * with RN_CONFLICT if a permission's resource is taken; whether the id is, the
 * caller has asked. */
enum rn_code rn_object_get(struct rn_txn *txn, struct rn_rid rid,
                           struct rn_object **out, struct rn_err *err) RN_CHECK;
enum rn_code rn_object_put(struct rn_txn *txn, const struct rn_object *o,
                           struct rn_err *err) RN_CHECK;
enum rn_code rn_object_del(struct rn_txn *txn,
                           const struct rn_object *o) RN_CHECK;
/* The rid under a name. */
enum rn_code rn_name_get(struct rn_txn *txn, enum rn_kind kind,
                         struct rn_rid owner, struct rn_view id,
                         struct rn_rid *out) RN_CHECK;

/* Numbers that are never given twice: u32 database | u32 container and user |
 * u32 container number in keys | u64 etag, permission, client key | u32 offer.
 */
struct rn_counters {
    uint32_t database, container, number;
    uint64_t etag;
    uint32_t offer;
};
enum rn_code rn_counters_take(struct rn_engine *e, struct rn_txn *txn,
                              struct rn_counters *out) RN_CHECK;
enum rn_code rn_counters_give(struct rn_txn *txn,
                              const struct rn_counters *c) RN_CHECK;

/* object_json.c: the JSON of an object.  The client's part, without the closing
 * brace (not of a container or an offer), and the whole object with the system
 * properties; rid, etag, _ts and numbers are those of `like`. */
enum rn_code rn_body_print(enum rn_kind kind, struct rn_view json,
                           struct rn_buf *out, struct rn_err *err) RN_CHECK;
enum rn_code rn_body_finish(const struct rn_object *like, struct rn_view id,
                            struct rn_view text,
                            struct rn_object **out) RN_CHECK;

/* catalog_remove.c: an object and all that lies in it; what lies in a database
 * goes later (drop_container.c), and nobody sees it any more. */
enum rn_code rn_object_remove(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err) RN_CHECK;
/* Some of what lies in a deleted database, from a place on. */
enum rn_code rn_objects_remove(struct rn_txn *txn,
                               const struct rn_removal *from,
                               struct rn_removed *out) RN_CHECK;

/* offer.c */
enum rn_code rn_offer_create(struct rn_catalog_change *c, struct rn_txn *txn,
                             struct rn_counters *n,
                             struct rn_err *err) RN_CHECK;
/* The client's part of an offer that replaces `old`, and its new numbers. */
enum rn_code rn_offer_replace(const struct rn_catalog_change *c,
                              const struct rn_object *old,
                              struct rn_object *like, struct rn_buf *text,
                              struct rn_err *err) RN_CHECK;
/* How many ranges these terms want; how many a new container has by them. */
uint32_t rn_terms_ranges(const struct rn_engine *e, const struct rn_terms *t);
uint32_t rn_terms_new_ranges(const struct rn_engine *e,
                             const struct rn_terms *t);
/* A container without a partition key has one range, and no more throughput
 * than a range gives.  RN_BAD_REQUEST. */
enum rn_code rn_terms_check_keyless(const struct rn_terms *t,
                                    struct rn_err *err) RN_CHECK;

/* definition.c: checks the JSON of a new or replaced container and prints it
 * with every default filled in, as the service answers it, without the system
 * properties and the closing brace.  `old` is what it replaces, or NULL. */
enum rn_code rn_definition_print(struct rn_view json,
                                 const struct rn_object *old,
                                 struct rn_buf *out,
                                 struct rn_err *err) RN_CHECK;

/* definition_check.c: the same, of one whose members are of the right kind, by
 * itself and in place of another. */
enum rn_code rn_definition_check(const struct rn_json *j,
                                 struct rn_err *err) RN_CHECK;
/* The client encryption keys that a new container names must be there. */
enum rn_code rn_definition_check_keys(struct rn_txn *txn,
                                      struct rn_rid database,
                                      struct rn_view json,
                                      struct rn_err *err) RN_CHECK;
enum rn_code rn_definition_check_replaced(const struct rn_json *was,
                                          const struct rn_json *now,
                                          struct rn_err *err) RN_CHECK;

/* definition_search.c: what a definition says of vectors and full text, by
 * itself and in place of another.  Its lists lie in objects. */
enum rn_code rn_search_check(const struct rn_json *j,
                             struct rn_err *err) RN_CHECK;
enum rn_code rn_search_check_replaced(const struct rn_json *was,
                                      const struct rn_json *now,
                                      struct rn_err *err) RN_CHECK;

/* container.c: of an object whose body is known; ranges from the store. */
enum rn_code rn_container_new(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_container **out,
                              struct rn_err *err) RN_CHECK;
void rn_container_free(struct rn_container *c); /* NULL is fine */
/* The rows of a new container's `count` ranges, whose writes begin behind
 * `lsn`. */
enum rn_code rn_container_make_ranges(struct rn_txn *txn, uint32_t number,
                                      const struct rn_pkdef *def,
                                      uint32_t count, uint64_t lsn) RN_CHECK;

/* snapshot.c */
bool rn_document_is_expired(const struct rn_container *c,
                            const struct rn_row_feed *row, int64_t now);
/* The body that a 'd' row points to. */
enum rn_code rn_document_follow(struct rn_txn *txn,
                                const struct rn_container *c,
                                const struct rn_row_document *d,
                                struct rn_row_feed *out) RN_CHECK;

/* Is that document's partition key value this whole one?  Different values may
 * have one place; see key.h. */
enum rn_code rn_document_has_key(const struct rn_container *c,
                                 const struct rn_pk *pk, struct rn_view json,
                                 bool *yes) RN_CHECK;

/* The 'd' key of the document of a rid. */
enum rn_code rn_document_key_of(struct rn_txn *txn,
                                const struct rn_container *c, uint64_t rid,
                                struct rn_key *out) RN_CHECK;

/* engine.c: those who wait for this stretch of a range, or (RN_RANGE_ANY) for
 * any of the container, are to look again once it is committed.  Thread:
 * committer. */
void rn_engine_note_move(struct rn_engine *e, uint32_t container, int64_t range,
                         struct rn_stretch stretch);
/* EPKs as numbers: those of an interval, or of one. */
struct rn_stretch rn_stretch_of(struct rn_view min, struct rn_view max);

/* rehome.c */
enum rn_code rn_homeless_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
void rn_rehome_wake(struct rn_engine *e);
struct rn_operation *rn_rehome_take_due(struct rn_engine *e, int64_t *wait_ns);

/* restore_bump.c: a restored store goes on above all it gave out before.  The
 * catalog is loaded, and there is no committer yet. */
enum rn_code rn_restore_bump_raise(struct rn_engine *e,
                                   struct rn_err *err) RN_CHECK;

/* drop_container.c: what a deleted container and a deleted database leave. */
enum rn_code rn_doomed_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
enum rn_code rn_dropped_put(struct rn_txn *txn, uint32_t database) RN_CHECK;
/* RN_NOT_FOUND if a database has not been deleted, or has left nothing. */
enum rn_code rn_dropped_find(struct rn_txn *txn, uint32_t database) RN_CHECK;
/* How many databases have been deleted and have left objects. */
enum rn_code rn_dropped_count(struct rn_txn *txn, uint32_t *out) RN_CHECK;
void rn_sweeper_wake(struct rn_engine *e);

#endif
