/* client_account_test.c -- the texts by which an account is named, options of
 * other versions, and the routing map.
 *
 * Goal: what is accepted, what is refused, and that no refusal repeats a key.
 * Method: tables.
 */
#include "client/account/endpoint.h"
#include "client/account/routing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_endpoint_is_a_host_behind_a_scheme(void **state)
{
    static const struct {
        const char *text, *out; /* NULL: refused */
        bool is_loopback;
    } table[] = {
        { "https://a.documents.azure.com:443/",
          "https://a.documents.azure.com:443", false },
        { "http://localhost:8081", "http://localhost:8081", true },
        { "http://127.0.0.1:1//", "http://127.0.0.1:1", true },
        { "https://[::1]:8081", "https://[::1]:8081", true },
        { "http://[fe80::1:2.3.4.5]", "http://[fe80::1:2.3.4.5]", false },
        { "http://[zz]:80", NULL, false },
        { "http://[]:80", NULL, false },
        { "http://[::1/../x]:80", NULL, false },
        { "HTTPS://Example.org", "HTTPS://Example.org", false },
        { " https://a ", "https://a", false },
        { "", NULL, false },
        { "localhost:8081", NULL, false },
        { "ftp://a", NULL, false },
        { "https://", NULL, false },
        { "https://a/path", NULL, false },
        { "https://key@a", NULL, false },
        { "https://a?x=1", NULL, false },
        { "https://a:0", NULL, false },
        { "https://a:65536", NULL, false },
        { "https://a:", NULL, false },
        { "https://[::1", NULL, false },
        { "https://a b", NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char out[RN_REGION_URL_MAX] = "";
        runnel_error error = { 0 };
        bool is_loopback = false;
        runnel_code rc = rn_endpoint_parse(rn_view_text(table[i].text), out,
                                           &is_loopback, &error);
        assert_int_equal(rc, table[i].out ? RUNNEL_OK : RUNNEL_BAD_REQUEST);
        if (table[i].out) {
            assert_string_equal(out, table[i].out);
            assert_int_equal(is_loopback, table[i].is_loopback);
        }
    }
}

static void a_connection_string_has_an_endpoint_and_a_key(void **state)
{
    struct rn_connection c;
    runnel_error error = { 0 };

    (void)state;
    assert_int_equal(
        rn_connection_parse("AccountEndpoint=https://a:1/;"
                            "accountkey= QUI=;Database=x;"
                            "DisableServerCertificateValidation=True",
                            &c, &error),
        RUNNEL_OK);
    assert_true(rn_view_eq(c.endpoint, RN_LIT("https://a:1/")));
    assert_true(rn_view_eq(c.key, RN_LIT("QUI=")));
    assert_true(c.insecure_tls);
    assert_int_equal(rn_connection_parse("AccountKey=secret", &c, &error),
                     RUNNEL_BAD_REQUEST);
    assert_null(strstr(error.message, "secret"));
    assert_int_equal(rn_connection_parse("", &c, &error), RUNNEL_BAD_REQUEST);
}

static void options_that_contradict_are_refused_without_a_secret(void **state)
{
    static const runnel_client_options table[] = {
        { 0 },
        { RUNNEL_CLIENT_INIT },
        { RUNNEL_CLIENT_INIT, .endpoint = "https://example.org" },
        { RUNNEL_CLIENT_INIT, .endpoint = "https://example.org",
          .key = "not base64: secret" },
        { RUNNEL_CLIENT_INIT, .endpoint = "https://example.org",
          .key = "QUI=", .resource_token = "secret" },
        { RUNNEL_CLIENT_INIT, .endpoint = "https://example.org",
          .connection_string = "AccountEndpoint=https://a;AccountKey=secret" },
        { RUNNEL_CLIENT_INIT, .endpoint = "secret" },
        { RUNNEL_CLIENT_INIT, .endpoint = "http://localhost",
          .consistency = "secret" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        runnel_client *client = NULL;
        runnel_error error = { 0 };

        assert_int_equal(runnel_client_open(&table[i], &client, &error),
                         RUNNEL_BAD_REQUEST);
        assert_null(client);
        assert_true(strlen(error.message) > 0);
        assert_null(strstr(error.message, "secret"));
    }
}

/* A program built for a newer library: surplus members that are zero are no
 * harm, others are refused. */
static void options_of_other_versions_are_read(void **state)
{
    struct {
        runnel_client_options known;
        uint64_t unknown;
    } o = { .known = { .endpoint = "http://localhost" } };
    runnel_client *client = NULL;
    runnel_error error = { 0 };

    (void)state;
    o.known.size = sizeof(o);
    assert_int_equal(runnel_client_open(&o.known, &client, &error), RUNNEL_OK);
    runnel_client_close(client);
    o.unknown = 1;
    assert_int_equal(runnel_client_open(&o.known, &client, &error),
                     RUNNEL_BAD_REQUEST);
    o.known.size = offsetof(runnel_client_options, key);
    assert_int_equal(runnel_client_open(&o.known, &client, &error), RUNNEL_OK);
    runnel_client_close(client);
}

/* ---- the routing map ----------------------------------------------------- */

static struct rn_routing *apply(const struct rn_routing *base, const char *body)
{
    struct rn_routing *m = NULL;
    runnel_error error = { 0 };

    assert_int_equal(
        rn_routing_apply(base, rn_view_text(body), RN_LIT("\"1\""), &m, &error),
        RUNNEL_OK);
    return m;
}

static void a_split_and_a_merge_are_followed(void **state)
{
    struct rn_routing *one, *split, *merged;
    struct rn_epk_range all = rn_epk_all;
    struct rn_epk epk;
    size_t first;

    (void)state;
    one = apply(NULL, "{\"PartitionKeyRanges\":[{\"id\":\"0\",\"minInclusive\":"
                      "\"\",\"maxExclusive\":\"FF\",\"parents\":[]}]}");
    assert_true(rn_routing_is_complete(one));
    split = apply(one,
                  "{\"PartitionKeyRanges\":[{\"id\":\"2\",\"minInclusive\":"
                  "\"1F\",\"maxExclusive\":\"FF\",\"parents\":[\"0\"]},{\"id\":"
                  "\"1\",\"minInclusive\":\"\",\"maxExclusive\":\"1F\","
                  "\"parents\":[\"0\"]}]}");
    assert_true(rn_routing_is_complete(split));
    assert_int_equal(split->count, 2);
    assert_string_equal(split->routes[0].id, "1");
    assert_int_equal(rn_routing_overlap(split, &all, &first), 2);
    assert_int_equal(rn_epk_parse(RN_LIT("1F"), &epk, NULL), RN_OK);
    assert_string_equal(rn_routing_find(split, &epk)->id, "2");
    assert_int_equal(rn_epk_parse(RN_LIT("1EFF"), &epk, NULL), RN_OK);
    assert_string_equal(rn_routing_find(split, &epk)->id, "1");
    assert_null(rn_routing_named(split, RN_LIT("0")));
    merged =
        apply(split, "{\"PartitionKeyRanges\":[{\"id\":\"3\",\"minInclusive\":"
                     "\"\",\"maxExclusive\":\"FF\",\"parents\":[\"0\",\"1\","
                     "\"2\"]}]}");
    assert_true(rn_routing_is_complete(merged));
    assert_int_equal(merged->count, 1);
    rn_routing_unref(one);
    rn_routing_unref(split);
    rn_routing_unref(merged);
}

static void a_map_with_a_hole_or_an_overlap_is_not_complete(void **state)
{
    static const char *const bodies[] = {
        "{\"PartitionKeyRanges\":[]}",
        "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"\","
        "\"maxExclusive\":\"1F\"}]}",
        "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"\","
        "\"maxExclusive\":\"1F\"},{\"id\":\"2\",\"minInclusive\":\"20\","
        "\"maxExclusive\":\"FF\"}]}",
        "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"\","
        "\"maxExclusive\":\"FF\"},{\"id\":\"2\",\"minInclusive\":\"20\","
        "\"maxExclusive\":\"FF\"}]}",
        "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"FF\","
        "\"maxExclusive\":\"\"}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct rn_routing *m = apply(NULL, bodies[i]);
        assert_false(rn_routing_is_complete(m));
        rn_routing_unref(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_is_a_host_behind_a_scheme),
        cmocka_unit_test(a_connection_string_has_an_endpoint_and_a_key),
        cmocka_unit_test(options_that_contradict_are_refused_without_a_secret),
        cmocka_unit_test(options_of_other_versions_are_read),
        cmocka_unit_test(a_split_and_a_merge_are_followed),
        cmocka_unit_test(a_map_with_a_hole_or_an_overlap_is_not_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
