/* context.h -- one request while it is handled, and the state that all requests
 * of a server share.
 *
 * serve.c takes a request through authorization (auth.h), the table of routes
 * (route.h) and its handler (handlers.h), and completes the answer (reply.h).
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
#include "engine/catalog/catalog.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/document/batch.h"
#include "engine/document/document.h"
#include "engine/index/index.h"
#include "engine/range/lsn_bump.h"
#include "engine/range/split_merge.h"
#include "rest/admin/fault_injection.h"
#include "rest/keys.h"
#include "rest/rest.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

/* Why a request is not authorized, as the metrics tell it. */
enum {
    RN_AUTH_MISSING, /* no token */
    RN_AUTH_EXPIRED, /* its date is not of now */
    RN_AUTH_INVALID, /* anything else */
    RN_AUTH_FAILURES,
};

struct rn_rest {
    struct rn_rest_opts opts;
    struct rn_engine *engine;
    uint64_t life; /* none other in this process has this number */
    enum rn_consistency consistency;
    atomic_uint calls;
    atomic_bool stopping;
    struct rn_tally *tally;
    struct rn_jumps jumps;
    atomic_ullong auth_failures[RN_AUTH_FAILURES];
    atomic_uint held; /* refusals, now */
    atomic_ullong held_total;
    _Atomic int64_t key_used[RN_KEYS]; /* seconds since 1970; 0: never */
    int64_t started_s;

    pthread_mutex_t lock; /* guards the keys, the idle signers, the orders */
    struct rn_keys *keys; /* of rn_secret_new */
    uint64_t keys_version;
    struct rn_signers *idle;
    struct rn_buf authority; /* tls/ca.pem; guarded too */
    struct rn_injected_faults orders;

    struct rn_answers *answers; /* result_cache.h */
};

enum {
    RN_MAY_READ = 1 << 0,
    RN_MAY_WRITE = 1 << 1,
    RN_MAY_WRITE_DATA = 1 << 2, /* documents only */
};

struct rn_feed_page;
struct rn_usage;
struct rn_context;
typedef enum rn_rest_step rn_handler_fn(struct rn_context *x);

/* A request, understood so far. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as steps go */
struct rn_context {
    struct rn_call *call;
    struct rn_rest *rest;
    const struct rn_route *route;
    int64_t now_s; /* when it began, by the wall clock */
    struct rn_http_target target;
    struct rn_link link;
    unsigned rights;
    bool is_suspect; /* it came with a wrong signature or token */
    bool is_control; /* a path under /_runnel/, which is signed as it is */
    bool is_stray;   /* the path names nothing that could be there */
    struct rn_injected_effect blow; /* to come when the handler is done */
    struct rn_err err;

    bool is_held; /* auth_delay.c */

    /* By which permission, if it is not by a key. */
    bool is_granted;
    struct rn_permission permission;
    struct rn_grant grant;
    uint32_t token_seconds; /* of tokens made here */

    /* What the path names, as far as it is there; `object` is the last, if it
     * is in the catalog. */
    struct rn_object *database, *container, *user, *object;

    struct rn_object *offer; /* what this is paid from; NULL: nothing */
    uint32_t retry_ms;       /* with RN_THROTTLED; 0: not long */

    /* What handlers need to keep until a write is done. */
    struct rn_pk pk;
    bool has_pk;
    enum rn_code rc;
    struct rn_feed_page *feed; /* feed_page.h, in the arena */
    void *control;             /* of a control route, likewise */
    struct rn_usage
        *usage;       /* container_stats.c, in the arena; NULL: not asked for */
    bool keeps_links; /* it answers with a document that has them */
    atomic_bool is_quiet; /* who sent a query has ended his side */
    union {
        struct rn_catalog_change change;
        struct rn_document_write write;
        struct rn_purge purge;
        struct rn_lsn_bump advance;
        struct rn_split_merge reshape;
        struct rn_index_change index;
    };
    bool has_written;          /* `write` is to be released */
    bool has_owner;            /* the answer names it */
    struct rn_batch *batch;    /* in the call's arena */
    struct rn_batch_ask *asks; /* likewise, one for each of its operations */
    rn_handler_fn *answer;     /* what to say when the batch is done */
};

/* The header's value; at NULL if there is none. */
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
