/* partition_delete.c -- POST .../operations/partitionkeydelete: deletes all
 * documents of one partition key value. */
#include "rest/partition_delete.h"

#include "rest/documents.h"
#include "rest/objects.h"
#include "rest/reply.h"

static enum rn_rest_step finish(struct rn_call *call)
{
    struct rn_context *x = call->state;

    rn_reply_owner(x);
    if (x->rc)
        return rn_reply_fail(x, x->rc);
    rn_reply_place(x, &x->delete_partition.place);
    rn_reply_charge(x, rn_charge_write(0));
    return rn_reply_empty(x, RN_STATUS_OK);
}

/* Thread: committer. */
static void delete_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_context *x =
        RN_CONTAINER_OF(done, struct rn_context, delete_partition.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

enum rn_rest_step rn_rest_partition_delete(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    /* A missing key never means to delete everything. */
    if (!rc && !x->has_pk) {
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "PartitionKey value must be supplied for this operation.");
    }
    if (!rc)
        rc = rn_context_whole_key(x);
    if (rc)
        return rn_reply_fail(x, rc);
    x->delete_partition.done.call = delete_done;
    x->delete_partition.container = x->container->container;
    x->delete_partition.pk = &x->pk;
    x->call->next = finish;
    rc = rn_delete_partition_start(x->rest->engine, &x->delete_partition,
                                   &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}
