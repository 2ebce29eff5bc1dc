/* page.c -- parses a page of the change feed; see page.h. */
#include "client/feed/page.h"

#include "json/print.h"

enum {
    NODES_MAX = 1 << 26,
    NAMES_MAX = 1 << 25,
    ARENA_MAX = 512 << 20,
    KEY_MAX = 4 * RN_PK_TEXT_MAX,
    PATH_BYTES_MAX = 64 << 10,
};

/* The state of parsing a page. */
struct parsing {
    struct rn_change_page *page;
    const struct rn_change_page_options *options;
    struct rn_json json;
    struct rn_buf key; /* scratch */
    runnel_error *error;
};

static runnel_code malformed(struct parsing *p, const char *what)
{
    return rn_error_set(p->error, RUNNEL_PROTOCOL,
                        "a page of the change feed has %s", what);
}

static runnel_code failed(struct parsing *p, enum rn_code rc)
{
    return rn_error_take(p->error, rc, NULL);
}

/* A number that must not be negative; 0 if it is absent. */
static bool number_of(const struct rn_json *j, uint32_t value, uint64_t *out)
{
    int64_t number = 0;

    *out = 0;
    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return true;
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &number) || number < 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

static runnel_bytes lent(const struct rn_json *j, uint32_t value)
{
    return rn_bytes_view(rn_json_text(j, value));
}

/* ---- id and partition key ------------------------------------------------ */

static runnel_code id_take(struct parsing *p, uint32_t value,
                           runnel_change *change)
{
    struct rn_view id;
    enum rn_code rc;

    if (rn_json_kind(&p->json, value) != RN_JSON_STRING)
        return malformed(p, "a change without an id");
    rc = rn_json_string_get(&p->json, value, &p->page->arena, &id);
    change->id = rn_bytes_view(id);
    return failed(p, rc);
}

/* In the form of runnel_key: the value alone, or an array for a hierarchical
 * key; NUL-terminated. */
static runnel_code key_print(struct parsing *p, const struct rn_pk *pk,
                             runnel_change *change)
{
    struct rn_view text;
    enum rn_code rc;
    char *copy;

    rn_buf_clear(&p->key);
    rc = rn_pk_print(pk, &p->key);
    if (rc)
        return failed(p, rc);
    text = rn_buf_view(&p->key);
    if (p->options->key->count == 1)
        text = rn_view_of(text.at + 1, text.len - 2);
    copy = rn_arena_alloc(&p->page->arena, text.len + 1);
    if (!copy)
        return failed(p, RN_NOMEM);
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    change->partition_key = rn_bytes_view(rn_view_of(copy, text.len));
    return RUNNEL_OK;
}

/* The key of a document that is there. */
static runnel_code key_extract(struct parsing *p, uint32_t document,
                               runnel_change *change)
{
    struct rn_err err;
    struct rn_pk pk;
    enum rn_code rc = rn_pkdef_extract(p->options->key, &p->json, document,
                                       &p->page->arena, &pk, &err);

    if (rc)
        return rn_error_take(p->error, rc, &err);
    return key_print(p, &pk, change);
}

/* The value of a component in the metadata of a delete: the member that is
 * called as the path without its first slash or, at other servers, as its last
 * name; or an array has it in its place. */
static enum rn_code component_find(struct parsing *p, uint32_t key, size_t i,
                                   uint32_t *out)
{
    const struct rn_json_path *path = &p->options->key->paths[i];
    struct rn_buf name = RN_BUF_INIT(PATH_BYTES_MAX);
    enum rn_code rc = RN_OK;

    if (rn_json_kind(&p->json, key) == RN_JSON_ARRAY) {
        *out = rn_json_at(&p->json, key, (uint32_t)i);
        return RN_OK;
    }
    for (uint32_t k = 0; !rc && k < path->count; k++) {
        rc = rn_buf_add(&name, k ? RN_LIT("/") : RN_LIT(""));
        if (!rc)
            rc = rn_buf_add(&name, path->names[k]);
    }
    if (!rc)
        *out = rn_json_find(&p->json, key, rn_buf_view(&name));
    if (!rc && *out == RN_JSON_NONE && path->count > 0)
        *out = rn_json_find(&p->json, key, path->names[path->count - 1]);
    rn_buf_release(&name);
    return rc;
}

/* As in a document, what is absent or has members is an undefined component. */
static enum rn_code component_print(struct parsing *p, uint32_t key, size_t i)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&p->key);
    uint32_t value = RN_JSON_NONE;
    enum rn_code rc = rn_buf_add(&p->key, i ? RN_LIT(",") : RN_LIT(""));
    enum rn_json_kind kind;

    if (!rc)
        rc = component_find(p, key, i, &value);
    if (rc)
        return rc;
    kind = rn_json_kind(&p->json, value);
    if (kind == RN_JSON_UNDEFINED || kind == RN_JSON_ARRAY ||
        kind == RN_JSON_OBJECT)
        return rn_buf_add(&p->key, RN_LIT("{}"));
    rn_json_out_value(&o, &p->json, value);
    return rn_json_out_finish(&o);
}

static runnel_code key_collect(struct parsing *p, uint32_t key,
                               runnel_change *change)
{
    struct rn_buf *text = &p->key;
    struct rn_pk pk;
    struct rn_err err;
    enum rn_code rc;

    rn_buf_clear(text);
    rc = rn_buf_add(text, RN_LIT("["));
    for (size_t i = 0; !rc && i < p->options->key->count; i++)
        rc = component_print(p, key, i);
    if (!rc)
        rc = rn_buf_add(text, RN_LIT("]"));
    if (rc)
        return failed(p, rc);
    rc = rn_pk_parse(rn_buf_view(text), &p->page->arena, &pk, &err);
    if (rc == RN_BAD_REQUEST)
        return malformed(p, "an invalid partition key");
    if (rc)
        return failed(p, rc);
    /* The parse may have lent strings from the scratch buffer: print first
     * into a copy. */
    for (size_t i = 0; i < pk.count; i++) {
        if (pk.values[i].type != RN_PK_STRING)
            continue;
        pk.values[i].text = rn_arena_copy(&p->page->arena, pk.values[i].text);
        if (!pk.values[i].text.at)
            return failed(p, RN_NOMEM);
    }
    return key_print(p, &pk, change);
}

/* ---- changes ------------------------------------------------------------- */

/* Latest versions: the document with _lsn. */
static runnel_code document_take(struct parsing *p, uint32_t document,
                                 runnel_change *change)
{
    const struct rn_json *j = &p->json;
    uint64_t seconds = 0;
    runnel_code code;

    if (!number_of(j, rn_json_find(j, document, RN_LIT("_lsn")),
                   &change->lsn) ||
        !number_of(j, rn_json_find(j, document, RN_LIT("_ts")), &seconds))
        return malformed(p, "a document whose _lsn or _ts is not a number");
    change->kind = RUNNEL_CHANGED;
    change->json = lent(j, document);
    change->time_ms = (int64_t)seconds * 1000;
    code = id_take(p, rn_json_find(j, document, RN_LIT("id")), change);
    return code ? code : key_extract(p, document, change);
}

static bool kind_of(const struct rn_json *j, uint32_t metadata,
                    runnel_change_kind *out)
{
    uint32_t op = rn_json_find(j, metadata, RN_LIT("operationType"));
    uint32_t ttl = rn_json_find(j, metadata, RN_LIT("timeToLiveExpired"));
    bool is_expired = rn_json_kind(j, ttl) == RN_JSON_TRUE;

    if (rn_json_string_is(j, op, RN_LIT("create")))
        *out = RUNNEL_CREATED;
    else if (rn_json_string_is(j, op, RN_LIT("replace")))
        *out = RUNNEL_REPLACED;
    else if (rn_json_string_is(j, op, RN_LIT("delete")))
        *out = is_expired ? RUNNEL_EXPIRED : RUNNEL_DELETED;
    else
        return false;
    return true;
}

/* All versions: {"current":{},"previous":{},"metadata":{}}. */
static runnel_code envelope_take(struct parsing *p, uint32_t envelope,
                                 runnel_change *change)
{
    const struct rn_json *j = &p->json;
    uint32_t current = rn_json_find(j, envelope, RN_LIT("current"));
    uint32_t previous = rn_json_find(j, envelope, RN_LIT("previous"));
    uint32_t metadata = rn_json_find(j, envelope, RN_LIT("metadata"));
    uint64_t seconds = 0;
    runnel_code code;
    bool is_deleted;

    if (!kind_of(j, metadata, &change->kind) ||
        !number_of(j, rn_json_find(j, metadata, RN_LIT("lsn")), &change->lsn) ||
        !number_of(j, rn_json_find(j, metadata, RN_LIT("previousImageLSN")),
                   &change->previous_lsn) ||
        !number_of(j, rn_json_find(j, metadata, RN_LIT("crts")), &seconds))
        return malformed(p, "a change whose metadata cannot be read");
    is_deleted =
        change->kind == RUNNEL_DELETED || change->kind == RUNNEL_EXPIRED;
    if (!is_deleted && rn_json_count(j, current) == 0)
        return malformed(p, "a change without its document");
    change->time_ms = (int64_t)seconds * 1000;
    if (!is_deleted)
        change->json = lent(j, current);
    if (rn_json_count(j, previous) > 0)
        change->previous = lent(j, previous);
    code = id_take(
        p, rn_json_find(j, is_deleted ? metadata : current, RN_LIT("id")),
        change);
    if (code)
        return code;
    if (!is_deleted)
        return key_extract(p, current, change);
    return key_collect(p, rn_json_find(j, metadata, RN_LIT("partitionKey")),
                       change);
}

static runnel_code changes_take(struct parsing *p, uint32_t list)
{
    struct rn_json_walk w = rn_json_walk_begin(&p->json, list);
    struct rn_change_page *page = p->page;
    size_t count = rn_json_count(&p->json, list);
    runnel_code code = RUNNEL_OK;

    if (rn_json_kind(&p->json, list) != RN_JSON_ARRAY)
        return malformed(p, "no array of documents");
    page->changes =
        rn_arena_alloc(&page->arena, (count + 1) * sizeof(*page->changes));
    if (!page->changes)
        return failed(p, RN_NOMEM);
    while (!code && rn_json_walk_next(&w)) {
        runnel_change *change = &page->changes[page->count];

        *change = (runnel_change){ 0 };
        code = p->options->mode == RUNNEL_FEED_ALL
                   ? envelope_take(p, w.value, change)
                   : document_take(p, w.value, change);
        if (change->time_ms / 1000 >= p->options->since_s)
            page->count++;
    }
    return code;
}

static runnel_code rid_take(struct parsing *p)
{
    uint32_t rid = rn_json_find(&p->json, 0, RN_LIT("_rid"));
    struct rn_view text = rn_json_text(&p->json, rid);
    char *copy = rn_arena_alloc(&p->page->arena, text.len + 1);

    if (!copy)
        return failed(p, RN_NOMEM);
    if (text.len)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    p->page->rid = copy;
    return RUNNEL_OK;
}

runnel_code rn_change_page_take_empty(struct rn_exchange *x,
                                      struct rn_change_page **out,
                                      runnel_error *error)
{
    struct rn_change_page *page = rn_new(sizeof(*page));
    runnel_code code;

    if (!page)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    atomic_init(&page->refs, 1);
    page->arena = RN_ARENA_INIT(ARENA_MAX);
    page->rid = "";
    code = rn_reply_take(x, &page->reply, error);
    if (code)
        rn_change_page_unref(page);
    else
        *out = page;
    return code;
}

static runnel_code body_take(struct parsing *p)
{
    struct rn_view body = rn_buf_view(&p->page->reply->body);
    enum rn_code rc = rn_json_parse(&p->json, body, NULL);
    runnel_code code;

    if (rc == RN_BAD_REQUEST)
        return malformed(p, "a body that is not JSON");
    code = failed(p, rc);
    if (!code)
        code = rid_take(p);
    if (!code)
        code = changes_take(p, rn_json_find(&p->json, 0, RN_LIT("Documents")));
    p->page->bytes = body.len + p->page->arena.used + sizeof(*p->page);
    return code;
}

runnel_code rn_change_page_take(struct rn_exchange *x,
                                const struct rn_change_page_options *options,
                                struct rn_change_page **out,
                                runnel_error *error)
{
    const struct rn_json_limits limits = { .bytes = RN_ANSWER_MAX,
                                           .nodes = NODES_MAX,
                                           .names = NAMES_MAX,
                                           .depth = RN_JSON_DEPTH_MAX };
    struct parsing p = { .options = options,
                         .key = RN_BUF_INIT(KEY_MAX),
                         .error = error };
    runnel_code code = rn_change_page_take_empty(x, &p.page, error);

    if (code)
        return code;
    rn_json_init(&p.json, &limits);
    code = body_take(&p);
    rn_json_release(&p.json);
    rn_buf_release(&p.key);
    if (code)
        rn_change_page_unref(p.page);
    else
        *out = p.page;
    return code;
}

struct rn_change_page *rn_change_page_ref(struct rn_change_page *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void rn_change_page_unref(struct rn_change_page *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    if (p->meter)
        atomic_fetch_sub(&p->meter->bytes, p->bytes);
    rn_change_page_meter_unref(p->meter);
    runnel_reply_close(p->reply);
    rn_arena_release(&p->arena);
    rn_free(p);
}

struct rn_change_page_meter *rn_change_page_meter_new(void)
{
    struct rn_change_page_meter *m = rn_new(sizeof(*m));

    if (m)
        atomic_init(&m->refs, 1);
    return m;
}

void rn_change_page_meter_unref(struct rn_change_page_meter *m)
{
    if (m && atomic_fetch_sub(&m->refs, 1) == 1)
        rn_free(m);
}

void rn_change_page_meter_add(struct rn_change_page_meter *m,
                              struct rn_change_page *p)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    atomic_fetch_add(&m->bytes, p->bytes);
    p->meter = m;
}
