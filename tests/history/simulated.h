/* simulated.h -- a correct server and its clients, simulated, and the history
 * they leave behind.
 *
 * Clients send, are decided and are answered at times drawn.  Some answers are
 * lost, and some requests are decided when their client has long given up.  The
 * server is killed now and then, so that waiting requests get no answer.  Every
 * other client sends session tokens.  Readers follow the feed, and half of the
 * way what came after a backup is undone.
 */
#ifndef RN_TEST_SIMULATED_H
#define RN_TEST_SIMULATED_H

#include "history/history.h"

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    WORLD_CLIENTS = 8,
    WORLD_READERS = 4,
    WORLD_DOCUMENTS = 6,
    WORLD_JUMP = 1000, /* of LSNs, by a restore; more than there are before */
    WORLD_ENTRIES = 4000,
    WORLD_GIVEN_UP = 8,
};

struct version {
    uint64_t lsn, token; /* token 0: deleted or never there */
    uint32_t n, count;
};

struct simulated_history {
    struct rn_prng prng;
    uint64_t clock, lsn, next_token;
    struct version now[WORLD_DOCUMENTS], saved[WORLD_DOCUMENTS];
    uint64_t saved_lsn, begun, ended; /* of the backup */
    uint64_t restored;                /* when */
    int backups;                      /* 0, 1; 2 when restored */
    uint64_t known[WORLD_DOCUMENTS];  /* a version that some client got */
    struct history_entry at[WORLD_CLIENTS];
    int phase[WORLD_CLIENTS];        /* idle, sent, decided */
    uint64_t session[WORLD_CLIENTS]; /* its session token */
    /* Writes whose clients do not wait for them any more. */
    struct history_entry given_up[WORLD_GIVEN_UP];
    size_t given_up_count;
    uint64_t place[WORLD_READERS], old[WORLD_READERS];
    struct history_entry log[WORLD_ENTRIES];
    size_t count;
};

/* One that has run to its end, with a restore or without; freed by the
 * caller. */
struct simulated_history *simulated_make(uint64_t seed, bool is_restored);
void simulated_add(struct simulated_history *w, const struct history_entry *e);

#endif
