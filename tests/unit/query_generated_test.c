/* query_generated_test.c -- expressions made at random, against a
 * reference.
 *
 * Goal: the evaluator, the printer, the planner's equalities and the pages
 * agree with rules simple enough to be seen to be right.  Method: draw a small
 * tree, a few documents, and then hold that
 *
 *   - SELECT VALUE gives what a slow and plain reference makes of the tree;
 *   - WHERE p, WHERE NOT p and WHERE NOT IS_BOOL(p) share out all documents;
 *   - the text prints, and reads back to the same print and the same rows;
 *   - no document that WHERE lets through has a value that they exclude;
 *   - pages of any size give the rows of one page.
 *
 * Each tree has its seed, which a failure prints, and is asked in eight
 * queries. 100,000 trees or 90 s by default, 5,000,000 or 6 h with
 * RUNNEL_PROVE, from RUNNEL_FROM on; both are printed.  RUNNEL_SEED runs one.
 * Under sanitizers 20,000 that the other run does not have.
 */
#include "lib/query_reference.h"

#include "query/parse/parse.h"
#include "query/parse/print.h"
#include "query/query.h"
#include "query/where/where_equalities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { DOCUMENTS = 6 };

/* ---- runs ---------------------------------------------------------------- */

struct world {
    struct value fields[DOCUMENTS][FIELDS];
    struct rn_buf texts[DOCUMENTS];
};

static void draw_world(struct world *w, struct rn_prng *c)
{
    for (int d = 0; d < DOCUMENTS; d++) {
        struct rn_buf *out = &w->texts[d];
        *out = RN_BUF_INIT(1 << 12);
        assert_int_equal(rn_buf_printf(out, "{\"id\":\"%d\"", d), RN_OK);
        for (int f = 0; f < FIELDS; f++) {
            w->fields[d][f] = draw_value(c, true);
            if (w->fields[d][f].kind == UNDEFINED)
                continue;
            assert_int_equal(rn_buf_printf(out, ",\"f%d\":", f), RN_OK);
            print_value(out, &w->fields[d][f]);
        }
        assert_int_equal(rn_buf_add(out, RN_LIT("}")), RN_OK);
    }
}

static void release_world(struct world *w)
{
    for (int d = 0; d < DOCUMENTS; d++)
        rn_buf_release(&w->texts[d]);
}

struct source {
    const struct world *world;
    int next;
};

static enum rn_code next(void *context, struct rn_view *text,
                         struct rn_err *err)
{
    struct source *s = context;

    (void)err;
    if (s->next == DOCUMENTS)
        return RN_NOT_FOUND;
    *text = rn_buf_view(&s->world->texts[s->next++]);
    return RN_OK;
}

struct rows {
    struct rn_buf text;
    uint32_t count, page;
    char bytes[RN_QUERY_AFTER_MAX];
    struct rn_view after;
};

static enum rn_code take(void *context, struct rn_view json,
                         const struct rn_query_place *place, bool *is_full,
                         struct rn_err *err)
{
    struct rows *r = context;
    enum rn_code rc = rn_buf_add(&r->text, json);

    (void)err;
    if (place->after.len)
        memcpy(r->bytes, place->after.at, place->after.len);
    r->after = rn_view_of(r->bytes, place->after.len);
    *is_full = r->page && ++r->count % r->page == 0;
    return rc ? rc : rn_buf_add(&r->text, RN_LIT("\n"));
}

static void run(const struct world *w, struct rn_view text, struct rows *out)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_query_input in = { .text = text };
    struct rn_sink sink = { out, take };
    struct rn_query_limits limits = { 0 };
    struct rn_query_stats stats = { 0 };
    struct rn_faults faults;
    struct rn_query *q;
    struct rn_err err = { 0 };
    int done = 0;

    out->text = RN_BUF_INIT(1 << 20);
    if (rn_query_parse(&in, &a, &q, &faults, &err))
        fail_msg("%.*s: %s", RN_FMT(text), err.text);
    while (!stats.is_done) {
        struct source from = { w, rn_query_is_streaming(q) ? done : 0 };
        struct rn_source source = { &from, next };
        if (rn_query_run(q, &source, &sink, &limits, &stats, &err))
            fail_msg("%.*s: %s", RN_FMT(text), err.text);
        limits.from = stats.place;
        limits.from.after = out->after;
        done = from.next ? from.next - 1 : 0;
    }
    rn_arena_release(&a);
}

/* The rows of a text made of `format` and the expression. */
static void ask(const struct world *w, const char *before, struct rn_view expr,
                const char *after, struct rows *out)
{
    struct rn_buf text = RN_BUF_INIT(1 << 16);

    assert_int_equal(
        rn_buf_printf(&text, "%s%.*s%s", before, RN_FMT(expr), after), RN_OK);
    run(w, rn_buf_view(&text), out);
    rn_buf_release(&text);
}

static long count(const struct world *w, const char *before,
                  struct rn_view expr, const char *after)
{
    struct rows out = { 0 };
    long n;

    ask(w, before, expr, after, &out);
    n = strtol(out.text.at, NULL, 10);
    rn_buf_release(&out.text);
    return n;
}

/* ---- what must hold ------------------------------------------------------ */

static void rows_are_the_reference_s(const struct world *w,
                                     const struct node *n, struct rn_view expr)
{
    struct rn_buf wanted = RN_BUF_INIT(1 << 16);
    struct rows got = { 0 };

    ask(w, "SELECT VALUE ", expr, " FROM c", &got);
    for (int d = 0; d < DOCUMENTS; d++) {
        struct value v = evaluate(n, w->fields[d]);
        if (v.kind == UNDEFINED)
            continue;
        print_value(&wanted, &v);
        assert_int_equal(rn_buf_add(&wanted, RN_LIT("\n")), RN_OK);
    }
    if (!rn_view_eq(rn_buf_view(&got.text), rn_buf_view(&wanted)))
        fail_msg("%.*s gives\n%.*s and not\n%.*s", RN_FMT(expr),
                 RN_FMT(rn_buf_view(&got.text)), RN_FMT(rn_buf_view(&wanted)));
    rn_buf_release(&wanted);
    rn_buf_release(&got.text);
}

static void predicates_share_out_all(const struct world *w, struct rn_view p)
{
    static const char all[] = "SELECT VALUE COUNT(1) FROM c WHERE ";
    static const char not [] = "SELECT VALUE COUNT(1) FROM c WHERE NOT ";
    static const char un[] = "SELECT VALUE COUNT(1) FROM c WHERE NOT IS_BOOL(";
    long total =
        count(w, all, p, "") + count(w, not, p, "") + count(w, un, p, ")");

    if (total != DOCUMENTS)
        fail_msg("%.*s: %ld and not %d", RN_FMT(p), total, DOCUMENTS);
}

static void print_again(struct rn_view text, struct rn_buf *out)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_printer p = RN_PRINTER_INIT(out);
    struct rn_faults faults = { 0 };
    struct rn_select *s;

    if (rn_parse(text, &a, &faults, &s))
        fail_msg("%.*s: %s", RN_FMT(text), faults.list[0].message);
    rn_print_select(&p, s);
    assert_int_equal(p.rc, RN_OK);
    rn_arena_release(&a);
}

static void prints_mean_the_same(const struct world *w, struct rn_view expr)
{
    struct rn_buf text = RN_BUF_INIT(1 << 16), once = RN_BUF_INIT(1 << 18),
                  twice = RN_BUF_INIT(1 << 18);
    struct rows a = { 0 }, b = { 0 };

    assert_int_equal(
        rn_buf_printf(&text, "SELECT c.id, %.*s AS v FROM c", RN_FMT(expr)),
        RN_OK);
    print_again(rn_buf_view(&text), &once);
    print_again(rn_buf_view(&once), &twice);
    run(w, rn_buf_view(&text), &a);
    run(w, rn_buf_view(&once), &b);
    if (!rn_view_eq(rn_buf_view(&once), rn_buf_view(&twice)) ||
        !rn_view_eq(rn_buf_view(&a.text), rn_buf_view(&b.text)))
        fail_msg("%.*s prints as %.*s", RN_FMT(rn_buf_view(&text)),
                 RN_FMT(rn_buf_view(&once)));
    rn_buf_release(&a.text);
    rn_buf_release(&b.text);
    rn_buf_release(&text);
    rn_buf_release(&once);
    rn_buf_release(&twice);
}

static bool is_equal_to_one(const struct rn_where_equalities *equal,
                            const struct value *v, struct rn_arena *a)
{
    struct rn_buf text = RN_BUF_INIT(1 << 10);
    struct rn_value mine = rn_value_undefined();
    struct rn_json json;
    bool found = false;

    rn_json_init(&json, NULL);
    print_value(&text, v);
    if (v->kind != UNDEFINED) {
        assert_int_equal(rn_json_parse(&json, rn_buf_view(&text), NULL), RN_OK);
        assert_int_equal(rn_value_of_json(&json, 0, a, &mine), RN_OK);
    }
    for (uint32_t i = 0; i < equal->count && !found; i++)
        assert_int_equal(rn_value_equals(&equal->values[i], &mine, a, &found),
                         RN_OK);
    rn_json_release(&json);
    rn_buf_release(&text);
    return found;
}

static void equalities_exclude_no_match(const struct world *w,
                                        const struct node *n,
                                        struct rn_view expr)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_buf text = RN_BUF_INIT(1 << 16);
    const struct rn_view name = RN_LIT("f0");
    const struct rn_json_path path = { &name, 1 };
    struct rn_query_input in;
    struct rn_where_equalities equal;
    struct rn_faults faults;
    struct rn_query *q;

    assert_int_equal(
        rn_buf_printf(&text, "SELECT * FROM c WHERE %.*s", RN_FMT(expr)),
        RN_OK);
    in = (struct rn_query_input){ .text = rn_buf_view(&text) };
    assert_int_equal(rn_query_parse(&in, &a, &q, &faults, NULL), RN_OK);
    assert_int_equal(rn_where_equalities_find(q, &path, &a, &equal), RN_OK);
    for (int d = 0; d < DOCUMENTS && equal.is_limited; d++) {
        struct value v = evaluate(n, w->fields[d]);
        if (v.kind == BOOL && v.number &&
            !is_equal_to_one(&equal, &w->fields[d][0], &a))
            fail_msg("%.*s limits f0 to %u values, without document %d",
                     RN_FMT(expr), equal.count, d);
    }
    rn_buf_release(&text);
    rn_arena_release(&a);
}

static void pages_give_the_rows(const struct world *w, struct rn_view expr,
                                struct rn_prng *c)
{
    static const char *const tails[] = {
        "FROM c",
        "FROM c ORDER BY c.f0",
        "FROM c ORDER BY c.f1 DESC, c.f0",
        "FROM c ORDER BY c.f2 OFFSET 2 LIMIT 5",
        "FROM c JOIN x IN c.f3 ORDER BY c.f4",
        "FROM c OFFSET 1 LIMIT 6",
    };
    const char *tail = tails[rn_prng_below(c, 6)];
    const char *head =
        rn_prng_percent(c, 30) ? "SELECT DISTINCT c.f0, " : "SELECT c.id, ";
    struct rows whole = { 0 };
    struct rows pages = { .page = 1 + (uint32_t)rn_prng_below(c, 4) };
    struct rn_buf text = RN_BUF_INIT(1 << 16);

    assert_int_equal(
        rn_buf_printf(&text, "%s%.*s AS v %s", head, RN_FMT(expr), tail),
        RN_OK);
    run(w, rn_buf_view(&text), &whole);
    run(w, rn_buf_view(&text), &pages);
    if (!rn_view_eq(rn_buf_view(&whole.text), rn_buf_view(&pages.text)))
        fail_msg("%.*s by %u:\n%.*s and not\n%.*s", RN_FMT(rn_buf_view(&text)),
                 pages.page, RN_FMT(rn_buf_view(&pages.text)),
                 RN_FMT(rn_buf_view(&whole.text)));
    rn_buf_release(&text);
    rn_buf_release(&whole.text);
    rn_buf_release(&pages.text);
}

/* The tree, three counts, two prints, one page and several. */
enum { QUERIES_PER_TREE = 8, PROGRESS = 250000 };

static uint64_t seed_now;

static long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec;
}

static void try_one(uint64_t seed)
{
    struct rn_buf expr = RN_BUF_INIT(1 << 16);
    struct rn_prng c;
    struct world w;
    struct tree t = { .count = 0 };
    const struct node *n;

    seed_now = seed;
    rn_prng_init(&c, seed);
    draw_world(&w, &c);
    n = draw_tree(&t, &c, 1 + (int)rn_prng_below(&c, 4));
    print_tree(&expr, n);
    rows_are_the_reference_s(&w, n, rn_buf_view(&expr));
    predicates_share_out_all(&w, rn_buf_view(&expr));
    prints_mean_the_same(&w, rn_buf_view(&expr));
    equalities_exclude_no_match(&w, n, rn_buf_view(&expr));
    pages_give_the_rows(&w, rn_buf_view(&expr), &c);
    release_world(&w);
    rn_buf_release(&expr);
}

/* Long runs print their progress, so that an operator can end one. */
static void print_progress(uint64_t done, long begun)
{
    print_message("%llu trees, %llu queries, %ld s\n", (unsigned long long)done,
                  (unsigned long long)(done * QUERIES_PER_TREE), now() - begun);
    (void)fflush(stdout);
}

static void generated_queries_agree_with_the_reference(void **state)
{
    const char *one = getenv("RUNNEL_SEED"), *from = getenv("RUNNEL_FROM");
    bool is_long = getenv("RUNNEL_PROVE");
    uint64_t most = is_long ? 5000000 : GENERATED_TREES, done = 0;
    uint64_t seed = from ? strtoull(from, NULL, 10) : GENERATED_FROM;
    long seconds = is_long ? 6 * 3600 : 90, begun = now();

    (void)state;
    if (one) {
        try_one(strtoull(one, NULL, 10));
        return;
    }
    for (; done < most && now() - begun < seconds; done++) {
        if (done && done % PROGRESS == 0)
            print_progress(done, begun);
        try_one(seed++);
    }
    print_progress(done, begun);
}

static int print_seed(void **state)
{
    (void)state;
    print_message("last: RUNNEL_SEED=%llu\n", (unsigned long long)seed_now);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(generated_queries_agree_with_the_reference,
                                  print_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
