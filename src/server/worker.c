/* worker.c -- see worker.h. */
#include "server/worker.h"

#include <pthread.h>

enum { WORKERS_MAX = 64 };

struct worker {
    struct rn_workers *pool;
    struct rn_task task;
    bool rests; /* it found nothing to do; the pool's lock */
};

struct rn_workers {
    struct rn_env *env;
    pthread_mutex_t lock;
    struct rn_work *first, **end; /* oldest first */
    unsigned count;
    struct worker workers[WORKERS_MAX];
};

/* `me` is NULL at the end, when nobody is left. */
static struct rn_work *take(struct rn_workers *w, struct worker *me)
{
    struct rn_work *work;

    pthread_mutex_lock(&w->lock);
    work = w->first;
    if (work) {
        w->first = work->next;
        if (!w->first)
            w->end = &w->first;
    }
    if (me)
        me->rests = !work;
    pthread_mutex_unlock(&w->lock);
    return work;
}

static int64_t step(void *context)
{
    struct worker *me = context;
    struct rn_work *work = take(me->pool, me);

    if (!work)
        return RN_TASK_IDLE;
    work->run(work);
    return RN_TASK_NOW;
}

enum rn_code rn_workers_new(struct rn_env *env, unsigned count,
                            struct rn_workers **out, struct rn_err *err)
{
    struct rn_workers *w = rn_new(sizeof(*w));
    int error = 0;

    if (!w)
        return rn_fail(err, RN_NOMEM, "workers: out of memory");
    w->env = env;
    w->end = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    count = count < WORKERS_MAX ? count : WORKERS_MAX;
    for (unsigned i = 0; i < count && !error; i++) {
        struct worker *me = &w->workers[i];
        me->pool = w;
        me->task =
            (struct rn_task){ .name = "worker", .step = step, .context = me };
        error = env->ops->task_start(env, &me->task);
        w->count += !error;
    }
    if (error) {
        rn_workers_free(w);
        return rn_fail_errno(err, error, "starting workers");
    }
    *out = w;
    return RN_OK;
}

void rn_workers_free(struct rn_workers *w)
{
    struct rn_work *work;

    if (!w)
        return;
    for (unsigned i = 0; i < w->count; i++)
        w->env->ops->task_stop(w->env, &w->workers[i].task);
    for (work = take(w, NULL); work; work = take(w, NULL))
        work->run(work);
    pthread_mutex_destroy(&w->lock);
    rn_free(w);
}

/* One that rests; those at work look again before they do. */
static struct worker *find_idle(struct rn_workers *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (w->workers[i].rests) {
            w->workers[i].rests = false;
            return &w->workers[i];
        }
    }
    return NULL;
}

void rn_workers_add(struct rn_workers *w, struct rn_work *work)
{
    struct worker *idle;

    work->next = NULL;
    pthread_mutex_lock(&w->lock);
    *w->end = work;
    w->end = &work->next;
    idle = find_idle(w);
    pthread_mutex_unlock(&w->lock);
    if (idle)
        w->env->ops->task_wake(w->env, &idle->task);
}
