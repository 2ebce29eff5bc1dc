/* scripted.h -- a network in one process and in virtual time, which loses,
 * delays, repeats and truncates by a seed.
 *
 * A `scripted` is the wire between any number of clients and one service.  A
 * request that was sent is a flight of its own: it reaches the service after a
 * latency, also if the client has given up or was freed meanwhile, and its
 * answer comes back after another.
 *
 *   struct rn_sim *sim = rn_sim_new(seed);
 *   service_init(&service, rn_sim_env(sim));
 *   scripted_init(&wire, &service, seed);
 *   rn_account_open(&options, scripted_network(&wire, env), &account, ...);
 *
 * Time: `wait` of a transport lets it pass by `pass`.  `step` does not wait; a
 * task's step returns what it returns.  The wire itself is run by every step of
 * any transport; a simulation in which transports may be paused also registers
 * scripted_step as a task.
 *
 * Threads: one.
 */
#ifndef RN_TESTS_CLIENT_SCRIPTED_H
#define RN_TESTS_CLIENT_SCRIPTED_H

#include "base/prng.h"
#include "client/http/transport.h"
#include "client/service.h"

/* How often, in a thousand requests. */
struct scripted_faults {
    unsigned lose_request; /* never arrives */
    unsigned lose_answer;  /* arrives; the answer does not */
    unsigned repeat;       /* arrives twice */
    unsigned delay;        /* takes up to `delay_ms` */
    unsigned truncate;     /* the connection breaks within the answer */
    unsigned refuse;       /* 408, 410, 429, 449 or 503 */
    unsigned delay_ms;
};

struct scripted {
    struct service *service;
    struct rn_prng prng;
    struct scripted_faults faults;
    int64_t latency_ns;              /* of one way, at most; drawn */
    struct scripted_flight *flights; /* in the order of their start */
    uint64_t sent;
    int sender;      /* whose request the service handles; see scripted_name */
    int64_t sent_ns; /* when that was sent */
    /* May answer in place of the service: returns true then. */
    bool (*before)(void *context, const struct service_request *q,
                   struct service_answer *a);
    /* After the service has answered. */
    void (*after)(void *context, const struct service_request *q,
                  const struct service_answer *a);
    /* Lets time pass, with whatever other tasks do in it; NULL: sleeps in the
     * env of the service, which moves a simulated clock. */
    void (*pass)(void *context, int64_t ns);
    void *pass_context;
    /* Around whatever the wire and the service allocate for themselves. */
    void (*guard)(bool is_inside);
    void *context;
};

void scripted_init(struct scripted *w, struct service *service, uint64_t seed);
/* All networks of it are closed. */
void scripted_release(struct scripted *w);

/* A client's end.  `env` is the client's own clock and dice; the network is
 * closed by its owner. */
struct rn_network *scripted_network(struct scripted *w, struct rn_env *env);
/* Called when a transport of the network should be stepped. */
void scripted_on_wake(struct rn_network *n, void (*wake)(void *context),
                      void *context);
/* What `sender` is for requests of the network; 0 at first. */
void scripted_name(struct rn_network *n, int sender);
/* Cut off: no new request arrives, until it is joined again. */
void scripted_cut(struct rn_network *n, bool is_cut);

/* No faults from now on, and none that lasts: what is delayed arrives, what is
 * lost is known to be. */
void scripted_heal(struct scripted *w);

/* Lets everything happen that is due.  Returns nanoseconds to the next event,
 * or RN_TASK_IDLE. */
int64_t scripted_step(struct scripted *w);

#endif
