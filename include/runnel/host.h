/* host.h -- the processor in the style of 2017 and 2018: a host to which
 * an observer or an observer factory is registered.
 *
 * A thin layer: opens two clients, fills runnel_processor_options, and calls
 * runnel_processor_start and runnel_processor_stop.  Nothing here that the
 * processor does not do.
 */
#ifndef RUNNEL_HOST_H
#define RUNNEL_HOST_H

#include <runnel/processor.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** A host: at most one registration at a time.  Any thread. */
typedef struct runnel_host runnel_host;

/** DocumentCollectionInfo. */
typedef struct runnel_location {
    const char *uri;
    const char *key; /**< MasterKey */
    const char *database;
    const char *collection;
    const runnel_client_options *client; /**< ConnectionPolicy; may be NULL */
} runnel_location;

typedef struct runnel_host_options {
    size_t size;      /**< set by RUNNEL_HOST_INIT */
    const char *name; /**< hostName; required */
    runnel_location monitored;
    runnel_location leases; /**< may be another account */
    /** ChangeFeedOptions: page_limit, token, start, start_time_ms,
     * session_token.  NULL: from now. */
    const runnel_feed_options *feed;
    /** ChangeFeedHostOptions.  Its `name` is the LeasePrefix (NULL: "");
     * `host`, `leases` and `feed` are filled in here.  NULL: all defaults. */
    const runnel_processor_options *processor;
} runnel_host_options;

#define RUNNEL_HOST_INIT .size = sizeof(runnel_host_options)

/** Checks the options.  Does not go to the network. */
runnel_code runnel_host_open(const runnel_host_options *options,
                             runnel_host **out,
                             runnel_error *error) RUNNEL_CHECK;

/** RegisterObserverAsync: starts.  A copy of `observer` serves each lease.
 * RUNNEL_CONFLICT if something is registered. */
runnel_code runnel_host_register(runnel_host *host,
                                 const runnel_observer *observer,
                                 runnel_error *error) RUNNEL_CHECK;

/** RegisterObserverFactoryAsync: starts.  An observer is made for each lease.
 */
runnel_code runnel_host_register_factory(runnel_host *host,
                                         const runnel_observer_factory *factory,
                                         runnel_error *error) RUNNEL_CHECK;

/** UnregisterObserversAsync: stops; leases are released, positions kept.  It
 * may be registered again.  RUNNEL_BAD_REQUEST if nothing is registered. */
runnel_code runnel_host_unregister(runnel_host *host, runnel_error *error);

/** GetEstimatedRemainingWork: the total of runnel_lag_each. */
runnel_code runnel_host_remaining_work(runnel_host *host, int64_t *out,
                                       runnel_error *error) RUNNEL_CHECK;

/** Unregisters first, if need be. */
void runnel_host_close(runnel_host *host);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
