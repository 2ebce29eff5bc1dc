/* hybrid.c -- see hybrid.h. */
#include "cosmos/hybrid.h"

#include "base/bytes.h"

enum {
    ROW = 0x81,
    SCHEMA_SEGMENT = 2147473648,
    SCHEMA_RECORD = 2147473649,
    SCHEMA_OPERATION = 2145473648,
    SCHEMA_RESULT = 2145473649,
    SEGMENT_BYTES = 10,
    RECORD_BYTES = 13,

    HAS_TYPE = 1 << 0, /* of an operation */
    HAS_KEY = 1 << 2,
    HAS_EPK = 1 << 3,
    HAS_ID = 1 << 4,
    HAS_BINARY_ID = 1 << 5,
    HAS_BODY = 1 << 6,

    HAS_STATUS = 1 << 0, /* of a result */
    HAS_SUB_STATUS = 1 << 1,
    HAS_ETAG = 1 << 2,
    HAS_RESULT_BODY = 1 << 3,

    TOKEN_IF_MATCH = 9,
    TOKEN_IF_NONE_MATCH = 10,
    TOKEN_TTL = 11,
    TOKEN_MINIMAL = 12,
    TOKENS = 13,
    TOKEN_RETRY_AFTER = 5,
    TOKEN_CHARGE = 6,

    CODE_NULL = 1,
    CODE_FALSE = 2,
    CODE_TRUE = 3,
    CODE_INT32 = 7,
    CODE_UINT32 = 11,
    CODE_FLOAT64 = 16,
    CODE_UTF8 = 20,
    CODE_BINARY = 21,
};

/* CRC-32 as in zlib, four bits at a time. */
static uint32_t crc32_of(struct rn_view v)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < v.len; i++) {
        crc ^= (unsigned char)v.at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* ---- reading ------------------------------------------------------------- */

static enum rn_code refuse(struct rn_err *err, const char *why)
{
    return rn_fail(err, RN_BAD_REQUEST,
                   "The batch request is not a valid HybridRow stream: %s",
                   why);
}

/* Each takes a field off the front, or returns false and takes nothing. */
static bool take(struct rn_view *v, size_t len, struct rn_view *out)
{
    if (v->len < len)
        return false;
    *out = rn_view_of(v->at, len);
    *v = rn_view_of(v->at + len, v->len - len);
    return true;
}

static bool take_byte(struct rn_view *v, unsigned *out)
{
    struct rn_view byte;

    if (!take(v, 1, &byte))
        return false;
    *out = (unsigned char)byte.at[0];
    return true;
}

static bool take_u32(struct rn_view *v, uint32_t *out)
{
    struct rn_view bytes;

    if (!take(v, 4, &bytes))
        return false;
    *out = rn_get_u32(bytes.at);
    return true;
}

static bool take_varuint(struct rn_view *v, uint64_t *out)
{
    unsigned byte;

    *out = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (!take_byte(v, &byte))
            return false;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_variable(struct rn_view *v, struct rn_view *out)
{
    uint64_t len;

    return take_varuint(v, &len) && len <= v->len && take(v, (size_t)len, out);
}

static bool take_row(struct rn_view *v, uint32_t schema)
{
    unsigned row;
    uint32_t found;

    return take_byte(v, &row) && row == ROW && take_u32(v, &found) &&
           found == schema;
}

bool rn_hybrid_is(struct rn_view body)
{
    return body.len > 0 && (unsigned char)body.at[0] == ROW;
}

enum rn_code rn_hybrid_begin(struct rn_view *stream, struct rn_err *err)
{
    struct rn_view rest = *stream, head;
    unsigned presence;
    uint32_t len;

    if (!take_row(&rest, SCHEMA_SEGMENT) || !take_byte(&rest, &presence) ||
        !(presence & 1) || !take_u32(&rest, &len) || len < SEGMENT_BYTES ||
        !take(stream, len, &head))
        return refuse(err, "it has no segment header");
    return RN_OK;
}

/* The size of a value of that type; -1: the value has its own length; -2: an
 * unknown type. */
static int size_of(unsigned code)
{
    static const signed char sizes[] = { -2, 0, 0, 0, -2, 1,  2, 4, 8,
                                         1,  2, 4, 8, -2, -2, 4, 8 };

    if (code == CODE_UTF8 || code == CODE_BINARY)
        return -1;
    return code < sizeof(sizes) ? sizes[code] : -2;
}

static bool take_value(struct rn_view *v, unsigned code, struct rn_view *out)
{
    int size = size_of(code);

    if (size == -2)
        return false;
    return size < 0 ? take_variable(v, out) : take(v, (size_t)size, out);
}

/* Stores the value of a field, if it is one that is used. */
static bool keep_sparse(struct rn_batch_ask *ask, uint64_t token, unsigned code,
                        struct rn_view value)
{
    if (token == TOKEN_IF_MATCH || token == TOKEN_IF_NONE_MATCH) {
        if (code != CODE_UTF8)
            return code == CODE_NULL;
        *(token == TOKEN_IF_MATCH ? &ask->if_match : &ask->if_none_match) =
            value;
    } else if (token == TOKEN_MINIMAL) {
        if (code > CODE_TRUE)
            return false;
        ask->is_minimal = code == CODE_TRUE;
    } else if (token == TOKEN_TTL) {
        if (code != CODE_INT32)
            return code == CODE_NULL;
        ask->has_ttl = true;
        ask->ttl = (int32_t)rn_get_u32(value.at);
    }
    return true;
}

static bool take_sparse(struct rn_view *v, struct rn_batch_ask *ask)
{
    struct rn_view value, name;
    uint64_t token;
    unsigned code;

    if (!take_byte(v, &code) || !take_varuint(v, &token))
        return false;
    if (token >= TOKENS &&
        (token - TOKENS > v->len || !take(v, (size_t)(token - TOKENS), &name)))
        return false;
    return take_value(v, code, &value) && keep_sparse(ask, token, code, value);
}

static enum rn_code read_operation(struct rn_view row, struct rn_batch_ask *out,
                                   struct rn_err *err)
{
    struct rn_view unused;
    unsigned has;
    uint32_t type, resource;

    *out = (struct rn_batch_ask){ .type = -1 };
    if (!take_row(&row, SCHEMA_OPERATION) || !take_byte(&row, &has) ||
        !take_u32(&row, &type) || !take_u32(&row, &resource))
        return refuse(err, "a record is no batch operation");
    if (has & HAS_TYPE)
        out->type = (int32_t)type;
    if ((has & HAS_KEY && !take_variable(&row, &out->pk)) ||
        (has & HAS_EPK && !take_variable(&row, &unused)) ||
        (has & HAS_ID && !take_variable(&row, &out->id)) ||
        (has & HAS_BINARY_ID && !take_variable(&row, &unused)) ||
        (has & HAS_BODY && !take_variable(&row, &out->body)))
        return refuse(err, "an operation is cut short");
    while (row.len)
        if (!take_sparse(&row, out))
            return refuse(err, "an operation has a field of an unknown form");
    return RN_OK;
}

enum rn_code rn_hybrid_next(struct rn_view *stream, struct rn_batch_ask *out,
                            struct rn_err *err)
{
    struct rn_view row;
    uint32_t len, crc;

    if (!stream->len)
        return RN_NOT_FOUND;
    if (!take_row(stream, SCHEMA_RECORD) || !take_u32(stream, &len) ||
        !take_u32(stream, &crc) || !take(stream, len, &row))
        return refuse(err, "a record is cut short");
    if (crc32_of(row) != crc)
        return refuse(err, "the checksum of a record does not match");
    return read_operation(row, out, err);
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code put_row(struct rn_buf *out, uint32_t schema)
{
    char head[5] = { (char)ROW };

    rn_put_u32(head + 1, schema);
    return rn_buf_add(out, rn_view_of(head, sizeof(head)));
}

static enum rn_code put_u32(struct rn_buf *out, uint32_t n)
{
    char bytes[4];

    rn_put_u32(bytes, n);
    return rn_buf_add(out, rn_view_of(bytes, sizeof(bytes)));
}

static enum rn_code put_variable(struct rn_buf *out, struct rn_view v)
{
    char bytes[10];
    size_t used = 0, len = v.len;

    do {
        bytes[used] = (char)(len & 0x7f);
        len >>= 7;
        if (len)
            bytes[used] = (char)(bytes[used] | 0x80);
        used++;
    } while (len);
    if (rn_buf_add(out, rn_view_of(bytes, used)))
        return RN_TOO_LARGE;
    return rn_buf_add(out, v);
}

static enum rn_code put_sparse(struct rn_buf *out,
                               const struct rn_batch_result *r)
{
    char bytes[2 + 4 + 2 + 8];
    size_t used = 0;
    uint64_t charge;

    memcpy(&charge, &r->charge, sizeof(charge));
    if (r->retry_after_ms) {
        bytes[used++] = CODE_UINT32;
        bytes[used++] = TOKEN_RETRY_AFTER;
        rn_put_u32(bytes + used, r->retry_after_ms);
        used += 4;
    }
    bytes[used++] = CODE_FLOAT64;
    bytes[used++] = TOKEN_CHARGE;
    rn_put_u64(bytes + used, charge);
    return rn_buf_add(out, rn_view_of(bytes, used + 8));
}

static enum rn_code put_result_row(struct rn_buf *out,
                                   const struct rn_batch_result *r)
{
    char has = HAS_STATUS | HAS_SUB_STATUS;
    enum rn_code rc = put_row(out, SCHEMA_RESULT);

    if (r->etag.at)
        has |= HAS_ETAG;
    if (r->body.at)
        has |= HAS_RESULT_BODY;
    if (!rc)
        rc = rn_buf_add(out, rn_view_of(&has, 1));
    if (!rc)
        rc = put_u32(out, (uint32_t)r->status);
    if (!rc)
        rc = put_u32(out, (uint32_t)r->sub);
    if (!rc && r->etag.at)
        rc = put_variable(out, r->etag);
    if (!rc && r->body.at)
        rc = put_variable(out, r->body);
    return rc ? rc : put_sparse(out, r);
}

enum rn_code rn_hybrid_put_head(struct rn_buf *out)
{
    enum rn_code rc = put_row(out, SCHEMA_SEGMENT);

    if (!rc)
        rc = rn_buf_add(out, rn_view_of("\x01", 1));
    return rc ? rc : put_u32(out, SEGMENT_BYTES);
}

/* The record's length and checksum precede it, so they are filled in
 * afterwards. */
enum rn_code rn_hybrid_put_result(struct rn_buf *out,
                                  const struct rn_batch_result *r)
{
    size_t at = out->len, row;
    enum rn_code rc = put_row(out, SCHEMA_RECORD);

    if (!rc)
        rc = put_u32(out, 0);
    if (!rc)
        rc = put_u32(out, 0);
    if (!rc)
        rc = put_result_row(out, r);
    if (rc)
        return rc;
    row = at + RECORD_BYTES;
    rn_put_u32(out->at + at + 5, (uint32_t)(out->len - row));
    rn_put_u32(out->at + at + 9,
               crc32_of(rn_view_of(out->at + row, out->len - row)));
    return RN_OK;
}
