/* chore.c -- writes of the lease store that no worker waits for: the removal of
 * a lease, a mark on another host's.  The next listing shows how they ended.
 */
#include "client/processor/chore.h"

#include "client/lease/listing.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

static void chore_done(struct rn_lease_store_call *call)
{
    (void)call; /* rn_host_end_chores sees that it is over */
}

struct rn_host_chore *rn_host_new_chore(enum rn_lease_store_kind kind,
                                        const struct rn_lease *lease)
{
    struct rn_host_chore *c = rn_new(sizeof(*c));

    if (!c)
        return NULL;
    rn_lease_store_call_init(&c->call, kind);
    c->call.done = chore_done;
    if (rn_listing_address(&c->call, lease)) {
        rn_host_free_chore(c);
        return NULL;
    }
    return c;
}

void rn_host_free_chore(struct rn_host_chore *c)
{
    rn_lease_store_call_release(&c->call);
    rn_free(c);
}

void rn_host_start_chore(struct rn_host *h, struct rn_host_chore *c)
{
    c->next = h->chores;
    h->chores = c;
    h->stats.lease_writes++;
    h->store->ops->start(h->store, &c->call);
}

void rn_host_end_chores(struct rn_host *h, bool all)
{
    struct rn_host_chore **at = &h->chores;

    while (*at) {
        struct rn_host_chore *c = *at;
        if (c->call.is_under_way && !all) {
            at = &c->next;
            continue;
        }
        if (!all)
            rn_host_learn(h, &c->call);
        *at = c->next;
        rn_host_free_chore(c);
    }
}
