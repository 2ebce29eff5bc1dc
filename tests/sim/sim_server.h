/* sim_server.h -- a server in a simulated world, and clients that ask it.
 *
 * It is all of the server but sockets and threads: rest, engine, committer,
 * waiters and the local store, whose map is a tree (map_tree.h) and whose files
 * are on a disk that may lose power.  Clients are those of
 * history/server_process.h; each runs on a stack of its own until it asks,
 * sleeps or ends, and which of them goes on is drawn from the seed.
 *
 * One world at a time, in one thread.
 */
#ifndef SIM_SIM_SERVER_H
#define SIM_SIM_SERVER_H

#include "base/err.h"
#include "base/sim.h"
#include "history/server_process.h"

enum { SIM_WEB_CLIENTS_MAX = 16 };

void sim_server_begin(struct rn_sim *sim);
/* Gives up clients that have not ended. */
void sim_server_end(void);

/* Opens what is on the disk.  On failure all is closed again. */
enum rn_code sim_server_open(struct rn_err *err);
/* Pending requests get no answer. */
void sim_server_close(void);

void sim_server_run(struct client *c, void (*run)(struct client *c));
bool sim_server_has_ended(void);   /* all clients */
void sim_server_sleep(int64_t ns); /* by a client */

#endif
