/* query_run_test.c -- limits, faults and pages of queries.
 *
 * The recorded queries say what rows come out; here is what they do not say:
 * what the module does at its limits, how it reports where a text is wrong, and
 * that pages add up.  Documents are made up by a small source; tables hold the
 * cases.
 */
#include "query/query.h"
#include "query/run/seek.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Documents {"id":"7","n":7,"m":1,"tags":["a","b"]} for 0 to count - 1. */
struct maker {
    uint32_t next, count;
    char text[128];
};

static enum rn_code make_next(void *context, struct rn_view *document,
                              struct rn_err *err)
{
    struct maker *m = context;
    int len;

    (void)err;
    if (m->next == m->count)
        return RN_NOT_FOUND;
    len = snprintf(m->text, sizeof(m->text),
                   "{\"id\":\"%u\",\"n\":%u,\"m\":%u,\"tags\":[\"a\",\"b\"]}",
                   m->next, m->next, m->next % 3);
    m->next++;
    *document = rn_view_of(m->text, (size_t)len);
    return RN_OK;
}

struct page {
    struct rn_buf text;
    uint32_t rows, most;
    char bytes[RN_QUERY_AFTER_MAX];
    struct rn_view after;
};

static enum rn_code take_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err)
{
    struct page *p = context;
    enum rn_code rc = rn_buf_add(&p->text, json);

    (void)err;
    memcpy(p->bytes, place->after.at ? place->after.at : "", place->after.len);
    p->after = rn_view_of(p->bytes, place->after.len);
    p->rows++;
    *is_full = p->most && p->rows % p->most == 0;
    return rc ? rc : rn_buf_add(&p->text, RN_LIT(" "));
}

struct outcome {
    enum rn_code rc;
    struct rn_err err;
    struct rn_faults faults;
    struct rn_query_stats stats;
    struct page page;
    uint32_t runs;
};

/* Runs over `documents`, in pages of `most` rows (0: in one go). */
static void run(struct rn_view text, uint32_t documents, uint32_t most,
                struct rn_query_limits limits, struct outcome *o)
{
    struct rn_arena a = RN_ARENA_INIT(32 << 20);
    struct rn_query_input in = { .text = text };
    struct rn_sink sink = { &o->page, take_row };
    uint32_t done = 0;
    struct rn_query *q;

    memset(o, 0, sizeof(*o));
    o->page = (struct page){ .text = RN_BUF_INIT(1 << 20), .most = most };
    o->rc = rn_query_parse(&in, &a, &q, &o->faults, &o->err);
    while (!o->rc && !o->stats.is_done) {
        struct maker m = { .count = documents };
        struct rn_source source = { &m, make_next };
        m.next = rn_query_is_streaming(q) ? done : 0;
        o->rc = rn_query_run(q, &source, &sink, &limits, &o->stats, &o->err);
        limits.from = o->stats.place;
        limits.from.after = o->page.after;
        done = m.next ? m.next - 1 : 0;
        o->runs++;
    }
    rn_arena_release(&a);
}

static void gives(const char *text, uint32_t documents, uint32_t most,
                  const char *wanted)
{
    struct outcome o;
    struct rn_query_limits limits = { 0 };

    run(rn_view_text(text), documents, most, limits, &o);
    if (o.rc || o.page.text.len != strlen(wanted) ||
        memcmp(o.page.text.at ? o.page.text.at : "", wanted, strlen(wanted)) !=
            0)
        print_message("# %s (%u a page): %s %.*s\n", text, most, o.err.text,
                      RN_FMT(rn_buf_view(&o.page.text)));
    assert_int_equal(o.rc, RN_OK);
    assert_int_equal(o.page.text.len, strlen(wanted));
    assert_memory_equal(o.page.text.at ? o.page.text.at : "", wanted,
                        strlen(wanted));
    rn_buf_release(&o.page.text);
}

static void pages_of_any_size_add_up(void **state)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        { "SELECT VALUE c.n FROM c", "0 1 2 3 4 " },
        { "SELECT VALUE c.n FROM c OFFSET 1 LIMIT 3", "1 2 3 " },
        { "SELECT TOP 2 VALUE c.n FROM c", "0 1 " },
        { "SELECT TOP 2 [c.n, c.m] FROM c", "{\"$1\":[0,0]} {\"$1\":[1,1]} " },
        { "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 2",
          "\"a\" \"b\" \"a\" \"b\" " },
        { "SELECT VALUE t FROM c JOIN t IN c.tags OFFSET 3 LIMIT 2",
          "\"b\" \"a\" " },
        { "SELECT VALUE c.n FROM c ORDER BY c.n DESC", "4 3 2 1 0 " },
        { "SELECT DISTINCT VALUE c.m FROM c", "0 1 2 " },
        { "SELECT DISTINCT VALUE c.m FROM c ORDER BY c.m DESC", "2 1 0 " },
        { "SELECT DISTINCT VALUE c.m FROM c ORDER BY c.n DESC", "1 0 2 " },
        { "SELECT DISTINCT c.m FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 5",
          "{\"m\":0} {\"m\":2} " },
        { "SELECT DISTINCT TOP 2 VALUE c.m FROM c ORDER BY c.n DESC", "1 0 " },
        { "SELECT DISTINCT c.x FROM c ORDER BY c.n", "{} " },
        { "SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m",
          "{\"m\":0,\"k\":2} {\"m\":1,\"k\":2} {\"m\":2,\"k\":1} " },
        { "SELECT c.x, COUNT(c.x) AS k, SUM(c.x) AS s, AVG(c.x) AS a, "
          "MIN(c.x) AS l FROM c GROUP BY c.x",
          "{\"k\":0,\"s\":0} " },
        { "SELECT VALUE s.n FROM (SELECT * FROM c WHERE c.n > 1) AS s",
          "2 3 4 " },
        { "SELECT VALUE t FROM (SELECT VALUE c.tags FROM c) AS s JOIN t IN s "
          "OFFSET 1 LIMIT 3",
          "\"b\" \"a\" \"b\" " },
        { "SELECT VALUE [d, t] FROM (SELECT DISTINCT VALUE c.m FROM c) AS d "
          "JOIN t IN (SELECT VALUE [7, 8])",
          "[0,7] [0,8] [1,7] [1,8] [2,7] [2,8] " },
        { "SELECT VALUE d.k FROM (SELECT c.m, COUNT(1) AS k FROM c GROUP BY "
          "c.m) AS d WHERE d.k > 1",
          "2 2 " },
        { "SELECT VALUE x FROM (SELECT VALUE [3, 1, 2]) AS a JOIN x IN a",
          "3 1 2 " },
        { "SELECT DISTINCT c.m, c.tags FROM c ORDER BY c.m DESC",
          "{\"m\":2,\"tags\":[\"a\",\"b\"]} "
          "{\"m\":1,\"tags\":[\"a\",\"b\"]} "
          "{\"m\":0,\"tags\":[\"a\",\"b\"]} " },
        { "SELECT VALUE COUNT(1) FROM c", "5 " },
        { "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.m FROM c)",
          "3 " },
        { "SELECT VALUE 1", "1 " },
        { "SELECT TOP 0 * FROM c", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t most = 0; most < 6; most++)
            gives(cases[i].text, 5, most, cases[i].rows);
    }
}

/* The first document of each value goes while a client reads on. */
static void a_value_comes_once_though_its_document_went(void **state)
{
    static const char *const texts[] = {
        "SELECT DISTINCT VALUE c.m FROM c ORDER BY c.m",
        "SELECT DISTINCT c.m FROM c ORDER BY c.m DESC",
        "SELECT DISTINCT c.m AS a, c.m AS b FROM c ORDER BY c.m",
        "SELECT DISTINCT c.m, c.tags FROM c ORDER BY c.m",
        "SELECT DISTINCT VALUE c.m FROM c",
        "SELECT DISTINCT VALUE [c.m, REPLICATE(c.tags[0], 999)] FROM c",
        "SELECT c.m, COUNT(1) AS n FROM c GROUP BY c.m",
        "SELECT c.m FROM c GROUP BY REPLICATE(c.tags[0], 999), c.m",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rn_arena a = RN_ARENA_INIT(1 << 20);
        struct rn_query_input in = { .text = rn_view_text(texts[i]) };
        struct page page = { .text = RN_BUF_INIT(1 << 20), .most = 1 };
        struct rn_sink sink = { &page, take_row };
        struct rn_query_limits limits = { 0 };
        struct rn_query_stats stats = { 0 };
        struct rn_faults faults;
        struct rn_query *q;

        assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
        for (uint32_t gone = 0; !stats.is_done; gone += 3) {
            struct maker m = { .next = gone, .count = 30 };
            struct rn_source source = { &m, make_next };
            assert_int_equal(
                rn_query_run(q, &source, &sink, &limits, &stats, NULL), RN_OK);
            limits.from = stats.place;
            limits.from.after = page.after;
        }
        assert_int_equal(page.rows, 3);
        rn_buf_release(&page.text);
        rn_arena_release(&a);
    }
}

/* {"n":7,"s":"kkk...7"}: keys that begin alike for longer than a place. */
static enum rn_code make_long(void *context, struct rn_view *document,
                              struct rn_err *err)
{
    static char text[2400];
    struct maker *m = context;
    char run[1001];

    (void)err;
    if (m->next == m->count)
        return RN_NOT_FOUND;
    memset(run, 'k', sizeof(run) - 1);
    run[sizeof(run) - 1] = 0;
    snprintf(text, sizeof(text), "{\"n\":%u,\"s\":\"%s%u\",\"l\":[\"%s\"]}",
             m->next % 10, run, m->next % 10, m->next % 2 ? "a" : run);
    m->next++;
    *document = rn_view_text(text);
    return RN_OK;
}

/* The place has only how the keys begin.  The row of the place, and others
 * with its keys, have the rest. */
static void long_keys_are_resumed_behind_their_row(void **state)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        { "SELECT VALUE c.n FROM c ORDER BY c.s", "0 0 1 1 2 2 3 3 4 4 5 5 6 "
                                                  "6 7 7 8 8 9 9 " },
        { "SELECT VALUE c.n FROM c ORDER BY c.s DESC",
          "9 9 8 8 7 7 6 6 5 5 4 4 3 3 2 2 1 1 0 0 " },
        { "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.s",
          "0 1 2 3 4 5 6 7 8 9 " },
        { "SELECT DISTINCT c.s, c.n FROM c ORDER BY c.s OFFSET 9 LIMIT 9",
          NULL },
        { "SELECT VALUE c.n FROM c ORDER BY c.l, c.s",
          "1 1 3 3 5 5 7 7 9 9 0 0 2 2 4 4 6 6 8 8 " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_arena a = RN_ARENA_INIT(1 << 20);
        struct rn_query_input in = { .text = rn_view_text(cases[i].text) };
        struct page page = { .text = RN_BUF_INIT(1 << 20), .most = 3 };
        struct rn_sink sink = { &page, take_row };
        struct rn_query_limits limits = { 0 };
        struct rn_query_stats stats = { 0 };
        struct rn_faults faults;
        struct rn_query *q;

        assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
        while (!stats.is_done) {
            struct maker m = { .count = 20 };
            struct rn_source source = { &m, make_long };
            assert_int_equal(
                rn_query_run(q, &source, &sink, &limits, &stats, NULL), RN_OK);
            assert_true(stats.is_done || rn_query_place_is_cut(q, page.after) ==
                                             (cases[i].rows != NULL));
            limits.from = stats.place;
            limits.from.after = page.after;
        }
        if (cases[i].rows)
            assert_true(rn_view_eq(rn_buf_view(&page.text),
                                   rn_view_text(cases[i].rows)));
        else
            assert_int_equal(page.rows, 1);
        rn_buf_release(&page.text);
        rn_arena_release(&a);
    }
}

static void a_place_that_memory_does_not_hold_is_an_error(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(1 << 20);
    struct rn_query_input in = { .text = RN_LIT(
                                     "SELECT VALUE c.n FROM c ORDER BY c.n") };
    struct page page = { .text = RN_BUF_INIT(1 << 20), .most = 1 };
    struct rn_sink sink = { &page, take_row };
    struct rn_query_limits limits = { 0 };
    struct rn_query_stats stats = { 0 };
    struct rn_faults faults;
    struct rn_query *q;
    uint32_t failures = 0;

    (void)state;
    assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
    for (size_t bytes = 1 << 14; bytes > 0; bytes = bytes * 15 / 16) {
        struct maker m = { .count = 3 };
        struct rn_source source = { &m, make_next };
        enum rn_code rc;

        rc = rn_query_run(q, &source, &sink, &limits, &stats, NULL);
        assert_true(rc == RN_OK ||
                    (rc == RN_TOO_LARGE && limits.from.after.len));
        failures += rc != RN_OK;
        if (!limits.from.after.len) {
            limits.from = stats.place;
            limits.from.after = page.after;
        }
        limits.memory_bytes = bytes;
    }
    assert_true(failures > 0);
    rn_buf_release(&page.text);
    rn_arena_release(&a);
}

/* Many rows of few values, through less memory than they take. */
static void equal_rows_stand_where_the_first_of_them_does(void **state)
{
    struct rn_query_limits little = { .memory_bytes = 1 << 20,
                                      .ahead_bytes = 10000 };
    struct outcome o;

    (void)state;
    gives("SELECT DISTINCT VALUE c.m FROM c ORDER BY c.n DESC", 6000, 0,
          "2 1 0 ");
    gives("SELECT DISTINCT TOP 2 VALUE c.m FROM c ORDER BY c.n DESC", 6000, 0,
          "2 1 ");
    run(RN_LIT("SELECT DISTINCT VALUE c.n % 500 FROM c ORDER BY c.n DESC"),
        3000, 100, little, &o);
    assert_int_equal(o.rc, RN_OK);
    assert_int_equal(o.page.rows, 500);
    assert_memory_equal(o.page.text.at, "499 498 497 ", 12);
    rn_buf_release(&o.page.text);
}

/* Clients take a page that has a successor for one that is not the last; their
 * own tests fail if nothing comes after it. */
static void a_full_page_that_is_the_last_says_so(void **state)
{
    static const struct {
        const char *text;
        uint32_t documents, most, runs;
    } cases[] = {
        { "SELECT VALUE c.n FROM c", 4, 2, 2 },
        { "SELECT VALUE c.n FROM c", 5, 2, 3 },
        { "SELECT VALUE c.n FROM c WHERE c.n < 2", 5, 2, 1 },
        { "SELECT VALUE t FROM c JOIN t IN c.tags", 2, 2, 2 },
        { "SELECT VALUE c.n FROM c OFFSET 1 LIMIT 2", 5, 2, 1 },
        { "SELECT VALUE c.n FROM c ORDER BY c.n", 4, 2, 2 },
        { "SELECT DISTINCT VALUE c.m FROM c", 9, 3, 1 },
        { "SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m", 9, 3, 1 },
        { "SELECT VALUE COUNT(1) FROM c", 9, 1, 1 },
        { "SELECT VALUE 1", 0, 1, 1 },
        /* The next row is far: a page does not wait for it. */
        { "SELECT VALUE c.n FROM c WHERE c.n = 0", 60, 1, 1 },
        { "SELECT VALUE c.n FROM c WHERE c.n = 0", 5000, 1, 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_query_limits limits = { 0 };
        struct outcome o;

        run(rn_view_text(cases[i].text), cases[i].documents, cases[i].most,
            limits, &o);
        assert_int_equal(o.rc, RN_OK);
        if (o.runs != cases[i].runs)
            print_message("# %s: %u pages\n", cases[i].text, o.runs);
        assert_int_equal(o.runs, cases[i].runs);
        rn_buf_release(&o.page.text);
    }
}

/* Text that clients make by themselves; see the SDKs' readMany and leases. */
static void texts_that_clients_make_run(void **state)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        { "SELECT VALUE root FROM root WHERE (root[\"n\"] = 9)", "" },
        { "SELECT VALUE c.id FROM c WHERE c.id IN ( \"1\", \"2\" )",
          "\"1\" \"2\" " },
        { "SELECT VALUE c.id FROM c WHERE ( c.id = \"1\" AND c[\"m\"] = 1 ) "
          "OR ( c.id = \"2\" AND c[\"m\"] = 0 )",
          "\"1\" " },
        { "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, \"2\")", "\"2\" " },
        { "SELECT COUNT(1) AS c FROM root c", "{\"c\":3} " },
        { "Select VALUE r.n from root r", "0 1 2 " },
        { "SELECT VALUE c.n FROM c WHERE ( c.n > 1 OR IS_STRING(c.n) OR "
          "IS_ARRAY(c.n) OR IS_OBJECT(c.n) )",
          "2 " },
        { "SELECT VALUE c.n FROM c WHERE NOT IS_DEFINED(c.x) AND "
          "(c.n <= 0 OR IS_BOOLEAN(c.n) OR c.n > null)",
          "0 " },
        { "SELECT VALUE [{\"item\": MIN(c.x), \"item2\": {\"min\": "
          "MIN(c.x), \"count\": COUNT(c.x)}}] FROM c",
          "[{\"item2\":{\"count\":0}}] " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        gives(cases[i].text, 3, 0, cases[i].rows);
}

static void sorting_the_first_few_of_many_keeps_them(void **state)
{
    (void)state;
    gives("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC", 5000, 0,
          "4999 4998 4997 ");
    gives("SELECT VALUE c.n FROM c ORDER BY c.m OFFSET 2 LIMIT 2", 5000, 0,
          "6 9 ");
}

static void numbers_keep_their_digits(void **state)
{
    (void)state;
    gives("SELECT VALUE 9007199254740993 = 9007199254740992.0", 0, 0, "false ");
    gives("SELECT VALUE 9223372036854775807", 0, 0, "9223372036854775807 ");
    gives("SELECT VALUE ABS(-9007199254740993)", 0, 0, "9007199254740993 ");
    gives("SELECT VALUE IS_INTEGER(9.2233720368547758e+18)", 0, 0, "false ");
    gives("SELECT VALUE {\"a\": -2147483649 | 0, \"b\": -1 >>> 0}", 0, 0,
          "{\"a\":2147483647,\"b\":4294967295} ");
}

/* U+FFFD comes after U+1F600 in UTF-16, before it in UTF-8. */
static void strings_compare_by_utf16(void **state)
{
    (void)state;
    gives("SELECT VALUE '\\uD83D\\uDE00' < '\\uFFFD'", 0, 0, "true ");
    gives("SELECT VALUE LENGTH('\\uD83D\\uDE00')", 0, 0, "2 ");
    gives("SELECT VALUE UPPER('\xC3\xA9\xD1\x8F')", 0, 0,
          "\"\xC3\x89\xD0\xAF\" ");
}

/* ---- faults -------------------------------------------------------------- */

static void a_fault_says_where(void **state)
{
    static const struct {
        const char *text, *code;
        uint32_t start, end;
    } cases[] = {
        { "SELECT 1,", "SC1002", 9, 9 },
        { "SELECT * FROM c WHERE c.a === 1", "SC1001", 27, 28 },
        { "SELECT '\xC3\xA9' FRUM c x", "SC1001", 16, 17 },
        { "SELECT VALUE 'a", "SC1012", 13, 15 },
        { "SELECT VALUE 'a\\q'", "SC1012", 13, 18 },
        { "SELECT 1;", "SC1010", 8, 9 },
        { "SELECT VALUE 'a\xFF'", "SC1012", 15, 16 },
        { "SELECT * FROM c WHERE x = 1", "SC2001", 22, 23 },
        { "SELECT VALUE BADFUNC(1)", "SC2005", 13, 20 },
        { "SELECT VALUE STARTSWITH('a')", "SC2050", 13, 28 },
        { "SELECT c.a, c.b AS a FROM c", "SC2022", 19, 20 },
        { "SELECT VALUE {\"a\": 1, \"a\": 2}", "SC2022", 27, 28 },
        { "SELECT c.a, COUNT(1) AS n FROM c", "SC2102", 7, 10 },
        { "SELECT * FROM c JOIN t IN c.tags", "SC2040", 7, 8 },
        { "SELECT VALUE MAX(MIN(r)) FROM r", "SC2101", 13, 24 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_query_limits limits = { 0 };
        struct outcome o;
        run(rn_view_text(cases[i].text), 0, 0, limits, &o);
        print_message("# %s\n", cases[i].text);
        assert_int_equal(o.rc, RN_BAD_REQUEST);
        assert_string_equal(o.faults.list[0].code, cases[i].code);
        assert_int_equal(o.faults.list[0].start, cases[i].start);
        assert_int_equal(o.faults.list[0].end, cases[i].end);
        rn_buf_release(&o.page.text);
    }
}

/* A text made of `n` times `part` between `head` and `tail`. */
static struct rn_buf repeat(const char *head, const char *part, uint32_t n,
                            const char *tail)
{
    struct rn_buf b = RN_BUF_INIT(4 << 20);

    assert_int_equal(rn_buf_add(&b, rn_view_text(head)), RN_OK);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(rn_buf_add(&b, rn_view_text(part)), RN_OK);
    assert_int_equal(rn_buf_add(&b, rn_view_text(tail)), RN_OK);
    return b;
}

static void no_text_exhausts_the_stack(void **state)
{
    static const struct {
        const char *head, *part, *tail;
        uint32_t most, least; /* times that pass, times that are refused */
    } cases[] = {
        { "SELECT VALUE ", "(", "1", 0, 100000 },
        { "SELECT VALUE ", "-", "c", 0, 100000 },
        { "SELECT VALUE ", "NOT ", "true", 200, 100000 },
        { "SELECT VALUE ", "[", "1", 0, 100000 },
        { "SELECT VALUE 1", " + 1", "", 200, 100000 },
        { "SELECT VALUE ", "1 ? 1 : ", "2", 100, 50000 },
        { "SELECT VALUE c", ".a", " FROM c", 200, 100000 },
        { "SELECT * FROM ", "(SELECT * FROM ", "c", 0, 20000 },
        { "SELECT VALUE ", "EXISTS(SELECT VALUE ", "1", 0, 20000 },
        { "SELECT VALUE 1 FROM c", " JOIN c", "", 0, 20000 },
        { "SELECT VALUE true", " OR false", "", 40000, 100000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_query_limits limits = { 0 };
        struct outcome o;
        for (int pass = 0; pass < 2; pass++) {
            uint32_t n = pass ? cases[i].least : cases[i].most;
            struct rn_buf b =
                repeat(cases[i].head, cases[i].part, n, cases[i].tail);
            run(rn_buf_view(&b), 1, 0, limits, &o);
            print_message("# %s x %u: %s\n", cases[i].part, n, o.err.text);
            if (!pass && n)
                assert_int_equal(o.rc, RN_OK);
            else if (pass)
                assert_int_equal(o.rc, RN_BAD_REQUEST);
            rn_buf_release(&o.page.text);
            rn_buf_release(&b);
        }
    }
}

static void a_run_ends_at_its_limits(void **state)
{
    static const struct {
        const char *text;
        struct rn_query_limits limits;
        enum rn_code rc;
    } cases[] = {
        { "SELECT VALUE c.n FROM c", { .steps = 100 }, RN_TIMEOUT },
        { "SELECT VALUE COUNT(1) FROM c JOIN a IN c.tags JOIN b IN c.tags "
          "JOIN d IN c.tags",
          { .steps = 5000 },
          RN_TIMEOUT },
        { "SELECT DISTINCT VALUE c.n FROM c",
          { .memory_bytes = 20000 },
          RN_TOO_LARGE },
        { "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
          { .memory_bytes = 50000 },
          RN_TOO_LARGE },
        { "SELECT VALUE MAKELIST(c) FROM c",
          { .memory_bytes = 50000 },
          RN_TOO_LARGE },
        { "SELECT VALUE (SELECT VALUE t FROM t IN c.tags) FROM c",
          { 0 },
          RN_BAD_REQUEST },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o;
        run(rn_view_text(cases[i].text), 1000, 0, cases[i].limits, &o);
        print_message("# %s: %s\n", cases[i].text, o.err.text);
        assert_int_equal(o.rc, cases[i].rc);
        assert_int_equal(o.err.code, cases[i].rc);
        assert_true(o.err.text[0] != '\0');
        rn_buf_release(&o.page.text);
    }
}

/* 3,000 rows of about 100 bytes through less memory than they take. */
static void an_ordered_answer_needs_little_memory(void **state)
{
    static const char *const texts[] = {
        "SELECT c.n, c FROM c ORDER BY c.n",
        "SELECT c.n, c FROM c ORDER BY c.m DESC",
        "SELECT DISTINCT c.m, c.n, c FROM c ORDER BY c.m",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rn_query_limits little = { .memory_bytes = 2 << 20,
                                          .ahead_bytes = 20000 };
        struct rn_query_limits much = { 0 };
        struct outcome a, b;
        run(rn_view_text(texts[i]), 3000, 0, little, &a);
        run(rn_view_text(texts[i]), 3000, 0, much, &b);
        assert_int_equal(a.rc, RN_OK);
        assert_int_equal(b.rc, RN_OK);
        assert_int_equal(b.page.rows, 3000);
        assert_int_equal(a.page.text.len, b.page.text.len);
        assert_memory_equal(a.page.text.at, b.page.text.at, b.page.text.len);
        assert_true(a.stats.rows < 3000); /* in the last of several runs */
        rn_buf_release(&a.page.text);
        rn_buf_release(&b.page.text);
    }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void a_late_page_ends_and_goes_on(void **state)
{
    struct rn_query_limits limits = { .is_late = always };
    struct rn_query_limits none = { 0 };
    struct outcome a, b;
    struct rn_view text = RN_LIT("SELECT VALUE c.n FROM c WHERE c.n % 3 = 1");

    (void)state;
    run(text, 60000, 0, limits, &a);
    run(text, 60000, 0, none, &b);
    assert_int_equal(a.rc, RN_OK);
    assert_int_equal(b.page.rows, 20000);
    assert_true(a.stats.rows < b.page.rows); /* of the last page */
    assert_int_equal(a.page.text.len, b.page.text.len);
    assert_memory_equal(a.page.text.at, b.page.text.at, b.page.text.len);
    rn_buf_release(&a.page.text);
    rn_buf_release(&b.page.text);
}

static void a_hostile_pattern_is_given_up(void **state)
{
    (void)state;
    gives("SELECT VALUE RegexMatch('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab', "
          "'^(a+)+$')",
          0, 0, "");
    gives("SELECT VALUE RegexMatch('abc', '(')", 0, 0, "");
    gives("SELECT VALUE RegexMatch('xABC', 'abc', 'i')", 0, 0, "true ");
    /* more patterns than are kept, each met again */
    gives("SELECT VALUE RegexMatch(c.id, CONCAT('^', ToString(c.n % 12), '$')) "
          "FROM c WHERE c.n = 3 OR c.n = 14 OR c.n = 26 OR c.n = 11",
          30, 0, "true true false false ");
    gives("SELECT VALUE COUNT(1) FROM c WHERE RegexMatch(c.id, "
          "CONCAT('^', ToString(c.n % 20), '$'))",
          40, 0, "20 ");
    /* the same letters with other options */
    gives("SELECT VALUE [RegexMatch('A', 'a'), RegexMatch('A', 'a', 'i'), "
          "RegexMatch('A', 'a')]",
          0, 0, "[false,true,false] ");
}

static void a_run_that_takes_too_long_fails(void **state)
{
    struct rn_query_limits limits = { .is_over = always };
    struct outcome o;

    (void)state;
    run(RN_LIT("SELECT VALUE COUNT(c.n) FROM c"), 60000, 0, limits, &o);
    assert_int_equal(o.rc, RN_TIMEOUT);
    rn_buf_release(&o.page.text);
    /* LIKE reports its work, and so does one row's. */
    run(RN_LIT("SELECT VALUE REPLICATE('a', 9000) LIKE "
               "CONCAT('%_', REPLICATE('a', 900), 'b%')"),
        0, 0, limits, &o);
    assert_int_equal(o.rc, RN_TIMEOUT);
    rn_buf_release(&o.page.text);
    /* So does a function of a long text. */
    run(RN_LIT("SELECT VALUE COUNT(LENGTH(REPLICATE('a', 9000))) FROM c"), 1000,
        0, limits, &o);
    assert_int_equal(o.rc, RN_TIMEOUT);
    rn_buf_release(&o.page.text);
}

static void patterns_do_not_keep_a_page_from_its_end(void **state)
{
    struct rn_query_limits late = { .is_late = always };
    struct rn_query_limits few = { .steps = 2000000 };
    struct outcome o;

    (void)state;
    run(RN_LIT("SELECT VALUE c.n FROM c WHERE RegexMatch(c.id, '^.')"), 200, 0,
        late, &o);
    assert_int_equal(o.rc, RN_OK);
    assert_int_equal(o.page.rows, 200);
    assert_true(o.stats.documents < 100); /* of the last page */
    rn_buf_release(&o.page.text);
    /* Those that are given up have cost more than others. */
    run(RN_LIT("SELECT VALUE COUNT(1) FROM c WHERE RegexMatch("
               "CONCAT(c.id, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'), '(a+)+$')"),
        10, 0, few, &o);
    assert_int_equal(o.rc, RN_TIMEOUT);
    rn_buf_release(&o.page.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_any_size_add_up),
        cmocka_unit_test(a_value_comes_once_though_its_document_went),
        cmocka_unit_test(long_keys_are_resumed_behind_their_row),
        cmocka_unit_test(a_place_that_memory_does_not_hold_is_an_error),
        cmocka_unit_test(equal_rows_stand_where_the_first_of_them_does),
        cmocka_unit_test(a_full_page_that_is_the_last_says_so),
        cmocka_unit_test(texts_that_clients_make_run),
        cmocka_unit_test(sorting_the_first_few_of_many_keeps_them),
        cmocka_unit_test(numbers_keep_their_digits),
        cmocka_unit_test(strings_compare_by_utf16),
        cmocka_unit_test(a_fault_says_where),
        cmocka_unit_test(no_text_exhausts_the_stack),
        cmocka_unit_test(a_run_ends_at_its_limits),
        cmocka_unit_test(an_ordered_answer_needs_little_memory),
        cmocka_unit_test(a_late_page_ends_and_goes_on),
        cmocka_unit_test(a_hostile_pattern_is_given_up),
        cmocka_unit_test(a_run_that_takes_too_long_fails),
        cmocka_unit_test(patterns_do_not_keep_a_page_from_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
