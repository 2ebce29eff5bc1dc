/* print.c -- see print.h. */
#include "json/print.h"
#include "json/number.h"
#include "json/scan.h"
#include "json/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void put(struct rn_json_out *o, struct rn_view bytes)
{
    if (!o->rc)
        o->rc = rn_buf_add(o->buf, bytes);
}

static void put_comma(struct rn_json_out *o)
{
    if (o->needs_comma)
        put(o, RN_LIT(","));
}

static void begin(struct rn_json_out *o, struct rn_view bracket)
{
    put_comma(o);
    put(o, bracket);
    o->needs_comma = false;
    o->depth++;
}

static void end(struct rn_json_out *o, struct rn_view bracket)
{
    assert(o->depth > 0);
    put(o, bracket);
    o->needs_comma = true;
    o->depth--;
}

void rn_json_out_object_begin(struct rn_json_out *o)
{
    begin(o, RN_LIT("{"));
}

void rn_json_out_object_end(struct rn_json_out *o)
{
    end(o, RN_LIT("}"));
}

void rn_json_out_array_begin(struct rn_json_out *o)
{
    begin(o, RN_LIT("["));
}

void rn_json_out_array_end(struct rn_json_out *o)
{
    end(o, RN_LIT("]"));
}

/* ---- strings ------------------------------------------------------------- */

static void put_escape(struct rn_json_out *o, char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = memchr(from, c, sizeof(from) - 1);
    char text[8] = { '\\' };

    if (found) {
        text[1] = to[found - from];
        put(o, rn_view_of(text, 2));
    } else {
        snprintf(text, sizeof(text), "\\u%04x", (unsigned char)c);
        put(o, rn_view_of(text, 6));
    }
}

/* The end of the text that needs no escaping. */
static const char *clean_end(const char *at, const char *end)
{
    for (;;) {
        size_t len;
        at = rn_scan_plain(at, end);
        if (at == end || (signed char)*at >= 0)
            return at;
        len = rn_utf8_len(at, end);
        if (len == 0)
            return at;
        at += len;
    }
}

static void put_string(struct rn_json_out *o, struct rn_view text)
{
    const char *at = text.at, *end = text.at + text.len;

    put(o, RN_LIT("\""));
    while (at < end) {
        const char *stop = clean_end(at, end);
        put(o, rn_view_of(at, (size_t)(stop - at)));
        if (stop == end)
            break;
        if ((signed char)*stop < 0)
            put(o, RN_LIT("\xef\xbf\xbd"));
        else
            put_escape(o, *stop);
        at = stop + 1;
    }
    put(o, RN_LIT("\""));
}

void rn_json_out_key(struct rn_json_out *o, struct rn_view name)
{
    put_comma(o);
    put_string(o, name);
    put(o, RN_LIT(":"));
    o->needs_comma = false;
}

void rn_json_out_string(struct rn_json_out *o, struct rn_view text)
{
    put_comma(o);
    put_string(o, text);
    o->needs_comma = true;
}

/* ---- other values -------------------------------------------------------- */

void rn_json_out_raw(struct rn_json_out *o, struct rn_view json)
{
    put_comma(o);
    put(o, json);
    o->needs_comma = true;
}

enum { ESCAPE_MAX = 12 }; /* a surrogate pair */

/* The length of the escape at `at`; a surrogate pair is one escape. */
static size_t escape_len(const char *at)
{
    uint32_t point;

    if (at[1] != 'u')
        return 2;
    point = (uint32_t)rn_scan_hex4(at + 2);
    return point >= 0xd800 && point <= 0xdfff ? ESCAPE_MAX : 6;
}

/* JSON has backslashes only in strings, so the structure need not be parsed. */
void rn_json_out_plain(struct rn_json_out *o, struct rn_view json)
{
    const char *at = json.at, *end = json.at + json.len;
    char bytes[ESCAPE_MAX];

    put_comma(o);
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t len;
        put(o, rn_view_of(at, (size_t)((slash ? slash : end) - at)));
        if (!slash)
            break;
        at = slash + escape_len(slash);
        len = rn_json_unescape(rn_view_of(slash, (size_t)(at - slash)), bytes);
        if (len == 1 && !rn_scan_is_plain(bytes[0]))
            put_escape(o, bytes[0]);
        else
            put(o, rn_view_of(bytes, len));
    }
    o->needs_comma = true;
}

void rn_json_out_null(struct rn_json_out *o)
{
    rn_json_out_raw(o, RN_LIT("null"));
}

void rn_json_out_bool(struct rn_json_out *o, bool value)
{
    rn_json_out_raw(o, value ? RN_LIT("true") : RN_LIT("false"));
}

void rn_json_out_int(struct rn_json_out *o, int64_t value)
{
    char text[RN_NUMBER_TEXT_MAX];
    int len = snprintf(text, sizeof(text), "%" PRId64, value);

    rn_json_out_raw(o, rn_view_of(text, (size_t)len));
}

void rn_json_out_uint(struct rn_json_out *o, uint64_t value)
{
    char text[RN_NUMBER_TEXT_MAX];
    int len = snprintf(text, sizeof(text), "%" PRIu64, value);

    rn_json_out_raw(o, rn_view_of(text, (size_t)len));
}

void rn_json_out_double(struct rn_json_out *o, double value)
{
    char text[RN_NUMBER_TEXT_MAX];

    if (isfinite(value))
        rn_json_out_raw(o, rn_view_of(text, rn_number_print(value, text)));
    else
        rn_json_out_null(o);
}

/* ---- parsed values ------------------------------------------------------- */

/* The source text of one node; a string includes its quotes. */
static struct rn_view source(const struct rn_json *j, uint32_t value)
{
    struct rn_view v = rn_json_text(j, value);

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        return rn_view_of(v.at - 1, v.len + 2);
    return v;
}

/* The containers around the node being printed, outermost first. */
struct nest {
    const struct rn_json *json;
    uint32_t depth;
    struct {
        uint32_t end; /* index after its last node */
        bool is_object;
    } level[RN_JSON_DEPTH_MAX];
};

static void nest_open(struct nest *n, struct rn_json_out *o, uint32_t value)
{
    bool is_object = rn_json_kind(n->json, value) == RN_JSON_OBJECT;

    assert(n->depth < RN_JSON_DEPTH_MAX);
    n->level[n->depth].is_object = is_object;
    n->level[n->depth++].end = value + n->json->nodes[value].span;
    begin(o, is_object ? RN_LIT("{") : RN_LIT("["));
}

/* Closes the containers that do not contain `next`. */
static void nest_close(struct nest *n, struct rn_json_out *o, uint32_t next)
{
    while (n->depth > 0 && n->level[n->depth - 1].end == next) {
        n->depth--;
        end(o, n->level[n->depth].is_object ? RN_LIT("}") : RN_LIT("]"));
    }
}

static void put_name(struct rn_json_out *o, const struct rn_json *j,
                     uint32_t name)
{
    rn_json_out_raw(o, source(j, name));
    put(o, RN_LIT(":"));
    o->needs_comma = false;
}

static void put_tree(struct rn_json_out *o, const struct rn_json *j,
                     uint32_t value)
{
    uint32_t end = value + j->nodes[value].span;
    struct nest n;

    n.json = j;
    n.depth = 0;
    while (value < end && !o->rc) {
        if (n.depth > 0 && n.level[n.depth - 1].is_object)
            put_name(o, j, value++);
        if (rn_json_kind(j, value) < RN_JSON_ARRAY)
            rn_json_out_raw(o, source(j, value));
        else
            nest_open(&n, o, value);
        nest_close(&n, o, ++value);
    }
}

void rn_json_out_value(struct rn_json_out *o, const struct rn_json *j,
                       uint32_t value)
{
    assert(value < j->count);
    if (j->is_compact)
        rn_json_out_raw(o, source(j, value));
    else
        put_tree(o, j, value);
}

void rn_json_out_member(struct rn_json_out *o, const struct rn_json *j,
                        uint32_t name, uint32_t value)
{
    put_comma(o);
    put(o, source(j, name));
    put(o, RN_LIT(":"));
    o->needs_comma = false;
    rn_json_out_value(o, j, value);
}

enum rn_code rn_json_out_finish(const struct rn_json_out *o)
{
    assert(o->rc || o->depth == 0);
    return o->rc;
}
