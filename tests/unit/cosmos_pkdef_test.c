/* cosmos_pkdef_test.c -- where a container's keys come from.
 *
 * Definitions are read from JSON, printed back, and used on documents.  What a
 * client would look for in a refusal is looked for.
 */
#include "cosmos/pkdef.h"

#include "cosmos/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct rn_arena arena = { .ceiling = 1 << 20 };
static struct rn_json json;

static int init(void **state)
{
    (void)state;
    rn_json_init(&json, NULL);
    return 0;
}

static int release(void **state)
{
    (void)state;
    rn_json_release(&json);
    rn_arena_release(&arena);
    return 0;
}

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static enum rn_code define(const char *text, struct rn_pkdef *out,
                           struct rn_err *err)
{
    print_message("# %s\n", text);
    assert_int_equal(rn_json_parse(&json, rn_view_text(text), NULL), RN_OK);
    return rn_pkdef_parse(&json, 0, &arena, out, err);
}

static struct rn_pkdef must_define(const char *text)
{
    struct rn_err err = { 0 };
    struct rn_pkdef def;

    if (define(text, &def, &err))
        fail_msg("%s", err.text);
    return def;
}

static void definitions_are_read_and_printed(void **state)
{
    static const struct {
        const char *text, *printed;
        enum rn_pkdef_kind kind;
        uint32_t version;
    } cases[] = {
        { "{\"paths\":[\"/pk\"]}", "{\"paths\":[\"/pk\"],\"kind\":\"Hash\"}",
          RN_PKDEF_HASH, 1 },
        { "{\"version\":2,\"kind\":\"Hash\",\"paths\":[\"/pk\"]}",
          "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}",
          RN_PKDEF_HASH, 2 },
        { "{\"paths\":[\"/a/b\"],\"kind\":\"Hash\",\"version\":1}",
          "{\"paths\":[\"/a/b\"],\"kind\":\"Hash\",\"version\":1}",
          RN_PKDEF_HASH, 1 },
        { "{\"paths\":[\"/pk\"],\"kind\":\"hash\",\"version\":null}",
          "{\"paths\":[\"/pk\"],\"kind\":\"Hash\"}", RN_PKDEF_HASH, 1 },
        { "{\"paths\":[\"/pk\"],\"version\":2.0}",
          "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}",
          RN_PKDEF_HASH, 2 },
        { "{\"paths\":[\"/pk\"],\"version\":\"V2\"}",
          "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}",
          RN_PKDEF_HASH, 2 },
        { "{\"paths\":[\"/a\",\"/b\",\"/c\"],\"kind\":\"MultiHash\","
          "\"version\":2}",
          "{\"paths\":[\"/a\",\"/b\",\"/c\"],\"kind\":\"MultiHash\","
          "\"version\":2}",
          RN_PKDEF_MULTIHASH, 2 },
        { "{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\"}",
          "{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\"}",
          RN_PKDEF_MULTIHASH, 2 },
        { "{\"paths\":[\"/pk\"],\"kind\":\"Range\"}",
          "{\"paths\":[\"/pk\"],\"kind\":\"Range\"}", RN_PKDEF_RANGE, 1 },
        { "{\"paths\":[\"/_partitionKey\"],\"systemKey\":true}",
          "{\"paths\":[\"/_partitionKey\"],\"kind\":\"Hash\","
          "\"systemKey\":true}",
          RN_PKDEF_HASH, 1 },
        { "{\"paths\":[\"/\\\"a b\\\"/c\"],\"unknown\":{}}",
          "{\"paths\":[\"/\\\"a b\\\"/c\"],\"kind\":\"Hash\"}", RN_PKDEF_HASH,
          1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_pkdef def = must_define(cases[i].text), back;
        struct rn_buf text = RN_BUF_INIT(1024);
        assert_int_equal(def.kind, cases[i].kind);
        assert_int_equal(rn_pkdef_version(&def), cases[i].version);
        assert_int_equal(rn_pkdef_print(&def, &text), RN_OK);
        assert_view(rn_buf_view(&text), rn_view_text(cases[i].printed));
        assert_int_equal(rn_json_parse(&json, rn_buf_view(&text), NULL), RN_OK);
        assert_int_equal(rn_pkdef_parse(&json, 0, &arena, &back, NULL), RN_OK);
        assert_true(rn_pkdef_eq(&def, &back));
        rn_buf_release(&text);
    }
}

static void refusals_are_in_the_services_words(void **state)
{
    static const char characters[] =
        "Partition key paths must contain only valid characters and not "
        "contain a trailing slash or wildcard character";
    static const struct {
        const char *text, *words;
    } bad[] = {
        { "[]", "must be an object" },
        { "null", "must be an object" },
        { "\"/pk\"", "must be an object" },
        { "{}", "no paths" },
        { "{\"paths\":[]}", "no paths" },
        { "{\"paths\":null}", "no paths" },
        { "{\"paths\":\"/pk\"}", "no paths" },
        { "{\"paths\":[\"/id ds\"]}", characters },
        { "{\"paths\":[\"id\"]}",
          "The partition key component definition path 'id' could not be "
          "accepted" },
        { "{\"paths\":[\"/a/\"]}", characters },
        { "{\"paths\":[\"/a/*\"]}", characters },
        { "{\"paths\":[\"/\"]}", characters },
        { "{\"paths\":[\"\"]}", characters },
        { "{\"paths\":[1]}", characters },
        { "{\"paths\":[null]}", characters },
        { "{\"paths\":[\"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?\"]}",
          characters },
        { "{\"paths\":[\"/a\",\"/b\"]}", "Too many partition key paths" },
        { "{\"paths\":[\"/a\",\"/b\"],\"kind\":\"Range\"}",
          "Too many partition key paths" },
        { "{\"paths\":[\"/a\",\"/b\",\"/c\",\"/d\"],\"kind\":\"MultiHash\"}",
          "Too many partition key paths (4) specified. A maximum of 3 is "
          "allowed." },
        { "{\"paths\":[\"/a\",\"/a\"],\"kind\":\"MultiHash\"}", "twice" },
        { "{\"paths\":[\"/a\"],\"kind\":\"Other\"}", "kind" },
        { "{\"paths\":[\"/a\"],\"kind\":null}", "kind" },
        { "{\"paths\":[\"/a\"],\"kind\":1}", "kind" },
        { "{\"paths\":[\"/a\"],\"version\":0}", "version" },
        { "{\"paths\":[\"/a\"],\"version\":3}", "version" },
        { "{\"paths\":[\"/a\"],\"version\":1.5}", "version" },
        { "{\"paths\":[\"/a\"],\"version\":\"2\"}", "version" },
        { "{\"paths\":[\"/a\"],\"version\":\"V3\"}", "version" },
        { "{\"paths\":[\"/a\"],\"version\":1e30}", "version" },
        { "{\"paths\":[\"/a\"],\"kind\":\"MultiHash\",\"version\":1}",
          "version" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_pkdef def = { .count = 7 };
        struct rn_err err = { 0 };
        assert_int_equal(define(bad[i].text, &def, &err), RN_BAD_REQUEST);
        if (!strstr(err.text, bad[i].words))
            fail_msg("'%s' lacks '%s'", err.text, bad[i].words);
        assert_int_equal(def.count, 7);
    }
}

static void definitions_are_equal_if_they_place_keys_alike(void **state)
{
    struct rn_pkdef one = must_define("{\"paths\":[\"/a\"]}");
    struct rn_pkdef same =
        must_define("{\"paths\":[\"/a\"],\"kind\":\"Hash\",\"version\":1}");
    struct rn_pkdef second = must_define("{\"paths\":[\"/a\"],\"version\":2}");
    struct rn_pkdef other = must_define("{\"paths\":[\"/b\"]}");
    struct rn_pkdef multi =
        must_define("{\"paths\":[\"/a\"],\"kind\":\"MultiHash\"}");
    struct rn_pkdef two =
        must_define("{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\"}");

    (void)state;
    assert_true(rn_pkdef_eq(&one, &same));
    assert_false(rn_pkdef_eq(&one, &second));
    assert_false(rn_pkdef_eq(&one, &other));
    assert_false(rn_pkdef_eq(&second, &multi));
    assert_false(rn_pkdef_eq(&multi, &two));
}

static void a_path_that_does_not_fit_is_a_wrong_one(void **state)
{
    static const char text[] = "{\"paths\":[\"/pk\"]}";
    struct rn_pkdef def;

    (void)state;
    assert_int_equal(rn_json_parse(&json, RN_LIT(text), NULL), RN_OK);
    for (size_t room = 1; room < 16; room++) {
        struct rn_arena small = RN_ARENA_INIT(room);

        assert_int_equal(rn_pkdef_parse(&json, 0, &small, &def, NULL),
                         RN_BAD_REQUEST);
        rn_arena_release(&small);
    }
}

/* ---- documents ----------------------------------------------------------- */

static void assert_extracts(const struct rn_pkdef *def, const char *document,
                            const char *header)
{
    struct rn_pk pk, want;
    struct rn_err err = { 0 };

    print_message("# %s\n", document);
    assert_int_equal(rn_json_parse(&json, rn_view_text(document), NULL), RN_OK);
    if (rn_pkdef_extract(def, &json, 0, &arena, &pk, &err))
        fail_msg("%s", err.text);
    assert_int_equal(rn_pk_parse(rn_view_text(header), &arena, &want, NULL),
                     RN_OK);
    assert_true(rn_pk_eq(&pk, &want));
}

static void keys_are_taken_from_documents(void **state)
{
    struct rn_pkdef one = must_define("{\"paths\":[\"/pk\"]}");
    struct rn_pkdef deep = must_define("{\"paths\":[\"/a/\\\"b c\\\"\"]}");
    struct rn_pkdef three = must_define(
        "{\"paths\":[\"/a\",\"/b/c\",\"/d\"],\"kind\":\"MultiHash\"}");

    (void)state;
    assert_extracts(&one, "{\"id\":\"1\",\"pk\":\"p\"}", "[\"p\"]");
    assert_extracts(&one, "{\"pk\":\"\\u00e9\\n\"}", "[\"\xc3\xa9\\n\"]");
    assert_extracts(&one, "{\"pk\":1.0}", "[1]");
    assert_extracts(&one, "{\"pk\":-0}", "[-0.0]");
    assert_extracts(&one, "{\"pk\":null}", "[null]");
    assert_extracts(&one, "{\"pk\":true}", "[true]");
    assert_extracts(&one, "{\"pk\":false}", "[false]");
    assert_extracts(&one, "{\"PK\":\"p\"}", "[{}]");
    assert_extracts(&one, "{}", "[{}]");
    assert_extracts(&one, "{\"pk\":{}}", "[{}]");
    assert_extracts(&one, "{\"pk\":{\"a\":1}}", "[{}]");
    assert_extracts(&one, "{\"pk\":[1]}", "[{}]");
    assert_extracts(&deep, "{\"a\":{\"b c\":5}}", "[5]");
    assert_extracts(&deep, "{\"a\":5}", "[{}]");
    assert_extracts(&deep, "{\"a\":[{\"b c\":5}]}", "[{}]");
    assert_extracts(&three, "{\"a\":1,\"b\":{\"c\":2},\"d\":3}", "[1,2,3]");
    assert_extracts(&three, "{\"d\":3}", "[{},{},3]");
}

static void a_document_with_too_long_a_key_is_refused(void **state)
{
    struct rn_pkdef two =
        must_define("{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\"}");
    struct rn_buf text = RN_BUF_INIT(8192);
    struct rn_pk pk;

    (void)state;
    for (int more = 0; more < 2; more++) {
        rn_buf_clear(&text);
        assert_int_equal(rn_buf_printf(&text,
                                       "{\"a\":\"%01024d\",\"b\":"
                                       "\"%0*d\"}",
                                       0, 1024 + more, 0),
                         RN_OK);
        assert_int_equal(rn_json_parse(&json, rn_buf_view(&text), NULL), RN_OK);
        assert_int_equal(rn_pkdef_extract(&two, &json, 0, &arena, &pk, NULL),
                         more ? RN_BAD_REQUEST : RN_OK);
    }
    rn_buf_release(&text);
}

/* ---- headers ------------------------------------------------------------- */

static void headers_must_fit(void **state)
{
    struct rn_pkdef one = must_define("{\"paths\":[\"/pk\"]}");
    struct rn_pkdef two =
        must_define("{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\"}");
    struct rn_pkdef old =
        must_define("{\"paths\":[\"/_partitionKey\"],\"systemKey\":true}");
    const struct {
        const struct rn_pkdef *def;
        const char *header;
        enum rn_code whole, prefix;
        enum rn_reason reason; /* of the whole one */
    } cases[] = {
        { &one, "[1]", RN_OK, RN_OK, 0 },
        { &one, "[{}]", RN_OK, RN_OK, 0 },
        { &one, "[]", RN_BAD_REQUEST, RN_BAD_REQUEST, RN_REASON_KEY_MISMATCH },
        { &one, "[1,2]", RN_BAD_REQUEST, RN_BAD_REQUEST, 0 },
        { &two, "[1,2]", RN_OK, RN_OK, 0 },
        { &two, "[1]", RN_BAD_REQUEST, RN_OK, RN_REASON_KEY_MISMATCH },
        { &two, "[1,2,3]", RN_BAD_REQUEST, RN_BAD_REQUEST, 0 },
        { &old, "[]", RN_OK, RN_OK, 0 },
        { &old, "[{}]", RN_OK, RN_OK, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_err err = { 0 };
        struct rn_pk whole, prefix;
        print_message("# %s\n", cases[i].header);
        assert_int_equal(
            rn_pk_parse(rn_view_text(cases[i].header), &arena, &whole, NULL),
            RN_OK);
        prefix = whole;
        assert_int_equal(rn_pkdef_fit(cases[i].def, &whole, &err),
                         cases[i].whole);
        assert_int_equal(err.reason, cases[i].reason);
        assert_int_equal(rn_pkdef_fit_prefix(cases[i].def, &prefix, &err),
                         cases[i].prefix);
    }
}

/* Both spellings of no key are one logical partition. */
static void no_key_is_the_undefined_key_of_an_old_container(void **state)
{
    struct rn_pkdef old =
        must_define("{\"paths\":[\"/_partitionKey\"],\"systemKey\":true}");
    struct rn_pk empty = { .count = 0 }, document;

    (void)state;
    assert_int_equal(rn_json_parse(&json, RN_LIT("{\"id\":\"1\"}"), NULL),
                     RN_OK);
    assert_int_equal(rn_pkdef_extract(&old, &json, 0, &arena, &document, NULL),
                     RN_OK);
    assert_int_equal(rn_pkdef_fit(&old, &empty, NULL), RN_OK);
    assert_true(rn_pk_eq(&empty, &document));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_read_and_printed),
        cmocka_unit_test(refusals_are_in_the_services_words),
        cmocka_unit_test(definitions_are_equal_if_they_place_keys_alike),
        cmocka_unit_test(a_path_that_does_not_fit_is_a_wrong_one),
        cmocka_unit_test(keys_are_taken_from_documents),
        cmocka_unit_test(a_document_with_too_long_a_key_is_refused),
        cmocka_unit_test(headers_must_fit),
        cmocka_unit_test(no_key_is_the_undefined_key_of_an_old_container),
    };

    return cmocka_run_group_tests(tests, init, release);
}
