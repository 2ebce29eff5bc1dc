/* waiters_waiters_test.c -- nobody sleeps through a change, and nobody wakes
 * twice.
 *
 * In the simulation, whose clock runs by itself when nothing else does; and
 * with real threads: readers that look and park against writers that move,
 * where a lost wake-up would show as a reader that waits to its deadline.
 */
#include "waiters/waiters.h"

#include "base/prng.h"
#include "base/sim.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static struct rn_sim *sim;
static struct rn_waiters *ws;

struct reader {
    struct rn_waiter waiter;
    int id, woken;
    int64_t at; /* when */
};

static int turn; /* counts wake-ups */
static int order[100];

static void on_wake(struct rn_waiter *w)
{
    struct reader *r = (struct reader *)w;

    r->woken++;
    r->at = rn_mono_ns(rn_sim_env(sim));
    if (turn < 100)
        order[turn++] = r->id;
}

static int setup(void **state)
{
    (void)state;
    turn = 0;
    sim = rn_sim_new(1);
    assert_int_equal(rn_waiters_new(rn_sim_env(sim), &ws, NULL), RN_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_waiters_free(ws);
    rn_sim_free(sim);
    return 0;
}

static struct reader reader_of(uint32_t container, int64_t range,
                               int64_t seconds)
{
    return (
        struct reader){ .waiter = { .container = container,
                                    .range = range,
                                    .prefixes = RN_EPK_PREFIXES_ALL,
                                    .deadline_ns = rn_mono_ns(rn_sim_env(sim)) +
                                                   seconds * SECOND,
                                    .wake = on_wake } };
}

static void park(struct reader *r)
{
    rn_waiters_begin(ws, &r->waiter);
    assert_int_equal(rn_waiters_park(ws, &r->waiter), RN_PARKED);
}

/* ---- cases --------------------------------------------------------------- */

static void a_waiter_is_woken_once_by_its_own_range(void **state)
{
    struct reader r = reader_of(7, 2, 10);

    (void)state;
    park(&r);
    rn_waiters_move(ws, 7, 1, RN_EPK_PREFIXES_ALL);
    rn_waiters_move(ws, 8, 2, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 0);
    rn_waiters_move(ws, 7, 2, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 1);
    rn_waiters_move(ws, 7, 2, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 1);
    park(&r);
    rn_waiters_move(ws, 7, 2, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 2);
    assert_int_equal(rn_waiters_count(ws), 0);
}

static void a_reader_of_several_ranges_is_woken_by_any(void **state)
{
    struct reader r = reader_of(7, RN_RANGE_ANY, 10);
    struct reader one = reader_of(7, 3, 10);

    (void)state;
    park(&r);
    park(&one);
    rn_waiters_move(ws, 8, 3, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 0);
    rn_waiters_move(ws, 7, 4, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 1);
    assert_int_equal(one.woken, 0);
    park(&r);
    rn_waiters_move(ws, 7, RN_RANGE_ANY, RN_EPK_PREFIXES_ALL);
    assert_int_equal(r.woken, 2);
    assert_int_equal(one.woken, 1);
    park(&one);
    rn_waiters_move(ws, RN_CONTAINER_ANY, RN_RANGE_ANY, RN_EPK_PREFIXES_ALL);
    assert_int_equal(one.woken, 2);
}

static void a_reader_of_a_part_is_woken_by_that_part(void **state)
{
    static const struct {
        struct rn_epk_prefixes moved;
        int woken;
    } cases[] = {
        { { 0, 9 }, 0 },   { { 21, UINT64_MAX }, 0 }, { { 10, 10 }, 1 },
        { { 20, 20 }, 1 }, { { 15, 15 }, 1 },         { { 0, 10 }, 1 },
        { { 20, 30 }, 1 }, { { 0, UINT64_MAX }, 1 },
    };
    struct reader all = reader_of(7, RN_RANGE_ANY, 10);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reader r = reader_of(7, 2, 10);

        r.waiter.prefixes = (struct rn_epk_prefixes){ 10, 20 };
        park(&r);
        park(&all);
        rn_waiters_move(ws, 7, 2, cases[i].moved);
        assert_int_equal(r.woken, cases[i].woken);
        assert_int_equal(all.woken, i + 1);
        rn_waiters_move(ws, 7, RN_RANGE_ANY, RN_EPK_PREFIXES_ALL);
        assert_int_equal(r.woken, 1); /* its range may be gone */
    }
}

static void what_moves_after_begin_keeps_from_parking(void **state)
{
    struct reader r = reader_of(7, 2, 10), any = reader_of(7, RN_RANGE_ANY, 10);

    (void)state;
    rn_waiters_begin(ws, &r.waiter);
    rn_waiters_begin(ws, &any.waiter);
    rn_waiters_move(ws, 7, 2, RN_EPK_PREFIXES_ALL);
    assert_int_equal(rn_waiters_park(ws, &r.waiter), RN_PARK_MOVED);
    assert_int_equal(rn_waiters_park(ws, &any.waiter), RN_PARK_MOVED);
    rn_waiters_begin(ws, &r.waiter);
    rn_waiters_move(ws, 7, RN_RANGE_ANY, RN_EPK_PREFIXES_ALL);
    assert_int_equal(rn_waiters_park(ws, &r.waiter), RN_PARK_MOVED);
    rn_waiters_begin(ws, &r.waiter);
    rn_waiters_end(ws, &r.waiter);
    assert_int_equal(r.woken + any.woken, 0);
}

static void deadlines_wake_in_their_order_and_not_before(void **state)
{
    struct reader readers[50];
    struct rn_prng prng;
    int64_t begun = rn_mono_ns(rn_sim_env(sim));

    (void)state;
    rn_prng_init(&prng, 5);
    for (int i = 0; i < 50; i++) {
        readers[i] = reader_of(1, i % 7, 1 + (int64_t)rn_prng_below(&prng, 30));
        park(&readers[i]);
    }
    rn_waiters_move(ws, 1, 3, RN_EPK_PREFIXES_ALL);
    rn_sim_run(sim, 40 * SECOND);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(readers[i].woken, 1);
        if (i % 7 == 3)
            assert_true(readers[i].at < begun + SECOND);
        else
            assert_true(readers[i].at >= readers[i].waiter.deadline_ns &&
                        readers[i].at <
                            readers[i].waiter.deadline_ns + SECOND / 100);
    }
}

static void a_deadline_that_comes_first_is_minded(void **state)
{
    struct reader late = reader_of(1, 1, 100), soon = reader_of(1, 1, 1);

    (void)state;
    park(&late);
    rn_sim_run(sim, SECOND / 10);
    park(&soon);
    rn_sim_run(sim, 2 * SECOND);
    assert_int_equal(soon.woken, 1);
    assert_int_equal(late.woken, 0);
    rn_waiters_close(ws);
}

static void those_of_one_range_are_woken_as_they_came(void **state)
{
    struct reader readers[20];

    (void)state;
    for (int i = 0; i < 20; i++) {
        readers[i] = reader_of(5, 1, 100 - i);
        readers[i].id = i;
        park(&readers[i]);
    }
    rn_waiters_move(ws, 5, 1, RN_EPK_PREFIXES_ALL);
    for (int i = 0; i < 20; i++)
        assert_int_equal(order[i], i);
    assert_int_equal(turn, 20);
}

static void a_dismissed_one_is_neither_woken_nor_parked(void **state)
{
    struct reader r = reader_of(1, 1, 100), looking = reader_of(1, 1, 100);

    (void)state;
    park(&r);
    assert_true(rn_waiters_dismiss(ws, &r.waiter));
    assert_false(rn_waiters_dismiss(ws, &r.waiter));
    rn_waiters_begin(ws, &looking.waiter);
    assert_false(rn_waiters_dismiss(ws, &looking.waiter));
    assert_int_equal(rn_waiters_park(ws, &looking.waiter), RN_PARK_OVER);
    rn_waiters_move(ws, 1, 1, RN_EPK_PREFIXES_ALL);
    rn_sim_run(sim, 200 * SECOND);
    assert_int_equal(r.woken + looking.woken, 0);
}

static void the_end_wakes_all_and_lets_nobody_park(void **state)
{
    struct reader readers[10];

    (void)state;
    for (int i = 0; i < 10; i++) {
        readers[i] = reader_of(1, i, 100);
        park(&readers[i]);
    }
    rn_waiters_close(ws);
    for (int i = 0; i < 10; i++)
        assert_int_equal(readers[i].woken, 1);
    rn_waiters_begin(ws, &readers[0].waiter);
    assert_int_equal(rn_waiters_park(ws, &readers[0].waiter), RN_PARK_OVER);
    assert_int_equal(rn_waiters_count(ws), 0);
}

/* ---- threads ------------------------------------------------------------- */

enum { READERS = 4, RANGES = 3, CHANGES = 20000 };

static atomic_uint values[RANGES];

struct racer {
    struct rn_waiter waiter;
    sem_t woken;
    unsigned slow; /* waits that ended by their deadline */
};

static void racer_wake(struct rn_waiter *w)
{
    sem_post(&((struct racer *)w)->woken);
}

/* Follows a value that rises until it is at its end. */
static void *follow(void *context)
{
    struct racer *r = context;
    unsigned seen = 0;

    while (seen < CHANGES) {
        unsigned now;

        r->waiter.deadline_ns = rn_mono_ns(rn_env_real()) + 30 * SECOND;
        rn_waiters_begin(ws, &r->waiter);
        now = atomic_load(&values[r->waiter.range]);
        if (now != seen) {
            seen = now;
            rn_waiters_end(ws, &r->waiter);
        } else if (rn_waiters_park(ws, &r->waiter) == RN_PARKED) {
            sem_wait(&r->woken);
            r->slow +=
                rn_mono_ns(rn_env_real()) >= r->waiter.deadline_ns ? 1 : 0;
        }
    }
    return NULL;
}

static void *change(void *context)
{
    int64_t range = *(int64_t *)context;

    for (unsigned i = 0; i < CHANGES; i++) {
        atomic_fetch_add(&values[range], 1);
        rn_waiters_move(ws, 9, range, RN_EPK_PREFIXES_ALL);
    }
    return NULL;
}

static void no_change_is_slept_through(void **state)
{
    struct racer racers[READERS * RANGES];
    pthread_t readers[READERS * RANGES], writers[RANGES];
    int64_t ranges[RANGES];

    (void)state;
    assert_int_equal(rn_waiters_new(rn_env_real(), &ws, NULL), RN_OK);
    for (size_t i = 0; i < READERS * RANGES; i++) {
        racers[i] = (struct racer){ .waiter = { .container = 9,
                                                .range = (int64_t)i % RANGES,
                                                .wake = racer_wake } };
        sem_init(&racers[i].woken, 0, 0);
        pthread_create(&readers[i], NULL, follow, &racers[i]);
    }
    for (int64_t i = 0; i < RANGES; i++) {
        ranges[i] = i;
        pthread_create(&writers[i], NULL, change, &ranges[i]);
    }
    for (int i = 0; i < RANGES; i++)
        pthread_join(writers[i], NULL);
    for (size_t i = 0; i < READERS * RANGES; i++) {
        pthread_join(readers[i], NULL);
        assert_int_equal(racers[i].slow, 0);
        sem_destroy(&racers[i].woken);
    }
    rn_waiters_free(ws);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_waiter_is_woken_once_by_its_own_range),
        CASE(a_reader_of_several_ranges_is_woken_by_any),
        CASE(a_reader_of_a_part_is_woken_by_that_part),
        CASE(what_moves_after_begin_keeps_from_parking),
        CASE(deadlines_wake_in_their_order_and_not_before),
        CASE(a_deadline_that_comes_first_is_minded),
        CASE(those_of_one_range_are_woken_as_they_came),
        CASE(a_dismissed_one_is_neither_woken_nor_parked),
        CASE(the_end_wakes_all_and_lets_nobody_park),
        cmocka_unit_test(no_change_is_slept_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
