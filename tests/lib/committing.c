/* committing.c -- see committing.h. */
#include "lib/committing.h"

#include <stdio.h>

enum { STEPS_MAX = 20000 };

struct bench bench;

/* Kept out of the stack: a test that fails leaves them queued. */
static struct probe pool[5000];
static size_t pool_used;

static const char zeros[RN_VALUE_MAX];

/* ---- the simulation, with an ear at the task ----------------------------- */

static const struct rn_env_ops *sim_ops;
static struct rn_env_ops ops;

static int start_task(struct rn_env *env, struct rn_task *task)
{
    return bench.start_error ? bench.start_error
                             : sim_ops->task_start(env, task);
}

static void note_wake(struct rn_env *env, struct rn_task *task)
{
    bench.wakes++;
    sim_ops->task_wake(env, task);
}

static void open_sim(void)
{
    bench.sim = rn_sim_new(1);
    bench.env = rn_sim_env(bench.sim);
    sim_ops = bench.env->ops;
    ops = *sim_ops;
    ops.task_start = start_task;
    ops.task_wake = note_wake;
    bench.env->ops = &ops;
}

void pass(int64_t ns)
{
    rn_sim_run(bench.sim, ns);
}

void step(void)
{
    assert_true(rn_sim_step(bench.sim));
}

void run_until_idle(void)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        if (!rn_sim_step(bench.sim))
            return;
    }
    fail_msg("the committer does not come to rest");
}

/* ---- probes -------------------------------------------------------------- */

static struct rn_view probe_key(char out[32], const struct probe *p, size_t i)
{
    return rn_view_of(out, (size_t)snprintf(out, 32, "%s%zu", p->key, i));
}

static enum rn_code probe_run(struct rn_operation *op, struct rn_txn *txn)
{
    struct probe *p = (struct probe *)op;

    p->runs++;
    bench.env->ops->sleep(bench.env, p->takes_ns);
    if (p->early)
        return p->early;
    for (size_t i = 0; i < p->writes; i++) {
        char key[32];
        enum rn_code rc = rn_txn_put(txn, probe_key(key, p, i),
                                     rn_view_of(zeros, p->value_len));
        if (rc)
            return p->is_deaf ? RN_OK : rc;
    }
    if (p->answer)
        return rn_fail(&op->err, p->answer, "probe says so");
    return RN_OK;
}

static void probe_done(struct rn_operation *op, enum rn_code rc,
                       const struct rn_err *err)
{
    struct probe *p = (struct probe *)op;
    struct rn_committer *again = p->again;

    p->dones++;
    p->done_now = ++bench.now;
    p->got = rc;
    snprintf(p->words, sizeof(p->words), "%s", rc ? err->text : "");
    p->again = NULL;
    if (again)
        p->again_rc = rn_committer_queue(again, op);
}

struct probe *probes(size_t count, unsigned first)
{
    struct probe *p = &pool[pool_used];

    pool_used += count;
    assert_true(pool_used <= sizeof(pool) / sizeof(pool[0]));
    for (size_t i = 0; i < count; i++) {
        p[i] = (struct probe){
            .op = { .run = probe_run, .done = probe_done },
            .writes = 1,
            .value_len = 10,
        };
        snprintf(p[i].key, sizeof(p[i].key), "p%u.", first + (unsigned)i);
    }
    return p;
}

void queue(struct probe *p)
{
    assert_int_equal(rn_committer_queue(bench.committer, &p->op), RN_OK);
}

/* How many of its writes are in the store. */
static size_t stored(const struct probe *p)
{
    struct rn_txn *t = NULL;
    struct rn_view v;
    size_t found = 0;

    assert_int_equal(
        rn_txn_begin(bench.store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL),
        RN_OK);
    for (size_t i = 0; i < p->writes; i++) {
        char key[32];
        found += rn_txn_get(t, probe_key(key, p, i), &v) == RN_OK;
    }
    rn_txn_abort(t);
    return found;
}

void assert_answered(const struct probe *p, enum rn_code rc)
{
    assert_int_equal(p->dones, 1);
    assert_string_equal(rn_code_name(p->got), rn_code_name(rc));
    assert_int_equal(stored(p), rc == RN_OK ? p->writes : 0);
    if (rc)
        assert_int_not_equal(p->words[0], 0);
}

/* ---- the fixture --------------------------------------------------------- */

static void note_publish(void *context, const struct rn_operation *group)
{
    assert_ptr_equal(context, &bench);
    bench.published++;
    bench.publish_now = ++bench.now;
    bench.group_size = 0;
    for (; group; group = group->next)
        bench.group_size++;
}

static void open_bench(uint32_t queue_max)
{
    struct rn_committer_opts opts = { .queue_max = queue_max,
                                      .publish = note_publish,
                                      .publish_context = &bench };
    struct rn_store *mem = NULL;

    bench = (struct bench){ 0 };
    pool_used = 0;
    open_sim();
    assert_int_equal(
        rn_store_open("mem", &(struct rn_store_opts){ 0 }, &mem, NULL), RN_OK);
    bench.store = faulty_new(mem);
    assert_non_null(bench.store);
    assert_int_equal(
        rn_committer_new(bench.env, bench.store, &opts, &bench.committer, NULL),
        RN_OK);
    run_until_idle(); /* its first step is due at once */
}

int setup(void **state)
{
    (void)state;
    open_bench(0);
    return 0;
}

int teardown(void **state)
{
    (void)state;
    rn_committer_free(bench.committer);
    rn_store_close(bench.store);
    rn_sim_free(bench.sim);
    bench = (struct bench){ 0 };
    return 0;
}

void open_with(uint32_t queue_max)
{
    teardown(NULL);
    open_bench(queue_max);
}

struct rn_committer_status status(void)
{
    struct rn_committer_status s;

    rn_committer_status(bench.committer, &s);
    return s;
}
