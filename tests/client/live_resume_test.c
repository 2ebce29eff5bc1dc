/* live_resume_test.c -- queries that are computed here, resumed between writes,
 * and ORDER BY RANK.
 *
 * Goal: what is written between two pages makes no query repeat or lose the
 * other rows; ORDER BY RANK over four ranges ranks as the server ranks one
 * partition.  Method: each page is asked for by a new handle with the token of
 * the one before, and between the pages items are added, changed and deleted
 * that come before or after the place; the same texts are ranked in a
 * container of four ranges by the client, and under one key by the server.
 */
#include "client/live_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(runnel_container *c, const char *id, const char *pk,
                const char *team, int n)
{
    char item[200];
    runnel_error error = { 0 };

    snprintf(item, sizeof(item),
             "{\"id\":\"%s\",\"pk\":\"%s\",\"team\":\"%s\",\"n\":%d}", id, pk,
             team, n);
    must(runnel_item_upsert(c, runnel_text(item), NULL, NULL, &error));
}

/* 40 teams of four each, whose items are in all ranges. */
static runnel_container *make_teams(struct live *l, const char *id)
{
    runnel_container *c = live_container(l, id, "/pk", 4);
    static runnel_operation ops[160];
    static char text[160][80];
    runnel_error error = { 0 };

    for (int i = 0; i < 160; i++) {
        snprintf(text[i], sizeof(text[i]),
                 "{\"id\":\"i%d\",\"pk\":\"k%d\",\"team\":\"t%02d\",\"n\":%d}",
                 i, i, i % 40, i % 40);
        ops[i].json = runnel_text(text[i]);
    }
    must(runnel_items_bulk(c, ops, 160, NULL, &error));
    return c;
}

/* Adds a team before and one after all others, moves a member of the last team
 * to a partition of its own, and deletes another. */
static void disturb(runnel_container *c, runnel_page *read, int page)
{
    char id[40], name[40];
    runnel_error error = { 0 };
    runnel_key key = { .id = name };
    char pk[20];

    (void)read;
    for (int k = 0; k < 4; k++) {
        snprintf(id, sizeof(id), "new%d-%d", page, k);
        put(c, id, id, k % 2 ? "a-new" : "z-new", k % 2 ? -1 : 1000);
        snprintf(id, sizeof(id), "old%d-%d", page, k);
        snprintf(name, sizeof(name), "t%02d", (page * 4 + k) % 40);
        put(c, id, id, name, (page * 4 + k) % 40);
    }
    snprintf(name, sizeof(name), "i%d", page);
    snprintf(pk, sizeof(pk), "\"k%d\"", page);
    key.partition_key = pk;
    if (runnel_item_delete(c, key, NULL, &error))
        assert_int_equal(error.code, RUNNEL_NOT_FOUND);
}

/* Reads on by tokens; `then` writes between the pages. */
static void read_on(runnel_container *c, runnel_query_options o,
                    void (*then)(runnel_container *c, runnel_page *page, int n),
                    struct live_rows *out)
{
    runnel_error error = { 0 };
    char *token = NULL;

    *out = (struct live_rows){ 0 };
    do {
        runnel_query *q = NULL;
        runnel_page *page = NULL;

        o.token = token;
        must(runnel_query_open(c, &o, &q, &error));
        must(runnel_query_next(q, &page, &error));
        free(token);
        token = NULL;
        if (page) {
            live_take_page(out, page);
            if (runnel_page_token(page))
                token = strdup(runnel_page_token(page));
            then(c, page, (int)out->pages);
            runnel_page_close(page);
        }
        runnel_query_close(q);
    } while (token);
}

/* The rows that were there all the time, each once. */
static void assert_teams(struct live_rows *r, bool are_names, const char *text)
{
    char expected[80];

    qsort(r->of, r->count, sizeof(r->of[0]), live_by_text);
    for (size_t i = 1; i < r->count; i++) {
        if (strcmp(r->of[i - 1], r->of[i]) == 0)
            fail_msg("%s was returned twice: %s", r->of[i], text);
    }
    for (int i = 0; i < 40; i++) {
        char *key = expected;
        if (are_names)
            snprintf(expected, sizeof(expected), "\"t%02d\"", i);
        else
            snprintf(expected, sizeof(expected), "%d", i);
        if (!bsearch(&key, r->of, r->count, sizeof(r->of[0]), live_by_text))
            fail_msg("%s was not returned: %s", expected, text);
    }
}

static void
rows_of_teams_are_returned_once_while_items_are_written(void **state)
{
    static const struct {
        const char *id, *text;
        bool are_names;
    } queries[] = {
        { "d", "SELECT DISTINCT VALUE c.team FROM c", true },
        { "g", "SELECT VALUE c.team FROM c GROUP BY c.team", true },
        { "o",
          "SELECT VALUE c.team FROM c GROUP BY c.team "
          "ORDER BY c.team DESC",
          true },
        { "e", "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", false },
        { "x", "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.team", false },
    };
    struct live_rows *r = calloc(1, sizeof(*r));

    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 3 };
        runnel_container *c = make_teams(*state, queries[i].id);

        o.text = queries[i].text;
        read_on(c, o, disturb, r);
        assert_true(r->pages >= 10);
        assert_teams(r, queries[i].are_names, o.text);
        live_free_rows(r);
        runnel_container_close(c);
    }
    free(r);
}

/* The rows of a page, by their ids, which are also their keys. */
static void delete_all(runnel_container *c, runnel_page *page, int n)
{
    runnel_error error = { 0 };

    (void)n;
    for (size_t i = 0; i < runnel_page_count(page); i++) {
        runnel_bytes row = runnel_page_at(page, i);
        char key[40], id[40];

        snprintf(key, sizeof(key), "%.*s", (int)row.len, row.at);
        snprintf(id, sizeof(id), "%.*s", (int)row.len - 2, row.at + 1);
        must(runnel_item_delete(
            c, (runnel_key){ .partition_key = key, .id = id }, NULL, &error));
    }
}

static void
rows_of_equal_order_are_returned_once_while_they_are_deleted(void **state)
{
    static const char *const texts[] = {
        "SELECT VALUE c.id FROM c ORDER BY c.team",
        "SELECT VALUE c.id FROM c ORDER BY c.team DESC",
    };
    struct live_rows *r = calloc(1, sizeof(*r));

    for (size_t i = 0; i < 2; i++) {
        runnel_container *c =
            live_container(*state, i ? "down" : "up", "/id", 4);
        runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 7 };

        for (int k = 0; k < 90; k++) {
            char id[20];
            snprintf(id, sizeof(id), "%d", k);
            put(c, id, "", k < 80 ? "all" : "others", k);
        }
        o.text = texts[i];
        read_on(c, o, delete_all, r);
        assert_int_equal(r->count, 90);
        qsort(r->of, r->count, sizeof(r->of[0]), live_by_text);
        for (size_t k = 1; k < r->count; k++)
            assert_string_not_equal(r->of[k - 1], r->of[k]);
        live_free_rows(r);
        runnel_container_close(c);
    }
    free(r);
}

static void a_limit_holds_across_tokens(void **state)
{
    runnel_container *c = make_teams(*state, "limit");
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 4 };
    struct live_rows *r = calloc(1, sizeof(*r));

    o.text = "SELECT DISTINCT VALUE c.team FROM c OFFSET 5 LIMIT 17";
    read_on(c, o, disturb, r);
    assert_int_equal(r->count, 17);
    live_free_rows(r);
    o.text = "SELECT TOP 13 c.team, COUNT(1) AS n FROM c GROUP BY c.team";
    read_on(c, o, disturb, r);
    assert_int_equal(r->count, 13);
    live_free_rows(r);
    free(r);
    runnel_container_close(c);
}

/* ---- too many ------------------------------------------------------------ */

static void a_long_distinct_is_refused_and_says_what_to_do(void **state)
{
    enum { ITEMS = 10100 };
    struct live *l = *state;
    runnel_container *c = live_container(l, "long", "/id", 4);
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 5000,
                               .text = "SELECT DISTINCT VALUE c.id FROM c" };
    runnel_operation *ops = calloc(ITEMS, sizeof(*ops));
    char(*text)[40] = calloc(ITEMS, sizeof(*text));
    runnel_query *q = NULL;
    runnel_page *page = NULL, *last = NULL;
    runnel_error error = { 0 };
    size_t count = 0;

    for (int i = 0; i < ITEMS; i++) {
        snprintf(text[i], sizeof(text[i]), "{\"id\":\"%d\"}", i);
        ops[i].json = runnel_text(text[i]);
    }
    must(runnel_items_bulk(c, ops, ITEMS, NULL, &error));
    must(runnel_query_open(c, &o, &q, &error));
    while (count <= 10000) {
        must(runnel_query_next(q, &page, &error));
        assert_non_null(page);
        count += runnel_page_count(page);
        runnel_page_close(last);
        last = page;
    }
    runnel_query_close(q);
    if (runnel_page_token(last)) {
        o.token = runnel_page_token(last);
        must_be(runnel_query_open(c, &o, &q, &error), RUNNEL_UNSUPPORTED);
        assert_non_null(strstr(error.message, "ORDER BY"));
    }
    runnel_page_close(last);
    free(ops);
    free(text);
    runnel_container_close(c);
}

/* ---- ORDER BY RANK ------------------------------------------------------- */

enum { TEXTS = 90 };

/* Texts of different lengths, so that no two scores are equal. */
static void put_texts(runnel_container *c, bool one_key)
{
    runnel_error error = { 0 };

    for (int i = 0; i < TEXTS; i++) {
        char item[2000], text[1500] = "";
        size_t n = 0;

        for (int k = 0; k <= i; k++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "filler%d ", k);
        snprintf(item, sizeof(item),
                 "{\"id\":\"%d\",\"pk\":\"%s%d\",\"n\":%d,"
                 "\"v\":[%d,1,0.5],\"text\":\"%s%s%s\"%s}",
                 i, one_key ? "k" : "p", one_key ? 0 : i, i, (i * 37) % 90,
                 i % 3 == 0 ? "swim " : "", i % 4 == 0 ? "race " : "", text,
                 i % 5 == 0 ? ",\"title\":\"a race\"" : "");
        must(runnel_item_create(c, runnel_text(item), NULL, NULL, &error));
    }
}

static runnel_container *make_texts(struct live *l, const char *id,
                                    unsigned ranges, bool one_key)
{
    runnel_container_definition d = {
        RUNNEL_CONTAINER_INIT, .id = id, .partition_key = "/pk",
        .throughput = { ranges > 1 ? ranges * 10000 : 0, false },
        .json = "{\"fullTextPolicy\":{\"defaultLanguage\":\"en-US\","
                "\"fullTextPaths\":[{\"path\":\"/text\",\"language\":"
                "\"en-US\"},{\"path\":\"/title\",\"language\":\"en-US\"}]},"
                "\"vectorEmbeddingPolicy\":{\"vectorEmbeddings\":[{\"path\":"
                "\"/v\",\"dataType\":\"float32\",\"dimensions\":3,"
                "\"distanceFunction\":\"euclidean\"}]}}"
    };
    runnel_container *c = NULL;
    runnel_error error = { 0 };

    must(runnel_container_create(l->client, l->database, &d, NULL, &error));
    must(runnel_container_open(l->client, l->database, id, &c, &error));
    put_texts(c, one_key);
    return c;
}

/* All of these have fewer rows with a score than their limit, or a score that
 * differs in every row. */
static const char *const rankings[] = {
    "SELECT TOP 12 VALUE c.n FROM c "
    "ORDER BY RANK FullTextScore(c.text, 'swim')",
    "SELECT TOP 20 c.n, c.pk != 'x' AS t FROM c "
    "ORDER BY RANK FullTextScore(c.text, 'swim', 'race')",
    "SELECT VALUE c.n FROM c WHERE c.n > 20 "
    "ORDER BY RANK FullTextScore(c.text, 'race') OFFSET 3 LIMIT 9",
    "SELECT TOP 10 VALUE c.n FROM c ORDER BY RANK "
    "RRF(FullTextScore(c.text, 'race'), VectorDistance(c.v, [40.2,1,0.5]))",
    "SELECT TOP 10 VALUE c.n FROM c ORDER BY RANK "
    "RRF(FullTextScore(c.text, 'swim'), VectorDistance(c.v, [7.2,1,0.5]), "
    "[1, 3])",
    "SELECT TOP 5 VALUE c.n FROM c "
    "ORDER BY RANK VectorDistance(c.v, [30.2,1,0.5])",
};

static void four_ranges_are_ranked_as_one_partition(void **state)
{
    struct live *l = *state;
    runnel_container *four = make_texts(l, "texts", 4, false);
    runnel_container *one = make_texts(l, "onekey", 1, true);
    struct live_rows *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

    for (size_t i = 0; i < sizeof(rankings) / sizeof(rankings[0]); i++) {
        for (int resume = 0; resume < 2; resume++) {
            runnel_query_options o = { RUNNEL_QUERY_INIT };

            o.text = rankings[i];
            o.partition_key = "\"k0\"";
            live_read_all(one, o, false, a);
            o.partition_key = NULL;
            o.page_limit = resume ? 4 : 0;
            live_read_all(four, o, resume, b);
            assert_true(a->count > 4);
            assert_int_equal(a->count, b->count);
            for (size_t k = 0; k < a->count; k++) {
                if (strcmp(a->of[k], b->of[k]) != 0)
                    fail_msg("%s: row %zu is %s by the server, %s by the "
                             "client",
                             o.text, k, a->of[k], b->of[k]);
            }
            live_free_rows(a);
            live_free_rows(b);
        }
    }
    free(a);
    free(b);
    runnel_container_close(four);
    runnel_container_close(one);
}

static void no_ranked_row_is_repeated_while_texts_are_written(void **state)
{
    struct live *l = *state;
    runnel_container *c = make_texts(l, "moving", 4, false);
    runnel_query_options o = {
        RUNNEL_QUERY_INIT, .page_limit = 5,
        .text = "SELECT TOP 40 VALUE c.id FROM c ORDER BY RANK "
                "RRF(FullTextScore(c.text, 'swim'), "
                "FullTextScore(c.title, 'race'))"
    };
    struct live_rows *r = calloc(1, sizeof(*r));

    read_on(c, o, disturb, r);
    assert_int_equal(r->count, 40);
    qsort(r->of, r->count, sizeof(r->of[0]), live_by_text);
    for (size_t i = 1; i < r->count; i++)
        assert_string_not_equal(r->of[i - 1], r->of[i]);
    live_free_rows(r);
    free(r);
    runnel_container_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            rows_of_teams_are_returned_once_while_items_are_written),
        cmocka_unit_test(
            rows_of_equal_order_are_returned_once_while_they_are_deleted),
        cmocka_unit_test(a_limit_holds_across_tokens),
        cmocka_unit_test(a_long_distinct_is_refused_and_says_what_to_do),
        cmocka_unit_test(four_ranges_are_ranked_as_one_partition),
        cmocka_unit_test(no_ranked_row_is_repeated_while_texts_are_written),
    };

    return cmocka_run_group_tests(tests, live_set_up, live_tear_down);
}
