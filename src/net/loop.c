/* loop.c -- see loop.h. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 128,     /* taken at once */
    TURN_BYTES = 1 << 20, /* moved in a turn, plus one response at most */
    TICK_MS = 1000,       /* between two checks of all deadlines */
    WAIT_MS = 3600000,    /* the longest: epoll's timeout is an int */
    NS_PER_MS = 1000000,
};

/* A histogram that only its loop writes, and any thread may read. */
struct turns {
    _Atomic uint64_t counts[RN_HISTOGRAM_BOUNDS + 1];
    _Atomic uint64_t ns;
};

struct rn_loop {
    struct rn_env *env;
    struct rn_task task;
    int epoll_fd, wake_fd;
    struct rn_queue posts;
    struct rn_queued *left; /* taken off the queue, for the next turn */
    size_t spent;           /* bytes, in this turn */
    atomic_bool asleep;     /* or about to be: a post must wake it */
    struct rn_socket *sockets;
    struct rn_timer *first, *last; /* by their time */
    atomic_uint watch_count;
    atomic_bool stopping;
    int64_t now_ns, ticked_ns;
    int64_t due_ns; /* no deadline is earlier; INT64_MAX: no deadline */
    /* The events of this turn; removing a socket clears its own. */
    struct epoll_event events[EVENTS_MAX];
    int event_count, event_at;
    struct turns turns;
};

static void wake(struct rn_loop *loop)
{
    uint64_t one = 1;

    /* It is full after 2^64 wake-ups. */
    (void)!write(loop->wake_fd, &one, sizeof(one));
}

void rn_loop_spend(struct rn_loop *loop, size_t bytes)
{
    loop->spent += bytes;
}

static void run_post(struct rn_loop *loop)
{
    struct rn_post *post = RN_CONTAINER_OF(loop->left, struct rn_post, link);

    loop->left = loop->left->next; /* run may free the post */
    post->run(post);
}

/* Runs at least one, so that posts make progress whatever the events cost. */
static void run_posts(struct rn_loop *loop)
{
    if (!loop->left)
        loop->left = rn_queue_take_all(&loop->posts);
    if (loop->left)
        run_post(loop);
    while (loop->left && loop->spent < TURN_BYTES)
        run_post(loop);
}

static void expect(struct rn_loop *loop, int64_t deadline_ns)
{
    if (deadline_ns && deadline_ns < loop->due_ns)
        loop->due_ns = deadline_ns;
}

/* When to check deadlines next. */
static int64_t ticks_at(const struct rn_loop *loop)
{
    int64_t soonest = loop->ticked_ns + (int64_t)TICK_MS * NS_PER_MS;

    return loop->due_ns > soonest ? loop->due_ns : soonest;
}

static void tick(struct rn_loop *loop)
{
    struct rn_socket *w = loop->sockets;

    if (loop->now_ns < ticks_at(loop))
        return;
    loop->ticked_ns = loop->now_ns;
    loop->due_ns = INT64_MAX;
    while (w) {
        struct rn_socket *after = w->after; /* timed_out may remove w */
        if (w->deadline_ns && w->deadline_ns <= loop->now_ns) {
            w->deadline_ns = 0;
            w->timed_out(w);
        } else {
            expect(loop, w->deadline_ns);
        }
        w = after;
    }
}

static void run_timers(struct rn_loop *loop)
{
    while (loop->first && loop->first->at_ns <= loop->now_ns) {
        struct rn_timer *timer = loop->first;
        rn_loop_remove_timer(loop, timer);
        timer->run(timer);
    }
}

/* Milliseconds to sleep at most, rounded up; -1: until something happens. */
static int wait_of(const struct rn_loop *loop)
{
    int64_t until = loop->due_ns == INT64_MAX ? INT64_MAX : ticks_at(loop);
    int64_t ms;

    if (loop->first && loop->first->at_ns < until)
        until = loop->first->at_ns;
    if (until == INT64_MAX)
        return -1;
    ms = (until - loop->now_ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms < 0 ? 0 : ms < WAIT_MS ? (int)ms : WAIT_MS;
}

/* Not an atomic addition: there is one writer. */
static void add(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to,
                          atomic_load_explicit(to, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Reads the clock a second time for each turn.  To make up for it, requests
 * take the first reading for their time of arrival. */
static void note_turn(struct rn_loop *loop)
{
    int64_t ns = rn_mono_ns(loop->env) - loop->now_ns;
    uint64_t took = ns > 0 ? (uint64_t)ns : 0;

    add(&loop->turns.counts[rn_scale_bucket(&rn_scale_times, took)], 1);
    add(&loop->turns.ns, took);
}

/* The number of events; -1 for an interruption. */
static int wait_for_events(struct rn_loop *loop)
{
    int n;

    atomic_store(&loop->asleep, true);
    n = epoll_wait(
        loop->epoll_fd, loop->events, EVENTS_MAX,
        !loop->left && rn_queue_is_empty(&loop->posts) ? wait_of(loop) : 0);
    atomic_store_explicit(&loop->asleep, false, memory_order_relaxed);
    return n;
}

static bool is_heavy(const struct epoll_event *e)
{
    const struct rn_socket *w = e->data.ptr;

    return w && w->is_heavy;
}

/* Moves the events of heavy sockets behind all others; the order is kept. */
static void put_heavy_last(struct rn_loop *loop)
{
    struct epoll_event heavy[EVENTS_MAX];
    int light_count = 0, heavy_count = 0;

    for (int i = 0; i < loop->event_count; i++) {
        if (is_heavy(&loop->events[i]))
            heavy[heavy_count++] = loop->events[i];
        else
            loop->events[light_count++] = loop->events[i];
    }
    for (int i = 0; i < heavy_count; i++)
        loop->events[light_count + i] = heavy[i];
}

/* Remaining events come again in the next turn: epoll is level-triggered.  One
 * event of a heavy socket is always handled. */
static void handle_events(struct rn_loop *loop)
{
    bool had_heavy = false;

    put_heavy_last(loop);
    for (loop->event_at = 0; loop->event_at < loop->event_count;
         loop->event_at++) {
        struct epoll_event *e = &loop->events[loop->event_at];
        struct rn_socket *w = e->data.ptr;

        if (is_heavy(e) && had_heavy && loop->spent >= TURN_BYTES)
            break;
        had_heavy = is_heavy(e);
        if (w)
            w->ready(w, e->events);
    }
    loop->event_count = 0;
}

static int64_t step(void *context)
{
    struct rn_loop *loop = context;
    int n;

    if (atomic_load(&loop->stopping))
        return RN_TASK_IDLE;
    n = wait_for_events(loop);
    loop->now_ns = rn_mono_ns(loop->env);
    loop->event_count = n > 0 ? n : 0;
    loop->spent = 0;
    handle_events(loop);
    run_posts(loop);
    run_timers(loop);
    tick(loop);
    note_turn(loop);
    return RN_TASK_NOW;
}

enum rn_code rn_loop_new(struct rn_env *env, const char *name,
                         struct rn_loop **out, struct rn_err *err)
{
    struct rn_loop *loop = rn_new(sizeof(*loop));
    /* Edge-triggered: each write is an event of its own, so nobody need read
     * it. */
    struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.ptr = NULL };

    if (!loop)
        return rn_fail(err, RN_NOMEM, "event loop: out of memory");
    loop->env = env;
    loop->task =
        (struct rn_task){ .name = name, .step = step, .context = loop };
    loop->now_ns = rn_mono_ns(env);
    loop->due_ns = INT64_MAX;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->wake_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &e)) {
        int error = errno;
        rn_loop_free(loop);
        return rn_fail_errno(err, error, "event loop");
    }
    *out = loop;
    return RN_OK;
}

enum rn_code rn_loop_start(struct rn_loop *loop, struct rn_err *err)
{
    int error = loop->env->ops->task_start(loop->env, &loop->task);

    return error ? rn_fail_errno(err, error, "event loop") : RN_OK;
}

void rn_loop_halt(struct rn_loop *loop)
{
    atomic_store(&loop->stopping, true);
    if (loop->wake_fd >= 0)
        wake(loop);
    loop->env->ops->task_stop(loop->env, &loop->task);
}

void rn_loop_free(struct rn_loop *loop)
{
    if (!loop)
        return;
    rn_loop_halt(loop);
    do {
        loop->spent = 0;
        run_posts(loop);
    } while (loop->left);
    while (loop->sockets) {
        struct rn_socket *w = loop->sockets;
        rn_loop_remove(loop, w);
        w->loop_ended(w);
    }
    assert(!loop->first);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    rn_free(loop);
}

/* Searches from the end: the timer added last is mostly due last. */
void rn_loop_add_timer(struct rn_loop *loop, struct rn_timer *timer)
{
    struct rn_timer *before = loop->last;

    while (before && before->at_ns > timer->at_ns)
        before = before->before;
    timer->before = before;
    timer->after = before ? before->after : loop->first;
    if (timer->before)
        timer->before->after = timer;
    else
        loop->first = timer;
    if (timer->after)
        timer->after->before = timer;
    else
        loop->last = timer;
}

void rn_loop_remove_timer(struct rn_loop *loop, struct rn_timer *timer)
{
    if (timer->before)
        timer->before->after = timer->after;
    else
        loop->first = timer->after;
    if (timer->after)
        timer->after->before = timer->before;
    else
        loop->last = timer->before;
}

void rn_loop_hurry(struct rn_loop *loop)
{
    struct rn_timer *timer = loop->first;

    while (timer) {
        struct rn_timer *after = timer->after;

        if (timer->may_hurry) {
            rn_loop_remove_timer(loop, timer);
            timer->run(timer);
        }
        timer = after;
    }
}

void rn_loop_post(struct rn_loop *loop, struct rn_post *post)
{
    (void)rn_queue_push(&loop->posts, &post->link);
    if (atomic_exchange(&loop->asleep, false))
        wake(loop);
}

int rn_loop_add(struct rn_loop *loop, struct rn_socket *socket)
{
    struct epoll_event e = { .events = socket->events, .data.ptr = socket };

    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, socket->fd, &e))
        return errno;
    socket->before = NULL;
    socket->after = loop->sockets;
    if (loop->sockets)
        loop->sockets->before = socket;
    loop->sockets = socket;
    atomic_fetch_add(&loop->watch_count, 1);
    expect(loop, socket->deadline_ns);
    return 0;
}

void rn_loop_deadline(struct rn_loop *loop, struct rn_socket *socket,
                      int64_t ns)
{
    socket->deadline_ns = ns;
    expect(loop, ns);
}

void rn_loop_change(struct rn_loop *loop, struct rn_socket *socket,
                    uint32_t events)
{
    struct epoll_event e = { .events = events, .data.ptr = socket };

    if (socket->events == events)
        return;
    socket->events = events;
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, socket->fd, &e);
}

static void forget_events(struct rn_loop *loop, struct rn_socket *socket)
{
    int kept = loop->event_at + 1;

    for (int i = kept; i < loop->event_count; i++) {
        if (loop->events[i].data.ptr != socket)
            loop->events[kept++] = loop->events[i];
    }
    if (kept < loop->event_count)
        loop->event_count = kept;
}

void rn_loop_remove(struct rn_loop *loop, struct rn_socket *socket)
{
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
    if (socket->before)
        socket->before->after = socket->after;
    else
        loop->sockets = socket->after;
    if (socket->after)
        socket->after->before = socket->before;
    forget_events(loop, socket);
    atomic_fetch_sub(&loop->watch_count, 1);
}

int64_t rn_loop_now_ns(const struct rn_loop *loop)
{
    return loop->now_ns;
}

uint32_t rn_loop_watches(const struct rn_loop *loop)
{
    return atomic_load(&loop->watch_count);
}

void rn_loop_add_turns(const struct rn_loop *loop, struct rn_histogram *io)
{
    for (size_t i = 0; i <= RN_HISTOGRAM_BOUNDS; i++)
        io->counts[i] +=
            atomic_load_explicit(&loop->turns.counts[i], memory_order_relaxed);
    io->sum += atomic_load_explicit(&loop->turns.ns, memory_order_relaxed);
}
