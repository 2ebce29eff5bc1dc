/* lsn_bump.c -- see lsn_bump.h. */
#include "engine/range/lsn_bump.h"

#include "engine/engine_state.h"

#include <inttypes.h>

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_lsn_bump *a = RN_CONTAINER_OF(op, struct rn_lsn_bump, operation);
    struct rn_row_range row;
    enum rn_code rc = rn_range_read(txn, a->container, a->range, &row);

    if (rc == RN_NOT_FOUND || (!rc && row.state != RN_RANGE_ALIVE))
        return rn_fail(&op->err, RN_GONE, "there is no range %u", a->range);
    if (rc)
        return rc;
    if (row.lsn > a->lsn || a->lsn > RN_ADVANCE_LSN_MAX) {
        return rn_fail(&op->err, RN_BAD_REQUEST,
                       "the LSN of range %u is %" PRIu64
                       " and can become at most %" PRIu64,
                       a->range, row.lsn, RN_ADVANCE_LSN_MAX);
    }
    row.lsn = a->lsn;
    return rn_range_write(txn, a->container, a->range, &row);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_lsn_bump *a = RN_CONTAINER_OF(op, struct rn_lsn_bump, operation);

    a->done.call(&a->done, rc, err);
}

enum rn_code rn_lsn_bump_start(struct rn_engine *e, struct rn_lsn_bump *a,
                               struct rn_err *err)
{
    enum rn_code rc;

    a->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .bytes = RN_ROW_RANGE_MAX,
    };
    rc = rn_committer_queue(e->committer, &a->operation);
    return rc ? rn_fail(err, rc, "too many writes are under way") : RN_OK;
}
