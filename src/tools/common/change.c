/* change.c -- prints a change as JSON. */
#include "tools/common/change.h"

#include "base/clock.h"
#include "tools/common/target.h"

const char *rn_change_kind(const runnel_change *change)
{
    static const char *const names[] = { [RUNNEL_CHANGED] = "changed",
                                         [RUNNEL_CREATED] = "created",
                                         [RUNNEL_REPLACED] = "replaced",
                                         [RUNNEL_DELETED] = "deleted",
                                         [RUNNEL_EXPIRED] = "expired" };

    return names[change->kind];
}

/* A document may have line ends between its tokens, and there only. */
static void print_document(struct rn_json_out *o, runnel_bytes json)
{
    size_t at = o->buf->len;

    rn_json_out_raw(o, rn_view_lent(json));
    for (; !o->rc && at < o->buf->len; at++) {
        if (o->buf->at[at] == '\n' || o->buf->at[at] == '\r')
            o->buf->at[at] = ' ';
    }
}

static void print_version(struct rn_json_out *o, const runnel_change *change)
{
    char stamp[RN_STAMP_TEXT_MAX];

    rn_json_out_key(o, RN_LIT("kind"));
    rn_json_out_string(o, rn_view_text(rn_change_kind(change)));
    rn_json_out_key(o, RN_LIT("id"));
    rn_json_out_string(o, rn_view_lent(change->id));
    if (change->partition_key.len) {
        rn_json_out_key(o, RN_LIT("partitionKey"));
        rn_json_out_raw(o, rn_view_lent(change->partition_key));
    }
    rn_json_out_key(o, RN_LIT("lsn"));
    rn_json_out_uint(o, change->lsn);
    rn_json_out_key(o, RN_LIT("previousLsn"));
    rn_json_out_uint(o, change->previous_lsn);
    rn_json_out_key(o, RN_LIT("time"));
    rn_json_out_string(o, rn_stamp_print(change->time_ms * 1000, stamp));
}

void rn_change_print(struct rn_json_out *o, const runnel_change *change)
{
    if (change->kind == RUNNEL_CHANGED) {
        print_document(o, change->json);
        return;
    }
    rn_json_out_object_begin(o);
    print_version(o, change);
    if (change->json.len) {
        rn_json_out_key(o, RN_LIT("document"));
        print_document(o, change->json);
    }
    if (change->previous.len) {
        rn_json_out_key(o, RN_LIT("previous"));
        print_document(o, change->previous);
    }
    rn_json_out_object_end(o);
}
