/* client_lease_update_test.c -- compare and swap of a lease, round by round.
 *
 * A store of one document answers; between the rounds the test plays the other
 * hosts: a checkpoint of our own that was lost on the way, a thief, a seek.
 */
#include "client/lease/property.h"
#include "client/lease/update.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct rn_update_host me = { .host = "me",
                                          .session = "1-aa",
                                          .intervals = "13000 17000 60000" };
static const struct rn_update_host thief = { .host = "thief",
                                             .session = "2-bb",
                                             .intervals = "1 2 3" };

/* The document that the store has, and its version. */
static struct rn_lease_document *stored;
static int version;

static struct rn_lease_document *copy_stored(void)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_lease_document *d = NULL;

    assert_int_equal(rn_lease_print(&stored->lease, &text), RUNNEL_OK);
    assert_int_equal(rn_lease_document_new(rn_buf_view(&text), &d, NULL),
                     RUNNEL_OK);
    rn_buf_release(&text);
    return d;
}

static void put(struct rn_view json)
{
    char etag[16];
    int n = snprintf(etag, sizeof(etag), "%d", ++version);

    rn_lease_document_free(stored);
    assert_int_equal(rn_lease_document_new(json, &stored, NULL), RUNNEL_OK);
    stored->lease.etag =
        rn_arena_copy(&stored->arena, rn_view_of(etag, (size_t)n));
}

static int set_up(void **state)
{
    (void)state;
    put(RN_LIT("{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"Owner\":null,"
               "\"ContinuationToken\":\"\\\"5\\\"\",\"properties\":{}}"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rn_lease_document_free(stored);
    stored = NULL;
    return 0;
}

static bool is_current(const struct rn_update *u)
{
    return rn_view_eq(u->base->lease.etag, stored->lease.etag);
}

/* Runs an update until it is over; the store answers as it should. */
static enum rn_update_next finish(struct rn_update *u, enum rn_update_next next)
{
    char etag[64];

    while (next == RN_UPDATE_WRITE || next == RN_UPDATE_READ) {
        if (next == RN_UPDATE_READ) {
            next = rn_update_read(u, RUNNEL_OK, copy_stored());
        } else if (!is_current(u)) {
            next = rn_update_written(u, RUNNEL_PRECONDITION, NULL);
        } else {
            put(rn_buf_view(&u->text));
            snprintf(etag, sizeof(etag), "%.*s", RN_FMT(stored->lease.etag));
            next = rn_update_written(u, RUNNEL_OK, etag);
        }
    }
    return next;
}

static struct rn_update acquisition(const struct rn_update_host *host)
{
    return (struct rn_update){ .kind = RN_UPDATE_ACQUIRE,
                               .host = host,
                               .base = copy_stored(),
                               .now_ms = 1000,
                               .owner_seen = stored->lease.owner };
}

static void release(struct rn_update *u)
{
    rn_update_release(u);
    rn_lease_document_free(u->base);
}

/* Leaves the lease with its document in `u`. */
static void acquire(struct rn_update *u, const struct rn_update_host *host)
{
    struct rn_lease_document *seen = copy_stored();

    *u = acquisition(host);
    u->owner_seen = seen->lease.owner;
    assert_int_equal(finish(u, rn_update_begin(u)), RN_UPDATE_DONE);
    rn_lease_document_free(seen);
    rn_update_release(u);
}

static struct rn_update storing(struct rn_update *lease, const char *position)
{
    return (struct rn_update){ .kind = RN_UPDATE_STORE,
                               .host = lease->host,
                               .base = lease->base,
                               .now_ms = 2000,
                               .position = rn_view_text(position) };
}

static void an_acquisition_writes_owner_session_and_epoch(void **state)
{
    struct rn_update u;

    (void)state;
    acquire(&u, &me);
    assert_true(rn_update_is_ours(&me, &stored->lease));
    assert_false(rn_update_is_ours(&thief, &stored->lease));
    assert_true(rn_lease_is_native(&stored->lease));
    assert_int_equal(rn_lease_number(&stored->lease, RN_LEASE_EPOCH), 1);
    assert_true(is_current(&u));
    rn_lease_document_free(u.base);
}

static void a_checkpoint_is_one_write(void **state)
{
    struct rn_update lease;
    struct rn_update u;
    int before;

    (void)state;
    acquire(&lease, &me);
    before = version;
    u = storing(&lease, "\"9\"");
    u.attempts = 2;
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
    assert_int_equal(version, before + 1);
    assert_true(rn_view_eq(stored->lease.position, RN_LIT("\"9\"")));
    assert_int_equal(rn_lease_attempts(&stored->lease), 2);
    release(&u);
}

/* Another host asks for the lease. */
static void mark(void)
{
    struct rn_lease_document *other = copy_stored();
    struct rn_buf text = RN_BUF_INIT(1 << 20);

    assert_true(
        rn_lease_set(&other->lease, RN_LEASE_WANTED, RN_LIT("thief 7")));
    assert_int_equal(rn_lease_print(&other->lease, &text), RUNNEL_OK);
    put(rn_buf_view(&text));
    rn_lease_document_free(other);
    rn_buf_release(&text);
}

static void
a_changed_document_is_read_and_the_change_applied_to_it(void **state)
{
    struct rn_update lease;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    mark();
    u = storing(&lease, "\"9\"");
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
    assert_false(u.has_moved);
    assert_non_null(rn_lease_property(&stored->lease, RN_LEASE_WANTED).at);
    assert_true(rn_view_eq(stored->lease.position, RN_LIT("\"9\"")));
    release(&u);
}

static void a_mark_stays_until_the_next_acquisition(void **state)
{
    struct rn_update lease;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    mark();
    u = storing(&lease, "\"9\"");
    u.kind = RN_UPDATE_RELEASE;
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
    assert_null(stored->lease.owner.at);
    assert_non_null(rn_lease_property(&stored->lease, RN_LEASE_WANTED).at);
    release(&u);
    acquire(&lease, &thief);
    assert_null(rn_lease_property(&stored->lease, RN_LEASE_WANTED).at);
    rn_lease_document_free(lease.base);
}

static void a_stolen_lease_is_lost_and_not_written(void **state)
{
    struct rn_update lease;
    struct rn_update stolen;
    struct rn_update u;
    int before;

    (void)state;
    acquire(&lease, &me);
    acquire(&stolen, &thief);
    before = version;
    u = storing(&lease, "\"9\"");
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_LOST);
    assert_string_equal(u.owner, "thief");
    assert_int_equal(version, before);
    rn_lease_document_free(stolen.base);
    release(&u);
}

/* The same host name, another session: a second process of that name. */
static void our_name_with_another_session_is_lost(void **state)
{
    static const struct rn_update_host twin = { .host = "me",
                                                .session = "9-cc",
                                                .intervals = "" };
    struct rn_update lease;
    struct rn_update other;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    acquire(&other, &twin);
    u = storing(&lease, "\"9\"");
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_LOST);
    assert_string_equal(u.owner, "me");
    assert_string_equal(u.owner_session, "9-cc");
    rn_lease_document_free(other.base);
    release(&u);
}

static void a_lost_answer_is_found_out(void **state)
{
    struct rn_update lease;
    struct rn_update u;
    int before;

    (void)state;
    acquire(&lease, &me);
    u = storing(&lease, "\"9\"");
    assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
    put(rn_buf_view(&u.text)); /* it arrived; the answer did not */
    before = version;
    assert_int_equal(finish(&u, rn_update_written(&u, RUNNEL_UNCERTAIN, NULL)),
                     RN_UPDATE_DONE);
    assert_int_equal(version, before);
    assert_true(is_current(&u));
    release(&u);
    /* It did not arrive: it is written again. */
    u = acquisition(&thief);
    assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
    assert_int_equal(finish(&u, rn_update_written(&u, RUNNEL_UNCERTAIN, NULL)),
                     RN_UPDATE_DONE);
    assert_int_equal(version, before + 1);
    release(&u);
}

static void a_write_without_an_etag_is_followed_by_a_read(void **state)
{
    struct rn_update lease;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    u = storing(&lease, "\"9\"");
    assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
    put(rn_buf_view(&u.text));
    assert_int_equal(finish(&u, rn_update_written(&u, RUNNEL_OK, "")),
                     RN_UPDATE_DONE);
    assert_true(is_current(&u)); /* the next write has a condition */
    release(&u);
}

static void a_lost_answer_that_is_found_out_late_is_no_move(void **state)
{
    struct rn_update lease;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    u = storing(&lease, "\"9\"");
    assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
    put(rn_buf_view(&u.text)); /* it arrived; neither answer did */
    assert_int_equal(rn_update_written(&u, RUNNEL_UNCERTAIN, NULL),
                     RN_UPDATE_READ);
    assert_int_equal(rn_update_read(&u, RUNNEL_TIMEOUT, NULL),
                     RN_UPDATE_FAILED);
    assert_true(u.is_doubtful);
    rn_update_release(&u);
    u = storing(&lease, "\"12\"");
    u.doubtful = RN_LIT("\"9\"");
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
    assert_false(u.has_moved);
    assert_true(rn_view_eq(stored->lease.position, RN_LIT("\"12\"")));
    release(&u);
}

static void an_expired_lease_whose_owner_came_back_is_left(void **state)
{
    struct rn_update lease;
    struct rn_update renew;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    u = acquisition(&thief);
    u.owner_seen = RN_LIT("me");
    u.was_expired = true;
    renew = storing(&lease, "\"6\"");
    assert_int_equal(finish(&renew, rn_update_begin(&renew)), RN_UPDATE_DONE);
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_LOST);
    assert_true(rn_update_is_ours(&me, &stored->lease));
    release(&renew);
    release(&u);
}

/* What a tool or another library wrote over our lease. */
static void tamper(const char *position, const char *generation)
{
    struct rn_lease_document *other = copy_stored();
    struct rn_buf text = RN_BUF_INIT(1 << 20);

    other->lease.position = rn_view_text(position);
    if (generation)
        assert_true(rn_lease_set(&other->lease, RN_LEASE_GENERATION,
                                 rn_view_text(generation)));
    assert_int_equal(rn_lease_print(&other->lease, &text), RUNNEL_OK);
    put(rn_buf_view(&text));
    rn_buf_release(&text);
    rn_lease_document_free(other);
}

static void
a_position_from_outside_wins_by_generation_or_if_smaller(void **state)
{
    static const struct {
        const char *there, *generation, *sent, *expected;
    } cases[] = {
        { "\"90\"", "1", "\"9\"", "\"90\"" }, /* a seek forward */
        { "\"1\"", "1", "\"9\"", "\"1\"" },   /* a seek back */
        { "\"90\"", NULL, "\"9\"", "\"9\"" }, /* never skip */
        { "\"1\"", NULL, "\"9\"", "\"1\"" },
        { "\"odd\"", NULL, "\"9\"", "\"odd\"" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_update lease;
        struct rn_update u;
        set_up(state);
        acquire(&lease, &me);
        tamper(cases[i].there, cases[i].generation);
        u = storing(&lease, cases[i].sent);
        assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
        assert_true(u.has_moved);
        assert_true(rn_view_eq(stored->lease.position,
                               rn_view_text(cases[i].expected)));
        release(&u);
    }
}

static void
a_release_keeps_the_position_and_is_refused_after_a_theft(void **state)
{
    struct rn_update lease;
    struct rn_update stolen;
    struct rn_update u;

    (void)state;
    acquire(&lease, &me);
    u = storing(&lease, "\"8\"");
    u.kind = RN_UPDATE_RELEASE;
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_DONE);
    assert_null(stored->lease.owner.at);
    assert_true(rn_view_eq(stored->lease.position, RN_LIT("\"8\"")));
    acquire(&stolen, &thief);
    u.rounds = 0;
    assert_int_equal(finish(&u, rn_update_begin(&u)), RN_UPDATE_LOST);
    rn_lease_document_free(stolen.base);
    release(&u);
}

static void six_conflicts_or_a_missing_document_lose_the_lease(void **state)
{
    struct rn_update lease;
    struct rn_update u;
    enum rn_update_next next;
    int rounds = 0;

    (void)state;
    acquire(&lease, &me);
    u = storing(&lease, "\"9\"");
    for (next = rn_update_begin(&u); next == RN_UPDATE_WRITE; rounds++) {
        assert_int_equal(rn_update_written(&u, RUNNEL_PRECONDITION, NULL),
                         RN_UPDATE_READ);
        next = rn_update_read(&u, RUNNEL_OK, copy_stored());
    }
    assert_int_equal(next, RN_UPDATE_LOST);
    assert_int_equal(rounds, RN_UPDATE_ROUNDS_MAX);
    u.rounds = 0;
    assert_int_equal(rn_update_begin(&u), RN_UPDATE_WRITE);
    assert_int_equal(rn_update_written(&u, RUNNEL_NOT_FOUND, NULL),
                     RN_UPDATE_LOST);
    assert_int_equal(rn_update_read(&u, RUNNEL_NOT_FOUND, NULL),
                     RN_UPDATE_LOST);
    assert_int_equal(rn_update_written(&u, RUNNEL_CONFLICT, NULL),
                     RN_UPDATE_LOST);
    assert_int_equal(rn_update_written(&u, RUNNEL_BUSY, NULL),
                     RN_UPDATE_FAILED);
    assert_false(u.has_failed_hard);
    release(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_acquisition_writes_owner_session_and_epoch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_checkpoint_is_one_write, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_changed_document_is_read_and_the_change_applied_to_it, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_mark_stays_until_the_next_acquisition,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stolen_lease_is_lost_and_not_written,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(our_name_with_another_session_is_lost,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_found_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_write_without_an_etag_is_followed_by_a_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_lost_answer_that_is_found_out_late_is_no_move, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_expired_lease_whose_owner_came_back_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_position_from_outside_wins_by_generation_or_if_smaller, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            a_release_keeps_the_position_and_is_refused_after_a_theft, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            six_conflicts_or_a_missing_document_lose_the_lease, set_up,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
