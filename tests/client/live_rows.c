/* live_rows.c -- see live_rows.h. */
#include "client/live_rows.h"

#include "client/query/value_set.h"

#include <stdlib.h>
#include <string.h>

void live_add_row(struct live_rows *r, runnel_bytes row)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_json j;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_view_of(row.at, row.len), NULL),
                     RN_OK);
    assert_int_equal(
        rn_merge_item_canon((struct rn_merge_item){ &j, 0 }, &text), RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    assert_true(r->count < LIVE_ROWS_MAX);
    r->of[r->count++] = rn_buf_take(&text);
    rn_json_release(&j);
}

void live_free_rows(struct live_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        rn_free(r->of[i]);
    *r = (struct live_rows){ 0 };
}

int live_by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void live_take_page(struct live_rows *r, runnel_page *page)
{
    for (size_t i = 0; i < runnel_page_count(page); i++)
        live_add_row(r, runnel_page_at(page, i));
    r->pages++;
}

/* Reads all; `resume`: each page by a handle of its own. */
void live_read_all(runnel_container *c, runnel_query_options o, bool resume,
                   struct live_rows *out)
{
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    char *token = NULL;

    *out = (struct live_rows){ 0 };
    must(runnel_query_open(c, &o, &q, &error));
    for (;;) {
        must(runnel_query_next(q, &page, &error));
        if (!page)
            break;
        live_take_page(out, page);
        if (!runnel_page_token(page)) {
            runnel_page_close(page);
            must(runnel_query_next(q, &page, &error));
            assert_null(page);
            break;
        }
        if (resume) {
            free(token);
            token = strdup(runnel_page_token(page));
            runnel_query_close(q);
            o.token = token;
            must(runnel_query_open(c, &o, &q, &error));
        }
        runnel_page_close(page);
    }
    runnel_query_close(q);
    free(token);
}
