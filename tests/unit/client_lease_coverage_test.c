/* client_lease_coverage_test.c -- holes, doubles and expired leases: tables. */
#include "client/lease/coverage.h"
#include "client/lease/expiry.h"
#include "client/lease/property.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LEASES_MAX = 8 };

static struct rn_lease leases[LEASES_MAX];
static struct rn_cover covers[LEASES_MAX];

/* "MIN-MAX" each; a '+' before one: made by this library. */
static size_t read_covers(const char *const *tokens)
{
    size_t n = 0;

    for (; tokens[n]; n++) {
        bool made = tokens[n][0] == '+';
        struct rn_view token = rn_view_text(tokens[n] + made);
        leases[n] = (struct rn_lease){ .id = token, .token = token };
        if (made)
            assert_true(rn_lease_set(&leases[n], RN_LEASE_MADE, token));
        covers[n] = (struct rn_cover){ .lease = &leases[n] };
        covers[n].has_range = rn_lease_token_parse(token, &covers[n].range);
    }
    return n;
}

static void a_hole_is_found_wherever_it_is(void **state)
{
    static const struct {
        const char *tokens[5];
        const char *hole; /* NULL: none */
    } cases[] = {
        { { "-FF" }, NULL },
        { { "10-FF", "-10" }, NULL },
        { { "-20", "10-FF" }, NULL },
        { { NULL }, "-FF" },
        { { "10-FF" }, "-10" },
        { { "-10" }, "10-FF" },
        { { "-10", "20-FF" }, "10-20" },
        { { "-10", "20-30", "30-FF" }, "10-20" },
        { { "7", "10-FF" }, "-10" }, /* its interval is not known */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = read_covers(cases[i].tokens);
        struct rn_epk_range hole;
        char token[RN_LEASE_TOKEN_MAX];
        bool is_there = rn_coverage_hole(covers, n, &rn_epk_all.min, &hole);
        assert_int_equal(is_there, cases[i].hole != NULL);
        if (is_there)
            assert_true(rn_view_eq(rn_lease_token_print(&hole, token),
                                   rn_view_text(cases[i].hole)));
    }
}

static void a_lease_is_redundant_only_under_finer_ones_of_ours(void **state)
{
    static const struct {
        const char *tokens[5];
        bool redundant, is_double; /* the first one */
    } cases[] = {
        { { "+-FF", "+-10", "+10-FF" }, true, true },
        { { "+-FF", "+-10", "10-FF" }, false, true },
        { { "-FF", "+-10", "+10-FF" }, false, true },
        { { "+-FF", "+-10" }, false, false },
        { { "+-10", "+-FF" }, false, false }, /* the other one is coarser */
        { { "+10-30", "+10-20", "+20-30" }, true, true },
        { { "+10-30", "+-20", "+20-30" }, false, false }, /* not within */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = read_covers(cases[i].tokens);
        assert_int_equal(rn_coverage_is_redundant(covers, n, 0),
                         cases[i].redundant);
        assert_int_equal(rn_coverage_is_double(covers, n, 0),
                         cases[i].is_double);
    }
}

static void of_equal_leases_exactly_one_stays(void **state)
{
    static const char *const tokens[] = { "+-FF", "+-FF", NULL };
    size_t n = read_covers(tokens);

    (void)state;
    leases[0].id = RN_LIT("a");
    leases[1].id = RN_LIT("b");
    assert_false(rn_coverage_is_redundant(covers, n, 0));
    assert_true(rn_coverage_is_redundant(covers, n, 1));
    /* After a merge the lease of an interval takes the place of a range's. */
    leases[1].is_epk = true;
    assert_true(rn_coverage_is_redundant(covers, n, 0));
    assert_false(rn_coverage_is_redundant(covers, n, 1));
    leases[1].is_epk = false;
    /* The same token twice: the lowest position stays. */
    leases[0].position = RN_LIT("\"10\"");
    leases[1].position = RN_LIT("\"9\"");
    assert_true(rn_coverage_is_copy(covers, n, 0));
    assert_false(rn_coverage_is_copy(covers, n, 1));
    leases[1].position = RN_LIT("\"10\"");
    leases[0].partition_key = RN_LIT("k1");
    leases[1].partition_key = RN_LIT("k2");
    assert_false(rn_coverage_is_copy(covers, n, 0));
    assert_true(rn_coverage_is_copy(covers, n, 1));
    leases[0].position = (struct rn_view){ 0 };
    assert_true(rn_coverage_is_copy(covers, n, 1));
}

static struct rn_lease owned_lease(bool native, int64_t timestamp_ms,
                                   int64_t ts_s)
{
    struct rn_lease lease = { .id = RN_LIT("p..0"),
                              .token = RN_LIT("0"),
                              .owner = RN_LIT("h"),
                              .timestamp = RN_LIT("t"),
                              .timestamp_ms = timestamp_ms,
                              .ts_s = ts_s };

    if (native) {
        assert_true(rn_lease_set(&lease, RN_LEASE_OWNER, RN_LIT("h")));
        assert_true(rn_lease_set(&lease, RN_LEASE_SESSION, RN_LIT("1-a")));
    }
    return lease;
}

static void expiry_follows_the_clock_of_the_store(void **state)
{
    enum { NOW_S = 1000000 };
    static const struct {
        bool native;
        int64_t timestamp_ms, ts_s;
        bool over;
    } cases[] = {
        { true, (NOW_S - 61) * 1000LL, NOW_S - 61, false }, /* E exactly */
        { true, (NOW_S - 61) * 1000LL - 1, NOW_S - 61, true },
        { true, (NOW_S - 100) * 1000LL, NOW_S, true }, /* a mark is no sign */
        { true, (NOW_S + 3600) * 1000LL, NOW_S - 62, true }, /* a wrong clock */
        { true, (NOW_S - 62) * 1000LL, NOW_S - 10, true },
        { false, (NOW_S + 3600) * 1000LL, NOW_S - 62, true },
        { false, (NOW_S - 3600) * 1000LL, NOW_S - 10, false },
        { false, 0, NOW_S - 62, true }, /* no timestamp: _ts */
    };
    struct rn_lease_expiry expiry = { .expire_ms = 60000,
                                      .now_ms = NOW_S * 1000LL };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_lease lease =
            owned_lease(cases[i].native, cases[i].timestamp_ms, cases[i].ts_s);
        assert_int_equal(rn_lease_expiry_is_over(&expiry, &lease),
                         cases[i].over);
    }
    rn_lease_expiry_release(&expiry);
}

static void without_a_clock_a_lease_must_be_seen_unchanged(void **state)
{
    struct rn_lease_expiry expiry = { .expire_ms = 60000, .mono_ns = 1 };
    struct rn_lease lease = owned_lease(true, 5000, 0);

    (void)state;
    assert_false(rn_lease_expiry_is_over(&expiry, &lease));
    expiry.mono_ns += 60000000000;
    assert_false(rn_lease_expiry_is_over(&expiry, &lease));
    lease.timestamp = RN_LIT("u"); /* it was renewed */
    assert_false(rn_lease_expiry_is_over(&expiry, &lease));
    expiry.mono_ns += 60000000001;
    assert_true(rn_lease_expiry_is_over(&expiry, &lease));
    rn_lease_expiry_release(&expiry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hole_is_found_wherever_it_is),
        cmocka_unit_test(a_lease_is_redundant_only_under_finer_ones_of_ours),
        cmocka_unit_test(of_equal_leases_exactly_one_stays),
        cmocka_unit_test(expiry_follows_the_clock_of_the_store),
        cmocka_unit_test(without_a_clock_a_lease_must_be_seen_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
