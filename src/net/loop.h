/* loop.h -- the event loop of a thread (epoll): its sockets, timers and posts.
 *
 * A loop is one task of the env.  Everything about a connection happens in its
 * loop's thread; other threads reach it only with rn_loop_post.  A loop never
 * blocks except for events, so long work is done in other threads and comes
 * back as a post.
 *
 * An idle loop costs nothing: it sleeps until an event or the first deadline.
 * Deadlines are checked together, at most once a second.
 *
 * A turn is the work of the loop between two waits.  It has a budget of bytes,
 * so that many clients with large responses do not keep all others waiting:
 * sockets that move much come last, and when the budget is spent they, and the
 * posts, wait for the next turn.
 */
#ifndef RN_NET_LOOP_H
#define RN_NET_LOOP_H

#include "base/env.h"
#include "base/histogram.h"
#include "base/queue.h"

struct rn_loop;

/* A callback to run in the loop's thread; embedded in its owner. */
struct rn_post {
    struct rn_queued link;
    void (*run)(struct rn_post *post);
};

enum rn_code rn_loop_new(struct rn_env *env, const char *name,
                         struct rn_loop **out, struct rn_err *err) RN_CHECK;
/* Ends the thread.  Posts are kept for rn_loop_free. */
void rn_loop_halt(struct rn_loop *loop);
/* Halts, runs the remaining posts, closes the remaining connections, frees.
 * NULL is fine. */
void rn_loop_free(struct rn_loop *loop);

enum rn_code rn_loop_start(struct rn_loop *loop, struct rn_err *err) RN_CHECK;

/* Calls `post->run` in the loop's thread, soon.  Any thread. */
void rn_loop_post(struct rn_loop *loop, struct rn_post *post);

/* ---- timers; thread: loop ------------------------------------------------ */

/* A callback at a time; embedded in its owner. */
struct rn_timer {
    int64_t at_ns; /* by the env's monotonic clock */
    void (*run)(struct rn_timer *timer);
    bool may_hurry;                  /* it may run sooner; see rn_loop_hurry */
    struct rn_timer *before, *after; /* used by the loop */
};

/* rn_loop_add_timer calls `timer->run` once, no sooner than `at_ns`, unless the
 * timer is removed.  A freed loop calls no timers: their owners must remove
 * them. */
void rn_loop_add_timer(struct rn_loop *loop, struct rn_timer *timer);
void rn_loop_remove_timer(struct rn_loop *loop, struct rn_timer *timer);
/* Runs all timers that may hurry, since the loop is about to end. */
void rn_loop_hurry(struct rn_loop *loop);

/* ---- for connections and listeners; thread: loop ------------------------- */

/* A descriptor in the loop's epoll set; embedded in its owner. */
struct rn_socket {
    int fd;
    uint32_t events; /* EPOLL* wanted now */
    bool is_heavy;   /* moves many bytes: comes last, within the budget */
    void (*ready)(struct rn_socket *socket, uint32_t events);
    /* When it has passed, by up to a second, it is cleared and `timed_out` is
     * called. 0: none.  Set it by rn_loop_deadline. */
    int64_t deadline_ns;
    void (*timed_out)(struct rn_socket *socket);
    /* The loop ends: close, free. */
    void (*loop_ended)(struct rn_socket *socket);
    struct rn_socket *before, *after; /* used by the loop */
};

int rn_loop_add(struct rn_loop *loop, struct rn_socket *socket); /* errno */
void rn_loop_change(struct rn_loop *loop, struct rn_socket *socket,
                    uint32_t events);
void rn_loop_deadline(struct rn_loop *loop, struct rn_socket *socket,
                      int64_t ns);
void rn_loop_remove(struct rn_loop *loop, struct rn_socket *socket);

/* Subtracts moved bytes from the budget of this turn. */
void rn_loop_spend(struct rn_loop *loop, size_t bytes);

/* The time at which the current events were taken; cheap. */
int64_t rn_loop_now_ns(const struct rn_loop *loop);
uint32_t rn_loop_watches(const struct rn_loop *loop);

/* Adds the durations of the turns, by rn_scale_times: an event that comes
 * during a turn waits for so long.  Any thread. */
void rn_loop_add_turns(const struct rn_loop *loop, struct rn_histogram *io);

#endif
