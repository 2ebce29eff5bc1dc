/* world.h -- a client and the service it talks to, in virtual time.
 *
 * Threads: one.
 */
#ifndef RN_TESTS_CLIENT_WORLD_H
#define RN_TESTS_CLIENT_WORLD_H

#include "base/sim.h"
#include "client/account/container.h"
#include "client/scripted.h"

struct world {
    struct rn_sim *sim;
    struct service service;
    struct scripted wire;
    struct rn_account *account;
    struct service_box *box;               /* of the definition */
    struct rn_client_container *container; /* the client's view of it */
};

/* Aborts if it cannot be made. */
void world_open(struct world *w, uint64_t seed,
                const struct service_definition *d);
void world_close(struct world *w);

/* An account of its own on the same wire, with clock and dice of `env`. */
struct rn_account *world_account(struct world *w, struct rn_env *env,
                                 struct rn_network **network);

/* Lets time pass. */
void world_sleep(struct world *w, int64_t ms);
int64_t world_now_ms(struct world *w); /* monotonic */

#endif
