/* indexer.c -- see indexer.h: indexes come, are filled, are used, and go. */
#include "engine/indexer.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "engine/own.h"
#include "query/policy.h"

#include <stdlib.h>

#define NEVER INT64_MAX

enum {
    ARENA_MAX = 1 << 20,
    SLICE_KEYS = 256,
    RETRY_S = 60, /* after a slice that failed */
    DAY_S = 86400,
    QUIET_NS = 20000000, /* after a write, before it counts as the last */
};

/* ---- sets ---------------------------------------------------------------- */

void rn_indexer_init(struct rn_engine *e)
{
    struct rn_indexer *x = &e->indexer;

    x->due = NEVER;
    rn_json_init(&x->json, NULL);
    pthread_mutex_init(&x->lock, NULL);
    rn_index_filling_reset(&x->filling);
}

static void set_free(struct rn_index_set *s)
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
        set_free(s);
    }
    set_free(x->fresh);
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

/* As the rows say; NULL in `out` if there are none. */
static enum rn_code set_read(struct rn_txn *txn, uint32_t number,
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
    if (rc)
        set_free(s);
    else
        *out = s;
    return rc;
}

static void set_due(struct rn_indexer *x, struct rn_index_set *s, int64_t due)
{
    s->due = due;
    if (due < x->due)
        x->due = due;
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
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    (void)!rn_tree_del(&x->by_number, number_key(number, bytes));
    set_free(s);
}

/* Takes a set over, in the place of what there was. */
static enum rn_code set_place(struct rn_engine *e, struct rn_index_set *s)
{
    struct rn_indexer *x = &e->indexer;
    enum rn_code rc;
    char bytes[4];

    rn_indexer_forget(e, s->number);
    if (!s->indexes.count) {
        set_free(s);
        return RN_OK;
    }
    rc = rn_tree_put(
        &x->by_number, number_key(s->number, bytes),
        rn_view_of((const void *)&s, sizeof(struct rn_index_set *)));
    if (rc) {
        set_free(s);
        return rc;
    }
    s->next = x->sets;
    x->sets = s;
    set_due(x, s, 0);
    return RN_OK;
}

void rn_indexer_learn(struct rn_engine *e, const struct rn_object *o)
{
    struct rn_index_set *s = rn_indexer_find(e, o->number);

    if (!s)
        return;
    s->is_checked = false;
    e->indexer.has_learnt = true;
    set_due(&e->indexer, s, 0);
}

/* The next container that has indexes, at or behind `number`. */
static enum rn_code next_container(struct rn_txn *txn, uint32_t *number)
{
    struct rn_key from, before;
    struct rn_range range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_index_row_key(*number, 0, &from);
    rn_index_row_key(UINT32_MAX, UINT8_MAX, &before);
    range = (struct rn_range){ .from = rn_key_view(&from),
                               .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &c);
    if (!rc)
        rc = rn_cursor_next(c, &key, &value);
    if (!rc && key.len != RN_KEY_HEAD + 5)
        rc = RN_CORRUPT;
    if (!rc)
        *number = rn_get_u32_be(key.at + RN_KEY_HEAD);
    rn_cursor_end(c);
    return rc;
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
            rc = set_read(txn, number, &s);
        if (!rc)
            rc = set_place(e, s);
    }
    if (rc && rc != RN_NOT_FOUND && txn)
        rn_fail(err, rc, "reading the indexes: %s", rn_txn_why(txn, rc));
    rn_txn_abort(txn);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* ---- changes ------------------------------------------------------------- */

static enum rn_code check_container(struct rn_index_change *c,
                                    struct rn_txn *txn, struct rn_err *err)
{
    struct rn_view bytes;
    struct rn_key key;
    enum rn_code rc;

    rn_key_object(RN_KIND_CONTAINER, c->container->rid, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    return rc == RN_NOT_FOUND
               ? rn_fail(err, rc, "the container has been deleted")
               : rc;
}

static struct rn_index *find_index(const struct rn_index_change *c,
                                   const struct rn_indexes *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->list[i].state != RN_INDEX_DROPPING &&
            rn_index_is(&all->list[i], c->keys, c->count))
            return &all->list[i];
    }
    return NULL;
}

static uint8_t free_number(const struct rn_indexes *all)
{
    uint8_t n = 0;

    while (n < all->count && all->list[n].number == n) /* they are in order */
        n++;
    return n;
}

static enum rn_code make(struct rn_index_change *c, struct rn_txn *txn,
                         const struct rn_indexes *all, struct rn_err *err)
{
    struct rn_index x = { .number = free_number(all),
                          .state = RN_INDEX_BUILDING,
                          .container = c->container->rid,
                          .used = rn_engine_now(c->engine),
                          .count = c->count };
    enum rn_code rc;

    if (all->count == RN_INDEXES_MAX)
        return rn_fail(err, RN_BAD_REQUEST,
                       "a container has at most %d indexes", RN_INDEXES_MAX);
    memcpy(x.keys, c->keys, c->count * sizeof(*c->keys));
    rc = rn_index_put(txn, c->container->number, &x);
    if (rc == RN_TOO_LARGE)
        rc = rn_fail(err, RN_BAD_REQUEST, "the paths are too long");
    return rc;
}

static enum rn_code run_change(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_index_change *c =
        RN_QUEUED(op, struct rn_index_change, operation);
    uint32_t number = c->container->number;
    struct rn_index *found;
    enum rn_code rc = check_container(c, txn, &op->err);

    set_free(c->set); /* of a run that was undone */
    c->set = NULL;
    if (!rc)
        rc = set_read(txn, number, &c->set);
    if (rc)
        return rc;
    found = find_index(c, &c->set->indexes);
    c->is_there = !found == c->is_drop;
    if (c->is_there)
        return RN_OK;
    if (c->is_drop) {
        found->state = RN_INDEX_DROPPING;
        rc = rn_index_put(txn, number, found);
    } else {
        rc = make(c, txn, &c->set->indexes, &op->err);
    }
    set_free(c->set);
    return rc ? (c->set = NULL, rc) : set_read(txn, number, &c->set);
}

static void change_done(struct rn_operation *op, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_index_change *c =
        RN_QUEUED(op, struct rn_index_change, operation);

    if (!rc && !c->is_there) {
        rc = set_place(c->engine, c->set);
        c->set = NULL;
    }
    set_free(c->set);
    c->set = NULL;
    c->done.call(&c->done, rc, err);
}

enum rn_code rn_index_change_start(struct rn_engine *e,
                                   struct rn_index_change *c,
                                   struct rn_err *err)
{
    enum rn_code rc;

    if (!c->count || c->count > RN_INDEX_KEYS_MAX || c->keys[0].is_descending) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "an index has 1 to %d paths, of which the first "
                       "ascends",
                       RN_INDEX_KEYS_MAX);
    }
    c->engine = e;
    c->set = NULL;
    c->is_there = false;
    c->operation = (struct rn_operation){
        .run = run_change,
        .done = change_done,
        .bytes = RN_INDEX_ROW_MAX,
    };
    rc = rn_committer_queue(e->committer, &c->operation);
    return rc ? rn_fail(err, rc, "too many writes are under way") : RN_OK;
}

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

/* Drops what the policy does not have. */
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

static enum rn_code take_rows(struct rn_index_work *w, const struct rn_index *x,
                              struct rn_key *keys, size_t *count)
{
    struct rn_key from, before;
    struct rn_range range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_key_index(w->number, x->number, &from);
    before = from;
    before.bytes[before.len - 1]++;
    range = (struct rn_range){ .from = rn_key_view(&from),
                               .before = rn_key_view(&before) };
    rc = rn_txn_scan(w->txn, &range, &c);
    for (*count = 0; !rc && *count < SLICE_KEYS; ++*count) {
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        memcpy(keys[*count].bytes, key.at, key.len);
        keys[*count].len = key.len;
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code drop_some(struct rn_index_work *w, struct rn_index *x)
{
    struct rn_key *keys = rn_new(SLICE_KEYS * sizeof(*keys)), row;
    size_t count = 0;
    enum rn_code rc = keys ? take_rows(w, x, keys, &count) : RN_NOMEM;

    for (size_t i = 0; !rc && i < count; i++)
        rc = rn_txn_del(w->txn, rn_key_view(&keys[i]));
    rn_free(keys);
    if (rc || count == SLICE_KEYS)
        return rc;
    rn_index_row_key(w->number, x->number, &row);
    rc = rn_txn_del(w->txn, rn_key_view(&row));
    set_free(w->set);
    w->set = NULL;
    if (!rc)
        rc = set_read(w->txn, w->number, &w->set);
    w->engine->indexer.fresh = w->set;
    return rc;
}

/* ---- use ----------------------------------------------------------------- */

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

/* Once a day: has it been used? */
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

static enum rn_code look_at_uses(struct rn_index_work *w, int64_t *then)
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

/* ---- what is due --------------------------------------------------------- */

static struct rn_index *find_state(const struct rn_index_set *s,
                                   enum rn_index_state state)
{
    for (uint32_t i = 0; i < s->indexes.count; i++) {
        if (s->indexes.list[i].state == state)
            return &s->indexes.list[i];
    }
    return NULL;
}

/* One thing that is to be done; `then` is when to look for the next. */
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
    *then = NEVER;
    return look_at_uses(w, then);
}

static enum rn_code run_slice(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_engine *e = RN_QUEUED(op, struct rn_engine, indexer.slice);
    struct rn_indexer *x = &e->indexer;
    struct rn_index_work w = { .engine = e, .txn = txn, .number = x->working };
    struct rn_object *o = NULL;
    enum rn_code rc;

    set_free(x->fresh); /* of a run that was undone */
    x->fresh = NULL;
    x->then = 0;
    rn_index_filling_cut(&x->filling);
    x->has_learnt = false;
    rc = set_read(txn, w.number, &w.set);
    if (!rc && w.set->indexes.count)
        o = rn_catalog_find_rid(e, w.set->indexes.list[0].container);
    x->is_gone = !rc && !o;
    if (o)
        rc = work_on(&w, o, &x->then);
    rn_object_release(o);
    if (x->fresh != w.set || rc) {
        set_free(w.set);
        x->fresh = NULL;
    }
    return rc;
}

/* Who has been used since is noted anew. */
static void clear_uses(struct rn_engine *e, const struct rn_index_set *was,
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

static void slice_done(struct rn_operation *op, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_engine *e = RN_QUEUED(op, struct rn_engine, indexer.slice);
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *s = rn_indexer_find(e, x->working), *fresh = x->fresh;

    (void)err;
    x->is_queued = false;
    x->fresh = NULL;
    x->due = 0; /* look at all of them */
    if (rc || !s) {
        set_free(fresh);
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
        clear_uses(e, s, fresh);
        if (set_place(e, fresh))
            return;
        s = rn_indexer_find(e, x->working);
    }
    if (s) {
        s->is_checked = !x->has_learnt;
        s->due = x->has_learnt ? 0 : x->then;
    }
}

/* A container whose time has come, and when the next one's does. */
static struct rn_index_set *find_due(struct rn_indexer *x, int64_t now)
{
    int64_t first = NEVER;

    for (struct rn_index_set *s = x->sets; s; s = s->next) {
        if (s->due <= now)
            return s;
        if (s->due < first)
            first = s->due;
    }
    x->due = first;
    return NULL;
}

int64_t rn_indexer_pause_ns(struct rn_engine *e)
{
    struct rn_indexer *x = &e->indexer;
    int64_t now = rn_mono_ns(e->env), left;
    struct rn_committer_status status;

    if (x->turns != x->turns_asked)
        x->wrote_ns = now;
    x->turns_asked = x->turns;
    left = x->wrote_ns + QUIET_NS - now;
    if (left <= 0 || x->turns == 0)
        return 0;
    rn_committer_status(e->committer, &status);
    return status.in_flight ? 0 : left;
}

struct rn_operation *rn_indexer_take_due(struct rn_engine *e, int64_t *wait_ns)
{
    struct rn_indexer *x = &e->indexer;
    struct rn_index_set *s = NULL;
    int64_t now, wait_s;

    *wait_ns = RN_TASK_IDLE;
    if (!x->sets || x->due == NEVER || x->is_queued ||
        !atomic_load(&x->is_ready))
        return NULL;
    now = rn_engine_now(e);
    if (x->due <= now)
        s = find_due(x, now);
    if (!s) {
        wait_s = x->due - now;
        if (x->due != NEVER)
            *wait_ns = (wait_s > DAY_S ? DAY_S : wait_s) * 1000000000;
        return NULL;
    }
    *wait_ns = rn_indexer_pause_ns(e);
    if (*wait_ns)
        return NULL;
    x->is_queued = true;
    x->working = s->number;
    x->slice = (struct rn_operation){
        .run = run_slice,
        .done = slice_done,
        .flags = RN_OPERATION_BACKGROUND |
                 (find_state(s, RN_INDEX_BUILDING) ? 0 : RN_OPERATION_FREES),
        .bytes = 64 << 10,
    };
    return &x->slice;
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
