/* history_fuzz.c -- any bytes as a row of all versions, or as a change feed
 * policy.
 *
 * The first byte chooses.  A row that is accepted encodes to the same bytes,
 * and its envelope is JSON if the images in it are such as are stored; a policy
 * keeps its bounds.
 */
#include "fuzz/fuzz.h"

#include "engine/feed/history.h"

#include "cosmos/pkdef.h"

static bool is_object(struct rn_view text)
{
    struct rn_json j;
    bool is;

    rn_json_init(&j, NULL);
    is =
        !rn_json_parse(&j, text, NULL) && rn_json_kind(&j, 0) == RN_JSON_OBJECT;
    rn_json_release(&j);
    return is;
}

/* What is stored begins with its brace: a byte order mark is not kept. */
static bool is_image(struct rn_view text)
{
    return text.len == 0 || (text.at[0] == '{' && is_object(text));
}

static void check_envelope(const struct rn_row_history *h,
                           const struct rn_pkdef *def)
{
    struct rn_buf out = RN_BUF_INIT(16 << 20);
    bool good = is_image(h->current) && is_image(h->previous);

    if (!rn_history_print(h, 7, def, &out) && good)
        must(is_object(rn_buf_view(&out)));
    rn_buf_release(&out);
}

static void try_row(struct rn_view bytes, const struct rn_pkdef *def)
{
    struct rn_buf again = RN_BUF_INIT(16 << 20);
    struct rn_row_history h, back;

    if (rn_row_history_decode(bytes, &h))
        return;
    must(!rn_row_history_encode(&h, &again) && again.len == bytes.len);
    must(!rn_row_history_decode(rn_buf_view(&again), &back));
    must(back.operation == h.operation && back.is_expired == h.is_expired &&
         back.tells_previous == h.tells_previous && back.ts == h.ts &&
         back.previous_lsn == h.previous_lsn && rn_view_eq(back.epk, h.epk) &&
         rn_view_eq(back.current, h.current) &&
         rn_view_eq(back.previous, h.previous));
    check_envelope(&h, def);
    rn_buf_release(&again);
}

static void try_policy(struct rn_view text)
{
    struct rn_history_policy policy;
    struct rn_json j;
    struct rn_err err;

    rn_json_init(&j, NULL);
    if (!rn_json_parse(&j, text, &err) &&
        !rn_history_parse(&j, 0, &policy, &err))
        must(policy.seconds >= RN_HISTORY_FOR_EVER);
    rn_json_release(&j);
}

/* Containers of one key, and of two of which one lies deep. */
static void read_definition(bool is_pair, struct rn_arena *arena,
                            struct rn_pkdef *out)
{
    struct rn_view text =
        is_pair ? RN_LIT("{\"paths\":[\"/a\",\"/b/c\"],\"kind\":\"MultiHash\","
                         "\"version\":2}")
                : RN_LIT("{\"paths\":[\"/pk\"]}");
    struct rn_json j;
    struct rn_err err;

    rn_json_init(&j, NULL);
    must(!rn_json_parse(&j, text, &err) &&
         !rn_pkdef_parse(&j, 0, arena, out, &err));
    rn_json_release(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_pkdef def;

    if (size == 0)
        return 0;
    if (data[0] % 3 == 2) {
        try_policy(rn_view_of(data + 1, size - 1));
    } else {
        read_definition(data[0] % 3, &arena, &def);
        try_row(rn_view_of(data + 1, size - 1), &def);
    }
    rn_arena_release(&arena);
    return 0;
}
