/* indexer.c -- builds and drops indexes in background slices; see indexer.h. */
#include "engine/index/indexer.h"

#include "engine/catalog/object.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/index/index.h"
#include "engine/index/index_fill.h"
#include "engine/index/index_set.h"
#include "engine/index/index_use.h"
#include "engine/key.h"
#include "query/check/policy.h"

enum {
    ARENA_MAX = 1 << 20,
    SLICE_KEYS = 256,
    RETRY_S = 60, /* after a slice that failed */
};

/* ---- slices -------------------------------------------------------------- */

enum rn_code rn_index_move_on(struct rn_index_work *w, struct rn_index *x,
                              enum rn_index_state state)
{
    x->state = state;
    w->engine->indexer.fresh = w->set;
    return rn_index_put(w->txn, w->number, x);
}

static bool is_allowed(const struct rn_policy *p, const struct rn_index *x)
{
    struct rn_policy_key keys[RN_INDEX_KEYS_MAX];

    for (uint32_t i = 0; i < x->count; i++)
        keys[i] =
            (struct rn_policy_key){ x->keys[i].path, x->keys[i].is_descending };
    return x->count == 1 ? rn_policy_is_indexed(p, &x->keys[0].path)
                         : rn_policy_has_composite(p, keys, x->count);
}

/* Drops the indexes that the policy no longer has. */
static enum rn_code check_policy(struct rn_index_work *w,
                                 const struct rn_object *o, bool *is_done)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_policy policy;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, o->body, NULL);
    if (!rc)
        rc = rn_policy_read(&j, &arena, &policy);
    for (uint32_t i = 0; !rc && i < w->set->indexes.count; i++) {
        struct rn_index *x = &w->set->indexes.list[i];

        if (x->state == RN_INDEX_DROPPING || is_allowed(&policy, x))
            continue;
        rc = rn_index_move_on(w, x, RN_INDEX_DROPPING);
        *is_done = true;
    }
    rn_json_release(&j);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code drop_some(struct rn_index_work *w, struct rn_index *x)
{
    struct rn_key *keys = rn_new(SLICE_KEYS * sizeof(*keys)), from, before, row;
    size_t count = 0;
    enum rn_code rc;

    rn_key_index(w->number, x->number, &from);
    before = from;
    before.bytes[before.len - 1]++;
    rc = keys ? rn_key_collect(w->txn, &from, &before, keys, SLICE_KEYS, &count)
              : RN_NOMEM;

    for (size_t i = 0; !rc && i < count; i++)
        rc = rn_txn_del(w->txn, rn_key_view(&keys[i]));
    rn_free(keys);
    if (rc || count == SLICE_KEYS)
        return rc;
    rn_index_row_key(w->number, x->number, &row);
    rc = rn_txn_del(w->txn, rn_key_view(&row));
    rn_index_set_free(w->set);
    w->set = NULL;
    if (!rc)
        rc = rn_index_set_read(w->txn, w->number, &w->set);
    w->engine->indexer.fresh = w->set;
    return rc;
}

/* ---- due work ------------------------------------------------------------ */

static struct rn_index *find_state(const struct rn_index_set *s,
                                   enum rn_index_state state)
{
    for (uint32_t i = 0; i < s->indexes.count; i++) {
        if (s->indexes.list[i].state == state)
            return &s->indexes.list[i];
    }
    return NULL;
}

/* Does one piece of work; `then` is when the next is due. */
static enum rn_code work_on(struct rn_index_work *w, const struct rn_object *o,
                            int64_t *then)
{
    struct rn_index_set *known = rn_indexer_find(w->engine, w->number);
    struct rn_index *dropping = find_state(w->set, RN_INDEX_DROPPING);
    struct rn_index *building = find_state(w->set, RN_INDEX_BUILDING);
    bool is_done = false;
    enum rn_code rc = RN_OK;

    if (known && !known->is_checked)
        rc = check_policy(w, o, &is_done);
    if (rc || is_done)
        return rc;
    if (dropping)
        return drop_some(w, dropping);
    if (building)
        return rn_index_fill(w, building);
    *then = RN_NEVER;
    return rn_index_look_at_uses(w, then);
}

static enum rn_code run_slice(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_work w = { .engine = e, .txn = txn, .number = x->working };
    struct rn_object *o = NULL;
    enum rn_code rc;

    rn_index_set_free(x->fresh); /* of a run that was undone */
    x->fresh = NULL;
    x->then = 0;
    rn_index_filling_cut(&x->filling);
    x->has_learnt = false;
    rc = rn_index_set_read(txn, w.number, &w.set);
    if (!rc && w.set->indexes.count)
        o = rn_catalog_find_rid(e, w.set->indexes.list[0].container);
    x->is_gone = !rc && !o;
    if (o)
        rc = work_on(&w, o, &x->then);
    rn_object_release(o);
    if (x->fresh != w.set || rc) {
        rn_index_set_free(w.set);
        x->fresh = NULL;
    }
    return rc;
}

static void slice_done(struct rn_engine *e, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *s = rn_indexer_find(e, x->working), *fresh = x->fresh;

    (void)err;
    x->fresh = NULL;
    rn_background_set(e, RN_BACKGROUND_INDEX, 0); /* check all sets */
    if (rc || !s) {
        rn_index_set_free(fresh);
        rn_index_filling_cut(&x->filling);
        if (s)
            s->due = rn_engine_now(e) + RETRY_S;
        return;
    }
    rn_index_filling_done(&x->filling);
    if (x->is_gone) {
        rn_indexer_forget(e, x->working);
        return;
    }
    if (fresh) {
        rn_index_clear_uses(e, s, fresh);
        if (rn_indexer_place(e, fresh))
            return;
        s = rn_indexer_find(e, x->working);
    }
    if (s) {
        s->is_checked = !x->has_learnt;
        s->due = x->has_learnt ? 0 : x->then;
    }
}

/* Chooses a set that is due; if none is, sets when the first will be. */
static bool choose_set(struct rn_engine *e, int64_t now, unsigned *flags)
{
    int64_t first = RN_NEVER;

    for (struct rn_index_set *s = e->indexer.sets; s; s = s->next) {
        if (s->due <= now) {
            e->indexer.working = s->number;
            if (!find_state(s, RN_INDEX_BUILDING))
                *flags |= RN_OPERATION_FREES;
            return true;
        }
        if (s->due < first)
            first = s->due;
    }
    rn_background_set(e, RN_BACKGROUND_INDEX, first);
    return false;
}

const struct rn_background_ops rn_index_background = {
    .priority = 1,
    .is_paced = true,
    .bytes = 64 << 10,
    .choose = choose_set,
    .run = run_slice,
    .done = slice_done,
};
