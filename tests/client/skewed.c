/* skewed.c -- see skewed.h. */
#include "client/skewed.h"

#include <errno.h>

/* Runs in the inner env in place of a task of the host. */
struct skewed_task {
    struct skewed_task *next;
    struct rn_task task;
    struct rn_task *of;
    struct skewed *host;
};

static struct skewed *host_of(struct rn_env *env)
{
    return (struct skewed *)env;
}

static int64_t mono_ns(struct rn_env *env)
{
    struct skewed *s = host_of(env);

    return rn_mono_ns(s->inner) / 100 * (100 + s->drift);
}

static int64_t wall_ms(struct rn_env *env)
{
    struct skewed *s = host_of(env);
    int64_t drifted = mono_ns(env) - rn_mono_ns(s->inner);

    return rn_wall_ms(s->inner) + s->ahead_ms + drifted / 1000000;
}

static void sleep_ns(struct rn_env *env, int64_t ns)
{
    struct skewed *s = host_of(env);

    s->inner->ops->sleep(s->inner, ns);
}

static void random_fill(struct rn_env *env, void *out, size_t len)
{
    rn_random(host_of(env)->inner, out, len);
}

static int64_t step(void *context)
{
    struct skewed_task *t = context;
    int64_t ns;

    if (t->host->is_paused)
        return RN_TASK_IDLE;
    ns = t->of->step(t->of->context);
    return ns == RN_TASK_IDLE ? ns : ns / (100 + t->host->drift) * 100;
}

static int task_start(struct rn_env *env, struct rn_task *task)
{
    struct skewed *s = host_of(env);
    struct skewed_task *t = rn_new(sizeof(*t));
    int error;

    if (!t)
        return ENOMEM;
    t->of = task;
    t->host = s;
    t->task =
        (struct rn_task){ .name = task->name, .step = step, .context = t };
    error = s->inner->ops->task_start(s->inner, &t->task);
    if (error) {
        rn_free(t);
        return error;
    }
    t->next = s->tasks;
    s->tasks = t;
    task->running = t;
    return 0;
}

static void task_wake(struct rn_env *env, struct rn_task *task)
{
    struct skewed *s = host_of(env);
    struct skewed_task *t = task->running;

    if (t)
        s->inner->ops->task_wake(s->inner, &t->task);
}

static void task_stop(struct rn_env *env, struct rn_task *task)
{
    struct skewed *s = host_of(env);
    struct skewed_task **at = &s->tasks;
    struct skewed_task *t = task->running;

    if (!t)
        return;
    s->inner->ops->task_stop(s->inner, &t->task);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    task->running = NULL;
    rn_free(t);
}

void skewed_init(struct skewed *s, struct rn_env *inner)
{
    *s = (struct skewed){ .inner = inner, .ops = *inner->ops };
    s->ops.name = "skewed";
    s->ops.mono_ns = mono_ns;
    s->ops.wall_ms = wall_ms;
    s->ops.sleep = sleep_ns;
    s->ops.random = random_fill;
    s->ops.task_start = task_start;
    s->ops.task_wake = task_wake;
    s->ops.task_stop = task_stop;
    s->env.ops = &s->ops;
}

void skewed_wake(struct skewed *s)
{
    for (struct skewed_task *t = s->tasks; t; t = t->next)
        s->inner->ops->task_wake(s->inner, &t->task);
}

void skewed_pause(struct skewed *s, bool is_paused)
{
    s->is_paused = is_paused;
    if (!is_paused)
        skewed_wake(s);
}
