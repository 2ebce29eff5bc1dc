/* window.h -- the pages of one lease between reading and checkpoint.
 *
 * A page that was read becomes a slot.  Its changes are cut into deliveries,
 * each of which one call of the handler gets.  Deliveries lie in lanes by their
 * partition key; a lane is in order, so changes of one key are too.
 *
 *   QUEUED       waits for its turn
 *   DELIVERED    in the handler, or pending
 *   BACKOFF      failed; the same again after a pause
 *   REJECTED     given up; the policy of the processor decides about it
 *   DEAD_LETTER  its dead letter is being stored
 *   DONE         processed, dead-lettered or skipped
 *
 * The position that may be stored is the token of the longest prefix of slots
 * in which everything is DONE.  A slot is dropped when it is in that prefix.
 *
 * A delivery that fails takes later changes of its keys with it, also those
 * that were DONE: a key's changes complete in order.
 *
 * Threads: the host's.  The members of a delivery that a handler writes are
 * named; it writes them before its verdict reaches the host.
 */
#ifndef RN_CLIENT_PROCESSOR_WINDOW_H
#define RN_CLIENT_PROCESSOR_WINDOW_H

#include "client/feed/batch.h"
#include "client/feed/position.h"
#include "client/processor/handlers.h"

#include "base/queue.h"

#include <runnel/processor.h>

enum rn_delivery_state {
    RN_DELIVERY_QUEUED,
    RN_DELIVERY_DELIVERED,
    RN_DELIVERY_BACKOFF,
    RN_DELIVERY_REJECTED,
    RN_DELIVERY_DEAD_LETTER,
    RN_DELIVERY_DONE,
};

struct rn_slot;
struct rn_worker;

/* A message of another thread to the host. */
enum rn_message_kind {
    RN_MESSAGE_RETURNED, /* a handler; `item` is its delivery */
    RN_MESSAGE_ACKED,
    RN_MESSAGE_OPENED, /* `item` is the worker */
    RN_MESSAGE_CLOSED,
    RN_MESSAGE_DEAD_LETTER_RETURNED, /* the program's dead_letter */
    RN_MESSAGE_CHECKPOINT,           /* `item` is a struct rn_checkpoint_wait */
};

struct rn_message {
    struct rn_queued link;
    enum rn_message_kind kind;
    void *item;
};

/* A handler's verdict on one change. */
enum rn_mark { RN_MARK_NONE, RN_MARK_AGAIN, RN_MARK_REJECT };

struct rn_delivery {
    struct rn_delivery *before, *after; /* in its lane */
    struct rn_slot *slot;
    uint32_t lane;
    enum rn_delivery_state state;
    runnel_batch *batch;
    size_t count;      /* changes */
    bool is_piece;     /* of a batch that was bisected */
    bool is_reported;  /* the event BLOCKED was given */
    uint32_t attempt;  /* of the next or the running call; from 1 */
    uint32_t failures; /* of this delivery */
    int64_t due_ns;    /* BACKOFF */
    size_t rejected;   /* REJECTED: changes that were handled */
    /* DELIVERED: changes that an earlier failure takes along.  DONE: changes
     * that have been put into other deliveries. */
    unsigned char *tainted;

    /* ---- the worker's ---- */
    struct rn_worker *worker;
    struct rn_job job;
    bool has_returned, was_acked;
    bool is_stuck; /* the event STUCK was given */
    uint64_t epoch;

    /* ---- a handler's ---- */
    unsigned char *marks; /* enum rn_mark of each change */
    char why[200];
    runnel_verdict verdict, acked_verdict;
    bool was_refused; /* the call was not made: the lease may be lost */
    struct rn_message returned, acked;
    _Atomic int64_t started_ns; /* of the call; 0: it waits for a thread */
    atomic_bool is_cancelled;
    atomic_bool is_answered; /* its verdict was given; others are ignored */
};

/* A page and the state of its deliveries. */
struct rn_slot {
    struct rn_slot *next;
    struct rn_change_page *page; /* NULL: an answer without changes */
    struct rn_position token;
    char range_id[32];
    struct rn_epk_range keys;
    size_t open;    /* deliveries that are not DONE */
    size_t changes; /* in all of them */
};

struct rn_window_options {
    uint32_t batch_limit; /* changes of a delivery; 0: a page */
    uint32_t lanes;
    uint32_t pending_limit;
    uint32_t retry_attempts, retry_delay_ms, retry_delay_max_ms;
    bool whole_batch;
    bool single_key; /* a delivery has changes of one partition key */
};

struct rn_lane {
    struct rn_delivery *first, *last;
};

struct rn_window {
    const struct rn_window_options *options;
    struct rn_env *env;
    struct rn_slot *first, *last;
    size_t slots;
    struct rn_lane *lanes;
    struct rn_lane
        cut;          /* DELIVERED or DEAD_LETTER when the window was cleared */
    size_t delivered; /* in state DELIVERED */
    size_t bytes;     /* of the pages */
    bool has_moved;   /* `position` is that of a slot that is done */
    struct rn_position position;
    uint64_t changes_done;   /* since the caller last reset it */
    uint32_t first_attempts; /* failures of the batch that is read next */
};

runnel_code rn_window_init(struct rn_window *w,
                           const struct rn_window_options *options,
                           struct rn_env *env) RN_CHECK;
/* No handler runs. */
void rn_window_release(struct rn_window *w);

/* Drops everything.  What is DELIVERED is cut off: its slot is NULL, its
 * verdict no longer counts, and the caller drops it when it comes. */
void rn_window_clear(struct rn_window *w);
void rn_window_drop(struct rn_window *w, struct rn_delivery *d);

/* Drops everything that is not done, to be read again; nothing is DELIVERED.
 * The position behind what is done stays, and so do the failures of the batch
 * at the head. */
void rn_window_shed(struct rn_window *w);

/* Takes the page, which may be NULL, and the position behind it. */
runnel_code rn_window_add(struct rn_window *w, struct rn_change_page *page,
                          const struct rn_position *token, const char *range_id,
                          const struct rn_epk_range *keys) RN_CHECK;

/* The next delivery to hand out; it becomes DELIVERED.  NULL if there is none;
 * `*due_ns` is then lowered to the time at which one may be. */
struct rn_delivery *rn_window_next(struct rn_window *w, int64_t now_ns,
                                   int64_t *due_ns);
/* Gives one back that was not called. */
void rn_window_undo(struct rn_window *w, struct rn_delivery *d);

/* Are changes waiting that have not been handed out? */
bool rn_window_has_queued(const struct rn_window *w);
/* Does every lane wait for the retry of its first batch?  `*due_ns` is the
 * time of the first of these. */
bool rn_window_is_backing_off(const struct rn_window *w, int64_t now_ns,
                              int64_t *due_ns);

enum rn_outcome {
    RN_OUTCOME_DONE,
    RN_OUTCOME_AGAIN,    /* d is in BACKOFF */
    RN_OUTCOME_BISECTED, /* two halves took the place of d, which is freed */
    RN_OUTCOME_REJECTED, /* d is REJECTED; others may be queued */
    RN_OUTCOME_PARTLY,   /* some changes were put back, d is DONE */
    RN_OUTCOME_NO_MEMORY,
};

/* Applies a verdict that is not PENDING or YIELD, with the handler's marks. */
enum rn_outcome rn_window_judge(struct rn_window *w, struct rn_delivery *d,
                                runnel_verdict verdict, int64_t now_ns);
/* The first delivery that is REJECTED, or NULL. */
struct rn_delivery *rn_window_rejected(struct rn_window *w);
/* A rejected delivery was handled. */
void rn_window_finish(struct rn_window *w, struct rn_delivery *d);
/* It must be tried again later, with later changes of its keys.  False without
 * memory. */
bool rn_window_block(struct rn_window *w, struct rn_delivery *d,
                     int64_t now_ns) RN_CHECK;

/* Failures of the batch at the head, for the lease. */
uint32_t rn_window_attempts(const struct rn_window *w);

/* ---- for window_judge.c ---- */

bool rn_window_same_key(const runnel_change *a, const runnel_change *b);

/* A delivery of some changes of a slot's page; in no lane yet.  NULL without
 * memory. */
struct rn_delivery *rn_window_make(struct rn_slot *slot, const uint32_t *picks,
                                   size_t count);
/* Behind `before`, or with NULL at the end of the lane. */
void rn_window_insert(struct rn_window *w, struct rn_delivery *d, uint32_t lane,
                      struct rn_delivery *before);

#endif
