/* engine_index_test.c -- the life of an index: it comes, has a row for each
 * document, the right one, and goes.
 *
 * An engine over `mem` in the simulation.  After whatever was done every index
 * is held against the documents (lib/indexes.h).
 */
#include "lib/faulty.h"
#include "lib/indexes.h"

#include "engine/catalog/object.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/index/index_change.h"
#include "engine/index/index_demand.h"
#include "engine/index/index_use.h"

#include <stdio.h>

#define COMPOSITE                                                              \
    "\"compositeIndexes\":[[{\"path\":\"/a\",\"order\":\"ascending\"},"        \
    "{\"path\":\"/b\",\"order\":\"descending\"}]]"
#define DEFINITION(policy)                                                     \
    CONTAINER(",\"defaultTtl\":-1,\"indexingPolicy\":{" policy                 \
              "},\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}")

enum { DAY = 86400, KEYS = 4 };

static int setup(void **state)
{
    (void)state;
    return indexes_open(DEFINITION(COMPOSITE));
}

static void fill(int count)
{
    for (int i = 0; i < count; i++) {
        char id[12], more[40];

        snprintf(id, sizeof(id), "%d", i);
        snprintf(more, sizeof(more), ",\"a\":%d", i % 10);
        assert_int_equal(put_indexed(RN_DOCUMENT_CREATE, id, i % KEYS, more),
                         RN_OK);
    }
}

static void an_index_has_every_document(void **state)
{
    (void)state;
    fill(1000);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/a -/b", false), RN_OK);
    assert_int_equal(change_index("/x/y", false), RN_OK);
    indexes_settle();
    assert_string_equal(look(), "0:complete 1:complete 2:complete");
    assert_int_equal(rows_now(), 3000);
    assert_int_equal(put_indexed(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":\"x\""),
                     RN_OK);
    assert_int_equal(put_indexed(RN_DOCUMENT_CREATE, "5", 2, ",\"a\":[1]"),
                     RN_OK);
    assert_int_equal(put_indexed(RN_DOCUMENT_CREATE, "6", 2, ""), RN_CONFLICT);
    look();
    assert_int_equal(rows_now(), 3003);
}

static void making_it_twice_makes_one(void **state)
{
    (void)state;
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", true), RN_OK);
    indexes_settle();
    assert_string_equal(look(), "0:complete");
}

static void what_is_no_index_is_refused(void **state)
{
    static const struct {
        const char *why, *paths;
    } bad[] = {
        { "no path", "" },
        { "the first descends", "-/a" },
        { "too many paths", "/a /b /c /d /e /f /g /h /i" },
    };
    char name[5000], path[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("%s\n", bad[i].why);
        assert_int_equal(change_index(bad[i].paths, false), RN_BAD_REQUEST);
    }
    memset(name, 'n', sizeof(name));
    snprintf(path, sizeof(path), "/%.4500s", name);
    assert_int_equal(change_index(path, false), RN_BAD_REQUEST);
    for (int i = 0; i < RN_INDEXES_MAX; i++) {
        snprintf(path, sizeof(path), "/p%d", i);
        assert_int_equal(change_index(path, false), RN_OK);
    }
    assert_int_equal(change_index("/more", false), RN_BAD_REQUEST);
    indexes_settle();
    assert_int_equal(change_index("/p3", true), RN_OK);
    indexes_settle();
    assert_int_equal(change_index("/more", false), RN_OK);
    indexes_settle();
    assert_non_null(strstr(look(), "3:complete"));
}

static void a_dropped_index_leaves_nothing(void **state)
{
    (void)state;
    fill(700);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", false), RN_OK);
    indexes_settle();
    assert_int_equal(change_index("/a", true), RN_OK);
    assert_int_equal(put_indexed(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":77"),
                     RN_OK);
    indexes_settle();
    assert_string_equal(look(), "1:complete");
    assert_int_equal(rows_now(), 700);
    assert_int_equal(change_index("/b", true), RN_OK);
    indexes_settle();
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
    assert_int_equal(put_indexed(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":78"),
                     RN_OK);
    assert_int_equal(rows_now(), 0);
}

static void a_reopened_engine_goes_on_building(void **state)
{
    bool was_building = false;

    (void)state;
    fill(1500);
    assert_int_equal(change_index("/a", false), RN_OK);
    for (int i = 0; i < 20; i++) {
        one_container_reopen();
        db.engine->indexer.fill_batch = 90;
        (void)rn_sim_step(db.sim);
        (void)rn_sim_step(db.sim);
        was_building |= strstr(look(), "building") && rows_now() > 0;
        assert_int_equal(
            put_indexed(RN_DOCUMENT_UPSERT, "5", i % KEYS, ",\"a\":0.5"),
            RN_OK);
        look();
    }
    indexes_settle();
    assert_true(was_building);
    assert_string_equal(look(), "0:complete");
    assert_int_equal(change_index("/a", true), RN_OK);
    one_container_reopen();
    assert_int_equal(put_indexed(RN_DOCUMENT_UPSERT, "5", 1, ",\"a\":99"),
                     RN_OK);
    indexes_settle();
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

static void ignore(struct rn_done *done, enum rn_code rc,
                   const struct rn_err *err)
{
    (void)done;
    (void)rc;
    (void)err;
}

/* Writes that were queued with the index, by writers that did not know it. */
static void a_write_in_the_group_that_makes_it_is_not_missed(void **state)
{
    static const char *const bodies[] = {
        "{\"id\":\"n0\",\"pk\":1,\"u\":\"n0\",\"a\":1}",
        "{\"id\":\"5\",\"pk\":1,\"u\":\"5\",\"a\":\"late\"}",
        "{\"id\":\"n2\",\"pk\":1,\"u\":\"n2\",\"a\":1}",
        "{\"id\":\"6\",\"pk\":2,\"u\":\"6\"}",
    };
    struct rn_index_key keys[2];
    struct rn_index_change made = { .done.call = ignore,
                                    .container = one_container->container,
                                    .keys = keys };
    struct queued writes[8];

    (void)state;
    fill(20);
    made.count = read_keys("/a", keys);
    for (int i = 0; i < 8; i++) {
        if (i == 4)
            assert_int_equal(rn_index_change_start(db.engine, &made, NULL),
                             RN_OK);
        queue_write(&writes[i], bodies[i % 4]);
    }
    indexes_settle();
    for (int i = 0; i < 8; i++)
        end_write(&writes[i]);
    assert_string_equal(look(), "0:complete");
}

static void a_policy_without_the_path_drops_it(void **state)
{
    static const char *const policies[] = {
        "\"indexingMode\":\"none\",\"automatic\":false",
        "\"excludedPaths\":[{\"path\":\"/a/*\"}]",
        ("\"includedPaths\":[{\"path\":\"/b/*\"}],\"excludedPaths\":"
         "[{\"path\":\"/*\"}]"),
    };

    (void)state;
    fill(300);
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        char body[1000];

        print_message("%s\n", policies[i]);
        one_container_redefine(DEFINITION(COMPOSITE));
        assert_int_equal(change_index("/a", false), RN_OK);
        assert_int_equal(change_index("/a -/b", false), RN_OK);
        indexes_settle();
        assert_string_equal(look(), "0:complete 1:complete");
        snprintf(body, sizeof(body), DEFINITION("%s"), policies[i]);
        one_container_redefine(body);
        indexes_settle();
        assert_string_equal(look(), "");
        assert_int_equal(rows_now(), 0);
    }
}

static void a_container_takes_its_indexes_with_it(void **state)
{
    struct rn_object *old = one_container;
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_txn *txn = NULL;
    struct rn_indexes all;

    (void)state;
    fill(300);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    indexes_settle();
    one_container = make_container(&db, owner, DEFINITION(COMPOSITE));
    assert_int_equal(count_rows(&db, old, RN_TAG_INDEX), 0);
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(rn_indexes_read(txn, old->number, &arena, &all), RN_OK);
    assert_int_equal(all.count, 0);
    rn_txn_abort(txn);
    rn_arena_release(&arena);
    rn_object_release(old);
    fill(10);
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

static void an_index_that_nobody_uses_goes_after_a_week(void **state)
{
    (void)state;
    fill(10);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", false), RN_OK);
    indexes_settle();
    for (int day = 0; day < 6; day++) {
        rn_index_note_used(db.engine, one_container->number, 1);
        turn_clock(DAY + 60);
        assert_string_equal(look(), "0:complete 1:complete");
        if (day == 3) { /* it is remembered */
            one_container_reopen();
        }
    }
    rn_index_note_used(db.engine, one_container->number, 1);
    turn_clock(2 * DAY);
    assert_string_equal(look(), "1:complete");
    turn_clock(8 * DAY);
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

static void enough_misses_make_an_index(void **state)
{
    struct rn_index_key keys[2];
    uint32_t count = read_keys("/a", keys);

    (void)state;
    fill(20);
    for (int i = 0; i < 3; i++)
        rn_index_note_missed(db.engine, one_container, keys, count, 1999, 2000);
    indexes_settle();
    assert_string_equal(look(), "");
    for (int i = 0; i < 2; i++)
        rn_index_note_missed(db.engine, one_container, keys, count, 1002, 2000);
    indexes_settle();
    assert_string_equal(look(), "0:complete");
}

static void a_store_that_fails_leaves_an_index_exact(void **state)
{
    static const struct {
        enum faulty_call call;
        unsigned nth;
    } faults[] = {
        { FAULTY_COMMIT, 1 }, { FAULTY_COMMIT, 2 }, { FAULTY_PUT, 1 },
        { FAULTY_PUT, 300 },  { FAULTY_GET, 50 },   { FAULTY_NEXT, 400 },
        { FAULTY_SCAN, 2 },   { FAULTY_DEL, 100 },
    };

    (void)state;
    rn_engine_close(db.engine);
    db.engine = NULL;
    db.store = faulty_new(db.store);
    assert_non_null(db.store);
    one_container_reopen();
    fill(1500);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        bool is_drop = faults[i].call == FAULTY_DEL;

        assert_int_equal(change_index("/a", false), RN_OK);
        if (is_drop) {
            indexes_settle();
            assert_int_equal(change_index("/a", true), RN_OK);
        }
        faulty_fail(db.store, faults[i].call, faults[i].nth, 3, RN_IO);
        for (int k = 0; k < 5; k++) {
            (void)put_indexed(RN_DOCUMENT_UPSERT, "7", 3,
                              k % 2 ? "" : ",\"a\":5");
            indexes_settle();
        }
        turn_clock(200); /* what failed is tried again */
        assert_string_equal(look(), is_drop ? "" : "0:complete");
        assert_int_equal(change_index("/a", true), RN_OK);
        turn_clock(200);
        assert_string_equal(look(), "");
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, indexes_close)
    static const struct CMUnitTest tests[] = {
        CASE(an_index_has_every_document),
        CASE(making_it_twice_makes_one),
        CASE(what_is_no_index_is_refused),
        CASE(a_dropped_index_leaves_nothing),
        CASE(a_reopened_engine_goes_on_building),
        CASE(a_write_in_the_group_that_makes_it_is_not_missed),
        CASE(a_policy_without_the_path_drops_it),
        CASE(a_container_takes_its_indexes_with_it),
        CASE(an_index_that_nobody_uses_goes_after_a_week),
        CASE(enough_misses_make_an_index),
        CASE(a_store_that_fails_leaves_an_index_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
