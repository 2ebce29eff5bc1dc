/* client_balance_test.c -- which leases a host takes: tables and a simulation.
 *
 * The first table is the official arithmetic, number by number.  The simulation
 * lets hosts join, leave and crash in turns and looks at what the passes of all
 * of them lead to.
 */
#include "client/processor/balance.h"

#include "base/prng.h"
#include "client/processor/weight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LEASES_MAX = 256 };

static struct rn_arena arena = { .ceiling = 1 << 20 };

/* "A" is a live lease of A, "-" a free one, "x" an expired one, "!" one that
 * nobody has taken for long. */
static size_t read_leases(const char *text, struct rn_balance_lease *out)
{
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++) {
        out[i] = (struct rn_balance_lease){ .is_native = true };
        out[i].is_left = text[i] == '!';
        out[i].is_available =
            text[i] == '-' || text[i] == 'x' || out[i].is_left;
        if (text[i] != '-')
            out[i].owner = rn_view_of(&text[i], 1);
    }
    return n;
}

static void the_official_arithmetic_is_kept(void **state)
{
    static const struct {
        const char *leases; /* M is this host */
        uint32_t min, max;
        size_t target, take;
        bool steal;
        size_t first;
    } cases[] = {
        { "", 0, 0, 1, 0, false, 0 },
        { "-", 0, 0, 1, 1, false, 0 },
        { "A", 0, 0, 1, 0, false, 0 }, /* one lease, two hosts: no move */
        { "M", 0, 0, 1, 0, false, 0 },
        { "----------", 0, 0, 10, 10, false, 0 },
        { "xxxxxxxxxxA", 0, 0, 6, 6, false, 0 },
        { "AAAA", 0, 0, 2, 1, true, 0 },
        { "AAAM", 0, 0, 2, 1, true, 0 },
        { "AAMM", 0, 0, 2, 0, false, 0 },
        { "AABB", 0, 0, 2, 1, true, 2 }, /* the last of equal owners */
        { "AAAAAAAAAABBBBBBBBBBMMMMMMMM", 0, 0, 10, 1, true, 10 },
        { "AAAAAAAAAABBBBBBBBBBMMMMMMMMM", 0, 0, 10, 0, false, 0 },
        { "A-A-", 0, 0, 2, 2, false, 1 },
        { "Ax-A", 0, 0, 2, 2, false, 2 }, /* free before expired */
        { "----", 0, 2, 2, 2, false, 0 },
        { "----", 9, 0, 9, 4, false, 0 },
        { "--------", 5, 3, 5, 5, false, 0 }, /* the minimum wins */
        { "MMM", 0, 2, 2, 0, false, 0 },
        { "AMM-", 0, 0, 2, 0, false, 0 },
        { "AMM!", 0, 0, 2, 1, false, 3 }, /* A does not want it */
        { "AM!!", 0, 0, 2, 1, false, 2 },
        { "AMM!", 0, 2, 2, 0, false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_balance_lease leases[LEASES_MAX];
        struct rn_balance b = { .leases = leases,
                                .host = RN_LIT("M"),
                                .min = cases[i].min,
                                .max = cases[i].max };
        struct rn_balance_plan plan;
        b.count = read_leases(cases[i].leases, leases);
        assert_int_equal(rn_balance_official(&b, &arena, &plan), RN_OK);
        if (plan.target != cases[i].target ||
            plan.take_count != cases[i].take ||
            plan.is_steal != cases[i].steal ||
            (plan.take_count && plan.take[0] != cases[i].first))
            fail_msg("%s: target %zu, take %zu from %zu, steal %d",
                     cases[i].leases, plan.target, plan.take_count,
                     plan.take_count ? plan.take[0] : 0, plan.is_steal);
        assert_int_equal(plan.mark_count, 0);
        rn_arena_clear(&arena);
    }
}

static void a_foreign_owner_is_seen_only_while_it_lives(void **state)
{
    struct rn_balance_lease leases[2];
    struct rn_balance b = { .leases = leases, .host = RN_LIT("M") };

    (void)state;
    b.count = read_leases("AM", leases);
    assert_false(rn_balance_has_foreign(&b));
    leases[0].is_native = false;
    assert_true(rn_balance_has_foreign(&b));
    leases[0].is_available = true;
    assert_false(rn_balance_has_foreign(&b));
}

/* Of two dead hosts one has expired, the other counts as live: the target
 * leaves leases to it that it will not take. */
static void what_nobody_takes_is_taken_above_the_target(void **state)
{
    static const struct {
        const char *leases;
        uint32_t max;
        size_t take, first;
    } cases[] = {
        { "AMM-", 0, 0, 0 },   { "AMM!", 0, 1, 3 },
        { "AMM!!!", 0, 1, 3 }, /* the target first */
        { "AMMM!!", 0, 2, 4 }, { "AMMM!!", 4, 1, 4 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_balance_lease leases[LEASES_MAX];
        struct rn_balance b = { .leases = leases,
                                .host = RN_LIT("M"),
                                .max = cases[i].max,
                                .acquire_ms = 1000,
                                .expire_ms = 6000 };
        struct rn_balance_plan plan;

        b.count = read_leases(cases[i].leases, leases);
        assert_int_equal(rn_balance_native(&b, &arena, &plan), RN_OK);
        if (plan.take_count != cases[i].take || plan.is_steal ||
            (cases[i].first && plan.take[0] < cases[i].first))
            fail_msg("%s: take %zu", cases[i].leases, plan.take_count);
        rn_arena_clear(&arena);
    }
}

/* ---- a fleet ------------------------------------------------------------- */

struct fleet {
    struct rn_balance_lease leases[LEASES_MAX];
    size_t count;
    bool lives[8];
    bool is_weighed, is_official;
    int64_t now_ms;
    int64_t marked_ms[LEASES_MAX];
    size_t moves;
};

static const char names[] = "ABCDEFGH";

/* One balance pass of host `h`: what it takes, marks and gives happens. */
static void pass(struct fleet *f, size_t h)
{
    struct rn_balance b = { .leases = f->leases,
                            .count = f->count,
                            .host = rn_view_of(&names[h], 1),
                            .acquire_ms = 13000,
                            .expire_ms = 60000,
                            .is_weighed = f->is_weighed };
    struct rn_balance_plan plan;

    for (size_t i = 0; i < f->count; i++)
        f->leases[i].wanted_age_ms = f->now_ms - f->marked_ms[i];
    assert_int_equal(f->is_official ? rn_balance_official(&b, &arena, &plan)
                                    : rn_balance_native(&b, &arena, &plan),
                     RN_OK);
    for (size_t i = 0; i < plan.give_count; i++) {
        f->leases[plan.give[i]].owner = (struct rn_view){ 0 };
        f->leases[plan.give[i]].is_available = true;
    }
    for (size_t i = 0; i < plan.take_count; i++) {
        struct rn_balance_lease *l = &f->leases[plan.take[i]];
        assert_true(plan.is_steal || l->is_available);
        *l = (struct rn_balance_lease){ .owner = b.host,
                                        .is_native = true,
                                        .weight = l->weight };
        f->moves++;
    }
    for (size_t i = 0; i < plan.mark_count; i++) {
        f->leases[plan.mark[i]].wanted = b.host;
        f->marked_ms[plan.mark[i]] = f->now_ms;
    }
    rn_arena_clear(&arena);
}

static void run(struct fleet *f, unsigned passes)
{
    for (unsigned p = 0; p < passes; p++) {
        for (size_t h = 0; h < 8; h++)
            if (f->lives[h])
                pass(f, h);
        f->now_ms += 13000;
    }
}

static size_t owned(const struct fleet *f, size_t h)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        n += !f->leases[i].is_available && f->leases[i].owner.at[0] == names[h];
    return n;
}

static struct fleet fleet_of(size_t leases, size_t hosts)
{
    struct fleet f = { .count = leases, .now_ms = 1000000 };

    for (size_t i = 0; i < leases; i++)
        f.leases[i].is_available = true;
    for (size_t h = 0; h < hosts; h++)
        f.lives[h] = true;
    return f;
}

static void a_second_host_has_half_of_100_leases_after_3_passes(void **state)
{
    struct fleet f = fleet_of(100, 1);

    (void)state;
    run(&f, 1);
    assert_int_equal(owned(&f, 0), 100);
    f.lives[1] = true;
    pass(&f, 1); /* it marks one lease, and so is seen */
    f.now_ms += 1000;
    pass(&f, 1); /* and those that it needs */
    assert_int_equal(owned(&f, 0), 100);
    run(&f, 1);
    assert_int_equal(owned(&f, 0), 50);
    assert_int_equal(owned(&f, 1), 50);
}

/* One theft a pass, as the official libraries. */
static void in_a_compatible_fleet_it_has_them_after_50_passes(void **state)
{
    struct fleet f = fleet_of(100, 1);

    (void)state;
    f.is_official = true;
    run(&f, 1);
    f.lives[1] = true;
    for (size_t passes = 0; passes <= 50; passes++) {
        assert_int_equal(owned(&f, 1), passes);
        assert_int_equal(owned(&f, 0), 100 - passes);
        run(&f, 1);
    }
    assert_int_equal(owned(&f, 1), 50);
}

static void spares_take_nothing_and_nothing_moves(void **state)
{
    struct fleet f = fleet_of(1, 5);

    (void)state;
    run(&f, 1);
    f.moves = 0;
    run(&f, 300);
    assert_int_equal(f.moves, 0);
}

static void a_fleet_that_changes_comes_to_rest_in_balance(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 7);
    for (int round = 0; round < 1000; round++) {
        struct fleet f = fleet_of(1 + rn_prng_below(&prng, 60), 1);
        size_t hosts = 0;
        size_t most = 0;
        size_t least = SIZE_MAX;
        size_t all = 0;
        for (int change = 0; change < 6; change++) {
            size_t h = rn_prng_below(&prng, 8);
            f.lives[h] = !f.lives[h];
            for (size_t i = 0; !f.lives[h] && i < f.count; i++)
                if (!f.leases[i].is_available &&
                    f.leases[i].owner.at[0] == names[h])
                    f.leases[i].is_available = true; /* it has expired */
            run(&f, (unsigned)rn_prng_below(&prng, 4));
        }
        f.lives[0] = true;
        run(&f, 12);
        f.moves = 0;
        run(&f, 12);
        assert_int_equal(f.moves, 0);
        for (size_t h = 0; h < 8; h++) {
            size_t n = owned(&f, h);
            if (!f.lives[h])
                continue;
            hosts++;
            all += n;
            most = n > most ? n : most;
            least = n < least ? n : least;
        }
        assert_int_equal(all, f.count);
        assert_true(most <= (f.count + hosts - 1) / hosts);
        assert_true(f.count < hosts || least >= 1);
    }
}

/* ---- weights ------------------------------------------------------------- */

static uint64_t load(const struct fleet *f, size_t h)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->count; i++)
        if (!f->leases[i].is_available && f->leases[i].owner.at[0] == names[h])
            sum += f->leases[i].weight;
    return sum;
}

static void busy_leases_come_to_be_on_different_hosts(void **state)
{
    static const struct {
        const char *leases; /* and the weight of each */
        uint32_t weights[8];
        size_t hosts;
        uint64_t most; /* that a host has in the end */
        size_t moves;
    } cases[] = {
        { "AABB", { 1000, 1000, 0, 0 }, 2, 1000, 2 },
        { "AABB", { 1000, 800, 90, 10 }, 2, 1010, 2 },
        { "AAAB", { 500, 500, 500, 0 }, 2, 1000, 1 }, /* by number */
        { "AAABBBCC", { 900, 900, 900, 9, 8, 7, 6, 5 }, 3, 918, 4 },
        { "AABB", { 1000, 1000, 900, 900 }, 2, 2000, 0 }, /* not worth it */
        { "AABB", { 30, 20, 0, 0 }, 2, 50, 0 },           /* nor this */
        { "AABB", { 5000, 0, 0, 0 }, 2, 5000, 0 },
        { "AABB", { 0, 0, 0, 0 }, 2, 0, 0 },
        { "AB", { 5000, 0 }, 2, 5000, 0 },
        { "A", { 5000 }, 2, 5000, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet f = fleet_of(1, cases[i].hosts);
        f.is_weighed = true;
        f.count = read_leases(cases[i].leases, f.leases);
        for (size_t k = 0; k < f.count; k++)
            f.leases[k].weight = cases[i].weights[k];
        run(&f, 12);
        if (f.moves > cases[i].moves)
            fail_msg("%s: %zu moves", cases[i].leases, f.moves);
        for (size_t h = 0; h < cases[i].hosts; h++)
            if (load(&f, h) > cases[i].most)
                fail_msg("%s: %c has %llu", cases[i].leases, names[h],
                         (unsigned long long)load(&f, h));
    }
}

/* Whatever the weights, the moves end, each host has its number of leases, and
 * no host has twice the load that it could have. */
static void weighed_fleets_come_to_rest(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 9);
    for (int round = 0; round < 400; round++) {
        size_t hosts = 1 + rn_prng_below(&prng, 8);
        struct fleet f = fleet_of(1 + rn_prng_below(&prng, 40), hosts);
        uint64_t all = 0;
        uint64_t largest = 0;
        f.is_weighed = true;
        for (size_t i = 0; i < f.count; i++) {
            uint64_t busy = rn_prng_below(&prng, 4) == 0 ? 10000 : 100;
            f.leases[i].weight = (uint32_t)rn_prng_below(&prng, busy);
            all += f.leases[i].weight;
            if (f.leases[i].weight > largest)
                largest = f.leases[i].weight;
        }
        run(&f, 200);
        f.moves = 0;
        run(&f, 12);
        assert_int_equal(f.moves, 0);
        for (size_t h = 0; h < hosts; h++) {
            assert_true(owned(&f, h) <= (f.count + hosts - 1) / hosts);
            if (load(&f, h) > 2 * (all / hosts + largest))
                fail_msg("round %d: %c has %llu of %llu", round, names[h],
                         (unsigned long long)load(&f, h),
                         (unsigned long long)all);
        }
    }
}

static void a_weight_follows_the_changes(void **state)
{
    static const int64_t s_ns = 1000000000;
    struct rn_weight w;

    (void)state;
    rn_weight_init(&w, 0, 0);
    rn_weight_add(&w, 300);
    assert_int_equal(rn_weight_read(&w, 10000, 5 * s_ns), 0); /* too early */
    assert_int_equal(rn_weight_read(&w, 10000, 10 * s_ns), 1800);
    assert_int_equal(rn_weight_read(&w, 10000, 20 * s_ns), 900);
    assert_int_equal(rn_weight_read(&w, 10000, 50 * s_ns), 450);
    rn_weight_add(&w, UINT64_MAX / 2);
    assert_int_equal(rn_weight_read(&w, 10000, 51 * s_ns), 450);
    assert_true(rn_weight_read(&w, 1, 51 * s_ns + s_ns / 100) <= RN_WEIGHT_MAX);
    rn_weight_init(&w, UINT64_MAX, 0); /* of a damaged lease */
    assert_int_equal(rn_weight_read(&w, 10000, s_ns), RN_WEIGHT_MAX);
    rn_weight_init(&w, 700, 0); /* the next owner goes on from the stored one */
    assert_int_equal(rn_weight_read(&w, 10000, s_ns), 700);
    assert_int_equal(rn_weight_read(&w, 10000, 20 * s_ns), 350);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_official_arithmetic_is_kept),
        cmocka_unit_test(a_foreign_owner_is_seen_only_while_it_lives),
        cmocka_unit_test(what_nobody_takes_is_taken_above_the_target),
        cmocka_unit_test(a_second_host_has_half_of_100_leases_after_3_passes),
        cmocka_unit_test(in_a_compatible_fleet_it_has_them_after_50_passes),
        cmocka_unit_test(spares_take_nothing_and_nothing_moves),
        cmocka_unit_test(a_fleet_that_changes_comes_to_rest_in_balance),
        cmocka_unit_test(busy_leases_come_to_be_on_different_hosts),
        cmocka_unit_test(weighed_fleets_come_to_rest),
        cmocka_unit_test(a_weight_follows_the_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
