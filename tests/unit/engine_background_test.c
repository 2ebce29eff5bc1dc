/* engine_background_test.c -- which background task gets the next slice, and
 * when.
 *
 * An engine over `mem` in the simulation, without work of its own: the test
 * makes tasks due, asks for slices in the committer's place, and ends them.
 */
#include "lib/one_container.h"

#include "engine/background.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

static int setup(void **state)
{
    (void)state;
    if (one_container_open(CONTAINER(""), 1))
        return -1;
    database_settle(&db);
    return 0;
}

static void make_due(enum rn_background_id id)
{
    rn_background_set(db.engine, id, 0);
}

/* The task that gets the next slice; none: RN_BACKGROUND_TASKS. */
static enum rn_background_id ask(int64_t *wait_ns)
{
    struct rn_operation *op = rn_background_take(db.engine, wait_ns);

    return op ? db.engine->background.current : RN_BACKGROUND_TASKS;
}

/* The slice did something, and its task may have more to do. */
static void end_slice(void)
{
    struct rn_operation *op = &db.engine->background.slice;
    struct rn_err err = { 0 };

    op->done(op, RN_OK, &err);
}

static void nothing_is_due_where_nothing_is_left_to_do(void **state)
{
    int64_t wait = 0;

    (void)state;
    assert_int_equal(ask(&wait), RN_BACKGROUND_TASKS);
    assert_true(wait == RN_TASK_IDLE);
}

static void there_is_one_slice_at_a_time(void **state)
{
    int64_t wait = 0;

    (void)state;
    make_due(RN_BACKGROUND_DROP);
    make_due(RN_BACKGROUND_REHOME);
    assert_int_equal(ask(&wait), RN_BACKGROUND_DROP);
    assert_int_equal(ask(&wait), RN_BACKGROUND_TASKS);
    assert_true(wait == RN_TASK_IDLE); /* the end of the slice asks again */
    end_slice();
    assert_in_range(ask(&wait), 0, RN_BACKGROUND_TASKS - 1);
}

static void tasks_share_the_slices_by_their_priority(void **state)
{
    static const enum rn_background_id ids[] = { RN_BACKGROUND_PURGE,
                                                 RN_BACKGROUND_DROP,
                                                 RN_BACKGROUND_REHOME };
    int counts[RN_BACKGROUND_TASKS] = { 0 }, last[RN_BACKGROUND_TASKS] = { 0 };
    int64_t wait = 0;

    (void)state;
    for (int i = 0; i < 3; i++)
        make_due(ids[i]);
    for (int i = 1; i <= 700; i++) {
        enum rn_background_id id = ask(&wait);

        assert_true(id < RN_BACKGROUND_TASKS);
        assert_true(i - last[id] < 10); /* none waits longer */
        last[id] = i;
        counts[id]++;
        end_slice();
    }
    assert_in_range(counts[RN_BACKGROUND_PURGE], 350, 450);
    assert_in_range(counts[RN_BACKGROUND_DROP], 150, 250);
    assert_in_range(counts[RN_BACKGROUND_REHOME], 70, 130);
}

static void a_task_that_is_due_later_is_waited_for(void **state)
{
    int64_t now = rn_engine_now(db.engine), wait = 0;

    (void)state;
    rn_background_set(db.engine, RN_BACKGROUND_PURGE, now + 60);
    rn_background_set(db.engine, RN_BACKGROUND_DROP, now + 5);
    rn_background_lower(db.engine, RN_BACKGROUND_DROP, now + 9);
    assert_int_equal(ask(&wait), RN_BACKGROUND_TASKS);
    assert_true(wait == 5 * S);
    rn_sim_wall_jump(db.sim, 5000);
    assert_int_equal(ask(&wait), RN_BACKGROUND_DROP);
}

static void a_distant_task_is_asked_for_once_an_hour(void **state)
{
    int64_t wait = 0;

    (void)state;
    rn_background_set(db.engine, RN_BACKGROUND_PURGE,
                      rn_engine_now(db.engine) + 86400);
    assert_int_equal(ask(&wait), RN_BACKGROUND_TASKS);
    assert_true(wait == 3600 * S);
}

/* Re-homing is paced, and dropping is not. */
static void a_paced_task_waits_while_clients_write(void **state)
{
    int64_t wait = 0;

    (void)state;
    make_due(RN_BACKGROUND_REHOME);
    db.engine->background.writes++;
    assert_int_equal(ask(&wait), RN_BACKGROUND_TASKS);
    assert_true(wait == 20 * MS);
    make_due(RN_BACKGROUND_DROP);
    assert_int_equal(ask(&wait), RN_BACKGROUND_DROP);
}

/* The next group of clients takes it along. */
static void a_paced_task_runs_with_clients_writes(void **state)
{
    struct queued q;
    int64_t wait = 0;

    (void)state;
    make_due(RN_BACKGROUND_REHOME);
    db.engine->background.writes++;
    queue_write(&q, "{\"id\":\"a\",\"pk\":1}");
    assert_int_equal(ask(&wait), RN_BACKGROUND_REHOME);
    end_slice();
    rn_background_set(db.engine, RN_BACKGROUND_REHOME, RN_NEVER);
    database_settle(&db);
    end_write(&q);
}

static void a_restart_makes_every_task_look_for_work(void **state)
{
    (void)state;
    one_container_reopen();
    for (unsigned i = 0; i < RN_BACKGROUND_TASKS; i++)
        assert_true(db.engine->background.tasks[i].due == 0);
    database_settle(&db);
    for (unsigned i = 0; i < RN_BACKGROUND_TASKS; i++)
        assert_true(db.engine->background.tasks[i].due == RN_NEVER);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_due_where_nothing_is_left_to_do),
        CASE(there_is_one_slice_at_a_time),
        CASE(tasks_share_the_slices_by_their_priority),
        CASE(a_task_that_is_due_later_is_waited_for),
        CASE(a_distant_task_is_asked_for_once_an_hour),
        CASE(a_paced_task_waits_while_clients_write),
        CASE(a_paced_task_runs_with_clients_writes),
        CASE(a_restart_makes_every_task_look_for_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
