/* engine_commit_test.c -- what the committer makes of a healthy store.
 *
 * Promises P1 to P4 and P8 of commit.h, and the ceilings.  The test itself
 * calls the committer's step, so every group is what the test makes it; each
 * operation counts its runs and notes its answer (lib/committing.h).
 */
#include "lib/committing.h"

#include <errno.h>

/* ---- groups -------------------------------------------------------------- */

static void one_commit_serves_all_that_wait(void **state)
{
    struct probe *p = probes(100, 0);

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        queue(&p[i]);
    assert_int_equal(status().in_flight, 100);
    assert_int_equal(p[0].runs, 0);
    run_until_idle();
    for (unsigned i = 0; i < 100; i++) {
        assert_answered(&p[i], RN_OK);
        assert_int_equal(p[i].runs, 1);
        assert_int_equal(p[i].done_now, i + 2); /* P1, after publish */
    }
    assert_int_equal(bench.publish_now, 1);
    assert_int_equal(bench.group_size, 100);
    assert_int_equal(faulty_count(bench.store, FAULTY_COMMIT), 1);
    assert_int_equal(status().groups, 1);
    assert_int_equal(status().operations, 100);
    assert_int_equal(status().largest, 100);
    assert_int_equal(status().in_flight, 0);
}

static void only_the_first_in_an_empty_queue_wakes_the_task(void **state)
{
    struct probe *p = probes(4, 0);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        queue(&p[i]);
        assert_int_equal(bench.wakes, 1);
        if (i == 2) {
            run_until_idle();
            bench.wakes = 0;
        }
    }
    run_until_idle();
}

/* ---- company ------------------------------------------------------------- */

enum { TOOK_NS = 1000000, EARLY_NS = TOOK_NS / 2, AT_ONCE_NS = 10000 };

/* A group of as many as there are, which takes a while. */
static void commit_slowly(struct probe *p, unsigned count)
{
    p[0].takes_ns = TOOK_NS;
    for (unsigned i = 0; i < count; i++)
        queue(&p[i]);
    step();
    assert_int_equal(bench.group_size, count);
    bench.wakes = 0;
}

static void
a_group_waits_until_three_in_four_of_the_last_are_there(void **state)
{
    struct probe *p = probes(8, 0), *next = probes(6, 8);

    (void)state;
    commit_slowly(p, 8);
    for (unsigned i = 0; i < 5; i++)
        queue(&next[i]);
    pass(EARLY_NS);
    assert_int_equal(bench.published, 1);
    assert_int_equal(bench.wakes, 0);
    queue(&next[5]);
    assert_int_equal(bench.wakes, 1);
    pass(AT_ONCE_NS);
    assert_int_equal(bench.published, 2);
    assert_int_equal(bench.group_size, 6);
}

static void but_not_longer_than_that_took(void **state)
{
    struct probe *p = probes(8, 0), *next = probes(2, 8);

    (void)state;
    commit_slowly(p, 8);
    queue(&next[0]);
    pass(TOOK_NS);
    assert_int_equal(bench.published, 2);
    assert_int_equal(bench.group_size, 1);
    queue(&next[1]); /* and now it is of one that it is thought to be */
    pass(AT_ONCE_NS);
    assert_int_equal(bench.published, 3);
}

static void nor_at_all_if_nobody_came_in_that_time(void **state)
{
    struct probe *p = probes(8, 0), *next = probes(1, 8);

    (void)state;
    commit_slowly(p, 8);
    pass(TOOK_NS);
    queue(&next[0]);
    assert_int_equal(bench.wakes, 1);
    pass(AT_ONCE_NS);
    assert_int_equal(bench.published, 2);
}

static void nor_longer_than_two_milliseconds(void **state)
{
    struct probe *p = probes(8, 0), *next = probes(1, 8);

    (void)state;
    p[1].takes_ns = 100 * TOOK_NS;
    commit_slowly(p, 8);
    queue(&next[0]);
    pass(2000000);
    assert_int_equal(bench.published, 2);
}

static void an_operation_alone_never_waits(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    commit_slowly(p, 1);
    queue(&p[1]);
    pass(AT_ONCE_NS);
    assert_int_equal(bench.published, 2);
}

static void nor_does_a_slice(void **state)
{
    struct probe *p = probes(8, 0), *slice = probes(1, 8);

    (void)state;
    commit_slowly(p, 8);
    slice->op.flags = RN_OPERATION_BACKGROUND;
    queue(slice);
    pass(AT_ONCE_NS);
    assert_int_equal(bench.published, 2);
}

static void what_waits_for_company_is_answered_when_all_ends(void **state)
{
    struct probe *p = probes(8, 0), *next = probes(1, 8);

    (void)state;
    commit_slowly(p, 8);
    queue(next);
    rn_committer_free(bench.committer);
    bench.committer = NULL;
    assert_answered(next, RN_OK);
}

static void a_group_ends_at_its_number_of_operations(void **state)
{
    enum { N = 2 * RN_GROUP_MAX + 100 };
    struct probe *p = probes(N, 0);

    (void)state;
    for (unsigned i = 0; i < N; i++)
        queue(&p[i]);
    step();
    assert_int_equal(bench.group_size, RN_GROUP_MAX);
    step();
    assert_int_equal(bench.group_size, RN_GROUP_MAX);
    run_until_idle();
    assert_int_equal(bench.group_size, 100);
    for (unsigned i = 0; i < N; i++)
        assert_answered(&p[i], RN_OK);
    assert_int_equal(status().groups, 3);
    assert_int_equal(status().largest, RN_GROUP_MAX);
}

/* Sizes in megabytes, and the groups they must fall into. */
static void a_group_ends_at_its_redo(void **state)
{
    static const struct {
        unsigned hint, size, group;
    } rows[] = {
        { 3, 3, 1 }, { 3, 3, 1 }, { 3, 3, 2 }, /* 9 would be too many */
        { 9, 7, 3 },                           /* larger than a group: alone */
        { 2, 2, 4 }, { 0, 7, 4 },              /* unannounced */
        { 0, 1, 5 }, { 7, 7, 5 },              /* exactly filled, nearly */
    };
    enum { N = sizeof(rows) / sizeof(rows[0]) };
    struct probe *p = probes(N, 0);

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        p[i].op.bytes = rows[i].hint * MB - (rows[i].hint ? 100 : 0);
        p[i].value_len = rows[i].size * MB - 200;
        queue(&p[i]);
    }
    for (unsigned group = 1; group <= rows[N - 1].group; group++) {
        step();
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(p[i].dones, rows[i].group <= group);
    }
    run_until_idle();
    for (unsigned i = 0; i < N; i++) {
        assert_answered(&p[i], RN_OK);
        assert_int_equal(p[i].runs, 1);
    }
}

static void what_is_too_large_beside_others_is_tried_by_itself(void **state)
{
    struct probe *small = probes(1, 1), *batch = probes(1, 2);
    struct probe *after = probes(1, 3);

    (void)state;
    small->value_len = 7 * MB;
    batch->op.flags = RN_OPERATION_MULTI;
    batch->writes = 2;
    batch->value_len = 5 * MB; /* 17 in all: more than a transaction's 16 */
    queue(small);
    queue(batch);
    queue(after);
    run_until_idle();
    assert_answered(small, RN_OK);
    assert_answered(batch, RN_OK);
    assert_answered(after, RN_OK);
    assert_int_equal(small->runs, 1);
    assert_int_equal(batch->runs, 2);
    assert_true(small->done_now < batch->done_now); /* P1 */
    assert_true(batch->done_now < after->done_now);
    assert_int_equal(status().aborted, 0);
}

static void what_is_too_large_by_itself_is_refused(void **state)
{
    struct probe *p = probes(3, 0);

    (void)state;
    p[1].op.flags = RN_OPERATION_MULTI;
    p[1].writes = 3;
    p[1].value_len = 7 * MB;
    for (unsigned i = 0; i < 3; i++)
        queue(&p[i]);
    run_until_idle();
    assert_answered(&p[0], RN_OK);
    assert_answered(&p[1], RN_TOO_LARGE);
    assert_answered(&p[2], RN_OK);
}

/* ---- neighbours ---------------------------------------------------------- */

static void an_operation_that_fails_harms_no_neighbour(void **state)
{
    struct probe *p = probes(5, 0);

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        p[1].early = RN_CONFLICT;
    p[3].op.flags = RN_OPERATION_MULTI;
    p[3].writes = 4;
    p[3].answer = RN_PRECONDITION; /* after its writes */
    for (unsigned i = 0; i < 5; i++)
        queue(&p[i]);
    run_until_idle();
    for (unsigned i = 0; i < 5; i += 2)
        assert_answered(&p[i], RN_OK);
    assert_answered(&p[1], RN_CONFLICT);
    assert_string_equal(p[1].words, "conflict");
    assert_answered(&p[3], RN_PRECONDITION);
    assert_string_equal(p[3].words, "probe says so");
    assert_int_equal(faulty_count(bench.store, FAULTY_COMMIT), 1);
    assert_int_equal(p[4].runs, 1);
    assert_int_equal(bench.group_size, 5);
}

/* A single operation must decide before it writes; if one does not, the price
 * is time. */
static void a_single_that_wrote_and_then_failed_is_undone(void **state)
{
    struct probe *p = probes(3, 0);

    (void)state;
    p[1].answer = RN_CONFLICT;
    for (unsigned i = 0; i < 3; i++)
        queue(&p[i]);
    run_until_idle();
    assert_answered(&p[0], RN_OK);
    assert_answered(&p[1], RN_CONFLICT);
    assert_answered(&p[2], RN_OK);
    assert_int_equal(status().aborted, 1);
}

static enum rn_code count_up(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_view v;
    char n = 0;

    (void)op;
    if (rn_txn_get(txn, RN_LIT("n"), &v) == RN_OK)
        n = v.at[0];
    n++;
    return rn_txn_put(txn, RN_LIT("n"), rn_view_of(&n, 1));
}

static void an_operation_sees_what_came_before_it_in_the_group(void **state)
{
    struct probe *p = probes(20, 0);
    struct rn_txn *t = NULL;
    struct rn_view v;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        p[i].op.run = count_up;
        p[i].op.flags = i % 2 ? RN_OPERATION_MULTI : 0;
        queue(&p[i]);
    }
    run_until_idle();
    assert_int_equal(
        rn_txn_begin(bench.store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL),
        RN_OK);
    assert_int_equal(rn_txn_get(t, RN_LIT("n"), &v), RN_OK);
    assert_int_equal(v.at[0], 20);
    rn_txn_abort(t);
    assert_int_equal(status().groups, 1);
}

static void a_group_that_wrote_nothing_needs_no_commit(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    p[0].early = RN_NOT_FOUND;
    p[1].writes = 0;
    queue(&p[0]);
    queue(&p[1]);
    run_until_idle();
    assert_answered(&p[0], RN_NOT_FOUND);
    assert_answered(&p[1], RN_OK);
    assert_int_equal(faulty_count(bench.store, FAULTY_COMMIT), 0);
    assert_int_equal(bench.published, 0);
}

/* ---- background ---------------------------------------------------------- */

static void a_group_holds_one_slice_and_it_comes_last(void **state)
{
    struct probe *slices = probes(3, 100), *clients = probes(4, 0);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        slices[i].op.flags = RN_OPERATION_BACKGROUND;
        queue(&slices[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        queue(&clients[i]);
    step();
    assert_int_equal(bench.group_size, 5);
    for (unsigned i = 0; i < 4; i++)
        assert_true(clients[i].done_now < slices[0].done_now);
    assert_int_equal(slices[1].dones, 0);
    step();
    assert_int_equal(bench.group_size, 1);
    assert_int_equal(slices[1].dones, 1);
    run_until_idle();
    for (unsigned i = 0; i < 3; i++)
        assert_answered(&slices[i], RN_OK);
}

static void a_slice_without_room_is_the_next_group(void **state)
{
    struct probe *slice = probes(1, 100), *clients = probes(3, 0);

    (void)state;
    slice->op.flags = RN_OPERATION_BACKGROUND;
    slice->op.bytes = 5 * MB;
    queue(slice);
    for (unsigned i = 0; i < 3; i++) {
        clients[i].op.bytes = clients[i].value_len = 5 * MB;
        queue(&clients[i]);
    }
    step();
    assert_int_equal(clients[0].dones, 1);
    assert_int_equal(slice->dones, 0);
    step();
    assert_int_equal(bench.group_size, 1);
    assert_answered(slice, RN_OK);
    assert_int_equal(clients[1].dones, 0);
    run_until_idle();
    assert_answered(&clients[2], RN_OK);
}

static void full_groups_do_not_starve_slices(void **state)
{
    enum { N = 3 * RN_GROUP_MAX };
    struct probe *p = probes(N, 0), *slice = probes(1, N);

    (void)state;
    slice->op.flags = RN_OPERATION_BACKGROUND;
    for (unsigned i = 0; i < N; i++)
        queue(&p[i]);
    queue(slice);
    step();
    assert_int_equal(bench.group_size, RN_GROUP_MAX);
    assert_int_equal(slice->dones, 1);
    assert_int_equal(p[RN_GROUP_MAX - 1].dones, 0);
    run_until_idle();
}

/* ---- in flight ----------------------------------------------------------- */

static void too_many_in_flight_are_throttled(void **state)
{
    struct probe *p, *slice;

    (void)state;
    open_with(2);
    p = probes(3, 0);
    slice = probes(1, 3);
    slice->op.flags = RN_OPERATION_BACKGROUND;
    queue(&p[0]);
    queue(&p[1]);
    assert_int_equal(rn_committer_queue(bench.committer, &p[2].op),
                     RN_THROTTLED);
    queue(slice); /* background is counted apart */
    run_until_idle();
    assert_int_equal(p[2].dones, 0);
    queue(&p[2]);
    run_until_idle();
    assert_answered(&p[2], RN_OK);
}

static void by_default_4096_may_be_in_flight(void **state)
{
    struct probe *p = probes(RN_COMMITTER_QUEUE_MAX + 1, 0);

    (void)state;
    for (unsigned i = 0; i < 4096; i++)
        queue(&p[i]);
    assert_int_equal(rn_committer_queue(bench.committer, &p[4096].op),
                     RN_THROTTLED);
    run_until_idle();
}

static void done_may_queue_it_again(void **state)
{
    struct probe *p;

    (void)state;
    open_with(1);
    p = probes(1, 0);
    p->again = bench.committer;
    queue(p);
    run_until_idle();
    assert_int_equal(p->again_rc, RN_OK); /* its place was free already */
    assert_int_equal(p->dones, 2);
    assert_int_equal(p->runs, 2);
}

/* ---- the end ------------------------------------------------------------- */

static void freeing_answers_all_that_wait(void **state)
{
    struct probe *p = probes(5, 0);

    (void)state;
    p[3].op.flags = RN_OPERATION_BACKGROUND;
    for (unsigned i = 0; i < 5; i++)
        queue(&p[i]);
    p[4].again = bench.committer;
    rn_committer_free(bench.committer);
    bench.committer = NULL;
    for (unsigned i = 0; i < 5; i++)
        assert_answered(&p[i], RN_OK);
    assert_int_equal(p[4].again_rc, RN_BUSY);
}

static void freeing_does_not_wait_for_a_busy_store(void **state)
{
    struct probe *p = probes(3, 0);

    (void)state;
    queue(&p[0]);
    queue(&p[1]);
    faulty_fail(bench.store, FAULTY_COMMIT, 1, 1, RN_IO);
    step(); /* both are to run alone */
    queue(&p[2]);
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, FAULTY_ALWAYS, RN_BUSY);
    rn_committer_free(bench.committer);
    bench.committer = NULL;
    for (unsigned i = 0; i < 3; i++)
        assert_answered(&p[i], RN_BUSY);
    assert_true(p[0].done_now < p[1].done_now);
}

static void without_a_task_there_is_no_committer(void **state)
{
    struct rn_committer *none = (struct rn_committer *)1;
    struct rn_err err = { 0 };

    (void)state;
    bench.start_error = EAGAIN;
    assert_int_equal(rn_committer_new(bench.env, bench.store,
                                      &(struct rn_committer_opts){ 0 }, &none,
                                      &err),
                     RN_BUSY);
    assert_null(none);
    assert_non_null(strstr(err.text, "starting the committer"));
    rn_committer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_commit_serves_all_that_wait),
        TEST(only_the_first_in_an_empty_queue_wakes_the_task),
        TEST(a_group_waits_until_three_in_four_of_the_last_are_there),
        TEST(but_not_longer_than_that_took),
        TEST(nor_at_all_if_nobody_came_in_that_time),
        TEST(nor_longer_than_two_milliseconds),
        TEST(an_operation_alone_never_waits),
        TEST(nor_does_a_slice),
        TEST(what_waits_for_company_is_answered_when_all_ends),
        TEST(a_group_ends_at_its_number_of_operations),
        TEST(a_group_ends_at_its_redo),
        TEST(what_is_too_large_beside_others_is_tried_by_itself),
        TEST(what_is_too_large_by_itself_is_refused),
        TEST(an_operation_that_fails_harms_no_neighbour),
        TEST(a_single_that_wrote_and_then_failed_is_undone),
        TEST(an_operation_sees_what_came_before_it_in_the_group),
        TEST(a_group_that_wrote_nothing_needs_no_commit),
        TEST(a_group_holds_one_slice_and_it_comes_last),
        TEST(a_slice_without_room_is_the_next_group),
        TEST(full_groups_do_not_starve_slices),
        TEST(too_many_in_flight_are_throttled),
        TEST(by_default_4096_may_be_in_flight),
        TEST(done_may_queue_it_again),
        TEST(freeing_answers_all_that_wait),
        TEST(freeing_does_not_wait_for_a_busy_store),
        TEST(without_a_task_there_is_no_committer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
