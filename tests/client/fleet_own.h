/* fleet_own.h -- between the files of the fleet. */
#ifndef RN_TESTS_CLIENT_FLEET_OWN_H
#define RN_TESTS_CLIENT_FLEET_OWN_H

#include "client/checker.h"
#include "client/dotnet_peer.h"
#include "client/fleet.h"
#include "client/processor/host.h"
#include "client/skewed.h"
#include "client/world.h"

enum {
    FLEET_RENEW_MS = 1700,
    FLEET_ACQUIRE_MS = 1300,
    FLEET_EXPIRE_MS = 6000,
};

struct fleet;

/* A batch whose handler will answer later. */
struct pending {
    struct pending *next;
    const runnel_batch *batch;
    char lease[80];
    int64_t due_ns; /* of the world; INT64_MAX: when the world heals */
    runnel_verdict verdict;
    size_t count;
    uint64_t commits[CHECKER_BATCH_MAX];
    /* ---- fleet_options.c ---- */
    struct host *host;
    runnel_verdict marks[CHECKER_BATCH_MAX];
    bool must_checkpoint, is_marked;
    struct rn_checkpoint_wait *wait; /* for its checkpoint; NULL: it does not */
};

struct host {
    struct fleet *fleet;
    int number; /* unique for ever: the checker's name of it */
    char name[16];
    struct skewed env;
    struct rn_account *account;
    struct rn_network *network;
    struct rn_client_container *source, *leases;
    struct rn_host *engine; /* NULL: not running */
    bool was_up;            /* when the world healed */
    struct pending *pending;
};

/* A host of the .NET library. */
struct peer {
    struct fleet *fleet;
    int number; /* CHECKER_PEER and above */
    char name[16];
    struct skewed env;
    struct rn_network *network;
    struct dotnet_peer *dotnet; /* NULL: not running */
};

struct fleet {
    struct world w;
    struct rn_prng *dice;
    struct checker checker;
    struct fleet_figures *figures;
    struct host hosts[FLEET_HOSTS];
    struct peer peers[FLEET_PEERS];
    struct service_box *leases;
    const struct service_entry *damaged; /* a lease as it was; NULL: none */
    char erased[DOTNET_TEXT_MAX]; /* a position that was erased; "": none */
    struct rn_task wire;
    int numbers;
    unsigned documents;
    bool is_mixed, is_version_2, is_weighed, has_operator, is_full, is_healed,
        may_yield, has_dead_letters;
    uint32_t batch_limit, page_limit, leases_per_range, min_leases;
    bool can_wait;
    /* Of a fleet with options (fleet_options.c). */
    struct rn_prng options_dice;
    bool has_options, is_manual, is_single_key, is_whole_batch;
    uint32_t parallel, pending_limit;
    unsigned checkpoints; /* percent of the calls that make one by hand */
};

static inline bool roll(struct fleet *f, unsigned percent)
{
    return rn_prng_percent(f->dice, percent);
}

static inline uint64_t below(struct fleet *f, uint64_t n)
{
    return rn_prng_below(f->dice, n);
}

static inline int64_t now_of(const struct fleet *f)
{
    return rn_mono_ns(rn_sim_env(f->w.sim));
}

/* ---- hosts (fleet.c) ----------------------------------------------------- */

void fleet_host_start(struct fleet *f, struct host *h, const char *name);
/* As if its process were killed; harmless if it does not run. */
void fleet_host_kill(struct host *h);
runnel_processor_state fleet_host_state(const struct host *h);
/* Does a host of this name run?  The context is a fleet. */
bool fleet_host_is_live(void *context, const char *name);
/* Documents are written, if any. */
void fleet_write_some(struct fleet *f);
/* Time passes, with what happens in it. */
void fleet_run_for(struct fleet *f, int64_t ms);

/* The world heals, and all that must follow does (fleet_healed.c). */
void fleet_run_healed(struct fleet *f);
/* I9, at every moment since then at which a host has been up all the time. */
void fleet_check_owned(struct fleet *f);

/* The handler, whose context is a host (fleet_handler.c). */
extern const runnel_observer fleet_observer;
/* Gives the verdicts that are due. */
void fleet_answer(struct host *h);
/* Forgets those that are not: the host was killed. */
void fleet_forget(struct host *h);

/* Draws the options of a fleet that has them; its handler, and how the
 * handler's late verdicts are given and forgotten (fleet_options.c). */
void fleet_options_draw(struct fleet *f, uint64_t seed);
runnel_verdict fleet_options_changes(struct host *h, const char *lease,
                                     const runnel_batch *batch);
bool fleet_options_answer(struct pending *p);
void fleet_options_forget(struct pending *p);
/* Every host is killed: what its handlers kept in memory is lost. */
void fleet_options_crash(struct fleet *f);

/* An operator changes, deletes or doubles a lease; it is repaired later
 * (fleet_tamper.c). */
void fleet_tamper(struct fleet *f);
void fleet_repair(struct fleet *f);

/* ---- hosts of the .NET library (fleet_peers.c) --------------------------- */

void fleet_peer_start(struct fleet *f, struct peer *p);
/* Something happens to one of them. */
void fleet_peers_disturb(struct fleet *f);
/* Those that have stopped or could not start are freed. */
void fleet_peers_reap(struct fleet *f);
/* Pauses, cuts and wrong clocks end. */
void fleet_peers_heal(struct fleet *f);
bool fleet_peer_is_live(const struct fleet *f, const char *name);
void fleet_peers_kill(struct fleet *f);

#endif
