/* context.h -- the state of one request while it is handled, and the state that
 * all requests of a server share.
 *
 * serve.c takes a request through authorization (auth.h), the route table
 * (route.h) and its handler, and completes the answer (reply.h).
 */
#ifndef RN_REST_CONTEXT_H
#define RN_REST_CONTEXT_H

#include "base/secret.h"
#include "base/uuid.h"
#include "cosmos/account.h"
#include "cosmos/auth.h"
#include "cosmos/binary.h"
#include "cosmos/header.h"
#include "cosmos/hybrid.h"
#include "cosmos/link.h"
#include "cosmos/permission.h"
#include "cosmos/session.h"
#include "cosmos/status.h"
#include "engine/catalog/catalog_change.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/document/batch.h"
#include "engine/document/document.h"
#include "engine/index/index_change.h"
#include "engine/range/lsn_bump.h"
#include "engine/range/split_merge.h"
#include "rest/admin/fault_injection.h"
#include "rest/keys.h"
#include "rest/rest.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

/* Why a request was not authorized; labels of a metric. */
enum {
    RN_AUTH_MISSING, /* no token */
    RN_AUTH_EXPIRED, /* its date is too far from the server's clock */
    RN_AUTH_INVALID, /* anything else */
    RN_AUTH_FAILURES,
};

struct rn_rest {
    struct rn_rest_opts opts;
    struct rn_engine *engine;
    uint64_t life; /* unique among instances in this process */
    enum rn_consistency consistency;
    atomic_uint calls;
    atomic_bool stopping;
    struct rn_rest_counters *counters;
    struct rn_clock_jumps jumps;
    atomic_ullong auth_failures[RN_AUTH_FAILURES];
    atomic_uint held; /* refusals being delayed now (auth_delay.h) */
    atomic_ullong held_total;
    _Atomic int64_t key_used[RN_KEYS]; /* seconds since 1970; 0: never */
    int64_t started_s;

    pthread_mutex_t lock; /* guards keys, idle signers and injected faults */
    struct rn_keys *keys; /* allocated by rn_secret_new */
    uint64_t keys_version;
    struct rn_signers *idle;
    struct rn_buf authority; /* tls/ca.pem; guarded by `lock` too */
    struct rn_injected_faults orders;

    struct rn_result_cache *result_cache; /* result_cache.h */
};

enum {
    RN_MAY_READ = 1 << 0,
    RN_MAY_WRITE = 1 << 1,
    RN_MAY_WRITE_DATA = 1 << 2, /* documents only */
};

struct rn_feed_page;
struct rn_container_stats;
struct rn_context;
typedef enum rn_rest_step rn_handler_fn(struct rn_context *x);

/* A request, as far as it has been parsed and resolved. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as steps go */
struct rn_context {
    struct rn_call *call;
    struct rn_rest *rest;
    const struct rn_route *route;
    int64_t now_s; /* when it began, by the wall clock */
    struct rn_http_target target;
    struct rn_link link;
    unsigned rights;
    bool is_suspect; /* its signature or token was wrong */
    bool is_control; /* a path under /_runnel/, signed as it was sent */
    bool is_stray;   /* the path cannot name a resource */
    struct rn_injected_effect blow; /* applied when the handler is done */
    struct rn_err err;

    bool is_held; /* auth_delay.c */

    /* Set if a resource token authorized it instead of an account key. */
    bool is_granted;
    struct rn_permission permission;
    struct rn_grant grant;
    uint32_t token_seconds; /* lifetime of the tokens that it creates */

    /* The objects on the path, as far as they exist; `object` is the last one,
     * if it is in the catalog. */
    struct rn_object *database, *container, *user, *object;

    struct rn_object *offer; /* the offer that is charged; NULL: none */
    uint32_t retry_ms;       /* with RN_THROTTLED; 0: the default */

    /* What handlers keep until a write is done. */
    struct rn_pk pk;
    bool has_pk;
    enum rn_code rc;
    struct rn_feed_page *feed; /* feed_page.h, in the arena */
    void *control;             /* state of a control route, in the arena too */
    struct rn_container_stats
        *container_stats; /* in the arena; NULL if not requested */
    bool keeps_links;     /* the answer is a document with its link members */
    atomic_bool
        is_half_closed; /* the client of a query shut down its sending side */
    union {
        struct rn_catalog_change change;
        struct rn_document_write write;
        struct rn_delete_partition delete_partition;
        struct rn_lsn_bump advance;
        struct rn_split_merge split_merge;
        struct rn_index_change index;
    };
    bool has_written;          /* `write` must be released */
    bool has_owner;            /* the answer has the owner's headers */
    struct rn_batch *batch;    /* in the call's arena */
    struct rn_batch_ask *asks; /* one per operation, in the arena too */
    rn_handler_fn *answer;     /* called when the batch is done */
};

/* The header's value; .at is NULL if the header is absent. */
static inline struct rn_view rn_context_header(const struct rn_context *x,
                                               const char *name)
{
    return rn_http_header(x->call->req, rn_view_text(name));
}
static inline bool rn_context_flag(const struct rn_context *x, const char *name)
{
    return rn_header_is_true(rn_context_header(x, name));
}

#endif
