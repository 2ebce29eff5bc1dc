/* index.c -- the encoding of indexes, their rows, and their maintenance by
 * writes; see index.h.
 *
 * The row of an index, big endian:
 *
 *   version 1 | state 1 | container rid 8 | used 8 | documents 8 |
 *   length 2, position reached | keys 1 | key ...
 *
 * and a key: descending 1 | names 1 | (length 2, name) ...
 *
 * In version 1 the position was that of a document; a build from then starts
 * anew.
 */
#include "engine/index/index.h"
#include "engine/document/snapshot.h"

#include "base/bytes.h"
#include "engine/engine_state.h"
#include "engine/index/index_fill.h"
#include "engine/index/index_set.h"
#include "engine/index/indexer.h"
#include "query/run/sortkey.h"

#include <assert.h>

enum {
    VERSION = 2,
    VERSION_BY_KEY = 1,
    RID_BYTES = 8, /* of a container */
    ROW_HEAD = 2 + RID_BYTES + 8 + 8,
    KEY_ROOM = RN_KEY_MAX - RN_KEY_HEAD - 1 - 8, /* for all sort keys */
    ARENA_MAX = 8 << 20,
};

const char *rn_index_state_name(enum rn_index_state state)
{
    static const char *const names[] = { "building", "complete", "dropping" };

    return names[state];
}

size_t rn_index_text_max(uint32_t keys)
{
    size_t each = KEY_ROOM / keys - (RN_SORTKEY_MAX - RN_SORTKEY_TEXT_MAX);

    return each < RN_SORTKEY_TEXT_MAX ? each : (size_t)RN_SORTKEY_TEXT_MAX;
}

bool rn_index_is(const struct rn_index *x, const struct rn_index_key *keys,
                 uint32_t count)
{
    bool same = x->count == count;

    for (uint32_t i = 0; same && i < count; i++) {
        same = x->keys[i].is_descending == keys[i].is_descending &&
               rn_json_path_eq(&x->keys[i].path, &keys[i].path);
    }
    return same;
}

/* ---- the row of an index ------------------------------------------------- */

void rn_index_row_key(uint32_t container, uint8_t number, struct rn_key *out)
{
    rn_key_catalog(RN_TAG_INDEXED, container, out);
    out->bytes[out->len++] = (char)number;
}

static enum rn_code put_key(struct rn_buf *out, const struct rn_index_key *k)
{
    char head[2] = { (char)k->is_descending, (char)k->path.count };
    enum rn_code rc = k->path.count <= UINT8_MAX
                          ? rn_buf_add(out, rn_view_of(head, 2))
                          : RN_TOO_LARGE;

    for (uint32_t i = 0; !rc && i < k->path.count; i++)
        rc = rn_buf_add_counted(out, k->path.names[i]);
    return rc;
}

enum rn_code rn_index_put(struct rn_txn *txn, uint32_t container,
                          const struct rn_index *x)
{
    struct rn_buf row = RN_BUF_INIT(RN_INDEX_ROW_MAX);
    unsigned char rid[RN_RID_BYTES_MAX];
    char head[ROW_HEAD], count = (char)x->count;
    struct rn_key key;
    enum rn_code rc;

    head[0] = VERSION;
    head[1] = (char)x->state;
    (void)rn_rid_encode(x->container, rid);
    memcpy(head + 2, rid, RID_BYTES);
    rn_put_u64_be(head + 2 + RID_BYTES, (uint64_t)x->used);
    rn_put_u64_be(head + 2 + RID_BYTES + 8, x->documents);
    rc = rn_buf_add(&row, rn_view_of(head, sizeof(head)));
    if (!rc)
        rc = rn_buf_add_counted(&row, x->behind);
    if (!rc)
        rc = rn_buf_add(&row, rn_view_of(&count, 1));
    for (uint32_t i = 0; !rc && i < x->count; i++)
        rc = put_key(&row, &x->keys[i]);
    rn_index_row_key(container, x->number, &key);
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&key), rn_buf_view(&row));
    rn_buf_release(&row);
    return rc;
}

/* Takes `len` bytes off the front; false if there are fewer. */
static bool take(struct rn_view *in, size_t len, struct rn_view *out)
{
    if (in->len < len)
        return false;
    *out = rn_view_of(in->at, len);
    *in = rn_view_of(in->at + len, in->len - len);
    return true;
}

static bool take_text(struct rn_view *in, struct rn_view *out)
{
    struct rn_view len;

    return take(in, 2, &len) && take(in,
                                     (size_t)((unsigned char)len.at[0] << 8 |
                                              (unsigned char)len.at[1]),
                                     out);
}

static enum rn_code take_key(struct rn_view *in, struct rn_arena *a,
                             struct rn_index_key *out)
{
    struct rn_view head, *names;
    uint32_t count;

    if (!take(in, 2, &head))
        return RN_CORRUPT;
    count = (unsigned char)head.at[1];
    if (!count)
        return RN_CORRUPT;
    names = rn_arena_alloc(a, count * sizeof(*names));
    if (!names)
        return RN_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_text(in, &names[i]))
            return RN_CORRUPT;
    }
    *out = (struct rn_index_key){ .path = { names, count },
                                  .is_descending = head.at[0] != 0 };
    return RN_OK;
}

/* Decodes a row; `in` must live in the arena. */
static enum rn_code decode(struct rn_view in, struct rn_arena *a,
                           struct rn_index *out)
{
    struct rn_view head, count;
    enum rn_code rc = RN_OK;

    if (!take(&in, ROW_HEAD, &head) ||
        (head.at[0] != VERSION && head.at[0] != VERSION_BY_KEY) ||
        (unsigned char)head.at[1] > RN_INDEX_DROPPING ||
        !rn_rid_decode(rn_view_of(head.at + 2, RID_BYTES), &out->container) ||
        !take_text(&in, &out->behind) || !take(&in, 1, &count))
        return RN_CORRUPT;
    if (head.at[0] == VERSION_BY_KEY)
        out->behind = RN_LIT("");
    out->state = (enum rn_index_state)head.at[1];
    out->used = (int64_t)rn_get_u64_be(head.at + 2 + RID_BYTES);
    out->documents = rn_get_u64_be(head.at + 2 + RID_BYTES + 8);
    out->count = (unsigned char)count.at[0];
    if (!out->count || out->count > RN_INDEX_KEYS_MAX)
        return RN_CORRUPT;
    for (uint32_t i = 0; !rc && i < out->count; i++)
        rc = take_key(&in, a, &out->keys[i]);
    return rc;
}

static enum rn_code add_row(struct rn_indexes *all, struct rn_view key,
                            struct rn_view value, struct rn_arena *a)
{
    struct rn_index *x = &all->list[all->count];
    struct rn_view row = rn_arena_copy(a, value);

    if (key.len != RN_KEY_HEAD + 4 + 1 || all->count == RN_INDEXES_MAX)
        return RN_CORRUPT;
    if (!row.at)
        return RN_NOMEM;
    *x = (struct rn_index){ .number = (uint8_t)key.at[key.len - 1] };
    all->count++;
    return decode(row, a, x);
}

enum rn_code rn_indexes_read(struct rn_txn *txn, uint32_t container,
                             struct rn_arena *a, struct rn_indexes *out)
{
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *cursor = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    *out = (struct rn_indexes){ 0 };
    rn_index_row_key(container, 0, &from);
    rn_index_row_key(container, UINT8_MAX, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &cursor);
    while (!rc) {
        rc = rn_cursor_next(cursor, &key, &value);
        if (!rc && !out->list) {
            out->list = rn_arena_alloc(a, RN_INDEXES_MAX * sizeof(*out->list));
            rc = out->list ? RN_OK : RN_NOMEM;
        }
        if (!rc)
            rc = add_row(out, key, value, a);
    }
    rn_cursor_end(cursor);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_indexes_remove(struct rn_txn *txn, uint32_t container)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_indexes all;
    enum rn_code rc = rn_indexes_read(txn, container, &arena, &all);

    for (uint32_t i = 0; !rc && i < all.count; i++) {
        struct rn_key key;
        rn_index_row_key(container, all.list[i].number, &key);
        rc = rn_txn_del(txn, rn_key_view(&key));
    }
    rn_arena_release(&arena);
    return rc;
}

/* ---- rows of documents --------------------------------------------------- */

enum rn_code rn_index_key_of(uint32_t container, const struct rn_index *x,
                             const struct rn_json *j, uint64_t rid,
                             struct rn_key *out)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_sortkey_form form = { .text_max = rn_index_text_max(x->count) };
    enum rn_code rc = RN_OK;

    rn_key_index(container, x->number, out);
    for (uint32_t i = 0; !rc && i < x->count; i++) {
        uint32_t node = rn_json_path_find(&x->keys[i].path, j, 0);
        char bytes[RN_SORTKEY_MAX];
        struct rn_value v;
        bool is_cut;
        size_t len;

        rc = rn_value_of_json(j, node, &arena, &v);
        if (rc)
            break;
        form.is_descending = x->keys[i].is_descending;
        len = rn_sortkey_encode(&v, &form, bytes, &is_cut);
        assert(out->len + len + 8 <= RN_KEY_MAX);
        memcpy(out->bytes + out->len, bytes, len);
        out->len += len;
    }
    rn_arena_release(&arena);
    rn_key_add_rid(out, rid);
    return rc;
}

/* The index keys of the document that is about to be removed. */
static enum rn_code find_old(const struct rn_index_set *s, struct rn_engine *e,
                             struct rn_view json, uint64_t rid)
{
    struct rn_indexer *x = &e->indexer;
    enum rn_code rc = rn_index_set_parse(s, &x->json, json);

    for (uint32_t i = 0; !rc && i < s->indexes.count; i++) {
        const struct rn_index *one = &s->indexes.list[i];

        if (one->state != RN_INDEX_DROPPING)
            rc = rn_index_key_of(s->number, one, &x->json, rid, &x->was[i]);
    }
    return rc;
}

enum rn_code rn_index_rows_begin(struct rn_index_rows *r, struct rn_engine *e,
                                 struct rn_txn *txn,
                                 const struct rn_container *c,
                                 const struct rn_row_document *old)
{
    struct rn_row_feed feed;
    enum rn_code rc;

    r->had_rows = false;
    r->set = rn_indexer_find(e, c->number);
    if (!r->set || !old)
        return RN_OK;
    rn_index_filling_note(&e->indexer.filling, c->number, old->rid);
    rc = rn_document_follow(txn, c, old, &feed);
    if (!rc)
        rc = find_old(r->set, e, feed.json, old->rid);
    r->had_rows = true;
    return rc;
}

/* Replaces the row of one index; either key may be NULL. */
static enum rn_code replace_row(struct rn_txn *txn, enum rn_index_state state,
                                const struct rn_key *was,
                                const struct rn_key *is, struct rn_view place)
{
    bool is_same = was && is && rn_view_eq(rn_key_view(was), rn_key_view(is));
    enum rn_code rc = RN_OK;

    if (is_same && state == RN_INDEX_COMPLETE)
        return RN_OK;
    if (was && !is_same)
        rc = rn_txn_del(txn, rn_key_view(was));
    if (rc == RN_NOT_FOUND) /* a build has not reached it yet */
        rc = RN_OK;
    return rc || !is ? rc : rn_txn_put(txn, rn_key_view(is), place);
}

enum rn_code rn_index_rows_end(struct rn_index_rows *r, struct rn_engine *e,
                               struct rn_txn *txn, struct rn_view json,
                               uint64_t rid, const struct rn_key *at)
{
    struct rn_view place =
        rn_view_of(at->bytes + RN_KEY_HEAD, at->len - RN_KEY_HEAD);
    struct rn_indexer *x = &e->indexer;
    bool has_rows = json.len > 0;
    enum rn_code rc = RN_OK;
    struct rn_key is;

    if (!r->set)
        return RN_OK;
    if (has_rows)
        rc = rn_index_set_parse(r->set, &x->json, json);
    for (uint32_t i = 0; !rc && i < r->set->indexes.count; i++) {
        const struct rn_index *one = &r->set->indexes.list[i];

        if (one->state == RN_INDEX_DROPPING)
            continue;
        if (has_rows)
            rc = rn_index_key_of(r->set->number, one, &x->json, rid, &is);
        if (!rc)
            rc = replace_row(txn, one->state, r->had_rows ? &x->was[i] : NULL,
                             has_rows ? &is : NULL, place);
    }
    return rc;
}

/* ---- index scans --------------------------------------------------------- */

static void add_bytes(struct rn_key *k, struct rn_view bytes)
{
    size_t len = bytes.len;

    if (len > RN_KEY_MAX - k->len)
        len = RN_KEY_MAX - k->len;
    memcpy(k->bytes + k->len, bytes.at, len);
    k->len += len;
}

enum rn_code rn_index_walk_open(struct rn_index_walk *w, struct rn_txn *txn,
                                uint32_t container,
                                const struct rn_index *index,
                                const struct rn_index_span *span)
{
    struct rn_key_interval range = { .backward = span->is_backward };
    struct rn_key from, before;

    w->cursor = NULL;
    w->index = index;
    w->group = 0;
    w->tie_len = 0;
    rn_key_index(container, index->number, &from);
    before = from;
    if (span->from.len)
        add_bytes(&from, span->from);
    if (span->before.len)
        add_bytes(&before, span->before);
    else
        before.bytes[before.len - 1]++; /* up to the next index */
    range.from = rn_key_view(&from);
    range.before = rn_key_view(&before);
    if (rn_view_compare(range.from, range.before) >= 0)
        return RN_OK; /* empty: next ends at once */
    return rn_txn_scan(txn, &range, &w->cursor);
}

/* The length of the sort keys that determine the order: all of them, or up to
 * the first key that is cut.  0 if the row is damaged. */
static size_t certain(const struct rn_index *x, struct rn_view key,
                      bool *is_cut)
{
    size_t len = 0;

    *is_cut = false;
    for (uint32_t i = 0; i < x->count && !*is_cut; i++) {
        size_t one = rn_sortkey_length(rn_view_of(key.at + len, key.len - len),
                                       x->keys[i].is_descending, is_cut);
        if (!one)
            return 0;
        len += one;
    }
    return len;
}

enum rn_code rn_index_walk_next(struct rn_index_walk *w)
{
    struct rn_view key, value;
    bool is_cut;
    size_t len;
    enum rn_code rc =
        w->cursor ? rn_cursor_next(w->cursor, &key, &value) : RN_NOT_FOUND;

    if (rc)
        return rc;
    if (key.len < RN_KEY_HEAD + 1 + 8)
        return RN_CORRUPT;
    w->key = rn_view_of(key.at + RN_KEY_HEAD + 1, key.len - RN_KEY_HEAD - 9);
    w->place = value;
    w->rid = rn_get_u64_be(key.at + key.len - 8);
    len = certain(w->index, w->key, &is_cut);
    if (!len)
        return RN_CORRUPT;
    if (is_cut && len == w->tie_len && memcmp(w->tie, w->key.at, len) == 0)
        return RN_OK;
    w->group++;
    w->tie_len = is_cut ? len : 0;
    if (is_cut)
        memcpy(w->tie, w->key.at, len);
    return RN_OK;
}

void rn_index_walk_close(struct rn_index_walk *w)
{
    rn_cursor_end(w->cursor);
    w->cursor = NULL;
}
