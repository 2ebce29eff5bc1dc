/* own.h -- the host's state, shared by the files of this directory.
 *
 * Threads: everything here belongs to the host's task, under `lock`, which
 * the host gives up while it waits for the network.  `inbox` takes messages
 * of any thread.
 */
#ifndef RN_CLIENT_PROCESSOR_OWN_H
#define RN_CLIENT_PROCESSOR_OWN_H

#include "client/feed/reader.h"
#include "client/lease/coverage.h"
#include "client/lease/expiry.h"
#include "client/lease/listing.h"
#include "client/lease/store.h"
#include "client/lease/update.h"
#include "client/processor/balance.h"
#include "client/processor/events.h"
#include "client/processor/host.h"
#include "client/processor/pause.h"

#include <pthread.h>

/* A handler that waits for its checkpoint. */
struct rn_checkpoint_wait {
    struct rn_message message;
    struct rn_delivery *delivery;
    void *transaction;
    runnel_code code;
    runnel_error error;
    bool is_over;    /* guarded by host.lock */
    bool is_granted; /* the handler's thread is to write `record` */
    struct rn_lease_store_call record;
    struct rn_checkpoint_wait *next;
};

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

enum { RN_SESSION_MAX = 64 };

/* A lease that takes the place of another. */
struct rn_lease_child {
    struct rn_epk_range range;
    char token[RN_LEASE_TOKEN_MAX];
    bool is_epk;
    char session[RN_SESSION_MAX];
    struct rn_lease_document *document; /* NULL: another host made it */
    int64_t sent_ns;
};

/* The replacement of a lease by others (lease_split.c). */
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
    bool must_route;     /* the routing map must be read again */
    uint64_t map_seen;   /* only a newer map counts for the range */
    int64_t read_due_ns; /* the next request; 0: at once */
    int64_t read_ns;     /* the last answer; 0: never */
    int64_t asked_ns;    /* the request under way */
    int64_t failing_ns;  /* since when reads fail; 0: they do not */
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
    struct rn_job job; /* open and close */
    struct rn_message answer;
    runnel_code opened;
    bool is_job_running;
    bool must_checkpoint;
    struct rn_position manual; /* the position a handler asked to store */
    bool has_manual, is_manual_open;
    struct rn_checkpoint_wait *waiting; /* checkpoints of handlers */
    bool is_granted;  /* the write turn is a handler's, until its verdict */
    bool was_written; /* the handler's write succeeded */
    char granted_etag[RN_LEASE_ETAG_MAX];
    bool must_reread; /* after a transaction of unknown end */
    int64_t checkpointed_ns, acked_ns;
    bool is_given; /* DRAINING because another host wants it */
    bool is_deadline_over;

    /* ---- dead letters ---- */
    struct rn_delivery *burying;
    struct rn_client_call *burial; /* the upsert under way */
    struct rn_buf burial_body;
    runnel_verdict buried;
    runnel_failure failure;

    struct rn_lease_split split;
};

/* ---- the host ---------------------------------------------------------- */

/* A write of the lease store that no worker waits for. */
struct rn_host_chore {
    struct rn_host_chore *next;
    struct rn_lease_store_call call;
};

/* A lease that is left to others until then. */
struct rn_avoided {
    struct rn_avoided *next;
    char *id;
    int64_t until_ns;
};

struct rn_bootstrap;
struct rn_pass;

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
    _Atomic int64_t drain_deadline_ns;

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
    int64_t start_ms; /* of the processor, the store's time */
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
    struct rn_host_chore *chores;
    size_t waits;                       /* reads that the server holds */
    struct rn_change_page_meter *meter; /* of all pages */
    int64_t trim_ns;
    struct rn_client_call *source_call; /* a check of the source, under way */
    int64_t source_due_ns;
    bool wants_source;
};

/* host.c */
void rn_host_tell(struct rn_host *h, runnel_event_kind kind,
                  runnel_severity severity, const char *lease,
                  const runnel_error *error, const char *fmt, ...)
    RN_PRINTF(6, 7);
void rn_host_put(struct rn_host *h, runnel_event *event, const char *fmt, ...)
    RN_PRINTF(3, 4);
/* A request failed and is tried again; `what` cannot be done meanwhile. */
void rn_host_tell_failure(struct rn_host *h, const char *lease,
                          const runnel_error *error, const char *what);
int64_t rn_host_step(void *host);
/* Ends a wait of its transport or its task.  Any thread. */
void rn_host_rouse(void *host);
void rn_host_post(struct rn_host *h, struct rn_message *m);
void rn_host_fail(struct rn_host *h, runnel_event_kind kind, runnel_code code,
                  const runnel_error *error, const char *what);
/* Another host that started later has our name: the newest wins. */
void rn_host_clash(struct rn_host *h);
/* The store's clock now. */
int64_t rn_host_store_ms(const struct rn_host *h);
/* Learns the store's clock from an answer, counts the request. */
void rn_host_learn(struct rn_host *h, const struct rn_lease_store_call *call);
void rn_host_draw_session(struct rn_host *h, char out[RN_SESSION_MAX]);
/* A value of a percentage between `low` and `high` of `ms`, in nanoseconds. */
int64_t rn_host_jitter(struct rn_host *h, uint32_t ms, unsigned low,
                       unsigned high);

/* The next balance pass begins a second after the last one ended. */
void rn_host_hasten_pass(struct rn_host *h);

/* chore.c */
/* A write of this lease's document, by its etag.  NULL without memory. */
struct rn_host_chore *rn_host_new_chore(enum rn_lease_store_kind kind,
                                        const struct rn_lease *lease);
/* Of one that was not started. */
void rn_host_free_chore(struct rn_host_chore *c);
void rn_host_start_chore(struct rn_host *h, struct rn_host_chore *c);
/* Those that are over; or all, when the store is closed. */
void rn_host_end_chores(struct rn_host *h, bool all);

/* table.c */
struct rn_worker *rn_host_find(struct rn_host *h, struct rn_view id);
runnel_code rn_host_add(struct rn_host *h, struct rn_worker *w) RN_CHECK;
void rn_host_avoid(struct rn_host *h, const char *id);
bool rn_host_is_avoided(struct rn_host *h, struct rn_view id);

/* map.c */
void rn_host_want_map(struct rn_host *h);
int64_t rn_host_step_map(struct rn_host *h, int64_t now_ns);
void rn_host_forget_map(struct rn_host *h);

/* source.c */
/* Asks whether the source is still there, and the same container. */
void rn_host_check_source(struct rn_host *h);
int64_t rn_host_step_source(struct rn_host *h, int64_t now_ns);
void rn_host_forget_source(struct rn_host *h);
/* It is not the same: the host fails. */
void rn_host_replaced(struct rn_host *h);

/* bootstrap.c */
runnel_code rn_bootstrap_new(struct rn_host *h,
                             struct rn_bootstrap **out) RN_CHECK;
void rn_bootstrap_free(struct rn_bootstrap *b);
/* Returns nanoseconds to its next step.  `*is_over` with h->failure. */
int64_t rn_bootstrap_step(struct rn_bootstrap *b, bool *is_over);

/* pass.c */
runnel_code rn_pass_new(struct rn_host *h, struct rn_pass **out) RN_CHECK;
void rn_pass_free(struct rn_pass *p);
/* True when it is over. */
bool rn_pass_step(struct rn_pass *p);

/* worker.c */
runnel_code rn_worker_new(struct rn_host *h, struct rn_lease_document *document,
                          struct rn_worker **out) RN_CHECK;
/* Nothing of it is under way, unless the host is killed. */
void rn_worker_free(struct rn_worker *w);
/* Begins to acquire; `is_expired`: from an owner that seems dead. */
void rn_worker_acquire(struct rn_worker *w, bool is_expired);
/* Begins with a lease that this host has just created. */
void rn_worker_adopt(struct rn_worker *w, const char *session, int64_t sent_ns);
/* Steps; returns nanoseconds to its next wish. */
int64_t rn_worker_step(struct rn_worker *w, int64_t now_ns);
void rn_worker_drain(struct rn_worker *w, runnel_close_reason reason);
void rn_worker_lose(struct rn_worker *w, runnel_close_reason reason);
/* The deadline of a stop is over: release without waiting for handlers. */
void rn_worker_abandon(struct rn_worker *w);
void rn_worker_begin_reading(struct rn_worker *w);
/* Memory is short: drops pages whose batches all wait for a retry.  They are
 * read again at `due_ns`, behind what was done. */
void rn_worker_shed_pages(struct rn_worker *w, int64_t due_ns);
/* The read under way has ended or is about to be cancelled. */
void rn_worker_end_ask(struct rn_worker *w);
bool rn_worker_is_valid(const struct rn_worker *w, int64_t now_ns);

/* deliver.c: handlers */
int64_t rn_worker_deliver(struct rn_worker *w, int64_t now_ns);
void rn_worker_returned(struct rn_delivery *d);
void rn_worker_acked(struct rn_delivery *d);
void rn_worker_start_open(struct rn_worker *w);
void rn_worker_start_close(struct rn_worker *w);
void rn_worker_opened(struct rn_worker *w);
void rn_worker_closed(struct rn_worker *w);
void rn_worker_forget_batches(struct rn_worker *w);

/* bury.c: changes that cannot be processed */
int64_t rn_worker_bury(struct rn_worker *w, int64_t now_ns);
void rn_worker_buried(struct rn_worker *w);

/* read.c: the feed */
int64_t rn_worker_read(struct rn_worker *w, int64_t now_ns);

/* write.c: the lease */
/* A write that was sent then has succeeded: the lease is ours until shortly
 * before it expires. */
void rn_worker_note_written(struct rn_worker *w, int64_t sent_ns);
int64_t rn_worker_write(struct rn_worker *w, int64_t now_ns);
void rn_worker_checkpoint(struct rn_worker *w, struct rn_checkpoint_wait *c);
void rn_worker_end_checkpoints(struct rn_worker *w, runnel_code code);
/* The handler that had the write turn has given its verdict. */
void rn_worker_end_grant(struct rn_worker *w, bool is_done);

/* lease_split.c */
int64_t rn_worker_split(struct rn_worker *w, int64_t now_ns);
void rn_lease_split_release(struct rn_lease_split *r);
/* A lease is acquired by a pass: if a split of this host made it, what the
 * split knows of it is out of date. */
void rn_lease_split_forget(struct rn_host *h, const char *id);
/* What the routing map says of a lease whose range answers 410. */
enum rn_fate { RN_FATE_UNKNOWN, RN_FATE_SAME, RN_FATE_MOVED, RN_FATE_GONE };
enum rn_fate rn_lease_split_fate(struct rn_worker *w);

#endif
