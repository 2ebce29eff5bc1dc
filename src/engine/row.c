/* row.c -- see row.h. */
#include "engine/row.h"

#include "base/bytes.h"

#include <assert.h>

enum {
    FEED_VERSION = 1,
    RANGE_HEADER = 34,
    DOCUMENT_BYTES = 24,
    MIXED_BYTES = 8,
    LOST_BYTES = 8,
};

#define TIMED UINT32_C(0x80000000)
#define LINKLESS 0x01

size_t rn_row_document_encode(const struct rn_row_document *d,
                              char out[RN_ROW_DOCUMENT_MAX])
{
    rn_put_u64_be(out, d->rid);
    rn_put_u32_be(out + 8, d->range);
    rn_put_u64_be(out + 12, d->lsn);
    rn_put_u32_be(out + 20, d->n | (d->is_timed ? TIMED : 0));
    if (!d->is_moved)
        return DOCUMENT_BYTES;
    rn_put_u32_be(out + 24, d->birth_range);
    rn_put_u32_be(out + 28, d->birth_n);
    return RN_ROW_DOCUMENT_MAX;
}

enum rn_code rn_row_document_decode(struct rn_view bytes,
                                    struct rn_row_document *out)
{
    if (bytes.len != DOCUMENT_BYTES && bytes.len != RN_ROW_DOCUMENT_MAX)
        return RN_CORRUPT;
    *out = (struct rn_row_document){ .is_moved = bytes.len > DOCUMENT_BYTES };
    out->rid = rn_get_u64_be(bytes.at);
    out->range = rn_get_u32_be(bytes.at + 8);
    out->lsn = rn_get_u64_be(bytes.at + 12);
    out->n = rn_get_u32_be(bytes.at + 20) & ~TIMED;
    out->is_timed = rn_get_u32_be(bytes.at + 20) & TIMED;
    if (out->is_moved) {
        out->birth_range = rn_get_u32_be(bytes.at + 24);
        out->birth_n = rn_get_u32_be(bytes.at + 28);
    }
    return RN_OK;
}

size_t rn_row_feed_encode(const struct rn_row_feed *f, char *out)
{
    assert(f->epk.len <= RN_EPK_MAX);
    out[0] = FEED_VERSION;
    out[1] = (char)f->epk.len;
    out[2] = f->is_linkless ? LINKLESS : 0;
    out[3] = 0;
    rn_put_u32_be(out + 4, (uint32_t)f->ttl);
    rn_put_u64_be(out + 8, (uint64_t)f->ts);
    rn_put_u64_be(out + 16, f->rid);
    memcpy(out + RN_ROW_FEED_HEADER, f->epk.at, f->epk.len);
    return RN_ROW_FEED_HEADER + f->epk.len;
}

enum rn_code rn_row_feed_decode(struct rn_view bytes, struct rn_row_feed *out)
{
    size_t epk, head;

    if (bytes.len < RN_ROW_FEED_HEADER || bytes.at[0] != FEED_VERSION)
        return RN_CORRUPT;
    epk = (unsigned char)bytes.at[1];
    head = RN_ROW_FEED_HEADER + epk;
    if (bytes.len < head)
        return RN_CORRUPT;
    out->is_linkless = bytes.at[2] & LINKLESS;
    out->ttl = (int32_t)rn_get_u32_be(bytes.at + 4);
    out->ts = (int64_t)rn_get_u64_be(bytes.at + 8);
    out->rid = rn_get_u64_be(bytes.at + 16);
    out->epk = rn_view_of(bytes.at + RN_ROW_FEED_HEADER, epk);
    out->json = rn_view_of(bytes.at + head, bytes.len - head);
    return RN_OK;
}

static char *put_epk(char *at, const struct rn_epk *epk)
{
    *at++ = (char)epk->len;
    memcpy(at, epk->bytes, epk->len);
    return at + epk->len;
}

/* False if the EPK does not fit before `end`. */
static bool take_epk(const char **at, const char *end, struct rn_epk *out)
{
    size_t len;

    if (*at >= end)
        return false;
    len = (unsigned char)*(*at)++;
    if (len > RN_EPK_MAX || len > (size_t)(end - *at))
        return false;
    out->len = len;
    memcpy(out->bytes, *at, len);
    *at += len;
    return true;
}

size_t rn_row_range_encode(const struct rn_row_range *r,
                           char out[RN_ROW_RANGE_MAX])
{
    char *at = out + RANGE_HEADER;

    rn_put_u64_be(out, r->lsn);
    rn_put_u64_be(out + 8, (uint64_t)r->last_ts);
    rn_put_u64_be(out + 16, r->next_rid);
    out[24] = (char)r->state;
    out[25] = (char)r->parent_count;
    rn_put_u32_be(out + 26, r->parents[0]);
    rn_put_u32_be(out + 30, r->parents[1]);
    at = put_epk(at, &r->epks.min);
    at = put_epk(at, &r->epks.max);
    *at++ = (char)r->child_count;
    for (uint32_t i = 0; i < r->child_count; i++, at += 4)
        rn_put_u32_be(at, r->children[i]);
    if (r->mixed || r->lost != r->lsn) {
        rn_put_u64_be(at, r->mixed);
        at += MIXED_BYTES;
    }
    if (r->lost != r->lsn) {
        rn_put_u64_be(at, r->lost);
        at += LOST_BYTES;
    }
    return (size_t)(at - out);
}

static bool take_children(const char *at, const char *end,
                          struct rn_row_range *out)
{
    ptrdiff_t rest;

    out->child_count = at < end ? (unsigned char)*at++ : 3;
    rest = end - at - 4 * (ptrdiff_t)out->child_count;
    if (out->child_count > 2 ||
        (rest != 0 && rest != MIXED_BYTES && rest != MIXED_BYTES + LOST_BYTES))
        return false;
    for (uint32_t i = 0; i < out->child_count; i++)
        out->children[i] = rn_get_u32_be(at + (size_t)4 * i);
    at += (size_t)4 * out->child_count;
    out->mixed = rest ? rn_get_u64_be(at) : 0;
    if (rest > MIXED_BYTES)
        out->lost = rn_get_u64_be(at + MIXED_BYTES);
    return true;
}

enum rn_code rn_row_range_decode(struct rn_view bytes, struct rn_row_range *out)
{
    const char *at = bytes.at + RANGE_HEADER, *end = bytes.at + bytes.len;

    if (bytes.len < RANGE_HEADER)
        return RN_CORRUPT;
    out->lsn = out->lost = rn_get_u64_be(bytes.at);
    out->last_ts = (int64_t)rn_get_u64_be(bytes.at + 8);
    out->next_rid = rn_get_u64_be(bytes.at + 16);
    out->state = (enum rn_range_state)bytes.at[24];
    out->parent_count = (unsigned char)bytes.at[25];
    out->parents[0] = rn_get_u32_be(bytes.at + 26);
    out->parents[1] = rn_get_u32_be(bytes.at + 30);
    if (out->parent_count > 2 || !take_epk(&at, end, &out->epks.min) ||
        !take_epk(&at, end, &out->epks.max))
        return RN_CORRUPT;
    return take_children(at, end, out) ? RN_OK : RN_CORRUPT;
}
