/* service.c -- containers, documents and topology; see service.h. */
#include "client/service.h"

#include "cosmos/etag.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

/* Without memory a test cannot go on. */
static void *must(void *object)
{
    if (!object)
        abort();
    return object;
}

static char *text_of(struct rn_view v)
{
    char *text = must(rn_new(v.len + 1));

    if (v.len)
        memcpy(text, v.at, v.len);
    return text;
}

/* Doubles an array that is full. */
static void *grown(void *array, size_t count, size_t *room, size_t item)
{
    void *larger;

    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 8;
    larger = must(rn_new(*room * item));
    if (count)
        memcpy(larger, array, count * item);
    rn_free(array);
    return larger;
}

void service_init(struct service *s, struct rn_env *env)
{
    *s = (struct service){ .env = env, .rids = 1 };
}

static void box_free(struct service_box *box)
{
    for (size_t i = 0; i < box->entry_count; i++) {
        rn_free(box->entries[i]->id);
        rn_free(box->entries[i]->pk);
        rn_free(box->entries[i]->json);
        rn_free(box->entries[i]);
    }
    rn_free(box->entries);
    rn_free(box->ranges);
    rn_free(box->db);
    rn_free(box->name);
    rn_free(box->key_json);
    rn_arena_release(&box->arena);
    rn_free(box);
}

void service_release(struct service *s)
{
    for (size_t i = 0; i < s->box_count; i++)
        box_free(s->boxes[i]);
    rn_free(s->boxes);
    s->boxes = NULL;
    s->box_count = 0;
}

/* ---- containers ---------------------------------------------------------- */

static struct service_range *range_add(struct service_box *box)
{
    struct service_range *range;

    box->ranges = grown(box->ranges, box->range_count, &box->range_room,
                        sizeof(*box->ranges));
    range = &box->ranges[box->range_count];
    *range = (struct service_range){ .id = (uint32_t)box->range_count++ };
    return range;
}

static void key_parse(struct service_box *box, const char *paths)
{
    struct rn_buf text = RN_BUF_INIT(4096);
    struct rn_json json;
    bool many = strchr(paths, ',') != NULL;
    const char *at = paths;

    if (rn_buf_add(&text, RN_LIT("{\"paths\":[")))
        abort();
    while (*at) {
        size_t n = strcspn(at, ",");

        if (rn_buf_printf(&text, "%s\"%.*s\"", at == paths ? "" : ",", (int)n,
                          at))
            abort();
        at += n + (at[n] == ',');
    }
    if (rn_buf_printf(&text, "],\"kind\":\"%s\",\"version\":2}",
                      many ? "MultiHash" : "Hash"))
        abort();
    rn_json_init(&json, NULL);
    box->key_json = text_of(rn_buf_view(&text));
    if (rn_json_parse(&json, rn_view_text(box->key_json), NULL) ||
        rn_pkdef_parse(&json, 0, &box->arena, &box->key, NULL))
        abort();
    rn_json_release(&json);
    rn_buf_release(&text);
}

struct service_box *service_add(struct service *s,
                                const struct service_definition *d)
{
    struct service_box *box = must(rn_new(sizeof(*box)));
    struct service_box **boxes =
        must(rn_new((s->box_count + 1) * sizeof(struct service_box *)));
    uint32_t n = d->ranges ? d->ranges : 1;

    *box = (struct service_box){
        .service = s,
        .db = must(rn_new_text(d->db)),
        .name = must(rn_new_text(d->name)),
        .rid = rn_rid_container(1, s->rids++),
        .arena = RN_ARENA_INIT(1 << 20),
        .default_ttl = d->default_ttl,
        .retention_min = d->retention_min,
        .has_previous = d->has_previous,
        .topology = 1,
    };
    (void)rn_rid_print(box->rid, box->rid_text);
    key_parse(box, d->key);
    for (uint32_t i = 0; i < n; i++) {
        struct service_range *range = range_add(box);

        range->born = 1;
        range->keys = rn_epk_all;
        if (i > 0 && !rn_epk_even(&box->key, i, n, &range->keys.min))
            abort();
        if (i + 1 < n && !rn_epk_even(&box->key, i + 1, n, &range->keys.max))
            abort();
    }
    if (s->box_count)
        memcpy(boxes, s->boxes, s->box_count * sizeof(struct service_box *));
    boxes[s->box_count] = box;
    rn_free(s->boxes);
    s->boxes = boxes;
    s->box_count++;
    s->version++;
    return box;
}

struct service_box *service_find(struct service *s, const char *db,
                                 const char *name)
{
    for (size_t i = 0; i < s->box_count; i++) {
        struct service_box *box = s->boxes[i];

        if (!box->is_deleted &&
            ((strcmp(box->db, db) == 0 && strcmp(box->name, name) == 0) ||
             strcmp(box->rid_text, name) == 0))
            return box;
    }
    return NULL;
}

struct service_range *service_range_of(const struct service_box *box,
                                       struct rn_view epk)
{
    for (size_t i = 0; i < box->range_count; i++) {
        struct service_range *range = &box->ranges[i];

        if (!range->gone && rn_epk_range_has(&range->keys, epk))
            return range;
    }
    abort();
}

/* ---- topology ------------------------------------------------------------ */

static struct service_range *range_live(struct service_box *box, uint32_t id)
{
    return id < box->range_count && !box->ranges[id].gone ? &box->ranges[id]
                                                          : NULL;
}

static void parent_add(struct service_range *child, uint32_t id)
{
    for (size_t i = 0; i < child->parent_count; i++) {
        if (child->parents[i] == id)
            return;
    }
    if (child->parent_count < SERVICE_PARENTS_MAX)
        child->parents[child->parent_count++] = id;
}

/* A range that takes the place of others: their ancestors are its own. */
static uint32_t child_add(struct service_box *box, const uint32_t *parents,
                          size_t count)
{
    struct service_range *child = range_add(box);

    child->born = box->topology;
    for (size_t i = 0; i < count; i++) {
        const struct service_range *p = &box->ranges[parents[i]];

        for (size_t k = 0; k < p->parent_count; k++)
            parent_add(child, p->parents[k]);
        parent_add(child, p->id);
        if (p->lsn > child->lsn)
            child->lsn = p->lsn;
    }
    return child->id;
}

static void range_end(struct service_box *box, uint32_t id, int64_t closing_ms)
{
    box->ranges[id].gone = box->topology;
    box->ranges[id].closing_ms = rn_wall_ms(box->service->env) + closing_ms;
    box->service->version++;
}

bool service_split(struct service_box *box, uint32_t id, int64_t closing_ms)
{
    struct service_range *range = range_live(box, id);
    struct rn_epk_range keys;
    struct rn_epk middle;

    if (!range || range->parent_count + 1 >= SERVICE_PARENTS_MAX ||
        !rn_epk_middle(&box->key, &range->keys, &middle))
        return false;
    keys = range->keys;
    box->topology++;
    for (int i = 0; i < 2; i++) {
        uint32_t child = child_add(box, &id, 1);

        box->ranges[child].keys = keys;
        if (i == 0)
            box->ranges[child].keys.max = middle;
        else
            box->ranges[child].keys.min = middle;
    }
    range_end(box, id, closing_ms);
    return true;
}

bool service_merge(struct service_box *box, uint32_t left, uint32_t right,
                   int64_t closing_ms)
{
    struct service_range *a = range_live(box, left);
    struct service_range *b = range_live(box, right);
    uint32_t both[2] = { left, right };
    struct rn_epk_range keys;
    uint32_t child;

    if (!a || !b || rn_epk_compare(&a->keys.max, &b->keys.min) != 0 ||
        a->parent_count + b->parent_count + 2 > SERVICE_PARENTS_MAX)
        return false;
    keys = (struct rn_epk_range){ a->keys.min, b->keys.max };
    box->topology++;
    child = child_add(box, both, 2);
    box->ranges[child].keys = keys;
    box->ranges[child].lsn++;
    range_end(box, left, closing_ms);
    range_end(box, right, closing_ms);
    return true;
}

/* ---- documents ----------------------------------------------------------- */

/* What the service itself writes into a document. */
static bool is_system(const struct rn_json *j, uint32_t name)
{
    static const char *const names[] = { "_rid",         "_self", "_etag",
                                         "_attachments", "_ts",   "_lsn" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (rn_json_string_is(j, name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

static char *rendered(const struct service_box *box, const struct rn_json *j,
                      const struct service_entry *e)
{
    struct rn_buf text = RN_BUF_INIT(SERVICE_BODY_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);
    struct rn_json_walk w = rn_json_walk_begin(j, 0);
    char rid[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX];
    struct rn_rid own = rn_rid_child(box->rid, RN_KIND_DOCUMENT, e->number);
    char *json;

    rn_json_out_object_begin(&o);
    while (rn_json_walk_next(&w)) {
        if (!is_system(j, w.name))
            rn_json_out_member(&o, j, w.name, w.value);
    }
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(own, rid));
    rn_json_out_key(&o, RN_LIT("_self"));
    rn_json_out_string(&o, rn_rid_print_self(own, self));
    rn_json_out_key(&o, RN_LIT("_etag"));
    rn_json_out_string(&o, rn_view_text(e->etag));
    rn_json_out_key(&o, RN_LIT("_attachments"));
    rn_json_out_string(&o, RN_LIT("attachments/"));
    rn_json_out_key(&o, RN_LIT("_ts"));
    rn_json_out_int(&o, e->ts);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
    json = text_of(rn_buf_view(&text));
    rn_buf_release(&text);
    return json;
}

const struct service_entry *service_live(const struct service_box *box,
                                         const char *id, const char *pk)
{
    for (size_t i = box->entry_count; i-- > 0;) {
        const struct service_entry *e = box->entries[i];

        if (e->is_live && strcmp(e->id, id) == 0 && strcmp(e->pk, pk) == 0)
            return e;
    }
    return NULL;
}

/* Appends an entry for a document; `lsn` 0 draws the next of its range. */
static struct service_entry *commit(struct service_box *box,
                                    const struct service_entry *before,
                                    struct service_entry *e, uint64_t lsn)
{
    struct service_range *range = service_range_of(box, rn_epk_view(&e->epk));

    e->lsn = lsn ? lsn : ++range->lsn;
    e->commit = ++box->commits;
    e->previous = before;
    e->is_live = e->op == SERVICE_CREATE || e->op == SERVICE_REPLACE;
    box->entries = grown(box->entries, box->entry_count, &box->entry_room,
                         sizeof(struct service_entry *));
    box->entries[box->entry_count++] = e;
    box->service->version++;
    return e;
}

static void told(struct service_box *box, const struct service_entry *e)
{
    struct service *s = box->service;

    if (s->committed)
        s->committed(s->context, box, e);
}

static struct service_entry *end_of(struct service_box *box,
                                    const struct service_entry *before,
                                    enum service_op op)
{
    struct service_entry *e = must(rn_new(sizeof(*e)));

    *e = *before;
    e->op = op;
    e->id = must(rn_new_text(before->id));
    e->pk = must(rn_new_text(before->pk));
    e->json = must(rn_new_text(before->json));
    e->ts = rn_wall_ms(box->service->env) / 1000;
    box->entries[before->commit - 1]->is_live = false;
    commit(box, before, e, 0);
    told(box, e);
    return e;
}

void service_sweep(struct service_box *box)
{
    int64_t now = rn_wall_ms(box->service->env) / 1000;
    size_t count = box->entry_count;

    for (size_t i = 0; box->default_ttl != 0 && i < count; i++) {
        const struct service_entry *e = box->entries[i];

        if (e->is_live && e->ttl > 0 && e->ts + e->ttl <= now)
            (void)end_of(box, e, SERVICE_EXPIRE);
    }
}

const struct service_entry *service_delete(struct service_box *box,
                                           const char *id, const char *pk)
{
    const struct service_entry *e = service_live(box, id, pk);

    return e ? end_of(box, e, SERVICE_DELETE) : NULL;
}

/* Fills id, key and TTL from a parsed document; false if it has no id. */
static bool described(const struct service_box *box, const struct rn_json *j,
                      struct service_entry *e)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_buf pk = RN_BUF_INIT(4 * RN_PK_TEXT_MAX);
    uint32_t id = rn_json_find(j, 0, RN_LIT("id"));
    uint32_t ttl = rn_json_find(j, 0, RN_LIT("ttl"));
    struct rn_view text;
    struct rn_pk key;
    bool ok = rn_json_kind(j, id) == RN_JSON_STRING;

    if (ok && (rn_json_string_get(j, id, &arena, &text) ||
               rn_pkdef_extract(&box->key, j, 0, &arena, &key, NULL) ||
               rn_pk_print(&key, &pk)))
        abort();
    if (ok) {
        e->id = text_of(text);
        e->pk = text_of(rn_buf_view(&pk));
        rn_epk_of(&box->key, &key, &e->epk);
        e->ttl = box->default_ttl;
        if (rn_json_kind(j, ttl) == RN_JSON_NUMBER)
            (void)rn_json_int64(j, ttl, &e->ttl);
    }
    rn_buf_release(&pk);
    rn_arena_release(&arena);
    return ok;
}

static const struct service_entry *write_one(struct service_box *box,
                                             const char *json, uint64_t lsn)
{
    struct service_entry *e = must(rn_new(sizeof(*e)));
    const struct service_entry *before;
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_view_text(json), NULL) || !described(box, &j, e))
        abort();
    before = service_live(box, e->id, e->pk);
    e->op = before ? SERVICE_REPLACE : SERVICE_CREATE;
    e->number = before ? before->number : ++box->documents;
    e->ts = rn_wall_ms(box->service->env) / 1000;
    rn_etag_print((struct rn_etag){ .lsn = box->commits + 1,
                                    .series = (uint32_t)box->rid.parent },
                  e->etag);
    e->json = rendered(box, &j, e);
    if (before)
        box->entries[before->commit - 1]->is_live = false;
    commit(box, before, e, lsn);
    rn_json_release(&j);
    told(box, e);
    return e;
}

const struct service_entry *service_upsert(struct service_box *box,
                                           const char *json)
{
    return write_one(box, json, 0);
}

void service_batch(struct service_box *box, const char *const *json,
                   size_t count)
{
    uint64_t lsn = 0;

    for (size_t i = 0; i < count; i++)
        lsn = write_one(box, json[i], lsn)->lsn;
}
