/* client_limits.c -- connections per client address; see client_limits.h. */
#include "server/client_limits.h"

#include "base/hash.h"

#include <assert.h>
#include <pthread.h>

enum { BUCKETS = 1024, HOST_MAX = 64 };

struct rn_peer {
    struct rn_peer *next;
    uint64_t connections;
    size_t bucket;
    size_t host_len;
    char host[HOST_MAX];
};

struct rn_client_limits {
    pthread_mutex_t lock; /* guards the members below */
    struct rn_peer *buckets[BUCKETS];
};

struct rn_client_limits *rn_client_limits_new(void)
{
    struct rn_client_limits *p = rn_new(sizeof(*p));

    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void rn_client_limits_free(struct rn_client_limits *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (p->buckets[i]) {
            struct rn_peer *peer = p->buckets[i];
            p->buckets[i] = peer->next;
            rn_free(peer);
        }
    }
    pthread_mutex_destroy(&p->lock);
    rn_free(p);
}

static struct rn_view host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : strlen(address);

    return rn_view_of(address, len < HOST_MAX ? len : HOST_MAX);
}

/* With the lock held. */
static struct rn_peer *find_or_add(struct rn_client_limits *p,
                                   struct rn_view host)
{
    size_t bucket = rn_hash64(host, 0) % BUCKETS;
    struct rn_peer *peer = p->buckets[bucket];

    while (peer && !rn_view_eq(rn_view_of(peer->host, peer->host_len), host))
        peer = peer->next;
    if (peer)
        return peer;
    peer = rn_new(sizeof(*peer));
    if (!peer)
        return NULL;
    memcpy(peer->host, host.at, host.len);
    peer->host_len = host.len;
    peer->bucket = bucket;
    peer->next = p->buckets[bucket];
    p->buckets[bucket] = peer;
    return peer;
}

struct rn_peer *rn_client_limits_enter(struct rn_client_limits *p,
                                       const char *address,
                                       uint64_t connections_max)
{
    struct rn_peer *peer;

    pthread_mutex_lock(&p->lock);
    peer = find_or_add(p, host_of(address));
    if (peer && peer->connections >= connections_max)
        peer = NULL;
    if (peer)
        peer->connections++;
    pthread_mutex_unlock(&p->lock);
    return peer;
}

void rn_client_limits_leave(struct rn_client_limits *p, struct rn_peer *peer)
{
    struct rn_peer **at;

    pthread_mutex_lock(&p->lock);
    assert(peer->connections > 0);
    if (--peer->connections == 0) {
        for (at = &p->buckets[peer->bucket]; *at != peer; at = &(*at)->next)
            ;
        *at = peer->next;
        rn_free(peer);
    }
    pthread_mutex_unlock(&p->lock);
}
