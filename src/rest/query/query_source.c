/* query_source.c -- the input of a query: documents, catalog objects, or the
 * ranges of a container. */
#include "rest/query/query_source.h"

#include "rest/objects.h"
#include "rest/query/query_page.h"
#include "rest/ranges.h"
#include "rest/sessions.h"

#include "access/natural.h"
#include "base/bytes.h"
#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "engine/feed/feed.h"

/* Loads the next document, and measures the time if requested. */
static enum rn_code load_document(struct rn_query_page *p,
                                  struct rn_view *document)
{
    struct rn_env *env = p->x->rest->opts.env;
    int64_t begun = p->is_timed ? rn_mono_ns(env) : 0;
    enum rn_code rc = rn_access_next(&p->access, document);

    if (p->is_timed)
        p->load_ns += rn_mono_ns(env) - begun;
    return rc;
}

static enum rn_code next_document(void *context, struct rn_view *document,
                                  struct rn_err *err)
{
    struct rn_query_page *p = context;
    enum rn_code rc;

    if (p->has_first) {
        *document = p->first;
        rc = p->first_rc;
        p->has_first = false;
    } else {
        rc = load_document(p, document);
    }
    if (rc && rc != RN_NOT_FOUND)
        return rn_fail(err, rc, "%s", rn_txn_why(p->reading.txn, rc));
    if (rc)
        return rc;
    p->place_len = p->access.at.len;
    memcpy(p->place, p->access.at.at, p->place_len);
    return RN_OK;
}

static void release_objects(struct rn_query_page *p)
{
    while (p->object_count > 0)
        rn_object_release(p->objects[--p->object_count]);
    p->object_at = 0;
}

static enum rn_code list_objects(struct rn_query_page *p)
{
    if (p->x->container) /* conflicts and scripts: there are none */
        return RN_NOT_FOUND;
    release_objects(p);
    p->object_count = rn_catalog_list(
        p->x->rest->engine, p->x->link.kind, rn_context_owner(p->x),
        p->any ? &p->last : NULL, p->objects, RN_QUERY_OBJECTS);
    return p->object_count ? RN_OK : RN_NOT_FOUND;
}

/* A range has been printed already. */
static enum rn_code show_object(struct rn_query_page *p, struct rn_object *o,
                                struct rn_view *document, struct rn_err *err)
{
    if (o) {
        rn_buf_clear(&p->text);
        if (rn_object_show(p->x, o, &p->text))
            return rn_fail(err, RN_NOMEM, "out of memory");
    }
    *document = rn_buf_view(&p->text);
    return RN_OK;
}

/* Ranges come in the order of their ids: a split between two pages creates
 * higher ones. */
static enum rn_code next_range(struct rn_query_page *p, struct rn_rid *out,
                               struct rn_err *err)
{
    const struct rn_container *c = p->x->container->container;
    struct rn_json_out o = RN_JSON_OUT_INIT(&p->text);
    const struct rn_range_span *next = NULL;
    struct rn_row_range row;
    enum rn_code rc = RN_OK;

    for (size_t i = 0; i < c->range_count; i++) {
        const struct rn_range_span *span = &c->ranges[i];
        if ((!p->any || span->id >= p->last.number) &&
            (!next || span->id < next->id))
            next = span;
    }
    if (!next)
        return RN_NOT_FOUND;
    if (!p->reading.txn)
        rc = rn_snapshot_begin(&p->reading, p->x->rest->engine, c, err);
    if (!rc)
        rc = rn_feed_range(&p->reading, next->id, &row, err);
    if (rc)
        return rc;
    *out = rn_rid_child(c->rid, RN_KIND_RANGE, next->id + 1);
    rn_buf_clear(&p->text);
    rn_range_print(&o, p->x->container, next, row.lsn);
    return rn_json_out_finish(&o);
}

/* The next object in rid order; its JSON is in `text`, or is its body. */
static enum rn_code next_rid(struct rn_query_page *p, struct rn_object **o,
                             struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    *o = NULL;
    if (p->x->link.kind == RN_KIND_RANGE) {
        rc = next_range(p, &p->last, err);
    } else {
        if (p->object_at == p->object_count)
            rc = list_objects(p);
        if (rc)
            return rc;
        *o = p->objects[p->object_at++];
        p->last = (*o)->rid;
    }
    p->any = true;
    return rc;
}

/* The place of an object is its rid, in bytes that sort like rids. */
static enum rn_code next_object(void *context, struct rn_view *document,
                                struct rn_err *err)
{
    struct rn_query_page *p = context;
    struct rn_object *o;
    enum rn_code rc;

    if (p->has_first) {
        *document = p->first;
        p->has_first = false;
        return p->first_rc;
    }
    do {
        rc = next_rid(p, &o, err);
        if (rc)
            return rc;
        rn_put_u32_be(p->place, p->last.database);
        rn_put_u32_be(p->place + 4, p->last.parent);
        rn_put_u64_be(p->place + 8, p->last.number);
        p->place_len = RN_QUERY_OBJECT_PLACE;
    } while (
        rn_view_compare(rn_view_of(p->place, p->place_len), p->scan.after) < 0);
    return show_object(p, o, document, err);
}

/* Rows of the last page's last document were sent already.  If it was deleted
 * or no longer matches, the next document starts afresh. */
static void look_at_first(struct rn_query_page *p)
{
    bool is_document = p->x->link.kind == RN_KIND_DOCUMENT;
    struct rn_view at;

    if (rn_query_page_is_whole(p) || !p->limits.from.document_rows)
        return;
    p->first_rc = is_document ? load_document(p, &p->first)
                              : next_object(p, &p->first, &p->x->err);
    p->has_first = true;
    at = is_document ? p->access.at : rn_view_of(p->place, p->place_len);
    if (!p->first_rc && !rn_view_eq(at, p->scan.after))
        p->limits.from.document_rows = 0;
}

/* Once per page, even if the access path is chosen twice: the session check
 * adds its headers once. */
static enum rn_code begin(struct rn_query_page *p)
{
    struct rn_context *x = p->x;
    enum rn_code rc = rn_snapshot_begin(&p->reading, x->rest->engine,
                                        x->container->container, &x->err);

    return rc ? rc : rn_session_check(x, &p->reading, &p->scan.epks);
}

enum rn_code rn_query_source_open(struct rn_query_page *p,
                                  struct rn_source *source, bool no_order)
{
    struct rn_context *x = p->x;
    struct rn_access_ask ask = { .query = p->request.query,
                                 .order = p->order,
                                 .after = p->limits.from.after,
                                 .resume = p->request.resume,
                                 .no_order = no_order,
                                 .matched = &p->stats.matched };
    enum rn_code rc = RN_OK;

    source->context = p;
    source->next = next_object;
    if (x->link.kind != RN_KIND_DOCUMENT) {
        look_at_first(p);
        return RN_OK;
    }
    source->next = next_document;
    ask.scope = p->scan;
    if (!p->reading.txn)
        rc = begin(p);
    if (!rc)
        rc = rn_access_open(&p->access, &p->reading, &ask, &x->call->arena);
    if (!rc)
        look_at_first(p);
    return rc;
}

/* The place before all documents of this EPK. */
static struct rn_view place_of(const struct rn_container *c,
                               const struct rn_epk *epk, struct rn_key *key)
{
    rn_key_document(c->number, epk, &(struct rn_pk){ 0 }, RN_LIT(""), key);
    memset(key->bytes + key->len - 8, 0, 8); /* below any hash, and any id */
    key->bytes[key->len++] = 0;
    return rn_view_of(key->bytes + RN_KEY_HEAD, key->len - RN_KEY_HEAD);
}

/* The range of a place ends at the first border behind it. */
static void find_border(struct rn_query_page *p)
{
    const struct rn_container *c = p->x->container->container;
    struct rn_key key;

    for (size_t i = 1; i < c->range_count && !p->border; i++) {
        struct rn_view place = place_of(c, &c->ranges[i].epks.min, &key);
        if (rn_view_compare(p->scan.after, place) < 0)
            p->border = &c->ranges[i].epks.min;
    }
}

/* A position contains the end of its interval, which was a range; if the
 * interval is empty, the page begins with the next range. */
static void find_natural_border(struct rn_query_page *p)
{
    const struct rn_container *c = p->x->container->container;
    uint64_t rid;

    if (!rn_access_position_get(p->scan.after, &p->begun, &rid))
        return; /* opening it will fail */
    if (rn_epk_compare(&p->begun.min, &p->begun.max) < 0 &&
        rn_epk_compare(&p->begun.max, &p->scan.epks.max) < 0)
        p->border = &p->begun.max;
    if (rn_epk_compare(&p->begun.min, &p->begun.max) < 0)
        return;
    for (size_t i = 1; i < c->range_count && !p->border; i++) {
        if (rn_epk_compare(&p->begun.max, &c->ranges[i].epks.min) < 0)
            p->border = &c->ranges[i].epks.min;
    }
}

void rn_query_source_narrow(struct rn_query_page *p)
{
    if (p->order == RN_ORDER_RIDS)
        find_natural_border(p);
    else
        find_border(p);
    if (p->border)
        p->scan.epks.max = *p->border;
}

void rn_query_source_cross(struct rn_query_page *p)
{
    const struct rn_epk_range none = { *p->border, *p->border };
    struct rn_key key;
    struct rn_view place;

    if (rn_access_is_natural(&p->access)) {
        p->place_len = rn_access_position_put(&none, 0, p->place);
    } else {
        place = place_of(p->x->container->container, p->border, &key);
        memcpy(p->place, place.at, place.len);
        p->place_len = place.len;
    }
    p->end.document_rows = 0;
    p->stats.is_done = false;
}

void rn_query_source_close(struct rn_query_page *p)
{
    rn_access_close(&p->access);
    rn_snapshot_end(&p->reading);
    release_objects(p);
    rn_buf_release(&p->text);
}
