/* engine_ttl_test.c -- what has expired goes by itself, and only that.
 *
 * An engine over `mem` in the simulation, whose clock the test turns.  Rows are
 * counted in the store, because to a reader an expired document is gone anyway;
 * the LSN says how many deletes there were; and the trace of the simulation
 * shows whether anything woke up that had nothing to do.
 */
#include "lib/faulty.h"
#include "lib/one_container.h"

#include "base/prng.h"
#include "engine/catalog/object.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

static int setup_default(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(",\"defaultTtl\":100"), 1);
}

static int setup_ranges(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(",\"defaultTtl\":100"), 4);
}

static int setup_off(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(""), 1);
}

static void put(enum rn_document_verb verb, int n, int ttl)
{
    char body[100], more[30] = "";

    if (ttl)
        snprintf(more, sizeof(more), ",\"ttl\":%d", ttl);
    snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d%s}", n, n, more);
    assert_int_equal(one_container_write(verb, NULL, NULL, body), RN_OK);
}

static void create(int n, int ttl)
{
    put(RN_DOCUMENT_CREATE, n, ttl);
}

static bool is_there(int n)
{
    char id[12], pk[16];

    snprintf(id, sizeof(id), "%d", n);
    snprintf(pk, sizeof(pk), "[%d]", n);
    return !read_document(&db, one_container, pk, id, &doc);
}

/* Documents that have rows; of `timed` ones a time, too. */
static void assert_rows(size_t documents, size_t timed)
{
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT),
                     documents);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_FEED), documents);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_RID), documents);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_TIME), timed);
}

static void set_default(const char *more)
{
    char body[300];

    snprintf(body, sizeof(body), CONTAINER("%s"), more);
    one_container_redefine(body);
}

static void count_step(void *context, const char *line)
{
    size_t *count = context;

    if (strstr(line, "step"))
        ++*count;
}

/* How often anything ran while the clock was turned. */
static size_t steps_during(int64_t seconds)
{
    size_t count = 0;

    database_settle(&db);
    rn_sim_trace(db.sim, count_step, &count);
    turn_clock(seconds);
    rn_sim_trace(db.sim, NULL, NULL);
    return count;
}

/* ---- ttl of their own ---------------------------------------------------- */

static void a_document_with_a_ttl_goes_when_it_ends(void **state)
{
    (void)state;
    create(1, 10);
    create(2, 20);
    create(3, -1);
    create(4, 0);
    assert_rows(4, 2);
    turn_clock(9);
    assert_rows(4, 2);
    turn_clock(2);
    assert_rows(3, 1);
    assert_int_equal(lsn_of(&db, one_container, 0),
                     5); /* a delete like any other */
    turn_clock(10);
    assert_rows(2, 0);
    assert_int_equal(lsn_of(&db, one_container, 0), 6);
    turn_clock(1000000);
    assert_rows(2, 0);
    assert_true(is_there(3));
    assert_true(is_there(4));
}

static void a_write_begins_the_time_anew(void **state)
{
    (void)state;
    create(1, 10);
    create(2, 10);
    create(3, 10);
    turn_clock(6);
    put(RN_DOCUMENT_UPSERT, 1, 10);
    put(RN_DOCUMENT_UPSERT, 2, 0);
    put(RN_DOCUMENT_UPSERT, 3, -1);
    assert_rows(3, 1);
    turn_clock(6);
    assert_rows(3, 1);
    turn_clock(6);
    assert_rows(2, 0);
    assert_false(is_there(1));
}

static void a_deleted_document_leaves_no_time_behind(void **state)
{
    (void)state;
    create(1, 10);
    one_container_del("[1]", "1");
    assert_rows(0, 0);
    turn_clock(20);
    assert_int_equal(lsn_of(&db, one_container, 0), 2);
}

static void a_create_over_an_expired_document_first_deletes_it(void **state)
{
    uint64_t rid;

    (void)state;
    create(1, 10);
    rid = doc.rid;
    rn_sim_wall_jump(db.sim, 11000); /* which the sweeper does not notice */
    assert_rows(1, 1);
    create(1, 10);
    assert_int_equal(doc.place.lsn, 3);
    assert_int_not_equal(doc.rid, rid);
    assert_rows(1, 1);
}

/* ---- the container's default --------------------------------------------- */

static void documents_on_the_default_go_from_the_old_end(void **state)
{
    (void)state;
    create(1, -1);
    create(2, 0);
    create(3, 500);
    turn_clock(50);
    create(4, 0);
    create(5, 10);
    turn_clock(51);
    assert_rows(3, 1); /* 1, 3 and 4 */
    turn_clock(50);
    assert_rows(2, 1);
    assert_true(is_there(1));
    assert_true(is_there(3));
    turn_clock(350);
    assert_rows(1, 0);
    create(6, 0);
    turn_clock(101);
    assert_rows(1, 0);
    assert_true(is_there(1));
}

static void every_range_is_swept(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++)
        create(i, i % 4 == 0 ? -1 : 0);
    turn_clock(101);
    assert_rows(10, 0);
    for (int i = 40; i < 80; i++)
        create(i, i % 4 == 0 ? -1 : 0);
    turn_clock(101);
    assert_rows(20, 0);
    assert_int_equal(
        lsn_of(&db, one_container, 0) + lsn_of(&db, one_container, 1) +
            lsn_of(&db, one_container, 2) + lsn_of(&db, one_container, 3),
        80 + 60);
}

static void a_new_default_rewrites_nothing(void **state)
{
    uint64_t lsn;

    (void)state;
    for (int i = 0; i < 20; i++)
        create(i, 0);
    lsn = lsn_of(&db, one_container, 0);
    turn_clock(50);
    set_default(",\"defaultTtl\":1000");
    turn_clock(500);
    assert_rows(20, 0);
    assert_int_equal(lsn_of(&db, one_container, 0), lsn);
    set_default(",\"defaultTtl\":-1");
    turn_clock(10000);
    assert_rows(20, 0);
    set_default("");
    turn_clock(10000);
    assert_rows(20, 0);
    set_default(",\"defaultTtl\":5");
    database_settle(&db);
    assert_rows(0, 0);
    assert_int_equal(lsn_of(&db, one_container, 0), lsn + 20);
}

static void a_ttl_counts_from_when_the_container_has_one(void **state)
{
    (void)state;
    create(1, 10);
    create(2, 0);
    turn_clock(1000);
    assert_rows(2, 1);
    assert_true(is_there(1));
    set_default(",\"defaultTtl\":-1");
    database_settle(&db);
    assert_rows(1, 0);
    assert_true(is_there(2));
}

/* ---- how ----------------------------------------------------------------- */

static void many_go_in_slices(void **state)
{
    struct rn_committer_status before, after;

    (void)state;
    for (int i = 0; i < 500; i++)
        create(i, i % 2 ? 10 : 100);
    rn_engine_commit_status(db.engine, &before);
    turn_clock(101);
    rn_engine_commit_status(db.engine, &after);
    assert_rows(0, 0);
    assert_int_equal(lsn_of(&db, one_container, 0), 1000);
    assert_true(after.groups - before.groups >= 500 / 64);
    assert_true(after.groups - before.groups <= 2 + 500 / 60);
}

static void a_restart_goes_on_with_what_is_due(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        create(i, i % 3 == 0 ? 0 : i % 3 == 1 ? 50 : -1);
    rn_sim_wall_jump(db.sim, 200000);
    one_container_reopen();
    create(300, 0);
    database_settle(&db);
    assert_rows(101, 0);
    turn_clock(101);
    assert_rows(100, 0);
}

static void a_clock_put_forward_is_noticed(void **state)
{
    (void)state;
    create(1, 1000);
    database_settle(&db);
    rn_sim_wall_jump(db.sim, 1001000);
    database_settle(&db);
    assert_rows(1, 1);
    assert_false(is_there(1));
    rn_engine_clock_turned(db.engine);
    database_settle(&db);
    assert_rows(0, 0);
    create(2, 100000); /* and, without a notice, within the hour */
    database_settle(&db);
    rn_sim_wall_jump(db.sim, 200000000);
    turn_clock(3601);
    assert_rows(0, 0);
}

static void nothing_wakes_when_nothing_can_expire(void **state)
{
    (void)state;
    create(1, -1);
    create(2, 0);
    assert_int_equal(steps_during(1000000), 0);
    create(3, 3000);
    assert_true(steps_during(2999) <= 1);
    assert_rows(3, 1);
    assert_true(steps_during(2) > 0);
    assert_rows(2, 0);
    assert_int_equal(steps_during(1000000), 0);
}

static void a_deleted_container_is_not_swept(void **state)
{
    (void)state;
    create(1, 100);
    create(2, 0);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    turn_clock(200);
    assert_rows(0, 0);
    assert_int_equal(steps_during(1000000), 0);
}

/* ---- a store that fails -------------------------------------------------- */

static void use_faulty_store(void)
{
    rn_engine_close(db.engine);
    db.engine = NULL;
    db.store = faulty_new(db.store);
    assert_non_null(db.store);
    one_container_reopen();
}

static void a_slice_that_was_undone_is_run_again(void **state)
{
    (void)state;
    use_faulty_store();
    for (int i = 0; i < 100; i++)
        create(i, i % 4 == 0 ? -1 : i % 4 == 1 ? 50 : 0);
    faulty_fail(db.store, FAULTY_COMMIT, 1, 1, RN_IO);
    turn_clock(60);
    assert_rows(75, 0);
    faulty_fail(db.store, FAULTY_DEL, 30, 1, RN_IO);
    turn_clock(60);
    assert_rows(25, 0);
    assert_int_equal(lsn_of(&db, one_container, 0), 175);
}

static void a_slice_that_failed_is_tried_again_later(void **state)
{
    (void)state;
    use_faulty_store();
    for (int i = 0; i < 100; i++)
        create(i, i % 4 == 0 ? -1 : i % 4 == 1 ? 50 : 0);
    faulty_fail(db.store, FAULTY_COMMIT, 1, 4, RN_FULL);
    turn_clock(101);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 100);
    turn_clock(61);
    assert_rows(25, 0);
}

/* ---- random writes ------------------------------------------------------- */

enum { IDS = 60, STEPS = 3000 };

static void
what_cannot_be_removed_keeps_nothing_of_other_containers(void **state)
{
    struct rn_object *good = one_container;
    uint64_t failed;

    (void)state;
    for (int i = 0; i < 5; i++)
        create(i, 10);
    one_container = make_container(
        &db, owner, CONTAINER_HASHED("bad", "2", ",\"defaultTtl\":-1"));
    for (int i = 0; i < 5; i++)
        create(i, 10);
    one_container_damage("[3]", "3");
    turn_clock(30);
    failed = rn_engine_removals_failed(db.engine);
    assert_true(failed > 0);
    assert_true(count_rows(&db, one_container, RN_TAG_DOCUMENT) > 0);
    turn_clock(60);
    assert_int_equal(rn_engine_removals_failed(db.engine), failed + 1);
    rn_object_release(one_container);
    one_container = good;
    assert_rows(0, 0);
}

static void random_writes_leave_what_has_not_expired(void **state)
{
    static const int ttls[] = { 0, 0, -1, 5, 40, 150, 1000 };
    struct rn_prng *prng = rn_sim_prng(db.sim);
    int64_t now = 0, end[IDS] = { 0 }; /* 0: not there */
    bool timed[IDS] = { false };
    size_t live = 0, times = 0;

    (void)state;
    for (int step = 0; step < STEPS; step++) {
        int i = (int)rn_prng_below(prng, IDS);
        int ttl = ttls[rn_prng_below(prng, 7)];

        if (rn_prng_percent(prng, 30)) {
            int64_t seconds = (int64_t)rn_prng_below(prng, 30);

            turn_clock(seconds);
            now += seconds;
            continue;
        }
        assert_int_equal(is_there(i), end[i] > now);
        put(RN_DOCUMENT_UPSERT, i, ttl);
        end[i] = ttl < 0 ? INT64_MAX : now + (ttl ? ttl : 100);
        timed[i] = ttl > 0;
    }
    turn_clock(1);
    now++;
    for (int i = 0; i < IDS; i++) {
        live += end[i] > now;
        times += end[i] > now && timed[i];
    }
    assert_rows(live, times);
}

int main(void)
{
#define CASE(name, begin)                                                      \
    cmocka_unit_test_setup_teardown(name, begin, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_document_with_a_ttl_goes_when_it_ends, one_container_setup),
        CASE(a_write_begins_the_time_anew, one_container_setup),
        CASE(a_deleted_document_leaves_no_time_behind, one_container_setup),
        CASE(a_create_over_an_expired_document_first_deletes_it,
             one_container_setup),
        CASE(documents_on_the_default_go_from_the_old_end, setup_default),
        CASE(every_range_is_swept, setup_ranges),
        CASE(a_new_default_rewrites_nothing, setup_default),
        CASE(a_ttl_counts_from_when_the_container_has_one, setup_off),
        CASE(many_go_in_slices, setup_default),
        CASE(a_restart_goes_on_with_what_is_due, setup_default),
        CASE(a_clock_put_forward_is_noticed, one_container_setup),
        CASE(nothing_wakes_when_nothing_can_expire, one_container_setup),
        CASE(a_deleted_container_is_not_swept, setup_default),
        CASE(a_slice_that_was_undone_is_run_again, setup_default),
        CASE(a_slice_that_failed_is_tried_again_later, setup_default),
        CASE(what_cannot_be_removed_keeps_nothing_of_other_containers,
             one_container_setup),
        CASE(random_writes_leave_what_has_not_expired, setup_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
