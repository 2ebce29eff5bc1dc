/* budget.c -- provisioned throughput, enforced if the operator asks for it.
 *
 * An offer has so many units a second.  The cost of a request is charged when
 * it is answered, so that the cost need not be estimated; the debt of one
 * second is carried over to the next ones.  Once a second's units are used up,
 * requests about the documents of the container, or of all the containers that
 * share the offer, are answered 429 until there are units again.
 *
 * rn_object.spent: the second (of the monotonic clock) in the upper half, and
 * the units spent in it, in hundredths, in the lower.
 */
#include "rest/budget.h"

#include "engine/catalog/object.h"
#include "rest/context.h"
#include "rest/objects.h"

enum { MS = 1000, CENTI = 100, SHED_RETRY_MS = 1000 };

/* The container's own offer, or the one its database shares. */
static struct rn_object *find_offer(struct rn_context *x)
{
    struct rn_object *container = rn_rest_find_container(x->rest, &x->link);
    struct rn_object *offer;

    if (!container)
        return NULL;
    offer = rn_catalog_find_offer(x->rest->engine, container->rid);
    if (!offer)
        offer = rn_catalog_find_offer(x->rest->engine,
                                      rn_rid_owner(container->rid));
    rn_object_release(container);
    return offer;
}

static uint64_t budget_of(const struct rn_object *offer)
{
    return (uint64_t)CENTI *
           (offer->autoscale ? offer->autoscale : offer->throughput);
}

static uint64_t now_ms(struct rn_context *x)
{
    return (uint64_t)rn_mono_ns(x->rest->opts.env) / 1000000;
}

/* The units spent as of a given second: each second since has repaid one
 * budget. */
static uint64_t spent_at(const struct rn_object *offer, uint64_t spent,
                         uint64_t second)
{
    uint64_t since = second > spent >> 32 ? second - (spent >> 32) : 0;
    uint64_t debt = spent & UINT32_MAX;
    uint64_t paid = since * budget_of(offer);

    return debt > paid ? debt - paid : 0;
}

enum rn_code rn_budget_check(struct rn_context *x)
{
    uint64_t now, debt, budget;

    if (!x->rest->opts.enforce_throughput ||
        rn_kind_owner(x->link.kind) != RN_KIND_CONTAINER ||
        x->link.kind == RN_KIND_RANGE)
        return RN_OK;
    x->offer = find_offer(x);
    if (!x->offer)
        return RN_OK;
    now = now_ms(x);
    budget = budget_of(x->offer);
    debt = spent_at(x->offer, atomic_load(&x->offer->spent), now / MS);
    if (debt < budget || budget == 0)
        return RN_OK;
    x->retry_ms = (uint32_t)(debt / budget * MS - now % MS);
    rn_object_release(x->offer); /* a refusal costs nothing */
    x->offer = NULL;
    return rn_fail(&x->err, RN_THROTTLED,
                   "Request rate is large. More Request Units may be needed, "
                   "so no changes were made. Please retry this request later.");
}

void rn_budget_spend(struct rn_context *x, double units)
{
    unsigned long long old;
    uint64_t second, spent;

    if (!x->offer)
        return;
    second = now_ms(x) / MS;
    old = atomic_load(&x->offer->spent);
    do {
        spent = spent_at(x->offer, old, second) + (uint64_t)(units * CENTI);
        if (spent > UINT32_MAX)
            spent = UINT32_MAX;
    } while (!atomic_compare_exchange_weak(&x->offer->spent, &old,
                                           second << 32 | spent));
}

enum rn_code rn_budget_shed(struct rn_context *x)
{
    x->retry_ms = SHED_RETRY_MS;
    return rn_fail(&x->err, RN_THROTTLED,
                   "Too many queries of this key or permission wait to be run. "
                   "Please retry this request later.");
}
