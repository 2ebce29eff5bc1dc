/* target.h -- the account that a command talks to, from its options.
 *
 * The default account is the local server with the emulators' public key.  The
 * key comes from, in this order: the connection string, --key-file ("-":
 * standard input) or --data (the server's own data directory), --key,
 * RUNNEL_KEY.
 */
#ifndef RN_TOOLS_COMMON_TARGET_H
#define RN_TOOLS_COMMON_TARGET_H

#include "tools/common/option.h"

#include <runnel/runnel.h>

extern const struct rn_option rn_target_options[];
extern const struct rn_option rn_target_container_options[];

/* What librunnel lends, as a view. */
static inline struct rn_view rn_view_lent(runnel_bytes bytes)
{
    return rn_view_of(bytes.at, bytes.len);
}

/* A client and, with RN_USES_CONTAINER, the container of --db and --container.
 * A zeroed one may be closed. */
struct rn_target {
    runnel_client *client;
    runnel_container *container;
    /* The names of `container`, for messages; in `names`. */
    const char *database_name, *container_name;
    char *names;
};

/* Opens both without going to the network.  While the account is open, SIGINT,
 * SIGTERM and SIGHUP cancel the client (see signals.h).  Returns an enum
 * rn_exit after the line on standard error. */
int rn_target_open(const struct rn_args *args, struct rn_target *out) RN_CHECK;
void rn_target_close(struct rn_target *target);

/* Opens the client alone, from the options "--<prefix>account",
 * "--<prefix>key-file" and so on, as far as the command has them.  The prefix
 * of the common options is "".  --ca-file and --insecure hold for each account.
 * The caller sees to cancelling. */
int rn_target_client(const struct rn_args *args, const char *prefix,
                     runnel_client **out) RN_CHECK;

/* Opens "DB/CONTAINER", as --leases takes it, or a container of `database`
 * (may be NULL).  `option` is for the message: "--leases". */
int rn_target_container(runnel_client *client, const char *option,
                        const char *database, const char *name,
                        runnel_container **out) RN_CHECK;

#endif
