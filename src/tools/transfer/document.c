/* document.c -- strips, identifies and compares documents. */
#include "tools/transfer/document.h"

#include "json/print.h"

static const char *const system_names[] = { "_rid", "_self",        "_etag",
                                            "_ts",  "_attachments", "_lsn" };

enum { SYSTEM_NAMES = sizeof(system_names) / sizeof(system_names[0]) };

static bool is_system(const struct rn_json *j, uint32_t name)
{
    struct rn_view text = rn_json_text(j, name);

    if (text.len < 3 || text.at[0] != '_')
        return false;
    for (size_t i = 0; i < SYSTEM_NAMES; i++) {
        if (rn_view_eq(text, rn_view_text(system_names[i])))
            return true;
    }
    return false;
}

enum rn_code rn_document_strip(const struct rn_json *document,
                               struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w = rn_json_walk_begin(document, 0);

    rn_json_out_object_begin(&o);
    while (rn_json_walk_next(&w)) {
        if (!is_system(document, w.name))
            rn_json_out_member(&o, document, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

enum rn_code rn_document_id(const struct rn_json *document, struct rn_buf *out,
                            struct rn_err *err)
{
    uint32_t id = rn_json_find(document, 0, RN_LIT("id"));
    struct rn_view text = rn_json_text(document, id);
    enum rn_code rc;

    if (rn_json_kind(document, 0) != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST, "not a JSON object");
    if (rn_json_kind(document, id) != RN_JSON_STRING || !text.len)
        return rn_fail(err, RN_BAD_REQUEST,
                       "the document has no \"id\" that is a string");
    rc = rn_buf_reserve(out, text.len + 1);
    if (rc)
        return rn_fail(err, rc, "%s", rn_code_name(rc));
    out->len += rn_json_unescape(text, out->at + out->len);
    out->at[out->len++] = 0;
    return RN_OK;
}

/* ---- comparing ----------------------------------------------------------- */

enum { STRING_MAX = 2 * RN_DOCUMENT_MAX };

/* Integers that fit are compared as such, others as doubles, which is what the
 * protocol says that numbers are. */
static bool numbers_equal(const struct rn_json *a, uint32_t at_a,
                          const struct rn_json *b, uint32_t at_b)
{
    int64_t x, y;

    if (rn_json_int64(a, at_a, &x) && rn_json_int64(b, at_b, &y))
        return x == y;
    return rn_json_double(a, at_a) == rn_json_double(b, at_b);
}

static enum rn_code compare_strings(const struct rn_json *a, uint32_t at_a,
                                    const struct rn_json *b, uint32_t at_b,
                                    bool *is_equal)
{
    struct rn_arena arena = RN_ARENA_INIT(STRING_MAX);
    struct rn_view text;
    enum rn_code rc = rn_json_string_get(a, at_a, &arena, &text);

    if (!rc)
        *is_equal = rn_json_string_is(b, at_b, text);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code compare_arrays(const struct rn_json *a, uint32_t at_a,
                                   const struct rn_json *b, uint32_t at_b,
                                   bool *is_equal)
{
    struct rn_json_walk x = rn_json_walk_begin(a, at_a);
    struct rn_json_walk y = rn_json_walk_begin(b, at_b);
    enum rn_code rc = RN_OK;

    *is_equal = rn_json_count(a, at_a) == rn_json_count(b, at_b);
    while (!rc && *is_equal && rn_json_walk_next(&x) && rn_json_walk_next(&y))
        rc = rn_document_value_compare(a, x.value, b, y.value, is_equal);
    return rc;
}

/* The value of the member of `object` that has the name at `name` of `a`.  The
 * next one in order is tried first. */
static enum rn_code find_same(const struct rn_json *a, uint32_t name,
                              const struct rn_json *b, uint32_t object,
                              struct rn_json_walk *guess, uint32_t *out)
{
    struct rn_arena arena = RN_ARENA_INIT(STRING_MAX);
    struct rn_view text;
    enum rn_code rc = rn_json_string_get(a, name, &arena, &text);

    if (!rc && rn_json_walk_next(guess) &&
        rn_json_string_is(b, guess->name, text))
        *out = guess->value;
    else if (!rc)
        *out = rn_json_find(b, object, text);
    rn_arena_release(&arena);
    return rc;
}

/* How many members count: at the top level, those that are not the system's. */
static uint32_t count_members(const struct rn_json *j, uint32_t object)
{
    struct rn_json_walk w = rn_json_walk_begin(j, object);
    uint32_t count = rn_json_count(j, object);

    while (object == 0 && rn_json_walk_next(&w))
        count -= is_system(j, w.name);
    return count;
}

static enum rn_code compare_objects(const struct rn_json *a, uint32_t at_a,
                                    const struct rn_json *b, uint32_t at_b,
                                    bool *is_equal)
{
    struct rn_json_walk w = rn_json_walk_begin(a, at_a);
    struct rn_json_walk guess = rn_json_walk_begin(b, at_b);
    enum rn_code rc = RN_OK;

    *is_equal = count_members(a, at_a) == count_members(b, at_b);
    while (!rc && *is_equal && rn_json_walk_next(&w)) {
        uint32_t other = RN_JSON_NONE;

        if (at_a == 0 && is_system(a, w.name))
            continue;
        rc = find_same(a, w.name, b, at_b, &guess, &other);
        if (!rc)
            rc = rn_document_value_compare(a, w.value, b, other, is_equal);
    }
    return rc;
}

enum rn_code rn_document_value_compare(const struct rn_json *a, uint32_t at_a,
                                       const struct rn_json *b, uint32_t at_b,
                                       bool *is_equal)
{
    enum rn_json_kind kind = rn_json_kind(a, at_a);

    *is_equal = kind == rn_json_kind(b, at_b);
    if (!*is_equal)
        return RN_OK;
    switch (kind) {
    case RN_JSON_NUMBER:
        *is_equal = numbers_equal(a, at_a, b, at_b);
        return RN_OK;
    case RN_JSON_STRING:
        return compare_strings(a, at_a, b, at_b, is_equal);
    case RN_JSON_ARRAY:
        return compare_arrays(a, at_a, b, at_b, is_equal);
    case RN_JSON_OBJECT:
        return compare_objects(a, at_a, b, at_b, is_equal);
    case RN_JSON_UNDEFINED:
    case RN_JSON_NULL:
    case RN_JSON_FALSE:
    case RN_JSON_TRUE:
        break;
    }
    return RN_OK;
}

enum rn_code rn_document_compare(const struct rn_json *a,
                                 const struct rn_json *b, bool *is_equal)
{
    return rn_document_value_compare(a, 0, b, 0, is_equal);
}
