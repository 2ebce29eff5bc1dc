/* rid_scan.c -- iterates over documents in the order of their rids.
 *
 * A rid begins with the range in which its document was created, so that the
 * 'i' rows of a range, and of each of its ancestors, are contiguous.  Ranges
 * that do not overlap the interval are skipped; rows of an ancestor that lie
 * outside the interval are read and dropped.
 */
#include "engine/document/rid_scan.h"

#include "base/bytes.h"
#include "engine/document/snapshot.h"

/* ---- ranges -------------------------------------------------------------- */

/* Reserves an element, in the arena. */
static enum rn_code make_room(struct rn_creation_counts *b, uint32_t *room,
                              struct rn_arena *arena)
{
    struct rn_creation_count *list;

    if (b->count < *room)
        return RN_OK;
    *room = *room ? 2 * *room : 8;
    list = rn_arena_alloc(arena, *room * sizeof(*list));
    if (!list)
        return RN_TOO_LARGE;
    if (b->count)
        memcpy(list, b->list, b->count * sizeof(*list));
    b->list = list;
    return RN_OK;
}

static enum rn_code add_birth(struct rn_creation_counts *b, struct rn_view key,
                              struct rn_view value)
{
    struct rn_creation_count *to = &b->list[b->count];
    struct rn_row_range row;
    enum rn_code rc = rn_row_range_decode(value, &row);

    if (rc || key.len != RN_KEY_HEAD + 4)
        return RN_CORRUPT;
    *to = (struct rn_creation_count){ .range =
                                          rn_get_u32_be(key.at + RN_KEY_HEAD),
                                      .documents = row.next_rid - 1,
                                      .epks = row.epks };
    b->count++;
    return RN_OK;
}

enum rn_code rn_creation_counts_read(struct rn_creation_counts *b,
                                     struct rn_snapshot *r,
                                     struct rn_arena *arena)
{
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    uint32_t room = 0;
    enum rn_code rc;

    *b = (struct rn_creation_counts){ 0 };
    rn_key_span_tag(r->container->number, RN_TAG_RANGE, &from, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(r->txn, &range, &c);
    while (!rc) {
        rc = rn_cursor_next(c, &key, &value);
        if (!rc)
            rc = make_room(b, &room, arena);
        if (!rc)
            rc = add_birth(b, key, value);
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

uint64_t rn_creation_counts_sum(const struct rn_creation_counts *b,
                                const struct rn_epk_range *epks)
{
    struct rn_epk_range both;
    uint64_t count = 0;

    for (uint32_t i = 0; i < b->count; i++) {
        if (rn_epk_range_meet(&b->list[i].epks, epks, &both))
            count += b->list[i].documents;
    }
    return count;
}

/* ---- rids ---------------------------------------------------------------- */

enum rn_code rn_rid_scan_open(struct rn_rid_scan *s, struct rn_snapshot *r,
                              const struct rn_creation_counts *counts,
                              const struct rn_documents_scan *scan,
                              uint64_t from)
{
    *s = (struct rn_rid_scan){
        .reading = r, .counts = counts, .epks = scan->epks, .from = from
    };
    return rn_documents_bound(r->container, scan, &s->bounds);
}

/* Can the range have wanted documents? */
static bool is_wanted(const struct rn_rid_scan *s,
                      const struct rn_creation_count *b)
{
    struct rn_epk_range both;

    return b->range >= rn_rid_number_range(s->from) &&
           rn_epk_range_meet(&b->epks, &s->epks, &both);
}

/* Opens the rids of the next range; RN_NOT_FOUND if none exists. */
static enum rn_code open_range(struct rn_rid_scan *s)
{
    struct rn_snapshot *r = s->reading;
    const struct rn_creation_counts *b = s->counts;
    struct rn_key from, before;
    struct rn_key_interval range;
    uint64_t first;

    while (s->next < b->count && !is_wanted(s, &b->list[s->next]))
        s->next++;
    if (s->next == b->count)
        return RN_NOT_FOUND;
    first = rn_rid_number(b->list[s->next++].range, 0);
    rn_key_rid(r->container->number, first < s->from ? s->from : first, &from);
    rn_key_rid(r->container->number,
               first + (UINT64_C(1) << RN_RID_COUNTER_BITS), &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    return rn_txn_scan(r->txn, &range, &s->cursor);
}

static enum rn_code next_row(struct rn_rid_scan *s)
{
    struct rn_view key;
    enum rn_code rc = rn_cursor_next(s->cursor, &key, &s->place);

    if (!rc && key.len != RN_KEY_HEAD + 8)
        return RN_CORRUPT;
    if (!rc)
        s->rid = rn_get_u64_be(key.at + RN_KEY_HEAD);
    return rc;
}

enum rn_code rn_rid_scan_next(struct rn_rid_scan *s)
{
    enum rn_code rc = RN_NOT_FOUND;

    for (;;) {
        if (s->cursor)
            rc = next_row(s);
        if (!rc && rn_documents_bounds_have(&s->bounds, s->place))
            return RN_OK;
        if (!rc)
            continue;
        if (rc != RN_NOT_FOUND)
            return rc;
        rn_rid_scan_close(s);
        rc = open_range(s);
        if (rc)
            return rc;
    }
}

void rn_rid_scan_close(struct rn_rid_scan *s)
{
    rn_cursor_end(s->cursor);
    s->cursor = NULL;
}

enum rn_code rn_document_rid_at(struct rn_snapshot *r, struct rn_view place,
                                uint64_t *rid)
{
    struct rn_key key, end;
    struct rn_row_document row;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_span_tag(r->container->number, RN_TAG_DOCUMENT, &key, &end);
    if (place.len > RN_KEY_MAX - RN_KEY_HEAD)
        return RN_CORRUPT;
    memcpy(key.bytes + key.len, place.at, place.len);
    key.len += place.len;
    rc = rn_txn_get(r->txn, rn_key_view(&key), &bytes);
    if (!rc)
        rc = rn_row_document_decode(bytes, &row);
    if (!rc)
        *rid = row.rid;
    return rc;
}
