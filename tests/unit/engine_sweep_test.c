/* engine_sweep_test.c -- a deleted container leaves nothing behind.
 *
 * An engine over `mem` in the simulation.  All keys under the container's
 * number are counted in the store.
 */
#include "lib/box.h"

#include "cosmos/status.h"
#include "engine/own.h"

#include <stdio.h>

enum { COUNT = 300 };

static int setup(void **state)
{
    (void)state;
    return box_open(CONTAINER(""), 1);
}

static void fill(void)
{
    char body[100];

    for (int n = 0; n < COUNT; n++) {
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", n, n);
        box_put(body);
    }
}

static size_t keys_of(uint32_t number)
{
    struct rn_key from, before;

    rn_key_span_container(number, &from, &before);
    return count_between(&db, &from, &before);
}

static void a_deleted_container_leaves_no_key_and_no_number(void **state)
{
    struct rn_object *again;

    (void)state;
    fill();
    assert_true(keys_of(box->number) >= 3 * COUNT);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    assert_null(
        rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("c")));
    assert_int_equal(
        box_write(RN_DOCUMENT_CREATE, NULL, NULL, "{\"id\":\"late\"}"),
        RN_NOT_FOUND);
    assert_int_equal(doc.err.reason, RN_REASON_OWNER);
    again = make_container(&db, owner, CONTAINER(""));
    database_settle(&db);
    assert_int_equal(keys_of(box->number), 0);
    assert_int_equal(db.engine->sieves.len, 1);
    assert_true(again->number > box->number);
    assert_false(rn_rid_eq(again->rid, box->rid));
    assert_int_equal(read_document(&db, again, "[1]", "1", &doc), RN_NOT_FOUND);
    rn_object_release(again);
}

static void sweeping_goes_on_after_a_restart(void **state)
{
    (void)state;
    fill();
    assert_int_equal(
        change(&db, RN_CATALOG_DELETE, (struct rn_rid){ 0 }, "d", NULL, NULL),
        RN_OK);
    database_reopen(&db);
    database_settle(&db);
    assert_int_equal(keys_of(box->number), 0);
    assert_null(rn_catalog_find_rid(db.engine, box->rid));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, box_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_deleted_container_leaves_no_key_and_no_number),
        CASE(sweeping_goes_on_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
