/* server_worker_test.c -- work is done by whoever has nothing to do.
 *
 * Goal: nothing waits for a worker that is busy while another one rests.
 * Method: real threads; work that blocks until other work, added later, has
 * been done, so that a wrong choice is a deadlock, which a deadline finds.
 */
#include "server/worker.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

struct job {
    struct rn_work work;
    sem_t *waits, *tells;
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
    struct job *j = RN_QUEUED(work, struct job, work);

    j->in_time = !j->waits || wait_for(j->waits);
    if (j->tells)
        sem_post(j->tells);
}

static void add(struct rn_workers *w, struct job *j)
{
    j->work.run = run;
    rn_workers_add(w, &j->work);
}

static void what_comes_while_one_is_busy_goes_to_the_other(void **state)
{
    struct rn_workers *w = NULL;
    struct rn_err err = { 0 };
    sem_t done, last;

    (void)state;
    sem_init(&done, 0, 0);
    sem_init(&last, 0, 0);
    assert_int_equal(rn_workers_new(rn_env_real(), 2, &w, &err), RN_OK);
    for (int round = 0; round < 50; round++) {
        struct job busy = { .waits = &last, .tells = &done };
        struct job quick[5] = { 0 };

        add(w, &busy);
        for (int i = 0; i < 5; i++) {
            quick[i].tells = i < 4 ? &done : &last;
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
    struct rn_err err = { 0 };
    struct job jobs[100] = { 0 };
    sem_t done;

    (void)state;
    sem_init(&done, 0, 0);
    assert_int_equal(rn_workers_new(rn_env_real(), 3, &w, &err), RN_OK);
    for (int i = 0; i < 100; i++) {
        jobs[i].tells = &done;
        add(w, &jobs[i]);
    }
    rn_workers_free(w);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sem_trywait(&done), 0);
    sem_destroy(&done);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(what_comes_while_one_is_busy_goes_to_the_other),
        cmocka_unit_test(what_is_left_is_done_at_the_end),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
