/* clients.h -- clients of a simulated store, and what they were promised.
 *
 * Each has at most one operation under way.  An operation notes what it saw and
 * what it wrote when it last ran; its answer says which of that counts:
 *
 *   RN_OK             it happened, here in the order of answers
 *   RN_UNKNOWN        it, and all others so answered, happened or not, together
 *   anything else     it did not happen
 *
 * The model is the outcome of what counts.  A reader compares the store with it
 * between any two steps: nothing may be seen that was not answered.
 */
#ifndef SIM_CLIENTS_H
#define SIM_CLIENTS_H

#include "base/prng.h"
#include "base/sim.h"
#include "engine/commit.h"

enum {
    CLIENTS = 8,
    CLIENT_KEYS = 48,
    CLIENT_WRITES_MAX = 5,
};

struct clients;

struct client {
    struct rn_operation op;
    struct clients *all;
    bool busy;

    uint64_t id; /* of the operation, and of the values it writes */
    unsigned writes;
    unsigned fail_at; /* the write before which it gives up */
    int key[CLIENT_WRITES_MAX];
    bool del[CLIENT_WRITES_MAX];

    /* of the last run */
    unsigned seen_len, effect_len;
    uint64_t seen[CLIENT_WRITES_MAX];
    int effect_key[CLIENT_WRITES_MAX];
    uint64_t effect_id[CLIENT_WRITES_MAX]; /* 0: deleted */
};

struct clients {
    struct rn_env *env;
    struct rn_prng *prng;
    struct rn_store *store;
    struct rn_committer *committer;
    struct rn_task task, reader;
    struct client client[CLIENTS];
    uint64_t next_id;

    uint64_t model[CLIENT_KEYS];   /* ids; 0: absent */
    uint64_t unknown[CLIENT_KEYS]; /* if what is unknown happened */
    bool has_unknown;
    bool ended; /* the store has said that it writes no more */

    uint64_t acked, refused, unknowns, full, reads;
    char wrong[256]; /* the first thing that was */
};

void clients_init(struct clients *c, struct rn_sim *sim);

/* Starts them on an open store; stops them and its committer. */
enum rn_code clients_start(struct clients *c, struct rn_store *store,
                           struct rn_err *err) RN_CHECK;
void clients_stop(struct clients *c);

/* After opening: the store holds the model, or the model with what was unknown,
 * which is then known. */
void clients_resolve(struct clients *c, struct rn_store *store);

void clients_wrong(struct clients *c, const char *format, ...) RN_PRINTF(2, 3);

#endif
