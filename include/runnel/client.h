/* client.h -- client, items, queries, and the pull model of the change feed. */
#ifndef RUNNEL_CLIENT_H
#define RUNNEL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RUNNEL_CHECK __attribute__((warn_unused_result))

/** Where zero means a default: no such limit, no such feature. */
#define RUNNEL_OFF UINT32_MAX

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors and bytes ---------------------------------------------------- */

typedef enum runnel_code {
    RUNNEL_OK = 0,
    RUNNEL_NOT_FOUND,
    RUNNEL_CONFLICT,     /**< an item with this id exists */
    RUNNEL_PRECONDITION, /**< your etag is not the current one */
    RUNNEL_GONE,         /**< the partition range was split or merged */
    RUNNEL_BAD_REQUEST,  /**< wrong arguments; the message says which */
    RUNNEL_UNAUTHORIZED,
    RUNNEL_FORBIDDEN,
    RUNNEL_TOO_LARGE,
    RUNNEL_THROTTLED,   /**< wait runnel_error.retry_after_ms */
    RUNNEL_BUSY,        /**< the server cannot answer now; retry */
    RUNNEL_TIMEOUT,     /**< no answer in time; a write was not sent */
    RUNNEL_UNCERTAIN,   /**< a write was sent, no answer came: it may be done */
    RUNNEL_UNREACHABLE, /**< no connection; nothing was sent */
    RUNNEL_PROTOCOL,    /**< the server's answer cannot be parsed */
    RUNNEL_UNSUPPORTED, /**< this server, container or lease format cannot */
    RUNNEL_LEASE_LOST,  /**< another host has the lease; nothing was written */
    RUNNEL_CANCELLED,
    RUNNEL_NO_MEMORY,
} runnel_code;

/** A failure, by value: put it on the stack, never free it.  The layout is
 * frozen; all other information is in the message. */
typedef struct runnel_error {
    runnel_code code;
    int32_t http_status; /**< 0 if no answer arrived */
    int32_t sub_status;
    uint32_t retry_after_ms;
    char activity_id[40]; /**< quote it to the operator of the server */
    char message[200];    /**< one sentence; never a key or a document */
} runnel_error;

/** A constant such as "not found".  Never NULL. */
const char *runnel_code_name(runnel_code code);

/** May the same call, unchanged, succeed later? */
bool runnel_code_is_transient(runnel_code code);

/** "1.0.0" */
const char *runnel_version(void);

/** Borrowed bytes.  Not NUL-terminated. */
typedef struct runnel_bytes {
    const char *at;
    size_t len;
} runnel_bytes;

/** The bytes of a string. */
static inline runnel_bytes runnel_text(const char *s)
{
    runnel_bytes b;
    b.at = s;
    b.len = s ? strlen(s) : 0;
    return b;
}

typedef struct runnel_header {
    const char *name;
    const char *value;
} runnel_header;

/* ---- client -------------------------------------------------------------- */

/** An account.  Has no thread.  Any number of threads may use it. */
typedef struct runnel_client runnel_client;
/** A container of it.  Likewise. */
typedef struct runnel_container runnel_container;
/** One answer: owns the bytes it lends.  One thread at a time. */
typedef struct runnel_reply runnel_reply;

/** A bearer token of Microsoft Entra ID. */
typedef struct runnel_token {
    const char *text;   /**< copied when the callback has returned */
    int64_t expires_ms; /**< 0: ask again in five minutes */
} runnel_token;

/** Gets a token, for accounts that refuse keys.  Called on the thread of a call
 * that needs one: before the first request, five minutes before the last token
 * expires, and after a 401; never by two threads at once, and it must not use
 * this client.  Any other code than RUNNEL_OK fails that call; `error` is the
 * callback's to fill. */
typedef runnel_code (*runnel_token_fn)(void *context, runnel_token *out,
                                       runnel_error *error);

typedef struct runnel_client_options {
    size_t size;          /**< set by RUNNEL_CLIENT_INIT */
    const char *endpoint; /**< "https://NAME.documents.azure.com:443/" */
    /** Base64 account key.  NULL: `resource_token`, or the emulators' public
     * key if the endpoint is a loopback address. */
    const char *key;
    const char *resource_token; /**< instead of the key */
    runnel_token_fn token;      /**< instead of the key */
    void *token_context;        /**< the first argument of `token` */
    /** "AccountEndpoint=...;AccountKey=...;", instead of those above. */
    const char *connection_string;
    const char *ca_file;         /**< PEM; NULL: the system's */
    bool insecure_tls;           /**< accept any certificate (emulators) */
    const char *proxy;           /**< URL; NULL: none */
    const char *user_agent;      /**< appended to the library's own */
    const char *consistency;     /**< "Eventual", ...; NULL: the account's */
    bool without_session;        /**< do not keep session tokens */
    uint32_t connect_timeout_ms; /**< 0: 5000 */
    uint32_t timeout_ms;         /**< of one attempt; 0: 10000 */
    uint32_t retry_limit;        /**< attempts after the first; 0: 9 */
    uint32_t retry_wait_ms;      /**< all pauses of a call together; 0: 30000 */
    uint32_t connection_limit;   /**< calls on the network at once; 0: 16 */
    /** Regions to read from, in order: "West Europe,North Europe".  Writes go
     * to the account's write region; a region that fails is skipped.
     * NULL: every request goes to `endpoint`. */
    const char *preferred_regions;
} runnel_client_options;

#define RUNNEL_CLIENT_INIT .size = sizeof(runnel_client_options)

/** Checks the options.  Does not go to the network. */
runnel_code runnel_client_open(const runnel_client_options *options,
                               runnel_client **out,
                               runnel_error *error) RUNNEL_CHECK;
void runnel_client_close(runnel_client *client);

/** Makes the calls on this client and its containers that other threads are
 * inside of, and all later ones, return RUNNEL_CANCELLED.  Any thread.  A write
 * that was already sent returns RUNNEL_UNCERTAIN. */
void runnel_client_cancel(runnel_client *client);

/** Any request of the REST protocol, signed and retried as ours are: stored
 * procedures, users, offers, control routes.  `path` begins with '/'. */
typedef struct runnel_request {
    const char *method; /**< "GET" */
    const char *path; /**< "/dbs/shop/colls/orders/sprocs/p", percent-encoded */
    const runnel_header *headers;
    size_t header_count;
    runnel_bytes body;
} runnel_request;

runnel_code runnel_client_send(runnel_client *client,
                               const runnel_request *request,
                               runnel_reply **out,
                               runnel_error *error) RUNNEL_CHECK;

int32_t runnel_reply_status(const runnel_reply *reply);
runnel_bytes runnel_reply_body(const runnel_reply *reply);
/** The three below are never NULL; "" if the answer has none. */
const char *runnel_reply_etag(const runnel_reply *reply); /**< with quotes */
const char *runnel_reply_session(const runnel_reply *reply);
const char *runnel_reply_header(const runnel_reply *reply, const char *name);
double runnel_reply_charge(const runnel_reply *reply); /**< request units */
void runnel_reply_close(runnel_reply *reply);

/* ---- databases and containers -------------------------------------------- */

typedef struct runnel_throughput {
    uint32_t units; /**< RU/s; the maximum if autoscale */
    bool is_autoscale;
} runnel_throughput;

typedef struct runnel_database_definition {
    size_t size; /**< set by RUNNEL_DATABASE_INIT */
    const char *id;
    runnel_throughput throughput; /**< shared; 0 units: none */
    bool if_absent;               /**< one that exists is not an error */
} runnel_database_definition;

#define RUNNEL_DATABASE_INIT .size = sizeof(runnel_database_definition)

typedef struct runnel_container_definition {
    size_t size; /**< set by RUNNEL_CONTAINER_INIT */
    const char *id;
    const char *partition_key; /**< "/customer"; "/a,/b" hierarchical; "/id" */
    int32_t ttl_s;             /**< defaultTtl; 0: off, -1: items say */
    uint32_t versions_min; /**< minutes that all versions are kept; 0: not */
    const char *json;      /**< object with further members, or NULL */
    runnel_throughput throughput; /**< 0 units: the server decides */
    bool if_absent;               /**< one that exists is not an error */
} runnel_container_definition;

#define RUNNEL_CONTAINER_INIT .size = sizeof(runnel_container_definition)

runnel_code runnel_database_create(runnel_client *client,
                                   const runnel_database_definition *definition,
                                   runnel_reply **out,
                                   runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_database_read(runnel_client *client, const char *id,
                                 runnel_reply **out,
                                 runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_database_delete(runnel_client *client, const char *id,
                                   runnel_error *error) RUNNEL_CHECK;

/** Does not go to the network; a wrong name fails at first use. */
runnel_code runnel_container_open(runnel_client *client, const char *database,
                                  const char *container, runnel_container **out,
                                  runnel_error *error) RUNNEL_CHECK;
void runnel_container_close(runnel_container *container);

/** As runnel_client_cancel, for the calls and queries on this handle only.  A
 * handle costs no request: open one for what is to be cancelled by itself. */
void runnel_container_cancel(runnel_container *container);

/** Creates it; open it afterwards. */
runnel_code
runnel_container_create(runnel_client *client, const char *database,
                        const runnel_container_definition *definition,
                        runnel_reply **out, runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_container_read(runnel_container *container,
                                  runnel_reply **out,
                                  runnel_error *error) RUNNEL_CHECK;
/** `json`: the whole definition, as read. */
runnel_code runnel_container_replace(runnel_container *container,
                                     runnel_bytes json, runnel_reply **out,
                                     runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_container_delete(runnel_container *container,
                                    runnel_error *error) RUNNEL_CHECK;

/** Of a container, or with a NULL `container` of the database. RUNNEL_NOT_FOUND
 * if it has no throughput of its own. */
runnel_code runnel_throughput_read(runnel_client *client, const char *database,
                                   const char *container,
                                   runnel_throughput *out,
                                   runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_throughput_replace(runnel_client *client,
                                      const char *database,
                                      const char *container,
                                      runnel_throughput throughput,
                                      runnel_error *error) RUNNEL_CHECK;

/* ---- items --------------------------------------------------------------- */

typedef struct runnel_key {
    const char *partition_key; /**< JSON; NULL: the item has none */
    const char *id;
} runnel_key;

typedef struct runnel_item_options {
    size_t size;               /**< set by RUNNEL_ITEM_INIT */
    const char *partition_key; /**< NULL: taken out of the item's JSON */
    const char *if_match;      /**< etag that must be current; NULL: any */
    const char *if_none_match; /**< read: RUNNEL_OK and status 304 if equal */
    const char *condition;     /**< patch: "FROM c WHERE c.stock > 0" */
    const char *session_token; /**< NULL: what the client has seen */
    bool want_body;            /**< writes: have the stored item in the reply */
    const runnel_header *headers; /**< further ones: triggers, indexing */
    size_t header_count;
} runnel_item_options;

#define RUNNEL_ITEM_INIT .size = sizeof(runnel_item_options)

/* `options` and `out` may be NULL.  Create, upsert and replace take the
 * partition key (and replace the id) out of `json`; for that the container's
 * definition is read once. */

runnel_code runnel_item_create(runnel_container *container, runnel_bytes json,
                               const runnel_item_options *options,
                               runnel_reply **out,
                               runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_item_upsert(runnel_container *container, runnel_bytes json,
                               const runnel_item_options *options,
                               runnel_reply **out,
                               runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_item_replace(runnel_container *container, runnel_bytes json,
                                const runnel_item_options *options,
                                runnel_reply **out,
                                runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_item_read(runnel_container *container, runnel_key key,
                             const runnel_item_options *options,
                             runnel_reply **out,
                             runnel_error *error) RUNNEL_CHECK;
/** `operations`: [{"op":"incr","path":"/stock","value":-1}], at most 10. */
runnel_code runnel_item_patch(runnel_container *container, runnel_key key,
                              runnel_bytes operations,
                              const runnel_item_options *options,
                              runnel_reply **out,
                              runnel_error *error) RUNNEL_CHECK;
runnel_code runnel_item_delete(runnel_container *container, runnel_key key,
                               const runnel_item_options *options,
                               runnel_error *error) RUNNEL_CHECK;

typedef enum runnel_operation_kind {
    RUNNEL_CREATE = 0,
    RUNNEL_UPSERT,
    RUNNEL_REPLACE,
    RUNNEL_READ,
    RUNNEL_PATCH,
    RUNNEL_DELETE,
} runnel_operation_kind;

typedef struct runnel_operation {
    runnel_operation_kind kind;
    runnel_key key;       /**< read, patch, delete; else taken from `json` */
    runnel_bytes json;    /**< the item, or the patch operations */
    const char *if_match; /**< may be NULL */
} runnel_operation;

/** The outcomes of several operations, in their order.  One thread at a time.
 */
typedef struct runnel_results runnel_results;

typedef struct runnel_result {
    runnel_code code; /**< RUNNEL_CANCELLED: undone because of another */
    int32_t http_status, sub_status;
    const char *etag;
    runnel_bytes body; /**< reads; writes if the server sent one */
    double charge;
} runnel_result;

/** All or none of up to 100 operations on one partition key.  If one is
 * refused, its code is returned and `*out` is set all the same. */
runnel_code runnel_items_transact(runnel_container *container,
                                  const char *partition_key,
                                  const runnel_operation *operations,
                                  size_t count, runnel_results **out,
                                  runnel_error *error) RUNNEL_CHECK;

/** Each operation by itself, any number, any keys: grouped by range, sent in
 * parallel, throttled ones again.  Their failures are in the results.  The call
 * fails if nothing could be sent, or if it was given up on the way (cancelled,
 * or the ranges could not be read); `*out` is set all the same in that case. */
runnel_code runnel_items_bulk(runnel_container *container,
                              const runnel_operation *operations, size_t count,
                              runnel_results **out,
                              runnel_error *error) RUNNEL_CHECK;

size_t runnel_results_count(const runnel_results *results);
const runnel_result *runnel_results_at(const runnel_results *results, size_t i);
void runnel_results_close(runnel_results *results);

/* ---- queries and read feed ----------------------------------------------- */

/** A query in progress.  One thread at a time. */
typedef struct runnel_query runnel_query;
/** Some rows of its answer.  Lends its bytes until closed.  Any thread. */
typedef struct runnel_page runnel_page;

typedef struct runnel_query_options {
    size_t size;               /**< set by RUNNEL_QUERY_INIT */
    const char *text;          /**< NULL: every item (read feed) */
    const char *parameters;    /**< [{"name":"@a","value":1}]; NULL: none */
    const char *partition_key; /**< only this one, or a prefix; NULL: all */
    const char *range;         /**< only this one (runnel_range.text) */
    const char *token;         /**< resume after a page; NULL: at the start */
    uint32_t page_limit;       /**< rows; 0: the server decides */
    uint32_t parallel;         /**< ranges asked at once; 0: 4 */
    uint32_t memory_limit;     /**< bytes for merging; 0: 64 MiB */
    const char *session_token; /**< NULL: what the client has seen */
    const runnel_header *headers;
    size_t header_count;
} runnel_query_options;

#define RUNNEL_QUERY_INIT .size = sizeof(runnel_query_options)

/** Over several ranges a plan is asked for and the rows are merged here: ORDER
 * BY, ORDER BY RANK, aggregates, GROUP BY, DISTINCT, TOP, OFFSET and LIMIT. */
runnel_code runnel_query_open(runnel_container *container,
                              const runnel_query_options *options,
                              runnel_query **out,
                              runnel_error *error) RUNNEL_CHECK;
/** The databases of an account, or the containers of a database. */
runnel_code runnel_query_catalog(runnel_client *client, const char *database,
                                 const runnel_query_options *options,
                                 runnel_query **out,
                                 runnel_error *error) RUNNEL_CHECK;

/** Sets `*out` to NULL behind the last page.  After a failure that is transient
 * it may be called again and continues where it was. */
runnel_code runnel_query_next(runnel_query *query, runnel_page **out,
                              runnel_error *error) RUNNEL_CHECK;
void runnel_query_close(runnel_query *query);

size_t runnel_page_count(const runnel_page *page);
runnel_bytes runnel_page_at(const runnel_page *page, size_t i);
/** The continuation; NULL on the last page.  What is written between the pages
 * neither repeats nor hides other rows.  Of DISTINCT without ORDER BY it grows
 * with the rows returned, and beyond 10,000 of them it is refused
 * (RUNNEL_UNSUPPORTED); order by the selected value then. */
const char *runnel_page_token(const runnel_page *page);
double runnel_page_charge(const runnel_page *page);
void runnel_page_close(runnel_page *page);

/* ---- partition key ranges ------------------------------------------------ */

typedef struct runnel_ranges runnel_ranges; /**< A list.  Any thread. */

typedef struct runnel_range {
    const char *id;   /**< of the partition key range that it lies in */
    const char *min;  /**< inclusive, hexadecimal; "" is the least */
    const char *max;  /**< exclusive; "FF" is the greatest */
    const char *text; /**< "MIN-MAX": keep it, send it, open a feed with it */
} runnel_range;

/** The container's ranges now, cut further until there are `at_least`, so that
 * they can be dealt out to threads or machines. */
runnel_code runnel_ranges_read(runnel_container *container, size_t at_least,
                               runnel_ranges **out,
                               runnel_error *error) RUNNEL_CHECK;
size_t runnel_ranges_count(const runnel_ranges *ranges);
const runnel_range *runnel_ranges_at(const runnel_ranges *ranges, size_t i);
void runnel_ranges_close(runnel_ranges *ranges);

/* ---- the change feed, pulled --------------------------------------------- */

/** A position in the feed that moves forward.  One thread at a time. */
typedef struct runnel_feed runnel_feed;
/** A page of changes of one range.  Lends its bytes until closed.  Any thread.
 */
typedef struct runnel_batch runnel_batch;

typedef enum runnel_feed_mode {
    RUNNEL_FEED_LATEST = 0, /**< the newest version of each item */
    RUNNEL_FEED_ALL,        /**< every version, and deletes */
} runnel_feed_mode;

typedef enum runnel_start {
    RUNNEL_START_DEFAULT = 0, /**< a feed: beginning; a processor: now */
    RUNNEL_START_BEGINNING,
    RUNNEL_START_NOW,
    RUNNEL_START_TIME, /**< start_time_ms, inclusive */
} runnel_start;

typedef struct runnel_feed_options {
    size_t size;           /**< set by RUNNEL_FEED_INIT */
    runnel_feed_mode mode; /**< 0: RUNNEL_FEED_LATEST */
    runnel_start start;
    int64_t start_time_ms; /**< not 0: RUNNEL_START_TIME */
    /** Resume after this; wins over start.  A token of runnel_feed_token or,
     * for one range, an etag as the server sent it: "\"42\"". */
    const char *token;
    const char *range;         /**< "MIN-MAX" or a range id; NULL: all */
    const char *partition_key; /**< or a hierarchical prefix; NULL: all */
    uint32_t page_limit;       /**< changes, a hint; 0: the server decides */
    uint32_t
        poll_ms; /**< pause, if the server cannot wait for changes; 0: 1000 */
    uint32_t parallel;         /**< ranges read at once; 0: 4 */
    const char *session_token; /**< NULL: what the client has seen */
} runnel_feed_options;

#define RUNNEL_FEED_INIT .size = sizeof(runnel_feed_options)

typedef enum runnel_change_kind {
    RUNNEL_CHANGED = 0, /**< RUNNEL_FEED_LATEST: created or replaced */
    RUNNEL_CREATED,
    RUNNEL_REPLACED,
    RUNNEL_DELETED,
    RUNNEL_EXPIRED, /**< deleted because its time to live expired */
} runnel_change_kind;

typedef struct runnel_change {
    runnel_bytes json;          /**< the item as it is served; deleted: empty */
    runnel_bytes previous;      /**< RUNNEL_FEED_ALL, if kept; else empty */
    runnel_bytes id;            /**< without quotes, unescaped */
    runnel_bytes partition_key; /**< JSON, as runnel_key wants it */
    uint64_t lsn;               /**< never falls within a range */
    uint64_t previous_lsn;      /**< RUNNEL_FEED_ALL; 0: none */
    int64_t time_ms;            /**< of the commit; whole seconds */
    runnel_change_kind kind;
} runnel_change;

/** `options` may be NULL: latest versions, all ranges, from the beginning. */
runnel_code runnel_feed_open(runnel_container *container,
                             const runnel_feed_options *options,
                             runnel_feed **out,
                             runnel_error *error) RUNNEL_CHECK;

/** Fetches the next batch, waiting up to `wait_ms` for a change.
 *
 * Caught up is not a failure: RUNNEL_OK and an empty batch, which comes only
 * after every range had nothing.  Splits and merges are followed silently.
 * Order holds for each partition key; ranges take turns. */
runnel_code runnel_feed_next(runnel_feed *feed, uint32_t wait_ms,
                             runnel_batch **out,
                             runnel_error *error) RUNNEL_CHECK;

/** Where to resume: everything returned so far lies before it.  One token for
 * all ranges; good after splits and merges.  Valid until the next call. */
const char *runnel_feed_token(const runnel_feed *feed);

/** Makes a runnel_feed_next on another thread, and all later ones, return
 * RUNNEL_CANCELLED.  Any thread. */
void runnel_feed_cancel(runnel_feed *feed);
void runnel_feed_close(runnel_feed *feed);

size_t runnel_batch_count(const runnel_batch *batch);
const runnel_change *runnel_batch_at(const runnel_batch *batch, size_t i);
/** Of a feed: its token after this batch.  Of a processor: the continuation
 * that a checkpoint of this batch stores. */
const char *runnel_batch_token(const runnel_batch *batch);
const runnel_range *runnel_batch_range(const runnel_batch *batch);
/** The rid of the container, which changes when it is created anew. */
const char *runnel_batch_rid(const runnel_batch *batch);
/** The server's answer: status, headers, body, charge, session token. */
const runnel_reply *runnel_batch_reply(const runnel_batch *batch);
void runnel_batch_close(runnel_batch *batch);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
