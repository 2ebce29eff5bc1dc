/* engine_patch_test.c -- what a patch makes of a document.
 *
 * Goal: every operation of patch.h, upon members and elements, does what its
 * table says or is refused in words that name it; what is not touched stays
 * byte for byte.  Method: tables of document, patch and result.  Patches in the
 * committer are in engine_batch_test.c.
 */
#include "engine/document/patch.h"
#include "engine/document/patch_apply.h"

#include "engine/document/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rn_arena arena;
static struct rn_pkdef def;
static struct rn_json def_json;
static struct rn_err err;

static int setup(void **state)
{
    (void)state;
    arena = RN_ARENA_INIT(32 << 20);
    rn_json_init(&def_json, NULL);
    assert_int_equal(
        rn_json_parse(&def_json,
                      RN_LIT("{\"paths\":[\"/pk\",\"/k/ey\"],"
                             "\"kind\":\"MultiHash\",\"version\":2}"),
                      NULL),
        RN_OK);
    assert_int_equal(rn_pkdef_parse(&def_json, 0, &arena, &def, NULL), RN_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_json_release(&def_json);
    rn_arena_release(&arena);
    return 0;
}

static enum rn_code patch(const char *document, const char *text,
                          struct rn_buf *out)
{
    struct rn_patch p;
    enum rn_code rc;

    err = (struct rn_err){ 0 };
    rc = rn_patch_read(rn_view_text(text), &def, &arena, &p, &err);
    if (!rc)
        rc = rn_patch_apply(&p, rn_view_text(document), 1000, out, &err);
    return rc;
}

struct row {
    const char *document, *patch;
    const char *result; /* or, of a refusal, a part of its words */
};

static void check_done(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rn_buf out = RN_BUF_INIT(8 << 20);
        enum rn_code rc = patch(rows[i].document, rows[i].patch, &out);

        if (rc)
            fail_msg("%s: %s", rows[i].patch, err.text);
        if (!rn_view_eq(rn_buf_view(&out), rn_view_text(rows[i].result)))
            fail_msg("%s made %.*s", rows[i].patch, (int)out.len, out.at);
        rn_buf_release(&out);
    }
}

static void check_refused(const struct row *rows, size_t count,
                          enum rn_code code)
{
    for (size_t i = 0; i < count; i++) {
        struct rn_buf out = RN_BUF_INIT(8 << 20);
        enum rn_code rc = patch(rows[i].document, rows[i].patch, &out);

        if (rc != code)
            fail_msg("%s: %s %s", rows[i].patch, rn_code_name(rc), err.text);
        if (!strstr(err.text, rows[i].result))
            fail_msg("%s: %s", rows[i].patch, err.text);
        assert_int_equal(out.len, 0);
        rn_buf_release(&out);
    }
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define OP(op, path, value)                                                    \
    "[{\"op\":\"" op "\",\"path\":\"" path "\",\"value\":" value "}]"
#define REMOVE(path) "[{\"op\":\"remove\",\"path\":\"" path "\"}]"
#define MOVE(from, path)                                                       \
    "[{\"op\":\"move\",\"from\":\"" from "\",\"path\":\"" path "\"}]"

static void members_are_added_set_and_overwritten(void **state)
{
    static const struct row rows[] = {
        { "{}", OP("add", "/a", "1"), "{\"a\":1}" },
        { "{\"b\":2}", OP("add", "/a", "1"), "{\"b\":2,\"a\":1}" },
        { "{\"a\":0,\"b\":2}", OP("add", "/a", "1"), "{\"a\":1,\"b\":2}" },
        { "{\"a\":0,\"b\":2}", OP("set", "/b", "null"),
          "{\"a\":0,\"b\":null}" },
        { "{\"a\":{}}", OP("set", "/a/b", "\"x\""), "{\"a\":{\"b\":\"x\"}}" },
        { "{\"a\":{\"b\":{\"c\":1}}}", OP("add", "/a/b/d", "{\"e\":[]}"),
          "{\"a\":{\"b\":{\"c\":1,\"d\":{\"e\":[]}}}}" },
        { "{\"a\":\"s\"}", OP("replace", "/a", "[1]"), "{\"a\":[1]}" },
        { "{\"a/b\":1,\"m~n\":2}", OP("replace", "/a~1b", "3"),
          "{\"a/b\":3,\"m~n\":2}" },
        { "{\"a/b\":1,\"m~n\":2}", OP("set", "/m~0n", "3"),
          "{\"a/b\":1,\"m~n\":3}" },
        { "{}", OP("add", "/~01", "1"), "{\"~1\":1}" },
        { "{}", OP("add", "/q\\\"\\\\\\n", "1"), "{\"q\\\"\\\\\\n\":1}" },
        { "{}", OP("add", "/\\u00e9", "1"), "{\"\xc3\xa9\":1}" },
        { "{\"\\u0061\":1}", OP("set", "/a", "2"), "{\"\\u0061\":2}" },
        { "{\"a\":{\"\":1}}", OP("set", "/a/", "2"), "{\"a\":{\"\":2}}" },
        { "{\"0\":1}", OP("set", "/0", "2"), "{\"0\":2}" },
        { "{\"-\":1}", OP("set", "/-", "2"), "{\"-\":2}" },
        { "{\"k\":{\"ey\":1}}", OP("set", "/k/other", "2"),
          "{\"k\":{\"ey\":1,\"other\":2}}" },
        { "{}", OP("set", "/ttl", "5"), "{\"ttl\":5}" },
        { "{}", OP("set", "/ids", "5"), "{\"ids\":5}" },
        { "{\"n\":1.50,\"s\":\"\\u0041\"}", OP("add", "/a", "1e2"),
          "{\"n\":1.50,\"s\":\"\\u0041\",\"a\":1e2}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void elements_are_inserted_by_add_and_overwritten_by_set(void **state)
{
    static const struct row rows[] = {
        { "{\"a\":[1,2]}", OP("add", "/a/0", "0"), "{\"a\":[0,1,2]}" },
        { "{\"a\":[1,2]}", OP("add", "/a/1", "0"), "{\"a\":[1,0,2]}" },
        { "{\"a\":[1,2]}", OP("add", "/a/2", "0"), "{\"a\":[1,2,0]}" },
        { "{\"a\":[1,2]}", OP("add", "/a/-", "0"), "{\"a\":[1,2,0]}" },
        { "{\"a\":[]}", OP("add", "/a/0", "0"), "{\"a\":[0]}" },
        { "{\"a\":[]}", OP("add", "/a/-", "\"s\""), "{\"a\":[\"s\"]}" },
        { "{\"a\":[1,2]}", OP("set", "/a/0", "0"), "{\"a\":[0,2]}" },
        { "{\"a\":[1,2]}", OP("set", "/a/2", "0"), "{\"a\":[1,2,0]}" },
        { "{\"a\":[1,2]}", OP("set", "/a/-", "0"), "{\"a\":[1,2,0]}" },
        { "{\"a\":[1,2]}", OP("replace", "/a/1", "0"), "{\"a\":[1,0]}" },
        { "{\"a\":[[1],[2]]}", OP("add", "/a/1/0", "0"),
          "{\"a\":[[1],[0,2]]}" },
        { "{\"a\":[{\"b\":1}]}", OP("set", "/a/0/b", "0"),
          "{\"a\":[{\"b\":0}]}" },
        { "{\"a\":[\"x\",\"y\"]}", OP("add", "/a/1", "\"z\""),
          "{\"a\":[\"x\",\"z\",\"y\"]}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void removing_takes_one_comma_along(void **state)
{
    static const struct row rows[] = {
        { "{\"a\":1}", REMOVE("/a"), "{}" },
        { "{\"a\":1,\"b\":2}", REMOVE("/a"), "{\"b\":2}" },
        { "{\"a\":1,\"b\":2}", REMOVE("/b"), "{\"a\":1}" },
        { "{\"a\":1,\"b\":\"s\",\"c\":3}", REMOVE("/b"), "{\"a\":1,\"c\":3}" },
        { "{\"a\":[1]}", REMOVE("/a/0"), "{\"a\":[]}" },
        { "{\"a\":[1,2,3]}", REMOVE("/a/0"), "{\"a\":[2,3]}" },
        { "{\"a\":[1,\"2\",3]}", REMOVE("/a/1"), "{\"a\":[1,3]}" },
        { "{\"a\":[1,2,3]}", REMOVE("/a/2"), "{\"a\":[1,2]}" },
        { "{\"a\":[[],[1]]}", REMOVE("/a/1/0"), "{\"a\":[[],[]]}" },
        { "{\"a\":{\"b\":{}}}", REMOVE("/a/b"), "{\"a\":{}}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void numbers_are_counted_up_and_down(void **state)
{
    static const struct row rows[] = {
        { "{\"n\":1}", OP("incr", "/n", "2"), "{\"n\":3}" },
        { "{\"n\":1}", OP("incr", "/n", "-2"), "{\"n\":-1}" },
        { "{\"n\":1}", OP("incr", "/n", "0.5"), "{\"n\":1.5}" },
        { "{\"n\":1.5}", OP("incr", "/n", "0.5"), "{\"n\":2}" },
        { "{}", OP("incr", "/n", "2.5"), "{\"n\":2.5}" },
        { "{\"a\":[1,2]}", OP("incr", "/a/1", "5"), "{\"a\":[1,7]}" },
        { "{\"a\":[1]}", OP("incr", "/a/1", "5"), "{\"a\":[1,5]}" },
        { "{\"n\":9007199254740993}", OP("incr", "/n", "1"),
          "{\"n\":9007199254740994}" },
        { "{\"n\":9223372036854775807}", OP("incr", "/n", "1"),
          "{\"n\":9223372036854776000}" },
        { "{\"n\":1e3}", OP("incr", "/n", "1"), "{\"n\":1001}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void values_are_moved(void **state)
{
    static const struct row rows[] = {
        { "{\"a\":1}", MOVE("/a", "/b"), "{\"b\":1}" },
        { "{\"a\":1,\"b\":{}}", MOVE("/a", "/b/c"), "{\"b\":{\"c\":1}}" },
        { "{\"a\":1,\"b\":2}", MOVE("/a", "/b"), "{\"b\":1}" },
        { "{\"a\":{\"b\":1}}", MOVE("/a/b", "/c"), "{\"a\":{},\"c\":1}" },
        { "{\"a\":{\"b\":1}}", MOVE("/a/b", "/a"), "{\"a\":1}" },
        { "{\"a\":[1,2,3]}", MOVE("/a/0", "/a/2"), "{\"a\":[2,3,1]}" },
        { "{\"a\":[1,2,3]}", MOVE("/a/2", "/a/0"), "{\"a\":[3,1,2]}" },
        { "{\"a\":[1,2,3]}", MOVE("/a/0", "/a/-"), "{\"a\":[2,3,1]}" },
        { "{\"a\":1}", MOVE("/a", "/a"), "{\"a\":1}" },
        { "{\"ab\":\"x\"}", MOVE("/ab", "/abc"), "{\"abc\":\"x\"}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void operations_follow_one_another(void **state)
{
    static const struct row rows[] = {
        { "{}",
          "[{\"op\":\"add\",\"path\":\"/a\",\"value\":{}},"
          "{\"op\":\"add\",\"path\":\"/a/b\",\"value\":[]},"
          "{\"op\":\"add\",\"path\":\"/a/b/-\",\"value\":1},"
          "{\"op\":\"incr\",\"path\":\"/a/b/0\",\"value\":1},"
          "{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c\"},"
          "{\"op\":\"remove\",\"path\":\"/a\"}]",
          "{\"c\":[2]}" },
        { "{\"a\":1}",
          "{ \"operations\" : [ { \"op\" : \"set\" , \"path\" : \"/a\" , "
          "\"value\" : 2 } ] }",
          "{\"a\":2}" },
        { "{\"a\":1}",
          "{\"condition\":null,\"operations\":" OP("set", "/a", "2") "}",
          "{\"a\":2}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void what_the_system_wrote_is_left_out(void **state)
{
    static const struct row rows[] = {
        { "{\"id\":\"a\",\"_rid\":\"r\",\"_self\":\"s\",\"_etag\":\"e\","
          "\"_attachments\":\"t\",\"_ts\":         5}",
          OP("add", "/n", "1"), "{\"id\":\"a\",\"n\":1}" },
        { "{\"_rid\":\"r\",\"_ts\":5}", OP("add", "/n", "1"), "{\"n\":1}" },
    };

    (void)state;
    check_done(rows, COUNT(rows));
}

static void what_cannot_be_done_is_refused_by_number(void **state)
{
    static const struct row rows[] = {
        { "{}", OP("add", "/a/b", "1"), "no path found beyond: 'a'" },
        { "{\"a\":1}", OP("set", "/a/b", "1"), "no path found beyond" },
        { "{\"a\":\"s\"}", OP("add", "/a/0", "1"), "no path found beyond" },
        { "{\"a\":[1]}", OP("add", "/a/2", "1"), "array index '2'" },
        { "{\"a\":[1]}", OP("set", "/a/01", "1"), "array index '01'" },
        { "{\"a\":[1]}", OP("set", "/a/x", "1"), "array index 'x'" },
        { "{\"a\":[1]}", OP("set", "/a/-1", "1"), "array index '-1'" },
        { "{\"a\":[1]}", OP("set", "/a/4294967296", "1"), "array index" },
        { "{\"a\":[1]}", OP("set", "/a/ 0", "1"), "array index" },
        { "{\"a\":[[]]}", OP("add", "/a/1/0", "1"), "no path found beyond" },
        { "{\"a\":[[]]}", OP("add", "/a/-/0", "1"), "no path found beyond" },
        { "{}", OP("replace", "/a", "1"),
          "For Operation(1): Replace Operation can only be performed" },
        { "{\"a\":[]}", OP("replace", "/a/-", "1"), "existing path" },
        { "{\"a\":[1]}", OP("replace", "/a/1", "1"), "existing path" },
        { "{}", REMOVE("/a"), "Remove Operation can only be performed" },
        { "{\"a\":[1]}", REMOVE("/a/-"), "existing path" },
        { "{\"a\":\"s\"}", OP("incr", "/a", "1"), "performed on a number" },
        { "{\"a\":null}", OP("incr", "/a", "1"), "performed on a number" },
        { "{}", OP("incr", "/a/b", "1"), "Increment Operation can only" },
        { "{\"a\":1e308}", OP("incr", "/a", "1e308"), "too large" },
        { "{}", MOVE("/a", "/b"), "Move Operation can only be performed" },
        { "{\"a\":1}", MOVE("/a", "/b/c"), "no path found beyond" },
        { "{\"a\":1}",
          "[{\"op\":\"set\",\"path\":\"/a\",\"value\":2},"
          "{\"op\":\"remove\",\"path\":\"/b\"}]",
          "For Operation(2): Remove" },
    };

    (void)state;
    check_refused(rows, COUNT(rows), RN_BAD_REQUEST);
}

static void what_is_no_patch_is_refused(void **state)
{
    static const struct row rows[] = {
        { "{}", "", "" },
        { "{}", "null", "array of operations" },
        { "{}", "{}", "array of operations" },
        { "{}", "[]", "at least one" },
        { "{}", "{\"operations\":[]}", "at least one" },
        { "{}", "{\"operations\":{}}", "array of operations" },
        { "{}", "[1]", "For Operation(1): it must be a JSON object" },
        { "{}", "[{}]", "'op' must be" },
        { "{}", OP("Add", "/a", "1"), "'op' must be" },
        { "{}", OP("increment", "/a", "1"), "'op' must be" },
        { "{}", "[{\"op\":1,\"path\":\"/a\",\"value\":1}]", "'op' must be" },
        { "{}", "[{\"op\":\"add\",\"value\":1}]", "'path' must be" },
        { "{}", "[{\"op\":\"add\",\"path\":1,\"value\":1}]", "'path' must" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "'value' is missing" },
        { "{}", "[{\"op\":\"move\",\"path\":\"/a\"}]", "'from' must be" },
        { "{}", OP("incr", "/a", "\"1\""), "needs a number" },
        { "{}", OP("incr", "/a", "null"), "needs a number" },
        { "{}", OP("add", "", "1"), "not a valid JSON pointer" },
        { "{}", OP("add", "a", "1"), "not a valid JSON pointer" },
        { "{}", OP("add", "/", "1"), "not a valid JSON pointer" },
        { "{}", OP("add", "/a~", "1"), "not a valid JSON pointer" },
        { "{}", OP("add", "/a~2", "1"), "not a valid JSON pointer" },
        { "{\"a\":{}}", MOVE("/a", "/a/b"), "into itself" },
        { "{}", "{\"condition\":1,\"operations\":[]}", "must be a string" },
        { "{}", "{\"condition\":\"\",\"operations\":[]}", "begin with FROM" },
        { "{}", "{\"condition\":\"c.a = 1\",\"operations\":[]}", "FROM" },
        { "{}", "{\"condition\":\"from c where\",\"operations\":[]}",
          "Syntax error" },
    };

    (void)state;
    check_refused(rows, COUNT(rows), RN_BAD_REQUEST);
}

static void what_names_the_document_is_not_touched(void **state)
{
    static const char *const paths[] = { "/id",    "/_rid",         "/_self",
                                         "/_etag", "/_attachments", "/_ts",
                                         "/pk",    "/pk/below",     "/k/ey",
                                         "/id/0",  "/_lsn" };
    static const char *const forms[][2] = {
        { "[{\"op\":\"set\",\"value\":1,\"path\":\"", "\"}]" },
        { "[{\"op\":\"remove\",\"path\":\"", "\"}]" },
        { "[{\"op\":\"move\",\"path\":\"/x\",\"from\":\"", "\"}]" },
        { "[{\"op\":\"move\",\"from\":\"/x\",\"path\":\"", "\"}]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(paths); i++) {
        for (size_t f = 0; f < COUNT(forms); f++) {
            char text[200];
            struct row row = { "{\"x\":1}", text, "cannot be patched" };

            snprintf(text, sizeof(text), "%s%s%s", forms[f][0], paths[i],
                     forms[f][1]);
            check_refused(&row, 1, RN_BAD_REQUEST);
        }
    }
}

static void ten_operations_are_the_most(void **state)
{
    struct rn_buf text = RN_BUF_INIT(4096);

    (void)state;
    for (int n = 1; n <= 11; n++) {
        struct rn_buf out = RN_BUF_INIT(4096);
        enum rn_code rc;

        assert_int_equal(rn_buf_add(&text, n == 1 ? RN_LIT("[") : RN_LIT(",")),
                         RN_OK);
        assert_int_equal(
            rn_buf_add(&text, RN_LIT("{\"op\":\"incr\",\"path\":\"/n\","
                                     "\"value\":1}")),
            RN_OK);
        assert_int_equal(rn_buf_add(&text, rn_view_of("]", 2)), RN_OK);
        rc = patch("{\"n\":0}", text.at, &out);
        text.len -= 2; /* the bracket and its NUL */
        assert_int_equal(rc, n <= RN_PATCH_MAX ? RN_OK : RN_BAD_REQUEST);
        if (rc)
            assert_non_null(strstr(err.text, "exceed '10'. Learn"));
        rn_buf_release(&out);
    }
    rn_buf_release(&text);
}

static void a_condition_decides_upon_the_document_as_stored(void **state)
{
    static const struct {
        const char *condition;
        enum rn_code rc;
    } rows[] = {
        { "from c where c.a = 1", RN_OK },
        { "FROM root r WHERE r.a = 1 AND r._ts > 3", RN_OK },
        { "  from c where STARTSWITH(c.s, 'x')", RN_OK },
        { "from c where ARRAY_CONTAINS(c.l, 2)", RN_OK },
        { "from c", RN_OK },
        { "from c where true", RN_OK },
        { "from c where c.a = 2", RN_PRECONDITION },
        { "from c where c.none = 1", RN_PRECONDITION },
        { "from c where IS_DEFINED(c.none)", RN_PRECONDITION },
        { "from c where c._ts > 5", RN_PRECONDITION },
        { "from c where c.a =", RN_BAD_REQUEST },
        { "from c where nofunction(c)", RN_BAD_REQUEST },
        { "from c where c.a = @p", RN_PRECONDITION }, /* undefined */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rn_buf out = RN_BUF_INIT(4096);
        char text[300];

        snprintf(text, sizeof(text), "{\"condition\":\"%s\",\"operations\":%s}",
                 rows[i].condition, OP("set", "/a", "2"));
        if (patch("{\"a\":1,\"s\":\"xy\",\"l\":[1,2],\"_rid\":\"r\",\"_ts\":5}",
                  text, &out) != rows[i].rc)
            fail_msg("%s: %s", rows[i].condition, err.text);
        rn_buf_release(&out);
    }
}

static void a_patched_document_has_its_limits(void **state)
{
    struct rn_buf out = RN_BUF_INIT(16 << 20);
    struct rn_buf text = RN_BUF_INIT(16 << 20);
    char *big = malloc(RN_DOCUMENT_MAX);

    (void)state;
    memset(big, 'x', RN_DOCUMENT_MAX);
    assert_int_equal(rn_buf_printf(&text,
                                   "[{\"op\":\"add\",\"path\":\"/a\","
                                   "\"value\":\"%.*s\"}]",
                                   RN_DOCUMENT_MAX - 100, big),
                     RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    assert_int_equal(patch("{}", text.at, &out), RN_OK);
    assert_true(out.len > RN_DOCUMENT_MAX - 100);
    /* Twice as much is too much even between two operations. */
    rn_buf_clear(&text);
    assert_int_equal(rn_buf_printf(&text, "{\"a\":\"%.*s\",\"b\":\"%.*s\"}",
                                   RN_DOCUMENT_MAX, big, RN_DOCUMENT_MAX, big),
                     RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    rn_buf_clear(&out);
    assert_int_equal(patch(text.at, OP("add", "/c", "1"), &out), RN_TOO_LARGE);
    rn_buf_release(&text);
    rn_buf_release(&out);
    free(big);
}

static void a_value_may_be_as_deep_as_its_document(void **state)
{
    static const struct {
        const char *begin, *end;
        int depth;
        enum rn_code rc;
    } rows[] = {
        { "[", "]", 127, RN_OK },
        { "{\"operations\":[", "]}", 127, RN_OK },
        { "[", "]", 128, RN_BAD_REQUEST },
        { "{\"operations\":[", "]}", 128, RN_BAD_REQUEST },
        { "[", "]", 1000, RN_BAD_REQUEST },
    };
    struct rn_buf out = RN_BUF_INIT(1 << 20);
    char open[1001], close[1001], text[4096];

    (void)state;
    memset(open, '[', sizeof(open));
    memset(close, ']', sizeof(close));
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text),
                 "%s{\"op\":\"set\",\"path\":\"/a\",\"value\":%.*s%.*s}%s",
                 rows[i].begin, rows[i].depth, open, rows[i].depth, close,
                 rows[i].end);
        rn_buf_clear(&out);
        if (patch("{}", text, &out) != rows[i].rc)
            fail_msg("%s: %s", text, err.text);
    }
    rn_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_added_set_and_overwritten),
        cmocka_unit_test(elements_are_inserted_by_add_and_overwritten_by_set),
        cmocka_unit_test(removing_takes_one_comma_along),
        cmocka_unit_test(numbers_are_counted_up_and_down),
        cmocka_unit_test(values_are_moved),
        cmocka_unit_test(operations_follow_one_another),
        cmocka_unit_test(what_the_system_wrote_is_left_out),
        cmocka_unit_test(what_cannot_be_done_is_refused_by_number),
        cmocka_unit_test(what_is_no_patch_is_refused),
        cmocka_unit_test(what_names_the_document_is_not_touched),
        cmocka_unit_test(ten_operations_are_the_most),
        cmocka_unit_test(a_condition_decides_upon_the_document_as_stored),
        cmocka_unit_test(a_patched_document_has_its_limits),
        cmocka_unit_test(a_value_may_be_as_deep_as_its_document),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
