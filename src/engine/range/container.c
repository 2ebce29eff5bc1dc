/* container.c -- see container.h. */
#include "engine/range/container.h"

#include "base/bytes.h"
#include "engine/catalog/catalog.h"
#include "engine/document/version.h"

#include <assert.h>

enum { ARENA_MAX = 64 << 20, ROWS_MAX = 64 << 20 };

/* ---- ranges -------------------------------------------------------------- */

const struct rn_range_span *rn_container_range_of(const struct rn_container *c,
                                                  struct rn_view epk)
{
    size_t low = 0, high = c->range_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rn_view_compare(rn_epk_view(&c->ranges[middle].epks.min), epk) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &c->ranges[low];
}

const struct rn_range_span *rn_container_range(const struct rn_container *c,
                                               uint32_t id)
{
    for (size_t i = 0; i < c->range_count; i++) {
        if (c->ranges[i].id == id)
            return &c->ranges[i];
    }
    return NULL;
}

enum rn_code rn_range_read(struct rn_txn *txn, const struct rn_container *c,
                           uint32_t range, struct rn_row_range *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_range(c->number, range, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    return rc ? rc : rn_row_range_decode(bytes, out);
}

static enum rn_code range_put(struct rn_txn *txn, uint32_t number,
                              uint32_t range, const struct rn_row_range *row)
{
    char bytes[RN_ROW_RANGE_MAX];
    struct rn_key key;

    rn_key_range(number, range, &key);
    return rn_txn_put(txn, rn_key_view(&key),
                      rn_view_of(bytes, rn_row_range_encode(row, bytes)));
}

/* Descends from a dead range to the child that holds `epk`. */
static enum rn_code step_down(struct rn_txn *txn, const struct rn_container *c,
                              struct rn_view epk, uint32_t *range,
                              struct rn_row_range *row)
{
    struct rn_row_range parent = *row;

    for (uint32_t i = 0; i < parent.child_count; i++) {
        enum rn_code rc = rn_range_read(txn, c, parent.children[i], row);
        if (rc)
            return rc;
        *range = parent.children[i];
        if (rn_epk_range_has(&row->epks, epk))
            return RN_OK;
    }
    return RN_CORRUPT; /* the children of a dead range cover it */
}

enum rn_code rn_range_descend(struct rn_txn *txn, const struct rn_container *c,
                              struct rn_view epk, uint32_t *range,
                              struct rn_row_range *row)
{
    enum rn_code rc = RN_OK;

    while (!rc && row->state != RN_RANGE_ALIVE)
        rc = step_down(txn, c, epk, range, row);
    return rc;
}

enum rn_code rn_range_find(struct rn_txn *txn, const struct rn_container *c,
                           struct rn_view epk, uint32_t *range,
                           struct rn_row_range *out)
{
    enum rn_code rc;

    *range = rn_container_range_of(c, epk)->id;
    rc = rn_range_read(txn, c, *range, out);
    return rc ? rc : rn_range_descend(txn, c, epk, range, out);
}

enum rn_code rn_range_write(struct rn_txn *txn, const struct rn_container *c,
                            uint32_t range, const struct rn_row_range *row)
{
    return range_put(txn, c->number, range, row);
}

enum rn_code rn_container_make_ranges(struct rn_txn *txn, uint32_t number,
                                      const struct rn_pkdef *def,
                                      uint32_t count, uint64_t lsn)
{
    struct rn_row_range row = { .lsn = lsn, .next_rid = 1 };
    enum rn_code rc = RN_OK;

    row.epks.min = rn_epk_all.min;
    for (uint32_t i = 0; !rc && i < count; i++) {
        row.epks.max = rn_epk_all.max;
        if (i + 1 < count && !rn_epk_even(def, i + 1, count, &row.epks.max))
            count = i + 1; /* keys without a hash cannot be partitioned */
        rc = range_put(txn, number, i, &row);
        row.epks.min = row.epks.max;
    }
    return rc;
}

static int order_of(const struct rn_range_span *a,
                    const struct rn_range_span *b)
{
    return rn_epk_compare(&a->epks.min, &b->epks.min);
}

static void insert_range(struct rn_container *c,
                         const struct rn_range_span *span)
{
    size_t at = c->range_count++;

    for (; at > 0 && order_of(&c->ranges[at - 1], span) > 0; at--)
        c->ranges[at] = c->ranges[at - 1];
    c->ranges[at] = *span;
}

/* Reads every row, alive or dead; their ids are 0, 1, 2 ... */
static enum rn_code read_rows(struct rn_txn *txn, uint32_t number,
                              struct rn_buf *out)
{
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *cursor = NULL;
    struct rn_view key, value;
    uint32_t id = 0;
    enum rn_code rc;

    rn_key_span_tag(number, RN_TAG_RANGE, &from, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &cursor);
    while (!rc) {
        struct rn_row_range row;

        rc = rn_cursor_next(cursor, &key, &value);
        if (!rc && (key.len != RN_KEY_HEAD + 4 ||
                    rn_get_u32_be(key.at + RN_KEY_HEAD) != id++))
            rc = RN_CORRUPT;
        if (!rc)
            rc = rn_row_range_decode(value, &row);
        for (uint32_t i = 0; !rc && i < row.parent_count; i++)
            rc = row.parents[i] + 1 < id ? RN_OK : RN_CORRUPT;
        if (!rc)
            rc = rn_buf_add(out, rn_view_of(&row, sizeof(row)));
    }
    rn_cursor_end(cursor);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* Parents have lower ids than their children, so one pass towards lower ids
 * finds them all.  `seen` has a byte for each range. */
static enum rn_code find_ancestors(struct rn_container *c,
                                   const struct rn_row_range *rows, char *seen,
                                   struct rn_range_span *span)
{
    uint32_t *list;
    size_t count = 0;

    memset(seen, 0, span->id + 1);
    for (uint32_t i = span->id + 1; i-- > 0;) {
        if (i != span->id && !seen[i])
            continue;
        for (uint32_t k = 0; k < rows[i].parent_count; k++) {
            count += !seen[rows[i].parents[k]];
            seen[rows[i].parents[k]] = 1;
        }
    }
    if (count == 0)
        return RN_OK;
    list = rn_arena_alloc(&c->arena, count * sizeof(*list));
    if (!list)
        return RN_NOMEM;
    for (uint32_t i = 0; i < span->id; i++) {
        if (seen[i])
            list[span->ancestor_count++] = i;
    }
    span->ancestors = list;
    return RN_OK;
}

static enum rn_code load_ranges(struct rn_txn *txn, struct rn_container *c)
{
    struct rn_buf buf = RN_BUF_INIT(ROWS_MAX);
    const struct rn_row_range *rows;
    size_t alive = 0;
    char *seen = NULL;
    enum rn_code rc = read_rows(txn, c->number, &buf);

    rows = (const void *)buf.at;
    c->next_range = (uint32_t)(buf.len / sizeof(*rows));
    for (uint32_t i = 0; i < c->next_range; i++)
        alive += rows[i].state == RN_RANGE_ALIVE;
    if (!rc && !alive)
        rc = RN_CORRUPT;
    if (!rc) {
        c->ranges = rn_arena_alloc(&c->arena, alive * sizeof(c->ranges[0]));
        seen = rn_new(c->next_range);
        rc = c->ranges && seen ? RN_OK : RN_NOMEM;
    }
    for (uint32_t i = 0; !rc && i < c->next_range; i++) {
        struct rn_range_span span = { .id = i, .epks = rows[i].epks };
        if (rows[i].state != RN_RANGE_ALIVE)
            continue;
        rc = find_ancestors(c, rows, seen, &span);
        insert_range(c, &span);
    }
    rn_free(seen);
    rn_buf_release(&buf);
    return rc;
}

/* ---- definitions --------------------------------------------------------- */

/* Definitions from before this was checked may have any value here; an invalid
 * one counts as absent. */
static enum rn_code read_policies(struct rn_container *c,
                                  const struct rn_json *j, struct rn_err *err)
{
    uint32_t unique = rn_json_find(j, 0, RN_LIT("uniqueKeyPolicy"));
    uint32_t feed = rn_json_find(j, 0, RN_LIT("changeFeedPolicy"));
    enum rn_code rc = rn_unique_parse(j, unique, &c->arena, &c->unique, err);

    if (rc == RN_BAD_REQUEST)
        c->unique.count = 0;
    else if (rc)
        return rc;
    if (rn_history_parse(j, feed, &c->history, err))
        c->history = (struct rn_history_policy){ 0 };
    return RN_OK;
}

/* A definition from before this was checked may have any value here. */
static void read_ttl_path(struct rn_container *c, const struct rn_json *j)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("ttlPropertyPath"));
    struct rn_view text;

    if (c->default_ttl == RN_TTL_OFF ||
        rn_json_kind(j, value) != RN_JSON_STRING ||
        rn_json_string_copy(j, value, &c->arena, &text) ||
        rn_json_path_parse(text, &c->arena, &c->ttl_path, NULL) ||
        rn_name_is_system(c->ttl_path.names[0]))
        c->ttl_path.count = 0;
}

static enum rn_code read_definition(struct rn_container *c, struct rn_view body,
                                    struct rn_err *err)
{
    struct rn_json json;
    uint32_t ttl;
    int64_t seconds = RN_TTL_OFF;
    enum rn_code rc;

    rn_json_init(&json, NULL);
    rc = rn_json_parse(&json, body, err);
    if (!rc) {
        rc = rn_pkdef_parse(&json,
                            rn_json_find(&json, 0, RN_LIT("partitionKey")),
                            &c->arena, &c->pkdef, err);
    }
    if (!rc)
        rc = read_policies(c, &json, err);
    if (!rc) {
        ttl = rn_json_find(&json, 0, RN_LIT("defaultTtl"));
        if (rn_json_kind(&json, ttl) == RN_JSON_NUMBER)
            (void)rn_json_int64(&json, ttl, &seconds);
        c->default_ttl = (int32_t)seconds;
        read_ttl_path(c, &json);
    }
    rn_json_release(&json);
    return rc;
}

enum rn_code rn_container_new(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_container **out, struct rn_err *err)
{
    struct rn_container *c = rn_new(sizeof(*c));
    struct rn_view body;
    enum rn_code rc;

    if (!c)
        return rn_fail(err, RN_NOMEM, "out of memory");
    c->arena = RN_ARENA_INIT(ARENA_MAX);
    c->number = o->number;
    c->rid = o->rid;
    c->series = o->has_series ? o->rid.parent : 0;
    /* pkdef borrows from the text it is parsed from. */
    body = rn_arena_copy(&c->arena, o->body);
    rc = body.at ? read_definition(c, body, err) : RN_NOMEM;
    if (!rc)
        rc = rn_frame_make(c->rid, &c->arena, &c->frame);
    if (!rc)
        rc = load_ranges(txn, c);
    if (rc) {
        rn_container_free(c);
        return rc;
    }
    *out = c;
    return RN_OK;
}

void rn_container_free(struct rn_container *c)
{
    if (!c)
        return;
    rn_arena_release(&c->arena);
    rn_free(c);
}
