/* replay.c -- see replay.h.
 *
 * What the log has behind the checkpoint goes where it was before the process
 * ended: into memory, from which the keeper settles it.
 */
#include "store/replay.h"

#include "store/local.h"
#include "store/redo.h"

static enum rn_code add_record(void *context, uint64_t seq,
                               struct rn_view payload)
{
    struct rn_local *l = context;
    struct rn_recent *recent = l->settle.recent;
    struct rn_redo write;
    enum rn_code rc = RN_OK;

    while (!rc) {
        rc = rn_redo_next(&payload, &write);
        if (!rc && write.kind == RN_REDO_PUT)
            rc = rn_recent_put(recent, seq, write.key, write.value);
        else if (!rc)
            rc = rn_recent_mark(recent, seq, write.key);
    }
    if (rc != RN_NOT_FOUND)
        return rc;
    rn_recent_end(recent, true);
    l->settle.visible = seq;
    l->counts.recovered_records++;
    return RN_OK;
}

enum rn_code rn_replay(struct rn_local *l, struct rn_err *err)
{
    enum rn_code rc;

    l->settle.settled = l->durable;
    l->settle.visible = l->durable.seq;
    rc = rn_wal_replay(l->log, l->durable, add_record, l, err);
    if (rc && err && !err->text[0])
        rn_fail(err, rc, "%s: replaying the log behind record %llu: %s", l->dir,
                (unsigned long long)l->settle.visible, rn_code_name(rc));
    return rc;
}
