/* query_distinct_hash_test.c -- arrays and objects sort as clients sort them.
 *
 * The vectors (tests/vectors/distinct-hash-vectors.json) were computed by the
 * .NET SDK: hashes of values of every kind, and one list in its order.
 */
#include "query/run/distinct_hash.h"

#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct vectors vectors;

static int load(void **state)
{
    (void)state;
    vectors_load(&vectors, "distinct-hash-vectors.json");
    return 0;
}

static int release(void **state)
{
    (void)state;
    vectors_release(&vectors);
    return 0;
}

static int64_t integer(uint32_t object, const char *name)
{
    int64_t out;

    assert_true(rn_json_int64(&vectors.json,
                              vectors_member(&vectors, object, name), &out));
    return out;
}

/* The value of a text that stays, and the tape it lies on. */
static struct rn_value parse(struct rn_json *j, struct rn_view text)
{
    struct rn_value v;

    rn_json_init(j, NULL);
    assert_int_equal(rn_json_parse(j, text, NULL), RN_OK);
    assert_int_equal(rn_value_of_json(j, 0, &vectors.arena, &v), RN_OK);
    return v;
}

/* A number that is no item of a list has forgotten how it was written. */
static bool is_written_in_full(struct rn_view text)
{
    return text.at[0] == '[' || text.at[0] == '{' || text.at[0] == '"' ||
           (!memchr(text.at, '.', text.len) &&
            !memchr(text.at, 'e', text.len) && !memchr(text.at, 'E', text.len));
}

static void vectors_have_the_hashes_of_the_sdk(void **state)
{
    uint32_t all = vectors_member(&vectors, 0, "vectors");
    uint32_t count = rn_json_count(&vectors.json, all);

    (void)state;
    assert_true(count >= 139);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = rn_json_at(&vectors.json, all, i);
        struct rn_view text = vectors_string(&vectors, at, "json");
        struct rn_hash128 h;
        struct rn_json j;
        struct rn_value v = parse(&j, text);

        assert_int_equal(rn_distinct_hash(&v, &vectors.arena, &h), RN_OK);
        if (is_written_in_full(text) &&
            ((int64_t)h.low != integer(at, "low") ||
             (int64_t)h.high != integer(at, "high")))
            fail_msg("%.*s has another hash", RN_FMT(text));
        rn_json_release(&j);
    }
}

static int compare(struct rn_view a, struct rn_view b)
{
    struct rn_json x, y;
    struct rn_value v = parse(&x, a), w = parse(&y, b);
    int out;

    assert_int_equal(rn_value_compare(&v, &w, &vectors.arena, &out), RN_OK);
    rn_json_release(&x);
    rn_json_release(&y);
    return out;
}

static struct rn_view text_at(uint32_t list, uint32_t i)
{
    struct rn_view out;

    assert_int_equal(rn_json_string_get(&vectors.json,
                                        rn_json_at(&vectors.json, list, i),
                                        &vectors.arena, &out),
                     RN_OK);
    return out;
}

static void values_sort_as_the_sdk_sorts_them(void **state)
{
    uint32_t all = vectors_member(&vectors, 0, "order");
    uint32_t count = rn_json_count(&vectors.json, all);

    (void)state;
    assert_true(count >= 30);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t equals = rn_json_at(&vectors.json, all, i);

        for (uint32_t k = 1; k < rn_json_count(&vectors.json, equals); k++)
            assert_int_equal(compare(text_at(equals, 0), text_at(equals, k)),
                             0);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t other = rn_json_at(&vectors.json, all, k);
            int found = compare(text_at(equals, 0), text_at(other, 0));

            assert_int_equal((found > 0) - (found < 0), (i > k) - (i < k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_the_hashes_of_the_sdk),
        cmocka_unit_test(values_sort_as_the_sdk_sorts_them),
    };

    return cmocka_run_group_tests_name("query.distinct_hash", tests, load,
                                       release);
}
