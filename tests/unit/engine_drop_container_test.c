/* engine_drop_container_test.c -- a deleted container, or database, leaves
 * nothing behind.
 *
 * An engine over `mem` in the simulation.  All keys under the container's
 * number are counted in the store.
 */
#include "lib/one_container.h"

#include "cosmos/status.h"
#include "engine/catalog/object.h"
#include "engine/engine_state.h"

#include <stdio.h>

enum { COUNT = 300 };

static int setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(""), 1);
}

static void fill(void)
{
    char body[100];

    for (int n = 0; n < COUNT; n++) {
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", n, n);
        one_container_put(body);
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
    assert_true(keys_of(one_container->number) >= 3 * COUNT);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    assert_null(
        rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("c")));
    assert_int_equal(one_container_write(RN_DOCUMENT_CREATE, NULL, NULL,
                                         "{\"id\":\"late\"}"),
                     RN_NOT_FOUND);
    assert_int_equal(doc.err.reason, RN_REASON_OWNER);
    again = make_container(&db, owner, CONTAINER(""));
    database_settle(&db);
    assert_int_equal(keys_of(one_container->number), 0);
    assert_int_equal(db.engine->blooms.len, 1);
    assert_true(again->number > one_container->number);
    assert_false(rn_rid_eq(again->rid, one_container->rid));
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
    assert_int_equal(keys_of(one_container->number), 0);
    assert_null(rn_catalog_find_rid(db.engine, one_container->rid));
}

/* ---- databases ----------------------------------------------------------- */

enum { CONTAINERS = 800 };

static size_t objects(void)
{
    struct rn_key from, before;

    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_OBJECT, &from, &before);
    return count_between(&db, &from, &before);
}

static size_t listed(enum rn_kind kind, struct rn_rid of)
{
    struct rn_object *list[CONTAINERS + 10];
    size_t count = rn_catalog_list(db.engine, kind, of, NULL, list,
                                   sizeof(list) / sizeof(list[0]));

    for (size_t i = 0; i < count; i++)
        rn_object_release(list[i]);
    return count;
}

/* Another database with a container, which is `one_container` from now on, and
 * many containers in the first; how many objects the first has. */
static size_t fill_database(void)
{
    struct rn_rid other = make_database(&db, "other");
    char body[200];
    size_t before;

    rn_object_release(one_container);
    one_container = make_container(&db, other, CONTAINER(""));
    before = objects();
    for (int n = 0; n < CONTAINERS; n++) {
        snprintf(body, sizeof(body), CONTAINER_HASHED("%d", "2", ""), n);
        rn_object_release(make_container(&db, owner, body));
    }
    assert_int_equal(change_like(&db,
                                 &(struct rn_catalog_change){
                                     .verb = RN_CATALOG_CREATE,
                                     .kind = RN_KIND_USER,
                                     .owner = owner,
                                     .body = RN_LIT("{\"id\":\"u\"}") },
                                 NULL),
                     RN_OK);
    return objects() - before + 3; /* itself, its container "c" and an offer */
}

static void drop(void)
{
    assert_int_equal(
        change(&db, RN_CATALOG_DELETE, (struct rn_rid){ 0 }, "d", NULL, NULL),
        RN_OK);
}

static void nothing_of_it_is_seen(struct rn_rid container)
{
    assert_null(rn_catalog_find_rid(db.engine, owner));
    assert_null(rn_catalog_find_rid(db.engine, container));
    assert_null(rn_catalog_find_offer(db.engine, container));
    assert_null(
        rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("7")));
    assert_int_equal(listed(RN_KIND_CONTAINER, owner), 0);
    assert_int_equal(listed(RN_KIND_USER, owner), 0);
    assert_int_equal(listed(RN_KIND_OFFER, (struct rn_rid){ 0 }), 1);
    assert_int_equal(listed(RN_KIND_CONTAINER, (struct rn_rid){ 0 }), 1);
}

static void a_deleted_database_is_gone_at_once_and_goes_in_slices(void **state)
{
    struct rn_object *c;
    size_t in_it = fill_database(), all = objects();
    struct rn_rid again, gone;

    (void)state;
    c = rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("7"));
    gone = c->rid;
    rn_object_release(c);
    drop();
    nothing_of_it_is_seen(gone);
    /* A write waits for no more than a slice. */
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_true(objects() > all - in_it / 2);

    again = make_database(&db, "d"); /* its name is free */
    assert_false(rn_rid_eq(again, owner));
    c = make_container(&db, again, CONTAINER_HASHED("7", "2", ""));
    assert_int_equal(listed(RN_KIND_CONTAINER, again), 1);
    assert_true(objects() > all - in_it);
    database_settle(&db);
    assert_int_equal(objects(), all - in_it + 3);
    assert_int_equal(db.engine->dropped, 0);
    assert_int_equal(listed(RN_KIND_CONTAINER, again), 1);
    assert_int_equal(listed(RN_KIND_CONTAINER, (struct rn_rid){ 0 }), 2);
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_OK);
    rn_object_release(c);
}

static void a_restart_between_two_slices_goes_on_with_them(void **state)
{
    struct rn_object *c;
    size_t in_it = fill_database(), all = objects();
    struct rn_rid gone;

    (void)state;
    c = rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("7"));
    gone = c->rid;
    rn_object_release(c);
    drop();
    for (int i = 0; i < 3; i++) {
        assert_true(objects() > all - in_it);
        one_container_reopen();
        nothing_of_it_is_seen(gone);
        one_container_put("{\"id\":\"a\",\"pk\":1}"); /* and a slice */
    }
    database_settle(&db);
    assert_int_equal(objects(), all - in_it);
    assert_int_equal(db.engine->dropped, 0);
    nothing_of_it_is_seen(gone);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_deleted_container_leaves_no_key_and_no_number),
        CASE(sweeping_goes_on_after_a_restart),
        CASE(a_deleted_database_is_gone_at_once_and_goes_in_slices),
        CASE(a_restart_between_two_slices_goes_on_with_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
