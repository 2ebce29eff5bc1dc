/* query_where_equalities_test.c -- what an engine learns of a query before it
 * runs: which values WHERE leaves to a path, and which paths ORDER BY goes by.
 *
 * Tables of texts.  That no document is lost by it is in
 * query_generated_test.c.
 */
#include "query/query.h"
#include "query/where/where_equalities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void where_limits_a_path(void **state)
{
    static const struct {
        const char *where;
        int count; /* -1: any value */
    } cases[] = {
        { "c.a.b = 1", 1 },
        { "1 = c[\"a\"].b", 1 },
        { "c.a.b = 1 AND c.x > 2", 1 },
        { "c.a.b = 1 AND c.a.b = 2", 0 },
        { "c.a.b = 1 OR c.a.b = 2", 2 },
        { "c.a.b = 1 OR c.x = 2", -1 },
        { "c.a.b IN (1, 2, 3)", 3 },
        { "NOT (c.a.b != 5)", 1 },
        { "c.a.b > 1", -1 },
        { "c.a = 1", -1 },
        { "c.a.b.c = 1", -1 },
        { "c.a.b = c.x", -1 },
        { "c.a.b = 1 + 1", 1 },
        { "c.a.b = undefined", 0 },
        { "false", 0 },
        { "c.a.b LIKE 'x'", 1 },
        { "c.a.b LIKE 'x%'", -1 },
        { "EXISTS(SELECT VALUE 1 FROM c WHERE c.a.b = 1)", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_arena a = RN_ARENA_INIT(1 << 20);
        struct rn_query_input in = { .text = { 0 } };
        struct rn_json_path path;
        struct rn_where_equalities equal;
        struct rn_faults faults;
        struct rn_query *q;
        char text[200];

        snprintf(text, sizeof(text), "SELECT * FROM c WHERE %s",
                 cases[i].where);
        print_message("# %s\n", cases[i].where);
        in.text = rn_view_text(text);
        assert_int_equal(rn_json_path_parse(RN_LIT("/a/b"), &a, &path, NULL),
                         RN_OK);
        assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
        assert_int_equal(rn_where_equalities_find(q, &path, &a, &equal), RN_OK);
        assert_int_equal(equal.is_limited, cases[i].count >= 0);
        if (equal.is_limited)
            assert_int_equal(equal.count, cases[i].count);
        rn_arena_release(&a);
    }
}

static void order_keys_are_paths(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(1 << 20);
    struct rn_query_input in = {
        .text = RN_LIT("SELECT * FROM c ORDER BY c.a[\"b c\"] DESC, c.d")
    };
    struct rn_json_path path;
    struct rn_faults faults;
    struct rn_query *q;
    bool is_descending;

    (void)state;
    assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
    assert_int_equal(rn_query_order_count(q), 2);
    assert_int_equal(rn_query_order_key(q, 0, &a, &path, &is_descending),
                     RN_OK);
    assert_true(is_descending);
    assert_int_equal(path.count, 2);
    assert_true(rn_view_eq(path.names[1], RN_LIT("b c")));
    assert_int_equal(rn_query_order_key(q, 1, &a, &path, &is_descending),
                     RN_OK);
    assert_false(is_descending);
    assert_int_equal(path.count, 1);
    rn_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_limits_a_path),
        cmocka_unit_test(order_keys_are_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
