/* sorter.c -- rows in the order of ORDER BY.
 *
 * Rows wait with their keys.  Where only the first few can matter (TOP, LIMIT)
 * the rest is dropped each time twice as many have come; survivors move to a
 * fresh arena, so that memory follows what is wanted and not what was read.
 * The query's own sorter also drops the last rows when all take more memory
 * than is worth holding: the next page reads the documents again and goes on
 * behind the last row that was sent.
 *
 * Rows with equal keys are in the order of their documents' rids, and within a
 * document in the order they came; in reverse if the first key descends.
 *
 * Under DISTINCT a row stands where the first of its equals does.  If a row
 * says its keys (SELECT DISTINCT c.a ... ORDER BY c.a), all equals have one
 * place and only one of them comes here.  Else (ORDER BY c.b) each comes, with
 * the number of its value, and repetitions are dropped from what is sorted.
 * Then nothing else is dropped: which values an earlier page had is known only
 * when all documents have been read.
 */
#include "query/run.h"

#include "base/bytes.h"
#include "query/distinct_hash.h"

#include <stdlib.h>

struct rn_sorted {
    struct rn_value *keys;
    struct rn_value row;
    uint64_t rid;   /* of its document, or how many rows came before */
    uint32_t place; /* in its document */
    uint32_t size;  /* of what it takes in the arena */
    uint32_t value; /* the same for rows that are equal, if that matters */
};

/* Of a value, by its number. */
enum mark { MARK_NONE, MARK_TAKEN, MARK_SENT };

enum { FEWEST_TO_DROP = 1024 };

static int compare_keys(struct rn_sorter *s, const struct rn_value *x,
                        const struct rn_value *y)
{
    const struct rn_order *order = s->select->order;
    int found;

    for (uint32_t i = 0; i < s->select->order_count; i++) {
        enum rn_code rc = rn_value_compare(&x[i], &y[i], s->run->arena, &found);
        s->rc = s->rc ? s->rc : rc;
        if (found)
            return order[i].is_descending ? -found : found;
    }
    return 0;
}

/* Of documents whose keys are equal. */
static int compare_rids(const struct rn_sorter *s, uint64_t x, uint64_t y)
{
    int found = (x > y) - (x < y);

    return s->select->order[0].is_descending ? -found : found;
}

static int by_keys(const void *a, const void *b, void *context)
{
    const struct rn_sorted *x = a, *y = b;
    struct rn_sorter *s = context;
    int found = compare_keys(s, x->keys, y->keys);

    if (found)
        return found;
    if (s->distinct == RN_DISTINCT_BY_KEYS)
        return 0; /* the same row, whatever document it comes from */
    found = compare_rids(s, x->rid, y->rid);
    return found ? found : compare_rids(s, x->place, y->place);
}

/* Did the client have the row before? */
static bool is_before_resume(struct rn_sorter *s, const struct rn_sorted *row)
{
    const struct rn_query_resume *from = s->run->limits.resume;
    int found;

    if (!from || !s->is_outermost)
        return false;
    found = compare_keys(s, row->keys, from->keys);
    if (!found && from->has_rid && s->distinct != RN_DISTINCT_BY_KEYS)
        found = compare_rids(s, row->rid, from->rid);
    return found < 0 || (found == 0 && from->is_exclusive);
}

/* Leaves the first of equal rows, unless an earlier page had it. */
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
    to->keys = rn_arena_alloc(s->arena, n * sizeof(*to->keys));
    if (!to->keys)
        return RN_TOO_LARGE;
    memcpy(to->keys, keys, n * sizeof(*keys));
    if (s->hold == RN_HOLD_NOTHING)
        return RN_OK;
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

/* How many of the sorted rows stay. */
static uint32_t worth_keeping(struct rn_sorter *s)
{
    uint32_t n = 0;
    size_t size = 0;

    if (s->distinct == RN_DISTINCT_SORTED &&
        (s->after || s->run->limits.resume))
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
    if (rc || s->hold == RN_HOLD_NOTHING)
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
    s->arena = s->hold == RN_HOLD_NOTHING ? s->run->arena : &s->own[0];
    /* Rows that are counted must all be there. */
    if (s->is_outermost && !s->run->skip_sent &&
        s->distinct != RN_DISTINCT_SORTED)
        s->ahead_bytes = s->run->limits.ahead_bytes;
}

/* Without a rid it is how many documents came before. */
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
    if (!s->is_outermost) {
        row->rid = s->taken++;
        return RN_OK;
    }
    row->place = s->run->document_rows++;
    return find_rid(s->run, &row->rid);
}

/* Values are numbered as they come. */
static enum rn_code note_value(struct rn_sorter *s, uint32_t value)
{
    static const char none = MARK_NONE;

    if (s->distinct != RN_DISTINCT_SORTED || value < s->marks.len)
        return RN_OK;
    return rn_buf_add(&s->marks, rn_view_of(&none, 1));
}

static void note_sent(struct rn_sorter *s, uint32_t value)
{
    if (s->distinct == RN_DISTINCT_SORTED)
        s->marks.at[value] = MARK_SENT;
}

/* Of arrays and objects only the hash is compared. */
static enum rn_code find_key(struct rn_sorter *s, uint32_t i,
                             struct rn_value *out)
{
    enum rn_code rc = rn_eval(s->run, s->select->order[i].expr, out);

    return rc ? rc : rn_distinct_hash_only(out, s->run->arena, out);
}

enum rn_code rn_sorter_add(struct rn_sorter *s, const struct rn_value *row,
                           uint32_t value)
{
    uint32_t n = s->select->order_count;
    struct rn_sorted new = { .row = *row, .value = value };
    enum rn_code rc;

    if (!s->arena)
        begin(s);
    rc = note_value(s, value);
    if (rc)
        return rc;
    new.keys = rn_arena_alloc(s->run->arena, n * sizeof(*new.keys));
    rc = new.keys ? set_place(s, &new) : RN_TOO_LARGE;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = find_key(s, i, &new.keys[i]);
    if (!rc && ((s->after && by_keys(&new, s->after, s) <= 0) ||
                is_before_resume(s, &new))) {
        note_sent(s, value); /* on an earlier page */
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

/* ---- places -------------------------------------------------------------- */

/* In the first byte of a key: its kind, and whether it is only a hash. */
enum { KEY_HASHED = 0x40 };

/* kind, then: a bool's 0 or 1; whether a number is whole, and 8 bytes; the
 * length and the bytes of a string; the hash of an array or an object. */
static enum rn_code put_key(struct rn_buf *out, const struct rn_value *v)
{
    char bytes[10] = { (char)v->kind };
    uint64_t bits;
    size_t len = 1;
    enum rn_code rc;

    if (v->kind == RN_VALUE_BOOL) {
        bytes[len++] = (char)v->truth;
    } else if (v->kind == RN_VALUE_NUMBER) {
        memcpy(&bits,
               v->is_integer ? (const void *)&v->integer
                             : (const void *)&v->real,
               8);
        bytes[len++] = (char)v->is_integer;
        rn_put_u64_be(bytes + len, bits);
        len += 8;
    } else if (v->kind >= RN_VALUE_ARRAY) {
        bytes[0] |= KEY_HASHED;
    }
    rc = rn_buf_add(out, rn_view_of(bytes, len));
    if (rc || v->kind < RN_VALUE_STRING)
        return rc;
    return v->kind == RN_VALUE_STRING ? rn_buf_add_counted(out, v->text)
                                      : rn_buf_add(out, v->text);
}

/* The place behind a row; left empty if it is too long. */
static enum rn_code put_place(struct rn_sorter *s, const struct rn_sorted *row)
{
    struct rn_buf *out = &s->run->after;
    char bytes[12];
    enum rn_code rc;

    rn_buf_clear(out);
    rn_put_u64_be(bytes, row->rid);
    rn_put_u32_be(bytes + 8, row->place);
    rc = rn_buf_add(out, rn_view_of(bytes, sizeof(bytes)));
    for (uint32_t i = 0; i < s->select->order_count && !rc; i++)
        rc = put_key(out, &row->keys[i]);
    if (rc)
        rn_buf_clear(out);
    return rc == RN_TOO_LARGE ? RN_OK : rc;
}

static enum rn_code get_text(struct rn_sorter *s, struct rn_view *in,
                             struct rn_value *out)
{
    struct rn_value v;
    struct rn_view text;

    if (in->len < 2)
        return RN_BAD_REQUEST;
    text = rn_view_of(in->at + 2, ((size_t)(unsigned char)in->at[0] << 8) +
                                      (unsigned char)in->at[1]);
    if (text.len > in->len - 2)
        return RN_BAD_REQUEST;
    *in = rn_view_of(text.at + text.len, in->len - 2 - text.len);
    v = rn_value_string(text);
    return rn_value_copy(&v, &s->run->keep, out);
}

static enum rn_code get_hash(struct rn_sorter *s, enum rn_value_kind kind,
                             struct rn_view *in, struct rn_value *out)
{
    struct rn_value v;

    if (kind < RN_VALUE_ARRAY || kind > RN_VALUE_OBJECT ||
        in->len < RN_DISTINCT_HASH_LEN)
        return RN_BAD_REQUEST;
    v = rn_value_hashed(kind, in->at);
    *in = rn_view_of(in->at + RN_DISTINCT_HASH_LEN,
                     in->len - RN_DISTINCT_HASH_LEN);
    return rn_value_copy(&v, &s->run->keep, out);
}

static enum rn_code get_scalar(struct rn_view *in, struct rn_value *out)
{
    static const size_t lens[] = {
        [RN_VALUE_BOOL] = 1, [RN_VALUE_NUMBER] = 9, [RN_VALUE_STRING] = 0
    };
    size_t len = lens[out->kind];
    uint64_t bits;

    if (in->len < len)
        return RN_BAD_REQUEST;
    if (out->kind == RN_VALUE_BOOL) {
        out->truth = in->at[0] != 0;
    } else if (out->kind == RN_VALUE_NUMBER) {
        out->is_integer = in->at[0] != 0;
        bits = rn_get_u64_be(in->at + 1);
        if (out->is_integer)
            out->integer = (int64_t)bits;
        else
            memcpy(&out->real, &bits, sizeof(bits));
    }
    *in = rn_view_of(in->at + len, in->len - len);
    return RN_OK;
}

static enum rn_code get_key(struct rn_sorter *s, struct rn_view *in,
                            struct rn_value *out)
{
    unsigned char tag;

    *out = rn_value_undefined();
    if (in->len < 1)
        return RN_BAD_REQUEST;
    tag = (unsigned char)in->at[0];
    *in = rn_view_of(in->at + 1, in->len - 1);
    if (tag & KEY_HASHED)
        return get_hash(s, (enum rn_value_kind)(tag & ~KEY_HASHED), in, out);
    if (tag > RN_VALUE_STRING)
        return RN_BAD_REQUEST;
    out->kind = tag;
    return tag == RN_VALUE_STRING ? get_text(s, in, out) : get_scalar(in, out);
}

enum rn_code rn_sorter_resume(struct rn_sorter *s, struct rn_view after)
{
    uint32_t n = s->select->order_count;
    struct rn_sorted *to = rn_arena_alloc(&s->run->keep, sizeof(*to));
    struct rn_value *keys = rn_arena_alloc(&s->run->keep, n * sizeof(*keys));
    struct rn_view in = after;
    enum rn_code rc = to && keys ? RN_OK : RN_TOO_LARGE;

    if (!rc && in.len < 12)
        rc = RN_BAD_REQUEST;
    if (!rc) {
        *to = (struct rn_sorted){ .keys = keys,
                                  .rid = rn_get_u64_be(in.at),
                                  .place = rn_get_u32_be(in.at + 8) };
        in = rn_view_of(in.at + 12, in.len - 12);
    }
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = get_key(s, &in, &keys[i]);
    if (!rc && in.len)
        rc = RN_BAD_REQUEST;
    if (rc == RN_BAD_REQUEST)
        return rn_fail(s->run->err, rc, "Invalid Continuation Token");
    s->after = to;
    return rc;
}

enum rn_code rn_sorter_flush(struct rn_sorter *s, rn_row_fn *row, void *context,
                             bool *stop)
{
    enum rn_code rc = sort(s);

    if (!rc && s->ahead_bytes)
        s->count = worth_keeping(s);
    for (uint32_t i = 0; i < s->count && !rc && !*stop; i++) {
        if (s->is_outermost)
            rc = put_place(s, &s->rows[i]);
        if (!rc)
            rc = row(context, &s->rows[i].row, stop);
    }
    s->count = 0;
    rn_buf_clear(&s->memory);
    if (s->arena && s->hold != RN_HOLD_NOTHING)
        rn_arena_clear(s->arena);
    return rc;
}

enum rn_code rn_sorter_end(struct rn_sorter *s, rn_row_fn *row, void *context)
{
    bool stop = false;

    return rn_sorter_flush(s, row, context, &stop);
}

/* ---- seeking ------------------------------------------------------------- */

bool rn_query_can_follow_order(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return rn_query_is_ordered(q) && !s->is_distinct && !s->is_rank &&
           s->from_count && !s->from[0].query && !s->from[0].is_each;
}

static void seek_keys(const struct rn_query *q, const struct rn_value *keys,
                      struct rn_query_seek *seek)
{
    seek->len = 0;
    seek->is_cut = false;
    for (uint32_t i = 0; i < q->select->order_count && !seek->is_cut; i++)
        seek->len += rn_sortkey_encode(&keys[i], &seek->forms[i],
                                       seek->out + seek->len, &seek->is_cut);
}

enum rn_code rn_query_seek(const struct rn_query *q, struct rn_view after,
                           struct rn_query_seek *seek)
{
    struct rn_run run = { .query = q, .keep = RN_ARENA_INIT(1 << 20) };
    struct rn_sorter s = { .run = &run, .select = q->select };
    enum rn_code rc = rn_sorter_resume(&s, after);

    if (!rc) {
        seek_keys(q, s.after->keys, seek);
        seek->rid = s.after->rid;
        seek->has_rid = true;
    }
    rn_arena_release(&run.keep);
    return rc;
}

void rn_query_seek_resume(const struct rn_query *q,
                          const struct rn_query_resume *resume,
                          struct rn_query_seek *seek)
{
    seek_keys(q, resume->keys, seek);
    seek->rid = resume->rid;
    seek->has_rid = resume->has_rid;
}

void rn_sorter_release(struct rn_sorter *s)
{
    rn_buf_release(&s->memory);
    rn_buf_release(&s->marks);
    rn_arena_release(&s->own[0]);
    rn_arena_release(&s->own[1]);
}
