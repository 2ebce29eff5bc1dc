/* compact.c -- see compact.h. */
#include "store/admin/compact.h"

#include "store/bug.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"
#include "store/local/recover.h"

enum { BATCH_BYTES = 16 << 20 }; /* copied in one transaction */

/* Copies records from `c` until the batch is full; `*more` if it was. */
static enum rn_code copy_batch(struct rn_cursor *c, struct rn_map *to,
                               uint64_t seq, struct rn_compacted *totals,
                               bool *more, struct rn_err *err)
{
    struct rn_map_txn *txn = NULL;
    struct rn_view key, value;
    uint64_t bytes = 0;
    enum rn_code rc = to->ops->begin(to, RN_TXN_WRITE, &txn, err);

    if (rc)
        return rc;
    while (!rc && bytes < BATCH_BYTES) {
        rc = rn_cursor_next(c, &key, &value);
        if (!rc)
            rc = to->ops->append(txn, key, value);
        if (rc)
            break;
        bytes += key.len + value.len;
        totals->records++;
    }
    *more = !rc;
    if (rc == RN_NOT_FOUND)
        rc = RN_OK;
    if (!rc)
        rc = to->ops->set_seq(txn, seq);
    if (rc) {
        to->ops->abort(txn);
        return rn_fail(err, rc, "copying: %s", rn_code_name(rc));
    }
    return to->ops->commit(txn, err);
}

static enum rn_code copy_all(struct rn_local *l, struct rn_map *to,
                             struct rn_compacted *totals, struct rn_err *err)
{
    struct rn_key_interval all = { 0 };
    struct rn_cursor *c = NULL;
    struct rn_txn *txn = NULL;
    bool more = true;
    enum rn_code rc =
        rn_txn_begin(&l->base, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, err);

    if (!rc)
        rc = rn_txn_scan(txn, &all, &c);
    while (!rc && more)
        rc = copy_batch(c, to, l->durable.seq, totals, &more, err);
    rn_cursor_end(c);
    rn_txn_abort(txn);
    return rc;
}

/* Makes the new map and its name durable, then writes a checkpoint that names
 * it.  `*may_be_named`: that write was begun. */
static enum rn_code switch_over(struct rn_local *l, struct rn_map *to,
                                uint64_t generation, bool *may_be_named,
                                struct rn_err *err)
{
    struct rn_checkpoint c;
    struct rn_map_pin *pin = NULL;
    bool done = false;
    enum rn_code rc;
    int error;

    rn_checkpoint_init(&c);
    c.number = l->checkpoint.number + 1;
    c.generation = generation;
    c.place = l->durable;
    rc = to->ops->capture(to, &c.image, &pin, err);
    while (!rc && !done)
        rc = to->ops->flush(to, &done, err);
    error =
        rc || RN_BUG(NO_DIR_SYNC) ? 0 : l->env->ops->sync_dir(l->env, l->dir);
    if (error)
        rc = rn_fail_errno(err, error, "%s", l->dir);
    *may_be_named = !rc;
    if (!rc)
        rc = rn_checkpoint_write(&c, l->env, l->dir, err);
    to->ops->release(to, pin);
    rn_checkpoint_release(&c);
    return rc;
}

static enum rn_code rewrite(struct rn_local *l, struct rn_compacted *out,
                            struct rn_err *err)
{
    uint64_t generation = l->generation + 1;
    char path[RN_PATH_MAX];
    struct rn_map_opts opts = {
        .env = l->env,
        .path = path,
        .map_bytes = l->opts.map_bytes,
        .ahead_bytes = l->opts.ahead_bytes,
        .readers_max = l->opts.readers_max,
    };
    struct rn_map_stat stat;
    struct rn_map_pin *pin = NULL;
    struct rn_map *to = NULL;
    struct rn_err ignored;
    bool may_be_named = false;
    enum rn_code rc;

    rn_local_map_path(l->dir, generation, path);
    rc = l->map_ops->open(&opts, &to, &pin, err);
    if (!rc)
        rc = copy_all(l, to, out, err);
    if (!rc)
        rc = switch_over(l, to, generation, &may_be_named, err);
    if (!rc) {
        to->ops->stat(to, &stat);
        out->bytes_after = stat.file_bytes;
    }
    if (to)
        to->ops->close(to);
    /* An incomplete map would only take up scarce space. */
    if (!may_be_named)
        (void)!rn_local_sweep(l->env, l->dir, &ignored);
    return rc;
}

enum rn_code rn_compact(struct rn_env *env, const char *dir,
                        struct rn_compacted *out, struct rn_err *err)
{
    struct rn_store_opts opts = {
        .env = env,
        .where = dir,
        .must_exist = true,
        .manual = true,
        .reader_ms_max =
            UINT32_MAX, /* one reader, for as long as the copy takes */
    };
    struct rn_store *store = NULL;
    struct rn_local *l;
    struct rn_map_stat stat;
    enum rn_code rc = rn_store_open("local", &opts, &store, err);

    *out = (struct rn_compacted){ 0 };
    if (rc)
        return rc;
    l = (struct rn_local *)store;
    l->map->ops->stat(l->map, &stat);
    out->bytes_before = stat.file_bytes;
    rc = rn_local_checkpoint(l, err);
    if (!rc)
        rc = rewrite(l, out, err);
    rn_store_close(store);
    if (!rc)
        rc = rn_local_sweep(env, dir, err);
    return rc;
}
