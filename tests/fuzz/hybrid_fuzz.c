/* hybrid_fuzz.c -- any bytes as a batch in HybridRow.
 *
 * The checksum of a record would keep nearly all inputs out, so it is put right
 * before the bytes are read.  Whatever is read lies within them; a result made
 * of it is written and its frame is whole.
 */
#include "fuzz/fuzz.h"

#include "base/bytes.h"
#include "cosmos/hybrid.h"

#include <stdlib.h>

static uint32_t crc_of(const char *at, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void mend_sums(char *at, size_t len)
{
    size_t place = 10;

    while (len - place >= 13 && place <= len) {
        uint32_t body = rn_get_u32(at + place + 5);

        if (body > len - place - 13)
            return;
        rn_put_u32(at + place + 9, crc_of(at + place + 13, body));
        place += 13 + (size_t)body;
    }
}

static void must_lie_in(struct rn_view v, struct rn_view whole)
{
    must(!v.at || (v.at >= whole.at && v.at + v.len <= whole.at + whole.len));
}

static void try_result(const struct rn_batch_ask *ask)
{
    struct rn_batch_result r = { .status = ask->type,
                                 .etag = ask->if_match,
                                 .body = ask->body,
                                 .retry_after_ms = ask->is_minimal };
    struct rn_buf out = RN_BUF_INIT(8 << 20);

    must(!rn_hybrid_put_head(&out));
    must(!rn_hybrid_put_result(&out, &r));
    must(out.len == 10 + 13 + (size_t)rn_get_u32(out.at + 15));
    rn_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct rn_view whole, stream;
    struct rn_batch_ask ask;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (size)
        memcpy(copy, data, size);
    if (size >= 10)
        mend_sums(copy, size);
    whole = stream = rn_view_of(copy, size);
    rc = rn_hybrid_begin(&stream, &err);
    while (!rc) {
        rc = rn_hybrid_next(&stream, &ask, &err);
        if (rc)
            break;
        must_lie_in(ask.pk, whole);
        must_lie_in(ask.id, whole);
        must_lie_in(ask.body, whole);
        must_lie_in(ask.if_match, whole);
        must_lie_in(ask.if_none_match, whole);
        try_result(&ask);
    }
    must(rc == RN_NOT_FOUND || (rc == RN_BAD_REQUEST && err.text[0]));
    free(copy);
    return 0;
}
