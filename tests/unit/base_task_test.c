/* base_task_test.c -- tasks of the machine step when they should.
 *
 * They are checked by conditions that they set under a lock; nothing sleeps to
 * wait for them.  Tasks of the simulation are in base_sim_test.c.
 */
#include "base/env.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

static struct rn_env *env;

/* Counts its steps; waits as ordered. */
struct counter {
    struct rn_task task;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int steps;
    int64_t answer;
    char name[16];
    sigset_t blocked;
};

static int64_t count_step(void *context)
{
    struct counter *c = context;
    int64_t answer;

    pthread_mutex_lock(&c->lock);
    if (c->steps++ == 0) {
        pthread_getname_np(pthread_self(), c->name, sizeof(c->name));
        pthread_sigmask(SIG_BLOCK, NULL, &c->blocked);
    }
    answer = c->answer;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return answer;
}

static void start_counter(struct counter *c, int64_t answer)
{
    *c = (struct counter){ .answer = answer };
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->task = (struct rn_task){ .name = "a task with a long name",
                                .step = count_step,
                                .context = c };
    assert_int_equal(env->ops->task_start(env, &c->task), 0);
}

static void wait_for_steps(struct counter *c, int steps)
{
    pthread_mutex_lock(&c->lock);
    while (c->steps < steps)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void an_idle_task_steps_once_per_wake(void **state)
{
    struct counter c;

    (void)state;
    start_counter(&c, RN_TASK_IDLE);
    for (int i = 1; i <= 1000; i++) {
        wait_for_steps(&c, i);
        env->ops->task_wake(env, &c.task);
    }
    wait_for_steps(&c, 1001);
    env->ops->task_stop(env, &c.task);
    assert_int_equal(c.steps, 1001);
    assert_null(c.task.running);
}

static void a_task_runs_again_when_its_time_has_come(void **state)
{
    struct counter c;
    int64_t before = rn_mono_ns(env);

    (void)state;
    start_counter(&c, 2000000);
    wait_for_steps(&c, 4);
    env->ops->task_stop(env, &c.task);
    assert_true(rn_mono_ns(env) - before >= 6000000);

    start_counter(&c, RN_TASK_NOW);
    wait_for_steps(&c, 100);
    env->ops->task_stop(env, &c.task);
}

static void a_wake_ends_a_long_wait(void **state)
{
    struct counter c;

    (void)state;
    start_counter(&c, INT64_MAX - 1); /* the sum must not overflow either */
    wait_for_steps(&c, 1);
    env->ops->task_wake(env, &c.task);
    wait_for_steps(&c, 2);
    env->ops->task_stop(env, &c.task); /* and so does a stop */
    assert_int_equal(c.steps, 2);
}

struct self_waker {
    struct rn_task task;
    int steps;
    pthread_mutex_t lock;
};

static int64_t wake_self(void *context)
{
    struct self_waker *w = context;
    bool more;

    pthread_mutex_lock(&w->lock);
    more = ++w->steps < 50;
    pthread_mutex_unlock(&w->lock);
    if (more)
        env->ops->task_wake(env, &w->task);
    return RN_TASK_IDLE;
}

static void a_wake_during_a_step_is_kept_for_the_next(void **state)
{
    struct self_waker w = { .task = { .name = "self", .step = wake_self } };
    int steps;

    (void)state;
    w.task.context = &w;
    pthread_mutex_init(&w.lock, NULL);
    assert_int_equal(env->ops->task_start(env, &w.task), 0);
    do {
        pthread_mutex_lock(&w.lock);
        steps = w.steps;
        pthread_mutex_unlock(&w.lock);
        sched_yield();
    } while (steps < 50);
    env->ops->task_stop(env, &w.task);
    assert_int_equal(w.steps, 50);
}

static void *wake_often(void *context)
{
    struct counter *c = context;

    for (int i = 0; i < 20000; i++)
        env->ops->task_wake(env, &c->task);
    return NULL;
}

static void many_may_wake_one(void **state)
{
    struct counter c;
    pthread_t wakers[4];
    int steps;

    (void)state;
    start_counter(&c, RN_TASK_IDLE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&wakers[i], NULL, wake_often, &c), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(wakers[i], NULL);
    /* after the last wake there is a step that began after it */
    pthread_mutex_lock(&c.lock);
    steps = c.steps;
    pthread_mutex_unlock(&c.lock);
    env->ops->task_wake(env, &c.task);
    wait_for_steps(&c, steps + 1);
    env->ops->task_stop(env, &c.task);
}

static void a_task_thread_has_its_name_and_no_signals(void **state)
{
    struct counter c;
    sigset_t before, after;

    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    start_counter(&c, RN_TASK_IDLE);
    wait_for_steps(&c, 1);
    env->ops->task_stop(env, &c.task);
    pthread_sigmask(SIG_BLOCK, NULL, &after);

    assert_string_equal(c.name, "a task with a l");
    assert_true(sigismember(&c.blocked, SIGTERM));
    assert_true(sigismember(&c.blocked, SIGINT));
    assert_true(sigismember(&c.blocked, SIGPIPE));
    assert_false(sigismember(&c.blocked, SIGSEGV));
    assert_false(sigismember(&c.blocked, SIGBUS));
    assert_false(sigismember(&c.blocked, SIGFPE));
    assert_false(sigismember(&c.blocked, SIGILL));
    assert_int_equal(sigismember(&before, SIGTERM),
                     sigismember(&after, SIGTERM));
}

/* Of a thread, as sched_getattr(2) returns it. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

static int64_t look_at_own(void *context)
{
    struct attributes *own = context;

    if (syscall(SYS_sched_getattr, 0, own, sizeof(*own), 0))
        own->size = 0;
    return RN_TASK_IDLE;
}

static struct attributes attributes_of_task(bool is_prompt)
{
    struct attributes own = { 0 };
    struct rn_task task = { .name = "own",
                            .step = look_at_own,
                            .context = &own,
                            .is_prompt = is_prompt };

    assert_int_equal(env->ops->task_start(env, &task), 0);
    env->ops->task_stop(env, &task);
    assert_int_not_equal(own.size, 0);
    return own;
}

/* From Linux 6.12 on a thread has a slice of its own. */
static bool knows_slices(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    return !uname(&name) &&
           sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 12));
}

static void a_prompt_task_has_a_short_slice_and_all_else_as_others(void **state)
{
    struct attributes usual = attributes_of_task(false);
    struct attributes prompt = attributes_of_task(true);

    (void)state;
    assert_int_equal(prompt.policy, usual.policy);
    assert_int_equal(prompt.nice, usual.nice);
    if (!knows_slices())
        skip();
    assert_int_equal(prompt.slice_ns, 100000);
    assert_true(usual.slice_ns > prompt.slice_ns);
}

static void stopping_what_never_started_is_harmless(void **state)
{
    struct rn_task task = { .name = "none" };

    (void)state;
    env->ops->task_wake(env, &task);
    env->ops->task_stop(env, &task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_task_steps_once_per_wake),
        cmocka_unit_test(a_task_runs_again_when_its_time_has_come),
        cmocka_unit_test(a_wake_ends_a_long_wait),
        cmocka_unit_test(a_wake_during_a_step_is_kept_for_the_next),
        cmocka_unit_test(many_may_wake_one),
        cmocka_unit_test(a_task_thread_has_its_name_and_no_signals),
        cmocka_unit_test(
            a_prompt_task_has_a_short_slice_and_all_else_as_others),
        cmocka_unit_test(stopping_what_never_started_is_harmless),
    };

    env = rn_env_real();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
