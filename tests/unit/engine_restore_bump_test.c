/* engine_restore_bump_test.c -- a restored store gives nothing out twice.
 *
 * Goal: numbers that clients were given after the backup, which the copy does
 * not know, are not given to something else.
 * Method: an engine over `mem`, whose status has as many restores as the
 * test says; it is opened again as after a restore.  What real backups and
 * restores do to readers is in the suite `history`.
 */
#include "lib/one_container.h"

#include "engine/catalog/object.h"

#define STEP (UINT64_C(1) << 32)

static struct rn_store_ops ops;
static const struct rn_store_ops *own;
static uint64_t restores;

static void count_restores(struct rn_store *s, struct rn_store_status *out)
{
    own->status(s, out);
    out->restored = restores;
}

static int setup(void **state)
{
    (void)state;
    one_container_open(CONTAINER(""), 1);
    own = db.store->ops;
    ops = *own;
    ops.status = count_restores;
    db.store->ops = &ops;
    restores = 0;
    return 0;
}

static int teardown(void **state)
{
    db.store->ops = own;
    return one_container_close(state);
}

static void restore(void)
{
    restores++;
    one_container_reopen();
}

static uint64_t put(const char *body)
{
    one_container_put(body);
    return doc.place.lsn;
}

static void split(uint32_t range)
{
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = range }),
        RN_OK);
    database_settle(&db);
}

static void LSNs_go_on_above_all_that_the_old_store_can_have_given(void **state)
{
    (void)state;
    assert_int_equal(put("{\"id\":\"a\",\"pk\":1}"), 1);
    restore();
    assert_int_equal(lsn_of(&db, one_container, 0), STEP + 1);
    assert_int_equal(put("{\"id\":\"a\",\"pk\":1}"), STEP + 2);
    assert_int_equal(put("{\"id\":\"b\",\"pk\":1}"), STEP + 3);
}

static void a_restore_counts_once(void **state)
{
    (void)state;
    put("{\"id\":\"a\",\"pk\":1}");
    restore();
    one_container_reopen();
    assert_int_equal(lsn_of(&db, one_container, 0), STEP + 1);
    restore();
    assert_int_equal(lsn_of(&db, one_container, 0), 2 * STEP + 1);
}

static void a_restore_of_a_restored_copy_counts_twice(void **state)
{
    (void)state;
    put("{\"id\":\"a\",\"pk\":1}");
    restores = 1;
    restore();
    assert_int_equal(lsn_of(&db, one_container, 0), 2 * STEP + 1);
}

static void ids_of_ranges_are_passed_over(void **state)
{
    struct rn_row_range row;

    (void)state;
    split(0); /* 1 and 2 */
    put("{\"id\":\"a\",\"pk\":1}");
    restore();
    assert_int_equal(one_container->container->range_count, 2);
    assert_int_equal(one_container->container->next_range, 3 + RN_RANGES_MAX);
    split(1);
    assert_int_equal(one_container->container->range_count, 3);
    assert_int_equal(one_container->container->ranges[0].id, 3 + RN_RANGES_MAX);
    /* What was passed over holds everything, and no writes. */
    row = range_of(&db, one_container, 3);
    assert_int_equal(row.state, RN_RANGE_BARE);
    assert_int_equal(rn_epk_compare(&row.epks.min, &rn_epk_all.min), 0);
    assert_int_equal(rn_epk_compare(&row.epks.max, &rn_epk_all.max), 0);
    assert_true(row.lsn >= STEP);
    put("{\"id\":\"a\",\"pk\":1}");
    one_container_reopen();
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_OK);
}

static void rids_are_not_given_again(void **state)
{
    struct rn_object *other;
    struct rn_rid rid;
    uint64_t number;

    (void)state;
    put("{\"id\":\"a\",\"pk\":1}");
    number = doc.rid;
    restore();
    put("{\"id\":\"b\",\"pk\":1}");
    assert_true(doc.rid > number + 1000000);
    rid = make_database(&db, "e");
    assert_true(rid.database > one_container->rid.database + 1000);
    other = make_container(&db, rid, CONTAINER(""));
    assert_true(other->rid.parent > one_container->rid.parent + 1000);
    rn_object_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(LSNs_go_on_above_all_that_the_old_store_can_have_given),
        T(a_restore_counts_once),
        T(a_restore_of_a_restored_copy_counts_twice),
        T(ids_of_ranges_are_passed_over),
        T(rids_are_not_given_again),
#undef T
    };

    return cmocka_run_group_tests_name("engine.restored", tests, NULL, NULL);
}
