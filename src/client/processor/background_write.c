/* background_write.c -- writes of leases that no worker waits for. */
#include "client/processor/background_write.h"

#include "client/lease/listing.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

static void write_done(struct rn_lease_store_call *call)
{
    (void)call; /* rn_background_writes_end finds it */
}

struct rn_background_write *
rn_background_write_new(enum rn_lease_store_kind kind,
                        const struct rn_lease *lease)
{
    struct rn_background_write *c = rn_new(sizeof(*c));

    if (!c)
        return NULL;
    rn_lease_store_call_init(&c->call, kind);
    c->call.done = write_done;
    if (rn_listing_address(&c->call, lease)) {
        rn_background_write_free(c);
        return NULL;
    }
    return c;
}

void rn_background_write_free(struct rn_background_write *c)
{
    rn_lease_store_call_release(&c->call);
    rn_free(c);
}

void rn_background_write_start(struct rn_host *h, struct rn_background_write *c)
{
    c->next = h->background_writes;
    h->background_writes = c;
    h->stats.lease_writes++;
    h->store->ops->start(h->store, &c->call);
}

void rn_background_writes_end(struct rn_host *h, bool all)
{
    struct rn_background_write **at = &h->background_writes;

    while (*at) {
        struct rn_background_write *c = *at;
        if (c->call.is_under_way && !all) {
            at = &c->next;
            continue;
        }
        if (!all)
            rn_host_learn(h, &c->call);
        *at = c->next;
        rn_background_write_free(c);
    }
}
