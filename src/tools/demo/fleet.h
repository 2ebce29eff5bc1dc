/* fleet.h -- the processes of a demo: a server and the hosts of a processor.
 *
 * All of them end with the demo, however that ends: the kernel kills them when
 * the thread that started them is gone, which therefore is the main thread.
 */
#ifndef RN_TOOLS_DEMO_FLEET_H
#define RN_TOOLS_DEMO_FLEET_H

#include "base/mem.h"

#include <stdint.h>
#include <sys/types.h>

enum { RN_DEMO_HOSTS_MAX = 16 };

struct rn_demo_host {
    pid_t pid; /* 0: killed */
    char name[16];
};

struct rn_fleet {
    char directory[64]; /* "": not made yet */
    pid_t server;
    char account[64]; /* the server's URL */
    struct rn_demo_host hosts[RN_DEMO_HOSTS_MAX];
    uint32_t host_count; /* started, killed ones included */
};

/* Makes the directory and starts the server; waits until it serves.  Returns an
 * enum rn_exit. */
int rn_fleet_open(struct rn_fleet *f) RN_CHECK;
/* Ends all processes and removes the directory.  A zeroed one is fine. */
void rn_fleet_close(struct rn_fleet *f);

/* False if there are too many already, or none can be started. */
bool rn_fleet_add(struct rn_fleet *f);
/* Kills the host that was started first; NULL if none is alive. */
const struct rn_demo_host *rn_fleet_kill(struct rn_fleet *f);
uint32_t rn_fleet_alive(const struct rn_fleet *f);

#endif
