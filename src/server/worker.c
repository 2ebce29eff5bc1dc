/* worker.c -- the worker pool: fair scheduling by permits; see worker.h. */
#include "server/worker.h"

#include <pthread.h>

enum { WORKERS_MAX = 256, SHARES = 256 };

struct worker {
    struct rn_workers *pool;
    struct rn_task task;
    struct rn_permit turn; /* of its current run; under the pool's lock */
    bool rests;            /* idle, waiting for work; under the pool's lock */
};

/* Principals with the same number modulo SHARES count as one. */
struct share {
    unsigned running, longs, waiting; /* waiting: not yet started */
    uint64_t served; /* the pool's slice number at its last permit */
};

struct rn_workers {
    struct rn_workers_opts opts;
    pthread_mutex_t lock;           /* guards all members below */
    pthread_cond_t granted;         /* a started run has got its permit back */
    struct rn_permit *waiting;      /* wait for a permit; unordered */
    struct rn_permit *first, **end; /* have a permit, wait for a thread */
    unsigned running, longs, busy;  /* busy: has a thread or waits for one */
    uint64_t order, slices;
    struct share shares[SHARES];
    struct rn_histogram waits;
    bool is_ending;
    unsigned count;
    struct worker workers[WORKERS_MAX + 1];
};

static struct share *share_of(struct rn_workers *w,
                              const struct rn_permit *turn)
{
    return &w->shares[turn->principal % SHARES];
}

/* ---- permits ------------------------------------------------------------- */

static bool may_be_long(struct rn_workers *w, const struct rn_permit *turn)
{
    unsigned most = w->opts.runs_max > w->opts.permits
                        ? w->opts.runs_max - w->opts.permits
                        : 1;

    return w->longs < most && share_of(w, turn)->longs < (most + 1) / 2;
}

static void be_long(struct rn_workers *w, struct rn_permit *turn)
{
    turn->is_long = true;
    w->longs++;
    share_of(w, turn)->longs++;
}

static bool may_go(struct rn_workers *w, const struct rn_permit *turn)
{
    return turn->is_started || (w->busy < w->opts.runs_max &&
                                (!turn->is_long || may_be_long(w, turn)));
}

static bool is_before(struct rn_workers *w, const struct rn_permit *a,
                      const struct rn_permit *b)
{
    const struct share *x = share_of(w, a), *y = share_of(w, b);

    if (x->running != y->running)
        return x->running < y->running;
    if (x->served != y->served)
        return x->served < y->served;
    if (a->used_ns != b->used_ns)
        return a->used_ns < b->used_ns;
    return a->order < b->order;
}

/* The link to the next run to get a permit; NULL if no run may go. */
static struct rn_permit **find_next(struct rn_workers *w)
{
    struct rn_permit **best = NULL;

    for (struct rn_permit **at = &w->waiting; *at; at = &(*at)->next) {
        if (may_go(w, *at) && (!best || is_before(w, *at, *best)))
            best = at;
    }
    return best;
}

static void put_waiting(struct rn_workers *w, struct rn_permit *turn,
                        int64_t now_ns)
{
    turn->since_ns = now_ns;
    turn->slice = w->slices;
    turn->order = w->order++;
    turn->next = w->waiting;
    w->waiting = turn;
    share_of(w, turn)->waiting += !turn->is_started;
}

static void give_permit(struct rn_workers *w, struct rn_permit *turn,
                        int64_t now_ns)
{
    struct share *share = share_of(w, turn);

    turn->waited_ns += now_ns - turn->since_ns;
    turn->since_ns = now_ns;
    turn->slice = w->slices - turn->slice;
    w->running++;
    share->running++;
    share->served = ++w->slices;
    if (turn->is_started) {
        turn->is_granted = true;
        pthread_cond_broadcast(&w->granted);
        return;
    }
    turn->is_started = true;
    if (turn->is_long)
        be_long(w, turn);
    w->busy++;
    share->waiting--;
    turn->next = NULL;
    *w->end = turn;
    w->end = &turn->next;
}

static void take_permit(struct rn_workers *w, struct rn_permit *turn,
                        int64_t now_ns)
{
    turn->used_ns += now_ns - turn->since_ns;
    w->running--;
    share_of(w, turn)->running--;
}

/* An idle thread; busy ones look for work before they become idle. */
static struct worker *find_idle(struct rn_workers *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (w->workers[i].rests) {
            w->workers[i].rests = false;
            return &w->workers[i];
        }
    }
    return NULL;
}

static int64_t step(void *context);

static int start_worker(struct rn_workers *w)
{
    struct worker *me = &w->workers[w->count];
    int error;

    me->pool = w;
    me->task =
        (struct rn_task){ .name = "worker", .step = step, .context = me };
    error = w->opts.env->ops->task_start(w->opts.env, &me->task);
    w->count += !error;
    return error;
}

/* Grants the free permits.  A run that starts gets a thread: an idle one, one
 * that is about to look for work, or a new one.  At the end the threads are
 * being stopped, and none is woken. */
static void give_permits(struct rn_workers *w, int64_t now_ns)
{
    struct rn_permit **next, *turn;
    struct worker *idle;

    while (w->running < w->opts.permits && (next = find_next(w)) != NULL) {
        bool wants_thread = !(*next)->is_started;

        if (wants_thread && !w->is_ending && w->busy >= w->count &&
            start_worker(w)) {
            w->opts.runs_max = w->count; /* the system allows no more threads */
            continue;
        }
        turn = *next;
        *next = turn->next;
        give_permit(w, turn, now_ns);
        idle = wants_thread && !w->is_ending ? find_idle(w) : NULL;
        if (idle)
            w->opts.env->ops->task_wake(w->opts.env, &idle->task);
    }
}

static void give_way(struct rn_workers *w, struct rn_permit *turn,
                     int64_t now_ns)
{
    take_permit(w, turn, now_ns);
    turn->is_granted = false;
    put_waiting(w, turn, now_ns);
    give_permits(w, now_ns);
    while (!turn->is_granted)
        pthread_cond_wait(&w->granted, &w->lock);
}

bool rn_workers_pause(struct rn_workers *w, struct rn_work *work)
{
    struct rn_permit *turn = &work->worker->turn;
    int64_t now_ns = rn_mono_ns(w->opts.env);
    bool is_put_off = false;

    /* While it runs no other thread writes this member. */
    if (now_ns - turn->since_ns < w->opts.slice_ns)
        return false;
    pthread_mutex_lock(&w->lock);
    if (!w->is_ending && find_next(w)) {
        is_put_off = !turn->is_long && !may_be_long(w, turn);
        if (!is_put_off && !turn->is_long)
            be_long(w, turn);
        if (!is_put_off)
            give_way(w, turn, now_ns);
    }
    pthread_mutex_unlock(&w->lock);
    work->waited_ns = turn->waited_ns;
    return is_put_off;
}

/* ---- work ---------------------------------------------------------------- */

static struct rn_work *take(struct rn_workers *w, struct worker *me)
{
    struct rn_work *work = NULL;

    pthread_mutex_lock(&w->lock);
    if (w->first) {
        work = RN_CONTAINER_OF(w->first, struct rn_work, turn);
        w->first = w->first->next;
        if (!w->first)
            w->end = &w->first;
        me->turn = work->turn;
        work->worker = me;
        work->waited_ns = me->turn.waited_ns;
        work->waited_slices = me->turn.slice;
    }
    me->rests = !work;
    pthread_mutex_unlock(&w->lock);
    return work;
}

/* The work itself may have been reused by its owner. */
static void finish(struct rn_workers *w, struct rn_permit *turn)
{
    int64_t now_ns = rn_mono_ns(w->opts.env);

    pthread_mutex_lock(&w->lock);
    take_permit(w, turn, now_ns);
    w->busy--;
    w->longs -= turn->is_long;
    share_of(w, turn)->longs -= turn->is_long;
    rn_histogram_add(&w->waits, &rn_scale_times, (uint64_t)turn->waited_ns);
    give_permits(w, now_ns);
    pthread_mutex_unlock(&w->lock);
}

static int64_t step(void *context)
{
    struct worker *me = context;
    struct rn_work *work = take(me->pool, me);

    if (!work)
        return RN_TASK_IDLE;
    work->run(work);
    finish(me->pool, &me->turn);
    return RN_TASK_NOW;
}

bool rn_workers_add(struct rn_workers *w, struct rn_work *work)
{
    int64_t now_ns = rn_mono_ns(w->opts.env);
    bool has_room;

    work->turn = (struct rn_permit){ .principal = work->principal,
                                     .is_long = work->is_long };
    work->waited_ns = 0;
    pthread_mutex_lock(&w->lock);
    has_room = !work->is_limited ||
               share_of(w, &work->turn)->waiting < w->opts.waiting_max;
    if (has_room) {
        put_waiting(w, &work->turn, now_ns);
        give_permits(w, now_ns);
    }
    pthread_mutex_unlock(&w->lock);
    return has_room;
}

void rn_workers_add_waits(struct rn_workers *w, struct rn_histogram *out)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i <= RN_HISTOGRAM_BOUNDS; i++)
        out->counts[i] += w->waits.counts[i];
    out->sum += w->waits.sum;
    pthread_mutex_unlock(&w->lock);
}

/* ---- the pool ------------------------------------------------------------ */

enum rn_code rn_workers_new(const struct rn_workers_opts *opts,
                            struct rn_workers **out, struct rn_err *err)
{
    struct rn_workers *w = rn_new(sizeof(*w));
    int error = 0;

    if (!w)
        return rn_fail(err, RN_NOMEM, "workers: out of memory");
    w->opts = *opts;
    if (w->opts.runs_max > WORKERS_MAX)
        w->opts.runs_max = WORKERS_MAX;
    if (w->opts.runs_max <= w->opts.permits) /* one long and all new runs */
        w->opts.runs_max = w->opts.permits + 1;
    w->end = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->granted, NULL);
    while (!error && w->count < w->opts.permits)
        error = start_worker(w);
    if (error) {
        rn_workers_free(w);
        return rn_fail_errno(err, error, "starting workers");
    }
    *out = w;
    return RN_OK;
}

/* Runs that have started continue without waiting for permits. */
static void end_turns(struct rn_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    w->opts.runs_max = UINT32_MAX;
    w->opts.permits = UINT32_MAX / 2;
    give_permits(w, rn_mono_ns(w->opts.env));
    pthread_mutex_unlock(&w->lock);
}

/* Work that no thread has taken is run here. */
void rn_workers_free(struct rn_workers *w)
{
    struct worker me = { .pool = w };

    if (!w)
        return;
    end_turns(w);
    for (unsigned i = 0; i < w->count; i++)
        w->opts.env->ops->task_stop(w->opts.env, &w->workers[i].task);
    w->count = 0;
    while (step(&me) == RN_TASK_NOW)
        continue;
    pthread_cond_destroy(&w->granted);
    pthread_mutex_destroy(&w->lock);
    rn_free(w);
}
