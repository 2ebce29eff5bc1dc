/* container.c -- a container's handle, and its definition on the server. */
#include "client/api/container.h"

#include "client/account/call.h"
#include "client/api/client.h"
#include "client/api/reply.h"

runnel_code runnel_container_open(runnel_client *client, const char *database,
                                  const char *container, runnel_container **out,
                                  runnel_error *error)
{
    runnel_container *c = rn_new(sizeof(*c));
    runnel_code rc;

    if (!c)
        return rn_error_no_memory(error);
    rc = rn_client_container_open(client->account, database, container,
                                  &c->inner, error);
    if (rc)
        rn_free(c);
    else if (out)
        *out = c;
    else
        runnel_container_close(c);
    return rc;
}

void runnel_container_close(runnel_container *container)
{
    if (!container)
        return;
    rn_client_container_unref(container->inner);
    rn_free(container);
}

void runnel_container_cancel(runnel_container *container)
{
    struct rn_account *account = rn_client_container_account(container->inner);

    rn_pool_cancel(rn_account_pool(account),
                   rn_client_container_cancel(container->inner));
}

static void begin(struct rn_client_call *call, runnel_container *container,
                  const char *method)
{
    struct rn_link link = rn_client_container_link(container->inner);

    rn_client_call_init(call, rn_client_container_account(container->inner),
                        method, rn_effect_of(method, NULL), &link);
    call->cancel = rn_client_container_cancel(container->inner);
}

runnel_code runnel_container_read(runnel_container *container,
                                  runnel_reply **out, runnel_error *error)
{
    struct rn_client_call call;

    begin(&call, container, "GET");
    return rn_client_call_finish(&call, RUNNEL_OK, out, error);
}

runnel_code runnel_container_replace(runnel_container *container,
                                     runnel_bytes json, runnel_reply **out,
                                     runnel_error *error)
{
    struct rn_client_call call;

    begin(&call, container, "PUT");
    call.request.body = rn_view_bytes(json);
    return rn_client_call_finish(&call, RUNNEL_OK, out, error);
}

runnel_code runnel_container_delete(runnel_container *container,
                                    runnel_error *error)
{
    struct rn_client_call call;
    runnel_code rc;

    begin(&call, container, "DELETE");
    rc = rn_client_call_finish(&call, RUNNEL_OK, NULL, error);
    if (!rc)
        rn_client_container_forget(container->inner);
    return rc;
}
