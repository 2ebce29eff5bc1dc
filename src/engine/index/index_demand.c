/* index_demand.c -- index advisor, engine side: creates an index when missing
 * it has cost more than building it. */
#include "engine/index/index_demand.h"

#include "engine/index/index_change.h"
#include "engine/index/indexer.h"

#include "base/hash.h"
#include "engine/catalog/object.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

enum {
    ARENA_MAX = 1 << 20,
    MAKING = 4,    /* building costs as much as so many full scans */
    FEWEST = 1000, /* least documents that a container counts as */
};

/* An index that the advisor creates. */
struct wish {
    struct rn_index_change change;
    struct rn_object *object;
    struct rn_arena arena;
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
};

static void wish_free(struct wish *w)
{
    rn_object_release(w->object);
    rn_arena_release(&w->arena);
    rn_free(w);
}

static void wish_done(struct rn_done *done, enum rn_code rc,
                      const struct rn_err *err)
{
    (void)rc;
    (void)err;
    wish_free((struct wish *)(void *)done);
}

static bool copy_path(struct rn_arena *a, const struct rn_json_path *from,
                      struct rn_json_path *to)
{
    struct rn_view *names = rn_arena_alloc(a, from->count * sizeof(*names));

    for (uint32_t i = 0; names && i < from->count; i++) {
        names[i] =
            from->names[i].len ? rn_arena_copy(a, from->names[i]) : RN_LIT("");
        if (!names[i].at)
            return false;
    }
    *to = (struct rn_json_path){ names, from->count };
    return names != NULL;
}

static void wish_for(struct rn_engine *e, const struct rn_object *o,
                     const struct rn_index_key *keys, uint32_t count)
{
    struct wish *w = rn_new(sizeof(*w));
    bool is_good = w && count <= RN_INDEX_KEYS_MAX;

    if (!w)
        return;
    w->arena = RN_ARENA_INIT(ARENA_MAX);
    w->object = rn_object_share((struct rn_object *)(uintptr_t)o);
    for (uint32_t i = 0; is_good && i < count; i++) {
        w->keys[i].is_descending = keys[i].is_descending;
        is_good = copy_path(&w->arena, &keys[i].path, &w->keys[i].path);
    }
    w->change = (struct rn_index_change){ .done.call = wish_done,
                                          .container = o->container,
                                          .keys = w->keys,
                                          .count = count };
    if (!is_good || rn_index_change_start(e, &w->change, NULL))
        wish_free(w);
}

static uint64_t hash_of(uint32_t container, const struct rn_index_key *keys,
                        uint32_t count)
{
    uint64_t hash = container;

    for (uint32_t i = 0; i < count; i++) {
        hash += keys[i].is_descending;
        for (uint32_t n = 0; n < keys[i].path.count; n++)
            hash = rn_hash64(keys[i].path.names[n], hash + n);
    }
    return hash ? hash : 1;
}

/* The miss with this hash, or else the one with the least cost. */
static struct rn_index_miss *find_miss(struct rn_indexer *x, uint64_t hash)
{
    struct rn_index_miss *least = &x->misses[0];

    for (size_t i = 0; i < RN_INDEX_MISSES; i++) {
        if (x->misses[i].hash == hash)
            return &x->misses[i];
        if (x->misses[i].documents < least->documents)
            least = &x->misses[i];
    }
    *least = (struct rn_index_miss){ .hash = hash };
    return least;
}

void rn_index_note_missed(struct rn_engine *e, const struct rn_object *o,
                          const struct rn_index_key *keys, uint32_t count,
                          uint64_t documents, uint64_t of)
{
    struct rn_indexer *x = &e->indexer;
    uint64_t cost = MAKING * (of > FEWEST ? of : (uint64_t)FEWEST);
    struct rn_index_miss *miss;
    bool is_worth;

    pthread_mutex_lock(&x->lock);
    miss = find_miss(x, hash_of(o->number, keys, count));
    miss->documents += documents;
    is_worth = miss->documents >= cost;
    if (is_worth)
        *miss = (struct rn_index_miss){ 0 };
    pthread_mutex_unlock(&x->lock);
    if (is_worth)
        wish_for(e, o, keys, count);
}
