/* engine_delete_partition_test.c -- all documents of one partition key value
 * go.
 *
 * An engine over `mem` in the simulation, in which the test decides how far the
 * slices get before something else happens: a write, a restart, the end of the
 * container.
 */
#include "lib/one_container.h"

#include "engine/engine.h"

#include <stdio.h>

static const char many_x[] =
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

static int setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(""), 1);
}

static void put(const char *pk, int n)
{
    char body[300];

    snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":\"%s\"}", n, pk);
    one_container_put(body);
}

static bool is_there(const char *pk, int n)
{
    char id[12], key[300];

    snprintf(id, sizeof(id), "%d", n);
    snprintf(key, sizeof(key), "[\"%s\"]", pk);
    return !read_document(&db, one_container, key, id, &doc);
}

/* ---- deletions ------------------------------------------------------------
 */

struct deletion {
    struct rn_delete_partition delete_partition;
    struct rn_pk pk;
    bool is_ended;
    enum rn_code rc;
};

static void delete_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_delete_partition *p =
        RN_CONTAINER_OF(done, struct rn_delete_partition, done);
    struct deletion *deletion =
        RN_CONTAINER_OF(p, struct deletion, delete_partition);

    (void)err;
    deletion->is_ended = true;
    deletion->rc = rc;
}

static void start(struct deletion *p, const char *pk)
{
    memset(p, 0, sizeof(*p));
    p->pk.count = 1;
    p->pk.values[0] =
        (struct rn_pk_value){ .type = RN_PK_STRING, .text = rn_view_text(pk) };
    p->delete_partition.done.call = delete_done;
    p->delete_partition.container = one_container->container;
    p->delete_partition.pk = &p->pk;
    assert_int_equal(
        rn_delete_partition_start(db.engine, &p->delete_partition, NULL),
        RN_OK);
}

static void finish(struct deletion *p)
{
    while (!p->is_ended)
        assert_true(rn_sim_step(db.sim));
    assert_int_equal(p->rc, RN_OK);
}

static void delete_partition(const char *pk)
{
    struct deletion p;

    start(&p, pk);
    finish(&p);
}

/* Steps until not more than so many documents are left. */
static void run_until(size_t left)
{
    while (count_rows(&db, one_container, RN_TAG_DOCUMENT) > left)
        assert_true(rn_sim_step(db.sim));
}

/* ---- cases --------------------------------------------------------------- */

static void documents_of_the_key_go_and_others_stay(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        put("a", i);
        put("b", i);
    }
    delete_partition("a");
    for (int i = 0; i < 10; i++) {
        assert_false(is_there("a", i));
        assert_true(is_there("b", i));
    }
    assert_int_equal(lsn_of(&db, one_container, 0), 30); /* one each */
    delete_partition("none");
    assert_int_equal(lsn_of(&db, one_container, 0), 30);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_FEED), 10);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_RID), 10);
}

static void it_is_answered_when_all_have_gone(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++)
        put("a", i);
    delete_partition("a");
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 0);
}

static void a_key_that_cannot_be_purged_does_not_keep_others(void **state)
{
    struct deletion bad, good;
    uint64_t failed;

    (void)state;
    for (int i = 0; i < 10; i++) {
        put("a", i);
        put("b", i);
        put("c", i);
    }
    one_container_damage("[\"b\"]", "5");
    start(&bad, "b");
    start(&good, "a");
    finish(&good);
    while (!bad.is_ended)
        assert_true(rn_sim_step(db.sim));
    assert_int_equal(bad.rc, RN_CORRUPT);
    delete_partition("c");
    database_settle(&db);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 10);
    failed = rn_engine_removals_failed(db.engine);
    assert_true(failed > 0);
    turn_clock(60); /* and is tried again */
    assert_int_equal(rn_engine_removals_failed(db.engine), failed + 1);
}

static void of_very_many_it_is_answered_before(void **state)
{
    enum { COUNT = 60 * RN_DELETE_PARTITION_SLICES };
    size_t left;

    (void)state;
    for (int i = 0; i < COUNT; i++)
        put("a", i);
    delete_partition("a");
    left = count_rows(&db, one_container, RN_TAG_DOCUMENT);
    assert_in_range(left, 1, COUNT / 2);
    database_settle(&db);
    run_until(0);
}

static void what_is_written_afterwards_stays(void **state)
{
    struct deletion p;

    (void)state;
    for (int i = 0; i < 200; i++)
        put("a", i);
    start(&p, "a");
    put("a", 1000);
    put("a", 199); /* anew, or still: it is there afterwards */
    run_until(150);
    put("a", 1001);
    put("a", 198);
    finish(&p);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 4);
    assert_true(is_there("a", 1000) && is_there("a", 1001));
    assert_true(is_there("a", 199) && is_there("a", 198));
}

static void a_second_order_takes_what_came_after_the_first(void **state)
{
    struct deletion first, second;

    (void)state;
    for (int i = 0; i < 200; i++)
        put("a", i);
    start(&first, "a");
    run_until(100);
    put("a", 0);
    start(&second, "a");
    finish(&first);
    finish(&second);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 0);
}

static void a_restart_goes_on_with_it(void **state)
{
    struct deletion p;

    (void)state;
    for (int i = 0; i < 300; i++)
        put("a", i);
    start(&p, "a");
    run_until(200);
    one_container_reopen();
    assert_true(p.is_ended);
    put("a", 1000);
    run_until(1);
    assert_true(is_there("a", 1000));
}

static void an_order_ends_with_its_container(void **state)
{
    struct deletion p;

    (void)state;
    for (int i = 0; i < 300; i++)
        put("a", i);
    start(&p, "a");
    run_until(200);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    finish(&p);
    rn_sim_run(db.sim, 1000000000);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 0);
    assert_false(rn_sim_step(db.sim)); /* nobody looks for it any more */
}

static void another_key_with_the_same_epk_stays(void **state)
{
    char a[160], b[160];

    (void)state;
    one_container_use(CONTAINER_V1(""));
    memset(a, 'k', sizeof(a));
    a[150] = '\0';
    memcpy(b, a, sizeof(b));
    b[149] = 'x';
    put(a, 1);
    put(b, 1);
    delete_partition(a);
    assert_false(is_there(a, 1));
    assert_true(is_there(b, 1));
}

/* They have one EPK and one hash (engine_document_test.c). */
static void another_key_with_the_same_hash_stays(void **state)
{
    char a[160], b[160];
    struct deletion p, q;

    (void)state;
    one_container_use(CONTAINER_V1(""));
    snprintf(a, sizeof(a), "%.108s9c696c5b620ee2e8", many_x);
    snprintf(b, sizeof(b), "%.108s09d8b22e9abb2b16", many_x);
    for (int i = 0; i < 200; i++)
        put(i % 2 ? a : b, i);
    delete_partition(a);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 100);
    assert_true(is_there(b, 0));
    for (int i = 0; i < 200; i++)
        if (i % 2)
            put(a, i);
    start(&p, a);
    run_until(190);
    start(&q, b); /* neither takes the other's place */
    one_container_reopen();
    database_settle(&db);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 0);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(documents_of_the_key_go_and_others_stay),
        CASE(it_is_answered_when_all_have_gone),
        CASE(a_key_that_cannot_be_purged_does_not_keep_others),
        CASE(of_very_many_it_is_answered_before),
        CASE(what_is_written_afterwards_stays),
        CASE(a_second_order_takes_what_came_after_the_first),
        CASE(a_restart_goes_on_with_it),
        CASE(an_order_ends_with_its_container),
        CASE(another_key_with_the_same_epk_stays),
        CASE(another_key_with_the_same_hash_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
