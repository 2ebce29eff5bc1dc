/* auth_fuzz.c -- any bytes as an Authorization header, or as a date.
 *
 * What is accepted must be text that a sender could have meant: a signature
 * prints to a header that is accepted as the same, a token holds no byte that
 * could break a log or a header.  A date that is accepted is within the window.
 */
#include "fuzz/fuzz.h"

#include "cosmos/auth.h"

#include "base/clock.h"

static void try_header(struct rn_view text)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_auth auth, again;
    char printed[RN_AUTH_TEXT_MAX];
    struct rn_err err;

    if (!rn_auth_parse(text, &arena, &auth, &err)) {
        if (auth.type == RN_AUTH_MASTER) {
            must(!rn_auth_parse(rn_auth_print(auth.signature, printed), &arena,
                                &again, &err));
            must(memcmp(auth.signature, again.signature, RN_SIGNATURE_LEN) ==
                 0);
        }
        must(auth.token.len > 0);
        for (size_t i = 0; i < auth.token.len; i++)
            must(auth.token.at[i] > 0x20 && auth.token.at[i] < 0x7f);
    }
    rn_arena_release(&arena);
}

static void try_date(struct rn_view text)
{
    const int64_t now_s = 1493254272;
    struct rn_err err = { 0 };
    int64_t made_s;

    if (!rn_auth_check_date(text, RN_LIT(""), now_s, &err)) {
        must(!rn_date_parse(text, &made_s, &err));
        must(llabs(made_s - now_s) <= RN_AUTH_WINDOW_S);
    } else {
        must(err.code == RN_UNAUTHORIZED || err.code == RN_FORBIDDEN);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'D')
        try_date(rn_view_of(data + 1, size - 1));
    else
        try_header(rn_view_of(data, size));
    return 0;
}
