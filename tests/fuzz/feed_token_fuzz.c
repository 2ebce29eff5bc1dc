/* feed_token_fuzz.c -- any bytes as what a reader of a change feed sends: its
 * place, its session, since when, how long it would wait.
 *
 * The first byte chooses.  A place or a session that is accepted prints, and
 * comes back the same.
 */
#include "fuzz/fuzz.h"

#include "base/clock.h"
#include "cosmos/etag.h"
#include "cosmos/feed_token.h"
#include "cosmos/prefer.h"
#include "cosmos/session.h"

static void check_parts(const struct rn_feed_token *token,
                        struct rn_arena *arena)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_feed_token back;
    struct rn_err err;

    must(token->count > 0 && token->count <= RN_FEED_PARTS_MAX);
    must(!rn_feed_token_print(token->parts, token->count, &text));
    must(!rn_feed_token_parse(rn_buf_view(&text), arena, &back, &err));
    must(back.kind == token->kind && back.count == token->count);
    for (size_t i = 0; i < back.count; i++) {
        must(back.parts[i].range == token->parts[i].range);
        must(back.parts[i].lsn == token->parts[i].lsn);
        must(i == 0 || back.parts[i - 1].range < back.parts[i].range);
    }
    rn_buf_release(&text);
}

static void try_place(struct rn_view text, struct rn_arena *arena)
{
    char printed[RN_ETAG_LSN_TEXT_MAX];
    struct rn_feed_token token, back;
    struct rn_err err;

    if (rn_feed_token_parse(text, arena, &token, &err))
        return;
    must((token.kind == RN_FEED_TOKEN_NONE) == (text.len == 0));
    if (token.kind == RN_FEED_TOKEN_PARTS)
        check_parts(&token, arena);
    if (token.kind != RN_FEED_TOKEN_LSN)
        return;
    text = rn_etag_print_lsn(token.lsn, printed);
    must(!rn_feed_token_parse(text, arena, &back, &err));
    must(back.kind == token.kind && back.lsn == token.lsn);
}

static void try_session(struct rn_view text, struct rn_arena *arena)
{
    struct rn_view rest = text;
    struct rn_session part, back;
    struct rn_err err;

    (void)arena;
    while (rest.len > 0 && !rn_session_next(&rest, &part, &err)) {
        struct rn_buf printed = RN_BUF_INIT(1 << 20);
        struct rn_session_line line = { .range = part.range };
        struct rn_view one;
        uint64_t lsn = 0;

        must(!rn_session_print(&part, &printed));
        one = rn_buf_view(&printed);
        must(!rn_session_find(one, &line, &lsn, &err) && lsn == part.lsn);
        must(!rn_session_next(&one, &back, &err) && one.len == 0);
        must(rn_session_covers(&back, &part) &&
             rn_session_covers(&part, &back));
        must(!rn_session_merge(&back, &part, &err));
        rn_buf_release(&printed);
    }
}

static void try_date(struct rn_view text, struct rn_arena *arena)
{
    char printed[RN_DATE_TEXT_MAX];
    int64_t seconds, back;
    struct rn_err err;

    (void)arena;
    if (rn_date_parse(text, &seconds, &err))
        return;
    text = rn_date_print(seconds, printed);
    must(!rn_date_parse(text, &back, &err) && back == seconds);
}

static void try_prefer(struct rn_view text, struct rn_arena *arena)
{
    struct rn_view value;

    (void)arena;
    must(rn_prefer_wait(text) == 0 || rn_prefer_find(text, "wait", &value));
    if (rn_prefer_find(text, "return", &value))
        must(value.len <= text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_try_fn *const tries[] = { try_place, try_session, try_date,
                                          try_prefer };

    return fuzz_choose(data, size, tries, sizeof(tries) / sizeof(tries[0]));
}
