/* access_index_scan_test.c -- an index changes no answer of a query.
 *
 * An engine over `mem` in the simulation, documents of all kinds of values, the
 * edges of sort keys among them, and indexes of one path and of two.  Queries
 * are put together at random and run twice, page by page: once along the way
 * that the server would choose, once as if there were no index.  Rows must be
 * the same in the same order.  Between queries documents change, so that what
 * is compared is also how writers keep the indexes.
 *
 * With RUNNEL_PROVE there are 20 times as many queries.
 */
#include "lib/indexes.h"

#include "access/access_path.h"
#include "base/prng.h"
#include "engine/document/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEYS = 5, IDS = 24, TEXT = 4000 };

static struct rn_arena arena;
static size_t ways[RN_ACCESS_EXTREMES + 1], given_up, within;
static size_t ids = IDS; /* of each key */

static int setup(void **state)
{
    (void)state;
    arena = RN_ARENA_INIT(64 << 20);
    ids = IDS;
    return indexes_open(CONTAINER(
        ",\"defaultTtl\":-1,\"indexingPolicy\":{\"compositeIndexes\":[["
        "{\"path\":\"/a\"},{\"path\":\"/b\",\"order\":\"descending\"}],["
        "{\"path\":\"/b\"},{\"path\":\"/a\"}]]}"));
}

static int teardown(void **state)
{
    rn_arena_release(&arena);
    return indexes_close(state);
}

static void make_index(const char *paths)
{
    assert_int_equal(change_index(paths, false), RN_OK);
    indexes_settle();
}

/* ---- running ------------------------------------------------------------- */

struct rows {
    char *text; /* lines */
    size_t len, room, count;
};

struct run {
    struct rn_access access;
    struct rn_snapshot reading;
    struct rn_query_place end;
    char after[RN_QUERY_AFTER_MAX], place[RN_PLACE_MAX];
    size_t place_len, page, page_max;
    struct rn_view first;
    enum rn_code first_rc;
    bool has_first;
    struct rows *rows;
};

static enum rn_code next(void *context, struct rn_view *document,
                         struct rn_err *err)
{
    struct run *r = context;
    enum rn_code rc = r->first_rc;

    (void)err;
    *document = r->first;
    if (!r->has_first)
        rc = rn_access_next(&r->access, document);
    r->has_first = false;
    if (!rc) {
        r->place_len = r->access.at.len;
        memcpy(r->place, r->access.at.at, r->place_len);
    }
    return rc;
}

static enum rn_code take(void *context, struct rn_view json,
                         const struct rn_query_place *place, bool *is_full,
                         struct rn_err *err)
{
    struct run *r = context;
    struct rows *to = r->rows;

    (void)err;
    if (to->len + json.len + 2 > to->room) {
        to->room = 2 * (to->len + json.len + 1000);
        to->text = realloc(to->text, to->room);
        assert_non_null(to->text);
    }
    memcpy(to->text + to->len, json.at, json.len);
    to->len += json.len;
    to->text[to->len++] = '\n';
    to->text[to->len] = '\0';
    to->count++;
    r->end = *place;
    if (place->after.len)
        memcpy(r->after, place->after.at, place->after.len);
    r->end.after = rn_view_of(r->after, place->after.len);
    *is_full = ++r->page >= r->page_max;
    return RN_OK;
}

/* As queries.c does it. */
static bool run_page(const struct rn_query *q, struct rn_access_ask *ask,
                     struct run *r, struct rn_query_stats *stats)
{
    struct rn_query_limits limits = { .from = r->end };
    struct rn_source source = { r, next };
    struct rn_sink sink = { r, take };
    size_t len = r->rows->len, count = r->rows->count;
    bool is_streaming = rn_query_is_streaming(q);

    r->page = 0;
    ask->matched = &stats->matched;
    ask->after = r->end.after;
    if (is_streaming && r->place_len) {
        ask->scope.after = rn_view_of(r->place, r->place_len);
        ask->scope.from_there = true;
    }
    assert_int_equal(rn_snapshot_begin(&r->reading, db.engine,
                                       one_container->container, NULL),
                     RN_OK);
    assert_int_equal(rn_access_open(&r->access, &r->reading, ask, &arena),
                     RN_OK);
    if (limits.from.document_rows) {
        r->first_rc = rn_access_next(&r->access, &r->first);
        r->has_first = true;
        if (!r->first_rc && !rn_view_eq(r->access.at, ask->scope.after))
            limits.from.document_rows = 0;
    }
    if (r->access.kind == RN_ACCESS_ORDER)
        limits.group = &r->access.group;
    if (!ask->no_index)
        ways[r->access.kind]++;
    within += r->access.kind == RN_ACCESS_EXTREMES &&
              r->access.extremes.prefix.len > 0;
    assert_int_equal(rn_query_run(q, &source, &sink, &limits, stats, NULL),
                     RN_OK);
    rn_access_close(&r->access);
    rn_snapshot_end(&r->reading);
    if (r->access.has_given_up) {
        given_up++;
        r->rows->len = len;
        r->rows->count = count;
        r->end = limits.from;
        ask->no_order = true;
        return run_page(q, ask, r, stats);
    }
    if (is_streaming)
        r->end = stats->place;
    return stats->is_done;
}

static void run_pages(const struct rn_query *q,
                      const struct rn_documents_scan *scope, bool no_index,
                      size_t page, struct rows *out)
{
    struct rn_access_ask ask = { .scope = *scope,
                                 .query = q,
                                 .no_index = no_index };
    struct run r = { .page_max = page, .rows = out };
    struct rn_query_stats stats;

    out->len = out->count = 0;
    for (int i = 0; !run_page(q, &ask, &r, &stats); i++)
        assert_true(i < 10000);
}

static struct rn_query *parse(const char *text, struct rn_err *err)
{
    struct rn_query_input in = { .text = rn_view_text(text) };
    struct rn_query *q = NULL;
    struct rn_faults faults;

    return rn_query_parse(&in, &arena, &q, &faults, err) ? NULL : q;
}

static struct rows with, without;

static void compare(const char *text, const struct rn_documents_scan *scope,
                    size_t page)
{
    struct rn_err err = { 0 };
    struct rn_query *q = parse(text, &err);

    if (!q)
        fail_msg("%s: %s", text, err.text);
    run_pages(q, scope, false, page, &with);
    run_pages(q, scope, true, page, &without);
    if (with.len != without.len ||
        (with.len && memcmp(with.text, without.text, with.len) != 0)) {
        print_message("%s, pages of %zu\nwith:\n%.2000s\nwithout:\n%.2000s\n",
                      text, page, with.len ? with.text : "",
                      without.len ? without.text : "");
        fail();
    }
}

/* ---- documents ----------------------------------------------------------- */

static struct rn_prng prng;

static size_t below(size_t n)
{
    return (size_t)rn_prng_below(&prng, n);
}

static const char *one_of(const char *const *list, size_t n)
{
    return list[below(n)];
}
#define ONE(list) one_of(list, sizeof(list) / sizeof((list)[0]))

/* Long enough to be cut, and the same up to there. */
static const char *long_text(void)
{
    static char text[8][400];
    static size_t next_text;
    char *to = text[next_text++ % 8];

    snprintf(to, sizeof(text[0]), "\"%0280d%c\"", 7, "abc"[below(3)]);
    return to;
}

static const char *value(void)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "-0.0",
        "1",
        "1.0",
        "2",
        "2.5",
        "-1",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "1e300",
        "-1e-300",
        "\"\"",
        "\"a\"",
        "\"ab\"",
        "\"abc\"",
        "\"b\"",
        "\"a\\u0000b\"",
        "\"\xc3\xa4\"",
        "\"\xee\x80\x80\"",
        "\"\xf0\x9f\x98\x80\"",
        "\"quo'te\"",
        "[]",
        "[1]",
        "[1,2]",
        "{}",
        "{\"z\":1}",
        "1",
        "2",
        "3",
        "\"a\"",
        "\"b\"",
    };

    return below(12) == 0 ? long_text() : ONE(values);
}

static void write_something(void)
{
    char body[2400], id[12], pk[12];
    size_t len;
    int key = (int)below(KEYS);

    snprintf(id, sizeof(id), "%d", (int)below(ids));
    snprintf(pk, sizeof(pk), "[%d]", key);
    if (below(6) == 0) {
        (void)one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL);
        return;
    }
    len = (size_t)snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d", id,
                           key);
    if (below(8))
        len += (size_t)snprintf(body + len, sizeof(body) - len, ",\"a\":%s",
                                value());
    if (below(8))
        len += (size_t)snprintf(body + len, sizeof(body) - len, ",\"b\":%s",
                                ids > IDS && below(2) ? "1" : value());
    if (below(3))
        len += (size_t)snprintf(body + len, sizeof(body) - len,
                                ",\"x\":{\"y\":%s}", value());
    if (below(3))
        len += (size_t)snprintf(body + len, sizeof(body) - len,
                                ",\"tags\":[%s,%s]", value(), value());
    if (below(15) == 0)
        len += (size_t)snprintf(body + len, sizeof(body) - len, ",\"ttl\":%d",
                                (int)(1 + below(100)));
    snprintf(body + len, sizeof(body) - len, "}");
    one_container_put(body);
}

/* ---- queries ------------------------------------------------------------- */

static const char *const paths[] = { "c.a",   "c.a",      "c.b",
                                     "c.x.y", "c[\"a\"]", "c.none" };

static void predicate(char *out, size_t room, int depth)
{
    static const char *const operators[] = { "=",  "=", "!=", "<",
                                             "<=", ">", ">=" };
    static const char *const kinds[] = {
        "IS_DEFINED", "IS_NULL",   "IS_BOOL",      "IS_NUMBER",  "IS_STRING",
        "IS_ARRAY",   "IS_OBJECT", "IS_PRIMITIVE", "IS_INTEGER",
    };
    static const char *const starts[] = {
        "\"\"", "\"a\"", "\"ab\"", "\"A\"", "\"\xee\x80\x80\"", "3"
    };
    static const char *const likes[] = { "\"a%\"",    "\"a_\"", "\"ab\"",
                                         "\"[a]b%\"", "\"%\"",  "\"\"" };
    const char *path = ONE(paths);
    char left[TEXT / 2], right[TEXT / 2];

    switch (below(depth > 0 ? 17 : 13)) {
    case 0:
    case 1:
    case 2:
    case 3:
        snprintf(out, room, "%s %s %s", path, ONE(operators), value());
        break;
    case 4:
        snprintf(out, room, "%s %s %s", value(), ONE(operators), path);
        break;
    case 5:
        snprintf(out, room, "%s %sBETWEEN %s AND %s", path,
                 below(4) ? "" : "NOT ", value(), value());
        break;
    case 6:
        snprintf(out, room, "%s %sIN (%s, %s, %s)", path,
                 below(4) ? "" : "NOT ", value(), value(), value());
        break;
    case 7:
        snprintf(out, room, "STARTSWITH(%s, %s%s)", path, ONE(starts),
                 below(3) ? "" : (below(2) ? ", true" : ", false"));
        break;
    case 8:
        snprintf(out, room, "%s %sLIKE %s", path, below(4) ? "" : "NOT ",
                 ONE(likes));
        break;
    case 9:
        snprintf(out, room, "%s(%s)", ONE(kinds), path);
        break;
    case 10:
        snprintf(out, room, "ARRAY_CONTAINS([%s, %s], %s)", value(), value(),
                 path);
        break;
    case 11:
        snprintf(out, room, "%s", path);
        break;
    case 12:
        snprintf(out, room, "%s = %s", path, ONE(paths));
        break;
    case 13:
        predicate(left, sizeof(left), depth - 1);
        snprintf(out, room, "NOT (%s)", left);
        break;
    default:
        predicate(left, sizeof(left), depth - 1);
        predicate(right, sizeof(right), depth - 1);
        snprintf(out, room, "(%s %s %s)", left, below(3) ? "AND" : "OR", right);
        break;
    }
}

static void write_query(char *out, size_t room)
{
    static const char *const heads[] = {
        "SELECT * FROM c",
        "SELECT VALUE c.id FROM c",
        "SELECT VALUE c.id FROM c",
        "SELECT c.id, c.a FROM c",
        "SELECT TOP 3 VALUE c.id FROM c",
        "SELECT DISTINCT VALUE c.a FROM c",
        "SELECT c.id, t FROM c JOIN t IN c.tags",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE MIN(c.a) FROM c",
        "SELECT VALUE MAX(c.a) FROM c",
        "SELECT MIN(c.b) AS low, MAX(c.b) AS high FROM c",
        "SELECT VALUE MIN(c.b) FROM c",
        "SELECT VALUE MAX(c.b) FROM c",
        "SELECT VALUE [MAX(c.x.y), MIN(c.x.y)] FROM c",
        "SELECT VALUE SUM(c.x.y % 100) FROM c", /* no rounding */
        "SELECT c.a, COUNT(1) AS n FROM c",
        "SELECT VALUE y FROM y IN c.tags",
    };
    static const char *const orders[] = {
        " ORDER BY c.a",           " ORDER BY c.a DESC",
        " ORDER BY c.b",           " ORDER BY c.b DESC",
        " ORDER BY c.x.y",         " ORDER BY c.a, c.b DESC",
        " ORDER BY c.a DESC, c.b", " ORDER BY c.a, c.b",
        " ORDER BY c._ts",
    };
    size_t head = below(sizeof(heads) / sizeof(heads[0]));
    size_t len = (size_t)snprintf(out, room, "%s", heads[head]);
    char where[TEXT];

    if (head != 16 && below(4)) {
        predicate(where, sizeof(where), 3);
        len += (size_t)snprintf(out + len, room - len, " WHERE %s", where);
    }
    if (head == 15)
        len += (size_t)snprintf(out + len, room - len, " GROUP BY c.a");
    if (head < 7 && head != 5 && below(3))
        len += (size_t)snprintf(out + len, room - len, "%s", ONE(orders));
    if (head < 4 && below(6) == 0)
        snprintf(out + len, room - len, " OFFSET %zu LIMIT %zu", below(5),
                 below(12));
}

static void draw_scope(struct rn_documents_scan *scan, struct rn_pk *pk)
{
    *scan = (struct rn_documents_scan){ .epks = rn_epk_all };
    *pk = (struct rn_pk){ .count = 1 };
    pk->values[0] = (struct rn_pk_value){ .type = RN_PK_NUMBER,
                                          .number = (double)below(KEYS) };
    switch (below(5)) {
    case 0:
        scan->pk = pk;
        rn_epk_range_of(&one_container->container->pkdef, pk, &scan->epks);
        break;
    case 1:
        assert_true(
            rn_epk_middle(&one_container->container->pkdef, &rn_epk_all,
                          below(2) ? &scan->epks.min : &scan->epks.max));
        break;
    default:
        break;
    }
}

static uint64_t wanted(void)
{
    return 5000 * (getenv("RUNNEL_PROVE") ? 20 : 1);
}

static void generated_queries_have_one_answer(void **state)
{
    uint64_t count = wanted(), i;
    clock_t begun = clock();

    (void)state;
    rn_prng_init(&prng, 5);
    for (int k = 0; k < 150; k++)
        write_something();
    make_index("/a");
    make_index("/b");
    make_index("/x/y");
    make_index("/a -/b");
    make_index("/_ts");
    for (i = 0; i < count; i++) {
        struct rn_documents_scan scan;
        char text[2 * TEXT];
        struct rn_pk pk;

        write_query(text, sizeof(text));
        draw_scope(&scan, &pk);
        compare(text, &scan, below(4) ? 1 + below(12) : 10000);
        rn_arena_clear(&arena);
        if (i % 4 == 0)
            write_something();
        if (i % 97 == 0)
            turn_clock(3);
    }
    print_message(
        "%llu queries in %.1f s of CPU; pages by scan %zu, keys %zu, "
        "index %zu, order %zu, extremes %zu\n",
        (unsigned long long)count, (double)(clock() - begun) / CLOCKS_PER_SEC,
        ways[RN_ACCESS_SCAN], ways[RN_ACCESS_KEYS], ways[RN_ACCESS_INDEX],
        ways[RN_ACCESS_ORDER], ways[RN_ACCESS_EXTREMES]);
    assert_true(ways[RN_ACCESS_INDEX] > count / 4);
    assert_true(ways[RN_ACCESS_ORDER] > count / 4);
    assert_true(ways[RN_ACCESS_EXTREMES] > count / 200);
    free(with.text);
    free(without.text);
    with = without = (struct rows){ 0 };
}

/* More documents than are gathered rather than looked at from the ends. */
static void generated_extremes_have_one_answer(void **state)
{
    static const char *const heads[] = {
        "SELECT VALUE MIN(c.a) FROM c",
        "SELECT VALUE MAX(c.a) FROM c",
        "SELECT MIN(c.a) AS low, MAX(c.a) AS high FROM c",
        "SELECT VALUE [MAX(c.x.y), MIN(c.x.y)] FROM c",
    };
    size_t before[] = { ways[RN_ACCESS_EXTREMES], given_up };

    (void)state;
    rn_prng_init(&prng, 6);
    ids = 400;
    for (int k = 0; k < 2500; k++)
        write_something();
    make_index("/a");
    make_index("/x/y");
    make_index("/b /a");
    for (uint64_t i = 0; i < wanted() / 8; i++) {
        struct rn_documents_scan scan = { .epks = rn_epk_all };
        char text[2 * TEXT], where[TEXT], kind[64] = "";

        predicate(where, sizeof(where), 2);
        if (below(2))
            snprintf(kind, sizeof(kind), "%s AND ",
                     below(2) ? "c.b = 1" : "c.a >= 1");
        snprintf(text, sizeof(text), "%s WHERE %s%s", ONE(heads), kind, where);
        compare(text, &scan, 10);
        rn_arena_clear(&arena);
        write_something();
    }
    print_message("extremes %zu, within a prefix %zu, given up %zu\n",
                  ways[RN_ACCESS_EXTREMES] - before[0], within,
                  given_up - before[1]);
    assert_true(ways[RN_ACCESS_EXTREMES] > before[0] + wanted() / 30);
    assert_true(within > wanted() / 200);
    free(with.text);
    free(without.text);
    with = without = (struct rows){ 0 };
}

/* ---- while documents change ---------------------------------------------- */

static void create(int n, const char *more)
{
    char body[300];

    snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d,\"n\":%d%s}", n,
             n % KEYS, n, more);
    one_container_put(body);
}

static void del(int n)
{
    char id[12], pk[12];

    snprintf(id, sizeof(id), "%d", n);
    snprintf(pk, sizeof(pk), "[%d]", n % KEYS);
    (void)one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL);
}

/* Ids that are 0 modulo 3 stay as they are, 1 change in ways that no answer
 * shows, 2 come and go and stop being wanted. */
static void disturb(void)
{
    for (int i = 0; i < 12; i++) {
        int n = (int)below(300);

        if (n % 3 == 1)
            create(n, below(2) ? ",\"a\":1,\"z\":1" : ",\"a\":1");
        else if (n % 3 == 2 && below(2))
            create(n, below(2) ? ",\"a\":1" : ",\"a\":2");
        else if (n % 3 == 2)
            del(n);
    }
}

static void assert_each_once(const char *query, size_t page,
                             enum rn_access_kind kind)
{
    struct rn_documents_scan scan = { .epks = rn_epk_all };
    struct rn_query *q = parse(query, NULL);
    struct rn_access_ask ask = { .scope = scan, .query = q };
    struct run r = { .page_max = page, .rows = &with };
    struct rn_query_stats stats;
    int seen[300] = { 0 };
    size_t before = ways[kind];
    int pages = 0;

    assert_non_null(q);
    for (int i = 0; i < 300; i++)
        create(i, ",\"a\":1");
    with.len = with.count = 0;
    while (!run_page(q, &ask, &r, &stats)) {
        disturb();
        pages++;
    }
    assert_true(pages > 10);
    /* Where few are left, they are gathered: a page may go another way. */
    assert_true(ways[kind] > before);
    for (char *at = with.text; at < with.text + with.len;
         at = strchr(at, '\n') + 1)
        seen[strtol(at, NULL, 10)]++;
    for (int i = 0; i < 300; i++) {
        if (i % 3 != 2)
            assert_int_equal(seen[i], 1);
        else
            assert_true(seen[i] <= 1);
    }
    rn_arena_clear(&arena);
}

static void a_document_that_stays_is_there_once(void **state)
{
    (void)state;
    rn_prng_init(&prng, 9);
    make_index("/a");
    make_index("/n");
    for (int i = 300; i < 2000; i++)
        create(i, "");
    for (int i = 0; i < 4; i++) {
        assert_each_once("SELECT VALUE c.n FROM c WHERE c.a = 1", 7,
                         RN_ACCESS_INDEX);
        assert_each_once("SELECT VALUE c.n FROM c WHERE c.n < 300 ORDER BY c.n",
                         5, RN_ACCESS_ORDER);
        assert_each_once(
            "SELECT VALUE c.n FROM c WHERE c.n < 300 ORDER BY c.n DESC", 9,
            RN_ACCESS_ORDER);
    }
    free(with.text);
    with = (struct rows){ 0 };
}

static void an_order_along_which_nothing_is_wanted_is_given_up(void **state)
{
    static const char *const queries[] = {
        "SELECT VALUE c.id FROM c WHERE c.id = \"1900\" ORDER BY c.n",
        "SELECT TOP 2 VALUE c.id FROM c WHERE c.n % 999 = 998 ORDER BY c.n",
        "SELECT VALUE c.id FROM c WHERE c.zz = 5 ORDER BY c.n DESC",
        "SELECT VALUE MIN(c.n) FROM c WHERE c.zz = 5",
    };
    struct rn_documents_scan scan = { .epks = rn_epk_all };

    (void)state;
    for (int i = 0; i < 2500; i++)
        create(i, i == 1700 ? ",\"zz\":5" : "");
    make_index("/n");
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        size_t before = given_up;

        compare(queries[i], &scan, 100);
        assert_true(with.count >= 1);
        assert_int_equal(given_up, before + 1);
    }
    free(with.text);
    free(without.text);
    with = without = (struct rows){ 0 };
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(generated_queries_have_one_answer,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(generated_extremes_have_one_answer,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_document_that_stays_is_there_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_order_along_which_nothing_is_wanted_is_given_up, setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
