/* base_queue_test.c -- nothing queued is lost, doubled or reordered.
 *
 * Several threads push numbered things as fast as they can while one takes.
 * Each thread's things must arrive once and in its order, and the taker, which
 * sleeps unless a push said that the queue was empty, must never sleep on.
 */
#include "base/mem.h"
#include "base/queue.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, EACH = 50000 };

struct thing {
    int thread, number;
    struct rn_queued link;
};

static struct rn_queue queue;
static sem_t wake;

static void *push_all(void *context)
{
    struct thing *things = context;

    for (int i = 0; i < EACH; i++) {
        if (rn_queue_push(&queue, &things[i].link))
            sem_post(&wake);
    }
    return NULL;
}

static void pushed_things_come_out_oldest_first(void **state)
{
    struct thing things[5];
    struct rn_queue q = RN_QUEUE_INIT;
    struct rn_queued *link;

    (void)state;
    assert_null(rn_queue_take_all(&q));
    for (int i = 0; i < 5; i++) {
        things[i].number = i;
        assert_int_equal(rn_queue_push(&q, &things[i].link), i == 0);
    }
    link = rn_queue_take_all(&q);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(RN_CONTAINER_OF(link, struct thing, link)->number, i);
        link = link->next;
    }
    assert_null(link);
    assert_null(rn_queue_take_all(&q));
    assert_true(rn_queue_push(&q, &things[0].link));
}

static void the_first_push_wakes_and_nothing_is_lost(void **state)
{
    struct thing *things = calloc(THREADS * EACH, sizeof(*things));
    pthread_t threads[THREADS];
    int next[THREADS] = { 0 }, taken = 0;

    (void)state;
    assert_non_null(things);
    sem_init(&wake, 0, 0);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < EACH; i++) {
            things[t * EACH + i].thread = t;
            things[t * EACH + i].number = i;
        }
        assert_int_equal(
            pthread_create(&threads[t], NULL, push_all, things + t * EACH), 0);
    }
    while (taken < THREADS * EACH) {
        struct rn_queued *link;
        sem_wait(&wake);
        for (link = rn_queue_take_all(&queue); link; link = link->next) {
            struct thing *thing = RN_CONTAINER_OF(link, struct thing, link);
            assert_int_equal(thing->number, next[thing->thread]);
            next[thing->thread]++;
            taken++;
        }
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_null(rn_queue_take_all(&queue));
    sem_destroy(&wake);
    free(things);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_things_come_out_oldest_first),
        cmocka_unit_test(the_first_push_wakes_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
