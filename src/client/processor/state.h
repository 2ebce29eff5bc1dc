/* state.h -- the state of a host, struct rn_host, and of each lease that it
 * works on, struct rn_worker.
 *
 * Threads: everything here belongs to the host's task, under `lock`, which
 * the host gives up while it waits for the network.  `inbox` takes messages
 * of any thread.
 */
#ifndef RN_CLIENT_PROCESSOR_STATE_H
#define RN_CLIENT_PROCESSOR_STATE_H

#include "client/feed/reader.h"
#include "client/lease/expiry.h"
#include "client/lease/property.h"
#include "client/lease/store.h"
#include "client/lease/update.h"
#include "client/processor/config.h"
#include "client/processor/events.h"
#include "client/processor/handlers.h"
#include "client/processor/lease_split.h"
#include "client/processor/weight.h"
#include "client/processor/window.h"

#include <pthread.h>

struct rn_avoided;
struct rn_bootstrap;
struct rn_checkpoint_wait;
struct rn_host;
struct rn_background_write;
struct rn_pass;

/* ---- one lease ----------------------------------------------------------- */

enum rn_worker_state {
    RN_WORKER_ACQUIRING,
    RN_WORKER_OPENING,
    RN_WORKER_ACTIVE,
    RN_WORKER_DRAINING, /* handlers finish */
    RN_WORKER_CLOSING,  /* the observer's close */
    RN_WORKER_RELEASING,
    RN_WORKER_SPLITTING, /* children are made, the parent is deleted */
    RN_WORKER_LOST,      /* as DRAINING, but nothing is written any more */
    RN_WORKER_FREE,      /* to be removed from the table */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by what it does */
struct rn_worker {
    struct rn_host *host;
    enum rn_worker_state state;
    char *id;
    char token[RN_LEASE_TOKEN_MAX];
    runnel_close_reason reason;

    /* ---- the lease ---- */
    struct rn_lease_document *document;
    char session[RN_SESSION_MAX];
    struct rn_update_host identity;
    uint64_t epoch;
    struct rn_lease_store_call call;
    bool is_calling; /* `call` is under way */
    bool has_answer; /* `call` has ended and was not looked at */
    struct rn_update update;
    bool is_updating;
    enum rn_update_next next;
    char *owner_seen; /* when it was selected; NULL: free */
    bool was_expired;
    struct rn_position storing; /* the position that is being written */
    /* That of a write whose answer was lost, while it is not known whether it
     * was stored. */
    struct rn_position doubtful;
    int64_t write_sent_ns;
    int64_t retry_write_ns; /* after a failed write */
    uint32_t write_failures;
    int64_t renew_due_ns, written_ns;
    _Atomic int64_t valid_until_ns;
    bool has_hole_fix; /* the range is to be filled in */
    uint32_t attempts_stored;
    int64_t attempts_ns; /* of the last write of them */

    /* ---- reading ---- */
    struct rn_epk_range range;
    struct rn_reader reader;
    bool has_reader;
    bool must_route;        /* the routing map must be read again */
    uint32_t stale_answers; /* 410 in a row that the map does not explain */
    uint64_t map_seen;      /* only a newer map counts for the range */
    int64_t read_due_ns;    /* the next request; 0: at once */
    int64_t read_ns;        /* the last answer; 0: never */
    int64_t asked_ns;       /* the request under way */
    int64_t failing_ns;     /* since when reads fail; 0: they do not */
    uint32_t read_failures;
    bool is_slow_told;
    bool is_waiting;  /* the read under way is one of host.waits */
    bool cannot_wait; /* the server ignores Prefer: wait */
    bool is_retention_over;
    size_t last_bytes; /* of the last answer's page; 0: it had none */

    /* ---- handling ---- */
    struct rn_window window;
    runnel_observer observer;
    bool has_observer, is_open;
    size_t calls; /* deliveries that handlers have, cut-off ones included */
    struct rn_job job; /* open, close, dead_letter */
    struct rn_message answer;
    runnel_code opened;
    bool is_job_running;
    _Atomic int64_t job_started_ns; /* 0: it waits for a thread */
    bool is_job_slow;               /* the event STUCK was given */
    bool must_checkpoint;
    struct rn_position manual; /* the position a handler asked to store */
    bool has_manual, is_manual_open;
    struct rn_checkpoint_wait *waiting; /* checkpoints of handlers */
    struct rn_delivery *granted; /* the write turn is its handler's, until the
                                  * verdict; NULL: nobody's */
    bool was_written;            /* the handler's write succeeded */
    char granted_etag[RN_LEASE_ETAG_MAX];
    bool must_reread; /* after a transaction of unknown end */
    bool must_forget; /* then what was handled comes again in any case */
    int64_t checkpointed_ns, acked_ns;
    bool is_given; /* DRAINING because another host wants it */
    struct rn_weight weight;
    bool is_deadline_over;

    /* ---- dead letters ---- */
    struct rn_delivery *dead_letter_delivery;
    struct rn_client_call *dead_letter_call; /* the upsert under way */
    struct rn_buf dead_letter_body;
    runnel_verdict dead_letter_verdict;
    runnel_failure failure;

    struct rn_lease_split split;
};

/* ---- the host ---------------------------------------------------------- */

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by what it does */
struct rn_host {
    struct rn_env *env;
    struct rn_config config;
    struct rn_account *account; /* of the source */
    struct rn_transport *transport;
    struct rn_lease_store *store;
    struct rn_task task;
    bool has_waited; /* the transport did, in the last step */
    struct rn_queue inbox;
    struct rn_handlers *handlers;
    struct rn_events *events;
    struct rn_window_options window;
    atomic_uint posting; /* threads inside rn_host_post */
    atomic_bool wants_drain;
    _Atomic int64_t drain_deadline_ns; /* the earliest of all drains */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, or a checkpoint */
    runnel_processor_state state;
    runnel_code failure; /* of the start, or terminal */
    runnel_error error;
    bool is_ready, is_stopped, was_abandoned;
    bool is_ending; /* it is being freed: nothing is stepped any more */
    bool is_writing_pointless; /* terminal: the lease store is gone */
    runnel_processor_stats stats;

    char intervals[48];
    int64_t start_ms;             /* of the processor, the store's time */
    char session[RN_SESSION_MAX]; /* the first one drawn; before, "START-" */
    unsigned char tag[RN_LEASE_TAG_LEN / 2]; /* of all sessions */
    bool has_tag;
    bool has_offset;
    int64_t offset_ms; /* the store's clock minus the steady clock */
    char base[RN_LEASE_STORE_ID_MAX];

    struct rn_definition *definition;
    struct rn_reader_source source;
    struct rn_routing *map;
    uint64_t map_version;
    struct rn_client_call *map_call;
    int64_t map_due_ns;
    bool wants_map;
    bool is_map_doubted;         /* the next answers replace it */
    struct rn_routing *map_next; /* answers so far */

    struct rn_bootstrap *bootstrap;
    struct rn_pass *pass;
    int64_t pass_due_ns, pass_ended_ns;
    struct rn_lease_expiry expiry;
    bool has_told_foreign, has_told_double, has_told_intervals, has_told_clock;
    uint32_t damaged_told;
    bool has_marks;   /* look often: a lease is about to be free */
    bool is_official; /* leases are balanced in .NET's way */
    int64_t moved_ns; /* it started, or took, marked or gave a lease */
    struct rn_avoided *avoided; /* leases that a handler yielded */

    struct rn_worker **workers; /* by rising id */
    size_t worker_count, worker_room;
    struct rn_background_write *background_writes;
    size_t waits;                       /* reads that the server holds */
    struct rn_change_page_meter *meter; /* of all pages */
    int64_t trim_ns;
    struct rn_client_call *source_call; /* a check of the source, under way */
    int64_t source_due_ns;
    bool wants_source;
};

#endif
