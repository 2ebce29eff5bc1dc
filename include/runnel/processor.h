/* processor.h -- the push model of the change feed: processor, leases,
 * estimator.
 *
 * Several hosts with the same source, the same lease store and the same
 * processor name share the ranges of the source by leases.  Delivery is at
 * least once, in order for each partition key: a change is delivered until a
 * handler has returned RUNNEL_DONE for it.
 */
#ifndef RUNNEL_PROCESSOR_H
#define RUNNEL_PROCESSOR_H

#include <runnel/client.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- your side ----------------------------------------------------------- */

typedef enum runnel_verdict {
    RUNNEL_DONE = 0, /**< processed: checkpoint, go on */
    RUNNEL_AGAIN,    /**< not now: the same batch after a pause */
    RUNNEL_YIELD,    /**< not here: release the lease; any host may take it */
    RUNNEL_REJECT,   /**< never: as if all attempts had failed */
    RUNNEL_PENDING,  /**< not yet: runnel_batch_ack follows */
} runnel_verdict;

/** Why a lease was closed.  The numbers are those of the .NET libraries. */
typedef enum runnel_close_reason {
    RUNNEL_CLOSE_UNKNOWN = 0,
    RUNNEL_CLOSE_SHUTDOWN = 1,       /**< this host stops */
    RUNNEL_CLOSE_RESOURCE_GONE = 2,  /**< the source container was deleted */
    RUNNEL_CLOSE_LEASE_LOST = 3,     /**< taken by another host, or expired */
    RUNNEL_CLOSE_OBSERVER_ERROR = 4, /**< RUNNEL_YIELD, or stuck for too long */
    RUNNEL_CLOSE_LEASE_GONE = 5, /**< split or merged; child leases follow */
    RUNNEL_CLOSE_NO_READ_SESSION = 6, /**< of .NET; here it is tried again */
    RUNNEL_CLOSE_SERVICE_ERROR = 7,   /**< it refuses this host, or all reads */
    RUNNEL_CLOSE_HANDED_OVER = 8,     /**< given to a host that has fewer */
} runnel_close_reason;

/** A change that failed, why, and the number of attempts. */
typedef struct runnel_failure {
    const runnel_change *change;
    const char *why; /**< runnel_batch_explain, or "" */
    uint32_t attempts;
} runnel_failure;

/** A handler and its life.  For one lease the calls are ordered and never
 * overlap: open, changes any number of times, close; close is called once if
 * open succeeded, and nothing after it.  (With `parallel` or `pending_limit`
 * above 1 `changes` may overlap.)  Different leases run at the same time on
 * different threads, so guard what they share. */
typedef struct runnel_observer {
    size_t size;   /**< RUNNEL_OBSERVER_INIT, or 0: as in version 1.0 */
    void *context; /**< handed back as the first argument */

    /** Required.  `lease` is the lease token: a range id, or "MIN-MAX".  The
     * batch is yours to read until you return, or until runnel_batch_ack. */
    runnel_verdict (*changes)(void *context, const char *lease,
                              const runnel_batch *batch);
    /** May be NULL.  Not RUNNEL_OK: the lease is released and tried again. */
    runnel_code (*open)(void *context, const char *lease);
    /** May be NULL. */
    void (*close)(void *context, const char *lease, runnel_close_reason reason);
    /** Takes a change that cannot be processed.  NULL: it goes into
     * options.dead_letters.  Only RUNNEL_DONE lets the feed go on. */
    runnel_verdict (*dead_letter)(void *context, const char *lease,
                                  const runnel_failure *failure);
} runnel_observer;

#define RUNNEL_OBSERVER_INIT .size = sizeof(runnel_observer)

/** Makes one observer for each lease that is acquired. */
typedef struct runnel_observer_factory {
    size_t size; /**< RUNNEL_FACTORY_INIT, or 0 */
    void *context;
    runnel_code (*create)(void *context, const char *lease,
                          runnel_observer *out);
    /** After its last call.  May be NULL. */
    void (*destroy)(void *context, runnel_observer *observer);
} runnel_observer_factory;

#define RUNNEL_FACTORY_INIT .size = sizeof(runnel_observer_factory)

/* The calls below are for a batch that a processor delivered, from the start
 * of `changes` until it returns or, after RUNNEL_PENDING, until the ack. */

/** Gives the verdict on a batch whose handler returned RUNNEL_PENDING, and
 * gives the batch back.  Once, from any thread, also before `changes` has
 * returned; a second one before then is ignored. */
void runnel_batch_ack(const runnel_batch *batch, runnel_verdict verdict);

/** Says that change `i` differs from the batch's verdict: RUNNEL_AGAIN (later
 * changes of its partition key are then delivered again as well) or
 * RUNNEL_REJECT. The thread that gives the verdict, before it does. */
void runnel_batch_mark(const runnel_batch *batch, size_t i,
                       runnel_verdict verdict);

/** The reason of a failure, for events and dead letters.  Copied. */
void runnel_batch_explain(const runnel_batch *batch, const char *why);

/** With manual_checkpoint: stores that this batch and all before it are done.
 * Blocks for one request.  RUNNEL_LEASE_LOST if the lease is no longer ours.
 * `transaction` goes to the replace function of your own lease store, on this
 * thread; NULL: none.  If you do not commit it, return RUNNEL_AGAIN: the
 * position is then read back from the store.  Of a page that was bisected, or
 * of which changes are marked, the position is stored with the last part. */
runnel_code runnel_batch_checkpoint(const runnel_batch *batch,
                                    void *transaction,
                                    runnel_error *error) RUNNEL_CHECK;

/** True once the verdict does not matter any more: the lease is lost, or the
 * processor stops and its deadline is over.  Long handlers should ask. */
bool runnel_batch_is_cancelled(const runnel_batch *batch);

/** 1 for the first delivery; counted across hosts and restarts. */
uint32_t runnel_batch_attempt(const runnel_batch *batch);

/** Rises with every acquisition of the lease: a sink may refuse lower ones. */
uint64_t runnel_batch_epoch(const runnel_batch *batch);

/** Keeps a batch beyond its callback, until runnel_batch_close.  It counts
 * against buffer_bytes. */
runnel_batch *runnel_batch_hold(const runnel_batch *batch);

/* ---- events -------------------------------------------------------------- */

/** The numbers are those of the .NET health monitor. */
typedef enum runnel_severity {
    RUNNEL_SEVERITY_CRITICAL = 10, /**< a lease or the processor stands still */
    RUNNEL_SEVERITY_ERROR = 20,    /**< survived; will be tried again */
    RUNNEL_SEVERITY_WARNING = 25,  /**< something to put right */
    RUNNEL_SEVERITY_INFO = 30,
} runnel_severity;

typedef enum runnel_event_kind {
    RUNNEL_EVENT_READY = 1,     /**< the lease store is initialised */
    RUNNEL_EVENT_ACQUIRED,      /**< a lease; `host`: former owner, or NULL */
    RUNNEL_EVENT_RELEASED,      /**< a lease; `reason` */
    RUNNEL_EVENT_LOST,          /**< a lease; `host`: the new owner */
    RUNNEL_EVENT_SPLIT,         /**< `count` child leases replace one */
    RUNNEL_EVENT_MERGED,        /**< the lease continues in a larger range */
    RUNNEL_EVENT_RETRIED,       /**< a batch failed; `attempt`, `error` */
    RUNNEL_EVENT_BISECTED,      /**< a failing batch is halved */
    RUNNEL_EVENT_DEAD_LETTERED, /**< a change; `lsn` */
    RUNNEL_EVENT_SKIPPED,       /**< a change, by policy; `lsn` */
    RUNNEL_EVENT_BLOCKED,       /**< attempts are used up; the lease waits */
    RUNNEL_EVENT_STUCK,         /**< a handler or a read takes too long */
    RUNNEL_EVENT_THROTTLED,     /**< 429, of the source or the lease store */
    RUNNEL_EVENT_TROUBLE,       /**< a request failed and is tried again */
    RUNNEL_EVENT_SEEK,          /**< the position was changed from outside */
    RUNNEL_EVENT_RETENTION,     /**< all versions: changes were purged unread */
    RUNNEL_EVENT_FOREIGN, /**< a host of another library is in the fleet */
    RUNNEL_EVENT_CONFIGURATION, /**< intervals, clocks, TTL, rights, overlaps */
    RUNNEL_EVENT_NAME_CLASH,    /**< a second host has our name: we stop */
    RUNNEL_EVENT_TERMINAL,      /**< the processor cannot continue; `error` */
    RUNNEL_EVENT_STOPPED,
} runnel_event_kind;

typedef struct runnel_event {
    size_t size;
    runnel_event_kind kind;
    runnel_severity severity;
    const char *message;       /**< one line: what happened, what to do */
    const char *lease;         /**< NULL: the whole processor */
    const char *host;          /**< another host, or NULL */
    const runnel_error *error; /**< or NULL */
    runnel_close_reason reason;
    uint32_t attempt;
    size_t count; /**< changes, leases, milliseconds: see the kind */
    uint64_t lsn;
    int64_t time_ms;
} runnel_event;

/** One call at a time, in order, on a thread of its own: a slow callback loses
 * events (which are counted), never changes. */
typedef void (*runnel_event_fn)(void *context, const runnel_event *event);

/** For options.event: drops all events. */
void runnel_event_ignore(void *context, const runnel_event *event);
/** For options.event: severities up to WARNING to standard error, one line
 * each.  The default. */
void runnel_event_print(void *context, const runnel_event *event);

/* ---- lease stores -------------------------------------------------------- */

/** A lease, its marker or its lock, as a store keeps it. */
typedef struct runnel_lease_record {
    const char *id;
    const char *etag;   /**< version, chosen by the store; at most 63 bytes */
    runnel_bytes json;  /**< opaque to the store */
    int64_t written_ms; /**< the store's clock at the last write; 0: unknown */
} runnel_lease_record;

typedef bool (*runnel_lease_record_fn)(void *context,
                                       const runnel_lease_record *record);

/** Your own store.  Records are compared and swapped by etag.  A processor, an
 * estimator or a call uses it from one thread at a time, which may block (with
 * a transaction: the handler's); if several share it, it must lock. */
typedef struct runnel_lease_store {
    size_t size; /**< set by RUNNEL_LEASE_STORE_INIT */
    void *context;
    /** Every record whose id begins with `prefix`; stop if `each` returns
     * false.  `*now_ms`: the store's clock, or 0. */
    runnel_code (*list)(void *context, const char *prefix,
                        runnel_lease_record_fn each, void *each_context,
                        int64_t *now_ms, runnel_error *error);
    /** RUNNEL_CONFLICT if the id exists. */
    runnel_code (*create)(void *context, const runnel_lease_record *record,
                          char etag[64], runnel_error *error);
    /** RUNNEL_PRECONDITION if record->etag is not current, RUNNEL_NOT_FOUND. */
    runnel_code (*replace)(void *context, void *transaction,
                           const runnel_lease_record *record, char etag[64],
                           runnel_error *error);
    /** An `etag` of NULL is any. */
    runnel_code (*remove)(void *context, const char *id, const char *etag,
                          runnel_error *error);
} runnel_lease_store;

#define RUNNEL_LEASE_STORE_INIT .size = sizeof(runnel_lease_store)

/** Leases in memory, for one process: its processors share them.  Begins with
 * what runnel_leases_export gave, or empty (NULL). */
runnel_code runnel_lease_store_memory(const char *json,
                                      runnel_lease_store **out,
                                      runnel_error *error) RUNNEL_CHECK;
/** Leases in a file, for the processes of one machine.  Made if absent; locked
 * while it is written, replaced by rename after fsync. */
runnel_code runnel_lease_store_file(const char *path, runnel_lease_store **out,
                                    runnel_error *error) RUNNEL_CHECK;
/** Of the two above. */
void runnel_lease_store_close(runnel_lease_store *store);

/* ---- processor ----------------------------------------------------------- */

/** A host of the fleet: holds leases and calls your handlers.  Any thread. */
typedef struct runnel_processor runnel_processor;

/** What is done with a change that has failed too often. */
typedef enum runnel_exhausted {
    RUNNEL_BLOCK = 0,   /**< go on trying; the lease waits */
    RUNNEL_DEAD_LETTER, /**< store it as a dead letter, go on */
    RUNNEL_SKIP,        /**< drop the change, go on */
} runnel_exhausted;

typedef enum runnel_fleet {
    RUNNEL_FLEET_AUTO = 0,   /**< compatible while another library is seen */
    RUNNEL_FLEET_COMPATIBLE, /**< always balance as the official libraries */
    RUNNEL_FLEET_NATIVE,     /**< refuse to share with another library */
} runnel_fleet;

typedef struct runnel_processor_options {
    size_t size;      /**< set by RUNNEL_PROCESSOR_INIT */
    const char *name; /**< required, may be "": hosts of one name share work */
    const char *host; /**< unique among them; NULL: machine-pid-random */

    /* Where the leases are: one of the two. */
    runnel_container *leases;              /**< keyed by /id or /partitionKey */
    const runnel_lease_store *lease_store; /**< memory, file, or your own */
    bool create_leases;  /**< create the lease container if it is missing */
    bool discard_leases; /**< delete all leases of this name, start afresh */

    /** Mode, page size, session token, and where a lease begins that has no
     * checkpoint.  No range, no partition key.  NULL: latest versions, now. */
    const runnel_feed_options *feed;
    uint32_t poll_ms; /**< pause when caught up, without waiting; 0: 5000 */
    /** How long the server may hold a read until there is a change, if it can
     * (Prefer: wait); 0: 30000; RUNNEL_OFF: do not ask, poll. */
    uint32_t wait_ms;

    uint32_t lease_renew_ms;   /**< 0: 17000 */
    uint32_t lease_acquire_ms; /**< 0: 13000; balancing */
    uint32_t lease_expire_ms;  /**< 0: 60000; three times renew is wise */
    uint32_t min_leases;       /**< take at least; 0: no such limit */
    uint32_t max_leases;       /**< take at most; 0: no such limit */
    uint32_t leases_per_range; /**< more hosts than ranges; 0: 1; at most 64 */
    runnel_fleet fleet;

    const runnel_observer_factory *factory; /**< instead of an observer */
    uint32_t batch_limit;   /**< changes in one call; 0: a page */
    uint32_t parallel;      /**< calls at once in one lease, by key; 0: 1 */
    uint32_t pending_limit; /**< batches of a lease without verdict; 0: 1 */
    uint32_t threads;       /**< calls at once in all; 0: 64 */
    uint32_t buffer_bytes;  /**< changes read ahead, in all; 0: 32 MiB */

    /* When positions are stored.  All zero: after every batch. */
    bool manual_checkpoint;      /**< only by runnel_batch_checkpoint */
    uint32_t checkpoint_changes; /**< when so many were done since the last */
    uint32_t checkpoint_ms;      /**< when so long ago; either suffices */

    /* A batch that fails is tried again in place, and the lease is kept; then
     * it is bisected to find the change; then `exhausted` decides. */
    uint32_t retry_attempts;        /**< of a batch, then of a change; 0: 5 */
    uint32_t retry_delay_ms;        /**< the first, then doubled; 0: 500 */
    uint32_t retry_delay_max_ms;    /**< 0: 60000 */
    runnel_exhausted exhausted;     /**< 0: RUNNEL_BLOCK */
    runnel_container *dead_letters; /**< keyed by /id; or use a callback */
    /** Never bisect: judge the batch as one.  Always so with manual_checkpoint
     * and a lease_store: a transaction has the position of all of it. */
    bool whole_batch;

    uint32_t stuck_ms;     /**< event if a call or a read is slower; 0: 60000 */
    uint32_t give_up_ms;   /**< then release its lease; 0: 600000; never
                            * without stuck_ms */
    uint32_t start_ms;     /**< runnel_processor_start waits; 0: 60000 */
    uint32_t stop_ms;      /**< runnel_processor_stop drains; 0: 30000 */
    runnel_event_fn event; /**< NULL: runnel_event_print */
    void *event_context;
    bool single_key; /**< a call has changes of one partition key only */
    /** Balance by the changes that leases have, not by their number only, so
     * that busy leases are on different hosts.  Set it on all hosts. */
    bool weigh_leases;
} runnel_processor_options;

#define RUNNEL_PROCESSOR_INIT .size = sizeof(runnel_processor_options)

/** Initialises the lease store, then starts working and returns.  Does not wait
 * for a lease.  `observer` is copied, or NULL with options.factory; contexts
 * must outlive the processor. */
runnel_code runnel_processor_start(runnel_container *source,
                                   const runnel_processor_options *options,
                                   const runnel_observer *observer,
                                   runnel_processor **out,
                                   runnel_error *error) RUNNEL_CHECK;

/** Reads no more, lets handlers finish, checkpoints, closes, and releases the
 * leases.  RUNNEL_TIMEOUT if that is not done after `deadline_ms`: batches
 * without a verdict are then given up, their leases released as they stand.
 * With 0 it only begins, and may be called in a callback. */
runnel_code runnel_processor_drain(runnel_processor *processor,
                                   uint32_t deadline_ms, runnel_error *error);

/** Drains with options.stop_ms, waits until every callback has returned and
 * every RUNNEL_PENDING batch was acknowledged, and frees the processor.  Not in
 * a callback. */
void runnel_processor_stop(runnel_processor *processor);

/* ---- health and counters ------------------------------------------------- */

typedef enum runnel_processor_state {
    RUNNEL_STARTING = 0,
    RUNNEL_RUNNING,
    RUNNEL_DRAINING,
    RUNNEL_STOPPED,
    RUNNEL_FAILED, /**< a terminal event was given */
} runnel_processor_state;

typedef struct runnel_processor_stats {
    size_t size; /**< set by RUNNEL_STATS_INIT */
    runnel_processor_state state;
    bool is_ready; /**< the lease store is initialised */
    bool is_live;  /**< balanced within three acquire intervals */
    uint32_t leases_owned, leases_seen, hosts_seen;
    uint32_t batches_open; /**< delivered, without a verdict */
    uint64_t buffered_bytes;
    /* Since the start. */
    uint64_t changes, batches, retries, dead_letters, skips;
    uint64_t feed_reads, feed_empty, lease_reads, lease_writes, lease_conflicts;
    uint64_t checkpoints, throttled, events_lost;
    double charge; /**< request units, source and leases */
} runnel_processor_stats;

#define RUNNEL_STATS_INIT .size = sizeof(runnel_processor_stats)

void runnel_processor_read_stats(runnel_processor *processor,
                                 runnel_processor_stats *out);

typedef struct runnel_lease_health {
    size_t size;
    const char *lease;
    const char *doing; /**< "reading", "waiting", "handling", "backoff", ... */
    const char *position;
    uint32_t attempt;    /**< of the batch in work */
    uint32_t failures;   /**< requests in a row */
    int64_t read_age_ms; /**< since the last answer; -1: never */
    int64_t ack_age_ms;  /**< since the last verdict */
    int64_t checkpoint_age_ms;
    int64_t renew_age_ms; /**< since the last lease write */
    int64_t valid_ms;     /**< until we must assume that it is lost */
} runnel_lease_health;

/** The leases of this host.  `each` must not call the processor. */
void runnel_processor_each_lease(runnel_processor *processor,
                                 bool (*each)(void *context,
                                              const runnel_lease_health *lease),
                                 void *context);

/* ---- estimator ----------------------------------------------------------- */

/** Names the leases of one processor, for estimators and tools. */
typedef struct runnel_lease_set {
    size_t size; /**< set by RUNNEL_LEASE_SET_INIT */
    runnel_container *source;
    const char *name; /**< of the processor */
    runnel_container *leases;
    const runnel_lease_store *lease_store;
} runnel_lease_set;

#define RUNNEL_LEASE_SET_INIT .size = sizeof(runnel_lease_set)

typedef enum runnel_lag_state {
    RUNNEL_LAG_KNOWN = 0,
    RUNNEL_LAG_UNREAD, /**< no checkpoint yet */
    RUNNEL_LAG_GONE,   /**< the range was split or merged meanwhile */
    RUNNEL_LAG_FAILED, /**< could not be read; `error` */
} runnel_lag_state;

typedef struct runnel_lag {
    size_t size;
    const char *lease; /**< NULL: the total of all, the last call */
    const char *host;  /**< NULL: it has no owner */
    runnel_lag_state state;
    /** Transactions not yet checkpointed; 1 if not KNOWN, as .NET counts. */
    int64_t behind;
    int64_t behind_ms;         /**< age of the oldest of them; 0 if none */
    int64_t checkpoint_age_ms; /**< of the last lease write; -1: never */
    uint32_t leases;           /**< total: how many; else 1 */
    double charge;
    const runnel_error *error; /**< FAILED */
    /** The lease has a part of its range, whose other transactions `behind`
     * counts too; `behind_ms` is exact. */
    bool is_upper_bound;
} runnel_lag;

typedef bool (*runnel_lag_fn)(void *context, const runnel_lag *lag);

/** Pull: calls `each` for every lease and then for the total, on this thread;
 * stops if it returns false.  Writes nothing; read-only keys suffice.  Without
 * leases there is only the total, of 1, so that a scaler starts a host. */
runnel_code runnel_lag_each(const runnel_lease_set *set, runnel_lag_fn each,
                            void *context, runnel_error *error) RUNNEL_CHECK;

/** Push: the same every `period_ms` (0: 5000), on a thread of the library. */
typedef struct runnel_estimator runnel_estimator;

runnel_code runnel_estimator_start(const runnel_lease_set *set,
                                   uint32_t period_ms, runnel_lag_fn each,
                                   void *context, runnel_estimator **out,
                                   runnel_error *error) RUNNEL_CHECK;
void runnel_estimator_stop(runnel_estimator *estimator);

/* ---- leases, for tools --------------------------------------------------- */

typedef struct runnel_lease {
    size_t size;
    const char *lease; /**< its token */
    const char *host;  /**< owner, or NULL */
    runnel_range range;
    const char *position; /**< continuation, or NULL */
    int64_t written_ms;
    uint64_t epoch, generation;
    bool is_foreign; /**< its owner is of another library */
    runnel_bytes json;
} runnel_lease;

runnel_code runnel_leases_each(const runnel_lease_set *set,
                               bool (*each)(void *context,
                                            const runnel_lease *lease),
                               void *context, runnel_error *error) RUNNEL_CHECK;

/** Moves a lease (NULL: all) to another position, while hosts run: they see the
 * new generation, drop what they have read, and go on from there.  `to` has a
 * start (beginning, now, time) or a token: an etag of the change feed or the
 * LSN in it, the last that is done.  RUNNEL_CONFLICT if a live host of another
 * library holds a lease, which would write its own position over the new one;
 * nothing is then written.  Also if one has done so meanwhile. */
runnel_code runnel_leases_seek(const runnel_lease_set *set, const char *lease,
                               const runnel_feed_options *to,
                               runnel_error *error) RUNNEL_CHECK;
/** Takes a lease (NULL: all) from its owner. */
runnel_code runnel_leases_release(const runnel_lease_set *set,
                                  const char *lease,
                                  runnel_error *error) RUNNEL_CHECK;
/** Cuts a lease into `pieces` of equal width with the same position. */
runnel_code runnel_leases_cut(const runnel_lease_set *set, const char *lease,
                              uint32_t pieces,
                              runnel_error *error) RUNNEL_CHECK;
/** All leases as a JSON array, in the reply's body. */
runnel_code runnel_leases_export(const runnel_lease_set *set,
                                 runnel_reply **out,
                                 runnel_error *error) RUNNEL_CHECK;
/** Creates leases from such an array, for this set's name and store, unowned.
 * RUNNEL_CONFLICT if the set has leases; RUNNEL_BAD_REQUEST if one is damaged
 * or duplicate, and then none is created. */
runnel_code runnel_leases_import(const runnel_lease_set *set, runnel_bytes json,
                                 runnel_error *error) RUNNEL_CHECK;
/** The same from the leases of another processor name of the same source and
 * store: a second consumer begins where the first is. */
runnel_code runnel_leases_fork(const runnel_lease_set *set, const char *from,
                               runnel_error *error) RUNNEL_CHECK;
/** Deletes all leases of the set and its marker: the next host starts afresh.
 * RUNNEL_CONFLICT if a live host holds one, and then none is deleted. */
runnel_code runnel_leases_delete(const runnel_lease_set *set,
                                 runnel_error *error) RUNNEL_CHECK;

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
