/* index_set.c -- the in-memory sets of indexes that writes maintain. */
#include "engine/index/index_set.h"

#include "engine/index/indexer.h"

#include "base/bytes.h"
#include "engine/engine_state.h"
#include "engine/index/index.h"
#include "engine/index/index_fill.h"
#include "engine/key.h"

enum {
    ARENA_MAX = 1 << 20,
    FILL_BATCH = 32768,
    COST_NS = 10000, /* assumed cost of a document, before any measurement */
    WANTED_MAX = 64, /* with more names, taking all members is cheaper */
};

void rn_indexer_init(struct rn_engine *e)
{
    struct rn_indexer *x = &e->indexer;

    x->fill_batch = FILL_BATCH;
    x->cost_ns[false] = x->cost_ns[true] = COST_NS;
    rn_json_init(&x->json, NULL);
    pthread_mutex_init(&x->lock, NULL);
    rn_index_filling_reset(&x->filling);
}

void rn_index_set_free(struct rn_index_set *s)
{
    if (s)
        rn_arena_release(&s->arena);
    rn_free(s);
}

void rn_indexer_release(struct rn_engine *e)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *s, *next;

    for (s = x->sets; s; s = next) {
        next = s->next;
        rn_index_set_free(s);
    }
    rn_index_set_free(x->fresh);
    rn_tree_release(&x->by_number);
    rn_json_release(&x->json);
    rn_index_filling_release(&x->filling);
    pthread_mutex_destroy(&x->lock);
}

static struct rn_view number_key(uint32_t number, char out[4])
{
    rn_put_u32_be(out, number);
    return rn_view_of(out, 4);
}

struct rn_index_set *rn_indexer_find(struct rn_engine *e, uint32_t number)
{
    struct rn_indexer *x = &e->indexer;
    const struct rn_tree_entry *entry;
    struct rn_index_set *s = NULL;
    char bytes[4];

    if (!x->sets)
        return NULL;
    entry = rn_tree_find(&x->by_number, number_key(number, bytes));
    if (entry)
        memcpy(&s, entry->value.at, sizeof(struct rn_index_set *));
    return s;
}

static void want(struct rn_index_set *s, struct rn_view *names,
                 struct rn_view name)
{
    uint32_t count = s->wanted.count;

    for (uint32_t i = 0; i < count; i++) {
        if (rn_view_eq(names[i], name))
            return;
    }
    s->wants_all =
        s->wants_all || count == WANTED_MAX || !rn_json_may_be_wanted(name);
    if (!s->wants_all)
        names[s->wanted.count++] = name;
}

static enum rn_code find_wanted(struct rn_index_set *s)
{
    struct rn_view *names =
        rn_arena_alloc(&s->arena, WANTED_MAX * sizeof(*names));

    if (!names)
        return RN_NOMEM;
    s->wanted.names = names;
    for (uint32_t i = 0; i < s->indexes.count; i++) {
        const struct rn_index *x = &s->indexes.list[i];

        for (uint32_t k = 0; k < x->count; k++)
            want(s, names, x->keys[k].path.names[0]);
    }
    return RN_OK;
}

enum rn_code rn_index_set_parse(const struct rn_index_set *s, struct rn_json *j,
                                struct rn_view json)
{
    enum rn_code rc = s->wants_all
                          ? rn_json_parse(j, json, NULL)
                          : rn_json_parse_some(j, json, &s->wanted, NULL);

    return rc == RN_BAD_REQUEST ? RN_CORRUPT : rc; /* it was valid once */
}

/* Reads a set from the catalog's rows; NULL in `out` if there are none. */
enum rn_code rn_index_set_read(struct rn_txn *txn, uint32_t number,
                               struct rn_index_set **out)
{
    struct rn_index_set *s = rn_new(sizeof(*s));
    enum rn_code rc;

    *out = NULL;
    if (!s)
        return RN_NOMEM;
    s->number = number;
    s->arena = RN_ARENA_INIT(ARENA_MAX);
    rc = rn_indexes_read(txn, number, &s->arena, &s->indexes);
    if (!rc)
        rc = find_wanted(s);
    if (rc)
        rn_index_set_free(s);
    else
        *out = s;
    return rc;
}

static void make_due(struct rn_engine *e, struct rn_index_set *s)
{
    s->due = 0;
    rn_background_set(e, RN_BACKGROUND_INDEX, 0);
}

void rn_indexer_forget(struct rn_engine *e, uint32_t number)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *s = rn_indexer_find(e, number), **at = &x->sets;
    char bytes[4];

    if (!s)
        return;
    if (x->filling.container == number)
        rn_index_filling_reset(&x->filling);
    if (rn_tree_del(&x->by_number, number_key(number, bytes))) {
        s->indexes.count = 0; /* no memory: an empty set stays */
        s->due = RN_NEVER;
        return;
    }
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    rn_index_set_free(s);
}

/* Cannot fail if there was a set: a durable index must be maintained. */
static void replace_set(struct rn_engine *e, struct rn_index_set *old,
                        struct rn_index_set *s)
{
    struct rn_index_filling *f = &e->indexer.filling;
    struct rn_index_set was = *old;

    if (f->container == s->number)
        rn_index_filling_reset(f);
    *old = *s;
    old->next = was.next;
    *s = was;
    rn_index_set_free(s);
    make_due(e, old);
}

enum rn_code rn_indexer_place(struct rn_engine *e, struct rn_index_set *s)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *old = rn_indexer_find(e, s->number);
    enum rn_code rc;
    char bytes[4];

    if (!s->indexes.count) {
        rn_indexer_forget(e, s->number);
        rn_index_set_free(s);
        return RN_OK;
    }
    if (old) {
        replace_set(e, old, s);
        return RN_OK;
    }
    rc = rn_tree_put(
        &x->by_number, number_key(s->number, bytes),
        rn_view_of((const void *)&s, sizeof(struct rn_index_set *)));
    if (rc) {
        rn_index_set_free(s);
        return rc;
    }
    s->next = x->sets;
    x->sets = s;
    make_due(e, s);
    return RN_OK;
}

void rn_indexer_learn(struct rn_engine *e, const struct rn_object *o)
{
    struct rn_index_set *s = rn_indexer_find(e, o->number);

    if (!s)
        return;
    s->is_checked = false;
    e->indexer.has_learnt = true;
    make_due(e, s);
}

/* The next container with indexes, at or after `number`. */
static enum rn_code next_container(struct rn_txn *txn, uint32_t *number)
{
    struct rn_key from, before, found;
    size_t count;
    enum rn_code rc;

    rn_index_row_key(*number, 0, &from);
    rn_index_row_key(UINT32_MAX, UINT8_MAX, &before);
    rc = rn_key_collect(txn, &from, &before, &found, 1, &count);
    if (rc || !count)
        return rc ? rc : RN_NOT_FOUND;
    if (found.len != RN_KEY_HEAD + 5)
        return RN_CORRUPT;
    *number = rn_get_u32_be(found.bytes + RN_KEY_HEAD);
    return RN_OK;
}

enum rn_code rn_indexer_load(struct rn_engine *e, struct rn_err *err)
{
    struct rn_txn *txn = NULL;
    uint32_t number = 0;
    enum rn_code rc =
        rn_txn_begin(e->store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, err);

    for (; !rc; number++) {
        struct rn_index_set *s = NULL;

        rc = next_container(txn, &number);
        if (!rc)
            rc = rn_index_set_read(txn, number, &s);
        if (!rc)
            rc = rn_indexer_place(e, s);
    }
    if (rc && rc != RN_NOT_FOUND && txn)
        rn_fail(err, rc, "reading the indexes: %s", rn_txn_why(txn, rc));
    rn_txn_abort(txn);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}
