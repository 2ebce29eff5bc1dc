/* document.c -- leases: JSON to struct and back. */
#include "client/lease/document.h"

#include "client/lease/property.h"
#include "json/print.h"

/* ---- reading ------------------------------------------------------------- */

/* What the reader of one document carries along. */
struct reading {
    struct rn_json json;
    struct rn_lease_document *document;
    struct rn_buf extras;
    runnel_error *error;
};

static runnel_code damaged(struct reading *r, const char *what)
{
    struct rn_view id = r->document->lease.id;

    return rn_error_set(r->error, RUNNEL_PROTOCOL,
                        "lease \"%.*s\" is damaged: %s", RN_FMT(id), what);
}

static runnel_code read_text(struct reading *r, uint32_t value,
                             struct rn_view *out)
{
    enum rn_json_kind kind = rn_json_kind(&r->json, value);

    if (kind == RN_JSON_NULL)
        return RUNNEL_OK;
    if (kind != RN_JSON_STRING)
        return damaged(r, "a member that should be text is not");
    return rn_error_take(
        r->error,
        rn_json_string_copy(&r->json, value, &r->document->arena, out), NULL);
}

static runnel_code read_properties(struct reading *r, uint32_t value)
{
    struct rn_lease *lease = &r->document->lease;
    struct rn_json_walk w;

    if (rn_json_kind(&r->json, value) == RN_JSON_NULL)
        return RUNNEL_OK;
    if (rn_json_kind(&r->json, value) != RN_JSON_OBJECT ||
        rn_json_count(&r->json, value) > RN_LEASE_PROPERTIES_MAX)
        return damaged(r, "its properties are not an object of texts");
    w = rn_json_walk_begin(&r->json, value);
    while (rn_json_walk_next(&w)) {
        struct rn_lease_property *p =
            &lease->properties[lease->property_count++];
        runnel_code rc = read_text(r, w.name, &p->name);
        if (!rc)
            rc = read_text(r, w.value, &p->value);
        if (rc)
            return rc;
    }
    return RUNNEL_OK;
}

static runnel_code read_range(struct reading *r, uint32_t value)
{
    struct rn_lease *lease = &r->document->lease;
    const struct rn_json *j = &r->json;
    uint32_t range = rn_json_find(j, value, RN_LIT("Range"));
    struct rn_view min = { 0 };
    struct rn_view max = { 0 };
    runnel_code rc;

    if (rn_json_kind(j, value) == RN_JSON_NULL)
        return RUNNEL_OK;
    if (rn_json_kind(j, value) != RN_JSON_OBJECT)
        return damaged(r, "FeedRange is not an object");
    lease->feed_range =
        rn_arena_copy(&r->document->arena, rn_json_text(j, value));
    if (!lease->feed_range.at)
        return RUNNEL_NO_MEMORY;
    if (range == RN_JSON_NONE)
        return RUNNEL_OK; /* {"PKRangeId":"0"}: the routing map knows */
    rc = read_text(r, rn_json_find(j, range, RN_LIT("min")), &min);
    if (!rc)
        rc = read_text(r, rn_json_find(j, range, RN_LIT("max")), &max);
    if (rc)
        return rc;
    if (!min.at || !max.at || rn_epk_parse(min, &lease->range.min, NULL) ||
        rn_epk_parse(max, &lease->range.max, NULL) ||
        rn_epk_compare(&lease->range.min, &lease->range.max) >= 0)
        return damaged(r, "FeedRange has no valid bounds");
    lease->has_range = true;
    return RUNNEL_OK;
}

static runnel_code read_timestamp(struct reading *r, uint32_t value)
{
    struct rn_lease *lease = &r->document->lease;
    runnel_code rc = read_text(r, value, &lease->timestamp);

    if (!rc && lease->timestamp.at &&
        !rn_lease_time_parse(lease->timestamp, &lease->timestamp_ms))
        return damaged(r, "timestamp is not a time");
    return rc;
}

static runnel_code read_number(struct reading *r, uint32_t value, int64_t *out)
{
    if (rn_json_kind(&r->json, value) != RN_JSON_NUMBER ||
        !rn_json_int64(&r->json, value, out))
        return damaged(r, "a member that should be a number is not");
    return RUNNEL_OK;
}

static runnel_code keep_member(struct reading *r, struct rn_json_walk *w)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&r->extras);
    enum rn_code rc = RN_OK;

    if (r->extras.len > 0)
        rc = rn_buf_add(&r->extras, RN_LIT(","));
    if (!rc) {
        rn_json_out_member(&o, &r->json, w->name, w->value);
        rc = o.rc;
    }
    return rn_error_take(r->error, rc, NULL);
}

/* The server makes these anew at each write. */
static bool is_made_by_server(struct rn_view name)
{
    return rn_view_eq(name, RN_LIT("_rid")) ||
           rn_view_eq(name, RN_LIT("_self")) ||
           rn_view_eq(name, RN_LIT("_attachments"));
}

static runnel_code refuse_java(struct reading *r)
{
    return rn_error_set(r->error, RUNNEL_UNSUPPORTED,
                        "\"%.*s\" is a lease of the Java library, which "
                        "keeps positions in another form; use another "
                        "processor name",
                        RN_FMT(r->document->lease.id));
}

static runnel_code read_member(struct reading *r, struct rn_json_walk *w,
                               int64_t *version)
{
    struct rn_lease *lease = &r->document->lease;
    const struct {
        const char *name;
        struct rn_view *out;
    } texts[] = {
        { "id", &lease->id },
        { "partitionKey", &lease->partition_key },
        { "_etag", &lease->etag },
        { "LeaseToken", &lease->token },
        { "PartitionId", &lease->partition_id },
        { "Owner", &lease->owner },
        { "ContinuationToken", &lease->position },
        { "Mode", &lease->mode },
    };
    struct rn_view name = rn_json_text(&r->json, w->name);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (rn_view_eq(name, rn_view_text(texts[i].name)))
            return read_text(r, w->value, texts[i].out);
    if (rn_view_eq(name, RN_LIT("version")))
        return read_number(r, w->value, version);
    if (rn_view_eq(name, RN_LIT("FeedRange")))
        return read_range(r, w->value);
    if (rn_view_eq(name, RN_LIT("feedRange")))
        return refuse_java(r);
    if (rn_view_eq(name, RN_LIT("properties")))
        return read_properties(r, w->value);
    if (rn_view_eq(name, RN_LIT("timestamp")))
        return read_timestamp(r, w->value);
    if (rn_view_eq(name, RN_LIT("_ts")))
        return read_number(r, w->value, &lease->ts_s);
    if (is_made_by_server(name))
        return RUNNEL_OK;
    return keep_member(r, w);
}

/* Java's positions are base64 of a JSON object, which begins so. */
static bool is_java_position(struct rn_view position)
{
    return rn_view_starts(position, RN_LIT("eyJ"));
}

/* After all members: what one of them says about another. */
static runnel_code check_lease(struct reading *r, int64_t version)
{
    struct rn_lease *lease = &r->document->lease;
    struct rn_view range;

    if (!lease->id.at || lease->id.len == 0)
        return damaged(r, "it has no id");
    if (version != 0 && version != 1)
        return damaged(r, "its version is not 0 or 1");
    if (!lease->token.at)
        lease->token = lease->partition_id;
    if (!lease->token.at || lease->token.len == 0)
        return damaged(r, "it has no LeaseToken");
    if (lease->position.at && is_java_position(lease->position))
        return refuse_java(r);
    if (lease->owner.at && lease->owner.len == 0)
        lease->owner = (struct rn_view){ 0 };
    if (lease->position.at && lease->position.len == 0)
        lease->position = (struct rn_view){ 0 };
    lease->is_epk =
        version == 1 || memchr(lease->token.at, '-', lease->token.len) != NULL;
    if (lease->is_epk && !lease->has_range)
        lease->has_range = rn_lease_token_parse(lease->token, &lease->range);
    range = rn_lease_bound(lease, RN_LEASE_RANGE);
    if (!lease->has_range && range.at)
        lease->has_range = rn_lease_token_parse(range, &lease->range);
    if (lease->is_epk && !lease->has_range)
        return damaged(r, "its token is not an interval");
    return RUNNEL_OK;
}

static runnel_code read_document(struct reading *r, struct rn_view json)
{
    struct rn_lease *lease = &r->document->lease;
    struct rn_json_walk w;
    int64_t version = 0;
    uint32_t id;
    enum rn_code parsed = rn_json_parse(&r->json, json, NULL);
    runnel_code rc = RUNNEL_OK;

    if (parsed == RN_NOMEM)
        return RUNNEL_NO_MEMORY;
    if (parsed || rn_json_kind(&r->json, 0) != RN_JSON_OBJECT)
        return rn_error_set(r->error, RUNNEL_PROTOCOL,
                            "a lease document is not a JSON object");
    id = rn_json_find(&r->json, 0, RN_LIT("id")); /* for all messages */
    if (id != RN_JSON_NONE)
        rc = read_text(r, id, &lease->id);
    w = rn_json_walk_begin(&r->json, 0);
    while (!rc && rn_json_walk_next(&w))
        rc = read_member(r, &w, &version);
    if (!rc)
        rc = check_lease(r, version);
    if (!rc && r->extras.len > 0) {
        lease->extras =
            rn_arena_copy(&r->document->arena, rn_buf_view(&r->extras));
        rc = lease->extras.at ? RUNNEL_OK : RUNNEL_NO_MEMORY;
    }
    return rc;
}

runnel_code rn_lease_document_new(struct rn_view json,
                                  struct rn_lease_document **out,
                                  runnel_error *error)
{
    struct reading r = {
        .document = rn_new(sizeof(struct rn_lease_document)),
        .extras = RN_BUF_INIT(RN_LEASE_TEXT_MAX),
        .error = error,
    };
    runnel_code rc = RUNNEL_NO_MEMORY;

    rn_json_init(&r.json, NULL);
    if (r.document) {
        r.document->arena = RN_ARENA_INIT((size_t)4 * RN_LEASE_TEXT_MAX);
        rc = read_document(&r, json);
    }
    rn_buf_release(&r.extras);
    rn_json_release(&r.json);
    if (rc)
        rn_lease_document_free(r.document);
    else
        *out = r.document;
    return rc;
}

void rn_lease_document_free(struct rn_lease_document *document)
{
    if (!document)
        return;
    rn_arena_release(&document->arena);
    rn_free(document);
}

/* ---- writing ------------------------------------------------------------- */

static void print_text(struct rn_json_out *o, const char *name,
                       struct rn_view value)
{
    rn_json_out_key(o, rn_view_text(name));
    if (value.at)
        rn_json_out_string(o, value);
    else
        rn_json_out_null(o);
}

static void print_optional(struct rn_json_out *o, const char *name,
                           struct rn_view value)
{
    if (value.at)
        print_text(o, name, value);
}

static void print_range(struct rn_json_out *o, const struct rn_lease *lease)
{
    char min[RN_EPK_TEXT_MAX];
    char max[RN_EPK_TEXT_MAX];

    if (!lease->feed_range.at && !lease->has_range)
        return;
    rn_json_out_key(o, RN_LIT("FeedRange"));
    if (lease->feed_range.at) {
        rn_json_out_raw(o, lease->feed_range);
        return;
    }
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("Range"));
    rn_json_out_object_begin(o);
    print_text(o, "min", rn_epk_print(&lease->range.min, min));
    print_text(o, "max", rn_epk_print(&lease->range.max, max));
    rn_json_out_object_end(o);
    rn_json_out_object_end(o);
}

static void print_times(struct rn_json_out *o, const struct rn_lease *lease)
{
    print_text(o, "timestamp", lease->timestamp);
    rn_json_out_key(o, RN_LIT("_ts"));
    rn_json_out_int(o, lease->ts_s);
}

static void print_properties(struct rn_json_out *o,
                             const struct rn_lease *lease)
{
    rn_json_out_key(o, RN_LIT("properties"));
    rn_json_out_object_begin(o);
    for (size_t i = 0; i < lease->property_count; i++) {
        const struct rn_lease_property *p = &lease->properties[i];
        rn_json_out_key(o, p->name);
        if (p->value.at)
            rn_json_out_string(o, p->value);
        else
            rn_json_out_null(o);
    }
    rn_json_out_object_end(o);
}

runnel_code rn_lease_print(const struct rn_lease *lease, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_object_begin(&o);
    print_text(&o, "id", lease->id);
    print_optional(&o, "partitionKey", lease->partition_key);
    rn_json_out_key(&o, RN_LIT("version"));
    rn_json_out_int(&o, lease->is_epk ? 1 : 0);
    print_text(&o, "_etag", lease->etag);
    print_text(&o, "LeaseToken", lease->token);
    print_optional(&o, "PartitionId", lease->partition_id);
    print_range(&o, lease);
    print_text(&o, "Owner", lease->owner);
    print_text(&o, "ContinuationToken", lease->position);
    print_properties(&o, lease);
    if (lease->is_epk)
        print_optional(&o, "Mode", lease->mode);
    print_times(&o, lease);
    if (!lease->is_epk)
        print_optional(&o, "Mode", lease->mode);
    if (lease->extras.at && !o.rc) {
        o.rc = rn_buf_add(out, RN_LIT(","));
        if (!o.rc)
            o.rc = rn_buf_add(out, lease->extras);
    }
    rn_json_out_object_end(&o);
    return rn_error_code(rn_json_out_finish(&o));
}
