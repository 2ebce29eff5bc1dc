/* value.c -- reads the values on the tape; see json.h. */
#include "json/json.h"
#include "json/number.h"
#include "json/scan.h"
#include "json/utf8.h"

#include <assert.h>

/* ---- strings ------------------------------------------------------------- */

/* `at` is at the u.  The parser has checked that surrogates come in pairs. */
static const char *unescape_unicode(const char *at, char *out, size_t *len)
{
    uint32_t point = (uint32_t)rn_scan_hex4(at + 1);

    at += 5;
    if (point >= 0xd800 && point <= 0xdfff) {
        point = 0x10000 + ((point - 0xd800) << 10) +
                ((uint32_t)rn_scan_hex4(at + 2) - 0xdc00);
        at += 6;
    }
    *len = rn_utf8_encode(point, out);
    return at;
}

/* Decodes one escape; `at` is at its backslash.  Returns the position after
 * it. */
static const char *unescape_one(const char *at, char out[RN_UTF8_MAX],
                                size_t *len)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *found;

    at++;
    if (*at == 'u')
        return unescape_unicode(at, out, len);
    found = memchr(from, *at, sizeof(from) - 1);
    out[0] = *at;
    if (found)
        out[0] = to[found - from];
    *len = 1;
    return at + 1;
}

size_t rn_json_unescape(struct rn_view raw, char *out)
{
    const char *at = raw.at, *end = raw.at + raw.len;
    size_t done = 0, len;

    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((slash ? slash : end) - at);
        memcpy(out + done, at, run);
        done += run;
        if (!slash)
            break;
        at = unescape_one(slash, out + done, &len);
        done += len;
    }
    return done;
}

/* If `v` starts with these bytes, moves it past them. */
static bool skip(struct rn_view *v, const char *at, size_t len)
{
    if (v->len < len || (len && memcmp(v->at, at, len) != 0))
        return false;
    v->at += len;
    v->len -= len;
    return true;
}

static bool unescaped_is(struct rn_view raw, struct rn_view other)
{
    const char *at = raw.at, *end = raw.at + raw.len;
    char bytes[RN_UTF8_MAX];
    size_t len;

    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        if (!skip(&other, at, (size_t)((slash ? slash : end) - at)))
            return false;
        if (!slash)
            break;
        at = unescape_one(slash, bytes, &len);
        if (!skip(&other, bytes, len))
            return false;
    }
    return other.len == 0;
}

bool rn_json_string_is(const struct rn_json *j, uint32_t value,
                       struct rn_view other)
{
    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return false;
    if (j->nodes[value].escaped)
        return unescaped_is(rn_json_text(j, value), other);
    return rn_view_eq(rn_json_text(j, value), other);
}

enum rn_code rn_json_string_copy(const struct rn_json *j, uint32_t value,
                                 struct rn_arena *a, struct rn_view *out)
{
    struct rn_view raw = rn_json_text(j, value);
    char *at;

    assert(rn_json_kind(j, value) == RN_JSON_STRING);
    if (raw.len > a->ceiling - a->used)
        return RN_TOO_LARGE;
    at = rn_arena_alloc(a, raw.len);
    if (!at)
        return RN_NOMEM;
    *out = rn_view_of(at, rn_json_unescape(raw, at));
    return RN_OK;
}

enum rn_code rn_json_string_get(const struct rn_json *j, uint32_t value,
                                struct rn_arena *a, struct rn_view *out)
{
    assert(rn_json_kind(j, value) == RN_JSON_STRING);
    if (j->nodes[value].escaped)
        return rn_json_string_copy(j, value, a, out);
    *out = rn_json_text(j, value);
    return RN_OK;
}

/* ---- containers ---------------------------------------------------------- */

uint32_t rn_json_find(const struct rn_json *j, uint32_t object,
                      struct rn_view name)
{
    struct rn_json_walk w = rn_json_walk_begin(j, object);

    while (rn_json_walk_next(&w)) {
        if (w.is_object && rn_json_string_is(j, w.name, name))
            return w.value;
    }
    return RN_JSON_NONE;
}

uint32_t rn_json_at(const struct rn_json *j, uint32_t array, uint32_t place)
{
    struct rn_json_walk w = rn_json_walk_begin(j, array);

    if (w.is_object || place >= rn_json_count(j, array))
        return RN_JSON_NONE;
    do {
        rn_json_walk_next(&w);
    } while (place-- > 0);
    return w.value;
}

/* ---- numbers ------------------------------------------------------------- */

double rn_json_double(const struct rn_json *j, uint32_t value)
{
    assert(rn_json_kind(j, value) == RN_JSON_NUMBER);
    return rn_number_double(rn_json_text(j, value));
}

bool rn_json_int64(const struct rn_json *j, uint32_t value, int64_t *out)
{
    assert(rn_json_kind(j, value) == RN_JSON_NUMBER);
    return rn_number_int64(rn_json_text(j, value), out);
}
