/* store_blocking.c -- a table of functions that may block, behind a thread.
 *
 * Calls go to the thread by one queue and come back by another; the functions
 * run on that thread alone, one at a time.
 */
#include "client/lease/store.h"

struct blocking {
    struct rn_lease_store store; /* first */
    struct rn_env *env;
    runnel_lease_store table;
    struct rn_lease_store_options options;
    struct rn_task task;
    struct rn_queue asked, answered;
};

static struct blocking *blocking_of(struct rn_lease_store *store)
{
    return (struct blocking *)store;
}

static bool add_record(void *context, const runnel_lease_record *record)
{
    struct rn_lease_store_call *call = context;
    struct rn_lease_store_record found = {
        .id = rn_view_text(record->id),
        .etag = rn_view_text(record->etag ? record->etag : ""),
        .json = rn_view_bytes(record->json),
        .written_ms = record->written_ms
    };

    if (call->kind == RN_LEASE_STORE_READ && strcmp(record->id, call->id) != 0)
        return true; /* its id begins like the one that is read */
    call->code = rn_lease_store_call_add(call, &found);
    return !call->code;
}

static runnel_code list(struct blocking *b, struct rn_lease_store_call *call)
{
    runnel_code rc;

    call->code = RUNNEL_OK;
    rc = b->table.list(b->table.context, call->id, add_record, call,
                       &call->now_ms, &call->error);
    if (rc || call->code)
        return rc ? rc : call->code;
    return call->kind == RN_LEASE_STORE_READ && call->count == 0
               ? RUNNEL_NOT_FOUND
               : RUNNEL_OK;
}

static runnel_code run(struct blocking *b, struct rn_lease_store_call *call)
{
    runnel_lease_record record = {
        .id = call->id,
        .etag = call->etag[0] ? call->etag : NULL,
        .json = rn_bytes_view(rn_buf_view(&call->json)),
    };
    void *context = b->table.context;

    switch (call->kind) {
    case RN_LEASE_STORE_PREPARE:
        return RUNNEL_OK;
    case RN_LEASE_STORE_LIST:
    case RN_LEASE_STORE_READ:
        return list(b, call);
    case RN_LEASE_STORE_CREATE:
        return b->table.create(context, &record, call->new_etag, &call->error);
    case RN_LEASE_STORE_REPLACE:
        return b->table.replace(context, call->transaction, &record,
                                call->new_etag, &call->error);
    case RN_LEASE_STORE_REMOVE:
        return b->table.remove(context, call->id, record.etag, &call->error);
    }
    return RUNNEL_BAD_REQUEST;
}

static int64_t store_step(void *context)
{
    struct blocking *b = context;
    struct rn_queued *next = rn_queue_take_all(&b->asked);

    while (next) {
        struct rn_lease_store_call *call =
            RN_CONTAINER_OF(next, struct rn_lease_store_call, link);
        next = next->next;
        call->code = run(b, call);
        call->new_etag[sizeof(call->new_etag) - 1] = 0;
        if (call->code && call->error.message[0] == 0)
            rn_error_set(&call->error, call->code, "the lease store: %s",
                         runnel_code_name(call->code));
        rn_queue_push(&b->answered, &call->link);
        b->options.wake(b->options.host);
    }
    return RN_TASK_IDLE;
}

static void blocking_start(struct rn_lease_store *store,
                           struct rn_lease_store_call *call)
{
    struct blocking *b = blocking_of(store);

    call->is_under_way = true;
    call->sent_ns = rn_mono_ns(b->env);
    call->error = (runnel_error){ 0 };
    if (rn_queue_push(&b->asked, &call->link))
        b->env->ops->task_wake(b->env, &b->task);
}

static int64_t blocking_step(struct rn_lease_store *store)
{
    struct blocking *b = blocking_of(store);
    struct rn_queued *next = rn_queue_take_all(&b->answered);

    while (next) {
        struct rn_lease_store_call *call =
            RN_CONTAINER_OF(next, struct rn_lease_store_call, link);
        next = next->next;
        call->is_under_way = false;
        call->done(call);
    }
    return RN_TASK_IDLE;
}

static void blocking_close(struct rn_lease_store *store)
{
    struct blocking *b = blocking_of(store);

    b->env->ops->task_stop(b->env, &b->task);
    rn_free(b);
}

static const struct rn_lease_store_ops blocking_ops = {
    .start = blocking_start,
    .step = blocking_step,
    .close = blocking_close,
};

runnel_code
rn_lease_store_blocking_open(struct rn_env *env,
                             const runnel_lease_store *table,
                             const struct rn_lease_store_options *options,
                             struct rn_lease_store **out, runnel_error *error)
{
    struct blocking *b = rn_new(sizeof(*b));
    int failed;

    if (!b)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    b->store.ops = &blocking_ops;
    b->env = env;
    b->table = *table;
    b->options = *options;
    b->task = (struct rn_task){ .name = "runnel-leases",
                                .step = store_step,
                                .context = b };
    failed = env->ops->task_start(env, &b->task);
    if (failed) {
        rn_free(b);
        return rn_error_set(error, RUNNEL_NO_MEMORY,
                            "no thread for the lease store");
    }
    *out = &b->store;
    return RUNNEL_OK;
}
