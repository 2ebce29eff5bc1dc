/* token.c -- see token.h. */
#include "client/feed/token.h"

#include "base/base64.h"
#include "json/print.h"

static const char prefix[] = "rn1.";
enum { PREFIX = sizeof(prefix) - 1 };

static const char *const modes[] = { "latest", "all" };
static const char *const starts[] = { "beginning", "now", "time" };

bool rn_token_is(const char *text)
{
    return strncmp(text, prefix, PREFIX) == 0;
}

void rn_token_release(struct rn_token *t)
{
    rn_arena_release(&t->arena);
}

/* ---- out ----------------------------------------------------------------- */

static void part_print(const struct rn_token_part *part, struct rn_json_out *o)
{
    char text[RN_EPK_TEXT_MAX];

    rn_json_out_array_begin(o);
    rn_json_out_string(o, rn_epk_print(&part->keys.min, text));
    rn_json_out_string(o, rn_epk_print(&part->keys.max, text));
    if (part->at.kind == RN_POSITION_ETAG)
        rn_json_out_string(o, rn_view_text(part->at.etag));
    else
        rn_json_out_null(o);
    rn_json_out_array_end(o);
}

static enum rn_code json_print(const struct rn_token *t, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("rid"));
    rn_json_out_string(&o, rn_view_text(t->rid));
    rn_json_out_key(&o, RN_LIT("mode"));
    rn_json_out_string(&o, rn_view_text(modes[t->mode]));
    rn_json_out_key(&o, RN_LIT("scope"));
    if (t->is_key)
        rn_json_out_raw(&o, rn_view_text(t->scope));
    else
        rn_json_out_string(&o, rn_view_text(t->scope));
    if (t->since_s != INT64_MIN) {
        rn_json_out_key(&o, RN_LIT("since"));
        rn_json_out_int(&o, t->since_s);
    }
    rn_json_out_key(&o, RN_LIT("start"));
    rn_json_out_string(&o, rn_view_text(starts[t->start.kind]));
    if (t->start.kind == RN_POSITION_TIME) {
        rn_json_out_key(&o, RN_LIT("time"));
        rn_json_out_int(&o, t->start.time_ms);
    }
    rn_json_out_key(&o, RN_LIT("at"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < t->count; i++)
        part_print(&t->parts[i], &o);
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

runnel_code rn_token_print(const struct rn_token *t, struct rn_buf *out,
                           runnel_error *error)
{
    struct rn_buf json = RN_BUF_INIT(RN_TOKEN_MAX);
    enum rn_code rc = json_print(t, &json);

    rn_buf_clear(out);
    if (!rc)
        rc = rn_buf_add(out, rn_view_text(prefix));
    if (!rc)
        rc = rn_buf_reserve(out, RN_BASE64_LEN(json.len) + 1);
    if (!rc) {
        out->len +=
            rn_base64_encode(rn_buf_view(&json), RN_BASE64_URL | RN_BASE64_BARE,
                             out->at + out->len)
                .len;
        out->at[out->len] = '\0';
    }
    rn_buf_release(&json);
    return rn_error_take(error, rc, NULL);
}

/* ---- in ------------------------------------------------------------------ */

/* Which of some words a string is; -1: none. */
static int word_of(const struct rn_json *j, uint32_t value,
                   const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (rn_json_string_is(j, value, rn_view_text(words[i])))
            return i;
    }
    return -1;
}

/* A copy with a NUL, in the arena. */
static enum rn_code text_copy(struct rn_view text, bool is_string,
                              struct rn_arena *arena, const char **out)
{
    char *copy = rn_arena_alloc(arena, text.len + 1);
    size_t len = text.len;

    if (!copy)
        return RN_NOMEM;
    if (is_string)
        len = rn_json_unescape(text, copy);
    else if (len)
        memcpy(copy, text.at, len);
    copy[len] = '\0';
    *out = copy;
    return RN_OK;
}

static enum rn_code string_copy(const struct rn_json *j, uint32_t value,
                                struct rn_arena *arena, const char **out)
{
    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return RN_BAD_REQUEST;
    return text_copy(rn_json_text(j, value), true, arena, out);
}

static enum rn_code part_parse(const struct rn_json *j, uint32_t value,
                               const struct rn_position *start,
                               struct rn_arena *arena,
                               struct rn_token_part *out)
{
    uint32_t etag = rn_json_at(j, value, 2);
    const char *text = NULL;
    enum rn_code rc;

    out->at = *start;
    if (rn_json_count(j, value) != 3 ||
        rn_epk_parse(rn_json_text(j, rn_json_at(j, value, 0)), &out->keys.min,
                     NULL) ||
        rn_epk_parse(rn_json_text(j, rn_json_at(j, value, 1)), &out->keys.max,
                     NULL) ||
        rn_epk_compare(&out->keys.min, &out->keys.max) >= 0)
        return RN_BAD_REQUEST;
    if (rn_json_kind(j, etag) == RN_JSON_NULL)
        return RN_OK;
    rc = string_copy(j, etag, arena, &text);
    if (!rc && rn_position_set(&out->at, rn_view_text(text), NULL))
        rc = RN_BAD_REQUEST;
    return rc;
}

static enum rn_code parts_parse(const struct rn_json *j, struct rn_token *t)
{
    uint32_t at = rn_json_find(j, 0, RN_LIT("at"));
    struct rn_json_walk w = rn_json_walk_begin(j, at);
    enum rn_code rc = RN_OK;

    if (rn_json_count(j, at) == 0)
        return RN_BAD_REQUEST;
    t->parts =
        rn_arena_alloc(&t->arena, rn_json_count(j, at) * sizeof(*t->parts));
    if (!t->parts)
        return RN_NOMEM;
    while (!rc && rn_json_walk_next(&w))
        rc =
            part_parse(j, w.value, &t->start, &t->arena, &t->parts[t->count++]);
    return rc;
}

/* A number, if it is there. */
static enum rn_code number_parse(const struct rn_json *j, const char *name,
                                 int64_t *out)
{
    uint32_t value = rn_json_find(j, 0, rn_view_text(name));

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, out))
        return RN_BAD_REQUEST;
    return RN_OK;
}

static enum rn_code members_parse(const struct rn_json *j, struct rn_token *t)
{
    uint32_t rid = rn_json_find(j, 0, RN_LIT("rid"));
    uint32_t scope = rn_json_find(j, 0, RN_LIT("scope"));
    int mode = word_of(j, rn_json_find(j, 0, RN_LIT("mode")), modes, 2);
    int start = word_of(j, rn_json_find(j, 0, RN_LIT("start")), starts, 3);
    enum rn_code rc;

    if (mode < 0 || start < 0)
        return RN_BAD_REQUEST;
    t->mode = (runnel_feed_mode)mode;
    t->start.kind = (enum rn_position_kind)start;
    t->since_s = INT64_MIN;
    t->is_key = rn_json_kind(j, scope) == RN_JSON_ARRAY;
    rc = string_copy(j, rid, &t->arena, &t->rid);
    if (!rc && t->is_key)
        rc = text_copy(rn_json_text(j, scope), false, &t->arena, &t->scope);
    else if (!rc)
        rc = string_copy(j, scope, &t->arena, &t->scope);
    if (!rc)
        rc = number_parse(j, "since", &t->since_s);
    if (!rc)
        rc = number_parse(j, "time", &t->start.time_ms);
    return rc ? rc : parts_parse(j, t);
}

runnel_code rn_token_parse(const char *text, struct rn_token *out,
                           runnel_error *error)
{
    const struct rn_json_limits limits = { .bytes = RN_TOKEN_MAX };
    struct rn_view letters =
        rn_view_text(rn_token_is(text) ? text + PREFIX : "");
    char *bytes = rn_arena_alloc(&out->arena, letters.len + 1);
    enum rn_code rc = bytes ? RN_OK : RN_NOMEM;
    struct rn_json json;
    size_t len = 0;

    rn_json_init(&json, &limits);
    if (!rc)
        rc = rn_base64_decode(letters, RN_BASE64_URL | RN_BASE64_BARE, bytes,
                              letters.len, &len);
    if (!rc)
        rc = rn_json_parse(&json, rn_view_of(bytes, len), NULL);
    if (!rc)
        rc = members_parse(&json, out);
    rn_json_release(&json);
    if (!rc)
        return RUNNEL_OK;
    rn_token_release(out);
    if (rc == RN_NOMEM)
        return rn_error_take(error, rc, NULL);
    return rn_error_set(error, RUNNEL_BAD_REQUEST,
                        "token: this is not a token of a feed");
}
