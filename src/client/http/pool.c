/* pool.c -- the pool of transports; see pool.h. */
#include "client/http/pool.h"

#include <assert.h>
#include <pthread.h>

struct taken {
    struct rn_transport *transport;
    struct taken *next;
    bool is_counted; /* counts against the limit, and is kept for reuse */
};

/* Rank 1 of the client's locks: no other is taken under it. */
struct rn_pool {
    struct rn_network *network;
    uint32_t limit;
    pthread_mutex_t lock;
    pthread_cond_t given;
    uint32_t counted;           /* of `taken` */
    struct taken *taken, *idle; /* idle ones are counted kinds */
};

runnel_code rn_pool_new(struct rn_network *network, uint32_t limit,
                        struct rn_pool **out, runnel_error *error)
{
    struct rn_pool *pool = rn_new(sizeof(*pool));

    assert(limit > 0);
    if (!pool) {
        network->ops->close(network);
        return rn_error_no_memory(error);
    }
    pool->network = network;
    pool->limit = limit;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->given, NULL);
    *out = pool;
    return RUNNEL_OK;
}

void rn_pool_free(struct rn_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->taken);
    while (pool->idle) {
        struct taken *t = pool->idle;
        pool->idle = t->next;
        t->transport->ops->close(t->transport);
        rn_free(t);
    }
    pool->network->ops->close(pool->network);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    rn_free(pool);
}

struct rn_env *rn_pool_env(const struct rn_pool *pool)
{
    return pool->network->env;
}

static void add_taken(struct rn_pool *pool, struct taken *t)
{
    t->next = pool->taken;
    pool->taken = t;
}

/* Makes a new one.  Called without the lock. */
static runnel_code make(struct rn_pool *pool, bool is_counted,
                        struct taken **out, runnel_error *error)
{
    struct taken *t = rn_new(sizeof(*t));
    runnel_code rc;

    if (!t)
        return rn_error_no_memory(error);
    t->is_counted = is_counted;
    rc = pool->network->ops->open(pool->network, &t->transport, error);
    if (rc)
        rn_free(t);
    else
        *out = t;
    return rc;
}

runnel_code rn_pool_take(struct rn_pool *pool, const struct rn_cancel *cancel,
                         struct rn_transport **out, runnel_error *error)
{
    struct taken *t = NULL;
    runnel_code rc = RUNNEL_OK;

    pthread_mutex_lock(&pool->lock);
    while (pool->counted == pool->limit && !rn_cancel_is_set(cancel))
        pthread_cond_wait(&pool->given, &pool->lock);
    if (rn_cancel_is_set(cancel)) {
        pthread_mutex_unlock(&pool->lock);
        return rn_error_set(error, RUNNEL_CANCELLED, "the call was cancelled");
    }
    pool->counted++;
    t = pool->idle;
    if (t) {
        pool->idle = t->next;
        add_taken(pool, t);
    }
    pthread_mutex_unlock(&pool->lock);
    if (!t) {
        rc = make(pool, true, &t, error);
        pthread_mutex_lock(&pool->lock);
        if (rc) {
            pool->counted--;
            pthread_cond_signal(&pool->given);
        } else {
            add_taken(pool, t);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    if (!rc)
        *out = t->transport;
    return rc;
}

runnel_code rn_pool_take_own(struct rn_pool *pool, struct rn_transport **out,
                             runnel_error *error)
{
    struct taken *t = NULL;
    runnel_code rc = make(pool, false, &t, error);

    if (rc)
        return rc;
    pthread_mutex_lock(&pool->lock);
    add_taken(pool, t);
    pthread_mutex_unlock(&pool->lock);
    *out = t->transport;
    return RUNNEL_OK;
}

void rn_pool_give(struct rn_pool *pool, struct rn_transport *transport)
{
    struct taken **at, *t;

    pthread_mutex_lock(&pool->lock);
    at = &pool->taken;
    while (*at && (*at)->transport != transport)
        at = &(*at)->next;
    t = *at;
    assert(t);
    *at = t->next;
    if (t->is_counted) {
        pool->counted--;
        t->next = pool->idle;
        pool->idle = t;
        t = NULL;
        pthread_cond_signal(&pool->given);
    }
    pthread_mutex_unlock(&pool->lock);
    if (t) {
        t->transport->ops->close(t->transport);
        rn_free(t);
    }
}

/* A transport is woken under the lock, so that it is not closed meanwhile. */
void rn_pool_cancel(struct rn_pool *pool, struct rn_cancel *cancel)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&cancel->is_set, true);
    for (struct taken *t = pool->taken; t; t = t->next)
        t->transport->ops->wake(t->transport);
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&pool->lock);
}
