/* query_cases_test.c -- queries written down with what they must give.
 *
 * tests/query has one file per subject.  Its cases were worked out by hand
 * from the rules of the language, not taken from what this program says:
 *
 *   # a comment
 *   docs [{...}, ...]               the documents of the cases that follow
 *   with [{"name":"@x","value":1}]  their parameters
 *   ABS(-1) => 1                    SELECT VALUE of it over the first document
 *   SELECT ... => [...]             the rows, as JSON without blanks
 *   SELECT «1,» !! SC1001 text      the code and part of the message of the
 *                                   refusal; the place is between the marks.
 *                                   "-" is the code of what has none
 *
 * Each query is also run one row a page, and printed and read again: the rows
 * must be the same.
 */
#include "lib/query_vectors.h"
#include "query/parse/parse.h"
#include "query/parse/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 20 };

struct file {
    struct rn_buf text;
    struct rn_json docs, parameters;
    uint32_t results, refusals, failed;
};

struct result {
    enum rn_code rc;
    struct rn_faults faults;
    struct rn_err err;
    struct vector_sink rows;
};

/* ---- running --------------------------------------------------------------
 */

static enum rn_code run_pages(const struct file *f, const struct rn_query *q,
                              struct result *r)
{
    struct rn_query_limits limits = { .now_us = 1700000000123456 };
    struct rn_query_stats stats = { 0 };
    uint32_t done = 0;
    enum rn_code rc = RN_OK;

    while (!rc && !stats.is_done) {
        struct vector_source documents = {
            .walk = rn_json_walk_begin(&f->docs, 0),
            .text = RN_BUF_INIT(TEXT_MAX),
        };
        struct rn_source source = { &documents, vector_source_next };
        struct rn_sink sink = { &r->rows, vector_sink_row };

        for (uint32_t i = 0; i < done; i++)
            rn_json_walk_next(&documents.walk);
        rc = rn_query_run(q, &source, &sink, &limits, &stats, &r->err);
        limits.from = stats.place;
        limits.from.after = r->rows.after;
        if (rn_query_is_streaming(q) && stats.documents)
            done += (uint32_t)stats.documents - 1;
        rn_buf_release(&documents.text);
    }
    return rc;
}

static void run(const struct file *f, struct rn_view text, uint32_t page,
                struct rn_arena *a, struct result *r)
{
    struct rn_query_input in = { .text = text,
                                 .json = f->parameters.count ? &f->parameters
                                                             : NULL };
    struct rn_query *q;

    memset(r, 0, sizeof(*r));
    r->rows =
        (struct vector_sink){ .rows = RN_BUF_INIT(TEXT_MAX), .page = page };
    assert_int_equal(rn_buf_add(&r->rows.rows, RN_LIT("[")), RN_OK);
    r->rc = rn_query_parse(&in, a, &q, &r->faults, &r->err);
    if (!r->rc)
        r->rc = run_pages(f, q, r);
}

static bool has_rows(struct result *r, struct rn_view wanted)
{
    struct rn_buf all = RN_BUF_INIT(TEXT_MAX);
    bool same;

    assert_int_equal(rn_buf_add(&all, rn_buf_view(&r->rows.rows)), RN_OK);
    assert_int_equal(rn_buf_add(&all, RN_LIT("]")), RN_OK);
    same = r->rc == RN_OK && rn_view_eq(rn_buf_view(&all), wanted);
    if (!same)
        print_message("# got %s%.*s\n", r->err.text, RN_FMT(rn_buf_view(&all)));
    rn_buf_release(&all);
    return same;
}

/* ---- cases ----------------------------------------------------------------
 */

static bool gives(const struct file *f, struct rn_view text, uint32_t page,
                  struct rn_view rows)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct result r;
    bool ok;

    run(f, text, page, &a, &r);
    ok = has_rows(&r, rows);
    rn_buf_release(&r.rows.rows);
    rn_arena_release(&a);
    return ok;
}

static bool gives_again(const struct file *f, struct rn_view text,
                        struct rn_view rows)
{
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    struct rn_buf again = RN_BUF_INIT(TEXT_MAX);
    struct rn_printer p = RN_PRINTER_INIT(&again);
    struct rn_faults faults;
    struct rn_select *s;
    bool ok = rn_parse(text, &a, &faults, &s) == RN_OK;

    if (ok) {
        rn_print_select(&p, s);
        ok = gives(f, rn_buf_view(&again), 0, rows);
        if (!ok)
            print_message("# printed: %.*s\n", RN_FMT(rn_buf_view(&again)));
    }
    rn_buf_release(&again);
    rn_arena_release(&a);
    return ok;
}

static bool check_result(struct file *f, struct rn_view query,
                         struct rn_view wanted)
{
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX), rows = RN_BUF_INIT(TEXT_MAX);
    bool is_whole = strncasecmp(query.at, "SELECT ", 7) == 0;
    bool is_none = rn_view_eq(wanted, RN_LIT("undefined"));
    bool ok;

    f->results++;
    assert_int_equal(
        rn_buf_printf(&text,
                      is_whole ? "%.*s" : "SELECT TOP 1 VALUE %.*s FROM c",
                      RN_FMT(query)),
        RN_OK);
    assert_int_equal(rn_buf_printf(&rows, is_whole ? "%.*s" : "[%.*s]",
                                   is_none ? 0 : (int)wanted.len, wanted.at),
                     RN_OK);
    ok = gives(f, rn_buf_view(&text), 0, rn_buf_view(&rows)) &&
         gives(f, rn_buf_view(&text), 1, rn_buf_view(&rows)) &&
         gives_again(f, rn_buf_view(&text), rn_buf_view(&rows));
    rn_buf_release(&text);
    rn_buf_release(&rows);
    return ok;
}

/* Takes the marks out of a query, and returns where they were. */
static struct rn_view take_marks(char *query, uint32_t *start, uint32_t *end)
{
    static const char open[] = "\xC2\xAB", close[] = "\xC2\xBB";
    char *at = strstr(query, open);

    *start = *end = 0;
    if (at) {
        memmove(at, at + 2, strlen(at + 2) + 1);
        *start = (uint32_t)(at - query);
        at = strstr(at, close);
        assert_non_null(at);
        memmove(at, at + 2, strlen(at + 2) + 1);
        *end = (uint32_t)(at - query);
    }
    return rn_view_text(query);
}

/* Are these the codes of all faults after the first? */
static bool has_more(const struct rn_faults *faults, char *codes)
{
    uint32_t n = 1;
    char *code;

    while ((code = strsep(&codes, " "))) {
        if (n == faults->count || strcmp(faults->list[n].code, code) != 0)
            return false;
        n++;
    }
    return n == faults->count;
}

/* `wanted` is a code, a part of the text, and after && the codes of the other
 * faults. */
static bool check_refusal(struct file *f, char *query, char *wanted)
{
    char *more = strstr(wanted, " && ");
    struct rn_arena a = RN_ARENA_INIT(8 << 20);
    const struct rn_fault *fault;
    struct result r;
    char code[16] = "";
    uint32_t start, end;
    int used = 0;
    bool ok;

    f->refusals++;
    if (more)
        *more = '\0';
    assert_int_equal(sscanf(wanted, "%15s %n", code, &used), 1);
    run(f, take_marks(query, &start, &end), 0, &a, &r);
    fault = &r.faults.list[0];
    ok = r.rc == RN_BAD_REQUEST && strstr(r.err.text, wanted + used);
    if (ok && r.faults.count)
        ok = strcmp(fault->code ? fault->code : "-", code) == 0 &&
             fault->start == start && fault->end == end;
    else if (ok)
        ok = strcmp(code, "-") == 0;
    if (ok && more)
        ok = has_more(&r.faults, more + 4);
    if (!ok)
        print_message("# got %s %u %u %s\n",
                      r.faults.count && fault->code ? fault->code : "-",
                      r.faults.count ? (unsigned)fault->start : 0,
                      r.faults.count ? (unsigned)fault->end : 0, r.err.text);
    rn_buf_release(&r.rows.rows);
    rn_arena_release(&a);
    return ok;
}

static void read_json(struct rn_json *to, const char *text)
{
    assert_int_equal(rn_json_parse(to, rn_view_text(text), NULL), RN_OK);
}

static void check_line(struct file *f, char *line)
{
    char *result = strstr(line, " => "), *refusal = strstr(line, " !! ");
    bool ok;

    if (line[0] == '\0' || line[0] == '#')
        return;
    if (strncmp(line, "docs ", 5) == 0) {
        read_json(&f->docs, line + 5);
        return;
    }
    if (strncmp(line, "with ", 5) == 0) {
        read_json(&f->parameters, line + 5);
        return;
    }
    if (!result && !refusal)
        fail_msg("no case: %s", line);
    if (refusal) {
        *refusal = '\0';
        ok = check_refusal(f, line, refusal + 4);
    } else {
        *result = '\0';
        ok = check_result(f, rn_view_text(line), rn_view_text(result + 4));
    }
    if (!ok)
        print_message("FAILED %s  wanted %s\n", line,
                      (refusal ? refusal : result) + 4);
    f->failed += !ok;
}

static void read_file(struct rn_buf *to, const char *name)
{
    char path[512];
    FILE *in;

    snprintf(path, sizeof(path), "%s/%s", QUERY_CASES, name);
    in = fopen(path, "rb");
    if (!in)
        fail_msg("cannot open %s", path);
    assert_int_equal(rn_buf_reserve(to, TEXT_MAX - 1), RN_OK);
    to->len = fread(to->at, 1, TEXT_MAX - 1, in);
    to->at[to->len] = '\0';
    fclose(in);
}

static void check_file(const char *name)
{
    struct file f = { .text = RN_BUF_INIT(TEXT_MAX) };
    char *rest, *line;

    rn_json_init(&f.docs, NULL);
    rn_json_init(&f.parameters, NULL);
    read_json(&f.docs, "[{\"id\":\"1\"}]");
    read_file(&f.text, name);
    rest = f.text.at;
    while ((line = strsep(&rest, "\n")))
        check_line(&f, line);
    print_message("%s: %u results, %u refusals, %u failed\n", name, f.results,
                  f.refusals, f.failed);
    rn_json_release(&f.docs);
    rn_json_release(&f.parameters);
    rn_buf_release(&f.text);
    assert_true(f.results + f.refusals > 20);
    assert_int_equal(f.failed, 0);
}

static void operators_are_three_valued(void **state)
{
    (void)state;
    check_file("operators.txt");
}

static void strings_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("strings.txt");
}

static void numbers_and_moments_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("numbers.txt");
}

static void arrays_and_objects_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("arrays.txt");
}

static void clauses_give_the_rows_written_down(void **state)
{
    (void)state;
    check_file("clauses.txt");
}

static void aggregates_and_groups_give_the_rows_written_down(void **state)
{
    (void)state;
    check_file("groups.txt");
}

static void bad_queries_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    check_file("refused.txt");
}

static void moments_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("moments.txt");
}

static void what_sdks_write_gives_the_rows_written_down(void **state)
{
    (void)state;
    check_file("shapes.txt");
}

static void places_vectors_and_words_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("places.txt");
}

static void odd_texts_and_values_come_out_as_written_down(void **state)
{
    (void)state;
    check_file("mixed.txt");
}

static void wrong_numbers_of_arguments_are_refused(void **state)
{
    (void)state;
    check_file("arity.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_three_valued),
        cmocka_unit_test(strings_come_out_as_written_down),
        cmocka_unit_test(numbers_and_moments_come_out_as_written_down),
        cmocka_unit_test(arrays_and_objects_come_out_as_written_down),
        cmocka_unit_test(clauses_give_the_rows_written_down),
        cmocka_unit_test(aggregates_and_groups_give_the_rows_written_down),
        cmocka_unit_test(bad_queries_are_refused_where_they_are_wrong),
        cmocka_unit_test(moments_come_out_as_written_down),
        cmocka_unit_test(what_sdks_write_gives_the_rows_written_down),
        cmocka_unit_test(places_vectors_and_words_come_out_as_written_down),
        cmocka_unit_test(odd_texts_and_values_come_out_as_written_down),
        cmocka_unit_test(wrong_numbers_of_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
