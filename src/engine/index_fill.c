/* index_fill.c -- an index that is built gets the documents from before.
 *
 * They are read in the order of their keys and added in that of the index, many
 * at a time: rows that lie beside each other go into a page together.  In
 * between a document may change; who changed it has put its row, and the entry
 * is passed over.
 *
 * An entry: key length 2 | place length 2 | rid 8 | lsn 8 | key | place
 */
#include "engine/indexer.h"

#include "base/bytes.h"
#include "engine/own.h"

#include <stdlib.h>

enum {
    ENTRY_HEAD = 20,
    FILL_OFFSETS = 4 * 32768, /* of entries that are added together */
    FILL_BYTES = 8 << 20,
    FILL_MAX = FILL_BYTES + (64 << 10),
    FILL_READ = 1024, /* documents in a slice, while nobody writes */
    FILL_ADD = 512,
    FILL_LEAST = 8, /* and while there are writes */
    MOST = 256,
};

/* What a run that was undone has read is read again. */
void rn_index_filling_cut(struct rn_index_filling *f)
{
    f->entries.len = f->entries_len;
    f->offsets.len = f->offsets_len;
    f->is_full = f->was_full;
    f->added = f->was_added;
}

static void filling_keep(struct rn_index_filling *f)
{
    f->entries_len = f->entries.len;
    f->offsets_len = f->offsets.len;
    f->was_full = f->is_full;
    f->was_added = f->added;
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

/* The first bytes decide nearly always. */
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
                               const struct rn_index *x, struct rn_view key,
                               struct rn_view value)
{
    struct rn_container c = { .number = w->number };
    struct rn_json *j = &w->engine->indexer.json;
    struct rn_row_document row;
    struct rn_row_feed feed;
    struct rn_key to;
    enum rn_code rc = rn_row_document_decode(value, &row);

    if (!rc)
        rc = rn_document_follow(w->txn, &c, &row, &feed);
    if (!rc)
        rc = rn_index_set_parse(w->set, j, feed.json);
    if (rc)
        return rc;
    rc = rn_index_key_of(w->number, x, j, row.rid, &to);
    return rc ? rc
              : add_entry(
                    &w->engine->indexer.filling, &to,
                    rn_view_of(key.at + RN_KEY_HEAD, key.len - RN_KEY_HEAD),
                    &row);
}

/* The place of the document that was read last. */
static struct rn_view last_place(const struct rn_index_filling *f,
                                 const struct rn_index *x)
{
    uint32_t offset;

    if (!f->offsets.len)
        return x->behind;
    memcpy(&offset, f->offsets.at + f->offsets.len - 4, 4);
    return entry_place(f->entries.at + offset);
}

static bool is_filled(const struct rn_index_filling *f)
{
    return f->entries.len >= FILL_BYTES || f->offsets.len >= FILL_OFFSETS;
}

static enum rn_code read_some(struct rn_index_work *w, const struct rn_index *x,
                              size_t most)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    struct rn_view behind = last_place(f, x), key, value;
    struct rn_key from, before;
    struct rn_range range;
    struct rn_cursor *c = NULL;
    enum rn_code rc;

    rn_key_span_tag(w->number, RN_TAG_DOCUMENT, &from, &before);
    if (behind.len) {
        memcpy(from.bytes + from.len, behind.at, behind.len);
        from.len += behind.len;
        from.bytes[from.len++] = 0;
    }
    range = (struct rn_range){ .from = rn_key_view(&from),
                               .before = rn_key_view(&before) };
    rc = rn_txn_scan(w->txn, &range, &c);
    for (size_t i = 0; !rc && i < most && !is_filled(f); i++) {
        rc = rn_cursor_next(c, &key, &value);
        if (!rc)
            rc = read_entry(w, x, key, value);
    }
    rn_cursor_end(c);
    f->is_end = rc == RN_NOT_FOUND;
    f->is_full = f->is_end || is_filled(f);
    return f->is_end ? RN_OK : rc;
}

/* Is the document the one that was read? */
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
        bool is_good;

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
        /* No key is shorter: there is a rid at its end. */
        r.first = rn_get_u64_be(key.at + RN_KEY_HEAD + 1);
        rc = rn_buf_add(&f->sorted, rn_view_of(&r, sizeof(r)));
    }
    if (!rc && f->sorted.len)
        qsort_r(f->sorted.at, f->sorted.len / sizeof(struct ranked),
                sizeof(struct ranked), by_key, f->entries.at);
    return rc;
}

/* How many documents to read, or to add.  While there are writes, which wait
 * for the slice in their group, it is by their number. */
static size_t slice_size(struct rn_engine *e, bool is_reading)
{
    struct rn_indexer *x = &e->indexer;
    uint64_t turns = x->turns - x->turns_seen;

    x->turns_seen = x->turns;
    if (!turns)
        return is_reading ? FILL_READ : FILL_ADD;
    turns = is_reading ? turns : turns / 2;
    if (turns < FILL_LEAST)
        return FILL_LEAST;
    return turns < MOST ? (size_t)turns : (size_t)MOST;
}

enum rn_code rn_index_fill(struct rn_index_work *w, struct rn_index *x)
{
    struct rn_index_filling *f = &w->engine->indexer.filling;
    size_t most;
    enum rn_code rc;

    if (f->container != w->number || f->number != x->number) {
        rn_index_filling_reset(f);
        f->container = w->number;
        f->number = x->number;
    }
    f->seen = f->resets;
    most = slice_size(w->engine, !f->is_full);
    if (!f->is_full)
        return read_some(w, x, most);
    rc = sort_entries(f);
    if (!rc)
        rc = add_some(w, most);
    if (rc || f->added < f->offsets.len / 4)
        return rc;
    x->documents += f->added;
    x->behind = f->is_end ? RN_LIT("") : last_place(f, x);
    rc = f->is_end ? rn_index_move_on(w, x, RN_INDEX_COMPLETE)
                   : rn_index_put(w->txn, w->number, x);
    x->behind = RN_LIT("");
    return rc;
}

void rn_index_filling_done(struct rn_index_filling *f)
{
    if (f->seen != f->resets)
        return; /* it was about an index that is no more */
    if (f->is_full && f->was_full && f->added == f->offsets.len / 4)
        rn_index_filling_reset(f);
    filling_keep(f);
}
