/* query_token.c -- the continuation of a query.
 *
 * It is, in base64 and big endian,
 *
 *   1 byte    the kind of its last field: a place among documents in key order,
 *             a position among those in rid order, or a place among collected
 *             rows
 *   u64 u64   rows sent, and rows that have passed OFFSET and LIMIT
 *   u32       rows of the last document, or collected row, that were sent
 *   u64       the entry of the result cache (result_cache.c); 0: none
 *   u64       the scope: the container, user or database; 0: the account
 *   bytes     the place or position of the last document, or the place behind
 *             the last collected row
 *
 * and all that in {"token":"..."}: clients want JSON of a gateway.  So it has
 * at most 864 characters.
 */
#include "rest/query/query_token.h"

#include "rest/lists.h"
#include "rest/query/query_page.h"
#include "rest/reply.h"

#include "base/base64.h"
#include "base/bytes.h"

#include <assert.h>
#include <stdio.h>

enum { TOKEN_HEAD = 37, TOKEN_MAX = TOKEN_HEAD + (int)RN_QUERY_AFTER_MAX };

static_assert((int)RN_PLACE_MAX <= (int)RN_QUERY_AFTER_MAX,
              "either place fits into a token");
static_assert(RN_BASE64_LEN(TOKEN_MAX) + 12 <= 1024,
              "clients allow a kilobyte");

/* 2 and 3 were used for counts of rows, and for places without a value. */
enum token_kind { TOKEN_DOCUMENT = 1, TOKEN_NATURAL = 4, TOKEN_ROW = 5 };

static const struct rn_view token_head = { "{\"token\":\"", 10 };
static const struct rn_view token_tail = { "\"}", 2 };

static enum rn_code bad_token(struct rn_query_page *p)
{
    return rn_fail(&p->x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
}

/* A continuation of the service, "-RID:~a0NPAOszCpOChB4AAAAAAA==#RT:1#...",
 * names a document of another container.  As in the service, it is not a place
 * in this one, and the first page is returned. */
static bool is_foreign(const struct rn_query_page *p, struct rn_view text)
{
    const struct rn_view head = RN_LIT("RID:~");
    const char *end = memchr(text.at, '#', text.len);
    const struct rn_object *c = p->x->container;
    struct rn_rid rid;

    if (!c || !end || (text.at[0] != '-' && text.at[0] != '+'))
        return false;
    text = rn_view_of(text.at + 1, (size_t)(end - text.at) - 1);
    if (!rn_view_starts(text, head) ||
        !rn_rid_parse(rn_view_of(text.at + head.len, text.len - head.len),
                      &rid))
        return false;
    return rid.kind == RN_KIND_DOCUMENT &&
           !rn_rid_eq(rn_rid_owner(rid), c->rid);
}

/* Are the documents that this page, or an earlier one for it, has read in rid
 * order? */
static bool is_natural(const struct rn_query_page *p)
{
    return p->access.ops ? rn_access_is_natural(&p->access)
                         : p->order == RN_ORDER_RIDS;
}

static enum token_kind kind_of(const struct rn_query_page *p)
{
    if (!rn_query_page_is_whole(p))
        return is_natural(p) ? TOKEN_NATURAL : TOKEN_DOCUMENT;
    return TOKEN_ROW;
}

enum rn_code rn_query_token_read(struct rn_query_page *p)
{
    struct rn_view text = rn_context_header(p->x, RN_HEADER_CONTINUATION);
    struct rn_view tail;
    enum token_kind kind;
    size_t len = 0;
    char *bytes;

    p->order = RN_ORDER_BY_SIZE;
    if (!text.len || is_foreign(p, text))
        return RN_OK;
    bytes = rn_arena_alloc(&p->x->call->arena, TOKEN_MAX);
    if (!bytes)
        return RN_NOMEM;
    if (!rn_view_starts(text, token_head) ||
        text.len < token_head.len + token_tail.len)
        return bad_token(p);
    text = rn_view_of(text.at + token_head.len,
                      text.len - token_head.len - token_tail.len);
    if (!rn_view_eq(rn_view_of(text.at + text.len, token_tail.len),
                    token_tail) ||
        rn_base64_decode(text, RN_BASE64_STANDARD, bytes, TOKEN_MAX, &len) ||
        len < TOKEN_HEAD)
        return bad_token(p);
    kind = (enum token_kind)bytes[0];
    tail = rn_view_of(bytes + TOKEN_HEAD, len - TOKEN_HEAD);
    if (rn_get_u64_be(bytes + 29) != rn_context_whose(p->x))
        return bad_token(p);
    p->limits.from.rows = rn_get_u64_be(bytes + 1);
    p->limits.from.passed = rn_get_u64_be(bytes + 9);
    p->limits.from.document_rows = rn_get_u32_be(bytes + 17);
    p->held = rn_get_u64_be(bytes + 21);
    if (rn_query_page_is_whole(p)) {
        p->limits.from.after = tail;
        return kind == TOKEN_ROW ? RN_OK : bad_token(p);
    }
    if (kind != TOKEN_DOCUMENT && kind != TOKEN_NATURAL)
        return bad_token(p);
    p->order = kind == TOKEN_NATURAL ? RN_ORDER_RIDS : RN_ORDER_KEYS;
    p->scan.after = tail;
    p->scan.from_there = true;
    if (p->x->link.kind != RN_KIND_DOCUMENT &&
        tail.len != RN_QUERY_OBJECT_PLACE)
        return bad_token(p);
    return tail.len ? RN_OK : bad_token(p);
}

void rn_query_token_add(struct rn_query_page *p)
{
    char bytes[TOKEN_MAX], text[RN_BASE64_LEN(TOKEN_MAX)], json[1024];
    struct rn_view tail = rn_query_page_is_whole(p)
                              ? p->end.after
                              : rn_view_of(p->place, p->place_len);
    struct rn_view letters;

    bytes[0] = (char)kind_of(p);
    rn_put_u64_be(bytes + 1, p->end.rows);
    rn_put_u64_be(bytes + 9, p->end.passed);
    rn_put_u32_be(bytes + 17, p->end.document_rows);
    rn_put_u64_be(bytes + 21, p->held);
    rn_put_u64_be(bytes + 29, rn_context_whose(p->x));
    if (tail.len)
        memcpy(bytes + TOKEN_HEAD, tail.at, tail.len);
    letters = rn_base64_encode(rn_view_of(bytes, TOKEN_HEAD + tail.len),
                               RN_BASE64_STANDARD, text);
    snprintf(json, sizeof(json), "%.*s%.*s%.*s", RN_FMT(token_head),
             RN_FMT(letters), RN_FMT(token_tail));
    rn_reply_text(p->x, RN_HEADER_CONTINUATION, json);
}
