/* engine_commit_fault_test.c -- what the committer makes of a store that fails.
 *
 * Promises P5 to P7 of commit.h: each kind of fault at each place where a store
 * can have it, reported once to each operation it fails, with a message. Method
 * as in engine_commit_test.c; threads and random faults are in
 * engine_commit_load_test.c.
 */
#include "lib/committing.h"

/* ---- faults -------------------------------------------------------------- */

static void a_fault_in_mid_group_runs_each_again_alone(void **state)
{
    static const struct {
        enum faulty_call call;
        unsigned nth;
        enum rn_code code;
    } faults[] = {
        { FAULTY_PUT, 1, RN_IO },       { FAULTY_PUT, 3, RN_IO },
        { FAULTY_PUT, 2, RN_NOMEM },    { FAULTY_PUT, 3, RN_CORRUPT },
        { FAULTY_PUT, 4, RN_FULL },     { FAULTY_COMMIT, 1, RN_IO },
        { FAULTY_COMMIT, 1, RN_NOMEM }, { FAULTY_COMMIT, 1, RN_CORRUPT },
        { FAULTY_COMMIT, 1, RN_BUSY },  { FAULTY_COMMIT, 1, RN_FULL },
    };

    (void)state;
    for (unsigned f = 0; f < sizeof(faults) / sizeof(faults[0]); f++) {
        unsigned base = f * 10,
                 commits = faulty_count(bench.store, FAULTY_COMMIT);
        unsigned now = bench.now;
        struct probe *p = probes(4, base);

        for (unsigned i = 0; i < 4; i++) {
            p[i].op.flags = i % 2 ? RN_OPERATION_MULTI : 0;
            queue(&p[i]);
        }
        faulty_fail(bench.store, faults[f].call, faults[f].nth, 1,
                    faults[f].code);
        run_until_idle();
        for (unsigned i = 0; i < 4; i++) {
            bool ran = faults[f].call == FAULTY_COMMIT || i < faults[f].nth;

            assert_answered(&p[i], RN_OK);
            assert_int_equal(p[i].runs, ran ? 2 : 1);
            assert_true(p[i].done_now > now); /* P1 */
            now = p[i].done_now;
        }
        commits = faulty_count(bench.store, FAULTY_COMMIT) - commits;
        if (faults[f].call == FAULTY_COMMIT)
            assert_int_equal(commits, 1 + 4);
        assert_int_equal(status().aborted, f + 1);
    }
}

static void what_wrote_nothing_needs_no_commit_of_its_own(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    p[0].writes = 0;
    faulty_fail(bench.store, FAULTY_COMMIT, 1, 1, RN_IO);
    queue(&p[0]);
    queue(&p[1]);
    run_until_idle();
    assert_answered(&p[0], RN_OK);
    assert_answered(&p[1], RN_OK);
    assert_int_equal(faulty_count(bench.store, FAULTY_COMMIT), 2);
    assert_int_equal(bench.published, 1);
}

/* Writes before it fails, which a single must not; finds nothing later. */
static enum rn_code change_its_mind(struct rn_operation *op, struct rn_txn *txn)
{
    struct probe *p = (struct probe *)op;

    if (p->runs++ > 0)
        return RN_NOT_FOUND;
    assert_int_equal(rn_txn_put(txn, RN_LIT("x"), RN_LIT("")), RN_OK);
    return rn_fail(&op->err, RN_CONFLICT, "the first time");
}

static void the_words_are_those_of_the_last_run(void **state)
{
    struct probe *p = probes(1, 0);

    (void)state;
    p->op.run = change_its_mind;
    queue(p);
    run_until_idle();
    assert_answered(p, RN_NOT_FOUND);
    assert_string_equal(p->words, "not found");
}

static void a_fault_that_stays_is_returned_with_its_words(void **state)
{
    struct probe *p = probes(3, 0);

    (void)state;
    faulty_fail(bench.store, FAULTY_PUT, 2, 3, RN_IO); /* then 0 and 1 alone */
    for (unsigned i = 0; i < 3; i++)
        queue(&p[i]);
    run_until_idle();
    assert_answered(&p[0], RN_IO);
    assert_answered(&p[1], RN_IO);
    assert_answered(&p[2], RN_OK);
    assert_string_equal(p[1].words, "the test wants input/output error");
    assert_int_equal(p[1].runs, 2); /* once more, not for ever */
}

static void a_fault_returned_to_the_deaf_is_not_lost(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    p[0].is_deaf = p[1].is_deaf = true;
    p[1].op.flags = RN_OPERATION_MULTI;
    faulty_fail(bench.store, FAULTY_PUT, 1, 4, RN_IO); /* twice each */
    queue(&p[0]);
    queue(&p[1]);
    run_until_idle();
    assert_answered(&p[0], RN_IO);
    assert_answered(&p[1], RN_IO);
    assert_string_equal(p[0].words, "the test wants input/output error");
}

static enum rn_code get_one(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_view v;

    ((struct probe *)op)->runs++;
    return rn_txn_get(txn, RN_LIT("x"), &v);
}

static void damage_met_by_a_read_concerns_its_reader_only(void **state)
{
    struct probe *p = probes(3, 0);

    (void)state;
    p[1].op.run = get_one;
    p[1].writes = 0;
    faulty_fail(bench.store, FAULTY_GET, 1, 1, RN_CORRUPT);
    for (unsigned i = 0; i < 3; i++)
        queue(&p[i]);
    run_until_idle();
    assert_answered(&p[0], RN_OK);
    assert_answered(&p[1], RN_CORRUPT);
    assert_string_equal(p[1].words, "the test wants damaged data");
    assert_answered(&p[2], RN_OK);
    assert_int_equal(status().aborted, 0);
    assert_int_equal(p[2].runs, 1);
}

static void what_is_final_is_returned_to_all_and_not_tried_again(void **state)
{
    static const struct {
        enum faulty_call call;
        enum rn_code code;
        unsigned runs; /* of the first in the group */
    } faults[] = {
        { FAULTY_COMMIT, RN_UNKNOWN, 1 },
        { FAULTY_COMMIT, RN_READ_ONLY, 1 },
        { FAULTY_PUT, RN_READ_ONLY, 1 },
        { FAULTY_BEGIN_WRITE, RN_READ_ONLY, 0 },
        { FAULTY_BEGIN_WRITE, RN_IO, 0 },
    };

    (void)state;
    for (unsigned f = 0; f < sizeof(faults) / sizeof(faults[0]); f++) {
        bool at_put = faults[f].call == FAULTY_PUT;
        struct probe *p = probes(3, f * 10);

        p[1].early = RN_CONFLICT; /* which might rest on what 0 wrote */
        for (unsigned i = 0; i < 3; i++)
            queue(&p[i]);
        faulty_fail(bench.store, faults[f].call, 1, 1, faults[f].code);
        run_until_idle();
        for (unsigned i = 0; i < 3; i++) {
            if (at_put && i > 0) /* a later group, and the fault has passed */
                assert_answered(&p[i], i == 1 ? RN_CONFLICT : RN_OK);
            else
                assert_answered(&p[i], faults[f].code);
        }
        assert_int_equal(p[0].runs, faults[f].runs);
        assert_non_null(strstr(p[0].words, "the test wants"));
    }
}

/* ---- a full store -------------------------------------------------------- */

static void in_a_full_store_what_frees_goes_on(void **state)
{
    struct probe *p = probes(4, 0);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        p[i].op.flags = i % 2 ? RN_OPERATION_FREES : 0;
        queue(&p[i]);
    }
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, FAULTY_ALWAYS, RN_FULL);
    run_until_idle();
    for (unsigned i = 0; i < 4; i++) {
        assert_answered(&p[i], i % 2 ? RN_OK : RN_FULL);
        assert_int_equal(p[i].runs, i % 2);
    }
    assert_string_equal(p[0].words, "the test wants no space left");
    assert_true(p[0].done_now < p[1].done_now);
    assert_int_equal(faulty_count(bench.store, FAULTY_COMMIT), 1);
}

static void when_even_the_reserve_is_used_up_all_are_answered(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    p[1].op.flags = RN_OPERATION_FREES;
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, 1, RN_FULL);
    faulty_fail(bench.store, FAULTY_BEGIN_SHRINK, 1, 1, RN_FULL);
    queue(&p[0]);
    queue(&p[1]);
    run_until_idle();
    assert_answered(&p[0], RN_FULL);
    assert_answered(&p[1], RN_FULL);
}

static void a_store_that_fills_up_in_mid_group_is_full_likewise(void **state)
{
    static const struct {
        enum faulty_call call;
        unsigned times; /* until only the reserve is left to `frees` */
    } faults[] = {
        { FAULTY_PUT, 4 },    /* keeps: group, alone; frees: the same */
        { FAULTY_COMMIT, 3 }, /* their group; keeps; frees */
    };

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct probe *keeps = probes(1, i * 10);
        struct probe *frees = probes(1, i * 10 + 1);
        unsigned before = faulty_count(bench.store, FAULTY_BEGIN_SHRINK);

        frees->op.flags = RN_OPERATION_FREES;
        queue(keeps);
        queue(frees);
        faulty_fail(bench.store, faults[i].call, 1, faults[i].times, RN_FULL);
        run_until_idle();
        assert_answered(keeps, RN_FULL);
        assert_answered(frees, RN_OK);
        assert_int_equal(faulty_count(bench.store, FAULTY_BEGIN_SHRINK),
                         before + 1);
    }
}

static void only_what_frees_may_use_the_reserve(void **state)
{
    struct probe *keeps = probes(1, 0), *frees = probes(1, 1);

    (void)state;
    faulty_fail(bench.store, FAULTY_PUT, 1, FAULTY_ALWAYS, RN_FULL);
    queue(keeps);
    run_until_idle();
    assert_answered(keeps, RN_FULL);
    assert_int_equal(keeps->runs, 2); /* group, alone */
    assert_int_equal(faulty_count(bench.store, FAULTY_BEGIN_SHRINK), 0);

    frees->op.flags = RN_OPERATION_FREES;
    queue(frees);
    run_until_idle();
    assert_answered(frees, RN_FULL);  /* the reserve is used up as well */
    assert_int_equal(frees->runs, 3); /* group, alone, from the reserve */
    assert_int_equal(faulty_count(bench.store, FAULTY_BEGIN_SHRINK), 1);
}

/* ---- a busy store -------------------------------------------------------- */

static void a_busy_store_is_asked_again(void **state)
{
    struct probe *p = probes(3, 0);
    int64_t asked;

    (void)state;
    queue(&p[0]);
    queue(&p[1]);
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, 2, RN_BUSY);
    step();
    asked = rn_mono_ns(bench.env);
    step();
    assert_true(rn_mono_ns(bench.env) - asked > 1000000); /* not at once */
    assert_int_equal(p[0].runs + p[0].dones, 0);
    queue(&p[2]); /* joins them */
    run_until_idle();
    for (unsigned i = 0; i < 3; i++)
        assert_answered(&p[i], RN_OK);
    assert_int_equal(bench.group_size, 3);
    assert_int_equal(status().busy, 2);
}

static void that_a_store_stays_busy_is_returned_to_clients(void **state)
{
    const int64_t second = INT64_C(1000000000);
    struct probe *p = probes(3, 0);
    int64_t asked = rn_mono_ns(bench.env), took;

    (void)state;
    p[1].op.flags = RN_OPERATION_BACKGROUND;
    queue(&p[0]);
    queue(&p[1]);
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, FAULTY_ALWAYS, RN_BUSY);
    do {
        step();
        took = rn_mono_ns(bench.env) - asked;
    } while (p[0].dones == 0 && took < 20 * second);
    assert_answered(&p[0], RN_BUSY);
    assert_int_equal(p[0].runs, 0);
    assert_in_range(took, 10 * second, 11 * second);
    assert_int_equal(p[1].dones, 0); /* nobody waits for that */

    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, 0, RN_OK);
    queue(&p[2]);
    run_until_idle();
    assert_answered(&p[1], RN_OK);
    assert_answered(&p[2], RN_OK);
}

static void a_store_busy_while_they_run_alone_is_asked_again(void **state)
{
    struct probe *p = probes(2, 0);

    (void)state;
    queue(&p[0]);
    queue(&p[1]);
    faulty_fail(bench.store, FAULTY_COMMIT, 1, 1, RN_IO);
    step();
    faulty_fail(bench.store, FAULTY_BEGIN_WRITE, 1, 2, RN_BUSY);
    step();
    step();
    assert_int_equal(p[0].dones, 0);
    run_until_idle();
    assert_answered(&p[0], RN_OK);
    assert_answered(&p[1], RN_OK);
    assert_true(p[0].done_now < p[1].done_now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fault_in_mid_group_runs_each_again_alone),
        TEST(what_wrote_nothing_needs_no_commit_of_its_own),
        TEST(the_words_are_those_of_the_last_run),
        TEST(a_fault_that_stays_is_returned_with_its_words),
        TEST(a_fault_returned_to_the_deaf_is_not_lost),
        TEST(damage_met_by_a_read_concerns_its_reader_only),
        TEST(what_is_final_is_returned_to_all_and_not_tried_again),
        TEST(in_a_full_store_what_frees_goes_on),
        TEST(when_even_the_reserve_is_used_up_all_are_answered),
        TEST(a_store_that_fills_up_in_mid_group_is_full_likewise),
        TEST(only_what_frees_may_use_the_reserve),
        TEST(a_busy_store_is_asked_again),
        TEST(that_a_store_stays_busy_is_returned_to_clients),
        TEST(a_store_busy_while_they_run_alone_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
