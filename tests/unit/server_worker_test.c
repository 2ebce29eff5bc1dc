/* server_worker_test.c -- idle workers take the work of the queue.
 *
 * Goal: nothing waits for a worker that is busy while another one rests.
 * Method: real threads; work that blocks until other work, added later, has
 * been done, so that a wrong choice is a deadlock, which a deadline finds.
 * How long work waits is counted in slices, which are as short as can be.
 */
#include "server/worker.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

#include <cmocka.h>

struct job {
    struct rn_work work;
    sem_t *waits, *posts;
    bool in_time;
};

static bool wait_for(sem_t *s)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    return sem_timedwait(s, &until) == 0;
}

static void run(struct rn_work *work)
{
    struct job *j = RN_CONTAINER_OF(work, struct job, work);

    j->in_time = !j->waits || wait_for(j->waits);
    if (j->posts)
        sem_post(j->posts);
}

static void add(struct rn_workers *w, struct job *j)
{
    j->work.run = run;
    assert_true(rn_workers_add(w, &j->work));
}

static enum rn_code new_pool(unsigned permits, unsigned runs_max,
                             struct rn_workers **out)
{
    struct rn_workers_opts opts = { .env = rn_env_real(),
                                    .permits = permits,
                                    .runs_max = runs_max,
                                    .waiting_max = 100 };

    return rn_workers_new(&opts, out, NULL);
}

static void what_comes_while_one_is_busy_goes_to_the_other(void **state)
{
    struct rn_workers *w = NULL;
    sem_t done, last;

    (void)state;
    sem_init(&done, 0, 0);
    sem_init(&last, 0, 0);
    assert_int_equal(new_pool(2, 2, &w), RN_OK);
    for (int round = 0; round < 50; round++) {
        struct job busy = { .waits = &last, .posts = &done };
        struct job quick[5] = { 0 };

        add(w, &busy);
        for (int i = 0; i < 5; i++) {
            quick[i].posts = i < 4 ? &done : &last;
            add(w, &quick[i]);
            if (i < 4)
                assert_true(wait_for(&done));
        }
        assert_true(wait_for(&done)); /* the busy one */
        assert_true(busy.in_time);
    }
    rn_workers_free(w);
    sem_destroy(&done);
    sem_destroy(&last);
}

static void what_is_left_is_done_at_the_end(void **state)
{
    struct rn_workers *w = NULL;
    struct job jobs[100] = { 0 };
    sem_t done;

    (void)state;
    sem_init(&done, 0, 0);
    assert_int_equal(new_pool(3, 3, &w), RN_OK);
    for (int i = 0; i < 100; i++) {
        jobs[i].posts = &done;
        add(w, &jobs[i]);
    }
    rn_workers_free(w);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sem_trywait(&done), 0);
    sem_destroy(&done);
}

/* ---- shares -------------------------------------------------------------- */

enum { BOMBERS = 8, PERMITS = 2, LONGS = 4, HEALTHY = 200 };

/* Works, pausing at every step, until it is asked to end. */
struct bomber {
    struct rn_work work;
    struct rn_workers *pool;
    atomic_bool *ends;
    atomic_uint *begun, *put_off;
    sem_t *done;
};

static void bomb(struct rn_work *work)
{
    struct bomber *b = RN_CONTAINER_OF(work, struct bomber, work);

    atomic_fetch_add(b->begun, 1);
    while (!atomic_load(b->ends)) {
        if (rn_workers_pause(b->pool, work)) {
            atomic_fetch_sub(b->begun, 1);
            atomic_fetch_add(b->put_off, 1);
            work->is_long = true;
            assert_true(rn_workers_add(b->pool, work));
            return;
        }
    }
    sem_post(b->done);
}

/* Quick work, which notes how long it waited. */
struct quick {
    struct rn_work work;
    uint64_t slices; /* that others had before */
    sem_t *done;
};

static void note_slices(struct rn_work *work)
{
    struct quick *q = RN_CONTAINER_OF(work, struct quick, work);

    q->slices = work->waited_slices;
    sem_post(q->done);
}

static void until(atomic_uint *count, unsigned wanted)
{
    struct timespec now, end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 30;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (atomic_load(count) < wanted && now.tv_sec < end.tv_sec);
    assert_true(atomic_load(count) >= wanted);
}

/* Until the pool has seen the end of so much work: what reports its end still
 * has its permit. */
static void until_finished(struct rn_workers *w, uint64_t wanted)
{
    struct timespec now, end;
    uint64_t count;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 30;
    do {
        struct rn_histogram waits = { 0 };

        count = 0;
        rn_workers_add_waits(w, &waits);
        for (int i = 0; i <= RN_HISTOGRAM_BOUNDS; i++)
            count += waits.counts[i];
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (count < wanted && now.tv_sec < end.tv_sec);
    assert_true(count >= wanted);
}

static void quick_work_waits_for_few_slices_beside(uint64_t bombers_are,
                                                   uint64_t it_is)
{
    struct bomber bombers[BOMBERS] = { 0 };
    struct rn_workers *w = NULL;
    atomic_bool ends = false;
    atomic_uint begun = 0, put_off = 0;
    uint64_t most = 0;
    sem_t done, quick_done;

    sem_init(&done, 0, 0);
    sem_init(&quick_done, 0, 0);
    assert_int_equal(new_pool(PERMITS, PERMITS + 2 * LONGS, &w), RN_OK);
    for (int i = 0; i < BOMBERS; i++) {
        bombers[i] =
            (struct bomber){ .work = { .run = bomb, .principal = bombers_are },
                             .pool = w,
                             .ends = &ends,
                             .begun = &begun,
                             .put_off = &put_off,
                             .done = &done };
        assert_true(rn_workers_add(w, &bombers[i].work));
    }
    until_finished(w, BOMBERS - LONGS); /* put off */
    for (int i = 0; i < HEALTHY; i++) {
        struct quick q = { .work = { .run = note_slices, .principal = it_is },
                           .done = &quick_done };

        assert_true(rn_workers_add(w, &q.work));
        assert_true(wait_for(&quick_done));
        most = q.slices > most ? q.slices : most;
        until_finished(w, (uint64_t)(BOMBERS - LONGS + i + 1));
    }
    print_message("# %d times, at most %d slices\n", HEALTHY, (int)most);
    assert_true(most <= PERMITS);
    atomic_store(&ends, true);
    for (int i = 0; i < BOMBERS; i++)
        assert_true(wait_for(&done));
    rn_workers_free(w);
    sem_destroy(&done);
    sem_destroy(&quick_done);
}

static void quick_work_waits_for_few_slices(void **state)
{
    (void)state;
    quick_work_waits_for_few_slices_beside(1, 1);
    quick_work_waits_for_few_slices_beside(1, 2);
}

static void one_principal_has_half_of_the_long_runs(void **state)
{
    struct bomber bombers[12] = { 0 };
    struct job jobs[101] = { 0 }, other = { .posts = NULL };
    struct rn_workers *w = NULL;
    struct rn_histogram waits = { 0 };
    atomic_bool ends = false;
    atomic_uint begun = 0, put_off = 0;
    sem_t done;

    (void)state;
    sem_init(&done, 0, 0);
    assert_int_equal(new_pool(PERMITS, PERMITS + 2 * LONGS, &w), RN_OK);
    for (int i = 0; i < 12; i++) {
        bombers[i] = (struct bomber){ .work = { .run = bomb, .principal = 1 },
                                      .pool = w,
                                      .ends = &ends,
                                      .begun = &begun,
                                      .put_off = &put_off,
                                      .done = &done };
        assert_true(rn_workers_add(w, &bombers[i].work));
    }
    until(&put_off, 12 - LONGS);
    assert_int_equal(atomic_load(&begun), LONGS);
    /* Those that were put off wait, and no more than so many may. */
    for (int i = 0; i < 101; i++) {
        jobs[i] = (struct job){ .work = { .run = run,
                                          .principal = 1,
                                          .is_long = true,
                                          .is_limited = true } };
        assert_int_equal(rn_workers_add(w, &jobs[i].work),
                         i < 100 - (12 - LONGS));
    }
    /* Work that is not limited is taken all the same. */
    other.work = (struct rn_work){ .run = run, .principal = 1 };
    other.posts = &done;
    assert_true(rn_workers_add(w, &other.work));
    assert_true(wait_for(&done));
    atomic_store(&ends, true);
    for (int i = 0; i < 12; i++)
        assert_true(wait_for(&done));
    rn_workers_add_waits(w, &waits);
    assert_true(waits.sum > 0);
    rn_workers_free(w);
    sem_destroy(&done);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(what_comes_while_one_is_busy_goes_to_the_other),
        cmocka_unit_test(what_is_left_is_done_at_the_end),
        cmocka_unit_test(quick_work_waits_for_few_slices),
        cmocka_unit_test(one_principal_has_half_of_the_long_runs),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
