/* key.c -- see key.h. */
#include "engine/key.h"

#include "base/bytes.h"

#include <assert.h>
#include <string.h>

/* The prefix and hashes of a long id are longer than any id that is stored
 * verbatim, so neither can be taken for the other. */
enum { PK_BLOCK = 14 }; /* 16 bytes, with what encloses a string */
enum { ID_WHOLE_MAX = 200, ID_HEAD = 169, EPK_END = 0x01, EPK_ZERO = 0xff };

static void begin(struct rn_key *k, uint32_t c, char tag)
{
    rn_put_u32_be(k->bytes, c);
    k->bytes[4] = tag;
    k->len = RN_KEY_HEAD;
}

static void add_u32(struct rn_key *k, uint32_t n)
{
    rn_put_u32_be(k->bytes + k->len, n);
    k->len += 4;
}

static void add_u64(struct rn_key *k, uint64_t n)
{
    rn_put_u64_be(k->bytes + k->len, n);
    k->len += 8;
}

static void add(struct rn_key *k, struct rn_view v)
{
    assert(k->len + v.len <= RN_KEY_MAX);
    if (v.len)
        memcpy(k->bytes + k->len, v.at, v.len);
    k->len += v.len;
}

static void add_epk(struct rn_key *k, struct rn_view epk)
{
    for (size_t i = 0; i < epk.len; i++) {
        k->bytes[k->len++] = epk.at[i];
        if (epk.at[i] == 0)
            k->bytes[k->len++] = (char)EPK_ZERO;
    }
}

static void end_epk(struct rn_key *k)
{
    k->bytes[k->len++] = 0;
    k->bytes[k->len++] = EPK_END;
}

static void add_id(struct rn_key *k, struct rn_view id)
{
    struct rn_hash128 hash;

    if (id.len <= ID_WHOLE_MAX) {
        add(k, id);
        return;
    }
    add(k, rn_view_of(id.at, ID_HEAD));
    hash = rn_hash128(id, 0);
    add_u64(k, hash.high);
    add_u64(k, hash.low);
    hash = rn_murmur128(id, (struct rn_hash128){ 0 });
    add_u64(k, hash.high);
    add_u64(k, hash.low);
}

void rn_key_span_tag(uint32_t c, char tag, struct rn_key *from,
                     struct rn_key *before)
{
    begin(from, c, tag);
    begin(before, c, (char)(tag + 1));
}

void rn_key_span_container(uint32_t c, struct rn_key *from,
                           struct rn_key *before)
{
    assert(c < UINT32_MAX);
    begin(from, c, 0);
    begin(before, c + 1, 0);
}

void rn_key_document_bound(uint32_t c, const struct rn_epk *epk,
                           struct rn_key *out)
{
    begin(out, c, RN_TAG_DOCUMENT);
    add_epk(out, rn_epk_view(epk));
}

bool rn_key_may_be_shared(const struct rn_pk *pk)
{
    for (size_t i = 0; i < pk->count; i++) {
        if (pk->values[i].type == RN_PK_STRING &&
            pk->values[i].text.len > PK_BLOCK)
            return true;
    }
    return false;
}

void rn_key_document(uint32_t c, const struct rn_epk *epk,
                     const struct rn_pk *pk, struct rn_view id,
                     struct rn_key *out)
{
    RN_UNSET char encoded[RN_PK_BYTES_MAX];

    rn_key_document_bound(c, epk, out);
    end_epk(out);
    add_u64(out, rn_hash64(rn_view_of(encoded, rn_pk_encode(pk, encoded)), 0));
    add_id(out, id);
}

void rn_key_feed(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                 struct rn_key *out)
{
    begin(out, c, RN_TAG_FEED);
    add_u32(out, range);
    add_u64(out, lsn);
    add_u32(out, n);
}

void rn_key_history(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                    struct rn_key *out)
{
    rn_key_feed(c, range, lsn, n, out);
    out->bytes[4] = RN_TAG_HISTORY;
}

void rn_key_rid(uint32_t c, uint64_t number, struct rn_key *out)
{
    begin(out, c, RN_TAG_RID);
    add_u64(out, number);
}

void rn_key_time(uint32_t c, int64_t expiry, uint64_t rid, struct rn_key *out)
{
    begin(out, c, RN_TAG_TIME);
    add_u64(out, (uint64_t)expiry);
    add_u64(out, rid);
}

void rn_key_range(uint32_t c, uint32_t range, struct rn_key *out)
{
    begin(out, c, RN_TAG_RANGE);
    add_u32(out, range);
}

void rn_key_unique(uint32_t c, struct rn_view epk, uint32_t key,
                   struct rn_hash128 hash, struct rn_key *out)
{
    begin(out, c, RN_TAG_UNIQUE);
    add_epk(out, epk);
    end_epk(out);
    out->bytes[out->len++] = (char)key;
    add_u64(out, hash.high);
    add_u64(out, hash.low);
}

void rn_key_add_rid(struct rn_key *k, uint64_t rid)
{
    add_u64(k, rid);
}

void rn_key_index(uint32_t c, uint8_t index, struct rn_key *out)
{
    begin(out, c, RN_TAG_INDEX);
    out->bytes[out->len++] = (char)index;
}

void rn_key_object(enum rn_kind kind, struct rn_rid rid, struct rn_key *out)
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    size_t len = rn_rid_encode(rid, bytes);

    begin(out, RN_CATALOG_NUMBER, RN_TAG_OBJECT);
    out->bytes[out->len++] = (char)kind;
    add(out, rn_view_of(bytes, len));
}

void rn_key_name(enum rn_kind kind, struct rn_rid owner, struct rn_view id,
                 struct rn_key *out)
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    struct rn_hash128 hash = rn_hash128(id, 0);

    begin(out, RN_CATALOG_NUMBER, RN_TAG_NAME);
    out->bytes[out->len++] = (char)kind;
    if (owner.kind != RN_KIND_ACCOUNT)
        add(out, rn_view_of(bytes, rn_rid_encode(owner, bytes)));
    add_u64(out, hash.high);
    add_u64(out, hash.low);
}

void rn_key_counters(struct rn_key *out)
{
    begin(out, RN_CATALOG_NUMBER, RN_TAG_COUNTERS);
}

void rn_key_catalog(char tag, uint32_t number, struct rn_key *out)
{
    begin(out, RN_CATALOG_NUMBER, tag);
    add_u32(out, number);
}

/* ---- an interval --------------------------------------------------------- */

enum rn_code rn_key_collect(struct rn_txn *txn, const struct rn_key *from,
                            const struct rn_key *before, struct rn_key *out,
                            size_t most, size_t *count)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc = rn_txn_scan(txn, &range, &c);

    *count = 0;
    while (!rc && *count < most) {
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        memcpy(out[*count].bytes, key.at, key.len);
        out[(*count)++].len = key.len;
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}
