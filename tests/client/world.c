/* world.c -- see world.h. */
#include "client/world.h"

#include <stdlib.h>

struct rn_account *world_account(struct world *w, struct rn_env *env,
                                 struct rn_network **network)
{
    const runnel_client_options options = {
        RUNNEL_CLIENT_INIT,
        .endpoint = "http://localhost:1/",
    };
    struct rn_network *n = scripted_network(&w->wire, env);
    struct rn_account *account = NULL;

    if (rn_account_open(&options, n, &account, NULL))
        abort();
    if (network)
        *network = n;
    return account;
}

static void pass(void *context, int64_t ns)
{
    rn_sim_run(context, ns);
}

void world_open(struct world *w, uint64_t seed,
                const struct service_definition *d)
{
    *w = (struct world){ .sim = rn_sim_new(seed) };
    service_init(&w->service, rn_sim_env(w->sim));
    scripted_init(&w->wire, &w->service, seed);
    w->wire.pass = pass;
    w->wire.pass_context = w->sim;
    w->box = service_add(&w->service, d);
    w->account = world_account(w, rn_sim_env(w->sim), NULL);
    if (rn_client_container_open(w->account, d->db, d->name, &w->container,
                                 NULL))
        abort();
}

void world_close(struct world *w)
{
    rn_client_container_unref(w->container);
    rn_account_unref(w->account);
    scripted_release(&w->wire);
    service_release(&w->service);
    rn_sim_free(w->sim);
}

void world_sleep(struct world *w, int64_t ms)
{
    rn_sim_run(w->sim, ms * 1000000);
}

int64_t world_now_ms(struct world *w)
{
    return rn_mono_ns(rn_sim_env(w->sim)) / 1000000;
}
