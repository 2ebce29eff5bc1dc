/* query_policy_test.c -- what a container's definition does to its queries.
 *
 * Method: a definition and a few documents as JSON; tables of queries with the
 * rows they give, or the words they are refused with.
 */
#include "query/check/check_computed.h"
#include "query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char definition[] =
    "{\"id\":\"c\",\"indexingPolicy\":{\"indexingMode\":\"consistent\","
    "\"includedPaths\":[{\"path\":\"/*\"},{\"path\":\"/deep/in/?\"},"
    "{\"path\":\"/tags/[]/?\"}],"
    "\"excludedPaths\":[{\"path\":\"/\\\"_etag\\\"/?\"},"
    "{\"path\":\"/secret/*\"},{\"path\":\"/deep/*\"}],"
    "\"compositeIndexes\":[[{\"path\":\"/a\",\"order\":\"ascending\"},"
    "{\"path\":\"/b\",\"order\":\"descending\"}]]},"
    "\"computedProperties\":["
    "{\"name\":\"low\",\"query\":\"SELECT VALUE LOWER(c.name) FROM c\"},"
    "{\"name\":\"sum\",\"query\":\"SELECT VALUE r.a + r.b FROM root r\"},"
    "{\"name\":\"list\",\"query\":\"SELECT VALUE [c.a, c.b] FROM c\"},"
    "{\"name\":\"a\",\"query\":\"SELECT VALUE c.a FROM c\"}],"
    "\"vectorEmbeddingPolicy\":{\"vectorEmbeddings\":[{\"path\":\"/v\","
    "\"dataType\":\"float32\",\"distanceFunction\":\"euclidean\","
    "\"dimensions\":2}]},\"geospatialConfig\":{\"type\":\"Geometry\"}}";

static const char *const documents[] = {
    "{\"id\":\"1\",\"name\":\"B\",\"a\":1,\"b\":2,\"v\":[3,4],"
    "\"sum\":\"kept\"}",
    "{\"id\":\"2\",\"name\":\"a\",\"a\":10,\"b\":20,\"v\":[0,1],"
    "\"w\":[1,0]}",
    "{\"id\":\"3\",\"a\":5,\"v\":[1,1],\"w\":[0,1]}",
};

enum { DOCUMENTS = sizeof(documents) / sizeof(documents[0]) };

static enum rn_code next(void *context, struct rn_view *text,
                         struct rn_err *err)
{
    uint32_t *at = context;

    (void)err;
    if (*at == DOCUMENTS)
        return RN_NOT_FOUND;
    *text = rn_view_text(documents[(*at)++]);
    return RN_OK;
}

static enum rn_code take(void *context, struct rn_view json,
                         const struct rn_query_place *place, bool *is_full,
                         struct rn_err *err)
{
    struct rn_buf *out = context;
    enum rn_code rc = rn_buf_add(out, json);

    (void)place;
    (void)err;
    (void)is_full;
    return rc ? rc : rn_buf_add(out, RN_LIT(" "));
}

struct policy {
    struct rn_arena arena;
    struct rn_json json;
    struct rn_policy policy;
};

static void policy_open(struct policy *p, const char *text)
{
    p->arena = RN_ARENA_INIT(1 << 20);
    rn_json_init(&p->json, NULL);
    assert_int_equal(rn_json_parse(&p->json, rn_view_text(text), NULL), RN_OK);
    assert_int_equal(rn_policy_read(&p->json, &p->arena, &p->policy), RN_OK);
}

static void policy_close(struct policy *p)
{
    rn_json_release(&p->json);
    rn_arena_release(&p->arena);
}

/* The rows, or what the query is refused with. */
static void answers(const char *text, const char *wanted)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_buf out = RN_BUF_INIT(1 << 16);
    uint32_t at = 0;
    struct rn_source source = { &at, next };
    struct rn_sink sink = { &out, take };
    struct rn_query_limits limits = { 0 };
    struct rn_query_stats stats;
    struct rn_faults faults;
    struct rn_err err = { 0 };
    struct policy p;
    struct rn_query_input in = { .text = rn_view_text(text),
                                 .policy = &p.policy };
    struct rn_query *q;
    enum rn_code rc;

    policy_open(&p, definition);
    rc = rn_query_parse(&in, &a, &q, &faults, &err);
    if (!rc)
        rc = rn_query_run(q, &source, &sink, &limits, &stats, &err);
    if (rc)
        rc = rn_buf_add(&out, rn_view_text(err.text));
    if (rc || !rn_view_eq(rn_buf_view(&out), rn_view_text(wanted)))
        fail_msg("%s: %.*s, and not %s", text, RN_FMT(rn_buf_view(&out)),
                 wanted);
    rn_buf_release(&out);
    rn_arena_release(&a);
    policy_close(&p);
}

struct asked {
    const char *text, *answer;
};

static void all_answer(const struct asked *list)
{
    for (; list->text; list++)
        answers(list->text, list->answer);
}

static void a_computed_property_is_read_like_any_other(void **state)
{
    static const struct asked cases[] = {
        { "SELECT VALUE c.low FROM c", "\"b\" \"a\" " },
        { "SELECT c.id, c.low FROM c",
          "{\"id\":\"1\",\"low\":\"b\"} {\"id\":\"2\",\"low\":\"a\"} "
          "{\"id\":\"3\"} " },
        { "SELECT VALUE c.id FROM c WHERE c['low'] = 'a'", "\"2\" " },
        { "SELECT VALUE c.id FROM c WHERE c.low > 'a'", "\"1\" " },
        { "SELECT VALUE x.id FROM c x WHERE x.sum = 30", "\"2\" " },
        /* it goes before a stored one, */
        { "SELECT VALUE c.sum FROM c", "3 30 " },
        /* but a document that is given whole is as it is stored */
        { "SELECT VALUE c FROM c WHERE c.id = '1'",
          "{\"id\":\"1\",\"name\":\"B\",\"a\":1,\"b\":2,\"v\":[3,4],"
          "\"sum\":\"kept\"} " },
        { "SELECT VALUE c.id FROM c ORDER BY c.low", "\"3\" \"2\" \"1\" " },
        { "SELECT c.low, COUNT(1) AS n FROM c GROUP BY c.low",
          "{\"n\":1} {\"low\":\"a\",\"n\":1} {\"low\":\"b\",\"n\":1} " },
        { "SELECT VALUE x FROM c JOIN x IN c.list WHERE c.id = '2'", "10 20 " },
        { "SELECT VALUE x FROM x IN c.list WHERE x = 20", "20 " },
        { "SELECT VALUE (SELECT VALUE c.low) FROM c", "\"b\" \"a\" " },
        { "SELECT VALUE o.sum FROM c JOIN (SELECT VALUE {sum: 7}) o",
          "7 7 7 " },
        { "SELECT VALUE c.list[0] FROM c", "1 10 5 " },
        { 0 },
    };

    (void)state;
    all_answer(cases);
}

static void an_order_wants_an_index(void **state)
{
    static const char excluded[] = "The index path corresponding to the "
                                   "specified order-by item is excluded.";
    static const char composite[] =
        "The order by query does not have a corresponding composite index "
        "that it can be served from.";
    static const struct asked cases[] = {
        { "SELECT VALUE c.id FROM c ORDER BY c.b", "\"3\" \"1\" \"2\" " },
        { "SELECT VALUE c.id FROM c ORDER BY c._ts", "\"1\" \"2\" \"3\" " },
        { "SELECT VALUE c.id FROM c ORDER BY c.secret", excluded },
        { "SELECT VALUE c.id FROM c ORDER BY c.secret.x", excluded },
        { "SELECT VALUE c.id FROM c ORDER BY c._etag", excluded },
        { "SELECT VALUE c.id FROM c ORDER BY c.deep.out", excluded },
        { "SELECT VALUE c.id FROM c ORDER BY c.deep['in'] DESC",
          "\"3\" \"2\" \"1\" " },
        { "SELECT VALUE c.id FROM c ORDER BY c.name, c.b", composite },
        { "SELECT VALUE c.id FROM c ORDER BY c.b, c.name", composite },
        { "SELECT VALUE c.id FROM c ORDER BY c.name, c.b, c.id", composite },
        { 0 },
    };

    (void)state;
    all_answer(cases);
}

static void a_composite_index_serves_its_order_and_the_reverse(void **state)
{
    static const struct {
        const char *keys;
        bool is_served;
    } cases[] = {
        { "c.x, c.y DESC", true },       { "c.x DESC, c.y", true },
        { "c.x ASC, c.y ASC", false },   { "c.x DESC, c.y DESC", false },
        { "c.y DESC, c.x", false },      { "c.x, c.y DESC, c.z", false },
        { "c['x'], c['y'] DESC", true },
    };
    struct policy p;

    (void)state;
    policy_open(&p, "{\"indexingPolicy\":{\"includedPaths\":[{\"path\":\"/*\"}"
                    "],\"compositeIndexes\":[[{\"path\":\"/x\"},{\"path\":"
                    "\"/y\",\"order\":\"descending\"}]]}}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_arena a = RN_ARENA_INIT(1 << 20);
        struct rn_buf text = RN_BUF_INIT(1024);
        struct rn_query_input in = { .policy = &p.policy };
        struct rn_faults faults;
        struct rn_query *q;
        assert_int_equal(
            rn_buf_printf(&text, "SELECT * FROM c ORDER BY %s", cases[i].keys),
            RN_OK);
        in.text = rn_buf_view(&text);
        print_message("# %s\n", cases[i].keys);
        assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL) == RN_OK,
                         cases[i].is_served);
        p.policy.is_any_order = true;
        assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
        p.policy.is_any_order = false;
        rn_buf_release(&text);
        rn_arena_release(&a);
    }
    policy_close(&p);
}

static void a_lone_slash_includes_everything(void **state)
{
    const struct rn_view names[] = { RN_LIT("a"), RN_LIT("b") };
    const struct rn_json_path path = { names, 2 };
    struct policy p;

    (void)state;
    policy_open(&p, "{\"indexingPolicy\":{\"includedPaths\":[{\"path\":\"/\","
                    "\"indexes\":[{\"kind\":\"Range\"}]}]}}");
    assert_true(rn_policy_is_indexed(&p.policy, &path));
    policy_close(&p);
}

static void vectors_are_sorted_most_similar_first(void **state)
{
    static const struct asked cases[] = {
        /* /v is euclidean by the policy, /w is not there: cosine */
        { "SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [0, 0])",
          "\"2\" \"3\" \"1\" " },
        { "SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.w) "
          "ORDER BY VectorDistance(c.w, [0, 5])",
          "\"3\" \"2\" " },
        { "SELECT VALUE VectorDistance([3, 4], c.v) FROM c WHERE c.id = '1'",
          "0 " },
        { 0 },
    };

    (void)state;
    all_answer(cases);
}

static void shapes_may_lie_on_a_plane(void **state)
{
    static const struct asked cases[] = {
        { "SELECT VALUE ST_DISTANCE({'type':'Point','coordinates':[0,0]},"
          "{'type':'Point','coordinates':[300,400]})",
          "500 " },
        { "SELECT VALUE ST_AREA({'type':'Polygon','coordinates':[[[0,0],"
          "[0,100],[200,100],[200,0],[0,0]]]})",
          "20000 " },
        { "SELECT VALUE ST_WITHIN({'type':'Point','coordinates':[50,50]},"
          "{'type':'Polygon','coordinates':[[[0,0],[0,100],[200,100],[200,0],"
          "[0,0]]]})",
          "true " },
        { 0 },
    };

    (void)state;
    all_answer(cases);
}

static void the_plane_is_known_in_any_case(void **state)
{
    static const struct {
        const char *definition;
        bool is_planar;
    } cases[] = {
        { "{\"geospatialConfig\":{\"type\":\"geometry\"}}", true },
        { "{\"geospatialConfig\":{\"type\":\"GEOMETRY\"}}", true },
        { "{\"geospatialConfig\":{\"type\":\"geography\"}}", false },
        { "{\"geospatialConfig\":{}}", false },
        { "{}", false },
    };
    struct policy p;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        policy_open(&p, cases[i].definition);
        assert_int_equal(p.policy.is_planar, cases[i].is_planar);
        policy_close(&p);
    }
}

static void what_the_service_has_and_we_have_not_is_named(void **state)
{
    static const struct asked cases[] = {
        { "SELECT VALUE udf.tax(c.a) FROM c",
          "'tax' is not a recognized user defined function name. Server-side "
          "scripts (stored procedures, triggers, user defined functions) are "
          "not supported." },
        { "SELECT TOP 3 * FROM c ORDER BY RANK FullTextScore(c.t, 'x')",
          "ORDER BY RANK is carried out by the client, by its plan." },
        { "SELECT TOP 3 * FROM c ORDER BY RANK RRF(VectorDistance(c.v, [1]), "
          "FullTextScore(c.t, 'x'))",
          "ORDER BY RANK is carried out by the client, by its plan." },
        { 0 },
    };

    (void)state;
    all_answer(cases);
}

static void a_definition_that_computes_nonsense_is_refused(void **state)
{
    static const struct {
        const char *name, *query, *why; /* NULL: it is good */
    } cases[] = {
        { "x", "SELECT VALUE c.a FROM c", NULL },
        { "x", "SELECT VALUE UPPER(r['a b']) FROM root r", NULL },
        { "id", "SELECT VALUE c.a FROM c", "system property" },
        { "_ts", "SELECT VALUE c.a FROM c", "system property" },
        { "x", "SELECT c.a FROM c", "Required VALUE" },
        { "x", "SELECT VALUE c.a FROM c WHERE c.a = 1", "it is not SELECT" },
        { "x", "SELECT VALUE t FROM t IN c.tags", "it is not SELECT VALUE" },
        { "x", "SELECT VALUE c.a FROM c JOIN d IN c.e", "it is not SELECT" },
        { "x", "SELECT DISTINCT VALUE c.a FROM c", "it is not SELECT VALUE" },
        { "x", "SELECT VALUE COUNT(1) FROM c", "select list" },
        { "x", "SELECT VALUE (SELECT VALUE 1) FROM c", "subquery" },
        { "x", "SELECT VALUE RAND() FROM c", "differs" },
        { "x", "SELECT VALUE udf.f(c.a) FROM c", "user defined" },
        { "x", "SELECT VALUE ST_ISVALID(c.a) FROM c", "spatial" },
        { "x", "SELECT VALUE d.a FROM c", "could not be resolved" },
        { "x", "SELEC", "Syntax error" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_policy_computed one = { rn_view_text(cases[i].name),
                                          rn_view_text(cases[i].query) };
        struct rn_policy p = { .computed = &one, .computed_count = 1 };
        struct rn_arena a = RN_ARENA_INIT(1 << 20);
        struct rn_err err = { 0 };
        enum rn_code rc = rn_query_check_policy(&p, &a, &err);
        print_message("# %s: %s\n", cases[i].query, err.text);
        assert_int_equal(rc, cases[i].why ? RN_BAD_REQUEST : RN_OK);
        assert_true(!cases[i].why || strstr(err.text, cases[i].why));
        rn_arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_computed_property_is_read_like_any_other),
        cmocka_unit_test(an_order_wants_an_index),
        cmocka_unit_test(a_composite_index_serves_its_order_and_the_reverse),
        cmocka_unit_test(a_lone_slash_includes_everything),
        cmocka_unit_test(vectors_are_sorted_most_similar_first),
        cmocka_unit_test(shapes_may_lie_on_a_plane),
        cmocka_unit_test(the_plane_is_known_in_any_case),
        cmocka_unit_test(what_the_service_has_and_we_have_not_is_named),
        cmocka_unit_test(a_definition_that_computes_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
