/* lanes.c -- cuts a container into intervals and runs a thread for each. */
#include "tools/transfer/lanes.h"

#include "base/env.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TICK_MS = 100 };

static atomic_bool is_stopped;

/* "MIN-MAX" of the ranges from `first` until before `end`. */
static const char *print_interval(const runnel_ranges *ranges, size_t first,
                                  size_t end, struct rn_arena *arena)
{
    const char *min = runnel_ranges_at(ranges, first)->min;
    const char *max = runnel_ranges_at(ranges, end - 1)->max;
    size_t room = strlen(min) + strlen(max) + 2;
    char *text = rn_arena_alloc(arena, room);

    if (text)
        snprintf(text, room, "%s-%s", min, max);
    return text;
}

int rn_lanes_count(const struct rn_args *args, size_t max, size_t *out)
{
    uint64_t count = rn_args_count(args, "parallel");

    *out = (size_t)count;
    return count && count <= max
               ? RN_EXIT_OK
               : rn_report(RN_EXIT_USAGE, "--parallel takes 1 to %zu", max);
}

int rn_lanes_cut(runnel_container *container, size_t count,
                 const char *intervals[], struct rn_arena *arena)
{
    runnel_ranges *ranges = NULL;
    runnel_error error = { 0 };
    size_t total, first = 0;

    if (runnel_ranges_read(container, count, &ranges, &error))
        return rn_report_error(&error);
    total = runnel_ranges_count(ranges);
    assert(total >= count);
    for (size_t i = 0; i < count; i++) {
        size_t end = total * (i + 1) / count;

        intervals[i] = print_interval(ranges, first, end, arena);
        first = end;
    }
    runnel_ranges_close(ranges);
    for (size_t i = 0; i < count; i++) {
        if (!intervals[i])
            return rn_report(RN_EXIT_FAILED, "out of memory");
    }
    return RN_EXIT_OK;
}

bool rn_lanes_stopped(void)
{
    return atomic_load(&is_stopped) || rn_interrupted();
}

bool rn_lanes_stop(void)
{
    return !atomic_exchange(&is_stopped, true);
}

/* ---- threads ------------------------------------------------------------- */

struct crew {
    rn_lane_fn *work;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t running;
    int status; /* the first failure */
};

struct lane {
    struct crew *crew;
    size_t number;
    pthread_t thread;
};

static void fail(struct crew *crew, int status)
{
    if (status > 0 && !crew->status)
        crew->status = status;
    if (status)
        (void)rn_lanes_stop();
}

static void *run_lane(void *context)
{
    struct lane *lane = context;
    struct crew *crew = lane->crew;
    int status = crew->work(crew->context, lane->number);

    pthread_mutex_lock(&crew->lock);
    fail(crew, status);
    crew->running--;
    pthread_cond_signal(&crew->ended);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Ticks until no lane runs.  Called with the lock, which ticks do without. */
static void watch(struct crew *crew, rn_tick_fn *tick)
{
    while (crew->running) {
        int64_t until_ms = rn_wall_ms(rn_env_real()) + TICK_MS;
        struct timespec until = { .tv_sec = until_ms / 1000,
                                  .tv_nsec = until_ms % 1000 * 1000000 };
        int status;

        pthread_cond_timedwait(&crew->ended, &crew->lock, &until);
        pthread_mutex_unlock(&crew->lock);
        status = tick(crew->context);
        pthread_mutex_lock(&crew->lock);
        fail(crew, status);
    }
}

int rn_lanes_run(size_t count, rn_lane_fn *work, rn_tick_fn *tick,
                 void *context)
{
    struct crew crew = { .work = work,
                         .context = context,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .ended = PTHREAD_COND_INITIALIZER };
    struct lane lanes[RN_LANES_MAX];
    size_t started = 0;

    assert(count <= RN_LANES_MAX);
    atomic_store(&is_stopped, false);
    pthread_mutex_lock(&crew.lock);
    for (size_t i = 0; i < count && !crew.status; i++) {
        lanes[i] = (struct lane){ .crew = &crew, .number = i };
        if (pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i])) {
            fail(&crew, rn_report(RN_EXIT_FAILED, "cannot start a thread"));
            break;
        }
        started++;
        crew.running++;
    }
    watch(&crew, tick);
    pthread_mutex_unlock(&crew.lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(lanes[i].thread, NULL);
    return crew.status;
}
