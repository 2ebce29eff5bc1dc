/* sorter.c -- the sorter of ORDER BY: bounded top-k with resumable paging.
 *
 * Rows are buffered with their keys.  If only the first k rows can matter (TOP,
 * LIMIT), the others are dropped whenever 2k rows are buffered.  The survivors
 * move to a fresh arena, so that memory is proportional to the rows wanted, not
 * to the rows read.  The sorter of the query itself also drops the last rows
 * when the buffer exceeds its memory budget: the next page reads the documents
 * again and continues after the last row that was sent.
 *
 * Rows with equal keys are ordered by the rids of their documents, and within a
 * document by their row number; in reverse if the first key descends.  Rows of
 * groups, and rows that DISTINCT filtered before the sort, are ordered by their
 * values instead (valuekey.c): values do not change when documents are deleted
 * or move to another range.
 *
 * Under DISTINCT, the first of equal rows in sort order is returned.  If a row
 * determines its keys (SELECT DISTINCT c.a ... ORDER BY c.a), equal rows have
 * the same position and only one of them is added.  Otherwise (ORDER BY c.b)
 * each of them is added with the number of its value, and repetitions are
 * dropped after sorting.  No other rows are dropped then: which values an
 * earlier page returned is known only after all documents have been read.
 *
 * A continuation whose keys are too long holds a prefix of one key and a hash
 * of all keys.  Rows that match the prefix are buffered until a row with that
 * hash arrives, which has the full keys; if none arrives, all of them are sent.
 */
#include "query/run/sorter.h"

#include "query/run/distinct_hash.h"
#include "query/run/eval.h"
#include "query/run/resume.h"
#include "query/run/sorter_place.h"
#include "query/run/value_rid.h"

#include <stdlib.h>

/* State of a value, indexed by its number. */
enum mark { MARK_NONE, MARK_TAKEN, MARK_SENT };

enum { FEWEST_TO_DROP = 1024 };

/* ---- order --------------------------------------------------------------- */

static int by_first_keys(struct rn_sorter *s, const struct rn_value *x,
                         const struct rn_value *y, uint32_t count)
{
    int found = 0;

    for (uint32_t i = 0; i < count && !found; i++) {
        enum rn_code rc = rn_value_compare(&x[i], &y[i], s->run->arena, &found);

        s->rc = s->rc ? s->rc : rc;
        found = s->select->order[i].is_descending ? -found : found;
    }
    return found;
}

/* Orders documents with equal keys. */
static int by_rids(const struct rn_sorter *s, uint64_t x, uint64_t y)
{
    int found = (x > y) - (x < y);

    return s->select->order[0].is_descending ? -found : found;
}

static int by_ties(const struct rn_sorter *s, const struct rn_sorted *x,
                   const struct rn_sorted *y)
{
    int found;

    if (s->is_by_value)
        return rn_view_compare(x->value_key, y->value_key);
    found = by_rids(s, x->rid, y->rid);
    return found ? found : by_rids(s, x->place, y->place);
}

static int by_keys(const void *a, const void *b, void *context)
{
    const struct rn_sorted *x = a, *y = b;
    struct rn_sorter *s = context;
    int found = by_first_keys(s, x->keys, y->keys, s->select->order_count);

    return found ? found : by_ties(s, x, y);
}

/* True if the client already has the row. */
static bool is_before_resume(struct rn_sorter *s, const struct rn_sorted *row)
{
    const struct rn_query_resume *from = s->run->limits.resume;
    int found;

    if (!from || !s->is_outermost)
        return false;
    found = by_first_keys(s, row->keys, from->keys, s->select->order_count);
    if (!found && from->has_rid && !s->is_by_value)
        found = by_rids(s, row->rid, from->rid);
    return found < 0 || (found == 0 && from->is_exclusive);
}

/* Sets `*is_found` if the row has the keys of the truncated continuation, which
 * are then completed. */
static enum rn_code find_cut(struct rn_sorter *s, const struct rn_sorted *row,
                             bool *is_found)
{
    uint32_t n = s->select->order_count;
    char hash[RN_VALUES_HASH_LEN];
    enum rn_code rc = rn_values_hash(row->keys, n, s->run, hash);

    *is_found = !rc && memcmp(hash, s->cut->hash, RN_VALUES_HASH_LEN) == 0;
    for (uint32_t i = s->cut->whole; i < n && *is_found && !rc; i++)
        rc = rn_value_copy(&row->keys[i], &s->run->keep, &s->after->keys[i]);
    if (*is_found)
        s->cut = NULL;
    return rc;
}

/* Compares the row with a truncated continuation; `*is_open` if the order is
 * not known yet. */
static int by_cut(struct rn_sorter *s, const struct rn_sorted *row,
                  bool *is_open)
{
    uint32_t i = s->cut->whole;
    const struct rn_value *key = &row->keys[i], *begun = &s->after->keys[i];
    int found = (key->kind > begun->kind) - (key->kind < begun->kind);

    if (!found && key->kind == RN_VALUE_STRING &&
        !rn_view_starts(key->text, begun->text))
        found = rn_value_compare_text(key->text, begun->text);
    *is_open = !found;
    return s->select->order[i].is_descending ? -found : found;
}

/* True if an earlier page returned the row; `*is_open` if that is not known
 * yet. */
static bool is_sent(struct rn_sorter *s, const struct rn_sorted *row,
                    bool *is_open)
{
    uint32_t n = s->cut ? s->cut->whole : s->select->order_count;
    bool is_known = !s->cut;
    int found;

    *is_open = false;
    if (!s->after)
        return false;
    found = by_first_keys(s, row->keys, s->after->keys, n);
    if (!found && s->cut) {
        enum rn_code rc = find_cut(s, row, &is_known);
        s->rc = s->rc ? s->rc : rc;
    }
    if (!found && !is_known)
        return by_cut(s, row, is_open) < 0;
    if (!found)
        found = by_ties(s, row, s->after);
    /* A subquery's row at the continuation may still yield unsent rows. */
    return found < 0 || (found == 0 && s->is_outermost);
}

static void note_sent(struct rn_sorter *s, uint32_t value)
{
    if (s->distinct == RN_DISTINCT_SORTED)
        s->marks.at[value] = MARK_SENT;
}

/* Drops the rows that were buffered until the continuation's keys were
 * known. */
static void drop_sent(struct rn_sorter *s)
{
    uint32_t n = 0;
    bool is_open;

    while (n < s->count && s->was_cut && !s->cut &&
           is_sent(s, &s->rows[n], &is_open))
        note_sent(s, s->rows[n++].value);
    s->count -= n;
    memmove(s->rows, s->rows + n, s->count * sizeof(*s->rows));
}

/* Keeps the first of equal rows, unless an earlier page returned it. */
static void drop_repetitions(struct rn_sorter *s)
{
    uint32_t n = 0;

    if (s->distinct != RN_DISTINCT_SORTED)
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        char *mark = &s->marks.at[s->rows[i].value];
        if (*mark != MARK_NONE)
            continue;
        *mark = MARK_TAKEN;
        s->rows[n++] = s->rows[i];
    }
    s->count = n;
    for (uint32_t i = 0; i < n; i++)
        s->marks.at[s->rows[i].value] = MARK_NONE;
}

static enum rn_code sort(struct rn_sorter *s)
{
    enum rn_code rc = rn_run_step(s->run, s->count);

    if (rc || s->count == 0)
        return rc;
    qsort_r(s->rows, s->count, sizeof(*s->rows), by_keys, s);
    drop_sent(s);
    drop_repetitions(s);
    return s->rc;
}

static enum rn_code copy_row(struct rn_sorter *s, const struct rn_sorted *from,
                             struct rn_sorted *to)
{
    uint32_t n = s->select->order_count;
    const struct rn_value *keys = from->keys;
    size_t before = s->arena->used;
    enum rn_code rc = RN_OK;

    *to = *from;
    to->keys = rn_arena_alloc(s->arena, (n + 1) * sizeof(*to->keys));
    to->value_key = rn_arena_copy(s->arena, from->value_key);
    if (!to->keys || (from->value_key.len && !to->value_key.at))
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rn_value_copy(&keys[i], s->arena, &to->keys[i]);
    if (!rc && s->hold == RN_HOLD_TEXT)
        rc = rn_value_keep(&from->row, s->arena, &to->row);
    else if (!rc)
        rc = rn_value_copy(&from->row, s->arena, &to->row);
    to->size = (uint32_t)(s->arena->used - before + sizeof(*to));
    return rc;
}

/* ---- dropping ------------------------------------------------------------ */

/* The number of sorted rows to keep. */
static uint32_t worth_keeping(struct rn_sorter *s)
{
    uint32_t n = 0;
    size_t size = 0;

    if (s->distinct == RN_DISTINCT_SORTED && s->after)
        return s->count;
    while (n < s->count && n < s->most) {
        size += s->rows[n].size;
        if (s->ahead_bytes && n > 0 && size > s->ahead_bytes)
            break;
        n++;
    }
    if (n < s->most && n < s->count)
        s->run->is_dropped = true;
    return n;
}

static enum rn_code drop(struct rn_sorter *s)
{
    struct rn_arena *old = s->arena;
    enum rn_code rc = sort(s);

    s->count = s->kept = worth_keeping(s);
    if (rc)
        return rc;
    s->arena = old == &s->own[0] ? &s->own[1] : &s->own[0];
    for (uint32_t i = 0; i < s->count && !rc; i++) {
        struct rn_sorted row = s->rows[i];
        rc = copy_row(s, &row, &s->rows[i]);
    }
    rn_arena_clear(old);
    return rc;
}

static bool is_time_to_drop(const struct rn_sorter *s)
{
    uint64_t most = s->distinct == RN_DISTINCT_SORTED ? s->kept : s->most;

    if (s->was_cut)
        return false;
    if (s->count >= FEWEST_TO_DROP && s->count / 2 >= most)
        return true;
    return s->ahead_bytes && s->count > 1 &&
           s->arena->used / 2 > s->ahead_bytes;
}

/* ---- rows ---------------------------------------------------------------- */

static void begin(struct rn_sorter *s)
{
    size_t most = s->run->keep.ceiling;

    s->memory = RN_BUF_INIT(most);
    s->marks = RN_BUF_INIT(most);
    s->own[0] = RN_ARENA_INIT(most);
    s->own[1] = RN_ARENA_INIT(most);
    s->arena = &s->own[0];
    if (s->is_outermost && !s->was_cut && s->distinct != RN_DISTINCT_SORTED)
        s->ahead_bytes = s->run->limits.ahead_bytes;
}

/* A document without a rid is numbered by its position in the run. */
static enum rn_code find_rid(struct rn_run *r, uint64_t *out)
{
    bool found;
    enum rn_code rc = rn_value_rid(&r->frame[0], r->arena, out, &found);

    if (!rc && !found)
        *out = r->stats->documents;
    return rc;
}

static enum rn_code set_place(struct rn_sorter *s, struct rn_sorted *row)
{
    if (s->is_by_value)
        return RN_OK;
    row->place = s->run->document_rows++;
    return find_rid(s->run, &row->rid);
}

/* Values are numbered in order of arrival. */
static enum rn_code note_value(struct rn_sorter *s, uint32_t value)
{
    static const char none = MARK_NONE;

    if (s->distinct != RN_DISTINCT_SORTED || value < s->marks.len)
        return RN_OK;
    return rn_buf_add(&s->marks, rn_view_of(&none, 1));
}

/* Arrays and objects are compared by hash only. */
static enum rn_code find_key(struct rn_sorter *s, uint32_t i,
                             struct rn_value *out)
{
    enum rn_code rc = rn_eval(s->run, s->select->order[i].expr, out);

    return rc ? rc : rn_distinct_hash_only(out, s->run->arena, out);
}

enum rn_code rn_sorter_add(struct rn_sorter *s, const struct rn_value *row,
                           uint32_t value, const struct rn_valuekey *key)
{
    uint32_t n = s->select->order_count;
    struct rn_sorted new = { .row = *row, .value = value };
    bool is_open;
    enum rn_code rc;

    if (!s->arena)
        begin(s);
    rc = note_value(s, value);
    if (rc)
        return rc;
    if (s->is_by_value)
        new.value_key = rn_view_of(key->bytes, key->len);
    new.keys = rn_arena_alloc(s->run->arena, (n + 1) * sizeof(*new.keys));
    rc = new.keys ? set_place(s, &new) : RN_TOO_LARGE;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = find_key(s, i, &new.keys[i]);
    if (!rc && (is_sent(s, &new, &is_open) || is_before_resume(s, &new))) {
        note_sent(s, value);
        return s->rc;
    }
    if (!rc)
        rc = rn_buf_reserve(&s->memory, sizeof(new));
    if (rc)
        return rc;
    s->rows = (struct rn_sorted *)(void *)s->memory.at;
    rc = copy_row(s, &new, &s->rows[s->count]);
    s->count++;
    if (!rc && is_time_to_drop(s))
        rc = drop(s);
    s->memory.len = s->count * sizeof(new);
    return rc;
}

enum rn_code rn_sorter_flush(struct rn_sorter *s, rn_row_fn *row, void *context,
                             bool *stop)
{
    enum rn_code rc = sort(s);

    if (!rc && s->ahead_bytes)
        s->count = worth_keeping(s);
    for (uint32_t i = 0; i < s->count && !rc && !*stop; i++) {
        rc = rn_sorter_put_place(s, &s->rows[i]);
        if (!rc)
            rc = row(context, &s->rows[i].row, stop);
    }
    s->count = 0;
    rn_buf_clear(&s->memory);
    if (s->arena)
        rn_arena_clear(s->arena);
    return rc;
}

void rn_sorter_release(struct rn_sorter *s)
{
    rn_buf_release(&s->memory);
    rn_buf_release(&s->marks);
    rn_arena_release(&s->own[0]);
    rn_arena_release(&s->own[1]);
}
