/* live_rows.h -- the rows of a query, as texts that compare. */
#ifndef TESTS_CLIENT_LIVE_ROWS_H
#define TESTS_CLIENT_LIVE_ROWS_H

#include "client/live.h"

enum { LIVE_ROWS_MAX = 4000 };

struct live_rows {
    char *of[LIVE_ROWS_MAX]; /* canonical JSON */
    size_t count, pages;
};

void live_add_row(struct live_rows *r, runnel_bytes row);
void live_take_page(struct live_rows *r, runnel_page *page);
void live_free_rows(struct live_rows *r);
int live_by_text(const void *a, const void *b);

/* Reads all; `resume`: each page by a handle of its own. */
void live_read_all(runnel_container *c, runnel_query_options o, bool resume,
                   struct live_rows *out);

#endif
