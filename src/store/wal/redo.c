/* redo.c -- see redo.h. */
#include "store/wal/redo.h"

#include "base/bytes.h"

enum rn_code rn_redo_add(struct rn_buf *payload, const struct rn_redo *write)
{
    size_t bytes = RN_REDO_HEADER + write->key.len + write->value.len;
    enum rn_code rc = rn_buf_reserve(payload, bytes);
    char *at;

    if (rc)
        return rc;
    at = payload->at + payload->len;
    at[0] = (char)write->kind;
    at[1] = 0;
    rn_put_u16(at + 2, (uint16_t)write->key.len);
    rn_put_u32(at + 4, (uint32_t)write->value.len);
    memcpy(at + RN_REDO_HEADER, write->key.at, write->key.len);
    if (write->value.len)
        memcpy(at + RN_REDO_HEADER + write->key.len, write->value.at,
               write->value.len);
    payload->len += bytes;
    return RN_OK;
}

enum rn_code rn_redo_next(struct rn_view *payload, struct rn_redo *out)
{
    const char *at = payload->at;
    size_t key, value;

    if (!payload->len)
        return RN_NOT_FOUND;
    if (payload->len < RN_REDO_HEADER ||
        (at[0] != RN_REDO_PUT && at[0] != RN_REDO_DEL))
        return RN_CORRUPT;
    key = rn_get_u16(at + 2);
    value = rn_get_u32(at + 4);
    if (key + value > payload->len - RN_REDO_HEADER)
        return RN_CORRUPT;
    out->kind = (enum rn_redo_kind)at[0];
    out->key = rn_view_of(at + RN_REDO_HEADER, key);
    out->value = rn_view_of(out->key.at + key, value);
    payload->at = out->value.at + value;
    payload->len -= RN_REDO_HEADER + key + value;
    return RN_OK;
}
