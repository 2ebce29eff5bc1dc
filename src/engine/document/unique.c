/* unique.c -- see unique.h. */
#include "engine/document/unique.h"
#include "engine/document/snapshot.h"

#include "base/bytes.h"
#include "engine/engine_state.h"
#include "query/run/encode.h"
#include "query/run/value.h"

enum { ARENA_MAX = 64 << 20, VALUES_MAX = 8 << 20 };

/* ---- the policy ---------------------------------------------------------- */

static enum rn_code parse_path(const struct rn_json *j, uint32_t value,
                               struct rn_arena *arena, struct rn_json_path *out,
                               struct rn_err *err)
{
    struct rn_view text = rn_json_text(j, value);
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The paths of a unique key must be strings.");
    rc = rn_json_string_copy(j, value, arena, &text);
    if (!rc)
        rc = rn_json_path_parse(text, arena, out, err);
    if (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The unique key path '%.*s' could not be accepted. It "
                     "must begin with / and not contain a wildcard character.",
                     text.len > 60 ? 60 : (int)text.len, text.at);
    }
    return rc;
}

static enum rn_code parse_key(const struct rn_json *j, uint32_t value,
                              struct rn_arena *arena, struct rn_unique_key *out,
                              struct rn_err *err)
{
    uint32_t list = rn_json_find(j, value, RN_LIT("paths"));
    uint32_t count = rn_json_count(j, list);
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    struct rn_json_path *paths;
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, list) != RN_JSON_ARRAY || count == 0 ||
        count > RN_UNIQUE_PATHS_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "A unique key must have 1 to %d paths.",
                       RN_UNIQUE_PATHS_MAX);
    }
    paths = rn_arena_alloc(arena, count * sizeof(*paths));
    if (!paths)
        return rn_fail(err, RN_NOMEM, "out of memory");
    *out = (struct rn_unique_key){ .paths = paths };
    while (!rc && rn_json_walk_next(&w))
        rc = parse_path(j, w.value, arena, &paths[out->count++], err);
    return rc;
}

enum rn_code rn_unique_parse(const struct rn_json *j, uint32_t policy,
                             struct rn_arena *arena, struct rn_unique *out,
                             struct rn_err *err)
{
    enum rn_json_kind kind = rn_json_kind(j, policy);
    uint32_t list = rn_json_find(j, policy, RN_LIT("uniqueKeys"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    enum rn_code rc = RN_OK;

    *out = (struct rn_unique){ 0 };
    if (kind == RN_JSON_UNDEFINED || kind == RN_JSON_NULL)
        return RN_OK;
    kind = rn_json_kind(j, list);
    if (rn_json_kind(j, policy) != RN_JSON_OBJECT ||
        (kind != RN_JSON_ARRAY && kind != RN_JSON_UNDEFINED)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "uniqueKeyPolicy must be an object whose uniqueKeys "
                       "is an array.");
    }
    if (rn_json_count(j, list) > RN_UNIQUE_KEYS_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "A container may have at most %d unique keys.",
                       RN_UNIQUE_KEYS_MAX);
    }
    out->text = rn_json_text(j, policy); /* lives as long as `j`'s text */
    while (!rc && rn_json_walk_next(&w))
        rc = parse_key(j, w.value, arena, &out->keys[out->count++], err);
    return rc;
}

static bool paths_eq(const struct rn_json_path *a, const struct rn_json_path *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; same && i < a->count; i++)
        same = rn_view_eq(a->names[i], b->names[i]);
    return same;
}

bool rn_unique_eq(const struct rn_unique *a, const struct rn_unique *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; same && i < a->count; i++) {
        same = a->keys[i].count == b->keys[i].count;
        for (uint32_t n = 0; same && n < a->keys[i].count; n++)
            same = paths_eq(&a->keys[i].paths[n], &b->keys[i].paths[n]);
    }
    return same;
}

/* ---- values -------------------------------------------------------------- */

/* The partition key precedes the values: in containers of hash version 1 two
 * partition keys may have one EPK. */
static enum rn_code print_values(const struct rn_container *c, uint32_t i,
                                 const struct rn_json *j,
                                 struct rn_arena *arena, struct rn_buf *out)
{
    const struct rn_unique_key *key = &c->unique.keys[i];
    char encoded[RN_PK_BYTES_MAX];
    struct rn_pk pk;
    enum rn_code rc;

    rn_buf_clear(out);
    rc = rn_pkdef_extract(&c->pkdef, j, 0, arena, &pk, NULL);
    if (!rc)
        rc = rn_buf_add(out, rn_view_of(encoded, rn_pk_encode(&pk, encoded)));
    for (uint32_t n = 0; !rc && n < key->count; n++) {
        uint32_t node = rn_json_path_find(&key->paths[n], j, 0);
        struct rn_value value;

        rc = rn_value_of_json(j, node, arena, &value);
        if (!rc && value.kind == RN_VALUE_UNDEFINED)
            value.kind = RN_VALUE_NULL;
        if (!rc)
            rc = rn_value_encode(&value, arena, out);
    }
    return rc;
}

enum rn_code rn_unique_hash(const struct rn_container *c,
                            const struct rn_json *j,
                            struct rn_unique_hashes *out)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_buf values = RN_BUF_INIT(VALUES_MAX);
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < c->unique.count; i++) {
        rc = print_values(c, i, j, &arena, &values);
        if (!rc)
            out->of[i] = rn_hash128(rn_buf_view(&values), i);
    }
    rn_buf_release(&values);
    rn_arena_release(&arena);
    return rc;
}

enum rn_code rn_unique_hash_stored(const struct rn_container *c,
                                   struct rn_view json,
                                   struct rn_unique_hashes *out)
{
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, NULL);
    if (rc == RN_BAD_REQUEST)
        rc = RN_CORRUPT; /* it was valid when written */
    if (!rc)
        rc = rn_unique_hash(c, &j, out);
    rn_json_release(&j);
    return rc;
}

static enum rn_code stored_values(const struct rn_container *c, uint32_t i,
                                  struct rn_view json, struct rn_arena *arena,
                                  struct rn_buf *out)
{
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, NULL);
    if (!rc)
        rc = print_values(c, i, &j, arena, out);
    rn_json_release(&j);
    return rc == RN_BAD_REQUEST ? RN_CORRUPT : rc;
}

/* RN_CONFLICT if the values are equal, else RN_NOT_FOUND. */
static enum rn_code compare(const struct rn_container *c, uint32_t i,
                            struct rn_view a, struct rn_view b)
{
    struct rn_arena arena = RN_ARENA_INIT(2 * (size_t)ARENA_MAX);
    struct rn_buf x = RN_BUF_INIT(VALUES_MAX), y = RN_BUF_INIT(VALUES_MAX);
    enum rn_code rc = stored_values(c, i, a, &arena, &x);

    if (!rc)
        rc = stored_values(c, i, b, &arena, &y);
    if (!rc)
        rc = rn_view_eq(rn_buf_view(&x), rn_buf_view(&y)) ? RN_CONFLICT
                                                          : RN_NOT_FOUND;
    rn_buf_release(&x);
    rn_buf_release(&y);
    rn_arena_release(&arena);
    return rc;
}

/* ---- rows ---------------------------------------------------------------- */

/* Compares with the document of a 'u' row that has the same hash. */
static enum rn_code meet(struct rn_txn *txn, const struct rn_unique_ask *ask,
                         uint64_t rid, struct rn_key *key,
                         struct rn_row_document *row)
{
    const struct rn_container *c = ask->container;
    struct rn_row_feed feed;
    struct rn_view bytes;
    enum rn_code rc = rn_document_key_of(txn, c, rid, key);

    if (!rc)
        rc = rn_txn_get(txn, rn_key_view(key), &bytes);
    if (!rc)
        rc = rn_row_document_decode(bytes, row);
    if (rc || row->rid != rid)
        return rc && rc != RN_NOT_FOUND ? rc : RN_CORRUPT;
    rc = rn_document_follow(txn, c, row, &feed);
    return rc ? rc : compare(c, ask->key, ask->json, feed.json);
}

enum rn_code rn_unique_find(struct rn_txn *txn, const struct rn_unique_ask *ask,
                            struct rn_key *key, struct rn_row_document *row)
{
    uint32_t number = ask->container->number;
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *cursor = NULL;
    struct rn_view found, value;
    enum rn_code rc;

    rn_key_unique(number, ask->epk, ask->key, ask->hash, &from);
    before = from;
    rn_key_add_rid(&from, 0);
    rn_key_add_rid(&before, UINT64_MAX);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &cursor);
    while (!rc) {
        uint64_t other;

        rc = rn_cursor_next(cursor, &found, &value);
        if (rc)
            break;
        other = rn_get_u64_be(found.at + found.len - 8);
        if (other == ask->rid)
            continue;
        rc = meet(txn, ask, other, key, row);
        if (rc == RN_NOT_FOUND)
            rc = RN_OK; /* only the hashes are equal */
    }
    rn_cursor_end(cursor);
    return rc == RN_CONFLICT ? RN_OK : rc;
}

static bool hash_eq(struct rn_hash128 a, struct rn_hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

enum rn_code rn_unique_write(struct rn_txn *txn, const struct rn_container *c,
                             struct rn_view epk, uint64_t rid,
                             const struct rn_unique_hashes *was,
                             const struct rn_unique_hashes *is)
{
    struct rn_key key;
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < c->unique.count; i++) {
        if (was && is && hash_eq(was->of[i], is->of[i]))
            continue;
        if (was) {
            rn_key_unique(c->number, epk, i, was->of[i], &key);
            rn_key_add_rid(&key, rid);
            rc = rn_txn_del(txn, rn_key_view(&key));
            if (rc == RN_NOT_FOUND)
                rc = RN_OK; /* written before 'u' rows existed */
        }
        if (!rc && is) {
            rn_key_unique(c->number, epk, i, is->of[i], &key);
            rn_key_add_rid(&key, rid);
            rc = rn_txn_put(txn, rn_key_view(&key), RN_LIT(""));
        }
    }
    return rc;
}
