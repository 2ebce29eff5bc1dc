/* store.h -- the interface of lease stores, as the host of a processor sees it.
 *
 * A store keeps records of (id, etag, JSON) and compares and swaps them by
 * etag.  Calls are asynchronous: start begins one, step finishes those that can
 * be finished and calls their `done`, on the host's thread.  There are two
 * stores:
 *
 *   rn_lease_store_container_open   a container of an account
 *                                   (store_container.c)
 *   rn_lease_store_blocking_open    a user's table of functions, or ours for
 *                                   memory and files, on a thread of its own
 *                                   (store_blocking.c)
 *
 * The ids of one processor have a common base:
 *
 *   BASE..TOKEN   a lease (document.h)
 *   BASE.info     the marker: the store is initialised
 *   BASE.lock     the lock of the bootstrap
 *
 * Threads: one, that of the host or of a call that blocks.
 */
#ifndef RN_CLIENT_LEASE_STORE_H
#define RN_CLIENT_LEASE_STORE_H

#include "base/env.h"
#include "base/queue.h"
#include "client/account/call.h"
#include "client/lease/document.h"

#include <runnel/processor.h>

enum {
    RN_LEASE_STORE_ID_MAX = 1024
}; /* with the NUL; the server allows 1,023 */

enum rn_lease_store_kind {
    RN_LEASE_STORE_PREPARE, /* checks that the store can keep leases */
    RN_LEASE_STORE_LIST,    /* every record whose id begins with `id` */
    RN_LEASE_STORE_READ,
    RN_LEASE_STORE_CREATE,
    RN_LEASE_STORE_REPLACE, /* if `etag` is current */
    RN_LEASE_STORE_REMOVE,  /* the same */
};

/* A record that was found.  The bytes live in the call's arena. */
struct rn_lease_store_record {
    struct rn_view id, etag, json;
    int64_t written_ms; /* the store's clock at the last write; 0: unknown */
};

struct rn_lease_store_call {
    /* ---- the caller's ---- */
    enum rn_lease_store_kind kind;
    char id[RN_LEASE_STORE_ID_MAX];
    char partition_key[RN_LEASE_STORE_ID_MAX]; /* of the document; "": its id */
    char etag[RN_LEASE_ETAG_MAX];              /* the condition */
    struct rn_buf json;                        /* what is written */
    void *transaction; /* for a user's store; NULL: none */
    int64_t until_ns;  /* of the steady clock; it is not sent again later; 0: no
                        * limit */
    void (*done)(struct rn_lease_store_call *call);
    void *context;

    /* ---- the answer ---- */
    /* RUNNEL_NOT_FOUND, RUNNEL_CONFLICT and RUNNEL_PRECONDITION are outcomes;
     * RUNNEL_UNCERTAIN: the write may be done. */
    runnel_code code;
    runnel_error error;
    char new_etag[RN_LEASE_ETAG_MAX];
    struct rn_arena arena;
    struct rn_lease_store_record *records; /* LIST, READ */
    size_t count;
    bool lacks_ttl;  /* PREPARE: the container does not expire documents */
    char rid[32];    /* PREPARE: the container's; "": no container */
    int64_t now_ms;  /* the store's clock at the answer; 0: unknown */
    int64_t sent_ns; /* this host's steady clock when the call began */
    double charge;

    /* ---- the store's ---- */
    struct rn_client_call http;
    size_t room;
    char *continuation;
    bool is_check; /* LIST: asks whether the container is still the same */
    struct rn_queued link;
    struct rn_lease_store_call *next;
    bool is_under_way;
};

void rn_lease_store_call_init(struct rn_lease_store_call *call,
                              enum rn_lease_store_kind kind);
/* The call is not under way. */
void rn_lease_store_call_release(struct rn_lease_store_call *call);
/* Adds a copy of a record to the answer. */
runnel_code
rn_lease_store_call_add(struct rn_lease_store_call *call,
                        const struct rn_lease_store_record *record) RN_CHECK;

struct rn_lease_store {
    const struct rn_lease_store_ops *ops;
    bool has_key_member; /* documents have a member partitionKey */
};

struct rn_lease_store_ops {
    void (*start)(struct rn_lease_store *store,
                  struct rn_lease_store_call *call);
    /* Finishes what can be finished.  Returns how many nanoseconds until it
     * has something to do, RN_TASK_IDLE if only the transport or a wake of the
     * host can bring that about. */
    int64_t (*step)(struct rn_lease_store *store);
    /* Gives up all calls that are under way, without calling `done`, and frees
     * the store.  Blocks while a user's function runs. */
    void (*close)(struct rn_lease_store *store);
};

struct rn_lease_store_options {
    bool create;              /* the container, if it is missing */
    void (*wake)(void *host); /* a call that ran elsewhere has ended */
    void *host;
};

/* Leases in a container, over the transport of the host. */
runnel_code rn_lease_store_container_open(
    struct rn_client_container *container, struct rn_transport *transport,
    const struct rn_lease_store_options *options, struct rn_lease_store **out,
    runnel_error *error) RN_CHECK;
/* Leases in a table of functions, which a thread of the store calls. */
runnel_code rn_lease_store_blocking_open(
    struct rn_env *env, const runnel_lease_store *table,
    const struct rn_lease_store_options *options, struct rn_lease_store **out,
    runnel_error *error) RN_CHECK;

/* Parses a record that is a lease: its etag and time are those of the record,
 * whatever the JSON says. */
runnel_code
rn_lease_store_record_lease(const struct rn_lease_store_record *record,
                            struct rn_lease_document **out,
                            runnel_error *error) RN_CHECK;

#endif
