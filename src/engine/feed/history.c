/* history.c -- see history.h. */
#include "engine/feed/history.h"

#include "base/bytes.h"
#include "engine/document/snapshot.h"
#include "json/print.h"

#include <assert.h>

enum {
    VERSION = 1,
    HEADER = 24,
    FLAG_EXPIRED = 1 << 0,
    FLAG_PREVIOUS = 1 << 1,
    ARENA_MAX = 1 << 20,
};

/* ---- the policy ---------------------------------------------------------- */

enum rn_code rn_history_parse(const struct rn_json *j, uint32_t policy,
                              struct rn_history_policy *out, struct rn_err *err)
{
    enum rn_json_kind kind = rn_json_kind(j, policy);
    uint32_t value = rn_json_find(j, policy, RN_LIT("retentionDuration"));
    uint32_t previous = rn_json_find(j, policy, RN_LIT("previousImages"));
    int64_t minutes = 0;

    *out = (struct rn_history_policy){ 0 };
    if (kind == RN_JSON_UNDEFINED || kind == RN_JSON_NULL)
        return RN_OK;
    if (kind != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST,
                       "changeFeedPolicy is not an object");
    kind = rn_json_kind(j, value);
    if (kind != RN_JSON_UNDEFINED &&
        (kind != RN_JSON_NUMBER || !rn_json_int64(j, value, &minutes) ||
         minutes < -1 || minutes > INT32_MAX)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "retentionDuration must be a whole number of minutes, "
                       "or -1 to keep all versions for ever");
    }
    kind = rn_json_kind(j, previous);
    if (kind != RN_JSON_UNDEFINED && kind != RN_JSON_TRUE &&
        kind != RN_JSON_FALSE) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "previousImages must be true or false");
    }
    out->seconds = minutes > 0 ? minutes * 60 : minutes;
    out->tells_previous = kind == RN_JSON_TRUE;
    return RN_OK;
}

/* ---- rows ---------------------------------------------------------------- */

enum rn_code rn_row_history_encode(const struct rn_row_history *h,
                                   struct rn_buf *out)
{
    char head[HEADER];
    enum rn_code rc;

    assert(h->epk.len <= RN_EPK_MAX);
    head[0] = VERSION;
    head[1] = (char)h->operation;
    head[2] = (char)((h->is_expired ? FLAG_EXPIRED : 0) |
                     (h->tells_previous ? FLAG_PREVIOUS : 0));
    head[3] = (char)h->epk.len;
    rn_put_u64_be(head + 4, (uint64_t)h->ts);
    rn_put_u64_be(head + 12, h->previous_lsn);
    rn_put_u32_be(head + 20, (uint32_t)h->current.len);
    rc = rn_buf_add(out, rn_view_of(head, HEADER));
    if (!rc)
        rc = rn_buf_add(out, h->epk);
    if (!rc)
        rc = rn_buf_add(out, h->current);
    return rc ? rc : rn_buf_add(out, h->previous);
}

enum rn_code rn_row_history_decode(struct rn_view bytes,
                                   struct rn_row_history *out)
{
    size_t epk, current;

    if (bytes.len < HEADER || bytes.at[0] != VERSION ||
        (unsigned char)bytes.at[1] > RN_HISTORY_DELETE)
        return RN_CORRUPT;
    epk = (unsigned char)bytes.at[3];
    current = rn_get_u32_be(bytes.at + 20);
    if (epk > RN_EPK_MAX || bytes.len - HEADER < epk ||
        bytes.len - HEADER - epk < current)
        return RN_CORRUPT;
    *out = (struct rn_row_history){
        .operation = (enum rn_history_operation)bytes.at[1],
        .is_expired = bytes.at[2] & FLAG_EXPIRED,
        .tells_previous = bytes.at[2] & FLAG_PREVIOUS,
        .ts = (int64_t)rn_get_u64_be(bytes.at + 4),
        .previous_lsn = rn_get_u64_be(bytes.at + 12),
        .epk = rn_view_of(bytes.at + HEADER, epk),
        .current = rn_view_of(bytes.at + HEADER + epk, current),
        .previous = rn_view_of(bytes.at + HEADER + epk + current,
                               bytes.len - HEADER - epk - current),
    };
    return RN_OK;
}

/* ---- gaps ---------------------------------------------------------------- */

/* Parents have lower ids than their children, so one pass towards lower ids
 * finds them all. */
enum rn_code rn_history_lost(struct rn_snapshot *r, uint32_t range,
                             const struct rn_epk_range *epks, uint64_t *lost)
{
    bool *is_meant = rn_new(((size_t)range + 1) * sizeof(*is_meant));
    enum rn_code rc = is_meant ? RN_OK : RN_NOMEM;

    *lost = 0;
    if (!rc)
        is_meant[range] = true;
    for (uint32_t i = range + 1; !rc && i-- > 0;) {
        struct rn_row_range row;
        struct rn_epk_range both;

        if (!is_meant[i])
            continue;
        rc = rn_range_read(r->txn, r->container, i, &row);
        if (rc)
            break;
        if (i != range && !rn_epk_range_meet(&row.epks, epks, &both))
            continue;
        if (*lost < row.lost)
            *lost = row.lost;
        for (uint32_t k = 0; k < row.parent_count; k++) {
            if (row.parents[k] >= i)
                rc = RN_CORRUPT;
            else
                is_meant[row.parents[k]] = true;
        }
    }
    rn_free(is_meant);
    return rc;
}

/* ---- envelopes ----------------------------------------------------------- */

static const char *const operations[] = {
    [RN_HISTORY_CREATE] = "create",
    [RN_HISTORY_REPLACE] = "replace",
    [RN_HISTORY_DELETE] = "delete",
};

/* The path without its first slash. */
static enum rn_code print_name(const struct rn_json_path *path,
                               struct rn_json_out *o)
{
    struct rn_buf name = RN_BUF_INIT(64 << 10);
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < path->count; i++) {
        if (i > 0)
            rc = rn_buf_add(&name, RN_LIT("/"));
        if (!rc)
            rc = rn_buf_add(&name, path->names[i]);
    }
    if (!rc)
        rn_json_out_key(o, rn_buf_view(&name));
    rn_buf_release(&name);
    return rc;
}

/* Prints the id and the partition key of a deleted document. */
static enum rn_code print_identity(const struct rn_row_history *h,
                                   const struct rn_pkdef *def,
                                   struct rn_json_out *o)
{
    struct rn_json j;
    uint32_t id;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, h->previous, NULL);
    id = rc ? RN_JSON_NONE : rn_json_find(&j, 0, RN_LIT("id"));
    if (!rc && rn_json_kind(&j, id) != RN_JSON_STRING)
        rc = RN_CORRUPT;
    if (!rc) {
        rn_json_out_key(o, RN_LIT("id"));
        rn_json_out_value(o, &j, id);
        rn_json_out_key(o, RN_LIT("partitionKey"));
        rn_json_out_object_begin(o);
    }
    for (size_t i = 0; !rc && i < def->count; i++) {
        uint32_t value = rn_json_path_find(&def->paths[i], &j, 0);

        if (rn_json_kind(&j, value) == RN_JSON_UNDEFINED)
            continue;
        rc = print_name(&def->paths[i], o);
        rn_json_out_value(o, &j, value);
    }
    if (!rc)
        rn_json_out_object_end(o);
    rn_json_release(&j);
    return rc == RN_BAD_REQUEST ? RN_CORRUPT : rc;
}

enum rn_code rn_history_print(const struct rn_row_history *h, uint64_t lsn,
                              const struct rn_pkdef *def, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    enum rn_code rc = RN_OK;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("current"));
    rn_json_out_raw(&o, h->current.len ? h->current : RN_LIT("{}"));
    if (h->tells_previous && h->previous.len) {
        rn_json_out_key(&o, RN_LIT("previous"));
        rn_json_out_raw(&o, h->previous);
    }
    rn_json_out_key(&o, RN_LIT("metadata"));
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("lsn"));
    rn_json_out_uint(&o, lsn);
    rn_json_out_key(&o, RN_LIT("crts"));
    rn_json_out_int(&o, h->ts);
    rn_json_out_key(&o, RN_LIT("operationType"));
    rn_json_out_string(&o, rn_view_text(operations[h->operation]));
    if (h->previous_lsn) {
        rn_json_out_key(&o, RN_LIT("previousImageLSN"));
        rn_json_out_uint(&o, h->previous_lsn);
    }
    if (h->is_expired) {
        rn_json_out_key(&o, RN_LIT("timeToLiveExpired"));
        rn_json_out_bool(&o, true);
    }
    if (h->operation == RN_HISTORY_DELETE)
        rc = print_identity(h, def, &o);
    rn_json_out_object_end(&o);
    rn_json_out_object_end(&o);
    return rc ? rc : rn_json_out_finish(&o);
}
