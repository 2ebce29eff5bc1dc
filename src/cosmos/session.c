/* session.c -- see session.h. */
#include "cosmos/session.h"

#include "base/decimal.h"
#include "cosmos/digits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* LSNs and versions are signed 64-bit numbers in every client; -1 means
 * none. */
static bool read_signed(struct rn_view *in, int64_t *out)
{
    bool negative = rn_digits_skip(in, '-');
    uint64_t n;

    if (!rn_digits_read(in, negative ? 1 : INT64_MAX, &n) ||
        (negative && n == 0))
        return false;
    *out = negative ? -1 : (int64_t)n;
    return true;
}

static const struct rn_session_region *find_region(const struct rn_session *s,
                                                   uint64_t id)
{
    for (size_t i = 0; i < s->region_count; i++) {
        if (s->regions[i].id == id)
            return &s->regions[i];
    }
    return NULL;
}

static bool read_regions(struct rn_view *in, struct rn_session *out)
{
    out->region_count = 0;
    while (rn_digits_skip(in, '#')) {
        struct rn_session_region *r = &out->regions[out->region_count];
        if (out->region_count == RN_SESSION_REGIONS_MAX ||
            !rn_digits_read(in, INT64_MAX, &r->id) || find_region(out, r->id) ||
            !rn_digits_skip(in, '=') || !read_signed(in, &r->lsn))
            return false;
        out->region_count++;
    }
    return true;
}

static bool read_part(struct rn_view *in, struct rn_session *out)
{
    uint64_t range;
    int64_t first;

    if (!rn_digits_read(in, UINT32_MAX, &range) || !rn_digits_skip(in, ':') ||
        !read_signed(in, &first))
        return false;
    out->range = (uint32_t)range;
    if (in->len == 0 || in->at[0] != '#') { /* the old form: only an LSN */
        out->version = -1;
        out->lsn = (uint64_t)first;
        out->region_count = 0;
        return first >= 0;
    }
    out->version = first;
    return rn_digits_skip(in, '#') &&
           rn_digits_read(in, INT64_MAX, &out->lsn) && read_regions(in, out);
}

enum rn_code rn_session_next(struct rn_view *rest, struct rn_session *out,
                             struct rn_err *err)
{
    struct rn_view in = *rest;

    if (!read_part(&in, out) ||
        (in.len > 0 && !(rn_digits_skip(&in, ',') && in.len > 0))) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Invalid session token: '%.*s' is not a part of one",
                       rest->len > 80 ? 80 : (int)rest->len, rest->at);
    }
    *rest = in;
    return RN_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool is_in(const struct rn_session_line *line, uint32_t range)
{
    return range == line->range ||
           (line->ancestor_count &&
            bsearch(&range, line->ancestors, line->ancestor_count,
                    sizeof(range), compare_ids));
}

enum rn_code rn_session_find(struct rn_view token,
                             const struct rn_session_line *line, uint64_t *lsn,
                             struct rn_err *err)
{
    uint64_t highest = 0;

    while (token.len > 0) {
        struct rn_session part = { .range = 0 };
        enum rn_code rc = rn_session_next(&token, &part, err);
        if (rc)
            return rc;
        if (part.lsn > highest && is_in(line, part.range))
            highest = part.lsn;
    }
    *lsn = highest;
    return RN_OK;
}

/* A failover may change the regions; it then increases the version. */
static bool same_regions(const struct rn_session *a, const struct rn_session *b)
{
    if (a->region_count != b->region_count)
        return false;
    for (size_t i = 0; i < a->region_count; i++) {
        if (!find_region(b, a->regions[i].id))
            return false;
    }
    return true;
}

bool rn_session_covers(const struct rn_session *have,
                       const struct rn_session *want)
{
    assert(have->range == want->range);
    if (have->version < want->version || have->lsn < want->lsn)
        return false;
    if (have->version == want->version && !same_regions(have, want))
        return false;
    for (size_t i = 0; i < have->region_count; i++) {
        const struct rn_session_region *w =
            find_region(want, have->regions[i].id);
        if (w && have->regions[i].lsn < w->lsn)
            return false;
    }
    return true;
}

enum rn_code rn_session_merge(struct rn_session *into,
                              const struct rn_session *from, struct rn_err *err)
{
    struct rn_session high = *into;
    const struct rn_session *low = from;

    assert(into->range == from->range);
    if (into->version == from->version && !same_regions(into, from)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "session tokens of range %" PRIu32
                       " have unexpected regions",
                       into->range);
    }
    if (from->version > into->version) {
        high = *from;
        low = into;
    }
    if (low->lsn > high.lsn)
        high.lsn = low->lsn;
    for (size_t i = 0; i < high.region_count; i++) {
        const struct rn_session_region *l =
            find_region(low, high.regions[i].id);
        if (l && l->lsn > high.regions[i].lsn)
            high.regions[i].lsn = l->lsn;
    }
    *into = high;
    return RN_OK;
}

enum rn_code rn_session_print(const struct rn_session *s, struct rn_buf *out)
{
    size_t before = out->len;
    enum rn_code rc = rn_buf_printf(out, "%" PRIu32 ":%" PRId64 "#%" PRIu64,
                                    s->range, s->version, s->lsn);

    for (size_t i = 0; !rc && i < s->region_count; i++)
        rc = rn_buf_printf(out, "#%" PRIu64 "=%" PRId64, s->regions[i].id,
                           s->regions[i].lsn);
    if (rc)
        out->len = before;
    return rc;
}

static struct rn_view print_short(uint32_t range, struct rn_view middle,
                                  uint64_t lsn,
                                  char out[RN_SESSION_LSN_TEXT_MAX])
{
    char text[RN_SESSION_LSN_TEXT_MAX], *end = text + sizeof(text) - 1;
    char *at = end - rn_decimal_print(lsn, end).len - middle.len;
    size_t len;

    *end = '\0';
    memcpy(at, middle.at, middle.len);
    at -= rn_decimal_print(range, at).len;
    len = (size_t)(end - at);
    memcpy(out, at, len + 1);
    return rn_view_of(out, len);
}

struct rn_view rn_session_print_lsn(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX])
{
    return print_short(range, RN_LIT(":-1#"), lsn, out);
}

struct rn_view rn_session_print_old(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX])
{
    return print_short(range, RN_LIT(":"), lsn, out);
}
