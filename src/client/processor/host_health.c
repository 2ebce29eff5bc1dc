/* host_health.c -- counters, and the state of each lease, for the program. */
#include "client/feed/position.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

static const int64_t ms_ns = 1000000;

void rn_host_read_stats(struct rn_host *h, runnel_processor_stats *out)
{
    int64_t now_ns = rn_mono_ns(h->env);
    runnel_processor_stats s;

    pthread_mutex_lock(&h->lock);
    s = h->stats;
    s.state = h->state;
    s.is_ready = h->is_ready;
    s.is_live = h->state == RUNNEL_RUNNING &&
                now_ns - h->pass_ended_ns <
                    3 * (int64_t)h->config.o.lease_acquire_ms * ms_ns;
    s.leases_owned = 0;
    for (size_t i = 0; i < h->worker_count; i++)
        s.leases_owned += h->workers[i]->state == RN_WORKER_ACTIVE ||
                          h->workers[i]->state == RN_WORKER_OPENING;
    pthread_mutex_unlock(&h->lock);
    s.events_lost = rn_events_lost(h->events);
    s.size = out->size;
    memcpy(out, &s, out->size < sizeof(s) ? out->size : sizeof(s));
}

static const char *doing(const struct rn_worker *w)
{
    switch (w->state) {
    case RN_WORKER_ACQUIRING:
        return "acquiring";
    case RN_WORKER_OPENING:
        return "opening";
    case RN_WORKER_ACTIVE:
        if (w->window.delivered > 0)
            return "handling";
        if (w->window.slots > 0)
            return "backoff";
        return w->reader.is_asking && !w->reader.wait_s ? "reading" : "waiting";
    case RN_WORKER_LOST:
        return "lost";
    case RN_WORKER_SPLITTING:
        return "splitting";
    default:
        return "draining";
    }
}

static int64_t age(int64_t now_ns, int64_t then_ns)
{
    return then_ns ? (now_ns - then_ns) / ms_ns : -1;
}

void rn_host_each_lease(struct rn_host *h,
                        bool (*each)(void *context,
                                     const runnel_lease_health *lease),
                        void *context)
{
    int64_t now_ns = rn_mono_ns(h->env);

    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->worker_count; i++) {
        const struct rn_worker *w = h->workers[i];
        struct rn_position position = { .kind = RN_POSITION_BEGINNING };
        runnel_lease_health health = {
            .size = sizeof(health),
            .lease = w->token,
            .doing = doing(w),
            .attempt = rn_window_attempts(&w->window) + 1,
            .failures = w->read_failures + w->write_failures,
            .read_age_ms = age(now_ns, w->read_ns),
            .ack_age_ms = age(now_ns, w->acked_ns),
            .checkpoint_age_ms = age(now_ns, w->checkpointed_ns),
            .renew_age_ms = age(now_ns, w->written_ns),
            .valid_ms = (atomic_load(&w->valid_until_ns) - now_ns) / ms_ns,
        };
        if (w->document->lease.position.at &&
            !rn_position_set(&position, w->document->lease.position, NULL))
            health.position = position.etag;
        if (!each(context, &health))
            break;
    }
    pthread_mutex_unlock(&h->lock);
}
