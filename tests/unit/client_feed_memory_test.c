/* client_feed_memory_test.c -- a feed that runs out of memory says so, loses
 * no change, and goes on when there is memory again.
 *
 * A reader follows a container through a split.  In run n the n-th allocation
 * of the client fails; a call that fails is made again, or the feed is opened
 * again with its token, as after a restart.  The runs end when one needs fewer
 * allocations. */
#include "client/reading.h"
#include "lib/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct run {
    struct world w;
    struct rn_feed_cursor *cursor;
    runnel_feed_options options;
    bool reopens; /* after a failure */
    char text[1024];
    unsigned failures;
};

static void may_fail(struct run *r, runnel_code code)
{
    if (code == RUNNEL_OK)
        return;
    assert_int_equal(code, RUNNEL_NO_MEMORY);
    assert_true(rn_fault_struck());
    r->failures++;
}

static void open_cursor(struct run *r)
{
    runnel_code code;

    do {
        code =
            rn_feed_cursor_open(r->w.container, &r->options, &r->cursor, NULL);
        may_fail(r, code);
    } while (code);
}

/* Goes on with another cursor, from the token alone. */
static void open_again(struct run *r)
{
    char token[2048];

    snprintf(token, sizeof(token), "%s", rn_feed_cursor_token(r->cursor));
    rn_feed_cursor_close(r->cursor);
    r->options.token = token;
    open_cursor(r);
    r->options.token = NULL;
}

static void read_rest(struct run *r)
{
    for (;;) {
        runnel_batch *batch = NULL;
        runnel_error error = { 0 };
        runnel_code code = rn_feed_cursor_next(r->cursor, 0, &batch, &error);
        size_t count;

        may_fail(r, code);
        if (code && r->reopens)
            open_again(r);
        if (code)
            continue;
        count = batch->count;
        for (size_t i = 0; i < count; i++) {
            const runnel_change *change = &batch->page->changes[i];
            size_t len = strlen(r->text);

            snprintf(r->text + len, sizeof(r->text) - len, " %.*s",
                     (int)change->id.len, change->id.at);
        }
        rn_batch_unref(batch);
        if (count == 0)
            return;
    }
}

/* How many documents lie in the interval that is read. */
static int within(const struct world *w)
{
    struct rn_epk_range keys = rn_epk_all;
    int n = 0;

    assert_int_equal(rn_epk_parse(RN_LIT("38"), &keys.max, NULL), RN_OK);
    for (size_t i = 0; i < w->box->entry_count; i++)
        n += rn_epk_range_has(&keys, rn_epk_view(&w->box->entries[i]->epk));
    assert_true(n > 4 && n < 12);
    return n;
}

/* Returns whether an allocation failed. */
static bool run(long nth, runnel_feed_mode mode, bool reopens)
{
    const struct service_definition d = {
        .db = "d", .name = "c", .key = "/pk", .ranges = 2, .retention_min = 10
    };
    struct run r = { .reopens = reopens };
    bool struck;

    r.options = (runnel_feed_options){ RUNNEL_FEED_INIT, .mode = mode,
                                       .page_limit = 4, .range = "-38",
                                       .start = mode == RUNNEL_FEED_ALL
                                                    ? RUNNEL_START_NOW
                                                    : RUNNEL_START_BEGINNING };
    world_open(&r.w, 1, &d);
    r.w.wire.guard = rn_fault_hold;
    rn_fault_arm(nth);
    open_cursor(&r);
    read_rest(&r);
    rn_fault_hold(true);
    reading_put_many(&r.w, 0, 12);
    assert_true(service_split(r.w.box, 0, 0));
    rn_fault_hold(false);
    read_rest(&r);
    struck = rn_fault_struck();
    rn_fault_arm(0);
    assert_true(r.failures <= 1);
    rn_feed_cursor_close(r.cursor);
    assert_int_equal(reading_count(r.text, 0, 12), within(&r.w));
    world_close(&r.w);
    return struck;
}

static void a_feed_survives_any_allocation_that_fails(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        long n = 1;

        while (run(n, (runnel_feed_mode)(way % 2), way > 1))
            n++;
        assert_true(n > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_feed_survives_any_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
