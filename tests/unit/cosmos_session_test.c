/* cosmos_session_test.c -- session tokens: read all, write one form.
 *
 * Vectors (tests/vectors/rest-vectors.json) and generated parts go there and
 * back; refused texts have one flaw each; merging is tried against the rules
 * the SDKs share.
 */
#include "cosmos/session.h"

#include "base/prng.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static int64_t int_member(const struct vectors *v, uint32_t object,
                          const char *name)
{
    int64_t number;

    assert_true(
        rn_json_int64(&v->json, vectors_member(v, object, name), &number));
    return number;
}

static struct rn_session read_one(const char *text)
{
    struct rn_view rest = rn_view_text(text);
    struct rn_session s;

    assert_int_equal(rn_session_next(&rest, &s, NULL), RN_OK);
    assert_int_equal(rest.len, 0);
    return s;
}

static void assert_prints(const struct rn_session *s, struct rn_view want)
{
    struct rn_buf out = RN_BUF_INIT(4096);

    assert_int_equal(rn_session_print(s, &out), RN_OK);
    assert_view(rn_buf_view(&out), want);
    rn_buf_release(&out);
}

static void captured_parts_are_read_and_printed(void **state)
{
    struct vectors v;
    struct rn_json_walk w;
    unsigned checked = 0;

    (void)state;
    vectors_load(&v, "rest-vectors.json");
    w = rn_json_walk_begin(&v.json, vectors_member(&v, 0, "session_tokens"));
    while (rn_json_walk_next(&w)) {
        struct rn_view token = vectors_string(&v, w.value, "token");
        struct rn_view rest = token;
        struct rn_session s;
        uint32_t regions = rn_json_find(&v.json, w.value, RN_LIT("regions"));
        struct rn_json_walk r = rn_json_walk_begin(&v.json, regions);
        assert_int_equal(rn_session_next(&rest, &s, NULL), RN_OK);
        if (regions == RN_JSON_NONE)
            continue; /* distinguished below */
        assert_int_equal(s.version, int_member(&v, w.value, "version"));
        assert_int_equal(s.lsn, int_member(&v, w.value, "global_lsn"));
        assert_int_equal(s.region_count, rn_json_count(&v.json, regions));
        for (size_t i = 0; rn_json_walk_next(&r); i++) {
            char id[24];
            int64_t lsn;
            snprintf(id, sizeof(id), "%llu",
                     (unsigned long long)s.regions[i].id);
            assert_true(rn_json_string_is(&v.json, r.name, rn_view_text(id)));
            assert_true(rn_json_int64(&v.json, r.value, &lsn));
            assert_int_equal(s.regions[i].lsn, lsn);
        }
        assert_prints(&s, token);
        checked++;
    }
    assert_int_equal(checked, 2);
    vectors_release(&v);
}

static void several_ranges_are_read_one_by_one(void **state)
{
    struct rn_view rest = RN_LIT("0:-1#15,1:-1#9");
    struct rn_session s;

    (void)state;
    assert_int_equal(rn_session_next(&rest, &s, NULL), RN_OK);
    assert_int_equal(s.range, 0);
    assert_int_equal(s.lsn, 15);
    assert_int_equal(rn_session_next(&rest, &s, NULL), RN_OK);
    assert_int_equal(s.range, 1);
    assert_int_equal(s.lsn, 9);
    assert_int_equal(rest.len, 0);
}

static void the_old_form_is_read_as_an_lsn(void **state)
{
    struct rn_session s = read_one("0:123");

    (void)state;
    assert_int_equal(s.lsn, 123);
    assert_int_equal(s.version, -1);
    assert_int_equal(s.region_count, 0);
}

static void a_range_finds_what_is_demanded_of_it(void **state)
{
    static const char token[] = "0:-1#15,1:2#9#4=7,0:-1#17,5:3";
    static const struct {
        uint32_t range;
        uint64_t lsn;
    } want[] = { { 0, 17 }, { 1, 9 }, { 5, 3 }, { 2, 0 } };
    struct rn_session_line line = { 0 };
    uint64_t lsn = 99;

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        line.range = want[i].range;
        assert_int_equal(rn_session_find(RN_LIT(token), &line, &lsn, NULL),
                         RN_OK);
        assert_int_equal(lsn, want[i].lsn);
    }
    assert_int_equal(rn_session_find(RN_LIT(""), &line, &lsn, NULL), RN_OK);
    assert_int_equal(lsn, 0);
    assert_int_equal(rn_session_find(RN_LIT("0:-1#5,x"), &line, &lsn, NULL),
                     RN_BAD_REQUEST);
}

static void a_range_minds_what_was_seen_of_its_ancestors(void **state)
{
    static const char token[] = "0:-1#15,3:-1#9,7:-1#20,8:-1#99";
    static const uint32_t ancestors[] = { 0, 2, 3, 6 };
    static const struct {
        uint32_t range;
        size_t count;
        uint64_t lsn;
    } want[] = { { 9, 4, 15 }, { 7, 4, 20 }, { 7, 0, 20 }, { 9, 0, 0 } };
    uint64_t lsn = 99;

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct rn_session_line line = { .range = want[i].range,
                                        .ancestor_count = want[i].count,
                                        .ancestors = ancestors };

        assert_int_equal(rn_session_find(RN_LIT(token), &line, &lsn, NULL),
                         RN_OK);
        assert_int_equal(lsn, want[i].lsn);
    }
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text;
    } bad[] = {
        { "empty", "" },
        { "no range", ":-1#15" },
        { "no colon", "0-1#15" },
        { "nothing behind the colon", "0:" },
        { "no version", "0:#15" },
        { "no LSN", "0:-1#" },
        { "two colons", "0::-1#15" },
        { "a sign alone", "0:-#15" },
        { "a version below -1", "0:-2#15" },
        { "a version of -0", "0:-0#15" },
        { "a negative LSN", "0:-1#-15" },
        { "a negative LSN of the old form", "0:-1" },
        { "a negative range", "-1:-1#15" },
        { "a plus", "0:+1#15" },
        { "a leading zero in the range", "00:-1#15" },
        { "a leading zero in the LSN", "0:-1#015" },
        { "a range beyond 32 bits", "4294967296:-1#15" },
        { "an LSN beyond 63 bits", "0:-1#9223372036854775808" },
        { "an LSN beyond 64 bits", "0:-1#18446744073709551616" },
        { "a version beyond 63 bits", "0:9223372036854775808#15" },
        { "letters", "0:a#15" },
        { "hexadecimal", "0:-1#0x15" },
        { "a fraction", "0:-1#1.5" },
        { "a blank before", " 0:-1#15" },
        { "a blank behind", "0:-1#15 " },
        { "a comma behind", "0:-1#15," },
        { "a comma before", ",0:-1#15" },
        { "a blank after the comma", "0:-1#15, 1:-1#9" },
        { "a semicolon", "0:-1#15;1:-1#9" },
        { "a region without LSN", "0:1#100#1=" },
        { "a region without number", "0:1#100#=20" },
        { "a region without sign", "0:1#100#120" },
        { "a region twice", "0:1#100#1=20#1=21" },
        { "a region's LSN below -1", "0:1#100#1=-2" },
        { "nothing behind the last sign", "0:1#100#" },
        { "quotes", "\"0:-1#15\"" },
        { "a newline", "0:-1#15\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_view rest = rn_view_text(bad[i].text);
        enum rn_code rc = RN_OK;
        struct rn_err err = { 0 };
        print_message("# %s\n", bad[i].flaw);
        do {
            struct rn_session s;
            rc = rn_session_next(&rest, &s, &err);
        } while (!rc && rest.len > 0);
        assert_int_equal(rc, RN_BAD_REQUEST);
        assert_non_null(strstr(err.text, "Invalid session token"));
    }
}

static void regions_have_a_ceiling(void **state)
{
    struct rn_buf text = RN_BUF_INIT(4096);
    struct rn_session s;
    struct rn_view rest;

    (void)state;
    assert_int_equal(rn_buf_printf(&text, "0:1#100"), RN_OK);
    for (int i = 0; i < RN_SESSION_REGIONS_MAX; i++)
        assert_int_equal(rn_buf_printf(&text, "#%d=-1", i), RN_OK);
    rest = rn_buf_view(&text);
    assert_int_equal(rn_session_next(&rest, &s, NULL), RN_OK);
    assert_prints(&s, rn_buf_view(&text));
    assert_int_equal(rn_buf_printf(&text, "#1000=1"), RN_OK);
    rest = rn_buf_view(&text);
    assert_int_equal(rn_session_next(&rest, &s, NULL), RN_BAD_REQUEST);
    rn_buf_release(&text);
}

static void the_servers_form_has_no_regions(void **state)
{
    char text[RN_SESSION_LSN_TEXT_MAX];
    struct rn_session s;

    (void)state;
    assert_view(rn_session_print_lsn(3, 42, text), RN_LIT("3:-1#42"));
    assert_view(rn_session_print_lsn(UINT32_MAX, INT64_MAX, text),
                RN_LIT("4294967295:-1#9223372036854775807"));
    s = read_one(text);
    assert_int_equal(s.range, UINT32_MAX);
    assert_int_equal(s.lsn, INT64_MAX);
}

static void old_clients_are_sent_a_number(void **state)
{
    char text[RN_SESSION_LSN_TEXT_MAX];
    struct rn_session s;

    (void)state;
    assert_view(rn_session_print_old(3, 42, text), RN_LIT("3:42"));
    s = read_one(text);
    assert_int_equal(s.range, 3);
    assert_int_equal(s.lsn, 42);
}

static void print_then_parse_is_identity(void **state)
{
    struct rn_prng c;

    (void)state;
    rn_prng_init(&c, 8);
    for (int i = 0; i < 3000; i++) {
        struct rn_session s = {
            .range = (uint32_t)rn_prng_next(&c),
            .version = (int64_t)rn_prng_below(&c, 10) - 1,
            .lsn = rn_prng_next(&c) >> (1 + rn_prng_below(&c, 60)),
            .region_count = rn_prng_below(&c, 6),
        };
        struct rn_buf text = RN_BUF_INIT(1024);
        struct rn_session back;
        struct rn_view rest;
        for (size_t r = 0; r < s.region_count; r++) {
            s.regions[r].id = r * 3 + rn_prng_below(&c, 3);
            s.regions[r].lsn = (int64_t)rn_prng_below(&c, 1000) - 1;
        }
        assert_int_equal(rn_session_print(&s, &text), RN_OK);
        rest = rn_buf_view(&text);
        assert_int_equal(rn_session_next(&rest, &back, NULL), RN_OK);
        assert_prints(&back, rn_buf_view(&text));
        rn_buf_release(&text);
    }
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    struct rn_session s = read_one("0:1#100#1=20#2=5");

    (void)state;
    for (size_t room = 1; room < strlen("0:1#100#1=20#2=5"); room++) {
        struct rn_buf out = RN_BUF_INIT(room);
        assert_int_equal(rn_session_print(&s, &out), RN_TOO_LARGE);
        assert_int_equal(out.len, 0);
        rn_buf_release(&out);
    }
}

/* ---- what was seen ------------------------------------------------------- */

static void covers_means_has_seen(void **state)
{
    static const struct {
        const char *have, *want;
        bool covers;
    } cases[] = {
        { "0:-1#5", "0:-1#5", true },
        { "0:-1#6", "0:-1#5", true },
        { "0:-1#4", "0:-1#5", false },
        { "0:2#6", "0:1#5", true },
        { "0:1#6", "0:2#5", false },
        { "0:2#4", "0:1#5", false },
        { "0:1#6#1=3", "0:1#5#1=3", true },
        { "0:1#6#1=2", "0:1#5#1=3", false },
        { "0:1#6#1=3", "0:1#5", false },
        { "0:1#6#1=3", "0:1#5#2=3", false },
        { "0:2#6#1=3#2=1", "0:1#5#1=3", true },
        { "0:2#6#2=1", "0:1#5#1=3", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_session have = read_one(cases[i].have);
        struct rn_session want = read_one(cases[i].want);
        print_message("# %s covers %s\n", cases[i].have, cases[i].want);
        assert_int_equal(rn_session_covers(&have, &want), cases[i].covers);
    }
}

static void merging_keeps_the_most_of_both(void **state)
{
    static const struct {
        const char *a, *b, *merged; /* NULL: refused */
    } cases[] = {
        { "0:-1#5", "0:-1#7", "0:-1#7" },
        { "0:-1#7", "0:-1#5", "0:-1#7" },
        { "0:1#100#1=20#2=5", "0:1#98#1=25#2=4", "0:1#100#1=25#2=5" },
        { "0:1#100#1=20", "0:2#98#1=18#2=4", "0:2#100#1=20#2=4" },
        { "0:2#98#1=18#2=4", "0:1#100#1=20", "0:2#100#1=20#2=4" },
        { "0:1#100#1=20#2=5", "0:2#98#1=18", "0:2#100#1=20" },
        { "0:1#100#1=20", "0:1#98", NULL },
        { "0:1#100#1=20", "0:1#98#2=20", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_session a = read_one(cases[i].a), b = read_one(cases[i].b);
        struct rn_err err = { 0 };
        enum rn_code rc = rn_session_merge(&a, &b, &err);
        print_message("# %s and %s\n", cases[i].a, cases[i].b);
        assert_int_equal(rc, cases[i].merged ? RN_OK : RN_BAD_REQUEST);
        assert_prints(
            &a, rn_view_text(cases[i].merged ? cases[i].merged : cases[i].a));
        if (rc)
            assert_non_null(strstr(err.text, "unexpected regions"));
        else
            assert_true(rn_session_covers(&a, &b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_parts_are_read_and_printed),
        cmocka_unit_test(several_ranges_are_read_one_by_one),
        cmocka_unit_test(the_old_form_is_read_as_an_lsn),
        cmocka_unit_test(a_range_finds_what_is_demanded_of_it),
        cmocka_unit_test(a_range_minds_what_was_seen_of_its_ancestors),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(regions_have_a_ceiling),
        cmocka_unit_test(the_servers_form_has_no_regions),
        cmocka_unit_test(old_clients_are_sent_a_number),
        cmocka_unit_test(print_then_parse_is_identity),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
        cmocka_unit_test(covers_means_has_seen),
        cmocka_unit_test(merging_keeps_the_most_of_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
