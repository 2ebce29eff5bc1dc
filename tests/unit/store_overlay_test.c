/* store_overlay_test.c -- an overlay pours all, or harms nobody.
 *
 * What an overlay shows while all goes well is compared with a model in
 * tests/store/conformance_model.c.  Here something goes wrong: below, while
 * reading or pouring, or above, without memory.
 */
#include "lib/faulty.h"
#include "lib/oom.h"
#include "store/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define A RN_LIT("a")
#define B RN_LIT("b")
#define C RN_LIT("c")
#define ONE RN_LIT("one")
#define TWO RN_LIT("two")

static struct rn_store *open_faulty(void)
{
    struct rn_store *mem = NULL, *s;

    assert_int_equal(
        rn_store_open("mem", &(struct rn_store_opts){ 0 }, &mem, NULL), RN_OK);
    s = faulty_new(mem);
    assert_non_null(s);
    return s;
}

static struct rn_txn *begin(struct rn_store *s)
{
    struct rn_txn *t = NULL;

    assert_int_equal(
        rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &t, NULL), RN_OK);
    return t;
}

static struct rn_txn *begin_over(struct rn_txn *below)
{
    struct rn_txn *t = NULL;

    assert_int_equal(rn_overlay_begin(below, &t), RN_OK);
    return t;
}

static void put(struct rn_txn *t, struct rn_view key, struct rn_view value)
{
    assert_int_equal(rn_txn_put(t, key, value), RN_OK);
}

static void a_fault_in_mid_pour_fails_the_transaction_below(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s), *over;
    struct rn_err err = { 0 };
    struct rn_view v;

    (void)state;
    put(t, A, ONE);
    over = begin_over(t);
    put(over, B, TWO);
    put(over, C, TWO);
    faulty_fail(s, FAULTY_PUT, 2, 1, RN_IO);
    assert_int_equal(rn_txn_commit(over, &err), RN_IO);
    assert_string_equal(err.text, "the test wants input/output error");
    assert_int_equal(rn_txn_fault(t), RN_IO);
    err = (struct rn_err){ 0 };
    assert_int_equal(rn_txn_commit(t, &err), RN_IO);
    assert_string_equal(err.text, "the test wants input/output error");
    assert_int_equal(faulty_count(s, FAULTY_COMMIT), 0);

    t = begin(s);
    assert_int_equal(rn_txn_get(t, A, &v), RN_NOT_FOUND);
    assert_int_equal(rn_txn_get(t, B, &v), RN_NOT_FOUND);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_fault_through_three_overlays_reaches_the_ground(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s), *one = begin_over(t), *two = begin_over(one);

    (void)state;
    put(two, A, ONE);
    assert_int_equal(rn_txn_commit(two, NULL), RN_OK); /* only to `one` */
    assert_int_equal(faulty_count(s, FAULTY_PUT), 0);
    faulty_fail(s, FAULTY_PUT, 1, 1, RN_FULL);
    assert_int_equal(rn_txn_commit(one, NULL), RN_FULL);
    assert_int_equal(rn_txn_fault(t), RN_FULL);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_fault_while_reading_is_returned_and_explained(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s), *over;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    const struct rn_key_interval all = { 0 };

    (void)state;
    put(t, A, ONE);
    put(t, C, ONE);
    over = begin_over(t);
    put(over, B, TWO);

    faulty_fail(s, FAULTY_GET, 1, 1, RN_CORRUPT);
    assert_int_equal(rn_txn_get(over, A, &value), RN_CORRUPT);
    assert_string_equal(rn_txn_why(over, RN_CORRUPT),
                        "the test wants damaged data");
    assert_int_equal(rn_txn_get(over, B, &value), RN_OK); /* needs no look */
    faulty_fail(s, FAULTY_GET, 1, 1, RN_CORRUPT);
    assert_int_equal(rn_txn_del(over, A), RN_CORRUPT);
    rn_txn_abort(over);
    assert_int_equal(rn_txn_fault(t), RN_OK); /* `over` failed, not `t` */

    over = begin_over(t);
    put(over, B, TWO);
    faulty_fail(s, FAULTY_SCAN, 1, 1, RN_IO);
    assert_int_equal(rn_txn_scan(over, &all, &c), RN_IO);
    assert_int_equal(rn_txn_scan(over, &all, &c), RN_OK);
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_OK);
    faulty_fail(s, FAULTY_NEXT, 1, 2, RN_IO);
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_IO);
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_IO);
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_OK); /* none lost */
    assert_true(rn_view_eq(key, B));
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_OK);
    assert_true(rn_view_eq(key, C));
    assert_int_equal(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
    rn_cursor_end(c);
    assert_int_equal(rn_txn_commit(over, NULL), RN_OK);
    assert_int_equal(rn_txn_commit(t, NULL), RN_OK);
    rn_store_close(s);
}

static void redo_counts_on_from_below(void **state)
{
    static char bytes[RN_VALUE_MAX];
    const struct rn_view large = { bytes, sizeof(bytes) - 20 };
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s), *over;

    (void)state;
    put(t, A, large);
    over = begin_over(t);
    put(over, B, large);
    assert_int_equal(over->redo_bytes, 2 * (large.len + 17));
    assert_int_equal(rn_txn_put(over, C, ONE), RN_TOO_LARGE);
    assert_int_equal(t->redo_bytes, large.len + 17);
    assert_int_equal(rn_txn_commit(over, NULL), RN_OK);
    assert_int_equal(t->redo_bytes, 2 * (large.len + 17));
    assert_int_equal(rn_txn_commit(t, NULL), RN_OK);
    rn_store_close(s);
}

static void what_never_reached_below_needs_no_redo_there(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s), *over = begin_over(t);

    (void)state;
    put(over, A, ONE);
    assert_int_equal(rn_txn_del(over, A), RN_OK);
    put(over, B, ONE);
    put(over, B, TWO);
    assert_int_equal(rn_txn_commit(over, NULL), RN_OK);
    assert_int_equal(t->redo_bytes, 1 + 3 + 16);
    rn_txn_abort(t);
    rn_store_close(s);
}

/* Begin, write, delete and scan, with each allocation failing in turn. */
static enum rn_code work_above(struct rn_txn *below)
{
    const struct rn_key_interval all = { 0 };
    struct rn_txn *over = NULL;
    struct rn_cursor *c = NULL;
    enum rn_code rc = rn_overlay_begin(below, &over);

    if (rc)
        return rc;
    rc = rn_txn_put(over, B, TWO);
    if (!rc)
        rc = rn_txn_del(over, A);
    if (!rc)
        rc = rn_txn_scan(over, &all, &c);
    rn_cursor_end(c);
    rn_txn_abort(over);
    return rc;
}

static void want_of_memory_above_leaves_below_unharmed(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = begin(s);
    enum rn_code rc = RN_NOMEM;
    struct rn_view v;
    unsigned n = 0;

    (void)state;
    put(t, A, ONE);
    while (rc == RN_NOMEM) {
        oom_in = ++n;
        rc = work_above(t);
        oom_in = 0;
        assert_int_equal(rn_txn_fault(t), RN_OK);
        assert_int_equal(rn_txn_get(t, A, &v), RN_OK);
        assert_int_equal(rn_txn_get(t, B, &v), RN_NOT_FOUND);
    }
    assert_int_equal(rc, RN_OK);
    assert_true(n > 5);
    assert_int_equal(rn_txn_commit(t, NULL), RN_OK);
    rn_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_in_mid_pour_fails_the_transaction_below),
        cmocka_unit_test(a_fault_through_three_overlays_reaches_the_ground),
        cmocka_unit_test(a_fault_while_reading_is_returned_and_explained),
        cmocka_unit_test(redo_counts_on_from_below),
        cmocka_unit_test(what_never_reached_below_needs_no_redo_there),
        cmocka_unit_test(want_of_memory_above_leaves_below_unharmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
