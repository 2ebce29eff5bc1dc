/* waiters.c -- see waiters.h.
 *
 * A parked waiter is in two structures: in the hash bucket of its range, in
 * order of arrival, and in a heap by deadline, which a task serves.
 */
#include "waiters/waiters.h"

#include "base/bytes.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { BUCKETS = 1024, ROOM_FIRST = 64 };

struct bucket {
    struct rn_waiter *first, *last;
    uint64_t moves;
};

struct rn_waiters {
    struct rn_env *env;
    struct rn_task task;
    atomic_size_t looking; /* waiters looking or parked; 0: no work */

    pthread_mutex_t lock;
    bool is_closed;
    struct bucket buckets[BUCKETS];
    struct rn_waiter **heap; /* the earliest deadline first */
    size_t count, room;
};

static struct bucket *bucket_of(struct rn_waiters *ws, uint32_t container,
                                int64_t range)
{
    uint64_t h = ((uint64_t)container << 32) ^ (uint64_t)range;

    h *= UINT64_C(0x9e3779b97f4a7c15);
    return &ws->buckets[h >> 54];
}

/* ---- deadlines ----------------------------------------------------------- */

static void heap_set(struct rn_waiters *ws, size_t at, struct rn_waiter *w)
{
    ws->heap[at] = w;
    w->place = at;
}

static void heap_up(struct rn_waiters *ws, size_t at, struct rn_waiter *w)
{
    while (at > 0 && w->deadline_ns < ws->heap[(at - 1) / 2]->deadline_ns) {
        heap_set(ws, at, ws->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(ws, at, w);
}

static void heap_down(struct rn_waiters *ws, size_t at, struct rn_waiter *w)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < ws->count &&
            ws->heap[child + 1]->deadline_ns < ws->heap[child]->deadline_ns)
            child++;
        if (child >= ws->count ||
            w->deadline_ns <= ws->heap[child]->deadline_ns)
            break;
        heap_set(ws, at, ws->heap[child]);
        at = child;
    }
    heap_set(ws, at, w);
}

static bool heap_reserve(struct rn_waiters *ws)
{
    size_t room = ws->room ? 2 * ws->room : ROOM_FIRST;
    struct rn_waiter **heap;

    if (ws->count < ws->room)
        return true;
    heap = rn_new(room * sizeof(struct rn_waiter *));
    if (!heap)
        return false;
    if (ws->count)
        memcpy(heap, ws->heap, ws->count * sizeof(struct rn_waiter *));
    rn_free(ws->heap);
    ws->heap = heap;
    ws->room = room;
    return true;
}

static void heap_remove(struct rn_waiters *ws, const struct rn_waiter *w)
{
    size_t at = w->place;
    struct rn_waiter *moved = ws->heap[--ws->count];

    if (at == ws->count)
        return;
    heap_up(ws, at, moved);
    heap_down(ws, moved->place, moved);
}

/* ---- parked -------------------------------------------------------------- */

static void put(struct rn_waiters *ws, struct rn_waiter *w)
{
    struct bucket *b = bucket_of(ws, w->container, w->range);

    w->after = NULL;
    w->before = b->last;
    if (b->last)
        b->last->after = w;
    else
        b->first = w;
    b->last = w;
    ws->count++;
    heap_up(ws, ws->count - 1, w);
    w->state = RN_WAITER_PARKED;
}

/* Removes a waiter from both structures and appends it to the list to wake. */
static void take(struct rn_waiters *ws, struct rn_waiter *w,
                 struct rn_waiter ***list)
{
    struct bucket *b = bucket_of(ws, w->container, w->range);

    if (w->before)
        w->before->after = w->after;
    else
        b->first = w->after;
    if (w->after)
        w->after->before = w->before;
    else
        b->last = w->before;
    heap_remove(ws, w);
    w->state = RN_WAITER_IDLE;
    w->after = NULL;
    atomic_fetch_sub(&ws->looking, 1);
    if (list) {
        **list = w;
        *list = &w->after;
    }
}

/* Called without the lock: `wake` may call this module, or free its waiter. */
static void wake_list(struct rn_waiter *w)
{
    while (w) {
        struct rn_waiter *after = w->after;
        w->wake(w);
        w = after;
    }
}

/* Wakes the waiters past their deadline; returns when to look again. */
static int64_t step(void *context)
{
    struct rn_waiters *ws = context;
    struct rn_waiter *late = NULL, **end = &late;
    int64_t now = rn_mono_ns(ws->env), next = RN_TASK_IDLE;

    pthread_mutex_lock(&ws->lock);
    while (ws->count && ws->heap[0]->deadline_ns <= now)
        take(ws, ws->heap[0], &end);
    if (ws->count)
        next = ws->heap[0]->deadline_ns - now;
    pthread_mutex_unlock(&ws->lock);
    wake_list(late);
    return next;
}

/* ---- public functions ---------------------------------------------------- */

enum rn_code rn_waiters_new(struct rn_env *env, struct rn_waiters **out,
                            struct rn_err *err)
{
    struct rn_waiters *ws = rn_new(sizeof(*ws));
    int error;

    if (!ws)
        return rn_fail(err, RN_NOMEM, "out of memory");
    ws->env = env;
    ws->task = (struct rn_task){ .name = "wait", .step = step, .context = ws };
    error = pthread_mutex_init(&ws->lock, NULL);
    if (!error) {
        error = env->ops->task_start(env, &ws->task);
        if (error)
            pthread_mutex_destroy(&ws->lock);
    }
    if (error) {
        rn_free(ws);
        return rn_fail_errno(err, error, "starting the waiters' clock");
    }
    *out = ws;
    return RN_OK;
}

void rn_waiters_free(struct rn_waiters *ws)
{
    if (!ws)
        return;
    ws->env->ops->task_stop(ws->env, &ws->task);
    assert(ws->count == 0);
    pthread_mutex_destroy(&ws->lock);
    rn_free(ws->heap);
    rn_free(ws);
}

void rn_waiters_close(struct rn_waiters *ws)
{
    struct rn_waiter *all = NULL, **end = &all;

    pthread_mutex_lock(&ws->lock);
    ws->is_closed = true;
    while (ws->count)
        take(ws, ws->heap[0], &end);
    pthread_mutex_unlock(&ws->lock);
    wake_list(all);
}

/* The count is raised before the reader takes its snapshot, and writers read it
 * after their commit: either the snapshot has the commit, or the writer sees
 * the reader. */
void rn_waiters_begin(struct rn_waiters *ws, struct rn_waiter *w)
{
    assert(w->state == RN_WAITER_IDLE);
    atomic_fetch_add(&ws->looking, 1);
    pthread_mutex_lock(&ws->lock);
    w->moves = bucket_of(ws, w->container, w->range)->moves;
    w->state = RN_WAITER_LOOKING;
    pthread_mutex_unlock(&ws->lock);
}

void rn_waiters_end(struct rn_waiters *ws, struct rn_waiter *w)
{
    pthread_mutex_lock(&ws->lock);
    assert(w->state == RN_WAITER_LOOKING);
    w->state = RN_WAITER_IDLE;
    pthread_mutex_unlock(&ws->lock);
    atomic_fetch_sub(&ws->looking, 1);
}

static enum rn_parked may_park(struct rn_waiters *ws, const struct rn_waiter *w)
{
    if (w->is_dismissed || ws->is_closed ||
        w->deadline_ns <= rn_mono_ns(ws->env))
        return RN_PARK_OVER;
    if (w->moves != bucket_of(ws, w->container, w->range)->moves)
        return RN_PARK_MOVED;
    return heap_reserve(ws) ? RN_PARKED : RN_PARK_OVER;
}

enum rn_parked rn_waiters_park(struct rn_waiters *ws, struct rn_waiter *w)
{
    enum rn_parked parked;
    bool is_first = false;

    pthread_mutex_lock(&ws->lock);
    assert(w->state == RN_WAITER_LOOKING);
    parked = may_park(ws, w);
    if (parked == RN_PARKED) {
        put(ws, w);
        is_first = w->place == 0;
    } else {
        w->state = RN_WAITER_IDLE;
        atomic_fetch_sub(&ws->looking, 1);
    }
    pthread_mutex_unlock(&ws->lock);
    /* The waiter may be freed by now, but the task exists. */
    if (is_first)
        ws->env->ops->task_wake(ws->env, &ws->task);
    return parked;
}

bool rn_waiters_dismiss(struct rn_waiters *ws, struct rn_waiter *w)
{
    bool was_parked;

    pthread_mutex_lock(&ws->lock);
    was_parked = w->state == RN_WAITER_PARKED;
    w->is_dismissed = true;
    if (was_parked)
        take(ws, w, NULL);
    pthread_mutex_unlock(&ws->lock);
    return was_parked;
}

static uint64_t head_of(struct rn_view epk)
{
    char bytes[8] = { 0 };

    memcpy(bytes, epk.at, epk.len < sizeof(bytes) ? epk.len : sizeof(bytes));
    return rn_get_u64_be(bytes);
}

/* The first bytes distinguish nearly all EPKs, and keep their order. */
struct rn_epk_prefixes rn_epk_prefixes_of(struct rn_view min,
                                          struct rn_view max)
{
    return (struct rn_epk_prefixes){ head_of(min), head_of(max) };
}

static bool is_touched(const struct rn_waiter *w, struct rn_epk_prefixes s)
{
    return w->prefixes.low <= s.high && s.low <= w->prefixes.high;
}

static void move_bucket(struct rn_waiters *ws, uint32_t container,
                        int64_t range, struct rn_epk_prefixes prefixes,
                        struct rn_waiter ***end)
{
    struct bucket *b = bucket_of(ws, container, range);
    struct rn_waiter *w = b->first;

    b->moves++;
    while (w) {
        struct rn_waiter *after = w->after;
        if (w->container == container && w->range == range &&
            is_touched(w, prefixes))
            take(ws, w, end);
        w = after;
    }
}

/* Rare: a container's set of ranges has changed, or it was deleted. */
static void move_all(struct rn_waiters *ws, uint32_t container,
                     struct rn_waiter ***end)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct rn_waiter *w = ws->buckets[i].first;

        ws->buckets[i].moves++;
        while (w) {
            struct rn_waiter *after = w->after;
            if (container == RN_CONTAINER_ANY || w->container == container)
                take(ws, w, end);
            w = after;
        }
    }
}

void rn_waiters_move(struct rn_waiters *ws, uint32_t container, int64_t range,
                     struct rn_epk_prefixes prefixes)
{
    struct rn_waiter *moved = NULL, **end = &moved;

    if (atomic_load(&ws->looking) == 0)
        return;
    pthread_mutex_lock(&ws->lock);
    if (range == RN_RANGE_ANY) {
        move_all(ws, container, &end);
    } else {
        move_bucket(ws, container, range, prefixes, &end);
        move_bucket(ws, container, RN_RANGE_ANY, prefixes, &end);
    }
    pthread_mutex_unlock(&ws->lock);
    wake_list(moved);
}

size_t rn_waiters_count(struct rn_waiters *ws)
{
    size_t count;

    pthread_mutex_lock(&ws->lock);
    count = ws->count;
    pthread_mutex_unlock(&ws->lock);
    return count;
}
