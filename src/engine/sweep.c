/* sweep.c -- what a deleted container leaves: its keys, removed in slices.
 *
 * The row 0 | 'x' | number says that a container is doomed; it is written in
 * the transaction that deletes the container and goes with its last key, so a
 * crash in between only means that the sweeper goes on after the next start.
 */
#include "engine/own.h"

#include "base/bytes.h"
#include "engine/keys.h"

#include <assert.h>

enum { SLICE_KEYS = 256, TAG_DOOMED = 'x' };

static void doomed_key(uint32_t number, struct rn_key *out)
{
    struct rn_key end;

    rn_key_span_tag(RN_CATALOG_NUMBER, TAG_DOOMED, out, &end);
    rn_put_u32_be(out->bytes + out->len, number);
    out->len += 4;
}

enum rn_code rn_doomed_put(struct rn_txn *txn, uint32_t number)
{
    struct rn_key key;

    doomed_key(number, &key);
    return rn_txn_put(txn, rn_key_view(&key), RN_LIT(""));
}

/* The first doomed container.  RN_NOT_FOUND if there is none. */
static enum rn_code doomed_find(struct rn_txn *txn, uint32_t *number)
{
    struct rn_key from, before, found;
    size_t count;
    enum rn_code rc;

    rn_key_span_tag(RN_CATALOG_NUMBER, TAG_DOOMED, &from, &before);
    rc = rn_keys_take(txn, &from, &before, &found, 1, &count);
    if (rc || !count)
        return rc ? rc : RN_NOT_FOUND;
    if (found.len != RN_KEY_HEAD + 4)
        return RN_CORRUPT;
    *number = rn_get_u32_be(found.bytes + RN_KEY_HEAD);
    return RN_OK;
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_engine *e = RN_QUEUED(op, struct rn_engine, sweep);
    struct rn_key *keys, from, before, doomed;
    uint32_t number = 0;
    size_t count = 0;
    enum rn_code rc = doomed_find(txn, &number);

    if (rc)
        return rc;
    keys = rn_new(SLICE_KEYS * sizeof(*keys));
    if (!keys)
        return RN_NOMEM;
    rn_key_span_container(number, &from, &before);
    rc = rn_keys_take(txn, &from, &before, keys, SLICE_KEYS, &count);
    for (size_t i = 0; !rc && i < count; i++)
        rc = rn_txn_del(txn, rn_key_view(&keys[i]));
    if (!rc && count < SLICE_KEYS) {
        doomed_key(number, &doomed);
        rc = rn_txn_del(txn, rn_key_view(&doomed));
    }
    rn_free(keys);
    rn_sieve_end(&e->sieves, number);
    return rc;
}

/* Goes on until nothing is doomed; a store that is full or broken ends it until
 * the next deletion or start. */
static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_engine *e = RN_QUEUED(op, struct rn_engine, sweep);

    (void)err;
    atomic_store(&e->sweeping, false);
    if (!rc)
        rn_sweeper_wake(e);
}

void rn_sweeper_wake(struct rn_engine *e)
{
    if (atomic_exchange(&e->sweeping, true))
        return;
    e->sweep = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = RN_OPERATION_BACKGROUND | RN_OPERATION_FREES,
    };
    if (rn_committer_queue(e->committer, &e->sweep))
        atomic_store(&e->sweeping, false);
}
