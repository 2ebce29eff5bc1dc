/* version.c -- see version.h. */
#include "engine/document/version.h"

#include "base/bytes.h"
#include "base/decimal.h"
#include "cosmos/link.h"
#include "cosmos/status.h"
#include "json/print.h"

#include <assert.h>

enum {
    ROW_MAX = RN_DOCUMENT_MAX + (64 << 10),
    TS_DIGITS = 10,    /* until the year 2286 */
    SYSTEM_ROOM = 384, /* header, key and system properties */
};

/* ---- rendering ----------------------------------------------------------- */

static const char *const system_names[] = { "_rid",         "_self", "_etag",
                                            "_attachments", "_ts",   "_lsn" };

bool rn_name_is_system(struct rn_view name)
{
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++)
        if (rn_view_eq(name, rn_view_text(system_names[i])))
            return true;
    return false;
}

static bool is_system(const struct rn_json *j, uint32_t name)
{
    struct rn_view text = rn_json_text(j, name);

    if (text.len == 0 || (text.at[0] != '_' && text.at[0] != '\\'))
        return false;
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++)
        if (rn_json_string_is(j, name, rn_view_text(system_names[i])))
            return true;
    return false;
}

static bool has_system(const struct rn_json *j)
{
    struct rn_json_walk w = rn_json_walk_begin(j, 0);

    while (rn_json_walk_next(&w)) {
        if (is_system(j, w.name))
            return true;
    }
    return false;
}

/* Clients send back what they were sent, so the system properties are dropped.
 */
static void print_members(struct rn_json_out *o, const struct rn_json *j)
{
    struct rn_json_walk w = rn_json_walk_begin(j, 0);

    if (!has_system(j)) {
        rn_json_out_value(o, j, 0);
        return;
    }
    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w)) {
        if (is_system(j, w.name))
            continue;
        rn_json_out_member(o, j, w.name, w.value);
    }
    rn_json_out_object_end(o);
}

/* Appends `text` and remembers its offset. */
static enum rn_code add_slot(struct rn_buf *out, struct rn_view before,
                             struct rn_view text, size_t *slot)
{
    enum rn_code rc = rn_buf_add(out, before);

    *slot = out->len;
    return rc ? rc : rn_buf_add(out, text);
}

enum rn_code rn_frame_make(struct rn_rid container, struct rn_arena *arena,
                           struct rn_frame *out)
{
    static const char blank[] = "                                      ";
    struct rn_rid rid = rn_rid_child(container, RN_KIND_DOCUMENT, 1);
    struct rn_buf text = RN_BUF_INIT(SYSTEM_ROOM);
    char self[RN_RID_SELF_MAX];
    struct rn_view link = rn_rid_print_self(rid, self);
    enum rn_code rc =
        add_slot(&text, RN_LIT(",\"_rid\":\""),
                 rn_view_of(blank, RN_RID_TEXT_MAX), &out->rid_slot);

    if (!rc)
        rc = add_slot(&text, RN_LIT("\",\"_self\":\""), link, &out->self_slot);
    out->self_slot +=
        link.len - 1 - RN_RID_TEXT_MAX; /* the link ends with the rid and / */
    if (!rc)
        rc = add_slot(&text, RN_LIT("\",\"_etag\":\"\\\""),
                      rn_view_of(blank, RN_ETAG_LEN - 2), &out->etag_slot);
    if (!rc) {
        rc = add_slot(&text,
                      RN_LIT("\\\"\",\"_attachments\":\"attachments/\","
                             "\"_ts\":"),
                      RN_LIT("         0"), &out->ts_slot);
    }
    if (!rc)
        rc = rn_buf_add(&text, RN_LIT("}"));
    if (!rc) {
        out->text = rn_arena_copy(arena, rn_buf_view(&text));
        rc = out->text.at ? RN_OK : RN_NOMEM;
    }
    rn_buf_release(&text);
    return rc;
}

/* `at`: where the frame begins in the row. */
static void place_slots(struct rn_version *v, size_t at)
{
    const struct rn_frame *frame = &v->container->frame;

    v->rid_slot = at + frame->rid_slot;
    v->self_slot = at + frame->self_slot;
    v->etag_slot = at + frame->etag_slot;
    v->ts_slot = at + frame->ts_slot;
}

/* Renders the row with placeholders in the slots; it is valid JSON even so. */
static enum rn_code render(struct rn_version *v, const struct rn_json *j)
{
    const struct rn_frame *frame = &v->container->frame;
    struct rn_row_feed head = { .ttl = v->ttl,
                                .is_linkless = v->is_linkless,
                                .epk = rn_epk_view(&v->epk) };
    struct rn_json_out o = RN_JSON_OUT_INIT(&v->row);
    struct rn_view end = frame->text;
    size_t at;
    enum rn_code rc = rn_buf_reserve(&v->row, j->text.len + SYSTEM_ROOM);

    if (rc)
        return rc;
    v->row.len = rn_row_feed_encode(&head, v->row.at);
    print_members(&o, j);
    rc = rn_json_out_finish(&o);
    if (rc)
        return rc;
    v->row.len--; /* the closing brace */
    at = v->row.len;
    if (v->row.at[at - 1] == '{') { /* no comma */
        end = rn_view_of(end.at + 1, end.len - 1);
        at--;
    }
    place_slots(v, at);
    return rn_buf_add(&v->row, end);
}

static void read_until(struct rn_version *v, const struct rn_json *j)
{
    const struct rn_container *c = v->container;
    int32_t ttl = v->ttl ? v->ttl : c->default_ttl;
    uint32_t value;
    int64_t from = 0;

    if (!c->ttl_path.count || ttl <= 0)
        return;
    value = rn_json_path_find(&c->ttl_path, j, 0);
    if (rn_json_kind(j, value) == RN_JSON_NUMBER &&
        rn_json_int64(j, value, &from) && from > 0 && from < INT64_MAX - ttl)
        v->until = from + ttl;
}

static enum rn_code read_ttl(struct rn_version *v, const struct rn_json *j,
                             struct rn_err *err)
{
    uint32_t ttl = rn_json_find(j, 0, RN_LIT("ttl"));
    int64_t seconds = 0;

    if (rn_json_kind(j, ttl) == RN_JSON_UNDEFINED) {
        read_until(v, j);
        return RN_OK;
    }
    if (rn_json_kind(j, ttl) != RN_JSON_NUMBER ||
        !rn_json_int64(j, ttl, &seconds) || seconds == 0 || seconds < -1 ||
        seconds > INT32_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The ttl of an item must be -1 or a positive 32-bit "
                       "integer");
    }
    v->ttl = (int32_t)seconds;
    read_until(v, j);
    return RN_OK;
}

static enum rn_code read_id(struct rn_version *v, const struct rn_json *j,
                            struct rn_arena *arena, struct rn_err *err)
{
    uint32_t id = rn_json_find(j, 0, RN_LIT("id"));
    enum rn_code rc;

    if (rn_json_kind(j, 0) != RN_JSON_OBJECT) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid: an item is a JSON "
                       "object");
    }
    if (rn_json_kind(j, id) == RN_JSON_UNDEFINED) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Message: {\"Errors\":[\"The input content is invalid "
                       "because the required properties - 'id; ' - are "
                       "missing\"]}");
    }
    if (rn_json_kind(j, id) != RN_JSON_STRING)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid: 'id' must be a string");
    rc = rn_json_string_get(j, id, arena, &v->id);
    return rc ? rc : rn_id_check(RN_KIND_DOCUMENT, v->id, err);
}

/* Finds the key of the document that this version replaces, if that has another
 * id. */
static enum rn_code find_from(struct rn_version *v, const struct rn_pk *pk,
                              struct rn_view id, struct rn_arena *arena)
{
    if (!id.at || rn_view_eq(v->id, id))
        return RN_OK;
    v->from = rn_arena_alloc(arena, sizeof(*v->from));
    if (!v->from)
        return RN_NOMEM;
    rn_key_document(v->container->number, &v->epk, pk, id, v->from);
    return RN_OK;
}

static enum rn_code check_key(const struct rn_pk *asked,
                              const struct rn_pk *found, struct rn_err *err)
{
    if (!asked || rn_pk_eq(asked, found))
        return RN_OK;
    return rn_fail_reason(err, RN_REASON_KEY_MISMATCH,
                          "Message: {\"Errors\":[\"PartitionKey extracted "
                          "from document doesn't match the one specified in "
                          "the header. Learn more: https://aka.ms/CosmosDB/"
                          "sql/errors/wrong-pk-value\"]}");
}

void rn_version_aim(struct rn_version *v, const struct rn_container *c,
                    const struct rn_pk *pk, struct rn_view id)
{
    v->container = c;
    rn_epk_of(&c->pkdef, pk, &v->epk);
    rn_key_document(c->number, &v->epk, pk, id, &v->key);
    v->pk = rn_key_may_be_shared(pk) ? pk : NULL;
}

/* `found` does not outlive rendering, so it is copied. */
static enum rn_code keep_key(struct rn_version *v, const struct rn_pk *asked,
                             const struct rn_pk *found, struct rn_arena *arena)
{
    struct rn_pk *copy;

    if (!v->pk || asked) {
        v->pk = v->pk ? asked : NULL;
        return RN_OK;
    }
    copy = rn_arena_alloc(arena, sizeof(*copy));
    if (!copy)
        return RN_NOMEM;
    *copy = *found;
    v->pk = copy;
    return RN_OK;
}

/* NOLINTNEXTLINE(readability-function-size): what a request has */
enum rn_code rn_version_render(struct rn_version *v,
                               const struct rn_container *c,
                               struct rn_view body, const struct rn_pk *pk,
                               struct rn_view id, struct rn_arena *arena,
                               struct rn_err *err)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_json j;
    struct rn_pk found;
    enum rn_code rc;

    *v = (struct rn_version){ .container = c,
                              .row = v->row,
                              .is_linkless = v->is_linkless };
    v->row.ceiling = ROW_MAX;
    rn_buf_clear(&v->row);
    if (body.len > RN_DOCUMENT_MAX + SYSTEM_ROOM)
        return rn_fail_usual(err, RN_TOO_LARGE);
    rn_json_init(&j, &limits);
    rc = rn_json_parse(&j, body, err);
    if (!rc)
        rc = read_id(v, &j, arena, err);
    if (!rc)
        rc = read_ttl(v, &j, err);
    if (!rc)
        rc = rn_pkdef_extract(&c->pkdef, &j, 0, arena, &found, err);
    if (!rc)
        rc = rn_pk_check_size(&found, err);
    if (!rc)
        rc = check_key(pk, &found, err);
    if (!rc) {
        rn_version_aim(v, c, &found, v->id);
        rc = keep_key(v, pk, &found, arena);
    }
    if (!rc)
        rc = find_from(v, &found, id, arena);
    if (!rc)
        rc = render(v, &j);
    if (!rc && body.len > RN_DOCUMENT_MAX &&
        rn_version_json(v).len > RN_DOCUMENT_MAX + c->frame.text.len - 1)
        rc = rn_fail_usual(err, RN_TOO_LARGE);
    if (!rc && c->unique.count)
        rc = rn_unique_hash(c, &j, &v->unique);
    rn_json_release(&j);
    return rc;
}

/* ---- copying ------------------------------------------------------------- */

/* Does a row end with the container's frame, whatever is in the slots? */
static bool has_frame(const struct rn_frame *frame, struct rn_view row)
{
    char tail[SYSTEM_ROOM];
    size_t len = frame->text.len;

    if (row.len <= len + RN_ROW_FEED_HEADER || len > sizeof(tail))
        return false;
    memcpy(tail, row.at + row.len - len, len);
    memcpy(tail + frame->rid_slot, frame->text.at + frame->rid_slot,
           RN_RID_TEXT_MAX);
    memcpy(tail + frame->self_slot, frame->text.at + frame->self_slot,
           RN_RID_TEXT_MAX);
    memcpy(tail + frame->etag_slot, frame->text.at + frame->etag_slot,
           RN_ETAG_LEN - 2);
    memcpy(tail + frame->ts_slot, frame->text.at + frame->ts_slot, TS_DIGITS);
    return memcmp(tail, frame->text.at, len) == 0;
}

enum rn_code rn_version_copy(struct rn_version *v, const struct rn_container *c,
                             struct rn_view key_tail, struct rn_view row)
{
    struct rn_row_feed feed;
    struct rn_key end;
    enum rn_code rc = rn_row_feed_decode(row, &feed);

    if (rc)
        return rc;
    if (c->unique.count || c->ttl_path.count || !has_frame(&c->frame, row))
        return RN_NOT_FOUND;
    *v = (struct rn_version){ .container = c,
                              .row = v->row,
                              .ttl = feed.ttl,
                              .is_linkless = feed.is_linkless };
    v->epk.len = feed.epk.len;
    memcpy(v->epk.bytes, feed.epk.at, feed.epk.len);
    rn_key_span_tag(c->number, RN_TAG_DOCUMENT, &v->key, &end);
    memcpy(v->key.bytes + v->key.len, key_tail.at, key_tail.len);
    v->key.len += key_tail.len;
    v->row.ceiling = ROW_MAX;
    rn_buf_clear(&v->row);
    place_slots(v, row.len - c->frame.text.len);
    return rn_buf_add(&v->row, row);
}

/* ---- filling ------------------------------------------------------------- */

void rn_version_fill(struct rn_version *v, uint64_t rid_number,
                     struct rn_etag tag, int64_t ts)
{
    struct rn_rid rid =
        rn_rid_child(v->container->rid, RN_KIND_DOCUMENT, rid_number);
    char text[RN_RID_TEXT_MAX], etag[RN_ETAG_LEN];
    char digits[RN_DECIMAL_MAX], *end = digits + sizeof(digits);
    struct rn_view view = rn_rid_print(rid, text);

    assert(view.len == RN_RID_TEXT_MAX);
    memcpy(v->row.at + v->rid_slot, view.at, view.len);
    memcpy(v->row.at + v->self_slot, view.at, view.len);
    rn_etag_print(tag, etag);
    memcpy(v->row.at + v->etag_slot, etag + 1, RN_ETAG_LEN - 2);
    memset(digits, ' ', sizeof(digits));
    (void)rn_decimal_print((uint64_t)ts, end);
    memcpy(v->row.at + v->ts_slot, end - TS_DIGITS, TS_DIGITS);
    if (v->until) {
        int64_t left = v->until - ts;
        v->ttl = left < 1 ? 1 : left > INT32_MAX ? INT32_MAX : (int32_t)left;
        rn_put_u32_be(v->row.at + 4, (uint32_t)v->ttl); /* the row's header */
    }
    rn_put_u64_be(v->row.at + 8, (uint64_t)ts);
    rn_put_u64_be(v->row.at + 16, rid_number);
}

struct rn_view rn_version_json(const struct rn_version *v)
{
    size_t head = RN_ROW_FEED_HEADER + (unsigned char)v->row.at[1];

    return rn_view_of(v->row.at + head, v->row.len - head);
}

uint64_t rn_version_rid(const struct rn_version *v)
{
    return rn_get_u64_be(v->row.at + 16);
}

void rn_version_release(struct rn_version *v)
{
    rn_buf_release(&v->row);
}
