/* patches.c -- PATCH of a document, and the execution of batches; a patch runs
 * as a batch of one.
 *
 * A batch starts in the loop and, if it would take too long there, moves to a
 * worker.  The committer hands it back to the loop.
 */
#include "rest/patches.h"

#include "rest/context.h"
#include "rest/documents.h"
#include "rest/objects.h"
#include "rest/reply.h"

/* ---- running ------------------------------------------------------------- */

static enum rn_rest_step finish(struct rn_call *call);
static enum rn_rest_step queue_patch(struct rn_context *x);

/* Thread: committer. */
static void batch_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_batch *b = RN_CONTAINER_OF(done, struct rn_batch, done);
    struct rn_context *x = b->owner;

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

/* Thread: loop, or a worker if it is not light. */
static enum rn_rest_step resume(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_batch *b = x->batch;
    enum rn_code rc;

    call->next = finish; /* from here on another thread may wake it */
    rc = b->engine ? rn_batch_resume(b, &x->err)
                   : rn_batch_start(x->rest->engine, b, &x->err);
    if (!rc)
        return RN_REST_PENDING; /* it may be finished: do not touch it */
    if (rc == RN_TIMEOUT && b->is_light) {
        b->is_light = false;
        call->next = resume;
        return RN_REST_WORK;
    }
    x->rc = rc;
    return finish(call);
}

static bool is_renamed(struct rn_context *x)
{
    const struct rn_batch_operation *op = x->batch->operations;

    return !x->rc && op->rid && op->code == RN_NOT_FOUND &&
           rn_context_is_renamed(x);
}

static enum rn_rest_step finish(struct rn_call *call)
{
    struct rn_context *x = call->state;
    enum rn_rest_step step;

    if (!x->rc && x->batch->is_unfinished) {
        x->batch->is_light = true;
        return resume(call);
    }
    if (is_renamed(x)) {
        rn_batch_release(x->batch);
        return queue_patch(x);
    }
    rn_reply_owner(x);
    if (!x->rc && x->batch->place.lsn)
        rn_reply_place(x, &x->batch->place);
    step = x->answer(x);
    rn_batch_release(x->batch);
    return step;
}

enum rn_rest_step rn_context_run_batch(struct rn_context *x,
                                       rn_handler_fn *answer)
{
    x->answer = answer;
    x->batch->done.call = batch_done;
    x->batch->owner = x;
    x->batch->is_light = true;
    return resume(x->call);
}

/* ---- one document -------------------------------------------------------- */

static enum rn_rest_step answer_patch(struct rn_context *x)
{
    const struct rn_batch_operation *op = x->batch->operations;

    if (x->rc)
        return rn_reply_fail(x, x->rc);
    if (op->code) {
        x->err = op->err;
        return rn_reply_fail(x, op->code);
    }
    rn_reply_charge(x, rn_charge_write(op->stored.len));
    rn_reply_etag(x, op->place.etag);
    if (rn_context_wants_minimal(x))
        return rn_reply_empty(x, RN_STATUS_OK);
    if (rn_buf_add(&x->call->body, op->stored))
        return rn_reply_fail(x, RN_NOMEM);
    return rn_reply_json(x, RN_STATUS_OK);
}

static enum rn_rest_step queue_patch(struct rn_context *x)
{
    struct rn_view id, body = x->call->req->body;
    struct rn_batch *b;
    struct rn_batch_operation *op;
    uint64_t rid;
    enum rn_code rc = rn_context_name_document(x, &id, &rid);

    if (!rc)
        rc = rn_context_whole_key(x);
    if (!rc)
        rc = rn_context_text(x, &body, RN_DOCUMENT_MAX);
    if (rc)
        return rn_reply_fail(x, rc);
    if (body.len > RN_DOCUMENT_MAX) {
        return rn_reply_fail(x, rn_fail(&x->err, RN_TOO_LARGE,
                                        "Message: {\"Errors\":[\"Request size "
                                        "is too large\"]}"));
    }
    b = rn_arena_alloc(&x->call->arena, sizeof(*b));
    op = rn_arena_alloc(&x->call->arena, sizeof(*op));
    if (!b || !op)
        return rn_reply_fail(x, RN_NOMEM);
    *b = (struct rn_batch){ .mode = RN_BATCH_ATOMIC,
                            .container = x->container->container,
                            .pk = &x->pk,
                            .operations = op,
                            .count = 1 };
    *op = (struct rn_batch_operation){
        .is_linkless = rn_context_flag(x, RN_HEADER_EXCLUDE_SYSTEM),
        .verb = RN_DOCUMENT_PATCH,
        .pk = &x->pk,
        .id = id,
        .rid = rid,
        .body = body,
        .conditions = { rn_context_header(x, RN_HEADER_IF_MATCH),
                        rn_context_header(x, RN_HEADER_IF_NONE_MATCH) },
    };
    x->batch = b;
    return rn_context_run_batch(x, answer_patch);
}

enum rn_rest_step rn_rest_document_patch(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_context_refuse_triggers(x);
    return rc ? rn_reply_fail(x, rc) : queue_patch(x);
}
