/* lease_split.h -- the replacement of a lease whose range was split, merged or
 * cut by the leases of its successors.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_LEASE_SPLIT_H
#define RN_CLIENT_PROCESSOR_LEASE_SPLIT_H

#include "client/lease/store.h"
#include "client/lease/update.h"

struct rn_host;
struct rn_worker;

/* A lease that takes the place of another. */
struct rn_lease_child {
    struct rn_epk_range range;
    char token[RN_LEASE_TOKEN_MAX];
    bool is_epk;
    char session[RN_SESSION_MAX];
    struct rn_lease_document *document; /* NULL: another host made it */
    int64_t sent_ns;
};

/* The replacement of a lease by others. */
struct rn_lease_split {
    bool is_merge, is_cut;
    bool is_stored; /* the position was written, so the lease is ours */
    struct rn_lease_child *children;
    size_t count, at; /* the child in work */
    struct rn_lease_store_call call;
    bool is_calling, has_answer;
    int64_t due_ns;
    uint32_t failures;
    char *bounds; /* value of runnel.split, if the parent must stay */
};

/* Returns nanoseconds to the next step. */
int64_t rn_worker_split(struct rn_worker *w, int64_t now_ns);
void rn_lease_split_release(struct rn_lease_split *r);
/* A lease is acquired by a pass: if a split of this host made it, what the
 * split knows of it is out of date. */
void rn_lease_split_forget(struct rn_host *h, const char *id);
/* What the routing map says of a lease whose range answers 410. */
enum rn_fate { RN_FATE_UNKNOWN, RN_FATE_SAME, RN_FATE_MOVED, RN_FATE_GONE };
enum rn_fate rn_lease_split_fate(struct rn_worker *w);

#endif
