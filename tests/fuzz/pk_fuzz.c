/* pk_fuzz.c -- any bytes as a partition key, its definition, or an EPK.
 *
 * The first byte chooses.  A key that is accepted prints, encodes and hashes,
 * and comes back the same; a key taken from a document equals the one read
 * from the header that it prints.
 */
#include "fuzz/fuzz.h"

#include "cosmos/epk.h"

static void check_key(const struct rn_pk *pk, struct rn_arena *arena)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char bytes[RN_PK_BYTES_MAX];
    struct rn_err err;
    struct rn_pk back;

    must(!rn_pk_print(pk, &text));
    must(!rn_pk_parse(rn_buf_view(&text), arena, &back, &err));
    must(rn_pk_eq(pk, &back));
    must(rn_pk_decode(rn_view_of(bytes, rn_pk_encode(pk, bytes)), &back));
    must(rn_pk_eq(pk, &back));
    rn_buf_release(&text);
}

/* Places the key in every sort of container it fits. */
static void check_place(const struct rn_pkdef *def, const struct rn_pk *pk)
{
    struct rn_epk_range range, met;
    struct rn_epk middle;

    rn_epk_range_of(def, pk, &range);
    must(rn_epk_range_has(&range, rn_epk_view(&range.min)));
    must(!rn_epk_range_has(&range, rn_epk_view(&range.max)));
    must(rn_epk_range_meet(&range, &rn_epk_all, &met));
    must(rn_epk_compare(&met.min, &range.min) == 0);
    if (rn_epk_middle(def, &range, &middle))
        must(rn_epk_range_has(&range, rn_epk_view(&middle)));
}

static void try_key(struct rn_view text, struct rn_arena *arena)
{
    static const struct rn_pkdef defs[] = {
        { .kind = RN_PKDEF_HASH, .version = 1, .count = 1 },
        { .kind = RN_PKDEF_HASH, .version = 2, .count = 1 },
        { .kind = RN_PKDEF_RANGE, .count = 1 },
        { .kind = RN_PKDEF_MULTIHASH, .count = 3 },
    };
    struct rn_err err;
    struct rn_pk pk;

    if (rn_pk_parse(text, arena, &pk, &err))
        return;
    check_key(&pk, arena);
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        struct rn_pk fit = pk;
        if (!rn_pkdef_fit_prefix(&defs[i], &fit, &err))
            check_place(&defs[i], &fit);
    }
}

static void try_definition(struct rn_view text, struct rn_arena *arena)
{
    struct rn_buf printed = RN_BUF_INIT(1 << 20);
    struct rn_pkdef def, back;
    struct rn_json json;
    struct rn_err err;
    struct rn_pk pk;

    rn_json_init(&json, NULL);
    if (!rn_json_parse(&json, text, &err) &&
        !rn_pkdef_parse(&json, 0, arena, &def, &err)) {
        if (!rn_pkdef_extract(&def, &json, 0, arena, &pk, &err)) {
            check_key(&pk, arena);
            must(!rn_pkdef_fit(&def, &pk, &err));
            check_place(&def, &pk);
        }
        must(!rn_pkdef_print(&def, &printed));
        must(!rn_json_parse(&json, rn_buf_view(&printed), &err));
        must(!rn_pkdef_parse(&json, 0, arena, &back, &err));
        must(rn_pkdef_eq(&def, &back));
    }
    rn_json_release(&json);
    rn_buf_release(&printed);
}

static void try_epk(struct rn_view text, struct rn_arena *arena)
{
    static const struct rn_pkdef defs[] = {
        { .kind = RN_PKDEF_HASH, .version = 1, .count = 1 },
        { .kind = RN_PKDEF_MULTIHASH, .count = 3 },
    };
    char printed[RN_EPK_TEXT_MAX];
    struct rn_epk_range range = rn_epk_all;
    struct rn_epk back, middle;
    struct rn_err err;

    (void)arena;
    if (rn_epk_parse(text, &range.min, &err))
        return;
    must(!rn_epk_parse(rn_epk_print(&range.min, printed), &back, &err));
    must(rn_epk_compare(&range.min, &back) == 0);
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        if (rn_epk_middle(&defs[i], &range, &middle))
            must(rn_epk_range_has(&range, rn_epk_view(&middle)) &&
                 rn_epk_compare(&range.min, &middle) < 0);
    }
}

static void try_bytes(struct rn_view bytes, struct rn_arena *arena)
{
    char again[RN_PK_BYTES_MAX];
    struct rn_pk pk;

    (void)arena;
    if (rn_pk_decode(bytes, &pk))
        must(rn_view_eq(rn_view_of(again, rn_pk_encode(&pk, again)), bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_try_fn *const tries[] = { try_key, try_definition, try_epk,
                                          try_bytes };

    return fuzz_choose(data, size, tries, sizeof(tries) / sizeof(tries[0]));
}
