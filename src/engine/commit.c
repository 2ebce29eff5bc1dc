/* commit.c -- see commit.h.
 *
 * An operation is always in exactly one list, and moves only so:
 *
 *   queued  -> pending   at the start of a step              [collect]
 *   pending -> group     when run in the group's transaction [run_some]
 *   group   -> answered  committed, or failed for good       [answer]
 *   group   -> again     the store failed in mid-group       [fail_group]
 *   again   -> answered  run in a transaction of its own     [step_alone]
 *
 * `queued` and the counts are shared, under the lock; all other state belongs
 * to the step.  The lock is never held while foreign code (run, publish, done,
 * the store) is called.
 */
#include "engine/commit.h"

#include "store/bug.h"
#include "store/overlay.h"

#include <assert.h>
#include <pthread.h>

enum { CLIENT, BACKGROUND, LANES };

/* The longest time that a group waits for more operations. */
#define GATHER_NS_MAX INT64_C(2000000)

/* Between two attempts to begin on a busy store.  Each attempt itself waits. */
#define RETRY_NS INT64_C(5000000)

/* How long clients' operations wait for a busy store before they fail with
 * RN_BUSY. */
#define BUSY_NS_MAX INT64_C(10000000000)

struct list {
    struct rn_operation *head, *tail;
    uint32_t count;
};

struct rn_committer {
    struct rn_env *env;
    struct rn_store *store;
    struct rn_committer_opts opts;
    struct rn_task task;

    pthread_mutex_t lock;
    struct list queued[LANES];
    uint32_t in_flight[LANES];
    uint32_t wanted; /* number of clients' operations that wakes the task */
    struct rn_committer_status status;
    bool is_closing;
    uint32_t waking; /* threads that are about to wake the task; atomic */

    struct list pending[LANES];
    struct list group;
    struct list again;
    int64_t begun_ns;   /* when the step's transaction began */
    int64_t busy_ns;    /* when the store was first found busy */
    bool is_busy;       /* and no transaction has begun since */
    int64_t gather_ns;  /* the end of the wait for more operations */
    bool slice_first;   /* the next group is the slice that did not fit */
    bool alone_shrinks; /* the first of `again` is to try the reserve */
    bool is_draining;   /* the last steps, by the thread that frees */
};

/* ---- lists --------------------------------------------------------------- */

static void list_add(struct list *l, struct rn_operation *op)
{
    op->next = NULL;
    if (l->tail)
        l->tail->next = op;
    else
        l->head = op;
    l->tail = op;
    l->count++;
}

static struct rn_operation *list_take(struct list *l)
{
    struct rn_operation *op = l->head;

    assert(op);
    l->head = op->next;
    if (!l->head)
        l->tail = NULL;
    l->count--;
    op->next = NULL;
    return op;
}

/* Appends all of `from`, which is then empty. */
static void list_move(struct list *to, struct list *from)
{
    if (!from->head)
        return;
    if (to->tail)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    to->count += from->count;
    *from = (struct list){ 0 };
}

static unsigned lane_of(const struct rn_operation *op)
{
    return op->flags & RN_OPERATION_BACKGROUND ? BACKGROUND : CLIENT;
}

/* ---- answers ------------------------------------------------------------- */

/* The counts go down first, so that a `done` may queue its successor. */
static void answer(struct rn_committer *c, struct list *l)
{
    uint32_t answered[LANES] = { 0 };
    struct list done = { 0 };

    for (struct rn_operation *op = l->head; op; op = op->next)
        answered[lane_of(op)]++;
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < LANES; i++)
        c->in_flight[i] -= answered[i];
    c->status.operations += l->count;
    pthread_mutex_unlock(&c->lock);

    list_move(&done, l);
    while (done.head) {
        struct rn_operation *op = list_take(&done);
        op->done(op, op->code, &op->err);
    }
}

/* Keeps the store's message; without one, uses the code's name. */
static void fail_one(struct rn_operation *op, enum rn_code rc,
                     const struct rn_err *err)
{
    op->code = rc;
    op->err = *err;
    if (!err->text[0])
        rn_fail(&op->err, rc, "%s", rn_code_name(rc));
}

static void fail_all(struct list *l, enum rn_code rc, const struct rn_err *err)
{
    for (struct rn_operation *op = l->head; op; op = op->next)
        fail_one(op, rc, err);
}

/* Sets how long the next group waits, after a group of `count`; see commit.h.
 */
static void expect(struct rn_committer *c, uint32_t count, int64_t took_ns)
{
    c->wanted = count > 1 ? count - count / 4 : 1;
    c->gather_ns = c->begun_ns + took_ns +
                   (took_ns < GATHER_NS_MAX ? took_ns : GATHER_NS_MAX);
}

static void committed(struct rn_committer *c, struct list *l)
{
    uint64_t took = (uint64_t)(rn_mono_ns(c->env) - c->begun_ns);

    pthread_mutex_lock(&c->lock);
    expect(c, l->count, (int64_t)took);
    c->status.groups++;
    rn_histogram_add(&c->status.sizes, &rn_scale_sizes, l->count);
    rn_histogram_add(&c->status.times, &rn_scale_times, took);
    if (c->status.largest < l->count)
        c->status.largest = l->count;
    pthread_mutex_unlock(&c->lock);
    if (c->opts.publish)
        c->opts.publish(c->opts.publish_context, l->head);
}

static void count(struct rn_committer *c, uint64_t *counter)
{
    pthread_mutex_lock(&c->lock);
    ++*counter;
    pthread_mutex_unlock(&c->lock);
}

/* ---- one operation ------------------------------------------------------- */

static enum rn_code run_in_overlay(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_txn *over = NULL;
    enum rn_code rc = rn_overlay_begin(txn, &over);

    if (rc)
        return rc;
    rc = op->run(op, over);
    if (!rc)
        return rn_txn_commit(over, &op->err);
    if (!op->err.text[0])
        rn_fail(&op->err, rc, "%s", rn_txn_why(over, rc));
    rn_txn_abort(over);
    return rc;
}

static enum rn_code run_one(struct rn_operation *op, struct rn_txn *txn)
{
    enum rn_code rc;

    op->err = (struct rn_err){ 0 };
    if (op->flags & RN_OPERATION_MULTI)
        rc = run_in_overlay(op, txn);
    else
        rc = op->run(op, txn);
    if (!rc)
        rc = rn_txn_fault(txn); /* `run` ignored a failure */
    if (rc && !op->err.text[0])
        rn_fail(&op->err, rc, "%s", rn_txn_why(txn, rc));
    op->code = rc;
    return rc;
}

/* ---- a group ------------------------------------------------------------- */

static bool fits(const struct rn_committer *c, const struct rn_txn *txn,
                 const struct rn_operation *op)
{
    if (c->group.count == 0)
        return true;
    return txn->redo_bytes + op->bytes <= RN_GROUP_REDO_MAX;
}

/* In a full store only operations that free space may run. */
static bool may_run(const struct rn_txn *txn, const struct rn_operation *op)
{
    return txn->mode != RN_TXN_SHRINK || op->flags & RN_OPERATION_FREES;
}

/* Runs up to `max` operations of a lane.  An operation that does not fit in the
 * group stays pending, and ends the group.  Returns other than RN_OK if the
 * transaction must be aborted: the store failed, or an operation that failed
 * had already written. */
static enum rn_code run_some(struct rn_committer *c, struct rn_txn *txn,
                             unsigned lane, uint32_t max)
{
    struct rn_operation *op;
    enum rn_code rc;

    while ((op = c->pending[lane].head) && max-- > 0 && fits(c, txn, op)) {
        uint64_t before = txn->redo_bytes;

        rc = may_run(txn, op) ? run_one(op, txn) : RN_OK;
        if (rc == RN_TOO_LARGE && before > 0 && txn->redo_bytes == before)
            break; /* it may fit in a group of its own */
        list_add(&c->group, list_take(&c->pending[lane]));
        if (rn_txn_fault(txn))
            return rn_txn_fault(txn);
        if (rc && txn->redo_bytes != before)
            return rc;
    }
    return RN_OK;
}

static enum rn_code run_group(struct rn_committer *c, struct rn_txn *txn)
{
    const struct rn_operation *slice = c->pending[BACKGROUND].head;
    enum rn_code rc = RN_OK;

    if (!c->slice_first)
        rc = run_some(c, txn, CLIENT, RN_GROUP_MAX - (slice ? 1 : 0));
    if (!rc)
        rc = run_some(c, txn, BACKGROUND, 1);
    c->slice_first = slice && slice == c->pending[BACKGROUND].head;
    return rc;
}

/* After these codes a second attempt would fail again, or is forbidden (P5). */
static bool is_final(enum rn_code rc)
{
    return rc == RN_UNKNOWN || rc == RN_READ_ONLY;
}

static void fail_group(struct rn_committer *c, enum rn_code rc,
                       const struct rn_err *err)
{
    if (is_final(rc)) {
        fail_all(&c->group, rc, err);
        answer(c, &c->group);
        return;
    }
    count(c, &c->status.aborted);
    list_move(&c->again, &c->group);
}

/* Fails the operations that may not run in the full store. */
static void refuse_full(struct rn_committer *c, const struct rn_txn *txn,
                        const struct rn_err *err)
{
    for (struct rn_operation *op = c->group.head; op; op = op->next) {
        if (!may_run(txn, op))
            fail_one(op, RN_FULL, err);
    }
}

static void finish_group(struct rn_committer *c, struct rn_txn *txn,
                         const struct rn_err *full)
{
    struct rn_err err = { 0 };
    enum rn_code rc = run_group(c, txn);

    if (rc) {
        rn_fail(&err, rc, "%s", rn_txn_why(txn, rc));
        rn_txn_abort(txn);
        if (RN_BUG(NEIGHBOURS_LOST))
            answer(c, &c->group);
        else
            fail_group(c, rc, &err);
        return;
    }
    refuse_full(c, txn, full);
    if (txn->redo_bytes == 0) {
        rn_txn_abort(txn); /* nothing to sync */
        answer(c, &c->group);
        return;
    }
    rc = rn_txn_commit(txn, &err);
    if (rc) {
        fail_group(c, rc, &err);
        return;
    }
    committed(c, &c->group);
    answer(c, &c->group);
}

/* ---- steps --------------------------------------------------------------- */

/* How long the next group still waits for more operations; 0: not at all. */
static int64_t gathers_in(struct rn_committer *c)
{
    int64_t wait = 0;

    if (c->again.head || c->pending[CLIENT].head ||
        c->pending[BACKGROUND].head || c->is_draining)
        return 0;
    pthread_mutex_lock(&c->lock);
    if (c->queued[CLIENT].count < c->wanted && !c->queued[BACKGROUND].head)
        wait = c->gather_ns - rn_mono_ns(c->env);
    if (wait <= 0)
        c->wanted = 1;
    pthread_mutex_unlock(&c->lock);
    return wait > 0 ? wait : 0;
}

/* Takes over the queued operations; false if there is nothing to do. */
static bool collect(struct rn_committer *c)
{
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < LANES; i++)
        list_move(&c->pending[i], &c->queued[i]);
    pthread_mutex_unlock(&c->lock);
    return c->again.head || c->pending[CLIENT].head ||
           c->pending[BACKGROUND].head;
}

/* Fails the pending operations of the first `lanes` lanes. */
static void refuse_pending(struct rn_committer *c, unsigned lanes,
                           enum rn_code rc, const struct rn_err *err)
{
    struct list all = { 0 };

    for (unsigned i = 0; i < lanes; i++)
        list_move(&all, &c->pending[i]);
    fail_all(&all, rc, err);
    answer(c, &all);
}

static enum rn_code begin(struct rn_committer *c, enum rn_txn_mode mode,
                          struct rn_txn **txn, struct rn_err *err)
{
    enum rn_code rc;

    c->begun_ns = rn_mono_ns(c->env);
    rc = rn_txn_begin(c->store, mode, c->opts.lock, txn, err);
    if (rc == RN_BUSY) {
        count(c, &c->status.busy);
        if (!c->is_busy)
            c->busy_ns = c->begun_ns;
    }
    c->is_busy = rc == RN_BUSY;
    return rc;
}

/* P7.  No operation has been taken from its list yet. */
static int64_t wait_for_store(struct rn_committer *c, const struct rn_err *err)
{
    if (rn_mono_ns(c->env) - c->busy_ns >= BUSY_NS_MAX)
        refuse_pending(c, CLIENT + 1, RN_BUSY, err);
    return RETRY_NS;
}

static int64_t step_group(struct rn_committer *c)
{
    struct rn_err err = { 0 }, full = { 0 };
    struct rn_txn *txn = NULL;
    enum rn_code rc = begin(c, RN_TXN_WRITE, &txn, &err);

    if (rc == RN_FULL) {
        full = err;
        rc = begin(c, RN_TXN_SHRINK, &txn, &err);
    }
    if (rc == RN_BUSY && !c->is_draining)
        return wait_for_store(c, &err);
    if (rc)
        refuse_pending(c, LANES, rc, &err);
    else
        finish_group(c, txn, &full);
    return RN_TASK_NOW;
}

/* Runs one operation in a transaction of its own, and ends the transaction. */
static enum rn_code run_alone(struct rn_committer *c, struct list *one,
                              struct rn_txn *txn)
{
    struct rn_operation *op = one->head;
    enum rn_code rc = run_one(op, txn);

    if (rc || txn->redo_bytes == 0) {
        rn_txn_abort(txn);
        return rc;
    }
    rc = rn_txn_commit(txn, &op->err);
    if (!rc)
        committed(c, one);
    return rc;
}

static int64_t step_alone(struct rn_committer *c)
{
    enum rn_txn_mode mode = c->alone_shrinks ? RN_TXN_SHRINK : RN_TXN_WRITE;
    struct rn_operation *op = list_take(&c->again);
    struct rn_err err = { 0 };
    struct rn_txn *txn = NULL;
    struct list one = { 0 };
    enum rn_code rc = begin(c, mode, &txn, &err);
    bool later = rc == RN_BUSY && !c->is_draining;

    list_add(&one, op);
    if (txn)
        rc = run_alone(c, &one, txn);
    else
        op->err = err;
    c->alone_shrinks =
        rc == RN_FULL && mode == RN_TXN_WRITE && op->flags & RN_OPERATION_FREES;
    if (later || c->alone_shrinks) {
        list_move(&one, &c->again);
        c->again = one;
        return later ? RETRY_NS : RN_TASK_NOW;
    }
    if (rc)
        fail_one(op, rc, &op->err);
    answer(c, &one);
    return RN_TASK_NOW;
}

/* Queues a background slice that is due; returns when the next one will be. */
static int64_t take_due(struct rn_committer *c)
{
    int64_t wait = RN_TASK_IDLE;
    struct rn_operation *op = NULL;

    if (c->opts.due && !c->is_draining)
        op = c->opts.due(c->opts.due_context, &wait);
    if (op) {
        assert(lane_of(op) == BACKGROUND);
        pthread_mutex_lock(&c->lock);
        c->in_flight[BACKGROUND]++;
        list_add(&c->queued[BACKGROUND], op);
        pthread_mutex_unlock(&c->lock);
    }
    return wait;
}

static int64_t step(void *context)
{
    struct rn_committer *c = context;
    int64_t wait = take_due(c), company = gathers_in(c);

    if (company)
        return company < wait ? company : wait;
    if (!collect(c))
        return wait;
    return c->again.head ? step_alone(c) : step_group(c);
}

/* ---- public functions ---------------------------------------------------- */

enum rn_code rn_committer_new(struct rn_env *env, struct rn_store *store,
                              const struct rn_committer_opts *opts,
                              struct rn_committer **out, struct rn_err *err)
{
    struct rn_committer *c = rn_new(sizeof(*c));
    int error;

    *out = NULL;
    if (!c)
        return rn_fail(err, RN_NOMEM, "no memory for a committer");
    c->env = env;
    c->store = store;
    c->opts = *opts;
    c->wanted = 1;
    if (!c->opts.queue_max)
        c->opts.queue_max = RN_COMMITTER_QUEUE_MAX;
    c->task = (struct rn_task){
        .name = "commit", .step = step, .context = c, .is_prompt = true
    };
    error = pthread_mutex_init(&c->lock, NULL);
    if (error)
        goto out;
    error = env->ops->task_start(env, &c->task);
    if (error)
        pthread_mutex_destroy(&c->lock);
out:
    if (error) {
        rn_free(c);
        return rn_fail_errno(err, error, "starting the committer");
    }
    *out = c;
    return RN_OK;
}

void rn_committer_free(struct rn_committer *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_closing = true;
    pthread_mutex_unlock(&c->lock);
    while (__atomic_load_n(&c->waking, __ATOMIC_ACQUIRE))
        c->env->ops->give_way(c->env);
    c->env->ops->task_stop(c->env, &c->task);
    c->is_draining = true;
    while (step(c) != RN_TASK_IDLE)
        ;
    pthread_mutex_destroy(&c->lock);
    rn_free(c);
}

/* Called without the lock, because the task takes it first.  The caller counted
 * itself in `waking` under the lock, so the task still exists. */
static void wake(struct rn_committer *c)
{
    c->env->ops->task_wake(c->env, &c->task);
    __atomic_sub_fetch(&c->waking, 1, __ATOMIC_RELEASE);
}

/* The task is woken by the thread that finds the lane empty, or that completes
 * the group that the task waits for.  Later operations are collected together
 * with the first. */
enum rn_code rn_committer_queue(struct rn_committer *c, struct rn_operation *op)
{
    unsigned lane = lane_of(op);
    enum rn_code rc = RN_OK;
    bool wakes = false;

    pthread_mutex_lock(&c->lock);
    if (c->is_closing) {
        rc = RN_BUSY;
    } else if (c->in_flight[lane] >= c->opts.queue_max) {
        rc = RN_THROTTLED;
    } else {
        c->in_flight[lane]++;
        list_add(&c->queued[lane], op);
        wakes = c->queued[lane].count == (lane == CLIENT ? c->wanted : 1);
    }
    if (wakes)
        __atomic_add_fetch(&c->waking, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&c->lock);
    if (wakes)
        wake(c);
    return rc;
}

void rn_committer_wake(struct rn_committer *c)
{
    bool wakes;

    pthread_mutex_lock(&c->lock);
    wakes = !c->is_closing;
    if (wakes)
        __atomic_add_fetch(&c->waking, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&c->lock);
    if (wakes)
        wake(c);
}

void rn_committer_status(struct rn_committer *c,
                         struct rn_committer_status *out)
{
    pthread_mutex_lock(&c->lock);
    *out = c->status;
    out->in_flight = c->in_flight[CLIENT] + c->in_flight[BACKGROUND];
    pthread_mutex_unlock(&c->lock);
}
