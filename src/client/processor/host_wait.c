/* host_wait.c -- calls of other threads that block on the host: start, stop,
 * and the checkpoints of handlers. */
#include "client/processor/host.h"
#include "client/processor/state.h"
#include "client/processor/write.h"

#include <time.h>

/* The bootstrap has its own deadline and the better error message: a request in
 * progress at that time may end. */
enum { START_GRACE_MS = 20000 };

static const int64_t ms_ns = 1000000;

/* One wait for `changed`, at most `ms`.  A simulation has no other thread that
 * could change anything: it steps the host. */
static void wait_a_while(struct rn_host *h, int64_t ms)
{
    struct timespec until;

    if (h->env != rn_env_real()) {
        pthread_mutex_unlock(&h->lock);
        rn_host_step(h);
        h->env->ops->sleep(h->env, ms_ns);
        pthread_mutex_lock(&h->lock);
        return;
    }
    until = rn_cond_deadline(ms * ms_ns);
    pthread_cond_timedwait(&h->changed, &h->lock, &until);
}

runnel_code rn_host_wait_ready(struct rn_host *h, runnel_error *error)
{
    int64_t deadline = rn_mono_ns(h->env) +
                       ((int64_t)h->config.o.start_ms + START_GRACE_MS) * ms_ns;
    runnel_code rc = RUNNEL_OK;

    pthread_mutex_lock(&h->lock);
    while (h->state == RUNNEL_STARTING && rn_mono_ns(h->env) < deadline)
        wait_a_while(h, 1000);
    if (h->failure) {
        rc = h->failure;
        if (error)
            *error = h->error;
    } else if (!h->is_ready) {
        rc = rn_error_set(error, RUNNEL_TIMEOUT,
                          "the lease store was not ready in time");
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

void rn_host_drain(struct rn_host *h, uint32_t deadline_ms)
{
    int64_t deadline = rn_mono_ns(h->env) + (int64_t)deadline_ms * ms_ns;
    int64_t before = atomic_load(&h->drain_deadline_ns);

    while (deadline < before && !atomic_compare_exchange_weak(
                                    &h->drain_deadline_ns, &before, deadline))
        ;
    /* After the deadline: the host may look at once. */
    atomic_store(&h->wants_drain, true);
    rn_host_rouse(h);
}

runnel_code rn_host_wait_stopped(struct rn_host *h, uint32_t deadline_ms,
                                 runnel_error *error)
{
    /* After the deadline batches are given up; releases may take a moment. */
    int64_t deadline =
        rn_mono_ns(h->env) + ((int64_t)deadline_ms + 5000) * ms_ns;
    runnel_code rc = RUNNEL_OK;

    pthread_mutex_lock(&h->lock);
    while (!h->is_stopped && rn_mono_ns(h->env) < deadline)
        wait_a_while(h, 1000);
    if (!h->is_stopped || h->was_abandoned)
        rc = rn_error_set(error, RUNNEL_TIMEOUT,
                          "batches without a verdict were given up");
    pthread_mutex_unlock(&h->lock);
    return rc;
}

void rn_host_free(struct rn_host *h)
{
    if (!h)
        return;
    rn_host_drain(h, h->config.o.stop_ms);
    pthread_mutex_lock(&h->lock);
    while (!h->is_stopped || h->worker_count > 0)
        wait_a_while(h, 1000);
    pthread_mutex_unlock(&h->lock);
    rn_host_kill(h);
}

/* ---- handlers' calls ----------------------------------------------------- */

void rn_host_ack(struct rn_delivery *d, runnel_verdict verdict)
{
    if (atomic_exchange(&d->is_answered, true))
        return; /* one verdict is enough */
    d->acked_verdict = verdict == RUNNEL_PENDING ? RUNNEL_AGAIN : verdict;
    d->acked.kind = RN_MESSAGE_ACKED;
    d->acked.item = d;
    rn_host_post(d->worker->host, &d->acked);
}

/* The write turn is this thread's until the verdict. */
static runnel_code write_granted(struct rn_host *h,
                                 struct rn_checkpoint_wait *c)
{
    struct rn_worker *w = c->delivery->worker;
    runnel_lease_record record = { .id = c->record.id,
                                   .etag = c->record.etag,
                                   .json = rn_bytes_view(
                                       rn_buf_view(&c->record.json)) };
    char etag[RN_LEASE_ETAG_MAX] = "";
    runnel_code rc = h->config.table.replace(
        h->config.table.context, c->transaction, &record, etag, &c->error);

    pthread_mutex_lock(&h->lock);
    w->was_written = !rc;
    etag[sizeof(etag) - 1] = 0;
    memcpy(w->granted_etag, etag, sizeof(etag));
    pthread_mutex_unlock(&h->lock);
    if (rc == RUNNEL_PRECONDITION || rc == RUNNEL_NOT_FOUND)
        rc = rn_error_set(&c->error, RUNNEL_LEASE_LOST,
                          "another host has the lease");
    return rc;
}

runnel_code rn_host_checkpoint(struct rn_delivery *d, void *transaction,
                               runnel_error *error)
{
    struct rn_host *h = d->worker->host;
    struct rn_checkpoint_wait *c = rn_new(sizeof(*c));
    runnel_code rc;

    if (!c)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    c->delivery = d;
    c->transaction = transaction;
    c->message =
        (struct rn_message){ .kind = RN_MESSAGE_CHECKPOINT, .item = c };
    rn_lease_store_call_init(&c->record, RN_LEASE_STORE_REPLACE);
    rn_host_post(h, &c->message);
    pthread_mutex_lock(&h->lock);
    while (!c->is_over)
        wait_a_while(h, 1000);
    pthread_mutex_unlock(&h->lock);
    rc = c->is_granted ? write_granted(h, c) : c->code;
    if (rc && error)
        *error = c->error;
    rn_lease_store_call_release(&c->record);
    rn_free(c);
    return rc;
}
