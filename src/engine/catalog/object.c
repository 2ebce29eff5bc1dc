/* object.c -- an object of the catalog, in memory and as a row.
 *
 * Row, big endian: version 1 | id length 2 | flags 1 | _ts 8 | etag's LSN 8
 * | throughput 4 | autoscale 4 | container number 4 | id | JSON as served
 */
#include "engine/catalog/object.h"

#include "base/bytes.h"
#include "engine/range/container.h"

enum { VERSION = 1, HEADER = 32, ROW_MAX = 4 << 20, FLAG_SERIES = 1 };

enum rn_code rn_object_new(enum rn_kind kind, struct rn_rid rid,
                           struct rn_view id, struct rn_view body,
                           struct rn_object **out)
{
    struct rn_object *o = rn_new(sizeof(*o) + id.len + body.len);
    char *text;

    if (!o)
        return RN_NOMEM;
    text = (char *)(o + 1);
    atomic_init(&o->owners, 1);
    o->kind = kind;
    o->rid = rid;
    o->id = rn_view_of(text, id.len);
    o->body = rn_view_of(text + id.len, body.len);
    if (id.len)
        memcpy(text, id.at, id.len);
    if (body.len)
        memcpy(text + id.len, body.at, body.len);
    *out = o;
    return RN_OK;
}

struct rn_object *rn_object_share(struct rn_object *o)
{
    atomic_fetch_add(&o->owners, 1);
    return o;
}

void rn_object_release(struct rn_object *o)
{
    if (!o || atomic_fetch_sub(&o->owners, 1) != 1)
        return;
    rn_container_free(o->container);
    rn_free(o);
}

enum rn_code rn_object_encode(const struct rn_object *o, struct rn_buf *out)
{
    char header[HEADER];
    enum rn_code rc;

    header[0] = VERSION;
    header[1] = (char)(o->id.len >> 8);
    header[2] = (char)o->id.len;
    header[3] = o->has_series ? FLAG_SERIES : 0;
    rn_put_u64_be(header + 4, (uint64_t)o->ts);
    rn_put_u64_be(header + 12, o->etag.lsn);
    rn_put_u32_be(header + 20, o->throughput);
    rn_put_u32_be(header + 24, o->autoscale);
    rn_put_u32_be(header + 28, o->number);
    rc = rn_buf_add(out, rn_view_of(header, HEADER));
    if (!rc)
        rc = rn_buf_add(out, o->id);
    if (!rc)
        rc = rn_buf_add(out, o->body);
    return rc;
}

enum rn_code rn_object_decode(struct rn_txn *txn, enum rn_kind kind,
                              struct rn_rid rid, struct rn_view bytes,
                              struct rn_object **out, struct rn_err *err)
{
    struct rn_object *o = NULL;
    size_t id;
    enum rn_code rc;

    if (bytes.len < HEADER || bytes.at[0] != VERSION)
        return rn_fail(err, RN_CORRUPT, "a catalog row is damaged");
    id = (size_t)((unsigned char)bytes.at[1] << 8 | (unsigned char)bytes.at[2]);
    if (bytes.len - HEADER < id)
        return rn_fail(err, RN_CORRUPT, "a catalog row is damaged");
    rc = rn_object_new(
        kind, rid, rn_view_of(bytes.at + HEADER, id),
        rn_view_of(bytes.at + HEADER + id, bytes.len - HEADER - id), &o);
    if (rc)
        return rn_fail(err, rc, "out of memory");
    o->ts = (int64_t)rn_get_u64_be(bytes.at + 4);
    o->etag.lsn = rn_get_u64_be(bytes.at + 12);
    o->throughput = rn_get_u32_be(bytes.at + 20);
    o->autoscale = rn_get_u32_be(bytes.at + 24);
    o->number = rn_get_u32_be(bytes.at + 28);
    o->has_series = bytes.at[3] & FLAG_SERIES;
    if (kind == RN_KIND_CONTAINER)
        rc = rn_container_new(txn, o, &o->container, err);
    if (rc) {
        rn_object_release(o);
        return rc;
    }
    *out = o;
    return RN_OK;
}
