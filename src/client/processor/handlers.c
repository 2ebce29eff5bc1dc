/* handlers.c -- a pool of tasks that run jobs in order of their arrival. */
#include "client/processor/handlers.h"

#include <pthread.h>

enum { IDLE_MS = 10000 };

struct handler {
    struct rn_task task;
    struct rn_handlers *pool;
    bool is_started, is_idle;
    int64_t idle_since_ns;
};

struct rn_handlers {
    struct rn_env *env;
    pthread_mutex_t lock; /* guards the list and the flags of handlers */
    struct rn_job *first, *last;
    size_t limit;
    struct handler *all;
};

static _Thread_local bool is_inside;

bool rn_handlers_is_inside(void)
{
    return is_inside;
}

static struct rn_job *pop(struct rn_handlers *h)
{
    struct rn_job *job = h->first;

    if (job) {
        h->first = job->next;
        if (!h->first)
            h->last = NULL;
        job->is_queued = false;
    }
    return job;
}

static int64_t handler_step(void *context)
{
    struct handler *t = context;
    struct rn_handlers *h = t->pool;
    struct rn_job *job;

    pthread_mutex_lock(&h->lock);
    job = pop(h);
    if (!job) {
        t->is_idle = true;
        t->idle_since_ns = rn_mono_ns(h->env);
    }
    pthread_mutex_unlock(&h->lock);
    if (!job)
        return RN_TASK_IDLE;
    is_inside = true;
    job->run(job);
    is_inside = false;
    return RN_TASK_NOW;
}

struct rn_handlers *rn_handlers_new(struct rn_env *env, size_t limit)
{
    struct rn_handlers *h = rn_new(sizeof(*h));

    if (!h)
        return NULL;
    h->all = rn_new(limit * sizeof(*h->all));
    if (!h->all) {
        rn_free(h);
        return NULL;
    }
    h->env = env;
    h->limit = limit;
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void rn_handlers_free(struct rn_handlers *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->limit; i++)
        h->env->ops->task_stop(h->env, &h->all[i].task);
    pthread_mutex_destroy(&h->lock);
    rn_free(h->all);
    rn_free(h);
}

/* An idle thread, or a place for a new one; it is taken.  Locked. */
static struct handler *choose(struct rn_handlers *h)
{
    struct handler *fresh = NULL;

    for (size_t i = 0; i < h->limit; i++) {
        struct handler *t = &h->all[i];
        if (t->is_started && t->is_idle) {
            t->is_idle = false;
            return t;
        }
        if (!t->is_started && !fresh)
            fresh = t;
    }
    if (fresh)
        fresh->is_started = true;
    return fresh;
}

/* Lets a chosen one run; without memory for a thread the job waits. */
static void rouse(struct rn_handlers *h, struct handler *t)
{
    if (t->task.running) {
        h->env->ops->task_wake(h->env, &t->task);
        return;
    }
    t->pool = h;
    t->task = (struct rn_task){ .name = "runnel-handler",
                                .step = handler_step,
                                .context = t };
    if (h->env->ops->task_start(h->env, &t->task)) {
        pthread_mutex_lock(&h->lock);
        t->is_started = false;
        pthread_mutex_unlock(&h->lock);
    }
}

void rn_handlers_push(struct rn_handlers *h, struct rn_job *job)
{
    struct handler *t;

    pthread_mutex_lock(&h->lock);
    job->next = NULL;
    job->is_queued = true;
    if (h->last)
        h->last->next = job;
    else
        h->first = job;
    h->last = job;
    t = choose(h);
    pthread_mutex_unlock(&h->lock);
    if (t)
        rouse(h, t);
}

bool rn_handlers_cancel(struct rn_handlers *h, struct rn_job *job)
{
    struct rn_job **at = &h->first;
    struct rn_job *before = NULL;
    bool was_queued;

    pthread_mutex_lock(&h->lock);
    was_queued = job->is_queued;
    if (was_queued) {
        for (; *at != job; at = &(*at)->next)
            before = *at;
        *at = job->next;
        if (h->last == job)
            h->last = before;
        job->is_queued = false;
    }
    pthread_mutex_unlock(&h->lock);
    return was_queued;
}

void rn_handlers_trim(struct rn_handlers *h)
{
    int64_t now_ns = rn_mono_ns(h->env);
    struct handler *waiting = NULL;

    for (size_t i = 0; i < h->limit; i++) {
        struct handler *t = &h->all[i];
        bool is_old;
        pthread_mutex_lock(&h->lock);
        is_old = t->is_started && t->is_idle &&
                 now_ns - t->idle_since_ns > (int64_t)IDLE_MS * 1000000;
        if (is_old)
            t->is_idle = false; /* no other thread wakes it now */
        pthread_mutex_unlock(&h->lock);
        if (is_old) {
            h->env->ops->task_stop(h->env, &t->task);
            pthread_mutex_lock(&h->lock);
            t->is_started = false;
            pthread_mutex_unlock(&h->lock);
        }
    }
    pthread_mutex_lock(&h->lock);
    if (h->first)
        waiting = choose(h);
    pthread_mutex_unlock(&h->lock);
    if (waiting)
        rouse(h, waiting);
}
