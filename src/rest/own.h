/* own.h -- the REST side from within: what its files share.
 *
 *   serve.c      around every request: identity, rights, route, answer
 *   auth.c       is the signature right, and may this key do that
 *   auth_unknown_path.c      what is signed of a path that names nothing
 *   auth_delay.c    wrong ones are told so after a while
 *   keys.c       the account's keys
 *   route.c      verb, path and headers -> handler, one table
 *   reply.c      common headers, error bodies, charges
 *   control.c    what only an operator may ask for
 *   fault_injection.c      faults that a test has ordered
 *   permissions.c  resource tokens: made, read, and what they allow
 *   budget.c     throughput, where it is enforced
 *   sessions.c   consistency levels and session tokens
 *   the others   handlers
 */
#ifndef RN_REST_OWN_H
#define RN_REST_OWN_H

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
#include "rest/keys.h"
#include "rest/rest.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

/* Signers belong to one thread at a time, so each request borrows a set. */
struct rn_signers {
    struct rn_signer *of[RN_KEYS];
    unsigned which[RN_KEYS]; /* the key each is of */
    size_t count;
    size_t writers; /* of them, those that may write: the first */
    size_t last;    /* that matched: the next request's too, most likely */
    struct rn_buf text, link; /* what is signed, kept for their memory */
    struct rn_buf claim;      /* of the request at hand, */
    struct rn_buf right;      /* and the last that was signed rightly, */
    struct rn_buf token;      /* with this, */
    unsigned key;             /* by this */
    uint64_t version;
    struct rn_signers *next;
};

/* What an ordered fault does to a request: an answer, or none. */
struct rn_order_blow {
    const struct rn_status *status;
    bool loses; /* the connection ends instead */
};

/* A fault for requests to come. */
struct rn_order {
    struct rn_order_blow blow;
    bool after;           /* the request has been carried out */
    uint32_t count, skip; /* left to strike; left to spare, first */
    char method[12];      /* empty: any */
    char path[512];       /* how the target begins */
    char header[64];      /* must be there; empty: none */
};

enum { RN_ORDERS_MAX = 32 };

struct rn_orders {
    struct rn_order of[RN_ORDERS_MAX];
    size_t count;
    uint64_t taken;
    atomic_bool any;
};

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
    struct rn_orders orders;

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
    struct rn_order_blow blow; /* to come when the handler is done */
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
    struct rn_usage
        *usage; /* container_stats.c, in the arena; NULL: not asked for */
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
/* Escapes control characters that stand as they are in strings of the body: the
 * service takes them. */
enum rn_code rn_context_mend_body(struct rn_context *x) RN_CHECK;
/* A document, or a patch, as it was sent: if that is in CosmosBinary, `*body`
 * becomes its text, of at most `max` bytes.  In documents.c. */
enum rn_code rn_context_decode(struct rn_context *x, struct rn_view *body,
                               size_t max) RN_CHECK;
static inline RN_CHECK enum rn_code
rn_context_text(struct rn_context *x, struct rn_view *body, size_t max)
{
    return rn_binary_is(*body) ? rn_context_decode(x, body, max) : RN_OK;
}
/* Of the first API versions, before 2018-06-18? */
bool rn_context_is_old(const struct rn_context *x);

/* ---- keys.c -------------------------------------------------------------- */

/* What the file has, made if it is not there, and the emulators' if it is
 * valid. */
enum rn_code rn_keys_load(const struct rn_rest_opts *opts, struct rn_keys *out,
                          struct rn_err *err) RN_CHECK;
/* Changes nothing unless the file will do. */
enum rn_code rn_keys_load_token(const struct rn_rest_opts *opts,
                                struct rn_keys *out,
                                struct rn_err *err) RN_CHECK;

/* ---- auth.c -------------------------------------------------------------- */

/* Fills x->rights, or what a permission grants.  RN_UNAUTHORIZED or
 * RN_FORBIDDEN. */
enum rn_code rn_rest_authorize(struct rn_context *x) RN_CHECK;
/* auth_unknown_path.c: one of the forms in which a path that names nothing may
 * have been signed, the link into `link` and what it is of into `parts`.
 * RN_NOT_FOUND if it has no such form. */
enum { RN_STRAY_FORMS = 9 };
enum rn_code rn_stray_print(const struct rn_context *x, unsigned form,
                            struct rn_buf *link,
                            struct rn_sign_parts *parts) RN_CHECK;
/* What a path to addresses is to be resolved for becomes x->link; false if that
 * is nothing. */
bool rn_stray_resolve(struct rn_context *x);
/* auth_delay.c: the answer is made; says until when it is to be held, if it is.
 * It has been told, or will not be. */
void rn_refusal_hold(struct rn_context *x);
void rn_refusal_end(struct rn_context *x);
/* Signers of the present keys; the first is the primary key's, and those of
 * keys that may only read are the last. */
enum rn_code rn_signers_borrow(struct rn_rest *r,
                               struct rn_signers **out) RN_CHECK;
void rn_signers_return(struct rn_rest *r, struct rn_signers *s);
void rn_signers_free_all(struct rn_signers *s); /* NULL is fine */

/* ---- permissions.c ------------------------------------------------------- */

/* Reads a resource token.  RN_UNAUTHORIZED or RN_FORBIDDEN. */
enum rn_code rn_permission_authorize(struct rn_context *x,
                                     struct rn_view token) RN_CHECK;
/* Does what is granted allow this, on this?  The route is known.
 * RN_FORBIDDEN. */
enum rn_code rn_permission_check(struct rn_context *x) RN_CHECK;
/* How long the tokens are to last that this request makes. */
enum rn_code rn_permission_read_seconds(struct rn_context *x) RN_CHECK;
/* Appends a permission's JSON with a fresh token. */
enum rn_code rn_permission_print(struct rn_context *x,
                                 const struct rn_object *permission,
                                 struct rn_buf *out) RN_CHECK;

/* ---- route.c ------------------------------------------------------------- */

enum {
    RN_ROUTE_WRITES = 1 << 0,   /* needs RN_MAY_WRITE */
    RN_ROUTE_KEYED = 1 << 1,    /* needs a whole partition key in the header */
    RN_ROUTE_PAYS = 1 << 2,     /* the handler asks whether there are units */
    RN_ROUTE_DOCUMENT = 1 << 3, /* the answer is about one document */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as rows read */
struct rn_route {
    enum rn_http_method method;
    enum rn_kind kind;
    bool is_list;
    const char *given; /* a header that must be true, or there; NULL: none */
    rn_handler_fn *run;
    unsigned traits;
};

/* NULL if there is none. */
const struct rn_route *rn_route_find(const struct rn_context *x);

/* ---- reply.c ------------------------------------------------------------- */

#define RN_GATEWAY_VERSION "version=2.14.0" /* in every answer */

/* Each completes the answer and says RN_REST_DONE, so that answering is one
 * statement. */
enum rn_rest_step rn_reply_fail(struct rn_context *x, enum rn_code rc);
/* Before it: what a read met in the store, if nobody has said so.  For the
 * log. */
void rn_reply_blame(struct rn_context *x, const struct rn_snapshot *r,
                    enum rn_code rc);
/* The body of a refusal; `why` is no longer than an error's text. */
void rn_reply_print_error(struct rn_call *call, const char *word,
                          const char *why);
enum rn_rest_step rn_reply_empty(struct rn_context *x, int status);
/* With call->body as the body. */
enum rn_rest_step rn_reply_json(struct rn_context *x, int status);

void rn_reply_header(struct rn_context *x, const char *name,
                     struct rn_view value);
void rn_reply_text(struct rn_context *x, const char *name, const char *value);
void rn_reply_number(struct rn_context *x, const char *name, uint64_t value);
/* The headers every answer has. */
void rn_reply_common(struct rn_context *x);
enum { RN_RETRY_AFTER_MS = 50 }; /* told with 429 */
void rn_reply_charge(struct rn_context *x, double units);
/* How long it took, in milliseconds: when all else is known. */
void rn_reply_duration(struct rn_context *x, int64_t ns);
void rn_reply_etag(struct rn_context *x, struct rn_etag etag);
/* x-ms-content-path and x-ms-alt-content-path: whose child this is. */
void rn_reply_owner(struct rn_context *x);
/* Session token and LSNs of a range. */
void rn_reply_place(struct rn_context *x, const struct rn_document_place *p);
/* Which form resources have; rn_reply_place says it too. */
void rn_reply_schema(struct rn_context *x);

/* What an operation costs; docs/operations.md has the formula. */
#define RN_CHARGE_METADATA 1.0 /* a read of it; also whatever is refused */
#define RN_CHARGE_METADATA_WRITE 5.0
#define RN_CHARGE_THROTTLED 0.38
double rn_charge_read(size_t bytes);  /* of a document */
double rn_charge_page(size_t bytes);  /* of documents in a list or a feed */
double rn_charge_write(size_t bytes); /* of the document as stored; 0: gone */
double rn_charge_query(size_t bytes); /* of the documents looked at */

/* ---- headers.c ----------------------------------------------------------- */

/* Values of headers that no handler reads.  RN_BAD_REQUEST. */
enum rn_code rn_headers_check(struct rn_context *x) RN_CHECK;
/* The answer is complete: what is added to it whatever it is. */
void rn_headers_finish(struct rn_context *x);
/* account.c: the endpoint that the account names to this client, without a
 * NUL.  Returns its length. */
enum { RN_ENDPOINT_MAX = 1024 };
size_t rn_endpoint_print(const struct rn_context *x, char out[RN_ENDPOINT_MAX]);

/* ---- sessions.c ---------------------------------------------------------- */

/* Does the account promise the consistency that is asked for?
 * RN_BAD_REQUEST. */
enum rn_code rn_session_check_level(struct rn_context *x) RN_CHECK;
/* Of a read of several documents: is there all that the client's session token
 * has seen in this part of the container?  Adds the answer's own token, if it
 * is of one range.  RN_NOT_FOUND (reason SESSION), RN_BAD_REQUEST. */
enum rn_code rn_session_check(struct rn_context *x, struct rn_snapshot *r,
                              const struct rn_epk_range *epks) RN_CHECK;
/* The same of one range, and nothing is added. */
enum rn_code rn_session_check_range(struct rn_context *x, struct rn_snapshot *r,
                                    uint32_t range) RN_CHECK;
/* The token of a place, as this client reads it. */
struct rn_view rn_session_print_for(const struct rn_context *x, uint32_t range,
                                    uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);

/* ---- budget.c ------------------------------------------------------------ */

/* Finds the offer that pays for this request, if any does, and that it has
 * something left.  RN_THROTTLED. */
enum rn_code rn_budget_check(struct rn_context *x) RN_CHECK;
void rn_budget_spend(struct rn_context *x, double units);
/* RN_THROTTLED: too much of the principal's work waits already. */
enum rn_code rn_budget_shed(struct rn_context *x) RN_CHECK;

/* ---- handlers ------------------------------------------------------------ */

rn_handler_fn rn_rest_account_read;
/* container_stats.c: a container that was found, with what the request wants
 * counted; and that as a part of the answer. */
rn_handler_fn rn_rest_container_read;
enum rn_code rn_usage_tell(struct rn_context *x) RN_CHECK;
/* objects.c: answers with it. */
rn_handler_fn rn_rest_container_tell;
rn_handler_fn rn_rest_object_create, rn_rest_object_upsert, rn_rest_object_read,
    rn_rest_object_replace, rn_rest_object_delete, rn_rest_object_list;
rn_handler_fn rn_rest_document_create, rn_rest_document_upsert,
    rn_rest_document_read, rn_rest_document_replace, rn_rest_document_delete,
    rn_rest_document_list;
rn_handler_fn rn_rest_attachment_list;
rn_handler_fn rn_rest_feed_read, rn_rest_feed_query;
rn_handler_fn rn_rest_partition_delete;
rn_handler_fn rn_rest_document_patch, rn_rest_batch;
rn_handler_fn rn_rest_range_list;
/* A range of the container `object` as clients are shown it. */
void rn_range_print(struct rn_json_out *o, const struct rn_object *object,
                    const struct rn_range_span *span, uint64_t lsn);
rn_handler_fn rn_rest_split, rn_rest_merge;
rn_handler_fn rn_rest_explain, rn_rest_index;
rn_handler_fn rn_rest_empty_list, rn_rest_empty_read, rn_rest_script_create;
rn_handler_fn rn_rest_query, rn_rest_query_plan;

/* ---- control.c ----------------------------------------------------------- */

/* Is the path one of theirs?  Then rn_rest_control does all the rest. */
bool rn_control_is(const struct rn_context *x);
rn_handler_fn rn_rest_control;

/* For their handlers, which answer what fails.  `j` has been initialised and is
 * the caller's to release; `known` are the members there may be, ended by
 * NULL. */
enum rn_code rn_control_body(struct rn_context *x, struct rn_json *j,
                             const char *const *known) RN_CHECK;
/* A member that is absent leaves the number as it is, the text empty. */
enum rn_code rn_control_number(struct rn_context *x, const struct rn_json *j,
                               const char *name, int64_t most,
                               int64_t *out) RN_CHECK;
enum rn_code rn_control_text(struct rn_context *x, const struct rn_json *j,
                             const char *name, char *out, size_t room) RN_CHECK;
/* Finds x->container by the member "container", a path. */
enum rn_code rn_control_container(struct rn_context *x,
                                  const struct rn_json *j) RN_CHECK;

/* ---- fault_injection.c
 * ------------------------------------------------------------- */

enum rn_code rn_order_add(struct rn_rest *r, const struct rn_order *order,
                          struct rn_err *err) RN_CHECK;
void rn_order_clear(struct rn_rest *r);
/* How many strikes are left, and how many there were. */
uint64_t rn_order_waiting(struct rn_rest *r, uint64_t *taken);
/* True if a fault has answered in the handler's place. */
bool rn_order_strike(struct rn_context *x, enum rn_rest_step *step);
/* The answer is complete: spoils it if that was ordered. */
void rn_order_strike_after(struct rn_context *x);

/* documents.c: the id of the document that the path names, and the number of
 * its rid, if that is how it does, else 0.  RN_NOT_FOUND. */
enum rn_code rn_context_name_document(struct rn_context *x, struct rn_view *id,
                                      uint64_t *number) RN_CHECK;
/* A write by rid has found nothing under that id: is the document there, under
 * another that it was given meanwhile? */
bool rn_context_is_renamed(struct rn_context *x);

/* health.c: what of its configuration opens what is closed by default, in the
 * order of the names. */
enum { RN_INSECURE = 5 };
extern const char *const rn_insecure_names[RN_INSECURE];
void rn_insecure_find(struct rn_rest *r, bool out[RN_INSECURE]);

/* metrics.c: all of them, in Prometheus' text. */
enum rn_code rn_metrics_print(struct rn_rest *r, struct rn_buf *out) RN_CHECK;
/* by_container.c: those that name containers; and under which number one's
 * requests are counted. */
void rn_series_print(struct rn_rest *r, struct rn_buf *out);
uint64_t rn_series_number(struct rn_rid container);

/* documents.c: in a container from the time before partition keys, a request
 * that names none means the documents that have none: true, and x->pk is that
 * key.  What the path names has been found. */
bool rn_context_means_none(struct rn_context *x);
/* A read or a write of one document needs its whole key. */
enum rn_code rn_context_whole_key(struct rn_context *x) RN_CHECK;
/* May a document be made whose key only its body says?  Not with --strict:
 * RN_REASON_KEY_MISMATCH, as of a key that has too few components. */
enum rn_code rn_context_missing_key(struct rn_context *x,
                                    struct rn_err *err) RN_CHECK;
enum rn_code rn_context_refuse_triggers(struct rn_context *x) RN_CHECK;
bool rn_context_wants_minimal(const struct rn_context *x);

/* patches.c: runs x->batch to its end, then calls `answer`.  x->rc is what
 * became of the whole. */
enum rn_rest_step rn_context_run_batch(struct rn_context *x,
                                       rn_handler_fn *answer);

/* health.c: the paths that need no signature.  False if this is none. */
bool rn_rest_public(struct rn_context *x);
/* The same, for those that only say how the server is: whatever Host says. */
bool rn_rest_probe(struct rn_context *x);

/* lists.c: what part of the container a request is about, and how many it wants
 * at most. */
enum rn_code rn_context_scope(struct rn_context *x,
                              struct rn_documents_scan *scan) RN_CHECK;
enum rn_code rn_context_count(struct rn_context *x, size_t *out) RN_CHECK;
/* What it asks for documents or objects of: the container, user or database; 0:
 * the account.  A continuation tells it: a place in one is none in another. */
uint64_t rn_context_whose(const struct rn_context *x);
/* The range that a request names; NULL if it names none.  RN_GONE. */
enum rn_code rn_context_range(struct rn_context *x,
                              const struct rn_range_span **out) RN_CHECK;

/* objects.c: finds what the path names.  RN_NOT_FOUND, reason OWNER if it is
 * not the last of them that is missing. */
enum rn_code rn_context_find_database(struct rn_context *x) RN_CHECK;
enum rn_code rn_context_find_container(struct rn_context *x) RN_CHECK;
/* The container as the catalog has it now.  RN_NOT_FOUND, reason OWNER. */
enum rn_code rn_context_refresh(struct rn_context *x) RN_CHECK;
/* For the catalog's objects: all of the path.  Of a list, its owner. */
enum rn_code rn_context_find(struct rn_context *x) RN_CHECK;
/* What they lie in; all zero if that is the account. */
struct rn_rid rn_context_owner(const struct rn_context *x);

/* Does the text name one of the list's objects, so that the list can go on
 * behind it? */
bool rn_context_place(const struct rn_context *x, struct rn_view text,
                      struct rn_rid *out);
/* Appends an object's JSON as this client sees it: a permission with a fresh
 * token, a container in the client's API version. */
enum rn_code rn_object_show(struct rn_context *x, const struct rn_object *o,
                            struct rn_buf *out) RN_CHECK;
/* definitions.c: the latter; and what a client sends to create a container, or
 * to replace x->object, as the engine takes it. */
enum rn_code rn_definition_show(const struct rn_context *x,
                                const struct rn_object *container,
                                struct rn_buf *out) RN_CHECK;
enum rn_code rn_definition_accept(struct rn_context *x,
                                  struct rn_view *body) RN_CHECK;
/* The container in which a link lies, to be released; NULL if there is none. */
struct rn_object *rn_rest_find_container(struct rn_rest *r,
                                         const struct rn_link *l);

#endif
