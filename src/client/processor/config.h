/* config.h -- the options of a processor, checked, with defaults filled in.
 *
 * Texts are copied and the containers are kept alive until release.  Only read
 * after it was made; any thread.
 */
#ifndef RN_CLIENT_PROCESSOR_CONFIG_H
#define RN_CLIENT_PROCESSOR_CONFIG_H

#include "client/account/container.h"
#include "client/feed/position.h"

#include <runnel/processor.h>

enum { RN_HOST_MAX = 128 }; /* bytes of a processor's or a host's name */

/* The containers that the options name. */
struct rn_config_containers {
    struct rn_client_container *source, *leases,
        *dead_letters; /* may be NULL */
};

struct rn_config {
    struct rn_config_containers at;
    bool has_table;
    runnel_lease_store table;
    char name[RN_HOST_MAX + 1];
    char host[RN_HOST_MAX + 1];
    runnel_observer observer;
    bool has_factory;
    runnel_observer_factory factory;
    runnel_feed_mode mode;
    uint32_t page_limit;
    char *session_token; /* or NULL */
    struct rn_position start;
    runnel_processor_options o; /* the numbers and flags, no pointer */
};

/* RUNNEL_BAD_REQUEST with the names of the members that do not fit. */
runnel_code rn_config_init(struct rn_config *c,
                           const runnel_processor_options *options,
                           const runnel_observer *observer,
                           const struct rn_config_containers *containers,
                           struct rn_env *env, runnel_error *error) RN_CHECK;
void rn_config_release(struct rn_config *c);

#endif
