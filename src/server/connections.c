/* connections.c -- takes in new connections: checks the limits, then gives each
 * to the next loop. */
#include "server/connections.h"

#include "server/server_state.h"

#include <stdio.h>
#include <unistd.h>

enum { PEER_CONNECTIONS = 1000 };

/* A new socket to be posted to its loop. */
struct arrival {
    struct rn_post post;
    struct rn_server *server;
    struct rn_loop *loop;
    struct rn_peer *peer;
    int fd;
    char address[RN_ADDRESS_TEXT_MAX];
};

static bool is_loopback_peer(const char *address)
{
    return strncmp(address, "127.", 4) == 0 ||
           strncmp(address, "[::1]", 5) == 0;
}

static void arrive(struct rn_post *post)
{
    struct arrival *a = (struct arrival *)post;
    struct rn_tls *tls = rn_certificate_share(&a->server->certificate);
    struct rn_exchange_client client = {
        .fd = a->fd,
        .address = a->address,
        .peer = a->peer,
        .is_loopback = is_loopback_peer(a->address),
    };

    rn_exchange_begin(&a->server->exchange, a->loop, tls, &client);
    rn_tls_close(tls);
    rn_free(a);
}

/* Accepting fails for lack of descriptors or memory; clients wait meanwhile. */
static void tell_starved(struct rn_server *s, const char *why)
{
    static struct rn_log_limit limit = RN_LOG_LIMIT_INIT(1000);

    rn_rest_reject(s->rest, RN_REJECT_CONNECTIONS);
    rn_log_seldom(s->log, &limit, RN_LOG_WARN,
                  "cannot accept connections at the moment",
                  RN_TEXT("err", why));
}

static void turn_away(struct rn_server *s, int fd, const char *address,
                      const char *why)
{
    static struct rn_log_limit limit = RN_LOG_LIMIT_INIT(1000);

    rn_rest_reject(s->rest, RN_REJECT_CONNECTIONS);
    rn_log_seldom(s->log, &limit, RN_LOG_WARN, why, RN_TEXT("client", address));
    close(fd);
}

/* The limit of connections of an address. */
static uint64_t share_of(const struct rn_server *s, const char *address)
{
    if (s->options->connections_per_address)
        return s->options->connections_per_address;
    return is_loopback_peer(address) ? UINT64_MAX : PEER_CONNECTIONS;
}

void rn_connections_accept(void *context, int fd, const char *address)
{
    struct rn_server *s = context;
    struct arrival *a = NULL;
    struct rn_peer *peer;

    if (fd < 0) {
        tell_starved(s, address);
        return;
    }
    peer =
        rn_client_limits_enter(s->client_limits, address, share_of(s, address));
    if (!peer) {
        turn_away(s, fd, address,
                  "a connection is refused: --connections-per-address are "
                  "open from there");
        return;
    }
    if (atomic_load(&s->open) < s->options->connections_max)
        a = rn_new(sizeof(*a));
    if (!a) {
        rn_client_limits_leave(s->client_limits, peer);
        turn_away(s, fd, address,
                  "a connection is refused: --connections-max are open");
        return;
    }
    /* Counted here: connections not yet taken by their loops are open too. */
    atomic_fetch_add(&s->open, 1);
    a->post.run = arrive;
    a->server = s;
    a->peer = peer;
    a->loop = s->loops[atomic_fetch_add(&s->turn, 1) % s->loop_count];
    a->fd = fd;
    snprintf(a->address, sizeof(a->address), "%s", address);
    rn_loop_post(a->loop, &a->post);
}
