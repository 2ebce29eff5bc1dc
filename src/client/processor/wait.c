/* wait.c -- calls of other threads that wait for the engine: start, stop, and
 * the checkpoints of handlers.
 */
#include "client/processor/own.h"

#include <time.h>

/* The bootstrap knows its deadline, and has the better words: a request that is
 * under way then may end. */
enum { START_GRACE_MS = 20000 };

static const int64_t ms_ns = 1000000;

/* One wait for `changed`, at most `ms`.  A simulation has no other thread that
 * could change anything: it steps the engine. */
static void wait_a_while(struct rn_engine *e, int64_t ms)
{
    struct timespec until;
    int64_t at_ns;

    if (e->env != rn_env_real()) {
        pthread_mutex_unlock(&e->lock);
        rn_engine_step(e);
        e->env->ops->sleep(e->env, ms_ns);
        pthread_mutex_lock(&e->lock);
        return;
    }
    at_ns = rn_mono_ns(e->env) + ms * ms_ns;
    until = (struct timespec){ .tv_sec = at_ns / 1000000000,
                               .tv_nsec = at_ns % 1000000000 };
    pthread_cond_timedwait(&e->changed, &e->lock, &until);
}

runnel_code rn_engine_wait_ready(struct rn_engine *e, runnel_error *error)
{
    int64_t deadline = rn_mono_ns(e->env) +
                       ((int64_t)e->config.o.start_ms + START_GRACE_MS) * ms_ns;
    runnel_code rc = RUNNEL_OK;

    pthread_mutex_lock(&e->lock);
    while (e->state == RUNNEL_STARTING && rn_mono_ns(e->env) < deadline)
        wait_a_while(e, 1000);
    if (e->failure) {
        rc = e->failure;
        if (error)
            *error = e->error;
    } else if (!e->is_ready) {
        rc = rn_error_set(error, RUNNEL_TIMEOUT,
                          "the lease store was not ready in time");
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

void rn_engine_drain(struct rn_engine *e, uint32_t deadline_ms)
{
    int64_t deadline = rn_mono_ns(e->env) + (int64_t)deadline_ms * ms_ns;

    if (!atomic_exchange(&e->wants_drain, true) ||
        deadline < atomic_load(&e->drain_deadline_ns))
        atomic_store(&e->drain_deadline_ns, deadline);
    rn_engine_rouse(e);
}

runnel_code rn_engine_wait_stopped(struct rn_engine *e, uint32_t deadline_ms,
                                   runnel_error *error)
{
    /* After the deadline batches are given up; releases may take a moment. */
    int64_t deadline =
        rn_mono_ns(e->env) + ((int64_t)deadline_ms + 5000) * ms_ns;
    runnel_code rc = RUNNEL_OK;

    pthread_mutex_lock(&e->lock);
    while (!e->is_stopped && rn_mono_ns(e->env) < deadline)
        wait_a_while(e, 1000);
    if (!e->is_stopped || e->was_abandoned)
        rc = rn_error_set(error, RUNNEL_TIMEOUT,
                          "batches without a verdict were given up");
    pthread_mutex_unlock(&e->lock);
    return rc;
}

void rn_engine_free(struct rn_engine *e)
{
    if (!e)
        return;
    rn_engine_drain(e, e->config.o.stop_ms);
    pthread_mutex_lock(&e->lock);
    while (!e->is_stopped || e->worker_count > 0)
        wait_a_while(e, 1000);
    pthread_mutex_unlock(&e->lock);
    rn_engine_kill(e);
}

/* ---- handlers' calls ----------------------------------------------------- */

void rn_engine_ack(struct rn_delivery *d, runnel_verdict verdict)
{
    d->acked_verdict = verdict == RUNNEL_PENDING ? RUNNEL_AGAIN : verdict;
    d->acked.kind = RN_MESSAGE_ACKED;
    d->acked.item = d;
    rn_engine_post(d->worker->engine, &d->acked);
}

/* The write turn is this thread's until the verdict. */
static runnel_code write_granted(struct rn_engine *e, struct rn_checkpoint *c)
{
    struct rn_worker *w = c->delivery->worker;
    runnel_lease_record record = { .id = c->record.id,
                                   .etag = c->record.etag,
                                   .json = rn_bytes_view(
                                       rn_buf_view(&c->record.json)) };
    char etag[RN_LEASE_ETAG_MAX] = "";
    runnel_code rc = e->config.table.replace(
        e->config.table.context, c->transaction, &record, etag, &c->error);

    pthread_mutex_lock(&e->lock);
    w->was_written = !rc;
    memcpy(w->granted_etag, etag, sizeof(etag));
    pthread_mutex_unlock(&e->lock);
    if (rc == RUNNEL_PRECONDITION || rc == RUNNEL_NOT_FOUND)
        rc = rn_error_set(&c->error, RUNNEL_LEASE_LOST,
                          "another host has the lease");
    return rc;
}

runnel_code rn_engine_checkpoint(struct rn_delivery *d, void *transaction,
                                 runnel_error *error)
{
    struct rn_engine *e = d->worker->engine;
    struct rn_checkpoint *c = rn_new(sizeof(*c));
    runnel_code rc;

    if (!c)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    c->delivery = d;
    c->transaction = transaction;
    c->message =
        (struct rn_message){ .kind = RN_MESSAGE_CHECKPOINT, .item = c };
    rn_store_call_init(&c->record, RN_STORE_REPLACE);
    rn_engine_post(e, &c->message);
    pthread_mutex_lock(&e->lock);
    while (!c->is_over)
        wait_a_while(e, 1000);
    pthread_mutex_unlock(&e->lock);
    rc = c->is_granted ? write_granted(e, c) : c->code;
    if (rc && error)
        *error = c->error;
    rn_store_call_release(&c->record);
    rn_free(c);
    return rc;
}
