/* service_http.c -- requests and answers; see service.h. */
#include "client/service.h"

#include "base/clock.h"
#include "cosmos/etag.h"
#include "cosmos/header.h"
#include "json/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { PARTS_MAX = 6 }; /* dbs D colls C docs ID */

/* A path, taken apart and percent-decoded. */
struct parts {
    size_t count;
    char *at[PARTS_MAX];
    char text[2048];
};

struct rn_view service_header(const struct service_request *q, const char *name)
{
    for (size_t i = 0; i < q->header_count; i++) {
        struct rn_view n = q->headers[i].name;

        if (n.len == strlen(name) && strncasecmp(n.at, name, n.len) == 0)
            return rn_view_of(q->headers[i].value.at ? q->headers[i].value.at
                                                     : "",
                              q->headers[i].value.len);
    }
    return (struct rn_view){ 0 };
}

void service_say(struct service_answer *a, const char *name, const char *fmt,
                 ...)
{
    va_list args;

    if (a->header_count == SERVICE_HEADERS_MAX)
        abort();
    a->headers[a->header_count].name = name;
    va_start(args, fmt);
    vsnprintf(a->headers[a->header_count].value,
              sizeof(a->headers[a->header_count].value), fmt, args);
    va_end(args);
    a->header_count++;
}

void service_refuse(struct service_answer *a, int status, int sub,
                    const char *message)
{
    a->status = status;
    rn_buf_clear(&a->body);
    if (sub)
        service_say(a, RN_HEADER_SUB_STATUS, "%d", sub);
    if (rn_buf_printf(&a->body, "{\"code\":\"%d\",\"message\":\"%s\"}", status,
                      message))
        abort();
}

void service_answer_release(struct service_answer *a)
{
    rn_buf_release(&a->body);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) - 'a' + 10;
}

static bool path_parse(struct rn_view path, struct parts *p)
{
    size_t len = 0;

    if (path.len >= sizeof(p->text))
        return false;
    p->count = 0;
    for (size_t i = 0; i < path.len; i++) {
        char c = path.at[i];

        if (c == '/') {
            p->text[len++] = '\0';
            if (i + 1 < path.len && p->count == PARTS_MAX)
                return false;
            if (i + 1 < path.len)
                p->at[p->count++] = p->text + len;
            continue;
        }
        if (c == '%' && i + 2 < path.len) {
            c = (char)(digit_of(path.at[i + 1]) << 4 |
                       digit_of(path.at[i + 2]));
            i += 2;
        }
        p->text[len++] = c;
    }
    p->text[len] = '\0';
    return true;
}

/* ---- account and containers ---------------------------------------------- */

static void account_read(struct service_answer *a)
{
    if (rn_buf_add(&a->body,
                   RN_LIT("{\"id\":\"fake\",\"writableLocations\":[],"
                          "\"readableLocations\":[],"
                          "\"userConsistencyPolicy\":"
                          "{\"defaultConsistencyLevel\":\"Session\"}}")))
        abort();
    a->status = 200;
}

/* It is there if it has a container. */
static void database_read(const struct service *s, const char *name,
                          struct service_answer *a)
{
    a->status = 404;
    for (size_t i = 0; i < s->box_count && a->status == 404; i++) {
        const struct service_box *box = s->boxes[i];
        char rid[RN_RID_TEXT_MAX];

        if (strcmp(box->db, name) != 0)
            continue;
        a->status = 200;
        if (rn_buf_printf(
                &a->body, "{\"id\":\"%s\",\"_rid\":\"%.*s\"}", name,
                RN_FMT(rn_rid_print(rn_rid_database(box->rid.database), rid))))
            abort();
    }
}

static void box_print(const struct service_box *box, struct service_answer *a)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&a->body);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(box->name));
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_view_text(box->rid_text));
    rn_json_out_key(&o, RN_LIT("partitionKey"));
    rn_json_out_raw(&o, rn_view_text(box->key_json));
    if (box->default_ttl) {
        rn_json_out_key(&o, RN_LIT("defaultTtl"));
        rn_json_out_int(&o, box->default_ttl);
    }
    rn_json_out_key(&o, RN_LIT("changeFeedPolicy"));
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("retentionDuration"));
    rn_json_out_int(&o, box->retention_min);
    rn_json_out_object_end(&o);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
    service_say(a, RN_HEADER_ETAG, "\"%s\"", box->rid_text);
}

static void text_member(const struct rn_json *j, uint32_t value, char *out,
                        size_t room)
{
    struct rn_view text = rn_json_text(j, value);

    if (rn_json_kind(j, value) != RN_JSON_STRING || text.len >= room)
        abort();
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
}

/* Of a definition: id, the first path, defaultTtl. */
static void box_create(struct service *s, const char *db,
                       const struct service_request *q,
                       struct service_answer *a)
{
    struct service_definition d = { .db = db };
    char name[256], key[256];
    struct rn_json j;
    uint32_t at;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, q->body, NULL))
        abort();
    text_member(&j, rn_json_find(&j, 0, RN_LIT("id")), name, sizeof(name));
    at = rn_json_find(&j, 0, RN_LIT("partitionKey"));
    at = rn_json_at(&j, rn_json_find(&j, at, RN_LIT("paths")), 0);
    text_member(&j, at, key, sizeof(key));
    at = rn_json_find(&j, 0, RN_LIT("defaultTtl"));
    if (rn_json_kind(&j, at) == RN_JSON_NUMBER)
        (void)rn_json_int64(&j, at, &d.default_ttl);
    d.name = name;
    d.key = key;
    if (service_find(s, db, name)) {
        service_refuse(a, 409, 0, "The container exists.");
    } else {
        box_print(service_add(s, &d), a);
        a->status = 201;
    }
    rn_json_release(&j);
}

static void box_handle(struct service_box *box, const struct service_request *q,
                       struct service_answer *a)
{
    if (rn_view_eq(q->method, RN_LIT("DELETE"))) {
        box->is_deleted = true;
        box->service->version++;
        a->status = 204;
    } else {
        box_print(box, a);
        a->status = 200;
    }
}

/* ---- documents ----------------------------------------------------------- */

static void entry_say(const struct service_box *box,
                      const struct service_request *q,
                      const struct service_entry *e, int status,
                      struct service_answer *a)
{
    struct service_range *range = service_range_of(box, rn_epk_view(&e->epk));
    struct rn_view prefer = service_header(q, RN_HEADER_PREFER);
    bool is_minimal = prefer.at && rn_view_eq(prefer, RN_LIT("return=minimal"));

    a->status = status;
    service_say(a, RN_HEADER_ETAG, "%s", e->etag);
    service_say(a, RN_HEADER_SESSION_TOKEN, "%u:-1#%lu", range->id,
                (unsigned long)range->lsn);
    if (!is_minimal && status != 204 &&
        rn_buf_add(&a->body, rn_view_text(e->json)))
        abort();
}

/* The partition key header, as entries have it. */
static char *key_of(const struct service_request *q)
{
    struct rn_view header = service_header(q, RN_HEADER_PARTITION_KEY);
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct rn_buf text = RN_BUF_INIT(4 * RN_PK_TEXT_MAX);
    struct rn_pk pk;

    if (!header.at || rn_pk_parse(header, &arena, &pk, NULL) ||
        rn_pk_print(&pk, &text) || rn_buf_add(&text, RN_LIT("\0")))
        rn_buf_clear(&text);
    rn_arena_release(&arena);
    return text.len ? rn_buf_take(&text) : NULL;
}

static bool is_matched(const struct service_request *q,
                       const struct service_entry *e, struct service_answer *a)
{
    struct rn_view want = service_header(q, RN_HEADER_IF_MATCH);

    if (!want.len || rn_etag_matches(want, rn_view_text(e->etag)))
        return true;
    service_refuse(a, 412, 0, "The etag is another.");
    return false;
}

static void document_handle(struct service_box *box, const char *id,
                            const struct service_request *q,
                            struct service_answer *a)
{
    char *pk = key_of(q);
    const struct service_entry *e = pk ? service_live(box, id, pk) : NULL;
    struct rn_buf body = RN_BUF_INIT(SERVICE_BODY_MAX);

    if (!pk)
        service_refuse(a, 400, 1001, "There is no partition key.");
    else if (!e)
        service_refuse(a, 404, 0, "There is no such document.");
    else if (rn_view_eq(q->method, RN_LIT("GET")))
        entry_say(box, q, e, 200, a);
    else if (!is_matched(q, e, a))
        ;
    else if (rn_view_eq(q->method, RN_LIT("DELETE")))
        entry_say(box, q, service_delete(box, id, pk), 204, a);
    else if (rn_buf_add(&body, q->body) || rn_buf_add(&body, RN_LIT("\0")))
        abort();
    else
        entry_say(box, q, service_upsert(box, body.at), 200, a);
    rn_buf_release(&body);
    rn_free(pk);
}

static void document_create(struct service_box *box,
                            const struct service_request *q,
                            struct service_answer *a)
{
    struct rn_view upsert = service_header(q, RN_HEADER_IS_UPSERT);
    struct rn_buf body = RN_BUF_INIT(SERVICE_BODY_MAX);
    const struct service_entry *e;
    char *pk = key_of(q);
    struct rn_json j;
    char id[1024];

    rn_json_init(&j, NULL);
    if (rn_buf_add(&body, q->body) || rn_buf_add(&body, RN_LIT("\0")) ||
        rn_json_parse(&j, q->body, NULL))
        abort();
    text_member(&j, rn_json_find(&j, 0, RN_LIT("id")), id, sizeof(id));
    e = pk ? service_live(box, id, pk) : NULL;
    if (!pk) {
        service_refuse(a, 400, 1001, "There is no partition key.");
    } else if (e && !rn_header_is_true(upsert)) {
        service_refuse(a, 409, 0, "The id exists.");
    } else if (!e || is_matched(q, e, a)) {
        entry_say(box, q, service_upsert(box, body.at), e ? 200 : 201, a);
    }
    rn_json_release(&j);
    rn_buf_release(&body);
    rn_free(pk);
}

/* ---- queries ------------------------------------------------------------- */

/* The argument of STARTSWITH(c.id, ...), a literal or a parameter; empty if the
 * query has none.  In the arena. */
static struct rn_view prefix_of(const struct rn_json *j, struct rn_arena *arena)
{
    uint32_t text = rn_json_find(j, 0, RN_LIT("query"));
    uint32_t list = rn_json_find(j, 0, RN_LIT("parameters"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    struct rn_view query = { 0 }, out = { 0 }, name = { 0 };
    const char *at, *end;

    if (rn_json_string_copy(j, text, arena, &query))
        abort();
    at = memmem(query.at, query.len, "STARTSWITH(", 11);
    at = at ? memchr(at, ',', query.len - (size_t)(at - query.at)) : NULL;
    if (!at)
        return (struct rn_view){ "", 0 };
    for (at++; *at == ' '; at++)
        ;
    end = memchr(at + 1, *at == '@' ? ')' : *at,
                 query.len - (size_t)(at + 1 - query.at));
    if (!end)
        abort();
    if (*at != '@')
        return rn_view_of(at + 1, (size_t)(end - at - 1));
    while (rn_json_walk_next(&w)) {
        name = rn_json_text(j, rn_json_find(j, w.value, RN_LIT("name")));
        if (rn_view_eq(name, rn_view_of(at, (size_t)(end - at))) &&
            rn_json_string_copy(j, rn_json_find(j, w.value, RN_LIT("value")),
                                arena, &out))
            abort();
    }
    return out;
}

static void plan_say(struct service_answer *a)
{
    if (rn_buf_add(&a->body,
                   RN_LIT("{\"partitionedQueryExecutionInfoVersion\":2,"
                          "\"queryInfo\":{\"distinctType\":\"None\","
                          "\"orderBy\":[],\"aggregates\":[],"
                          "\"rewrittenQuery\":\"\"},\"queryRanges\":[{"
                          "\"min\":\"\",\"max\":\"FF\",\"isMinInclusive\":true,"
                          "\"isMaxInclusive\":false}]}")))
        abort();
    a->status = 200;
}

static void query_handle(struct service_box *box,
                         const struct service_request *q,
                         struct service_answer *a)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, q->body, NULL))
        service_refuse(a, 400, 0, "The query is not JSON.");
    else if (rn_header_is_true(service_header(q, RN_HEADER_IS_QUERY_PLAN)))
        plan_say(a);
    else
        service_list(box, q, prefix_of(&j, &arena), a);
    rn_json_release(&j);
    rn_arena_release(&arena);
}

/* ---- dispatch ------------------------------------------------------------ */

static void docs_handle(struct service_box *box,
                        const struct service_request *q, bool may_hold,
                        struct service_answer *a)
{
    bool is_get = rn_view_eq(q->method, RN_LIT("GET"));
    bool is_query =
        rn_header_is_true(service_header(q, RN_HEADER_IS_QUERY)) ||
        rn_header_is_true(service_header(q, RN_HEADER_IS_QUERY_PLAN));

    if (is_get && service_header(q, RN_HEADER_A_IM).at)
        service_feed(box, q, may_hold, a);
    else if (is_get)
        service_list(box, q, RN_LIT(""), a);
    else if (is_query)
        query_handle(box, q, a);
    else
        document_create(box, q, a);
}

static void container_handle(struct service *s, struct parts *p,
                             const struct service_request *q, bool may_hold,
                             struct service_answer *a)
{
    struct service_box *box = service_find(s, p->at[1], p->at[3]);
    struct rn_view rid = service_header(q, RN_HEADER_CONTAINER_RID);

    if (!box) {
        service_refuse(a, 404, p->count > 4 ? 1003 : 0,
                       "There is no such container.");
        return;
    }
    service_sweep(box);
    if (rid.at && !rn_view_eq(rid, rn_view_text(box->rid_text)))
        service_refuse(a, 400, 1024, "The container is another.");
    else if (p->count == 4)
        box_handle(box, q, a);
    else if (strcmp(p->at[4], "pkranges") == 0)
        service_pkranges(box, q, a);
    else if (p->count == 6)
        document_handle(box, p->at[5], q, a);
    else
        docs_handle(box, q, may_hold, a);
}

void service_handle(struct service *s, const struct service_request *q,
                    bool may_hold, struct service_answer *a)
{
    char date[RN_DATE_TEXT_MAX];
    struct parts p;

    a->status = 0;
    a->held_ms = 0;
    a->header_count = 0;
    rn_buf_clear(&a->body);
    s->requests++;
    (void)rn_date_print(rn_wall_ms(s->env) / 1000, date);
    service_say(a, RN_HEADER_DATE, "%s", date);
    service_say(a, RN_HEADER_CHARGE, "1");
    service_say(a, RN_HEADER_ACTIVITY_ID, "00000000-0000-0000-0000-%012lu",
                (unsigned long)s->requests);
    if (q->body.len > 0 && rn_view_eq(q->method, RN_LIT("GET")))
        service_refuse(a, 400, 0, "GET and HEAD have no body");
    else if (!path_parse(q->path, &p))
        service_refuse(a, 404, 0, "There is no such path.");
    else if (p.count == 0)
        account_read(a);
    else if (p.count == 2 && rn_view_eq(q->method, RN_LIT("GET")))
        database_read(s, p.at[1], a);
    else if (p.count == 3 && rn_view_eq(q->method, RN_LIT("POST")))
        box_create(s, p.at[1], q, a);
    else if (p.count >= 4)
        container_handle(s, &p, q, may_hold, a);
    else
        service_refuse(a, 404, 0, "There is no such path.");
}
