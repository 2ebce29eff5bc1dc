/* index_use.c -- usage tracking of indexes, and how far queries read along
 * them. */
#include "engine/index/index_use.h"

#include "engine/index/indexer.h"

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/index/index.h"
#include "engine/index/index_set.h"

enum { DAY_S = 86400 };

static uint64_t use_of(uint32_t container, uint8_t number)
{
    return (uint64_t)container << 8 | number;
}

static atomic_ullong *use_slot(struct rn_engine *e, uint64_t use)
{
    uint64_t hash = use * UINT64_C(0x9e3779b97f4a7c15);

    return &e->indexer.used[hash >> 54]; /* its upper ten bits */
}

void rn_index_note_used(struct rn_engine *e, uint32_t container, uint8_t number)
{
    uint64_t use = use_of(container, number) + 1;
    atomic_ullong *slot = use_slot(e, use);

    if (atomic_load_explicit(slot, memory_order_relaxed) != use)
        atomic_store_explicit(slot, use, memory_order_relaxed);
}

/* Daily: records whether the index was used, and drops it if idle. */
static enum rn_code look_at_use(struct rn_index_work *w, struct rn_index *x,
                                int64_t now)
{
    uint64_t use = use_of(w->number, x->number) + 1;

    if (atomic_load(use_slot(w->engine, use)) == use) {
        x->used = now;
        return rn_index_move_on(w, x, x->state);
    }
    if (now - x->used >= RN_INDEX_IDLE_S)
        return rn_index_move_on(w, x, RN_INDEX_DROPPING);
    return RN_OK;
}

enum rn_code rn_index_look_at_uses(struct rn_index_work *w, int64_t *then)
{
    int64_t now = rn_engine_now(w->engine);
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < w->set->indexes.count; i++) {
        struct rn_index *x = &w->set->indexes.list[i];
        int64_t due = x->used + DAY_S;

        if (due <= now) {
            rc = look_at_use(w, x, now);
            due = x->state == RN_INDEX_DROPPING ? 0 : now + DAY_S;
        }
        if (due < *then)
            *then = due;
    }
    return rc;
}

/* Clears the uses that are recorded now, so that later uses are noted
 * again. */
void rn_index_clear_uses(struct rn_engine *e, const struct rn_index_set *was,
                         const struct rn_index_set *is)
{
    for (uint32_t i = 0; i < is->indexes.count; i++) {
        const struct rn_index *x = &is->indexes.list[i];

        for (uint32_t k = 0; k < was->indexes.count; k++) {
            if (was->indexes.list[k].number == x->number &&
                was->indexes.list[k].used != x->used)
                atomic_store(use_slot(e, use_of(is->number, x->number) + 1), 0);
        }
    }
}

/* ---- patience ------------------------------------------------------------ */

static atomic_ullong *patience_of(struct rn_engine *e, uint64_t query)
{
    return &e->indexer.patience[(query >> 32) % RN_INDEX_TEXTS];
}

unsigned rn_index_patience(struct rn_engine *e, uint64_t query)
{
    uint64_t known =
        atomic_load_explicit(patience_of(e, query), memory_order_relaxed);

    return (known ^ query) >> 2 ? 0 : known & 3;
}

void rn_index_set_patience(struct rn_engine *e, uint64_t query, unsigned level)
{
    atomic_store_explicit(patience_of(e, query), (query & ~UINT64_C(3)) | level,
                          memory_order_relaxed);
}
