/* queue.c -- see queue.h. */
#include "base/queue.h"

/* The ABA problem of such stacks, a top that went and came back between load
 * and exchange, does no harm here: single elements are never popped, so
 * whatever top the exchange finds is a right `next`. */
bool rn_queue_push(struct rn_queue *q, struct rn_queued *link)
{
    struct rn_queued *newest =
        atomic_load_explicit(&q->newest, memory_order_relaxed);

    do
        link->next = newest;
    while (!atomic_compare_exchange_weak_explicit(
        &q->newest, &newest, link, memory_order_seq_cst, memory_order_relaxed));
    return newest == NULL;
}

bool rn_queue_is_empty(struct rn_queue *q)
{
    return !atomic_load(&q->newest);
}

struct rn_queued *rn_queue_take_all(struct rn_queue *q)
{
    struct rn_queued *newest =
        atomic_exchange_explicit(&q->newest, NULL, memory_order_acquire);
    struct rn_queued *oldest = NULL;

    while (newest) {
        struct rn_queued *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}
