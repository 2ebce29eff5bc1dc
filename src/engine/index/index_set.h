/* index_set.h -- the in-memory sets of indexes that writes maintain.
 *
 * Thread: the committer's, or before there is one.
 */
#ifndef RN_ENGINE_INDEX_INDEX_SET_H
#define RN_ENGINE_INDEX_INDEX_SET_H

#include "engine/index/index.h"
#include "json/json.h"

/* The indexes of one container. */
struct rn_index_set {
    uint32_t number; /* the container's */
    struct rn_arena arena;
    struct rn_indexes indexes;
    struct rn_json_wanted wanted; /* members that the indexes read; */
    bool wants_all;               /* or all members */
    int64_t due;                  /* when it has work */
    bool is_checked;              /* against the policy */
    struct rn_index_set *next;
};

void rn_indexer_init(struct rn_engine *e);
void rn_indexer_release(struct rn_engine *e);
enum rn_code rn_indexer_load(struct rn_engine *e, struct rn_err *err) RN_CHECK;

/* A container's definition was changed; a container was deleted. */
void rn_indexer_learn(struct rn_engine *e, const struct rn_object *o);
void rn_indexer_forget(struct rn_engine *e, uint32_t number);

/* NULL if the container has no indexes. */
struct rn_index_set *rn_indexer_find(struct rn_engine *e, uint32_t number);

/* Reads a set from the catalog's rows. */
enum rn_code rn_index_set_read(struct rn_txn *txn, uint32_t number,
                               struct rn_index_set **out) RN_CHECK;
void rn_index_set_free(struct rn_index_set *s);
/* Parses the members of a stored document that the set needs. */
enum rn_code rn_index_set_parse(const struct rn_index_set *s, struct rn_json *j,
                                struct rn_view json) RN_CHECK;
/* Installs a set in place of the container's old one, and takes ownership. */
enum rn_code rn_indexer_place(struct rn_engine *e,
                              struct rn_index_set *s) RN_CHECK;

#endif
