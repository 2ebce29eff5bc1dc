/* resume.c -- parses a client's resume filter for ORDER BY; see resume.h.
 *
 * The filter in the body of a request:
 *
 *   {"value":[5,[],{"type":"array","low":-67,"high":90}],
 *    "rid":"MmP6...==","exclude":false}
 *
 * `value` has an entry for each key of ORDER BY: a scalar is itself, [] is
 * undefined, and an array or an object is the two halves of its hash
 * (distinct_hash.h).
 */
#include "query/run/resume.h"

#include "query/parse/ast.h"
#include "query/run/distinct_hash.h"
#include "query/run/value_rid.h"

enum { RID_TEXT_LEN = 24 }; /* of a document's _rid, which has 16 bytes */

static enum rn_code refuse(struct rn_err *err, const char *why)
{
    return rn_fail(err, RN_BAD_REQUEST, "Invalid resumeFilter: %s.", why);
}

static bool is_word(const struct rn_json *j, uint32_t node, struct rn_view word)
{
    return rn_json_kind(j, node) == RN_JSON_STRING &&
           rn_view_eq(rn_json_text(j, node), word);
}

static enum rn_code read_hash(const struct rn_json *j, uint32_t node,
                              struct rn_arena *a, struct rn_value *out,
                              struct rn_err *err)
{
    uint32_t type = rn_json_find(j, node, RN_LIT("type"));
    uint32_t low = rn_json_find(j, node, RN_LIT("low"));
    uint32_t high = rn_json_find(j, node, RN_LIT("high"));
    bool is_array = is_word(j, type, RN_LIT("array"));
    int64_t halves[2];
    char *bytes = rn_arena_alloc(a, RN_DISTINCT_HASH_LEN);

    if (!bytes)
        return RN_TOO_LARGE;
    if ((!is_array && !is_word(j, type, RN_LIT("object"))) ||
        rn_json_kind(j, low) != RN_JSON_NUMBER ||
        rn_json_kind(j, high) != RN_JSON_NUMBER ||
        !rn_json_int64(j, low, &halves[0]) ||
        !rn_json_int64(j, high, &halves[1])) {
        return refuse(err, "the hash of an array or an object has a 'type' of "
                           "\"array\" or \"object\", and 'low' and 'high' as "
                           "integers of 64 bits");
    }
    rn_distinct_hash_put((struct rn_hash128){ .low = (uint64_t)halves[0],
                                              .high = (uint64_t)halves[1] },
                         bytes);
    *out = rn_value_hashed(is_array ? RN_VALUE_ARRAY : RN_VALUE_OBJECT, bytes);
    return RN_OK;
}

static enum rn_code read_key(const struct rn_json *j, uint32_t node,
                             struct rn_arena *a, struct rn_value *out,
                             struct rn_err *err)
{
    enum rn_json_kind kind = rn_json_kind(j, node);

    if (kind == RN_JSON_OBJECT)
        return read_hash(j, node, a, out, err);
    if (kind != RN_JSON_ARRAY)
        return rn_value_of_json(j, node, a, out);
    *out = rn_value_undefined();
    return rn_json_count(j, node) == 0
               ? RN_OK
               : refuse(err, "an array in 'value' is empty");
}

static enum rn_code read_rid(const struct rn_json *j, uint32_t node,
                             struct rn_arena *a, struct rn_query_resume *out,
                             struct rn_err *err)
{
    struct rn_view text;
    enum rn_code rc;

    if (node == RN_JSON_NONE || rn_json_kind(j, node) == RN_JSON_NULL)
        return RN_OK;
    if (rn_json_kind(j, node) != RN_JSON_STRING)
        return refuse(err, "'rid' is not a string");
    rc = rn_json_string_get(j, node, a, &text);
    if (rc)
        return rc;
    out->has_rid = text.len == RID_TEXT_LEN && rn_value_rid_of(text, &out->rid);
    return out->has_rid ? RN_OK
                        : refuse(err, "'rid' is not the _rid of a document");
}

static enum rn_code read_exclude(const struct rn_json *j, uint32_t node,
                                 struct rn_query_resume *out,
                                 struct rn_err *err)
{
    if (node == RN_JSON_NONE)
        return RN_OK;
    out->is_exclusive = rn_json_kind(j, node) == RN_JSON_TRUE;
    return out->is_exclusive || rn_json_kind(j, node) == RN_JSON_FALSE
               ? RN_OK
               : refuse(err, "'exclude' is neither true nor false");
}

enum rn_code rn_query_resume_read(const struct rn_query *q,
                                  const struct rn_json *j, uint32_t node,
                                  struct rn_arena *a,
                                  struct rn_query_resume *out,
                                  struct rn_err *err)
{
    uint32_t value, count = q->select->order_count;
    struct rn_value *keys;
    enum rn_code rc = RN_OK;

    *out = (struct rn_query_resume){ .keys = NULL };
    if (rn_json_kind(j, node) != RN_JSON_OBJECT)
        return refuse(err, "it is not an object");
    if (!rn_query_is_ordered(q) || rn_query_is_ranked(q))
        return refuse(err, "the query has no ORDER BY to resume");
    value = rn_json_find(j, node, RN_LIT("value"));
    if (rn_json_kind(j, value) != RN_JSON_ARRAY ||
        rn_json_count(j, value) != count)
        return refuse(err, "'value' is an array with one entry for each "
                           "expression of ORDER BY");
    keys = rn_arena_alloc(a, count * sizeof(*keys));
    if (!keys)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = read_key(j, rn_json_at(j, value, i), a, &keys[i], err);
    if (!rc)
        rc = read_rid(j, rn_json_find(j, node, RN_LIT("rid")), a, out, err);
    if (!rc)
        rc =
            read_exclude(j, rn_json_find(j, node, RN_LIT("exclude")), out, err);
    if (!rc)
        out->keys = keys;
    return rc;
}
