/* index_fill.c -- builds an index: adds the documents that are older than it.
 *
 * They are read in feed order, in which bodies are contiguous, and added in
 * index order, many at a time, so that neighbouring rows share a page.  A
 * change moves a document to the end of a feed, and re-homing moves it from a
 * dead range to a younger one, whose number is higher: no unread document moves
 * to a place that was already read.  A document may change between reading and
 * adding.  That write has put the index row and noted the document, and the
 * entry is skipped.
 *
 * An entry: key length 2 | place length 2 | rid 8 | lsn 8 | key | place
 */
#include "engine/index/index_fill.h"

#include "engine/index/indexer.h"

#include "base/bytes.h"
#include "engine/engine_state.h"
#include "engine/index/index.h"
#include "engine/index/index_set.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ENTRY_HEAD = 20,
    FILL_BYTES = 8 << 20,
    FILL_MAX = FILL_BYTES + (64 << 10),
    FILL_READ = 1024, /* documents in a slice, without client writes */
    FILL_ADD = 512,
    FILL_MOST = 256, /* and with client writes, in a share of the time */
    READ_SHARE = 50,
    ADD_SHARE = 100, /* added rows also cost their flush later */
};

/* Entries read by a run that was undone are read again. */
void rn_index_filling_cut(struct rn_index_filling *f)
{
    f->entries.len = f->entries_len;
    f->offsets.len = f->offsets_len;
    f->is_full = f->was_full;
    f->added = f->was_added;
    f->at_len = f->was_at_len;
    memcpy(f->at, f->was_at, sizeof(f->at));
}

static void filling_keep(struct rn_index_filling *f)
{
    f->entries_len = f->entries.len;
    f->offsets_len = f->offsets.len;
    f->was_full = f->is_full;
    f->was_added = f->added;
    f->was_at_len = f->at_len;
    memcpy(f->was_at, f->at, sizeof(f->at));
}

void rn_index_filling_release(struct rn_index_filling *f)
{
    rn_buf_release(&f->entries);
    rn_buf_release(&f->offsets);
    rn_buf_release(&f->sorted);
}

void rn_index_filling_reset(struct rn_index_filling *f)
{
    rn_index_filling_release(f);
    *f = (struct rn_index_filling){ .entries = RN_BUF_INIT(FILL_MAX),
                                    .offsets = RN_BUF_INIT(FILL_MAX),
                                    .sorted = RN_BUF_INIT(FILL_MAX),
                                    .resets = f->resets + 1,
                                    .seen = f->seen };
}

static uint64_t *changed_bit(struct rn_index_filling *f, uint64_t rid,
                             uint64_t *bit)
{
    uint64_t at = rid * UINT64_C(0x9e3779b97f4a7c15) >> 48;

    static_assert(RN_INDEX_CHANGED == 1 << 16, "as many as the hash has");
    *bit = UINT64_C(1) << at % 64;
    return &f->changed[at / 64];
}

void rn_index_filling_note(struct rn_index_filling *f, uint32_t container,
                           uint64_t rid)
{
    uint64_t bit, *word = changed_bit(f, rid, &bit);

    if (f->container == container)
        *word |= bit;
}

static bool may_have_changed(struct rn_index_filling *f, const char *entry)
{
    uint64_t bit, *word = changed_bit(f, rn_get_u64_be(entry + 4), &bit);

    return *word & bit;
}

static enum rn_code add_entry(struct rn_index_filling *f,
                              const struct rn_key *key, struct rn_view place,
                              const struct rn_row_document *row)
{
    uint32_t offset = (uint32_t)f->entries.len;
    char head[ENTRY_HEAD];
    enum rn_code rc = rn_buf_add(&f->offsets, rn_view_of(&offset, 4));

    rn_put_u16(head, (uint16_t)key->len);
    rn_put_u16(head + 2, (uint16_t)place.len);
    rn_put_u64_be(head + 4, row->rid);
    rn_put_u64_be(head + 12, row->lsn);
    if (!rc)
        rc = rn_buf_add(&f->entries, rn_view_of(head, ENTRY_HEAD));
    if (!rc)
        rc = rn_buf_add(&f->entries, rn_key_view(key));
    return rc ? rc : rn_buf_add(&f->entries, place);
}

static struct rn_view entry_key(const char *entry)
{
    return rn_view_of(entry + ENTRY_HEAD, rn_get_u16(entry));
}

static struct rn_view entry_place(const char *entry)
{
    return rn_view_of(entry + ENTRY_HEAD + rn_get_u16(entry),
                      rn_get_u16(entry + 2));
}

/* Sort entry: the first bytes nearly always decide. */
struct ranked {
    uint64_t first;
    uint32_t offset;
};

static int by_key(const void *a, const void *b, void *entries)
{
    const struct ranked *x = a, *y = b;
    const char *at = entries;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return rn_view_compare(entry_key(at + x->offset),
                           entry_key(at + y->offset));
}

static enum rn_code read_entry(struct rn_index_work *w,
                               const struct rn_index *x, uint64_t lsn,
                               struct rn_view value)
{
    struct rn_json *j = &w->engine->indexer.json;
    struct rn_row_document row = { .lsn = lsn };
    struct rn_row_feed feed;
    struct rn_key to, by_rid;
    struct rn_view place;
    enum rn_code rc = rn_row_feed_decode(value, &feed);

    if (!rc)
        rc = rn_index_set_parse(w->set, j, feed.json);
    if (!rc)
        rc = rn_index_key_of(w->number, x, j, feed.rid, &to);
    if (rc)
        return rc;
    row.rid = feed.rid;
    rn_key_rid(w->number, feed.rid, &by_rid);
    rc = rn_txn_get(w->txn, rn_key_view(&by_rid), &place);
    if (rc)
        return rc == RN_NOT_FOUND ? RN_CORRUPT : rc;
    return add_entry(&w->engine->indexer.filling, &to, place, &row);
}

static bool is_filled(const struct rn_indexer *x)
{
    return x->filling.entries.len >= FILL_BYTES ||
           x->filling.offsets.len / 4 >= x->fill_batch;
}

/* Was the entry written after the read of its range began?  Then so was the
 * rest. */
static enum rn_code is_later(struct rn_index_work *w, uint32_t range,
                             uint64_t lsn, bool *out)
{
    struct rn_indexer *x = &w->engine->indexer;
    struct rn_container c = { .number = w->number };
    struct rn_row_range row;
    enum rn_code rc = RN_OK;

    if (!x->fill_lsn || x->fill_range != range) {
        rc = rn_range_read(w->txn, &c, range, &row);
        x->fill_range = range;
        x->fill_lsn = rc ? 0 : row.lsn;
    }
    *out = lsn > x->fill_lsn;
    return rc;
}

/* Reads on after `f->at`, up to the first later entry; the rest of that range
 * is skipped. */
static enum rn_code read_on(struct rn_index_work *w, const struct rn_index *x,
                            size_t *most)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    struct rn_view key, value;
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    bool is_past = false;
    enum rn_code rc;

    rn_key_span_tag(w->number, RN_TAG_FEED, &from, &before);
    memcpy(from.bytes + from.len, f->at, f->at_len);
    from.len += f->at_len;
    if (f->at_len)
        from.bytes[from.len++] = 0;
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(w->txn, &range, &c);
    for (; !rc && !is_past && *most && !is_filled(&w->engine->indexer);
         --*most) {
        uint64_t lsn;

        rc = rn_cursor_next(c, &key, &value);
        if (!rc && key.len != RN_KEY_HEAD + RN_FEED_PLACE)
            rc = RN_CORRUPT;
        if (rc)
            break;
        lsn = rn_get_u64_be(key.at + RN_KEY_HEAD + 4);
        rc = is_later(w, rn_get_u32_be(key.at + RN_KEY_HEAD), lsn, &is_past);
        if (!rc && !is_past)
            rc = read_entry(w, x, lsn, value);
        if (rc)
            break;
        f->at_len = RN_FEED_PLACE;
        memcpy(f->at, key.at + RN_KEY_HEAD, RN_FEED_PLACE);
        if (is_past)
            memset(f->at + 4, 0xff, RN_FEED_PLACE - 4);
    }
    rn_cursor_end(c);
    return rc;
}

static enum rn_code read_some(struct rn_index_work *w, const struct rn_index *x,
                              size_t most)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    enum rn_code rc = RN_OK;

    if (!f->at_len && x->behind.len == RN_FEED_PLACE) {
        memcpy(f->at, x->behind.at, RN_FEED_PLACE);
        f->at_len = RN_FEED_PLACE;
    }
    while (!rc && most && !is_filled(&w->engine->indexer))
        rc = read_on(w, x, &most);
    f->is_end = rc == RN_NOT_FOUND;
    f->is_full = f->is_end || is_filled(&w->engine->indexer);
    return f->is_end ? RN_OK : rc;
}

/* Is the document still the version that was read? */
static enum rn_code is_current(struct rn_index_work *w, const char *entry,
                               bool *out)
{
    struct rn_view place = entry_place(entry), value;
    struct rn_row_document row;
    struct rn_key key, end;
    enum rn_code rc;

    rn_key_span_tag(w->number, RN_TAG_DOCUMENT, &key, &end);
    memcpy(key.bytes + key.len, place.at, place.len);
    key.len += place.len;
    rc = rn_txn_get(w->txn, rn_key_view(&key), &value);
    *out = false;
    if (rc)
        return rc == RN_NOT_FOUND ? RN_OK : rc;
    rc = rn_row_document_decode(value, &row);
    *out = !rc && row.rid == rn_get_u64_be(entry + 4) &&
           row.lsn == rn_get_u64_be(entry + 12);
    return rc;
}

static enum rn_code add_some(struct rn_index_work *w, size_t most)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    const struct ranked *list = (const void *)f->sorted.at;
    size_t count = f->sorted.len / sizeof(*list);
    enum rn_code rc = RN_OK;

    for (; !rc && most > 0 && f->added < count; most--, f->added++) {
        const char *entry = f->entries.at + list[f->added].offset;
        bool is_good = true;

        if (may_have_changed(f, entry))
            rc = is_current(w, entry, &is_good);
        if (!rc && is_good)
            rc = rn_txn_put(w->txn, entry_key(entry), entry_place(entry));
    }
    return rc;
}

static enum rn_code sort_entries(struct rn_index_filling *f)
{
    enum rn_code rc = RN_OK;

    if (f->added > 0)
        return RN_OK;
    rn_buf_clear(&f->sorted);
    for (size_t i = 0; i < f->offsets.len && !rc; i += 4) {
        struct ranked r = { 0 };
        struct rn_view key;

        memcpy(&r.offset, f->offsets.at + i, 4);
        key = entry_key(f->entries.at + r.offset);
        /* No key is shorter, because it ends with a rid. */
        r.first = rn_get_u64_be(key.at + RN_KEY_HEAD + 1);
        rc = rn_buf_add(&f->sorted, rn_view_of(&r, sizeof(r)));
    }
    if (!rc && f->sorted.len)
        qsort_r(f->sorted.at, f->sorted.len / sizeof(struct ranked),
                sizeof(struct ranked), by_key, f->entries.at);
    return rc;
}

/* How many documents to read or to add.  Client writes wait for a slice in
 * their group, so while there are any, the slice is limited to a share of the
 * time since the last one. */
static size_t slice_size(struct rn_engine *e, bool is_reading, int64_t now)
{
    struct rn_indexer *x = &e->indexer;
    uint64_t writes = e->background.writes - x->writes_seen;
    int64_t share =
        (now - x->sliced_ns) / (is_reading ? READ_SHARE : ADD_SHARE);
    int64_t cost = x->cost_ns[is_reading], most;

    x->writes_seen = e->background.writes;
    if (!writes)
        return is_reading ? FILL_READ : FILL_ADD;
    most = cost ? share / cost : FILL_MOST;
    if (most < 1)
        return 1;
    return most < FILL_MOST ? (size_t)most : (size_t)FILL_MOST;
}

/* Updates the average cost of a document; recent slices weigh most. */
static void note_cost(struct rn_engine *e, bool is_reading, int64_t begun,
                      size_t done)
{
    struct rn_indexer *x = &e->indexer;
    int64_t *cost = &x->cost_ns[is_reading];

    x->sliced_ns = rn_mono_ns(e->env);
    if (done)
        *cost = (3 * *cost + (x->sliced_ns - begun) / (int64_t)done) / 4;
}

/* Adds rows for the entries that were read; sets `*is_all` when all are added.
 */
static enum rn_code add_slice(struct rn_index_work *w, bool *is_all)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    enum rn_code rc = sort_entries(f);
    int64_t begun = rn_mono_ns(w->engine->env);
    size_t before = f->added;

    if (!rc)
        rc = add_some(w, slice_size(w->engine, false, begun));
    note_cost(w->engine, false, begun, f->added - before);
    *is_all = f->added == f->offsets.len / 4;
    return rc;
}

static enum rn_code read_slice(struct rn_index_work *w,
                               const struct rn_index *x)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    int64_t begun = rn_mono_ns(w->engine->env);
    size_t before = f->offsets.len;
    enum rn_code rc = read_some(w, x, slice_size(w->engine, true, begun));

    note_cost(w->engine, true, begun, (f->offsets.len - before) / 4);
    return rc;
}

/* Resets the limit, unless it is of this index, whose build goes on. */
static void forget_limit(struct rn_index_work *w, const struct rn_index *x)
{
    struct rn_indexer *all = &w->engine->indexer;

    if (all->fill_container != w->number || all->fill_number != x->number ||
        !x->behind.len)
        all->fill_lsn = 0;
    all->fill_container = w->number;
    all->fill_number = x->number;
}

enum rn_code rn_index_fill(struct rn_index_work *w, struct rn_index *x)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    bool is_all = false;
    enum rn_code rc;

    if (f->container != w->number || f->number != x->number) {
        rn_index_filling_reset(f);
        f->container = w->number;
        f->number = x->number;
        forget_limit(w, x);
    }
    f->seen = f->resets;
    if (!f->is_full)
        return read_slice(w, x);
    rc = add_slice(w, &is_all);
    if (rc || !is_all)
        return rc;
    x->documents += f->added;
    x->behind = f->is_end ? RN_LIT("") : rn_view_of(f->at, f->at_len);
    rc = f->is_end ? rn_index_move_on(w, x, RN_INDEX_COMPLETE)
                   : rn_index_put(w->txn, w->number, x);
    x->behind = RN_LIT("");
    return rc;
}

void rn_index_filling_done(struct rn_index_filling *f)
{
    if (f->seen != f->resets)
        return; /* its index no longer exists */
    if (f->is_full && f->was_full && f->added == f->offsets.len / 4)
        rn_index_filling_reset(f);
    filling_keep(f);
}
