/* rid_fuzz.c -- any bytes as a resource id, a path, a session token, an etag.
 *
 * The first byte chooses.  Whatever is accepted has one spelling: printed, it
 * is the text that was read, or reads back as the same.
 */
#include "fuzz/fuzz.h"

#include "cosmos/etag.h"
#include "cosmos/link.h"
#include "cosmos/session.h"

#include "base/hex.h"

#include <stdlib.h>

static void try_rid(struct rn_view text, struct rn_arena *arena)
{
    char printed[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX];
    unsigned char bytes[RN_RID_BYTES_MAX];
    struct rn_rid rid;

    (void)arena;
    if (rn_rid_parse(text, &rid)) {
        must(rn_view_eq(rn_rid_print(rid, printed), text));
        must(rn_rid_print_self(rid, self).len > 0);
    }
    if (rn_rid_decode(text, &rid))
        must(rn_view_eq(rn_view_of(bytes, rn_rid_encode(rid, bytes)), text));
}

enum { SEGMENTS_MAX = 16 };

/* Cuts at slashes, leaving out what is empty, and decodes in place. */
static size_t cut(char *at, size_t len, struct rn_view out[SEGMENTS_MAX])
{
    size_t count = 0, begin = 0, n = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i < len && at[i] != '/') {
            if (at[i] == '%' && i + 2 < len && rn_hex_digit(at[i + 1]) >= 0 &&
                rn_hex_digit(at[i + 2]) >= 0) {
                at[n++] = (char)(rn_hex_digit(at[i + 1]) << 4 |
                                 rn_hex_digit(at[i + 2]));
                i += 2;
            } else {
                at[n++] = at[i];
            }
            continue;
        }
        if (n > begin && count < SEGMENTS_MAX)
            out[count++] = rn_view_of(at + begin, n - begin);
        begin = n;
    }
    return count;
}

static void check_link(const struct rn_link *l, struct rn_view wire)
{
    struct rn_buf target = RN_BUF_INIT(1 << 20), link = RN_BUF_INIT(1 << 20);
    struct rn_view segments[SEGMENTS_MAX];
    struct rn_link back;
    struct rn_err err;

    must(!rn_link_print_target(l, &target));
    must(!rn_link_parse(segments, cut(target.at, target.len, segments), &back,
                        &err));
    must(back.kind == l->kind && back.is_list == l->is_list &&
         back.is_rid == l->is_rid && back.depth == l->depth &&
         back.is_key_delete == l->is_key_delete);
    for (size_t i = 0; i < l->depth; i++)
        must(rn_view_eq(back.ids[i], l->ids[i]));
    for (unsigned form = 0; form < RN_LINK_FORMS; form++) {
        enum rn_code rc =
            rn_link_print(l, (enum rn_link_form)form, wire, &link);
        must(!rc || rc == RN_NOT_FOUND);
    }
    if (l->is_rid)
        must(rn_link_rid(l).kind != RN_KIND_ACCOUNT);
    rn_buf_release(&target);
    rn_buf_release(&link);
}

static void try_link(struct rn_view wire, struct rn_arena *arena)
{
    struct rn_view segments[SEGMENTS_MAX];
    char *copy = malloc(wire.len + 1);
    struct rn_link l;
    struct rn_err err;

    (void)arena;
    must(copy != NULL);
    memcpy(copy, wire.at, wire.len);
    if (!rn_link_parse(segments, cut(copy, wire.len, segments), &l, &err))
        check_link(&l, wire);
    free(copy);
}

static void try_session(struct rn_view text, struct rn_arena *arena)
{
    struct rn_buf out = RN_BUF_INIT(1 << 16);
    struct rn_session_line line = { 0 };
    struct rn_session s, merged;
    struct rn_err err;
    uint64_t lsn;

    (void)arena;
    if (!rn_session_find(text, &line, &lsn, &err) && text.len > 0) {
        struct rn_view rest = text, first;
        must(!rn_session_next(&rest, &s, &err));
        first = rn_view_of(text.at, text.len - rest.len - (rest.len > 0));
        merged = s;
        must(rn_session_covers(&merged, &s));
        must(!rn_session_merge(&merged, &s, &err));
        must(!rn_session_print(&merged, &out));
        if (memchr(first.at, '#', first.len)) /* not the old form */
            must(rn_view_eq(rn_buf_view(&out), first));
    }
    rn_buf_release(&out);
}

static void try_etag(struct rn_view text, struct rn_arena *arena)
{
    char printed[RN_ETAG_LEN], number[RN_ETAG_LSN_TEXT_MAX];
    struct rn_view rest = text, one;
    struct rn_etag etag;
    struct rn_err err;
    uint64_t lsn, again;

    (void)arena;
    if (rn_etag_parse(text, &etag)) {
        rn_etag_print(etag, printed);
        must(rn_etag_matches(text, rn_view_of(printed, sizeof(printed))));
    }
    if (!rn_etag_parse_lsn(text, &lsn, &err))
        must(!rn_etag_parse_lsn(rn_etag_print_lsn(lsn, number), &again, &err) &&
             again == lsn);
    for (size_t last = rest.len + 1; rn_etag_next(&rest, &one); last = rest.len)
        must(rest.len < last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_try_fn *const tries[] = { try_rid, try_link, try_session,
                                          try_etag };

    return fuzz_choose(data, size, tries, sizeof(tries) / sizeof(tries[0]));
}
