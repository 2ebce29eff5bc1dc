/* snapshot.c -- snapshot reads of documents; see snapshot.h. */
#include "engine/document/snapshot.h"

#include "engine/engine.h"
#include "engine/engine_state.h"

enum rn_code rn_snapshot_begin(struct rn_snapshot *r, struct rn_engine *e,
                               const struct rn_container *c, struct rn_err *err)
{
    *r = (struct rn_snapshot){
        .engine = e,
        .container = c,
        .now = rn_engine_now(e),
    };
    return rn_txn_begin(e->store, RN_TXN_READ,
                        (struct rn_lock){ .container = c->number }, &r->txn,
                        err);
}

void rn_snapshot_end(struct rn_snapshot *r)
{
    rn_txn_abort(r->txn);
    r->txn = NULL;
}

/* ---- one document -------------------------------------------------------- */

bool rn_document_is_expired(const struct rn_container *c,
                            const struct rn_row_feed *row, int64_t now)
{
    int64_t ttl = row->ttl ? row->ttl : c->default_ttl;

    return c->default_ttl != RN_TTL_OFF && ttl > 0 && row->ts + ttl <= now;
}

enum { KEY_ARENA_MAX = 64 << 10 };

/* Parses only the members that contain the partition key. */
static enum rn_code parse_key(const struct rn_pkdef *def, struct rn_view json,
                              struct rn_json *j)
{
    struct rn_view names[RN_PK_MAX];
    struct rn_json_wanted wanted = { .names = names };

    for (size_t i = 0; i < def->count; i++) {
        struct rn_view name = def->paths[i].names[0];
        uint32_t n = 0;

        if (!rn_json_may_be_wanted(name))
            return rn_json_parse(j, json, NULL);
        while (n < wanted.count && !rn_view_eq(name, names[n]))
            n++;
        names[n] = name;
        wanted.count += n == wanted.count;
    }
    return rn_json_parse_some(j, json, &wanted, NULL);
}

enum rn_code rn_document_has_key(const struct rn_container *c,
                                 const struct rn_pk *pk, struct rn_view json,
                                 bool *yes)
{
    struct rn_arena arena = RN_ARENA_INIT(KEY_ARENA_MAX);
    struct rn_json j;
    struct rn_pk found;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = parse_key(&c->pkdef, json, &j);
    if (!rc)
        rc = rn_pkdef_extract(&c->pkdef, &j, 0, &arena, &found, NULL);
    *yes = !rc && rn_pk_eq(&found, pk);
    rn_json_release(&j);
    rn_arena_release(&arena);
    return rc == RN_BAD_REQUEST ? RN_CORRUPT : rc; /* it was valid once */
}

/* The body that a 'd' row points to. */
enum rn_code rn_document_follow(struct rn_txn *txn,
                                const struct rn_container *c,
                                const struct rn_row_document *d,
                                struct rn_row_feed *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_feed(c->number, d->range, d->lsn, d->n, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc == RN_NOT_FOUND)
        return RN_CORRUPT; /* the row refers to it */
    return rc ? rc : rn_row_feed_decode(bytes, out);
}

static enum rn_code fill_place(struct rn_snapshot *r, struct rn_view epk,
                               struct rn_document_place *place)
{
    struct rn_row_range row;
    enum rn_code rc =
        rn_range_find(r->txn, r->container, epk, &place->range, &row);

    if (!rc)
        place->lsn = row.lsn;
    return rc;
}

/* The rows of the document under a 'd' key. */
static enum rn_code find_at(struct rn_snapshot *r, struct rn_view key,
                            struct rn_row_document *d, struct rn_row_feed *row)
{
    struct rn_view bytes;
    enum rn_code rc = rn_txn_get(r->txn, key, &bytes);

    if (!rc)
        rc = rn_row_document_decode(bytes, d);
    return rc ? rc : rn_document_follow(r->txn, r->container, d, row);
}

static enum rn_code show(struct rn_snapshot *r, const struct rn_row_document *d,
                         const struct rn_row_feed *row, struct rn_view *body,
                         struct rn_document_place *place)
{
    if (rn_document_is_expired(r->container, row, r->now))
        return RN_NOT_FOUND;
    place->etag = rn_row_document_etag(d, r->container->series);
    place->is_linkless = row->is_linkless;
    *body = row->json;
    return RN_OK;
}

enum rn_code rn_document_read(struct rn_snapshot *r, const struct rn_pk *pk,
                              struct rn_view id, struct rn_view *body,
                              struct rn_document_place *place)
{
    struct rn_row_document d;
    struct rn_row_feed row;
    struct rn_epk epk;
    struct rn_key key;
    bool is_that = true;
    enum rn_code rc;

    rn_epk_of(&r->container->pkdef, pk, &epk);
    rn_key_document(r->container->number, &epk, pk, id, &key);
    rc = fill_place(r, rn_epk_view(&epk), place);
    if (!rc)
        rc = find_at(r, rn_key_view(&key), &d, &row);
    if (!rc && rn_key_may_be_shared(pk))
        rc = rn_document_has_key(r->container, pk, row.json, &is_that);
    if (!rc && !is_that)
        return RN_NOT_FOUND;
    return rc ? rc : show(r, &d, &row, body, place);
}

enum rn_code rn_document_key_of(struct rn_txn *txn,
                                const struct rn_container *c, uint64_t rid,
                                struct rn_key *out)
{
    struct rn_key key, end;
    struct rn_view tail;
    enum rn_code rc;

    rn_key_rid(c->number, rid, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &tail);
    if (rc)
        return rc;
    rn_key_span_tag(c->number, RN_TAG_DOCUMENT, out, &end);
    if (out->len + tail.len > RN_KEY_MAX)
        return RN_CORRUPT;
    memcpy(out->bytes + out->len, tail.at, tail.len);
    out->len += tail.len;
    return RN_OK;
}

enum rn_code rn_document_read_rid(struct rn_snapshot *r, uint64_t number,
                                  struct rn_view *body,
                                  struct rn_document_place *place)
{
    struct rn_row_document d;
    struct rn_row_feed row;
    struct rn_key key;
    enum rn_code rc = rn_document_key_of(r->txn, r->container, number, &key);

    if (!rc)
        rc = find_at(r, rn_key_view(&key), &d, &row);
    if (!rc)
        rc = fill_place(r, row.epk, place);
    return rc ? rc : show(r, &d, &row, body, place);
}

/* ---- lists --------------------------------------------------------------- */

/* Bounds only ever narrow. */
static void lift(struct rn_key *from, const struct rn_key *to)
{
    if (rn_view_compare(rn_key_view(from), rn_key_view(to)) < 0)
        *from = *to;
}

/* The keys of one partition key value.  Its EPK is not enough: another value
 * may have the same. */
static void narrow(const struct rn_container *c, const struct rn_pk *pk,
                   struct rn_key *from, struct rn_key *before)
{
    struct rn_epk epk;
    struct rn_key key;

    rn_epk_of(&c->pkdef, pk, &epk);
    rn_key_document(c->number, &epk, pk, RN_LIT(""), &key);
    lift(from, &key);
    while ((unsigned char)key.bytes[key.len - 1] == 0xff)
        key.len--;
    key.bytes[key.len - 1]++; /* after all keys with this prefix */
    if (rn_view_compare(rn_key_view(&key), rn_key_view(before)) < 0)
        *before = key;
}

/* As in key.h: a terminated EPK, a hash, an id. */
static bool is_place(struct rn_view v)
{
    size_t at = 0;

    while (at + 1 < v.len && (v.at[at] || v.at[at + 1] != 1)) {
        if (!v.at[at] && (unsigned char)v.at[++at] != 0xff)
            return false;
        at++;
    }
    return v.len <= RN_KEY_MAX - RN_KEY_HEAD && at + 2 + 8 < v.len;
}

static void add_place(struct rn_key *to, struct rn_view place)
{
    memcpy(to->bytes + to->len, place.at, place.len);
    to->len += place.len;
}

enum rn_code rn_documents_bound(const struct rn_container *c,
                                const struct rn_documents_scan *scan,
                                struct rn_documents_bounds *out)
{
    struct rn_key end, after;

    rn_key_document_bound(c->number, &scan->epks.min, &out->from);
    rn_key_document_bound(c->number, &scan->epks.max, &out->before);
    if (rn_epk_compare(&scan->epks.max, &rn_epk_all.max) == 0)
        rn_key_span_tag(c->number, RN_TAG_DOCUMENT, &end, &out->before);
    if (scan->pk && scan->pk->count == c->pkdef.count)
        narrow(c, scan->pk, &out->from, &out->before);
    if (scan->after.len && !is_place(scan->after))
        return RN_BAD_REQUEST;
    if (scan->after.len) {
        rn_key_span_tag(c->number, RN_TAG_DOCUMENT, &after, &end);
        add_place(&after, scan->after);
        if (!scan->from_there)
            after.bytes[after.len++] = 0; /* the key just after it */
        lift(&out->from, &after);
    }
    return RN_OK;
}

bool rn_documents_bounds_have(const struct rn_documents_bounds *b,
                              struct rn_view place)
{
    struct rn_view from = rn_key_view(&b->from), before;

    from = rn_view_of(from.at + RN_KEY_HEAD, from.len - RN_KEY_HEAD);
    if (rn_view_compare(place, from) < 0)
        return false;
    before = rn_key_view(&b->before);
    if (before.at[RN_KEY_HEAD - 1] != RN_TAG_DOCUMENT)
        return true; /* unbounded within the tag */
    before = rn_view_of(before.at + RN_KEY_HEAD, before.len - RN_KEY_HEAD);
    return rn_view_compare(place, before) < 0;
}

enum rn_code rn_document_at(struct rn_snapshot *r, struct rn_view place,
                            uint64_t rid, struct rn_view *body)
{
    struct rn_row_document d;
    struct rn_row_feed row;
    struct rn_key key, end;
    enum rn_code rc;

    rn_key_span_tag(r->container->number, RN_TAG_DOCUMENT, &key, &end);
    if (place.len > RN_KEY_MAX - RN_KEY_HEAD)
        return RN_CORRUPT;
    add_place(&key, place);
    rc = find_at(r, rn_key_view(&key), &d, &row);
    if (rc == RN_NOT_FOUND || (!rc && d.rid != rid))
        return RN_CORRUPT; /* the index refers to it */
    *body = row.json;
    if (!rc && rn_document_is_expired(r->container, &row, r->now))
        rc = RN_NOT_FOUND;
    return rc;
}

enum rn_code rn_documents_count(struct rn_snapshot *r, uint64_t *out)
{
    struct rn_row_range row;
    enum rn_code rc = RN_OK;

    *out = 0;
    for (uint32_t i = 0; !rc && i < r->container->next_range; i++) {
        rc = rn_range_read(r->txn, r->container, i, &row);
        if (!rc)
            *out += row.next_rid - 1;
    }
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_documents_open(struct rn_documents *d, struct rn_snapshot *r,
                               const struct rn_documents_scan *scan)
{
    struct rn_documents_bounds bounds;
    struct rn_key_interval range;
    enum rn_code rc = rn_documents_bound(r->container, scan, &bounds);

    *d = (struct rn_documents){ .reading = r, .no_bodies = scan->no_bodies };
    if (scan->pk && scan->pk->count == r->container->pkdef.count &&
        rn_key_may_be_shared(scan->pk))
        d->pk = scan->pk;
    if (rc)
        return rc;
    range = (struct rn_key_interval){ .from = rn_key_view(&bounds.from),
                                      .before = rn_key_view(&bounds.before) };
    if (rn_view_compare(range.from, range.before) >= 0)
        return RN_OK; /* empty: next ends at once */
    return rn_txn_scan(r->txn, &range, &d->cursor);
}

enum rn_code rn_documents_next(struct rn_documents *d, struct rn_view *body)
{
    struct rn_snapshot *r = d->reading;
    bool no_body =
        d->no_bodies && !d->pk && r->container->default_ttl == RN_TTL_OFF;
    bool is_wanted;
    struct rn_row_document row;
    struct rn_row_feed feed = { 0 };
    struct rn_view key, value;
    enum rn_code rc;

    if (!d->cursor)
        return RN_NOT_FOUND;
    do {
        rc = rn_cursor_next(d->cursor, &key, &value);
        if (rc)
            return rc;
        rc = rn_row_document_decode(value, &row);
        if (!rc && !no_body) /* the feed row also has the ttl */
            rc = rn_document_follow(r->txn, r->container, &row, &feed);
        is_wanted =
            no_body || !rn_document_is_expired(r->container, &feed, r->now);
        if (!rc && is_wanted && d->pk)
            rc =
                rn_document_has_key(r->container, d->pk, feed.json, &is_wanted);
        if (rc)
            return rc;
    } while (!is_wanted);
    d->at = rn_view_of(key.at + RN_KEY_HEAD, key.len - RN_KEY_HEAD);
    d->rid = row.rid;
    *body = d->no_bodies ? RN_LIT("") : feed.json;
    return RN_OK;
}

void rn_documents_close(struct rn_documents *d)
{
    rn_cursor_end(d->cursor);
    d->cursor = NULL;
}
