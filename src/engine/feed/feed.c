/* feed.c -- see feed.h. */
#include "engine/feed/feed.h"
#include "engine/cleanup/drop_container.h"
#include "engine/document/snapshot.h"

#include "base/bytes.h"
#include "engine/bug.h"
#include "waiters/waiters.h"

#include <stdlib.h>

enum {
    FEED_KEY = RN_KEY_HEAD + 4 + 8 + 4,
    ARENA_MAX = 1 << 20,
    SOURCES_BYTES_MAX = 1 << 20,
    KEYS_PER_ENTRY = 4, /* a key costs a fraction of an entry */
};

/* One of the feeds that are merged. */
struct rn_feed_source {
    uint32_t range;
    struct rn_cursor *cursor;
    enum { BEHIND, READY, ENDED } state;
    struct rn_row_document place; /* READY: the place of its next entry, */
    struct rn_view value;         /* and the entry */
    struct rn_row_feed row;       /* of the last entry taken */
    struct rn_row_history version;
};

static int order_of(const struct rn_row_document *a,
                    const struct rn_row_document *b)
{
    if (a->lsn != b->lsn)
        return a->lsn < b->lsn ? -1 : 1;
    if (a->range != b->range)
        return a->range < b->range ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

enum rn_code rn_feed_range(struct rn_snapshot *r, uint32_t range,
                           struct rn_row_range *out, struct rn_err *err)
{
    enum rn_code rc = rn_range_read(r->txn, r->container, range, out);

    if (rc == RN_NOT_FOUND || (!rc && out->state != RN_RANGE_ALIVE)) {
        return rn_fail(err, RN_GONE,
                       "the partition key range '%u' has been split, merged or "
                       "deleted: read the ranges again",
                       range);
    }
    return rc;
}

enum rn_code rn_feed_check_database(struct rn_snapshot *r, struct rn_err *err)
{
    enum rn_code rc = rn_drop_find_database(r->txn, r->container->rid.database);

    if (rc)
        return rc == RN_NOT_FOUND ? RN_OK : rc;
    return rn_fail(err, RN_GONE, "the database has been deleted");
}

struct rn_epk_prefixes rn_feed_epk_prefixes(const struct rn_epk_range *epks)
{
    return rn_epk_prefixes_of(rn_epk_view(&epks->min), rn_epk_view(&epks->max));
}

/* ---- one entry ----------------------------------------------------------- */

static bool has_key(const struct rn_feed *f, struct rn_view json)
{
    bool yes = false;

    return !rn_document_has_key(f->reading->container, f->scan->pk, json,
                                &yes) &&
           yes;
}

/* Different keys may have one EPK; see key.h. */
static bool is_of_key(const struct rn_feed *f, struct rn_view json)
{
    const struct rn_pk *pk = f->scan->pk;

    return !pk || pk->count != f->reading->container->pkdef.count ||
           has_key(f, json);
}

static bool is_late(const struct rn_feed *f, uint64_t lsn, int64_t ts)
{
    return ts >= f->scan->since || lsn > f->scan->since_upto;
}

/* Is the LSN above the floor of its interval? */
static bool is_new(const struct rn_feed *f, uint64_t lsn, struct rn_view epk)
{
    const struct rn_feed_floor *floors = f->scan->floors;
    size_t low = 0, high = f->scan->floor_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rn_view_compare(rn_epk_view(&floors[middle].epks.max), epk) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low == f->scan->floor_count ||
           !rn_epk_range_has(&floors[low].epks, epk) || lsn > floors[low].lsn;
}

static bool is_wanted(const struct rn_feed *f, uint64_t lsn,
                      const struct rn_row_feed *row)
{
    return rn_epk_range_has(&f->scan->epks, row->epk) &&
           is_new(f, lsn, row->epk) && is_late(f, lsn, row->ts) &&
           !rn_document_is_expired(f->reading->container, row,
                                   f->reading->now) &&
           is_of_key(f, row->json);
}

static bool is_version_wanted(const struct rn_feed *f, uint64_t lsn,
                              const struct rn_row_history *h)
{
    return rn_epk_range_has(&f->scan->epks, h->epk) && is_new(f, lsn, h->epk) &&
           is_late(f, lsn, h->ts) &&
           is_of_key(f, h->current.len ? h->current : h->previous);
}

static bool is_tired(const struct rn_feed *f)
{
    return f->entries >= f->scan->entries_max || f->bytes >= f->scan->bytes_max;
}

static void give(struct rn_feed *f, const struct rn_row_document *place,
                 const struct rn_row_feed *row, struct rn_change *out)
{
    f->last = *place;
    out->place = *place;
    out->ts = row->ts;
    out->json = row->json;
}

/* ---- by keys ------------------------------------------------------------- */

static int sort_order(const void *a, const void *b)
{
    return order_of(a, b);
}

static size_t found_count(const struct rn_feed *f)
{
    return f->found.len / sizeof(struct rn_row_document);
}

/* A transaction larger than the budget is still read completely. */
static bool has_room(const struct rn_feed *f)
{
    return f->found.len + KEYS_PER_ENTRY * sizeof(struct rn_row_document) <=
           f->found.ceiling;
}

static void close_sources(struct rn_feed *f)
{
    for (size_t i = 0; i < f->source_count; i++)
        rn_cursor_end(f->sources[i].cursor);
    rn_free(f->sources);
    f->sources = NULL;
    f->source_count = 0;
}

/* Scans some more of the keys; at their end the sorted list replaces the feed.
 */
static enum rn_code walk_keys(struct rn_feed *f)
{
    struct rn_documents_scan scan = { .epks = f->scan->epks,
                                      .pk = f->scan->pk };
    struct rn_row_document row;
    struct rn_view key, value;
    enum rn_code rc = RN_OK;

    if (!f->keys.reading)
        rc = rn_documents_open(&f->keys, f->reading, &scan);
    for (int i = 0; !rc && i < KEYS_PER_ENTRY; i++) {
        rc = f->keys.cursor ? rn_cursor_next(f->keys.cursor, &key, &value)
                            : RN_NOT_FOUND;
        if (!rc)
            rc = rn_row_document_decode(value, &row);
        if (!rc && row.lsn > f->scan->after && row.lsn <= f->scan->upto)
            rc = rn_buf_add(&f->found, rn_view_of(&row, sizeof(row)));
    }
    if (rc != RN_NOT_FOUND)
        return rc;
    if (f->found.len)
        qsort(f->found.at, found_count(f), sizeof(row), sort_order);
    f->is_listed = true;
    return RN_OK;
}

static enum rn_code next_listed(struct rn_feed *f, struct rn_change *out)
{
    const struct rn_row_document *list = (const void *)f->found.at;
    struct rn_row_feed row;

    while (f->found_at < found_count(f)) {
        const struct rn_row_document *place = &list[f->found_at];
        enum rn_code rc;

        if (order_of(place, &f->last) <= 0) {
            f->found_at++;
            continue;
        }
        if (is_tired(f) && place->lsn != f->last.lsn) {
            f->seen = place->lsn - 1;
            return RN_NOT_FOUND;
        }
        f->found_at++;
        rc = rn_document_follow(f->reading->txn, f->reading->container, place,
                                &row);
        if (rc)
            return rc;
        f->entries++;
        f->bytes += row.json.len;
        f->last = *place;
        if (is_wanted(f, place->lsn, &row)) {
            give(f, place, &row, out);
            return RN_OK;
        }
    }
    f->seen = f->scan->upto;
    return RN_NOT_FOUND;
}

/* ---- by feeds ------------------------------------------------------------ */

static enum rn_code read_entry(struct rn_feed_source *s)
{
    struct rn_view key;
    enum rn_code rc = rn_cursor_next(s->cursor, &key, &s->value);

    if (rc)
        return rc;
    if (key.len != FEED_KEY)
        return RN_CORRUPT;
    s->place.range = s->range;
    s->place.lsn = rn_get_u64_be(key.at + RN_KEY_HEAD + 4);
    s->place.n = rn_get_u32_be(key.at + RN_KEY_HEAD + 12);
    return RN_OK;
}

static enum rn_code take_entry(struct rn_feed *f, struct rn_feed_source *s,
                               bool *wanted)
{
    enum rn_code rc;

    s->state = BEHIND;
    f->looked = s->place.lsn;
    f->entries++;
    f->bytes += s->value.len;
    if (f->scan->all_versions) {
        rc = rn_row_history_decode(s->value, &s->version);
        *wanted = !rc && is_version_wanted(f, s->place.lsn, &s->version);
        s->row.ts = s->version.ts;
        return rc;
    }
    rc = rn_row_feed_decode(s->value, &s->row);
    *wanted = !rc && is_wanted(f, s->place.lsn, &s->row);
    return rc;
}

/* The source whose next entry sorts first; NULL if there are no more. */
static enum rn_code find_first(struct rn_feed *f, struct rn_feed_source **first)
{
    *first = NULL;
    for (size_t i = 0; i < f->source_count; i++) {
        struct rn_feed_source *s = &f->sources[i];

        if (s->state == BEHIND) {
            enum rn_code rc = read_entry(s);
            if (rc && rc != RN_NOT_FOUND)
                return rc;
            s->state = rc ? ENDED : READY;
        }
        if (s->state == READY &&
            (!*first || order_of(&s->place, &(*first)->place) < 0))
            *first = s;
    }
    return RN_OK;
}

/* Entries are examined in the order in which they would be returned, whatever
 * their source.  So the budget can end the scan between two LSNs and nowhere
 * else, and each scan gets past one LSN at least. */
enum rn_code rn_feed_next(struct rn_feed *f, struct rn_change *out)
{
    struct rn_feed_source *first;
    bool wanted = false;

    while (!f->is_listed) {
        enum rn_code rc = find_first(f, &first);

        if (rc)
            return rc;
        if (!first || (is_tired(f) && first->place.lsn != f->looked)) {
            f->seen = first ? first->place.lsn - 1 : f->scan->upto;
            return RN_NOT_FOUND;
        }
        rc = take_entry(f, first, &wanted);
        if (rc)
            return rc;
        if (wanted) {
            give(f, &first->place, &first->row, out);
            if (f->scan->all_versions)
                out->version = first->version;
            return RN_OK;
        }
        rc = f->is_part && has_room(f) ? walk_keys(f) : RN_OK;
        if (rc)
            return rc;
    }
    close_sources(f);
    return next_listed(f, out);
}

static enum rn_code open_source(struct rn_feed *f, uint32_t range)
{
    uint32_t number = f->reading->container->number;
    struct rn_feed_source *s = &f->sources[f->source_count];
    struct rn_key from, before;
    struct rn_key_interval bounds;

    *s = (struct rn_feed_source){ .range = range };
    if (f->scan->all_versions) {
        rn_key_history(number, range, f->scan->after + 1, 0, &from);
        rn_key_history(number, range, f->scan->upto + 1, 0, &before);
    } else {
        rn_key_feed(number, range, f->scan->after + 1, 0, &from);
        rn_key_feed(number, range, f->scan->upto + 1, 0, &before);
    }
    bounds = (struct rn_key_interval){ .from = rn_key_view(&from),
                                       .before = rn_key_view(&before) };
    f->source_count++;
    if (f->scan->after >= f->scan->upto) {
        s->state = ENDED;
        return RN_OK;
    }
    return rn_txn_scan(f->reading->txn, &bounds, &s->cursor);
}

static bool has_id(const struct rn_buf *ids, uint32_t id)
{
    for (size_t i = 0; i < ids->len; i += sizeof(id)) {
        if (memcmp(ids->at + i, &id, sizeof(id)) == 0)
            return true;
    }
    return false;
}

/* The range, and its ancestors whose feeds may have entries of it above an LSN.
 * A parent's last LSN is not above its child's, and an empty range has empty
 * ancestors, so the search upward ends early. */
static enum rn_code find_sources(struct rn_snapshot *r, uint32_t range,
                                 uint64_t after, bool all_versions,
                                 struct rn_buf *ids)
{
    enum rn_code rc = rn_buf_add(ids, rn_view_of(&range, sizeof(range)));

    for (size_t i = 0; !rc && i < ids->len; i += sizeof(range)) {
        struct rn_row_range row, parent;

        if (RN_BUG(ANCESTOR_FORGOTTEN) && i)
            break;

        memcpy(&range, ids->at + i, sizeof(range));
        rc = rn_range_read(r->txn, r->container, range, &row);
        for (uint32_t k = 0; !rc && k < row.parent_count; k++) {
            if (has_id(ids, row.parents[k]))
                continue;
            rc = rn_range_read(r->txn, r->container, row.parents[k], &parent);
            if (!rc && parent.lsn > after &&
                (parent.state == RN_RANGE_DEAD ||
                 (all_versions && parent.state == RN_RANGE_EMPTY)))
                rc = rn_buf_add(
                    ids, rn_view_of(&row.parents[k], sizeof(row.parents[k])));
        }
    }
    return rc;
}

static enum rn_code open_sources(struct rn_feed *f)
{
    struct rn_buf ids = RN_BUF_INIT(SOURCES_BYTES_MAX);
    uint32_t id;
    enum rn_code rc = find_sources(f->reading, f->scan->range, f->scan->after,
                                   f->scan->all_versions, &ids);

    if (!rc) {
        f->sources = rn_new(ids.len / sizeof(id) * sizeof(*f->sources));
        rc = f->sources ? RN_OK : RN_NOMEM;
    }
    for (size_t i = 0; !rc && i < ids.len; i += sizeof(id)) {
        memcpy(&id, ids.at + i, sizeof(id));
        rc = open_source(f, id);
    }
    rn_buf_release(&ids);
    return rc;
}

enum rn_code rn_feed_open(struct rn_feed *f, struct rn_snapshot *r,
                          const struct rn_feed_scan *scan, struct rn_err *err)
{
    size_t found_max =
        ((size_t)scan->entries_max + 1) * KEYS_PER_ENTRY * sizeof(f->last);
    struct rn_row_range row;
    enum rn_code rc;

    *f = (struct rn_feed){ .reading = r,
                           .scan = scan,
                           .seen = scan->after,
                           .last.lsn = scan->after,
                           .last.range = UINT32_MAX,
                           .last.n = UINT32_MAX,
                           .found = RN_BUF_INIT(found_max) };
    rc = rn_feed_range(r, scan->range, &row, err);
    if (rc)
        return rc;
    f->is_part = !scan->all_versions &&
                 (rn_epk_compare(&scan->epks.min, &row.epks.min) > 0 ||
                  rn_epk_compare(&scan->epks.max, &row.epks.max) < 0);
    return open_sources(f);
}

void rn_feed_close(struct rn_feed *f)
{
    close_sources(f);
    rn_documents_close(&f->keys);
    rn_buf_release(&f->found);
}

/* ---- by time ------------------------------------------------------------- */

/* The first entry of a feed from an LSN on. */
static enum rn_code entry_from(struct rn_snapshot *r, uint32_t range,
                               uint64_t lsn, uint64_t *found, int64_t *ts)
{
    struct rn_feed_source s = { .range = range };
    struct rn_key from, before;
    struct rn_key_interval bounds;
    struct rn_row_feed row;
    enum rn_code rc;

    rn_key_feed(r->container->number, range, lsn, 0, &from);
    rn_key_feed(r->container->number, range, UINT64_MAX, UINT32_MAX, &before);
    bounds = (struct rn_key_interval){ .from = rn_key_view(&from),
                                       .before = rn_key_view(&before) };
    rc = rn_txn_scan(r->txn, &bounds, &s.cursor);
    if (!rc)
        rc = read_entry(&s);
    if (!rc)
        rc = rn_row_feed_decode(s.value, &row);
    if (!rc) {
        *found = s.place.lsn;
        *ts = row.ts;
    }
    rn_cursor_end(s.cursor);
    return rc;
}

/* Bisects, because _ts does not decrease along a feed.  Entries up to `low` are
 * too early; none is from `high` on. */
static enum rn_code bisect(struct rn_snapshot *r, uint32_t range, int64_t ts,
                           uint64_t low, uint64_t *high)
{
    uint64_t middle, found = 0;
    int64_t at = 0;

    while (*high - low > 1) {
        enum rn_code rc;

        middle = low + (*high - low) / 2;
        rc = entry_from(r, range, middle, &found, &at);
        if (rc && rc != RN_NOT_FOUND)
            return rc;
        if (rc || at >= ts)
            *high = middle;
        else
            low = found;
    }
    return RN_OK;
}

/* The first LSN of one feed at which an entry may be late enough, or
 * UINT64_MAX.  A part that a merge has mixed cannot be bisected, but all of it
 * is older than the entries after it: if one of those is too early, so is the
 * mixed part. */
static enum rn_code find_in_feed(struct rn_snapshot *r, uint32_t range,
                                 int64_t ts, uint64_t *lsn)
{
    struct rn_row_range row;
    uint64_t found = 0;
    int64_t at = 0;
    enum rn_code rc = rn_range_read(r->txn, r->container, range, &row);

    *lsn = UINT64_MAX;
    if (rc || row.last_ts < ts)
        return rc;
    if (row.mixed) {
        rc = entry_from(r, range, row.mixed + 1, &found, &at);
        if (rc && rc != RN_NOT_FOUND)
            return rc;
        if (rc || at >= ts) {
            *lsn = 1;
            return RN_OK;
        }
    }
    *lsn = row.lsn + 1;
    rc = bisect(r, range, ts, row.mixed, lsn);
    if (!rc)
        rc = entry_from(r, range, *lsn, &found, &at);
    *lsn = rc ? UINT64_MAX : found;
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_feed_find_time(struct rn_snapshot *r, uint32_t range,
                               int64_t ts, uint64_t *lsn)
{
    struct rn_buf ids = RN_BUF_INIT(SOURCES_BYTES_MAX);
    struct rn_row_range row;
    uint32_t id;
    enum rn_code rc = rn_feed_range(r, range, &row, NULL);

    if (!rc)
        rc = find_sources(r, range, 0, false, &ids);
    *lsn = row.lsn;
    for (size_t i = 0; !rc && i < ids.len; i += sizeof(id)) {
        uint64_t first;

        memcpy(&id, ids.at + i, sizeof(id));
        rc = find_in_feed(r, id, ts, &first);
        if (!rc && first - 1 < *lsn)
            *lsn = first - 1;
    }
    rn_buf_release(&ids);
    return rc;
}
