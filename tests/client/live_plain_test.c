/* live_plain_test.c -- queries that every server of the protocol answers.
 *
 * Goal: the client is not bound to our own server.  Method: the simple queries
 * of a user against whatever RUNNEL_ENDPOINT names.
 */
#include "client/live.h"

#include <stdio.h>

static size_t count_rows(struct live *l, runnel_query_options o)
{
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    size_t count = 0;

    must(runnel_query_open(l->container, &o, &q, &error));
    for (;;) {
        must(runnel_query_next(q, &page, &error));
        if (!page)
            break;
        count += runnel_page_count(page);
        runnel_page_close(page);
    }
    runnel_query_close(q);
    return count;
}

static void items_are_found_by_queries(void **state)
{
    struct live *l = *state;
    runnel_query_options o = { RUNNEL_QUERY_INIT };
    runnel_error error = { 0 };
    char item[80];

    for (int i = 0; i < 9; i++) {
        snprintf(item, sizeof(item), "{\"id\":\"%d\",\"pk\":\"k%d\",\"n\":%d}",
                 i, i % 3, i);
        must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                &error));
    }
    o.text = "SELECT * FROM c WHERE c.n > @n";
    o.parameters = "[{\"name\":\"@n\",\"value\":5}]";
    assert_int_equal(count_rows(l, o), 3);
    o.text = "SELECT VALUE c.n FROM c ORDER BY c.n";
    o.parameters = NULL;
    assert_int_equal(count_rows(l, o), 9);
    o.partition_key = "\"k1\"";
    o.text = "SELECT * FROM c WHERE c.pk = 'k1'";
    assert_int_equal(count_rows(l, o), 3);
}

static void every_item_is_read(void **state)
{
    struct live *l = *state;
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 4 };

    assert_int_equal(count_rows(l, o), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_found_by_queries),
        cmocka_unit_test(every_item_is_read),
    };

    return cmocka_run_group_tests(tests, live_set_up, live_tear_down);
}
