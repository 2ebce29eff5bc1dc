/* work.h -- what the processes of a demo do: write, and handle changes.
 */
#ifndef RN_TOOLS_DEMO_WORK_H
#define RN_TOOLS_DEMO_WORK_H

#include "base/mem.h"

#include <pthread.h>
#include <runnel/runnel.h>
#include <stdatomic.h>

#define RN_DEMO_DATABASE "demo"
#define RN_DEMO_SOURCE "events"
#define RN_DEMO_LEASES "leases"
#define RN_DEMO_PROCESSOR "demo"

/* Writes documents in a thread of its own, at a steady pace. */
struct rn_demo_writer {
    runnel_container *container; /* set by the caller */
    pthread_t thread;
    atomic_bool is_ending;
    bool has_begun;
};

/* Creates the database and its containers.  Returns an enum rn_exit. */
int rn_demo_prepare(runnel_client *client) RN_CHECK;

/* False if there is no thread to be had. */
bool rn_demo_writer_start(struct rn_demo_writer *w) RN_CHECK;
void rn_demo_writer_stop(struct rn_demo_writer *w);

/* Is a host of the processor until a signal comes.  Returns an enum rn_exit. */
int rn_demo_host(const char *account, const char *instance) RN_CHECK;

#endif
