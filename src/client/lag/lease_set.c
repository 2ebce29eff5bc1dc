/* lease_set.c -- see lease_set.h. */
#include "client/lag/lease_set.h"

#include "client/lease/expiry.h"
#include "client/lease/property.h"

#include <stdio.h>

enum {
    ROUNDS_MAX = 20,
    EXPIRE_MS = 60000, /* the default of all libraries */
};

static void wake_transport(void *context)
{
    struct rn_lease_set *s = context;

    s->transport->ops->wake(s->transport);
}

runnel_code rn_lease_set_open(struct rn_lease_set *s,
                              const runnel_lease_set *set,
                              struct rn_client_container *source,
                              struct rn_client_container *leases,
                              runnel_error *error)
{
    struct rn_account *account = rn_client_container_account(source);
    struct rn_lease_store_options options = { .wake = wake_transport,
                                              .host = s };
    struct rn_lease_store_call call;
    runnel_code rc;

    *s = (struct rn_lease_set){ .env = rn_account_env(account),
                                .source = source };
    if (!set->name || (leases != NULL) == (set->lease_store != NULL)) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a lease set needs a name, and one of leases and "
                            "lease_store");
    }
    rc = rn_pool_take_own(rn_account_pool(account), &s->transport, error);
    if (!rc) {
        rc = leases ? rn_lease_store_container_open(leases, s->transport,
                                                    &options, &s->store, error)
                    : rn_lease_store_blocking_open(s->env, set->lease_store,
                                                   &options, &s->store, error);
    }
    if (!rc)
        rc = rn_client_container_define(source, NULL, &s->definition, error);
    if (!rc)
        rc = rn_listing_base(set->name, source, s->definition->rid, s->base,
                             error);
    if (!rc) {
        rn_lease_store_call_init(&call, RN_LEASE_STORE_PREPARE);
        rc = rn_lease_set_run(s, &call, error);
        rn_lease_store_call_release(&call);
    }
    return rc;
}

void rn_lease_set_close(struct rn_lease_set *s)
{
    if (s->store)
        s->store->ops->close(s->store);
    rn_definition_unref(s->definition);
    if (s->transport)
        rn_pool_give(rn_account_pool(rn_client_container_account(s->source)),
                     s->transport);
    *s = (struct rn_lease_set){ 0 };
}

static void call_done(struct rn_lease_store_call *call)
{
    bool *is_over = call->context;

    *is_over = true;
}

runnel_code rn_lease_set_run(struct rn_lease_set *s,
                             struct rn_lease_store_call *call,
                             runnel_error *error)
{
    bool is_over = false;

    call->done = call_done;
    call->context = &is_over;
    s->store->ops->start(s->store, call);
    while (!is_over) {
        int64_t next = s->store->ops->step(s->store);
        if (!is_over)
            s->transport->ops->wait(s->transport, next);
    }
    if (call->code && error)
        *error = call->error;
    return call->code;
}

runnel_code rn_lease_set_list(struct rn_lease_set *s, struct rn_listing *out,
                              runnel_error *error)
{
    struct rn_lease_store_call call;
    runnel_code rc;

    rn_lease_store_call_init(&call, RN_LEASE_STORE_LIST);
    snprintf(call.id, sizeof(call.id), "%s.", s->base);
    rc = rn_lease_set_run(s, &call, error);
    if (!rc)
        rc = rn_listing_read(out, s->base, &call, error);
    rn_lease_store_call_release(&call);
    return rc;
}

runnel_code rn_lease_set_route(struct rn_lease_set *s, struct rn_listing *out,
                               struct rn_routing **map, runnel_error *error)
{
    runnel_code rc =
        rn_client_container_route(s->source, NULL, NULL, map, error);

    if (!rc)
        rc = rn_lease_set_list(s, out, error);
    if (!rc)
        rn_listing_route(out, *map);
    return rc;
}

bool rn_lease_set_is_held(const struct rn_lease *lease, int64_t now_ms)
{
    struct rn_lease_expiry expiry = { .expire_ms = EXPIRE_MS,
                                      .now_ms = now_ms };
    uint32_t expire_ms = rn_lease_expire_ms(lease);
    bool is_over;

    if (!lease->owner.at)
        return false;
    if (expire_ms && rn_lease_is_native(lease))
        expiry.expire_ms = expire_ms;
    is_over = now_ms != 0 && rn_lease_expiry_is_over(&expiry, lease);
    rn_lease_expiry_release(&expiry);
    return !is_over;
}

static runnel_code read_again(struct rn_lease_set *s,
                              struct rn_lease_store_call *call,
                              struct rn_lease_document **document,
                              runnel_error *error)
{
    struct rn_lease_document *fresh = NULL;
    runnel_code rc;

    rn_lease_store_call_release(call);
    rn_lease_store_call_init(call, RN_LEASE_STORE_READ);
    rc = rn_listing_address(call, &(*document)->lease);
    if (!rc)
        rc = rn_lease_set_run(s, call, error);
    if (!rc)
        rc = rn_lease_store_record_lease(&call->records[0], &fresh, error);
    if (!rc) {
        rn_lease_document_free(*document);
        *document = fresh;
    }
    return rc;
}

runnel_code rn_lease_set_change(struct rn_lease_set *s,
                                struct rn_lease_document **document,
                                rn_lease_change_fn *change, void *context,
                                runnel_error *error)
{
    struct rn_lease_store_call call;
    runnel_code rc = RUNNEL_PRECONDITION;

    rn_lease_store_call_init(&call, RN_LEASE_STORE_REPLACE);
    for (int i = 0; i < ROUNDS_MAX && rc == RUNNEL_PRECONDITION; i++) {
        struct rn_lease next = (*document)->lease;
        if (!change(context, &next)) {
            rc = RUNNEL_OK;
            break;
        }
        rn_lease_store_call_release(&call);
        rn_lease_store_call_init(&call, RN_LEASE_STORE_REPLACE);
        rc = rn_listing_address(&call, &next);
        if (!rc)
            rc = rn_lease_print(&next, &call.json);
        if (!rc)
            rc = rn_lease_set_run(s, &call, error);
        if (rc == RUNNEL_PRECONDITION || rc == RUNNEL_UNCERTAIN) {
            rc = read_again(s, &call, document, error);
            if (!rc)
                rc = RUNNEL_PRECONDITION;
        }
    }
    rn_lease_store_call_release(&call);
    return rc;
}
