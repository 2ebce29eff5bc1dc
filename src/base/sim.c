/* sim.c -- the simulated env: its clock, its tasks, its fault switches.  The
 * disk calls are in sim_calls.c. */
#include "base/sim.h"

#include "base/hash.h"
#include "base/sim_calls.h"
#include "base/sim_state.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    STEP_NS = 1000
}; /* cost of a step, so that a busy task moves the clock */

#define WALL_START_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

struct rn_sim_task {
    struct rn_sim_task *next; /* in the order they were started */
    struct rn_task *task;
    int64_t due_ns;
    bool woken; /* since its last step began */
};

void rn_sim_note(struct rn_sim *sim, const char *fmt, ...)
{
    char line[512];
    va_list args;
    int n;

    if (!sim->trace)
        return;
    n = snprintf(line, sizeof(line), "%lld ", (long long)sim->now_ns);
    va_start(args, fmt);
    vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
    va_end(args);
    sim->trace(sim->trace_context, line);
}

/* ---- clocks and random bytes --------------------------------------------- */

static int64_t sim_wall_ms(struct rn_env *env)
{
    struct rn_sim *sim = rn_sim_of(env);

    return WALL_START_MS + sim->wall_ms_ahead + sim->now_ns / 1000000;
}

static int64_t sim_mono_ns(struct rn_env *env)
{
    return rn_sim_of(env)->now_ns;
}

/* Saturates: a sum past the end of time is the end of time. */
static int64_t add_ns(int64_t at, int64_t ns)
{
    return ns > INT64_MAX - at ? INT64_MAX : at + ns;
}

static void sim_sleep(struct rn_env *env, int64_t ns)
{
    struct rn_sim *sim = rn_sim_of(env);

    rn_sim_note(sim, "sleep %lld", (long long)ns);
    if (ns > 0)
        sim->now_ns = add_ns(sim->now_ns, ns);
}

/* Steps never run concurrently. */
static void sim_give_way(struct rn_env *env)
{
    (void)env;
}

static void sim_random(struct rn_env *env, void *out, size_t len)
{
    struct rn_sim *sim = rn_sim_of(env);

    rn_prng_fill(&sim->prng, out, len);
    rn_sim_note(sim, "random %zu %016llx", len,
                (unsigned long long)rn_hash64(rn_view_of(out, len), 0));
}

/* ---- tasks --------------------------------------------------------------- */

static int sim_task_start(struct rn_env *env, struct rn_task *task)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct rn_sim_task *t = rn_new(sizeof(*t));
    struct rn_sim_task **end = &sim->tasks;

    assert(!task->running);
    if (!t)
        return ENOMEM;
    t->task = task;
    t->due_ns = sim->now_ns;
    while (*end)
        end = &(*end)->next;
    *end = t;
    task->running = t;
    rn_sim_note(sim, "start %s", task->name);
    return 0;
}

static void sim_task_wake(struct rn_env *env, struct rn_task *task)
{
    struct rn_sim_task *t = task->running;

    if (!t)
        return;
    t->woken = true;
    rn_sim_note(rn_sim_of(env), "wake %s", task->name);
}

static void sim_task_stop(struct rn_env *env, struct rn_task *task)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct rn_sim_task **at = &sim->tasks;
    struct rn_sim_task *t = task->running;

    if (!t)
        return;
    assert(t != sim->stepping); /* with real threads it would wait for ever */
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    task->running = NULL;
    rn_free(t);
    rn_sim_note(sim, "stop %s", task->name);
}

/* Draws one of the due tasks, with equal probability. */
static struct rn_sim_task *draw_due(struct rn_sim *sim)
{
    struct rn_sim_task *drawn = NULL;
    uint64_t due = 0;

    for (struct rn_sim_task *t = sim->tasks; t; t = t->next) {
        if (!t->woken && t->due_ns > sim->now_ns)
            continue;
        due++;
        if (rn_prng_below(&sim->prng, due) == 0)
            drawn = t;
    }
    return drawn;
}

static int64_t next_due(const struct rn_sim *sim)
{
    int64_t next = RN_TASK_IDLE;

    for (const struct rn_sim_task *t = sim->tasks; t; t = t->next) {
        if (t->due_ns < next)
            next = t->due_ns;
    }
    return next;
}

static void step_task(struct rn_sim *sim, struct rn_sim_task *t)
{
    int64_t wait_ns;

    assert(!sim->stepping); /* a step must not step others */
    rn_sim_note(sim, "step %s", t->task->name);
    sim->stepping = t;
    t->woken = false;
    wait_ns = t->task->step(t->task->context);
    sim->stepping = NULL;
    t->due_ns = add_ns(sim->now_ns, wait_ns > 0 ? wait_ns : 0);
    sim->now_ns = add_ns(sim->now_ns, STEP_NS);
}

/* Runs one task if one is due by `until`; advances the clock to it if
 * necessary. */
static bool step_until(struct rn_sim *sim, int64_t until)
{
    struct rn_sim_task *t;
    int64_t next;

    if (sim->is_cut)
        return false;
    t = draw_due(sim);
    if (!t) {
        next = next_due(sim);
        if (next == RN_TASK_IDLE || next > until)
            return false;
        sim->now_ns = next;
        t = draw_due(sim);
    }
    step_task(sim, t);
    return true;
}

bool rn_sim_step(struct rn_sim *sim)
{
    return step_until(sim, INT64_MAX);
}

void rn_sim_run(struct rn_sim *sim, int64_t ns)
{
    int64_t until = add_ns(sim->now_ns, ns);

    while (sim->now_ns < until && step_until(sim, until))
        ;
    if (sim->now_ns < until)
        sim->now_ns = until;
}

void rn_sim_wall_jump(struct rn_sim *sim, int64_t ms)
{
    rn_sim_note(sim, "wall_jump %lld", (long long)ms);
    sim->wall_ms_ahead += ms;
}

/* ---- the simulation itself ----------------------------------------------- */

struct rn_sim *rn_sim_new(uint64_t seed)
{
    struct rn_sim *sim = rn_new(sizeof(*sim));

    if (!sim)
        abort();
    sim->ops = (struct rn_env_ops){
        .name = "sim",
        .wall_ms = sim_wall_ms,
        .mono_ns = sim_mono_ns,
        .sleep = sim_sleep,
        .give_way = sim_give_way,
        .random = sim_random,
        .task_start = sim_task_start,
        .task_wake = sim_task_wake,
        .task_stop = sim_task_stop,
    };
    rn_sim_fill_disk_ops(&sim->ops);
    sim->env.ops = &sim->ops;
    rn_prng_init(&sim->prng, seed);
    rn_disk_init(&sim->disk, &sim->prng);
    return sim;
}

static void forget_tasks(struct rn_sim *sim)
{
    while (sim->tasks)
        sim_task_stop(&sim->env, sim->tasks->task);
}

void rn_sim_free(struct rn_sim *sim)
{
    if (!sim)
        return;
    sim->trace = NULL;
    forget_tasks(sim);
    rn_disk_release(&sim->disk);
    rn_free(sim);
}

struct rn_env *rn_sim_env(struct rn_sim *sim)
{
    return &sim->env;
}

struct rn_prng *rn_sim_prng(struct rn_sim *sim)
{
    return &sim->prng;
}

void rn_sim_fail(struct rn_sim *sim, enum rn_sim_call call, uint64_t nth,
                 int error, enum rn_sim_times times)
{
    assert(nth == 0 || error != 0);
    sim->faults[call] = (struct rn_sim_fault){ nth, error, times };
}

uint64_t rn_sim_calls(const struct rn_sim *sim, enum rn_sim_call call)
{
    return sim->calls[call];
}

void rn_sim_disk_limit(struct rn_sim *sim, uint64_t bytes)
{
    sim->disk.limit = bytes;
}

void rn_sim_spoil(struct rn_sim *sim, unsigned percent)
{
    sim->disk.spoil_percent = percent;
}

void rn_sim_cut_after(struct rn_sim *sim, uint64_t nth)
{
    sim->cut_in = nth;
    sim->is_cut = nth == 0;
}

bool rn_sim_is_cut(const struct rn_sim *sim)
{
    return sim->is_cut;
}

void rn_sim_crash(struct rn_sim *sim)
{
    rn_sim_note(sim, "crash");
    forget_tasks(sim);
    rn_disk_crash(&sim->disk);
    sim->is_cut = false;
    sim->cut_in = 0;
}

unsigned rn_sim_open_files(const struct rn_sim *sim)
{
    unsigned n = 0;

    for (const struct rn_disk_file *f = sim->disk.files; f; f = f->next)
        n++;
    return n;
}

void rn_sim_trace(struct rn_sim *sim, rn_sim_trace_fn *each, void *context)
{
    sim->trace = each;
    sim->trace_context = context;
}
