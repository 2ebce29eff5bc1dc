/* rehome.c -- re-homing: moves the feed entries and the history of dead ranges
 * to their living descendants, in background slices.
 *
 * The row 0 | 'h' | number says that a container has dead ranges that may not
 * be empty.  It is written in the transaction that kills a range and is deleted
 * when the last of them is empty, so after a crash in between the work goes on
 * at the next start.
 *
 * The oldest range is drained first: when a range is empty, so are all its
 * ancestors.  An entry keeps its LSN and its document's etag.  Two entries from
 * the two sides of a merge may have the same LSN and n; then the later one gets
 * the next free n.
 *
 * The entries of one LSN are moved in one transaction.  Otherwise a document
 * that a batch wrote twice would have its versions in two ranges, and nothing
 * would say which of them is the later one.
 */
#include "engine/range/rehome.h"

#include "engine/bug.h"
#include "engine/document/snapshot.h"
#include "engine/engine_state.h"

#include "base/bytes.h"

enum {
    BUSY_ENTRIES = 32, /* in a slice that clients wait for */
    IDLE_ENTRIES = 512,
    SLICE_BYTES = 1 << 20,
};

enum rn_code rn_rehome_mark(struct rn_txn *txn, uint32_t number)
{
    struct rn_key key;

    rn_key_catalog(RN_TAG_REHOME, number, &key);
    return rn_txn_put(txn, rn_key_view(&key), RN_LIT(""));
}

/* The first key of a key interval, and its value. */
static enum rn_code first_of(struct rn_txn *txn, const struct rn_key *from,
                             const struct rn_key *before, struct rn_key *key,
                             struct rn_buf *value)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *c = NULL;
    struct rn_view k, v;
    enum rn_code rc = rn_txn_scan(txn, &range, &c);

    if (!rc)
        rc = rn_cursor_next(c, &k, &v);
    if (!rc) {
        memcpy(key->bytes, k.at, k.len);
        key->len = k.len;
        rn_buf_clear(value);
        rc = rn_buf_add(value, v);
    }
    rn_cursor_end(c);
    return rc;
}

static bool is_unfinished(const struct rn_row_range *row)
{
    return row->state == RN_RANGE_DEAD || row->state == RN_RANGE_EMPTY;
}

/* The oldest dead range that still has feed entries or history. */
static enum rn_code find_dead(struct rn_txn *txn, const struct rn_container *c,
                              uint32_t *id, struct rn_row_range *row)
{
    struct rn_key from, before;
    struct rn_key_interval all;
    struct rn_cursor *cursor = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_key_span_tag(c->number, RN_TAG_RANGE, &from, &before);
    all = (struct rn_key_interval){ .from = rn_key_view(&from),
                                    .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &all, &cursor);
    while (!rc) {
        rc = rn_cursor_next(cursor, &key, &value);
        if (!rc)
            rc = rn_row_range_decode(value, row);
        if (!rc && is_unfinished(row)) {
            *id = rn_get_u32_be(key.at + RN_KEY_HEAD);
            break;
        }
    }
    rn_cursor_end(cursor);
    return rc;
}

static void place_key(char tag, uint32_t number, uint32_t range, uint64_t lsn,
                      uint32_t n, struct rn_key *out)
{
    if (tag == RN_TAG_HISTORY)
        rn_key_history(number, range, lsn, n, out);
    else
        rn_key_feed(number, range, lsn, n, out);
}

/* Finds a free position in the feed. */
static enum rn_code find_room(struct rn_txn *txn, char tag, uint32_t number,
                              struct rn_row_document *d, struct rn_key *out)
{
    struct rn_view taken;
    enum rn_code rc;

    for (;; d->n++) {
        place_key(tag, number, d->range, d->lsn, d->n, out);
        rc = rn_txn_get(txn, rn_key_view(out), &taken);
        if (RN_BUG(HOME_OVERWRITES))
            return RN_OK;
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
    }
}

static enum rn_code move_document(struct rn_txn *txn,
                                  const struct rn_container *c, uint64_t rid,
                                  const struct rn_row_document *to)
{
    char bytes[RN_ROW_DOCUMENT_MAX];
    struct rn_row_document row;
    struct rn_view value;
    struct rn_key key;
    enum rn_code rc = rn_document_key_of(txn, c, rid, &key);

    if (!rc)
        rc = rn_txn_get(txn, rn_key_view(&key), &value);
    if (!rc)
        rc = rn_row_document_decode(value, &row);
    if (rc)
        return rc == RN_NOT_FOUND ? RN_CORRUPT : rc;
    if (!row.is_moved) {
        row.is_moved = true;
        row.birth_range = row.range;
        row.birth_n = row.n;
    }
    row.range = to->range;
    row.n = to->n;
    return rn_txn_put(txn, rn_key_view(&key),
                      rn_view_of(bytes, rn_row_document_encode(&row, bytes)));
}

/* The EPK of an entry, and for a document's latest version its rid. */
static enum rn_code read_entry(char tag, struct rn_view value,
                               struct rn_view *epk, uint64_t *rid)
{
    struct rn_row_history version;
    struct rn_row_feed feed;
    enum rn_code rc;

    if (tag == RN_TAG_HISTORY) {
        rc = rn_row_history_decode(value, &version);
        *epk = rc ? *epk : version.epk;
        return rc;
    }
    rc = rn_row_feed_decode(value, &feed);
    *epk = rc ? *epk : feed.epk;
    *rid = rc ? 0 : feed.rid;
    return rc;
}

/* A dead range, and a cache of the living ranges that its entries have moved
 * to: a slice needs them repeatedly. */
struct origin {
    uint32_t id;
    const struct rn_row_range *row;
    struct rn_buf living; /* of struct owner */
};

struct owner {
    uint32_t id;
    struct rn_epk_range epks;
};

static enum rn_code find_owner(struct rn_txn *txn, const struct rn_container *c,
                               struct origin *from, struct rn_view epk,
                               uint32_t *id)
{
    const struct owner *known = (const void *)from->living.at;
    struct rn_row_range row = *from->row;
    struct owner found;
    enum rn_code rc;

    for (size_t i = 0; i < from->living.len / sizeof(*known); i++) {
        if (rn_epk_range_has(&known[i].epks, epk)) {
            *id = known[i].id;
            return RN_OK;
        }
    }
    *id = from->id;
    rc = rn_range_descend(txn, c, epk, id, &row);
    if (rc)
        return rc;
    memset(&found, 0, sizeof(found));
    found.id = *id;
    found.epks = row.epks;
    return rn_buf_add(&from->living, rn_view_of(&found, sizeof(found)));
}

static enum rn_code move_entry(struct rn_txn *txn, const struct rn_container *c,
                               struct origin *from, const struct rn_key *key,
                               struct rn_view value)
{
    char tag = key->bytes[RN_KEY_HEAD - 1];
    struct rn_row_document to = { 0 };
    struct rn_view epk = { 0 };
    struct rn_key target;
    uint64_t rid = 0;
    enum rn_code rc = read_entry(tag, value, &epk, &rid);

    if (!rc)
        rc = find_owner(txn, c, from, epk, &to.range);
    to.lsn = rn_get_u64_be(key->bytes + RN_KEY_HEAD + 4);
    to.n = rn_get_u32_be(key->bytes + RN_KEY_HEAD + 12);
    if (!rc)
        rc = find_room(txn, tag, c->number, &to, &target);
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&target), value);
    if (!rc)
        rc = rn_txn_del(txn, rn_key_view(key));
    if (rc || tag == RN_TAG_HISTORY)
        return rc;
    return move_document(txn, c, rid, &to);
}

/* Copies entries of a dead range, one after the other: key, length of the
 * value, value. */
static enum rn_code gather(struct rn_txn *txn, const struct rn_key *from,
                           const struct rn_key *before, uint32_t entries,
                           struct rn_buf *out)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    char len[4];
    enum rn_code rc = rn_txn_scan(txn, &range, &c);

    while (!rc && entries-- && out->len < SLICE_BYTES) {
        rc = rn_cursor_next(c, &key, &value);
        if (!rc && key.len != from->len)
            rc = RN_CORRUPT;
        if (rc)
            break;
        rn_put_u32_be(len, (uint32_t)value.len);
        rc = rn_buf_add(out, key);
        if (!rc)
            rc = rn_buf_add(out, rn_view_of(len, sizeof(len)));
        if (!rc)
            rc = rn_buf_add(out, value);
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND && out->len ? RN_OK : rc;
}

/* Moves some entries of [from, before), and sets h->next to the key of the last
 * one; RN_NOT_FOUND if there are none. */
static enum rn_code move_some(struct rn_txn *txn, const struct rn_container *c,
                              struct origin *origin, const struct rn_key *from,
                              const struct rn_key *before, struct rn_rehome *h)
{
    struct rn_buf all = RN_BUF_INIT(SLICE_BYTES + 2 * RN_VALUE_MAX);
    struct rn_key key = *from;
    enum rn_code rc = gather(txn, from, before, h->entries, &all);

    for (size_t at = 0; !rc && at < all.len;) {
        uint32_t len = rn_get_u32_be(all.at + at + key.len);

        memcpy(key.bytes, all.at + at, key.len);
        at += key.len + 4;
        rc = move_entry(txn, c, origin, &key, rn_view_of(all.at + at, len));
        at += len;
    }
    if (!rc)
        h->next = key;
    rn_buf_release(&all);
    return rc;
}

/* Moves the remaining entries with the LSN of the last one that was moved. */
static enum rn_code finish_lsn(struct rn_txn *txn, const struct rn_container *c,
                               char tag, struct origin *origin,
                               struct rn_rehome *h)
{
    uint64_t lsn = rn_get_u64_be(h->next.bytes + RN_KEY_HEAD + 4);
    struct rn_key from, before;
    enum rn_code rc = RN_OK;

    place_key(tag, c->number, origin->id, lsn + 1, 0, &before);
    while (!rc) {
        from = h->next;
        rc = move_some(txn, c, origin, &from, &before, h);
    }
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* Moves some of a dead range's entries of one kind, from `h->next` on if that
 * is among them; RN_NOT_FOUND when there are no more. */
static enum rn_code empty_some(struct rn_txn *txn, const struct rn_container *c,
                               char tag, uint32_t id,
                               const struct rn_row_range *row,
                               struct rn_rehome *h)
{
    struct origin origin = { id, row, RN_BUF_INIT(1 << 20) };
    struct rn_key from, before;
    enum rn_code rc;

    place_key(tag, c->number, id, 0, 0, &from);
    place_key(tag, c->number, id, UINT64_MAX, UINT32_MAX, &before);
    if (rn_view_compare(rn_key_view(&h->next), rn_key_view(&from)) > 0 &&
        rn_view_compare(rn_key_view(&h->next), rn_key_view(&before)) < 0)
        from = h->next;
    rc = move_some(txn, c, &origin, &from, &before, h);
    if (!rc)
        rc = finish_lsn(txn, c, tag, &origin, h);
    rn_buf_release(&origin.living);
    return rc;
}

/* First the latest versions (the feed), then the history. */
static enum rn_code empty_range(struct rn_txn *txn,
                                const struct rn_container *c, uint32_t id,
                                struct rn_row_range *row, struct rn_rehome *h)
{
    enum rn_code rc = RN_OK;

    if (row->state == RN_RANGE_DEAD) {
        rc = empty_some(txn, c, RN_TAG_FEED, id, row, h);
        if (rc != RN_NOT_FOUND)
            return rc;
        row->state = RN_RANGE_EMPTY;
        rc = rn_range_write(txn, c, id, row);
    }
    if (!rc)
        rc = empty_some(txn, c, RN_TAG_HISTORY, id, row, h);
    if (rc != RN_NOT_FOUND)
        return rc;
    row->state = RN_RANGE_BARE;
    return rn_range_write(txn, c, id, row);
}

/* Large slices save syncs, but clients that write would wait for them. */
static void set_size(struct rn_engine *e)
{
    struct rn_rehome *h = &e->rehome;
    bool is_busy = h->writes != e->background.writes;

    h->writes = e->background.writes;
    if (e->opts.home_entries)
        h->entries = e->opts.home_entries;
    else if (is_busy || !h->entries)
        h->entries = BUSY_ENTRIES;
    else if (h->entries < IDLE_ENTRIES)
        h->entries *= 2;
}

static enum rn_code run(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_buf value = RN_BUF_INIT(64);
    struct rn_key from, before, key;
    struct rn_container c = { 0 }; /* only its number is needed */
    struct rn_row_range row;
    uint32_t id = 0;
    enum rn_code rc;

    e->rehome.next = e->rehome.at;
    set_size(e);
    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_REHOME, &from, &before);
    rc = first_of(txn, &from, &before, &key, &value);
    rn_buf_release(&value);
    if (rc)
        return rc;
    if (key.len != RN_KEY_HEAD + 4)
        return RN_CORRUPT;
    c.number = rn_get_u32_be(key.bytes + RN_KEY_HEAD);
    rn_ttl_moved(e, c.number);
    rc = find_dead(txn, &c, &id, &row);
    if (!rc)
        rc = empty_range(txn, &c, id, &row, &e->rehome);
    /* All are empty, or the container was deleted. */
    return rc == RN_NOT_FOUND ? rn_txn_del(txn, rn_key_view(&key)) : rc;
}

/* Goes on until everything is re-homed; if the store is full or has failed, it
 * stops until the next split or start. */
static void done(struct rn_engine *e, enum rn_code rc, const struct rn_err *err)
{
    (void)err;
    if (rc)
        rn_background_set(e, RN_BACKGROUND_REHOME, RN_NEVER);
    else
        e->rehome.at = e->rehome.next;
}

/* If an operation fails after it has written, its group is aborted and its
 * operations run again one by one: so this needs no overlay. */
const struct rn_background_ops rn_rehome_background = {
    .priority = 1,
    .is_paced = true,
    .bytes = UINT64_C(2) * SLICE_BYTES,
    .run = run,
    .done = done,
};
