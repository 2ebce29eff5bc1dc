/* feed_token.c -- see feed_token.h. */
#include "cosmos/feed_token.h"

#include "cosmos/etag.h"
#include "cosmos/session.h"

#include <stdlib.h>

static struct rn_view bare(struct rn_view text)
{
    if (rn_view_starts(text, RN_LIT("W/")))
        text = rn_view_of(text.at + 2, text.len - 2);
    if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
        text = rn_view_of(text.at + 1, text.len - 2);
    return text;
}

static enum rn_code refuse(struct rn_view text, struct rn_err *err)
{
    return rn_fail(err, RN_BAD_REQUEST,
                   "If-None-Match '%.*s' is no continuation of a change feed: "
                   "send back the etag of an earlier answer, or * to start now",
                   (int)(text.len < 64 ? text.len : 64), text.at);
}

static int order_of(const void *a, const void *b)
{
    uint32_t x = ((const struct rn_feed_part *)a)->range;
    uint32_t y = ((const struct rn_feed_part *)b)->range;

    return (x > y) - (x < y);
}

static enum rn_code parse_parts(struct rn_view text, struct rn_arena *arena,
                                struct rn_feed_token *out)
{
    size_t room = 1;
    struct rn_session part;

    for (size_t i = 0; i < text.len; i++)
        room += text.at[i] == ',';
    if (room > RN_FEED_PARTS_MAX)
        return RN_BAD_REQUEST;
    out->kind = RN_FEED_TOKEN_PARTS;
    out->parts = rn_arena_alloc(arena, room * sizeof(*out->parts));
    if (!out->parts)
        return RN_NOMEM;
    while (text.len) {
        if (out->count == room || rn_session_next(&text, &part, NULL))
            return RN_BAD_REQUEST;
        out->parts[out->count++] =
            (struct rn_feed_part){ .range = part.range, .lsn = part.lsn };
    }
    qsort(out->parts, out->count, sizeof(*out->parts), order_of);
    for (size_t i = 1; i < out->count; i++) {
        if (out->parts[i].range == out->parts[i - 1].range)
            return RN_BAD_REQUEST;
    }
    return RN_OK;
}

enum rn_code rn_feed_token_parse(struct rn_view text, struct rn_arena *arena,
                                 struct rn_feed_token *out, struct rn_err *err)
{
    struct rn_view token = bare(text);
    enum rn_code rc;

    *out = (struct rn_feed_token){ 0 };
    if (!text.len)
        return RN_OK;
    if (rn_view_eq(text, RN_LIT("*"))) {
        out->kind = RN_FEED_TOKEN_NOW;
        return RN_OK;
    }
    if (token.len && memchr(token.at, ':', token.len)) {
        rc = parse_parts(token, arena, out);
        return rc == RN_BAD_REQUEST ? refuse(text, err) : rc;
    }
    out->kind = RN_FEED_TOKEN_LSN;
    return rn_etag_parse_lsn(text, &out->lsn, NULL) ? refuse(text, err) : RN_OK;
}

enum rn_code rn_feed_token_print(const struct rn_feed_part *parts, size_t count,
                                 struct rn_buf *out)
{
    char text[RN_SESSION_LSN_TEXT_MAX];
    enum rn_code rc = rn_buf_add(out, RN_LIT("\""));

    for (size_t i = 0; !rc && i < count; i++) {
        if (i)
            rc = rn_buf_add(out, RN_LIT(","));
        if (!rc)
            rc = rn_buf_add(
                out, rn_session_print_lsn(parts[i].range, parts[i].lsn, text));
    }
    return rc ? rc : rn_buf_add(out, RN_LIT("\""));
}
