/* fleet_peers.c -- hosts of the .NET library in the fleet; see fleet.h. */
#include "client/fleet_own.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOW_MS = 8000 }; /* a delegate takes so long at most */

/* ---- its delegate -------------------------------------------------------- */

static void on_position(void *context, const char *token, const char *position)
{
    struct peer *p = context;

    checker_peer_began(&p->fleet->checker, p->number, token, position);
}

static int64_t on_begin(void *context, const char *token,
                        const struct dotnet_change *changes, size_t count)
{
    struct peer *p = context;
    struct fleet *f = p->fleet;

    f->figures->peer_deliveries++;
    f->figures->v2_deliveries += f->is_version_2;
    checker_peer_delivered(&f->checker, p->number, token, changes, count);
    return !f->is_healed && roll(f, 15) ? (int64_t)below(f, SLOW_MS) : 0;
}

static bool on_end(void *context, const char *token,
                   const struct dotnet_change *changes, size_t count)
{
    struct peer *p = context;
    struct fleet *f = p->fleet;

    if (!f->is_healed && roll(f, 6)) {
        f->figures->peer_failures++;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        checker_acked(&f->checker, p->number, token,
                      checker_find(&f->checker, rn_view_text(changes[i].id),
                                   changes[i].lsn));
    return true;
}

/* ---- its life ------------------------------------------------------------ */

static void on_wake(void *context)
{
    struct peer *p = context;

    skewed_wake(&p->env);
}

void fleet_peer_start(struct fleet *f, struct peer *p)
{
    struct dotnet_options o = {
        .version = f->is_version_2 ? 2 : 0,
        .db = "d",
        .source = "c",
        .leases = "leases",
        .account = "localhost",
        .processor = "fleet",
        .instance = p->name,
        .acquire_ms = FLEET_ACQUIRE_MS,
        .expire_ms = FLEET_EXPIRE_MS,
        .renew_ms = FLEET_RENEW_MS,
        .poll_ms = 500,
        .page_limit = f->page_limit,
        .position = on_position,
        .begin = on_begin,
        .end = on_end,
        .context = p,
    };

    *p = (struct peer){ .fleet = f, .number = CHECKER_PEER + ++f->numbers };
    snprintf(p->name, sizeof(p->name), "p%d", (int)(p - f->peers));
    skewed_init(&p->env, rn_sim_env(f->w.sim));
    if (!f->is_healed)
        p->env.ahead_ms = roll(f, 30) ? (int64_t)below(f, 7200000) - 3600000
                                      : (int64_t)below(f, 1000) - 500;
    p->network = scripted_network(&f->w.wire, &p->env.env);
    scripted_name(p->network, p->number);
    scripted_on_wake(p->network, on_wake, p);
    p->dotnet = dotnet_peer_start(&o, p->network, &p->env.env);
    f->figures->peer_starts++;
    f->figures->v2_starts += f->is_version_2;
}

static void peer_kill(struct peer *p)
{
    if (!p->dotnet)
        return;
    checker_killed(&p->fleet->checker, p->number);
    dotnet_peer_free(p->dotnet);
    p->dotnet = NULL;
    p->network->ops->close(p->network);
}

void fleet_peers_kill(struct fleet *f)
{
    for (int i = 0; i < FLEET_PEERS; i++)
        peer_kill(&f->peers[i]);
}

void fleet_peers_reap(struct fleet *f)
{
    for (int i = 0; i < FLEET_PEERS; i++) {
        struct peer *p = &f->peers[i];

        if (p->dotnet && (dotnet_peer_state(p->dotnet) == DOTNET_STOPPED ||
                          dotnet_peer_state(p->dotnet) == DOTNET_FAILED))
            peer_kill(p);
    }
}

void fleet_peers_disturb(struct fleet *f)
{
    struct peer *p = &f->peers[below(f, FLEET_PEERS)];
    uint64_t what = below(f, 10);

    checker_note(&f->checker, "disturb peer %d, %d", p->number, (int)what);
    if (!p->dotnet) {
        if (what < 7)
            fleet_peer_start(f, p);
    } else if (what < 2) {
        f->figures->peer_kills++;
        peer_kill(p);
    } else if (what < 5) {
        f->figures->peer_pauses++;
        skewed_pause(&p->env, !p->env.is_paused);
    } else if (what < 6 && !p->env.is_paused) {
        f->figures->peer_stops++;
        dotnet_peer_stop(p->dotnet);
    } else if (what < 8) {
        scripted_cut(p->network, roll(f, 40));
    }
}

void fleet_peers_heal(struct fleet *f)
{
    for (int i = 0; i < FLEET_PEERS; i++) {
        struct peer *p = &f->peers[i];

        if (!p->dotnet)
            continue;
        p->env.ahead_ms = 0;
        scripted_cut(p->network, false);
        skewed_pause(&p->env, false);
    }
}

bool fleet_peer_is_live(const struct fleet *f, const char *name)
{
    for (int i = 0; i < FLEET_PEERS; i++) {
        if (f->peers[i].dotnet && strcmp(f->peers[i].name, name) == 0)
            return true;
    }
    return false;
}
