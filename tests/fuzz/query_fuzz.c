/* query_fuzz.c -- libFuzzer on the query module.
 *
 * Any bytes as a query: reading them must not crash; what was read must print
 * and read back to the same print; it must run over two documents within its
 * limits, and give JSON; and it must have a plan or a fault.
 *
 * Seeds: the query texts of tests/vectors/query-cases.json, one file each.
 */
#include "query/client_plan/client_plan.h"
#include "query/parse/parse.h"
#include "query/parse/print.h"
#include "query/query.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "query_fuzz: %s\n", what);
    abort();
}

static bool print_again(struct rn_view text, struct rn_arena *a,
                        struct rn_buf *out)
{
    struct rn_printer p = RN_PRINTER_INIT(out);
    struct rn_faults faults = { 0 };
    struct rn_select *s;

    if (rn_parse(text, a, &faults, &s))
        return false;
    rn_print_select(&p, s);
    return p.rc == RN_OK;
}

static void prints_back(struct rn_view text, struct rn_arena *a)
{
    struct rn_buf once = RN_BUF_INIT(1 << 22), twice = RN_BUF_INIT(1 << 22);

    /* Parentheses are added, so that a text near a limit may pass it. */
    if (print_again(text, a, &once) &&
        print_again(rn_buf_view(&once), a, &twice))
        check(rn_view_eq(rn_buf_view(&once), rn_buf_view(&twice)),
              "prints the same again");
    rn_buf_release(&once);
    rn_buf_release(&twice);
}

static enum rn_code next(void *context, struct rn_view *document,
                         struct rn_err *err)
{
    static const struct rn_view documents[] = {
        RN_LIT("{\"id\":\"a\",\"n\":1,\"t\":[1,\"x\",null],\"o\":{\"p\":2}}"),
        RN_LIT("{\"id\":\"b\\u00e9\",\"n\":2.5,\"t\":[],\"s\":\"2020-01-01\"}"),
    };
    int *i = context;

    (void)err;
    if (*i == 2)
        return RN_NOT_FOUND;
    *document = documents[(*i)++];
    return RN_OK;
}

static enum rn_code row(void *context, struct rn_view json,
                        const struct rn_query_place *place, bool *is_full,
                        struct rn_err *err)
{
    struct rn_json j;

    (void)context;
    (void)place;
    (void)err;
    (void)is_full;
    rn_json_init(&j, NULL);
    check(rn_json_parse(&j, json, NULL) != RN_BAD_REQUEST, "rows are JSON");
    rn_json_release(&j);
    return RN_OK;
}

static enum rn_code place(void *context, const struct rn_value *values,
                          uint32_t count, struct rn_buf *min,
                          struct rn_buf *max)
{
    (void)context;
    (void)values;
    (void)max;
    return rn_buf_printf(min, "%02u", count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rn_arena a = RN_ARENA_INIT(16 << 20);
    struct rn_query_input in = { .text = rn_view_of(data, size) };
    struct rn_query_limits limits = { .steps = 100000,
                                      .memory_bytes = 1 << 20 };
    struct rn_view id = RN_LIT("id");
    struct rn_json_path path = { &id, 1 };
    struct rn_plan_keys keys = { .paths = &path, .count = 1, .place = place };
    struct rn_buf out = RN_BUF_INIT(1 << 22);
    struct rn_query_stats stats;
    struct rn_faults faults;
    struct rn_query *q;
    int i = 0;

    prints_back(in.text, &a);
    if (rn_query_parse(&in, &a, &q, &faults, NULL) == RN_OK) {
        struct rn_source source = { &i, next };
        struct rn_sink sink = { NULL, row };
        enum rn_code rc =
            rn_query_run(q, &source, &sink, &limits, &stats, NULL);
        check(rc == RN_OK || rc == RN_TIMEOUT || rc == RN_TOO_LARGE ||
                  rc == RN_BAD_REQUEST,
              "runs or says why not");
        rc = rn_query_plan_print(q, &keys, &faults, &out, NULL);
        check(rc == RN_OK || faults.count || rc == RN_TOO_LARGE,
              "has a plan or a fault");
    }
    rn_buf_release(&out);
    rn_arena_release(&a);
    return 0;
}
