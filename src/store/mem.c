/* mem.c -- the in-memory store: the reference for the behaviour of every other
 * store.
 *
 * The state is one immutable tree (tree.h) behind a pointer.  A transaction
 * takes a snapshot, which costs nothing; a writer changes its copy and
 * publishes it at commit.  Nothing survives close.
 *
 * One lock guards the shared members: the published tree, the writer's turn and
 * the list of readers.  It is held for a few instructions, never during a
 * search.
 */
#include "store/tree.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

struct mem_txn {
    struct rn_txn base;
    struct rn_tree tree;
    int64_t begun_ns;
    struct mem_txn *older, *newer; /* readers, in order of begin */
};

struct mem_cursor {
    struct rn_cursor base;
    const struct rn_tree_entry *last;
    bool ended;
};

struct mem_store {
    struct rn_store base;
    struct rn_env *env;
    uint32_t busy_ms, readers_max;
    int64_t reader_ns_max;

    pthread_mutex_t lock;
    pthread_cond_t turn; /* is_writing has become false */
    bool is_writing;
    struct rn_tree published;
    struct mem_txn *oldest, *newest;
    uint32_t readers;
    uint64_t commits;
};

static struct mem_store *store_of(const struct rn_txn *t)
{
    return (struct mem_store *)t->store;
}

/* ---- the store ----------------------------------------------------------- */

/* Waits for the writer's turn use the monotonic clock. */
static int init_turn(pthread_cond_t *turn)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);

    if (rc)
        return rc;
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!rc)
        rc = pthread_cond_init(turn, &attr);
    pthread_condattr_destroy(&attr);
    return rc;
}

static enum rn_code mem_open(const struct rn_store_opts *opts,
                             struct rn_store **out, struct rn_err *err)
{
    struct mem_store *s = rn_new(sizeof(*s));
    int error;

    if (!s)
        return rn_fail(err, RN_NOMEM, "no memory for a store");
    s->env = opts->env;
    s->busy_ms = opts->busy_ms;
    s->readers_max = opts->readers_max;
    s->reader_ns_max = (int64_t)opts->reader_ms_max * 1000000;
    error = init_turn(&s->turn);
    if (!error && (error = pthread_mutex_init(&s->lock, NULL)))
        pthread_cond_destroy(&s->turn);
    if (error) {
        rn_free(s);
        return rn_fail_errno(err, error, "making a lock");
    }
    *out = &s->base;
    return RN_OK;
}

static void mem_close(struct rn_store *base)
{
    struct mem_store *s = (struct mem_store *)base;

    assert(!s->is_writing);
    assert(s->readers == 0);
    rn_tree_release(&s->published);
    pthread_cond_destroy(&s->turn);
    pthread_mutex_destroy(&s->lock);
    rn_free(s);
}

static void mem_status(struct rn_store *base, struct rn_store_status *out)
{
    struct mem_store *s = (struct mem_store *)base;

    pthread_mutex_lock(&s->lock);
    out->commits = s->commits;
    out->data_bytes = out->live_bytes = rn_tree_bytes(&s->published);
    out->readers = s->readers;
    if (s->oldest)
        out->oldest_reader_ms =
            (rn_mono_ns(s->env) - s->oldest->begun_ns) / 1000000;
    pthread_mutex_unlock(&s->lock);
}

/* ---- begin and end ------------------------------------------------------- */

/* Locks: lock (held by caller). */
static enum rn_code take_turn(struct mem_store *s, struct rn_err *err)
{
    struct timespec until = rn_cond_deadline((int64_t)s->busy_ms * 1000000);
    int rc = 0;

    while (s->is_writing && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->turn, &s->lock, &until);
    if (s->is_writing)
        return rn_fail(err, RN_BUSY, "another writer was busy for %u ms",
                       s->busy_ms);
    s->is_writing = true;
    return RN_OK;
}

/* Locks: lock (held by caller). */
static enum rn_code add_reader(struct mem_store *s, struct mem_txn *t,
                               struct rn_err *err)
{
    if (s->readers == s->readers_max)
        return rn_fail(err, RN_BUSY, "there are %u readers already",
                       s->readers);
    s->readers++;
    t->older = s->newest;
    if (s->newest)
        s->newest->newer = t;
    else
        s->oldest = t;
    s->newest = t;
    return RN_OK;
}

/* Locks: lock (held by caller). */
static void remove_reader(struct mem_store *s, struct mem_txn *t)
{
    s->readers--;
    if (t->older)
        t->older->newer = t->newer;
    else
        s->oldest = t->newer;
    if (t->newer)
        t->newer->older = t->older;
    else
        s->newest = t->older;
}

/* Ignores `lock`: this store has one writer in all. */
static enum rn_code mem_begin(struct rn_store *base, enum rn_txn_mode mode,
                              struct rn_lock lock, struct rn_txn **out,
                              struct rn_err *err)
{
    struct mem_store *s = (struct mem_store *)base;
    struct mem_txn *t = rn_new(sizeof(*t));
    enum rn_code rc;

    (void)lock;
    if (!t)
        return rn_fail(err, RN_NOMEM, "no memory for a transaction");
    t->begun_ns = rn_mono_ns(s->env);
    pthread_mutex_lock(&s->lock);
    rc = mode == RN_TXN_READ ? add_reader(s, t, err) : take_turn(s, err);
    if (!rc)
        t->tree = rn_tree_copy(&s->published);
    if (!rc && mode != RN_TXN_READ)
        rn_tree_take_spares(&t->tree, &s->published);
    pthread_mutex_unlock(&s->lock);
    if (rc) {
        rn_free(t);
        return rc;
    }
    *out = &t->base;
    return RN_OK;
}

static void mem_end_txn(struct mem_txn *t)
{
    struct mem_store *s = store_of(&t->base);

    pthread_mutex_lock(&s->lock);
    if (t->base.mode == RN_TXN_READ) {
        remove_reader(s, t);
    } else {
        s->is_writing = false;
        pthread_cond_signal(&s->turn);
    }
    pthread_mutex_unlock(&s->lock);
    rn_tree_release(&t->tree); /* may free much: not under the lock */
    rn_free(t);
}

static enum rn_code mem_commit(struct rn_txn *base, struct rn_err *err)
{
    struct mem_txn *t = (struct mem_txn *)base;
    struct mem_store *s = store_of(base);
    struct rn_tree old;

    (void)err;
    pthread_mutex_lock(&s->lock);
    old = s->published;
    s->published = t->tree;
    t->tree = old;
    s->commits++;
    pthread_mutex_unlock(&s->lock);
    mem_end_txn(t);
    return RN_OK;
}

static void mem_abort(struct rn_txn *t)
{
    mem_end_txn((struct mem_txn *)t);
}

/* ---- reading and writing ------------------------------------------------- */

/* Ends old readers: an old snapshot keeps entries that were replaced long ago.
 */
static enum rn_code check_age(struct mem_txn *t)
{
    struct mem_store *s = store_of(&t->base);
    int64_t age;

    if (t->base.mode != RN_TXN_READ)
        return RN_OK;
    age = rn_mono_ns(s->env) - t->begun_ns;
    if (age <= s->reader_ns_max)
        return RN_OK;
    return rn_fail(&t->base.fault, RN_TIMEOUT,
                   "a read transaction may last %lld ms",
                   (long long)(s->reader_ns_max / 1000000));
}

static enum rn_code mem_get(struct rn_txn *base, struct rn_view key,
                            struct rn_view *out)
{
    struct mem_txn *t = (struct mem_txn *)base;
    enum rn_code rc = check_age(t);
    const struct rn_tree_entry *e;

    if (rc)
        return rc;
    e = rn_tree_find(&t->tree, key);
    if (!e)
        return RN_NOT_FOUND;
    *out = e->value;
    return RN_OK;
}

static enum rn_code mem_put(struct rn_txn *t, struct rn_view key,
                            struct rn_view value)
{
    return rn_tree_put(&((struct mem_txn *)t)->tree, key, value);
}

static enum rn_code mem_del(struct rn_txn *t, struct rn_view key)
{
    return rn_tree_del(&((struct mem_txn *)t)->tree, key);
}

static enum rn_code mem_scan(struct rn_txn *base,
                             const struct rn_key_interval *range,
                             struct rn_cursor **out)
{
    enum rn_code rc = check_age((struct mem_txn *)base);
    struct mem_cursor *c;

    (void)range; /* next uses the copy in the base */
    if (rc)
        return rc;
    c = rn_new(sizeof(*c));
    if (!c)
        return RN_NOMEM;
    *out = &c->base;
    return RN_OK;
}

static enum rn_code mem_next(struct rn_cursor *base, struct rn_view *key,
                             struct rn_view *value)
{
    struct mem_cursor *c = (struct mem_cursor *)base;
    struct mem_txn *t = (struct mem_txn *)base->txn;
    enum rn_code rc = check_age(t);
    const struct rn_tree_entry *e;

    if (rc)
        return rc;
    e = c->ended ? NULL : rn_tree_next(&t->tree, &base->range, c->last);
    if (!e) {
        c->ended = true;
        return RN_NOT_FOUND;
    }
    c->last = e;
    *key = e->key;
    *value = e->value;
    return RN_OK;
}

static void mem_end(struct rn_cursor *c)
{
    rn_free(c);
}

const struct rn_store_ops rn_store_mem = {
    .name = "mem",
    .open = mem_open,
    .close = mem_close,
    .status = mem_status,
    .begin = mem_begin,
    .commit = mem_commit,
    .abort = mem_abort,
    .get = mem_get,
    .put = mem_put,
    .del = mem_del,
    .scan = mem_scan,
    .next = mem_next,
    .end = mem_end,
};
