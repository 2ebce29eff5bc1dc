/* check_test.c -- the checker of histories lets no wrong one pass.
 *
 * Goal: a checker that cannot fail proves nothing.
 *
 * Method: histories of a correct server are made by a simulation (world.h).
 * They must pass.  Then one thing in each is made wrong, in every way that a
 * wrong server might (lies.h), and each must be found.
 */
#include "history/check.h"
#include "history/lies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 200 };

static void histories_of_a_correct_server_pass(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct world *w = world_make(seed);
        struct history_verdict v;

        assert_int_equal(history_check(w->log, w->count, stderr, &v), 0);
        assert_true(v.reads > 20 && v.writes > 50 && v.refused > 20 &&
                    v.pages > 10 && v.items > 10);
        assert_int_equal(history_violations(&v), 0);
        free(w);
    }
}

static void every_wrong_thing_is_found(void **state)
{
    int missed = 0;

    (void)state;
    for (size_t m = 0; m < lie_count; m++) {
        int done = 0;

        for (uint64_t seed = 1; done < ROUNDS; seed++) {
            struct world *w = world_make(seed);
            struct history_verdict v;
            bool applied = false;
            size_t at = rn_chance_below(&w->chance, w->count);

            for (size_t i = 0; !applied && i < w->count; i++)
                applied = lies[m].apply(w, &w->log[(at + i) % w->count]);
            if (applied) {
                done++;
                assert_int_equal(history_check(w->log, w->count, NULL, &v), 0);
                if (!history_violations(&v)) {
                    print_error("%s, seed %u: not found\n", lies[m].name,
                                (unsigned)seed);
                    missed++;
                }
            }
            free(w);
            assert_true(seed < 50 * ROUNDS);
        }
    }
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_a_correct_server_pass),
        cmocka_unit_test(every_wrong_thing_is_found),
    };

    return cmocka_run_group_tests_name("history.check", tests, NULL, NULL);
}
