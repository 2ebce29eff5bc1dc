/* ttl.c -- see ttl.h. */
#include "engine/cleanup/ttl.h"
#include "engine/document/snapshot.h"

#include "base/bytes.h"
#include "engine/catalog/object.h"
#include "engine/document/apply.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

#include <assert.h>

enum {
    SLICE_KEYS = 256,
    DOCUMENT_KEYS = 4, /* about the keys that a removal touches */
    SLICE_BYTES = 1 << 20,
    RETRY_S = 60, /* after a slice that failed */
    PLACES_MAX = 1 << 20,
};

/* How far a range's feed has been scanned: documents before that stay until
 * their own ttl ends. */
struct place {
    uint32_t range, n;
    uint64_t lsn;
};

struct rn_ttl_clock {
    struct rn_ttl_clock *next;
    struct rn_rid rid;
    uint32_t number;
    int32_t default_ttl;
    int64_t history; /* seconds; OFF: all is removed; NEVER: it is kept */
    int64_t due;
    int64_t then; /* the next due time, once the slice is durable */
    bool is_swept;
    bool is_bad;          /* the slice failed in this container */
    struct rn_buf places; /* of struct place */
};

/* ---- clocks -------------------------------------------------------------- */

void rn_ttl_release(struct rn_engine *e)
{
    struct rn_ttl_clock *clock, *next;

    for (clock = e->ttl.clocks; clock; clock = next) {
        next = clock->next;
        rn_buf_release(&clock->places);
        rn_free(clock);
    }
    rn_tree_release(&e->ttl.by_number);
}

static struct rn_view number_key(uint32_t number, char out[4])
{
    rn_put_u32_be(out, number);
    return rn_view_of(out, 4);
}

static struct rn_ttl_clock *find_clock(struct rn_ttl *x, uint32_t number)
{
    char bytes[4];
    const struct rn_tree_entry *entry =
        rn_tree_find(&x->by_number, number_key(number, bytes));
    struct rn_ttl_clock *clock = NULL;

    if (entry)
        memcpy(&clock, entry->value.at, sizeof(struct rn_ttl_clock *));
    return clock;
}

static struct rn_ttl_clock *add_clock(struct rn_ttl *x, uint32_t number)
{
    struct rn_ttl_clock *clock = rn_new(sizeof(*clock));
    char bytes[4];

    if (!clock)
        return NULL;
    clock->number = number;
    clock->places = RN_BUF_INIT(PLACES_MAX);
    if (rn_tree_put(
            &x->by_number, number_key(number, bytes),
            rn_view_of((const void *)&clock, sizeof(struct rn_ttl_clock *)))) {
        rn_free(clock);
        return NULL;
    }
    clock->next = x->clocks;
    x->clocks = clock;
    return clock;
}

static void drop_clock(struct rn_ttl *x, struct rn_ttl_clock *clock)
{
    struct rn_ttl_clock **at = &x->clocks;
    char bytes[4];

    if (rn_tree_del(&x->by_number, number_key(clock->number, bytes)))
        return; /* no memory: an idle clock stays */
    while (*at != clock)
        at = &(*at)->next;
    *at = clock->next;
    rn_buf_release(&clock->places);
    rn_free(clock);
}

static void set_due(struct rn_engine *e, struct rn_ttl_clock *clock,
                    int64_t due)
{
    clock->due = due;
    rn_background_lower(e, RN_BACKGROUND_EXPIRY, due);
}

enum rn_code rn_ttl_learn(struct rn_engine *e, const struct rn_object *o)
{
    struct rn_ttl *x = &e->ttl;
    struct rn_ttl_clock *clock = find_clock(x, o->number);
    int32_t default_ttl = o->container->default_ttl;
    int64_t history = o->container->history.seconds;
    bool had_history = clock && clock->history != RN_HISTORY_OFF;

    if (!clock && default_ttl == RN_TTL_OFF && history == RN_HISTORY_OFF)
        return RN_OK;
    if (!clock)
        clock = add_clock(x, o->number);
    if (!clock)
        return RN_NOMEM;
    clock->rid = o->rid;
    clock->default_ttl = default_ttl;
    clock->is_swept = false;
    rn_buf_clear(&clock->places);
    clock->history = history;
    set_due(e, clock,
            default_ttl == RN_TTL_OFF && history <= 0 && !had_history ? RN_NEVER
                                                                      : 0);
    return RN_OK;
}

void rn_ttl_written(struct rn_engine *e, uint32_t number, int32_t ttl,
                    int64_t ts)
{
    struct rn_ttl *x = &e->ttl;
    struct rn_ttl_clock *clock;

    if (!x->clocks)
        return;
    clock = find_clock(x, number);
    if (!clock || clock->default_ttl == RN_TTL_OFF)
        return;
    if (ttl == 0)
        ttl = clock->default_ttl;
    if (ttl > 0 && ts + ttl < clock->due)
        set_due(e, clock, ts + ttl);
}

void rn_ttl_noted(struct rn_engine *e, uint32_t number, int64_t ts)
{
    struct rn_ttl *x = &e->ttl;
    struct rn_ttl_clock *clock = find_clock(x, number);

    if (clock && clock->history > 0 && ts + clock->history < clock->due)
        set_due(e, clock, ts + clock->history);
}

void rn_ttl_moved(struct rn_engine *e, uint32_t number)
{
    struct rn_ttl *x = &e->ttl;
    struct rn_ttl_clock *clock = find_clock(x, number);

    if (clock)
        rn_buf_clear(&clock->places);
}

/* ---- places -------------------------------------------------------------- */

static struct place *find_place(struct rn_ttl_clock *clock, uint32_t range)
{
    struct place *places = (struct place *)(void *)clock->places.at;
    size_t count = clock->places.len / sizeof(*places);

    for (size_t i = 0; i < count; i++) {
        if (places[i].range == range)
            return &places[i];
    }
    return NULL;
}

/* Without memory for it the same rows are scanned again. */
static void set_place(struct rn_ttl_clock *clock, const struct place *place)
{
    struct place *old = find_place(clock, place->range);

    if (old)
        *old = *place;
    else
        (void)!rn_buf_add(&clock->places, rn_view_of(place, sizeof(*place)));
}

static void forget_places(struct rn_ttl *x)
{
    for (struct rn_ttl_clock *c = x->clocks; c; c = c->next)
        rn_buf_clear(&c->places);
}

/* ---- a slice ------------------------------------------------------------- */

struct slice {
    struct rn_engine *engine;
    struct rn_txn *txn;
    const struct rn_container *container;
    struct rn_ttl_clock *clock;
    int64_t now;
    uint64_t bytes; /* redo bytes at which it ends */
    int32_t keys;   /* left */
    struct rn_err err;
};

static bool is_spent(const struct slice *s)
{
    return s->keys <= 0 || s->txn->redo_bytes >= s->bytes;
}

static void look_again(struct slice *s, int64_t when)
{
    if (when < s->clock->then)
        s->clock->then = when;
}

/* Deletes the document under a 'd' key, if it has expired. */
static enum rn_code remove_document(struct slice *s, const struct rn_key *key,
                                    struct rn_view epk, bool *removed)
{
    struct rn_found found = { 0 };
    struct rn_apply apply;
    enum rn_code rc =
        rn_apply_begin(&apply, s->engine, s->txn, s->container, epk, &s->err);

    if (!rc)
        rc = rn_apply_find(&apply, key, &found);
    *removed = !rc && found.expired;
    if (*removed)
        rc = rn_apply_delete(&apply, key, &found);
    else
        look_again(s, s->now + 1); /* the clock was put back */
    s->keys -= DOCUMENT_KEYS;
    return rc ? rc : rn_apply_end(&apply);
}

/* The first row of a tag at or after `from`: its key, and its value, borrowed
 * until the next write. */
static enum rn_code first_row(struct slice *s, char tag,
                              const struct rn_key *from, struct rn_key *key,
                              struct rn_view *value)
{
    struct rn_key start, end;
    struct rn_key_interval range;
    struct rn_cursor *cursor = NULL;
    struct rn_view found;
    enum rn_code rc;

    rn_key_span_tag(s->container->number, tag, &start, &end);
    range = (struct rn_key_interval){ .from = rn_key_view(from ? from : &start),
                                      .before = rn_key_view(&end) };
    rc = rn_txn_scan(s->txn, &range, &cursor);
    if (!rc)
        rc = rn_cursor_next(cursor, &found, value);
    if (!rc) {
        memcpy(key->bytes, found.at, found.len);
        key->len = found.len;
    }
    rn_cursor_end(cursor);
    return rc;
}

/* ---- documents with a ttl of their own ----------------------------------- */

/* Removes the document of a 't' row, and the row with it. */
static enum rn_code remove_timed(struct slice *s, uint64_t rid, bool *removed)
{
    struct rn_row_document row;
    struct rn_row_feed feed;
    struct rn_view bytes;
    struct rn_epk epk;
    struct rn_key key;
    enum rn_code rc = rn_document_key_of(s->txn, s->container, rid, &key);

    if (!rc)
        rc = rn_txn_get(s->txn, rn_key_view(&key), &bytes);
    if (!rc)
        rc = rn_row_document_decode(bytes, &row);
    if (!rc)
        rc = rn_document_follow(s->txn, s->container, &row, &feed);
    if (rc)
        return rc == RN_NOT_FOUND ? RN_CORRUPT : rc;
    epk.len = feed.epk.len;
    memcpy(epk.bytes, feed.epk.at, feed.epk.len);
    return remove_document(s, &key, rn_epk_view(&epk), removed);
}

static enum rn_code sweep_timed(struct slice *s)
{
    while (!is_spent(s)) {
        struct rn_key key;
        struct rn_view value;
        int64_t expiry;
        bool removed = false;
        enum rn_code rc = first_row(s, RN_TAG_TIME, NULL, &key, &value);

        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
        if (key.len != RN_KEY_HEAD + 16)
            return RN_CORRUPT;
        expiry = (int64_t)rn_get_u64_be(key.bytes + RN_KEY_HEAD);
        if (expiry > s->now) {
            look_again(s, expiry);
            return RN_OK;
        }
        rc = remove_timed(s, rn_get_u64_be(key.bytes + RN_KEY_HEAD + 8),
                          &removed);
        if (rc || !removed)
            return rc;
    }
    return RN_OK;
}

/* ---- documents with the default ttl -------------------------------------- */

/* The key at which the scan goes on, in this range or in the next one that has
 * rows. */
static void place_key(struct slice *s, uint32_t range, struct rn_key *out)
{
    const struct place *place = find_place(s->clock, range);

    rn_key_feed(s->container->number, range, place ? place->lsn : 0,
                place ? place->n + 1 : 0, out);
}

/* Processes one row of a feed; `*more` if the next one may be due, too. */
static enum rn_code sweep_row(struct slice *s, const struct place *at,
                              struct rn_view value, bool *more)
{
    struct rn_row_feed feed;
    struct rn_key key;
    struct rn_epk epk;
    enum rn_code rc = rn_row_feed_decode(value, &feed);

    if (rc)
        return rc;
    if (rn_document_is_expired(s->container, &feed, s->now)) {
        epk.len = feed.epk.len;
        memcpy(epk.bytes, feed.epk.at, feed.epk.len);
        rc = rn_document_key_of(s->txn, s->container, feed.rid, &key);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_CORRUPT : rc;
        return remove_document(s, &key, rn_epk_view(&epk), more);
    }
    s->keys--;
    if (feed.ttl) {
        set_place(s->clock, at); /* its 't' row handles it */
    } else {
        look_again(s, feed.ts + s->container->default_ttl);
    }
    *more = feed.ttl;
    return RN_OK;
}

static enum rn_code sweep_feeds(struct slice *s)
{
    uint32_t range = 0;

    while (!is_spent(s)) {
        struct rn_key from, key;
        struct rn_view value;
        struct place at;
        bool more = true;
        enum rn_code rc;

        place_key(s, range, &from);
        rc = first_row(s, RN_TAG_FEED, &from, &key, &value);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
        if (key.len != RN_KEY_HEAD + 16)
            return RN_CORRUPT;
        at.range = rn_get_u32_be(key.bytes + RN_KEY_HEAD);
        at.lsn = rn_get_u64_be(key.bytes + RN_KEY_HEAD + 4);
        at.n = rn_get_u32_be(key.bytes + RN_KEY_HEAD + 12);
        if (at.range != range && find_place(s->clock, at.range)) {
            range = at.range;
            continue; /* continue at the place reached in that range */
        }
        range = at.range;
        rc = sweep_row(s, &at, value, &more);
        if (rc || (!more && range == UINT32_MAX))
            return rc;
        if (!more)
            range++;
    }
    return RN_OK;
}

/* ---- history ------------------------------------------------------------- */

/* Finds the range in which an entry was written, among those whose history a
 * range has.  Where ranges were merged, an LSN belongs to one of them only. */
static enum rn_code find_birth(struct slice *s, struct rn_view epk,
                               uint64_t lsn, uint32_t *range,
                               struct rn_row_range *row)
{
    enum rn_code rc = rn_range_read(s->txn, s->container, *range, row);
    uint32_t k = 0;

    while (!rc && k < row->parent_count) {
        struct rn_row_range parent;
        uint32_t id = row->parents[k++];

        rc = rn_range_read(s->txn, s->container, id, &parent);
        if (!rc && id < *range && lsn <= parent.lsn &&
            rn_epk_range_has(&parent.epks, epk)) {
            *range = id;
            *row = parent;
            k = 0;
        }
    }
    return rc;
}

/* Records that the history starts later now, so that readers learn of the gap.
 */
static enum rn_code lose(struct slice *s, uint32_t range, struct rn_view epk,
                         uint64_t lsn)
{
    struct rn_row_range row;
    enum rn_code rc = find_birth(s, epk, lsn, &range, &row);

    if (rc || row.lost >= lsn)
        return rc;
    row.lost = lsn;
    return rn_range_write(s->txn, s->container, range, &row);
}

static enum rn_code sweep_history(struct slice *s)
{
    int64_t seconds = s->container->history.seconds;
    uint32_t range = 0;

    while (!is_spent(s)) {
        struct rn_row_history row;
        struct rn_key from, key;
        struct rn_view value;
        struct rn_epk epk;
        uint64_t lsn;
        enum rn_code rc;

        rn_key_history(s->container->number, range, 0, 0, &from);
        rc = first_row(s, RN_TAG_HISTORY, &from, &key, &value);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
        rc = key.len == RN_KEY_HEAD + 16 ? rn_row_history_decode(value, &row)
                                         : RN_CORRUPT;
        if (rc)
            return rc;
        range = rn_get_u32_be(key.bytes + RN_KEY_HEAD);
        lsn = rn_get_u64_be(key.bytes + RN_KEY_HEAD + 4);
        s->keys -= 2;
        if (row.ts + seconds <= s->now) {
            epk.len = row.epk.len;
            memcpy(epk.bytes, row.epk.at, row.epk.len);
            rc = rn_txn_del(s->txn, rn_key_view(&key));
            if (!rc)
                rc = lose(s, range, rn_epk_view(&epk), lsn);
            if (rc)
                return rc;
            continue;
        }
        look_again(s, row.ts + seconds);
        if (range == UINT32_MAX)
            return RN_OK;
        range++;
    }
    return RN_OK;
}

/* ---- the operation ------------------------------------------------------- */

static enum rn_code sweep_container(struct slice *s)
{
    enum rn_code rc = RN_OK;

    s->keys--;
    if (s->container->default_ttl != RN_TTL_OFF)
        rc = sweep_timed(s);
    if (!rc && s->container->default_ttl > 0)
        rc = sweep_feeds(s);
    if (!rc && s->container->history.seconds != RN_HISTORY_FOR_EVER)
        rc = sweep_history(s);
    if (is_spent(s) || rc)
        look_again(s, s->now);
    /* The container was deleted in this transaction, and is still in memory. */
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code sweep_clock(struct slice *s, struct rn_ttl_clock *clock)
{
    struct rn_object *o = rn_catalog_find_rid(s->engine, clock->rid);
    enum rn_code rc;

    if (!o) {
        drop_clock(&s->engine->ttl, clock);
        return RN_OK;
    }
    clock->then = RN_NEVER;
    clock->is_swept = true;
    s->clock = clock;
    s->container = o->container;
    rc = sweep_container(s);
    clock->is_bad = rc && !rn_txn_fault(s->txn);
    rn_object_release(o);
    return rc;
}

static enum rn_code run(struct rn_engine *e, struct rn_txn *txn)
{
    struct slice s = { .engine = e,
                       .txn = txn,
                       .now = rn_engine_now(e),
                       .bytes = txn->redo_bytes + SLICE_BYTES,
                       .keys = SLICE_KEYS };
    struct rn_ttl_clock *clock, *next;
    enum rn_code rc = RN_OK;

    if (e->ttl.is_begun)
        forget_places(&e->ttl); /* the removal was undone */
    e->ttl.is_begun = true;
    for (clock = e->ttl.clocks; clock && !rc && !is_spent(&s); clock = next) {
        next = clock->next;
        if (clock->due <= s.now)
            rc = sweep_clock(&s, clock);
    }
    return rc;
}

/* Did it fail because of one container?  Then the others need not wait. */
static bool find_bad(const struct rn_ttl *x)
{
    const struct rn_ttl_clock *c = x->clocks;

    while (c && !c->is_bad)
        c = c->next;
    return c;
}

static void done(struct rn_engine *e, enum rn_code rc, const struct rn_err *err)
{
    struct rn_ttl *x = &e->ttl;
    int64_t now = rn_engine_now(e);
    bool is_bad = rc && find_bad(x);

    (void)err;
    x->is_begun = false;
    rn_background_set(e, RN_BACKGROUND_EXPIRY, RN_NEVER);
    if (rc)
        forget_places(x);
    if (is_bad)
        atomic_fetch_add(&e->removals_failed, 1);
    for (struct rn_ttl_clock *c = x->clocks; c; c = c->next) {
        if (!rc && c->is_swept)
            c->due = c->then;
        else if (rc && c->due <= now && (c->is_bad || !is_bad))
            c->due = now + RETRY_S;
        c->is_swept = c->is_bad = false;
        set_due(e, c, c->due);
    }
}

const struct rn_background_ops rn_ttl_background = {
    .priority = 2,
    .flags = RN_OPERATION_FREES,
    .run = run,
    .done = done,
};
