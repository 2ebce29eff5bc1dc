/* dotnet_peer.h -- a host of the .NET change feed processor, version 3 or 2.
 *
 * A state machine made from recorded requests (golden/v3-trace-*,
 * golden/v2-trace-*): it sends what the library sends, in the library's order,
 * also where that is unwise.  Version 3:
 *
 *   - after a write it keeps the etag of the document that it wrote over, so
 *     that every checkpoint of a lease from a listing is PUT (412), GET, PUT
 *   - a lease that it created after a split or a merge has no etag in memory:
 *     its acquire and its checkpoints are unconditional, until some host
 *     acquires it from a listing
 *   - a parent lease is deleted without a condition
 *   - 410 for a range that still exists turns its lease into an EPK lease
 *   - the marker is read before the lock is taken and not again: a marker that
 *     exists then makes the start fail
 *   - ownership is the name; a lease expires by this host's own clock, and one
 *     whose owner came back is taken all the same
 *
 * Version 2:
 *
 *   - it writes no more than its class has (dotnet_lease.h), and leases of
 *     other forms lose the rest at the first write, the acquire
 *   - it keeps the etag of its last write, so that a checkpoint is one PUT; the
 *     renewals have a copy of their own, so that the first checkpoint after
 *     each is PUT (412), GET, PUT
 *   - the children of a split are created without properties and acquired with
 *     those of the parent, with an empty If-Match, which is none; its other
 *     writes are conditional
 *   - it knows ranges by their ids only: children are the ranges whose parents
 *     have the id, and at a start a range is covered by a lease of its id alone
 *   - an expired lease whose owner came back is left to it
 *   - 429 and 500 and above are no end of its work on a lease
 *   - it has stopped before its leases are released
 *
 * What the SDK below it does: 429, 449 (version 3 alone) and reads without an
 * answer are tried again; a failed write, 408 and 503 end the operation.  A
 * failed operation of a lease ends its worker, which releases the lease; the
 * next pass takes it again.
 *
 *   peer = dotnet_peer_start(&options, network, env);
 *   ...
 *   dotnet_peer_stop(peer);     asks; the state becomes DOTNET_STOPPED
 *   dotnet_peer_free(peer);     at any time: as if the process were killed
 *
 * It aborts without memory.  Threads: one; it runs as a task of `env`.
 */
#ifndef RN_TESTS_CLIENT_DOTNET_PEER_H
#define RN_TESTS_CLIENT_DOTNET_PEER_H

#include "base/env.h"
#include "client/dotnet_lease.h"
#include "client/http/transport.h"

enum dotnet_start {
    DOTNET_FROM_BEGINNING,
    DOTNET_FROM_TIME,
    DOTNET_FROM_NOW, /* If-None-Match: *, as all versions mode does */
};

enum dotnet_state {
    DOTNET_STARTING,
    DOTNET_RUNNING,
    DOTNET_STOPPING,
    DOTNET_STOPPED,
    DOTNET_FAILED, /* StartAsync has thrown */
};

/* A change of a page. */
struct dotnet_change {
    char id[80];
    uint64_t lsn;
};

struct dotnet_range {
    char id[16];
    char min[DOTNET_EPK_MAX], max[DOTNET_EPK_MAX];
    char parents[400]; /* "0,1,5," */
};

/* A container as the process knows it already; `rid` NULL: not at all. */
struct dotnet_known {
    const char *rid;
    const char *etag; /* of its ranges */
    const struct dotnet_range *ranges;
    size_t count;
};

struct dotnet_options {
    int version;                      /* 2; 0: 3 */
    const char *db, *source, *leases; /* names */
    const char *account;              /* DNS host of the account */
    const char *processor, *instance;
    const char *mode; /* NULL: "Incremental Feed" */
    uint32_t acquire_ms, expire_ms, renew_ms, poll_ms;
    uint32_t page_limit; /* 0: not sent */
    enum dotnet_start start;
    int64_t start_s;
    struct dotnet_known known_source, known_leases;
    bool has_key_member; /* known leases: keyed by /partitionKey */
    /* Leases that it has acquired; with any it runs from the beginning. */
    const struct dotnet_lease *running;
    size_t running_count;

    /* It has acquired a lease and reads it from here; "": from its start.
     * NULL: nobody asks. */
    void (*position)(void *context, const char *token, const char *position);
    /* A batch is handed to the delegate; returns the milliseconds it takes. */
    int64_t (*begin)(void *context, const char *token,
                     const struct dotnet_change *changes, size_t count);
    /* It returns; false: it throws. */
    bool (*end)(void *context, const char *token,
                const struct dotnet_change *changes, size_t count);
    void *context;
};

struct dotnet_peer;

/* Strings of the options are borrowed.  The network is the caller's. */
struct dotnet_peer *dotnet_peer_start(const struct dotnet_options *options,
                                      struct rn_network *network,
                                      struct rn_env *env);
enum dotnet_state dotnet_peer_state(const struct dotnet_peer *peer);
/* How many leases it works on. */
size_t dotnet_peer_workers(const struct dotnet_peer *peer);
void dotnet_peer_stop(struct dotnet_peer *peer);
void dotnet_peer_free(struct dotnet_peer *peer);

/* The equal distribution of version 3: writes the places of the leases to take
 * into `picks`, and returns how many there are. */
size_t dotnet_balance(const struct dotnet_lease *leases, size_t count,
                      const char *me, int64_t now_ms, int64_t expire_ms,
                      size_t *picks);

#endif
