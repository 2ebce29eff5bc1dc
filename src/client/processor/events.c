/* events.c -- the bounded queue of events and its thread; see events.h. */
#include "client/processor/events.h"

#include <pthread.h>
#include <stdio.h>

struct queued {
    struct queued *next;
    runnel_event event;
    runnel_error error;
    char message[RN_EVENT_MESSAGE_MAX];
    char lease[520];
    char host[132];
};

struct rn_events {
    struct rn_env *env;
    runnel_event_fn each;
    void *context;
    struct rn_task task;
    pthread_mutex_t lock; /* guards the rest */
    struct queued *first, *last;
    size_t count;
    uint64_t lost;
};

static struct queued *pop(struct rn_events *e)
{
    struct queued *t;

    pthread_mutex_lock(&e->lock);
    t = e->first;
    if (t) {
        e->first = t->next;
        if (!e->first)
            e->last = NULL;
        e->count--;
    }
    pthread_mutex_unlock(&e->lock);
    return t;
}

static int64_t events_step(void *context)
{
    struct rn_events *e = context;
    struct queued *t = pop(e);

    if (!t)
        return RN_TASK_IDLE;
    e->each(e->context, &t->event);
    rn_free(t);
    return RN_TASK_NOW;
}

runnel_code rn_events_new(struct rn_env *env, runnel_event_fn each,
                          void *context, struct rn_events **out)
{
    struct rn_events *e = rn_new(sizeof(*e));

    if (!e)
        return RUNNEL_NO_MEMORY;
    e->env = env;
    e->each = each;
    e->context = context;
    e->task = (struct rn_task){ .name = "runnel-events",
                                .step = events_step,
                                .context = e };
    pthread_mutex_init(&e->lock, NULL);
    if (env->ops->task_start(env, &e->task)) {
        pthread_mutex_destroy(&e->lock);
        rn_free(e);
        return RUNNEL_NO_MEMORY;
    }
    *out = e;
    return RUNNEL_OK;
}

void rn_events_free(struct rn_events *e)
{
    if (!e)
        return;
    e->env->ops->task_stop(e->env, &e->task);
    while (events_step(e) == RN_TASK_NOW)
        ;
    pthread_mutex_destroy(&e->lock);
    rn_free(e);
}

static const char *keep(const char *text, char *to, size_t room)
{
    if (!text)
        return NULL;
    snprintf(to, room, "%s", text);
    return to;
}

void rn_events_put(struct rn_events *e, const runnel_event *event)
{
    struct queued *t = rn_new(sizeof(*t));
    bool is_full;

    if (t) {
        t->event = *event;
        t->event.size = sizeof(t->event);
        t->event.time_ms = rn_wall_ms(e->env);
        t->event.message = keep(event->message, t->message, sizeof(t->message));
        t->event.lease = keep(event->lease, t->lease, sizeof(t->lease));
        t->event.host = keep(event->host, t->host, sizeof(t->host));
        if (event->error) {
            t->error = *event->error;
            t->event.error = &t->error;
        }
    }
    pthread_mutex_lock(&e->lock);
    is_full = !t || e->count == RN_EVENTS_MAX;
    if (is_full) {
        e->lost++;
    } else {
        if (e->last)
            e->last->next = t;
        else
            e->first = t;
        e->last = t;
        e->count++;
    }
    pthread_mutex_unlock(&e->lock);
    if (is_full)
        rn_free(t);
    else
        e->env->ops->task_wake(e->env, &e->task);
}

uint64_t rn_events_lost(struct rn_events *e)
{
    uint64_t lost;

    pthread_mutex_lock(&e->lock);
    lost = e->lost;
    pthread_mutex_unlock(&e->lock);
    return lost;
}
