/* query_bench.c -- how many bytes of documents a query looks at in a second.
 *
 * The evaluator by itself: a thousand documents of about 1 KB lie in memory and
 * are handed out again and again, so that what is measured is reading JSON and
 * evaluating, on one processor and by its own clock.  The best of a few rounds
 * counts: the others measure the neighbours.
 *
 *   query_bench [documents]
 *
 * The second table is of texts made to hurt: how long until they are refused.
 */
#include "query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KINDS = 1000, ROUNDS = 5 };

static char *documents[KINDS];
static size_t lens[KINDS];

static void make_documents(void)
{
    for (int i = 0; i < KINDS; i++) {
        documents[i] = malloc(2048);
        if (!documents[i])
            abort();
        lens[i] = (size_t)snprintf(
            documents[i], 2048,
            "{\"id\":\"6f1c2a34-98b7-4a53-8c36-%012d\",\"pk\":\"customer-%"
            "05d\","
            "\"type\":\"order\",\"status\":\"%s\",\"n\":%d,\"k\":%d,"
            "\"createdAt\":\"2024-03-18T09:26:53.589Z\",\"total\":%d.55,"
            "\"currency\":\"EUR\",\"items\":[{\"sku\":\"A-1009\",\"name\":"
            "\"Desk "
            "lamp, brushed steel\",\"qty\":2,\"price\":49.9,\"tags\":[\"home\","
            "\"light\"]},{\"sku\":\"B-2240\",\"name\":\"Office chair \\\"Ergo "
            "5\\\"\",\"qty\":1,\"price\":389.0,\"tags\":[\"office\"]}],"
            "\"address\":{\"street\":\"12 Harbour Road\",\"city\":\"Gdansk\","
            "\"zip\":\"80-001\",\"country\":\"PL\",\"geo\":{\"type\":\"Point\","
            "\"coordinates\":[18.646638,54.352025]}},\"history\":[{\"at\":"
            "1710753000,\"ev\":\"created\"},{\"at\":1710753944,\"ev\":\"paid\"}"
            "],"
            "\"priority\":%d,\"gift\":false,\"coupon\":null,\"note\":\"Leave "
            "with the neighbour at number 14 if nobody answers the door.\","
            "\"_rid\":\"uE0lAKPw2n4BAAAAAAAAAA==\",\"_self\":\"dbs/uE0lAA==/"
            "colls/uE0lAKPw2n4=/docs/uE0lAKPw2n4BAAAAAAAAAA==/\",\"_etag\":"
            "\"\\\"0000d826-0000-0700-0000-5f1a2b3c0000\\\"\",\"_attachments\":"
            "\"attachments/\",\"_ts\":1710790021}",
            i, i % 100, i % 3 ? "shipped" : "new", i, i % 100, i, i % 7);
    }
}

struct feed {
    uint64_t next, count, bytes;
};

static enum rn_code next(void *context, struct rn_view *document,
                         struct rn_err *err)
{
    struct feed *f = context;
    size_t i = f->next % KINDS;

    (void)err;
    if (f->next == f->count)
        return RN_NOT_FOUND;
    f->next++;
    f->bytes += lens[i];
    *document = rn_view_of(documents[i], lens[i]);
    return RN_OK;
}

static enum rn_code take(void *context, struct rn_view json,
                         const struct rn_query_place *place, bool *is_full,
                         struct rn_err *err)
{
    uint64_t *rows = context;

    (void)json;
    (void)place;
    (void)is_full;
    (void)err;
    (*rows)++;
    return RN_OK;
}

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure(const char *text, uint64_t count)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_query_input in = { .text = rn_view_text(text) };
    struct rn_query_limits limits = { .steps = UINT64_MAX };
    struct rn_query_stats stats;
    struct rn_faults faults;
    struct rn_query *q;
    struct rn_err err;
    double best = 1e9;
    uint64_t rows = 0, bytes = 0;

    if (rn_query_parse(&in, &a, &q, &faults, &err))
        exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        struct feed f = { .count = count };
        struct rn_source source = { &f, next };
        struct rn_sink sink = { &rows, take };
        double begun = now(CLOCK_PROCESS_CPUTIME_ID), spent;

        rows = 0;
        if (rn_query_run(q, &source, &sink, &limits, &stats, &err))
            exit(1);
        spent = now(CLOCK_PROCESS_CPUTIME_ID) - begun;
        best = spent < best ? spent : best;
        bytes = f.bytes;
    }
    printf("%7.0f MB/s  %6.0f ns  %8llu rows  %s\n", (double)bytes / best / 1e6,
           best / (double)count * 1e9, (unsigned long long)rows, text);
    rn_arena_release(&a);
}

/* ---- texts made to hurt ---------------------------------------------------
 */

static void refuse(const char *name, const char *head, const char *part,
                   size_t times, const char *tail)
{
    struct rn_arena a = RN_ARENA_INIT(32 << 20);
    struct rn_buf text = RN_BUF_INIT(4 << 20);
    struct rn_query_input in;
    struct rn_faults faults;
    struct rn_query *q;
    struct rn_err err = { 0 };
    double begun, spent;
    enum rn_code rc = rn_buf_add(&text, rn_view_text(head));

    for (size_t i = 0; i < times && !rc; i++)
        rc = rn_buf_add(&text, rn_view_text(part));
    if (rc || rn_buf_add(&text, rn_view_text(tail)))
        exit(1);
    in = (struct rn_query_input){ .text = rn_buf_view(&text) };
    begun = now(CLOCK_PROCESS_CPUTIME_ID);
    rc = rn_query_parse(&in, &a, &q, &faults, &err);
    spent = now(CLOCK_PROCESS_CPUTIME_ID) - begun;
    printf("%9.3f ms  %7zu bytes  %-28s %s\n", spent * 1e3, text.len, name,
           rc ? err.text : "taken");
    rn_buf_release(&text);
    rn_arena_release(&a);
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE c.k > 50",
        "SELECT VALUE SUM(c.n) FROM c WHERE c.k > 50",
        "SELECT VALUE SUM(c.n) FROM c WHERE c.priority > 3",
        "SELECT VALUE COUNT(1) FROM c WHERE c.address.city = 'Oslo'",
        "SELECT VALUE MAX(c._ts) FROM c WHERE c.status = 'new'",
        "SELECT c.status, COUNT(1) AS n FROM c GROUP BY c.status",
        "SELECT VALUE COUNT(1) FROM c JOIN i IN c.items WHERE i.qty > 1",
        "SELECT VALUE c.id FROM c WHERE c.k = 7",
        "SELECT * FROM c WHERE c.k = 7",
        "SELECT * FROM c",
    };
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;

    make_documents();
    printf("== query: %llu documents in memory, one processor\n",
           (unsigned long long)count);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        measure(texts[i], count);
    printf("== query: texts made to hurt\n");
    refuse("100,000 (", "SELECT VALUE ", "(", 100000, "1");
    refuse("100,000 NOT", "SELECT VALUE ", "NOT ", 100000, "true");
    refuse("100,000 +", "SELECT VALUE 1", "+1", 100000, "");
    refuse("100,000 ||", "SELECT VALUE 'a'", "||''", 100000, "");
    refuse("100,000 AND", "SELECT VALUE 1", " AND 1", 80000, "");
    refuse("100,000 OR (open)", "SELECT VALUE 1", " OR (1", 80000, "");
    refuse("100,000 [", "SELECT VALUE ", "[", 100000, "");
    refuse("100,000 {", "SELECT VALUE ", "{a:", 100000, "");
    refuse("100,000 .a", "SELECT VALUE c", ".a", 100000, " FROM c");
    refuse("100,000 in IN", "SELECT VALUE 1 IN (1", ",1", 100000, ")");
    refuse("100,000 ? :", "SELECT VALUE ", "1?1:", 100000, "1");
    refuse("100,000 ??", "SELECT VALUE 1", "??1", 100000, "");
    refuse("20,000 subqueries", "SELECT VALUE ", "(SELECT VALUE ", 20000, "1");
    refuse("20,000 members", "SELECT VALUE {", "\"a\":1,", 20000, "\"b\":1}");
    refuse("20,000 items", "SELECT 1", ",1", 20000, " FROM c");
    refuse("50,000 aggregates", "SELECT COUNT(1)", ",SUM(1)", 50000, "");
    refuse("a string without end", "SELECT VALUE '", "a", 500000, "");
    refuse("a comment without end", "SELECT VALUE /*", "*", 500000, "");
    refuse("half a megabyte", "SELECT VALUE 1", " ", 524276, "");
    return 0;
}
