/* client_wait_test.c -- the pulled change feed as time goes by: turns of the
 * ranges, waiting, cancelling, and what servers may do wrong.
 *
 * A cursor reads from the fake service in virtual time; a task writes or
 * cancels meanwhile, or the network gives answers of its own. */
#include "client/reading.h"
#include "cosmos/header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- turns, waiting, cancelling ------------------------------------------ */

static void ranges_take_turns_and_transactions_stay_whole(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .page_limit = 1 };
    const char *batch_of[] = { "{\"id\":\"t0\",\"pk\":\"p\"}",
                               "{\"id\":\"t1\",\"pk\":\"p\"}",
                               "{\"id\":\"t2\",\"pk\":\"p\"}" };
    struct rn_feed_cursor *c;
    runnel_batch *batch;
    char ranges[9] = "";
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    reading_put_many(&w, 0, 40);
    c = reading_open(&w, &o);
    for (int i = 0; i < 8; i++) {
        batch = reading_next(c, 0);
        ranges[i] = batch->range.id[0];
        rn_batch_unref(batch);
    }
    for (char id = '0'; id < '4'; id++)
        assert_non_null(strchr(ranges, id));
    (void)reading_rest(c, 0);
    service_batch(w.box, batch_of, 3);
    assert_string_equal(reading_rest(c, 0), "t0 t1 t2");
    rn_feed_cursor_close(c);
    world_close(&w);
}

struct later {
    struct world *world;
    struct rn_feed_cursor *cursor;
    struct rn_task task;
    int64_t at_ns;
    bool is_done;
};

/* A task that writes, or cancels, at its time. */
static int64_t later_step(void *context)
{
    struct later *l = context;
    int64_t left = l->at_ns - rn_mono_ns(rn_sim_env(l->world->sim));

    if (left > 0)
        return left;
    if (!l->is_done && l->cursor)
        rn_feed_cursor_cancel(l->cursor);
    else if (!l->is_done)
        reading_put(l->world, "late", "1");
    l->is_done = true;
    return RN_TASK_IDLE;
}

static void later_start(struct later *l, struct world *w, int64_t ms)
{
    struct rn_env *env = rn_sim_env(w->sim);

    l->world = w;
    l->at_ns = rn_mono_ns(env) + ms * 1000000;
    l->task =
        (struct rn_task){ .name = "later", .step = later_step, .context = l };
    assert_int_equal(env->ops->task_start(env, &l->task), 0);
}

static void later_stop(struct later *l)
{
    struct rn_env *env = rn_sim_env(l->world->sim);

    env->ops->task_stop(env, &l->task);
}

/* Where the server can wait, a change is there at once and little is asked;
 * where it cannot, within the poll interval. */
static void a_change_ends_the_wait(void **state)
{
    (void)state;
    for (int can_wait = 0; can_wait < 2; can_wait++) {
        runnel_feed_options o = { RUNNEL_FEED_INIT, .poll_ms = 500 };
        struct later later = { 0 };
        struct rn_feed_cursor *c;
        struct world w;
        uint64_t reads;
        int64_t start;

        world_open(&w, 1, &reading_four_ranges);
        w.service.cannot_wait = !can_wait;
        c = reading_open(&w, &o);
        assert_string_equal(reading_rest(c, 0), "");
        later_start(&later, &w, 10000);
        reads = w.service.feed_reads;
        start = world_now_ms(&w);
        assert_string_equal(reading_rest(c, 20000), "late");
        assert_true(later.is_done);
        /* The wait for the change, and the one that found nothing more. */
        assert_in_range(world_now_ms(&w) - start, 29990, 31000);
        reads = w.service.feed_reads - reads;
        if (can_wait)
            assert_true(reads <= 20);
        else
            assert_true(reads >= 4 * 50);
        later_stop(&later);
        rn_feed_cursor_close(c);
        world_close(&w);
    }
}

static void waiting_ends_in_time_with_an_empty_batch(void **state)
{
    static const uint32_t waits[] = { 0, 1, 500, 1000, 1700, 30000 };
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    c = reading_open(&w, &o);
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        int64_t start = world_now_ms(&w);

        assert_string_equal(reading_rest(c, waits[i]), "");
        assert_in_range(world_now_ms(&w) - start, waits[i], waits[i] + 100);
    }
    /* A shorter wait than the one before does not wait for its requests. */
    reading_put(&w, "a", "1");
    rn_batch_unref(reading_next(c, 30000));
    for (int i = 0; i < 2; i++) {
        int64_t start = world_now_ms(&w);

        assert_string_equal(reading_rest(c, 0), "");
        assert_true(world_now_ms(&w) - start < 100);
    }
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void cancelling_ends_a_wait_and_all_later_calls(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    struct later later = { 0 };
    runnel_batch *batch = NULL;
    runnel_error error;
    struct rn_feed_cursor *c;
    struct world w;
    int64_t start;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    c = reading_open(&w, &o);
    later.cursor = c;
    later_start(&later, &w, 5000);
    start = world_now_ms(&w);
    assert_int_equal(rn_feed_cursor_next(c, 60000, &batch, &error),
                     RUNNEL_CANCELLED);
    assert_in_range(world_now_ms(&w) - start, 5000, 5010);
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                     RUNNEL_CANCELLED);
    later_stop(&later);
    rn_feed_cursor_close(c);
    world_close(&w);
}

/* ---- what can go wrong --------------------------------------------------- */

static void a_token_of_another_feed_is_refused(void **state)
{
    static const char *const wrong[] = { "rn1.", "rn1.e30", "rn1.!",
                                         "rn1.eyJyaWQiOiJ4In0", "" };
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    runnel_batch *batch = NULL;
    runnel_error error;
    struct rn_feed_cursor *c;
    char *token;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    for (size_t i = 0; wrong[i][0]; i++) {
        o.token = wrong[i];
        c = reading_open(&w, &o);
        assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                         RUNNEL_BAD_REQUEST);
        rn_feed_cursor_close(c);
    }
    o.token = NULL;
    c = reading_open(&w, &o);
    assert_string_equal(reading_rest(c, 0), "a");
    token = strdup(rn_feed_cursor_token(c));
    rn_feed_cursor_close(c);
    o.token = token;
    o.range = "-10";
    c = reading_open(&w, &o);
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                     RUNNEL_BAD_REQUEST);
    rn_feed_cursor_close(c);
    o.range = NULL;
    o.mode = RUNNEL_FEED_ALL;
    c = reading_open(&w, &o);
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                     RUNNEL_BAD_REQUEST);
    rn_feed_cursor_close(c);
    /* The container of the token is deleted, another has its name. */
    w.box->is_deleted = true;
    w.box = service_add(&w.service, &reading_one_range);
    rn_client_container_forget(w.container);
    o.mode = RUNNEL_FEED_LATEST;
    c = reading_open(&w, &o);
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                     RUNNEL_BAD_REQUEST);
    rn_feed_cursor_close(c);
    free(token);
    world_close(&w);
}

static void a_container_that_was_created_anew_ends_the_feed(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    runnel_batch *batch = NULL;
    runnel_error error;
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    c = reading_open(&w, &o);
    assert_string_equal(reading_rest(c, 0), "a");
    w.box->is_deleted = true;
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                     RUNNEL_NOT_FOUND);
    w.box = service_add(&w.service, &reading_one_range);
    reading_put(&w, "b", "1");
    reading_put(&w, "c", "1");
    for (int i = 0; i < 2; i++)
        assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                         RUNNEL_NOT_FOUND);
    rn_feed_cursor_close(c);
    world_close(&w);
}

/* The service's answers, replaced for a while. */
static int scripted_left;

static bool too_large(void *context, const struct service_request *q,
                      struct service_answer *a)
{
    struct rn_view limit = service_header(q, RN_HEADER_MAX_ITEM_COUNT);

    (void)context;
    if (!service_header(q, RN_HEADER_A_IM).at ||
        !rn_view_starts(q->path, RN_LIT("/dbs/d/colls/c/docs")))
        return false;
    if (limit.at && strtol(limit.at, NULL, 10) <= 12)
        return false;
    scripted_left++;
    a->header_count = 0;
    service_refuse(a, 400, 0, "Reduce page size and try again.");
    return true;
}

static void pages_that_are_too_large_are_asked_for_in_parts(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    struct world w;

    (void)state;
    scripted_left = 0;
    world_open(&w, 1, &reading_one_range);
    reading_put_many(&w, 0, 30);
    w.wire.before = too_large;
    assert_int_equal(reading_count(reading_whole(&w, &o), 0, 30), 30);
    assert_int_equal(scripted_left, 3); /* the server's, 50, 25, then 12 */
    world_close(&w);
}

static bool stale_gone(void *context, const struct service_request *q,
                       struct service_answer *a)
{
    (void)context;
    if (scripted_left == 0 ||
        !rn_view_starts(q->path, RN_LIT("/dbs/d/colls/c/docs")))
        return false;
    scripted_left--;
    a->header_count = 0;
    service_refuse(a, 410, 1002, "Gone.");
    return true;
}

static void a_range_that_is_gone_and_is_not_is_asked_again(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    runnel_batch *batch = NULL;
    runnel_error error = { 0 };
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    w.wire.before = stale_gone;
    c = reading_open(&w, &o);
    scripted_left = 3;
    assert_string_equal(reading_rest(c, 0), "a");
    reading_put(&w, "b", "1");
    scripted_left = 100;
    assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error), RUNNEL_GONE);
    scripted_left = 0;
    assert_string_equal(reading_rest(c, 0), "b");
    rn_feed_cursor_close(c);
    world_close(&w);
}

static bool malformed(void *context, const struct service_request *q,
                      struct service_answer *a)
{
    if (!service_header(q, RN_HEADER_A_IM).at ||
        !rn_view_starts(q->path, RN_LIT("/dbs/d/colls/c/docs")))
        return false;
    a->status = 200;
    a->header_count = 0;
    service_say(a, RN_HEADER_ETAG, "\"7\"");
    rn_buf_clear(&a->body);
    return rn_buf_add(&a->body, rn_view_text(context)) == RN_OK;
}

static void a_page_that_is_none_is_an_error_and_is_read_again(void **state)
{
    static const char *const pages[] = {
        "",
        "[]",
        "{\"_rid\":\"x\"}",
        "{\"Documents\":5}",
        "{\"Documents\":[5]}",
        "{\"Documents\":[{\"id\":7,\"_lsn\":1}]}",
        "{\"Documents\":[{\"id\":\"a\",\"_lsn\":-1}]}",
        "{\"Documents\":[{\"id\":\"a\",\"_lsn\":\"1\"}]}",
    };
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    runnel_batch *batch = NULL;
    runnel_error error;
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    c = reading_open(&w, &o);
    w.wire.before = malformed;
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        w.wire.context = (void *)(uintptr_t)pages[i];
        assert_int_equal(rn_feed_cursor_next(c, 0, &batch, &error),
                         RUNNEL_PROTOCOL);
    }
    w.wire.before = NULL;
    assert_string_equal(reading_rest(c, 0), "a");
    rn_feed_cursor_close(c);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_take_turns_and_transactions_stay_whole),
        cmocka_unit_test(a_change_ends_the_wait),
        cmocka_unit_test(waiting_ends_in_time_with_an_empty_batch),
        cmocka_unit_test(cancelling_ends_a_wait_and_all_later_calls),
        cmocka_unit_test(a_token_of_another_feed_is_refused),
        cmocka_unit_test(a_container_that_was_created_anew_ends_the_feed),
        cmocka_unit_test(pages_that_are_too_large_are_asked_for_in_parts),
        cmocka_unit_test(a_range_that_is_gone_and_is_not_is_asked_again),
        cmocka_unit_test(a_page_that_is_none_is_an_error_and_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
