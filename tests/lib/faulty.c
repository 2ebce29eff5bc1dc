/* faulty.c -- see faulty.h. */
#include "lib/faulty.h"

#include <assert.h>

struct plan {
    unsigned wait, times, count;
    enum rn_code code;
};

struct faulty {
    struct rn_store base;
    struct rn_store *inner;
    struct plan plans[FAULTY_CALLS];
};

struct faulty_txn {
    struct rn_txn base;
    struct rn_txn *inner;
};

struct faulty_cursor {
    struct rn_cursor base;
    struct rn_cursor *inner;
};

static struct rn_txn *inner_of(struct rn_txn *t)
{
    return ((struct faulty_txn *)t)->inner;
}

/* What this call is to return without having done anything; RN_OK: go on. */
static enum rn_code meet(struct rn_store *s, enum faulty_call call)
{
    struct plan *plan = &((struct faulty *)s)->plans[call];

    plan->count++;
    if (plan->times == 0)
        return RN_OK;
    if (plan->wait > 1) {
        plan->wait--;
        return RN_OK;
    }
    plan->times--;
    return plan->code;
}

static enum rn_code meet_in(struct rn_txn *t, enum faulty_call call)
{
    enum rn_code rc = meet(t->store, call);

    return rc ? rn_fail(&t->fault, rc, "the test wants %s", rn_code_name(rc))
              : RN_OK;
}

static enum rn_code faulty_open(const struct rn_store_opts *opts,
                                struct rn_store **out, struct rn_err *err)
{
    (void)opts, (void)out, (void)err;
    assert(false); /* made by faulty_new */
    return RN_BAD_REQUEST;
}

static void faulty_close(struct rn_store *s)
{
    rn_store_close(((struct faulty *)s)->inner);
    rn_free(s);
}

static void faulty_status(struct rn_store *s, struct rn_store_status *out)
{
    rn_store_status(((struct faulty *)s)->inner, out);
}

static enum rn_code faulty_begin(struct rn_store *s, enum rn_txn_mode mode,
                                 struct rn_lock lock, struct rn_txn **out,
                                 struct rn_err *err)
{
    enum rn_code rc = meet(s, (enum faulty_call)(FAULTY_BEGIN_READ + mode));
    struct faulty_txn *t;

    if (rc)
        return rn_fail(err, rc, "the test wants %s", rn_code_name(rc));
    t = rn_new(sizeof(*t));
    if (!t)
        return RN_NOMEM;
    rc = rn_txn_begin(((struct faulty *)s)->inner, mode, lock, &t->inner, err);
    if (rc) {
        rn_free(t);
        return rc;
    }
    *out = &t->base;
    return RN_OK;
}

static enum rn_code faulty_commit(struct rn_txn *t, struct rn_err *err)
{
    enum rn_code rc = meet(t->store, FAULTY_COMMIT);

    if (rc) {
        rn_txn_abort(inner_of(t));
        rn_fail(err, rc, "the test wants %s", rn_code_name(rc));
    } else {
        rc = rn_txn_commit(inner_of(t), err);
    }
    rn_free(t);
    return rc;
}

static void faulty_abort(struct rn_txn *t)
{
    meet(t->store, FAULTY_ABORT);
    rn_txn_abort(inner_of(t));
    rn_free(t);
}

static enum rn_code faulty_get(struct rn_txn *t, struct rn_view key,
                               struct rn_view *out)
{
    enum rn_code rc = meet_in(t, FAULTY_GET);

    return rc ? rc : rn_txn_get(inner_of(t), key, out);
}

static enum rn_code faulty_put(struct rn_txn *t, struct rn_view key,
                               struct rn_view value)
{
    enum rn_code rc = meet_in(t, FAULTY_PUT);

    return rc ? rc : rn_txn_put(inner_of(t), key, value);
}

static enum rn_code faulty_del(struct rn_txn *t, struct rn_view key)
{
    enum rn_code rc = meet_in(t, FAULTY_DEL);

    return rc ? rc : rn_txn_del(inner_of(t), key);
}

static enum rn_code faulty_scan(struct rn_txn *t,
                                const struct rn_key_interval *range,
                                struct rn_cursor **out)
{
    enum rn_code rc = meet_in(t, FAULTY_SCAN);
    struct faulty_cursor *c;

    if (rc)
        return rc;
    c = rn_new(sizeof(*c));
    if (!c)
        return RN_NOMEM;
    rc = rn_txn_scan(inner_of(t), range, &c->inner);
    if (rc) {
        rn_free(c);
        return rc;
    }
    *out = &c->base;
    return RN_OK;
}

static enum rn_code faulty_next(struct rn_cursor *c, struct rn_view *key,
                                struct rn_view *value)
{
    enum rn_code rc = meet_in(c->txn, FAULTY_NEXT);

    return rc ? rc
              : rn_cursor_next(((struct faulty_cursor *)c)->inner, key, value);
}

static void faulty_end(struct rn_cursor *c)
{
    rn_cursor_end(((struct faulty_cursor *)c)->inner);
    rn_free(c);
}

static const struct rn_store_ops faulty_ops = {
    .name = "faulty",
    .open = faulty_open,
    .close = faulty_close,
    .status = faulty_status,
    .begin = faulty_begin,
    .commit = faulty_commit,
    .abort = faulty_abort,
    .get = faulty_get,
    .put = faulty_put,
    .del = faulty_del,
    .scan = faulty_scan,
    .next = faulty_next,
    .end = faulty_end,
};

struct rn_store *faulty_new(struct rn_store *inner)
{
    struct faulty *f = rn_new(sizeof(*f));

    if (!f)
        return NULL;
    f->base.ops = &faulty_ops;
    f->inner = inner;
    return &f->base;
}

void faulty_fail(struct rn_store *s, enum faulty_call call, unsigned nth,
                 unsigned times, enum rn_code code)
{
    struct plan *plan = &((struct faulty *)s)->plans[call];

    plan->wait = nth;
    plan->times = times;
    plan->code = code;
}

unsigned faulty_count(const struct rn_store *s, enum faulty_call call)
{
    return ((const struct faulty *)s)->plans[call].count;
}
