/* index_change.c -- creates or drops an index on request. */
#include "engine/index/index_change.h"

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/index/index_set.h"

static enum rn_code check_container(struct rn_index_change *c,
                                    struct rn_txn *txn, struct rn_err *err)
{
    struct rn_view bytes;
    struct rn_key key;
    enum rn_code rc;

    rn_key_object(RN_KIND_CONTAINER, c->container->rid, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    return rc == RN_NOT_FOUND
               ? rn_fail(err, rc, "the container has been deleted")
               : rc;
}

static struct rn_index *find_index(const struct rn_index_change *c,
                                   const struct rn_indexes *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->list[i].state != RN_INDEX_DROPPING &&
            rn_index_is(&all->list[i], c->keys, c->count))
            return &all->list[i];
    }
    return NULL;
}

static uint8_t free_number(const struct rn_indexes *all)
{
    uint8_t n = 0;

    while (n < all->count && all->list[n].number == n) /* sorted */
        n++;
    return n;
}

static enum rn_code make(struct rn_index_change *c, struct rn_txn *txn,
                         const struct rn_indexes *all, struct rn_err *err)
{
    struct rn_index x = { .number = free_number(all),
                          .state = RN_INDEX_BUILDING,
                          .container = c->container->rid,
                          .used = rn_engine_now(c->engine),
                          .count = c->count };
    enum rn_code rc;

    if (all->count == RN_INDEXES_MAX)
        return rn_fail(err, RN_BAD_REQUEST,
                       "a container has at most %d indexes", RN_INDEXES_MAX);
    memcpy(x.keys, c->keys, c->count * sizeof(*c->keys));
    rc = rn_index_put(txn, c->container->number, &x);
    if (rc == RN_TOO_LARGE)
        rc = rn_fail(err, RN_BAD_REQUEST, "the paths are too long");
    return rc;
}

static enum rn_code run_change(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_index_change *c =
        RN_CONTAINER_OF(op, struct rn_index_change, operation);
    uint32_t number = c->container->number;
    struct rn_index *found;
    enum rn_code rc = check_container(c, txn, &op->err);

    rn_index_set_free(c->set); /* of a run that was undone */
    c->set = NULL;
    if (!rc)
        rc = rn_index_set_read(txn, number, &c->set);
    if (rc)
        return rc;
    found = find_index(c, &c->set->indexes);
    c->is_there = !found == c->is_drop;
    if (c->is_there)
        return RN_OK;
    if (c->is_drop) {
        found->state = RN_INDEX_DROPPING;
        rc = rn_index_put(txn, number, found);
    } else {
        rc = make(c, txn, &c->set->indexes, &op->err);
    }
    rn_index_set_free(c->set);
    return rc ? (c->set = NULL, rc) : rn_index_set_read(txn, number, &c->set);
}

static void change_done(struct rn_operation *op, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_index_change *c =
        RN_CONTAINER_OF(op, struct rn_index_change, operation);

    if (!rc && !c->is_there) {
        if (rn_indexer_place(c->engine, c->set))
            rc = RN_UNKNOWN; /* no memory; but it is durable */
        c->set = NULL;
    }
    rn_index_set_free(c->set);
    c->set = NULL;
    c->done.call(&c->done, rc, err);
}

enum rn_code rn_index_change_start(struct rn_engine *e,
                                   struct rn_index_change *c,
                                   struct rn_err *err)
{
    enum rn_code rc;

    if (!c->count || c->count > RN_INDEX_KEYS_MAX || c->keys[0].is_descending) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "an index has 1 to %d paths, of which the first "
                       "ascends",
                       RN_INDEX_KEYS_MAX);
    }
    c->engine = e;
    c->set = NULL;
    c->is_there = false;
    c->operation = (struct rn_operation){
        .run = run_change,
        .done = change_done,
        .bytes = RN_INDEX_ROW_MAX,
    };
    rc = rn_committer_queue(e->committer, &c->operation);
    return rc ? rn_fail(err, rc, "too many writes are under way") : RN_OK;
}
