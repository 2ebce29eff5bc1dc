/* check_test.c -- the checker of histories lets no wrong one pass.
 *
 * Goal: a checker that cannot fail proves nothing.
 *
 * Method: histories of a correct server are made by a simulation (simulated.h).
 * They must pass.  Then one thing in each is made wrong, in every way that a
 * wrong server might (falsify.h), and each must be found.  The search
 * (search.h) must find nothing that the checker does not, and of each sort of
 * falsification that is possible without LSNs its share.  200 histories of each
 * sort; with RUNNEL_PROVE 5,000.
 */
#include "history/check.h"
#include "history/falsify.h"
#include "history/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    ROUNDS = 200,
    PROVE_ROUNDS = 5000,
    SEARCH_SHARE = 4,
    EXCUSED_MAX = 15, /* percent; in these worlds much is lost */
};

static uint64_t rounds(void)
{
    return getenv("RUNNEL_PROVE") ? PROVE_ROUNDS : ROUNDS;
}

static size_t check(struct simulated_history *w)
{
    struct history_verdict v;

    assert_int_equal(history_check(w->log, w->count, NULL, &v), 0);
    assert_int_equal(v.blind, 0);
    return history_violations(&v);
}

static size_t search(const struct history_entry *log, size_t count)
{
    const struct search all = { .one_in = 1, .most = WORLD_ENTRIES };
    struct search_verdict v;

    assert_int_equal(history_search(log, count, &all, &v), 0);
    assert_int_equal(v.left_out, 0);
    return v.wrong;
}

/* A history in which one thing is wrong, or NULL: this one has nothing that the
 * falsification fits. */
static struct simulated_history *falsify(const struct falsification *l,
                                         uint64_t seed, bool is_restored)
{
    struct simulated_history *w = simulated_make(seed, is_restored);
    size_t at = rn_prng_below(&w->prng, w->count);

    for (size_t i = 0; i < w->count; i++)
        if (l->apply(w, &w->log[(at + i) % w->count]))
            return w;
    free(w);
    return NULL;
}

static void histories_of_a_correct_server_pass(void **state)
{
    size_t excused = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= rounds(); seed++) {
        struct simulated_history *w = simulated_make(seed, true);
        struct history_verdict v;

        assert_int_equal(history_check(w->log, w->count, stderr, &v), 0);
        assert_true(v.reads > 20 && v.writes > 50 && v.refused > 20 &&
                    v.pages > 10 && v.items > 10 && v.starts > 5 &&
                    v.sessions > 50);
        assert_int_equal(history_violations(&v), 0);
        assert_int_equal(v.blind, 0);
        excused += v.excused;
        refused += v.refused + v.absent;
        free(w);
    }
    print_message("%zu of %zu refusals excused\n", excused, refused);
    assert_true(excused > 0 && excused * 100 < refused * EXCUSED_MAX);
}

static void every_wrong_thing_is_found(void **state)
{
    int missed = 0;

    (void)state;
    for (size_t m = 0; m < lie_count; m++) {
        uint64_t done = 0;

        for (uint64_t seed = 1; done < rounds(); seed++) {
            struct simulated_history *w =
                falsify(&falsifications[m], seed, true);

            assert_true(seed < 50 * rounds());
            if (!w)
                continue;
            done++;
            if (!check(w)) {
                print_error("%s, seed %u: not found\n", falsifications[m].name,
                            (unsigned)seed);
                missed++;
            }
            free(w);
        }
    }
    assert_int_equal(missed, 0);
}

static void a_search_finds_nothing_wrong_in_correct_servers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= rounds(); seed++) {
        struct simulated_history *w = simulated_make(seed, false);

        assert_int_equal(search(w->log, w->count), 0);
        free(w);
    }
}

static void what_a_search_finds_wrong_is_found(void **state)
{
    uint64_t wanted = rounds() / SEARCH_SHARE;

    (void)state;
    for (size_t m = 0; m < lie_count; m++) {
        uint64_t done = 0, found = 0;

        for (uint64_t seed = 1; falsifications[m].searched && done < wanted;
             seed++) {
            struct simulated_history *w =
                falsify(&falsifications[m], seed, false);
            bool is_wrong;

            assert_true(seed < 50 * rounds());
            if (!w)
                continue;
            done++;
            is_wrong = search(w->log, w->count) > 0;
            found += is_wrong;
            assert_true(!is_wrong || check(w) > 0);
            free(w);
        }
        if (found * 100 < (uint64_t)falsifications[m].searched * done)
            fail_msg("%s: %u of %u", falsifications[m].name, (unsigned)found,
                     (unsigned)done);
    }
}

/* ---- starts -------------------------------------------------------------- */

/* Of a document that is there, or is not; a write of it is lost; the server is
 * started; some answer says that it has not happened; much later, above the LSN
 * of another document, it has. */
struct story {
    bool is_there;
    struct history_entry lost, late;
};

enum { CREATED = 1, OTHER = 9, LATER = 5, LOST = 7 };

static const struct story stories[] = {
    { .is_there = true,
      .lost = { .op = HISTORY_DELETE },
      .late = { .op = HISTORY_READ, .status = 404 } },
    { .is_there = true,
      .lost = { .op = HISTORY_DELETE, .condition = CREATED },
      .late = { .op = HISTORY_REPLACE, .status = 404, .token = 11 } },
    { .is_there = true,
      .lost = { .op = HISTORY_UPSERT, .token = LOST },
      .late = { .op = HISTORY_PATCH,
                .status = 412,
                .condition = CREATED,
                .token = 11 } },
    { .lost = { .op = HISTORY_CREATE, .token = LOST },
      .late = { .op = HISTORY_CREATE, .status = 409, .token = 11 } },
    { .lost = { .op = HISTORY_UPSERT, .token = LOST },
      .late = { .op = HISTORY_QUERY,
                .status = 200,
                .token = LOST,
                .version = 3 } },
};

static struct history_entry at(struct history_entry e, uint64_t t0, uint64_t t1,
                               uint64_t point)
{
    e.t0 = t0;
    e.t1 = t1;
    e.point = point;
    return e;
}

static size_t record(const struct story *s, bool is_started,
                     struct history_entry *out)
{
    const struct history_entry create = { .op = HISTORY_CREATE,
                                          .status = 200,
                                          .version = CREATED,
                                          .token = CREATED };
    const struct history_entry other = { .op = HISTORY_UPSERT,
                                         .status = 200,
                                         .document = 1,
                                         .version = LATER,
                                         .token = OTHER };
    struct history_entry read = { .op = HISTORY_READ, .status = 404 };
    size_t n = 0;

    if (s->is_there) {
        out[n++] = at(create, 1, 2, CREATED);
        read.status = 200;
        read.version = read.token = CREATED;
    }
    out[n++] = at(s->lost, 3, HISTORY_NEVER, 0);
    if (is_started)
        out[n++] = (struct history_entry){ .op = HISTORY_START, .t0 = 10 };
    out[n++] = at(read, 11, 12, CREATED);
    out[n++] = at(other, 13, 14, LATER);
    out[n++] = at(s->late, 15, 16, LATER);
    return n;
}

static void nothing_happens_after_the_next_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(stories) / sizeof(stories[0]); i++) {
        bool is_started = i % 2;
        struct history_entry log[8];
        size_t n = record(&stories[i / 2], is_started, log);
        struct history_verdict v;

        assert_int_equal(search(log, n) > 0, is_started);
        assert_int_equal(history_check(log, n, NULL, &v), 0);
        assert_int_equal(history_violations(&v) > 0, is_started);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_a_correct_server_pass),
        cmocka_unit_test(every_wrong_thing_is_found),
        cmocka_unit_test(nothing_happens_after_the_next_start),
        cmocka_unit_test(a_search_finds_nothing_wrong_in_correct_servers),
        cmocka_unit_test(what_a_search_finds_wrong_is_found),
    };

    return cmocka_run_group_tests_name("history.check", tests, NULL, NULL);
}
