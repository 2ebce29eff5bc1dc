/* conformance_model.c -- under random operations a store is a sorted array.
 *
 * A model, which is a plain sorted array, is given the same operations as the
 * store, and every answer is compared.  Transactions end in commit or abort;
 * readers begun now and then are compared, later, with the model as it was when
 * they began.  The same with overlays, up to three upon one another, each with
 * a model of its own.  The seed is fixed, so that a failure repeats.
 */
#include "store/conformance.h"
#include "store/overlay.h"

#include "base/prng.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPERATIONS = 50000,
    TXN_MAX = 100, /* operations in a transaction */
    KEY_BYTES = 8, /* of the longest key */
    ENTRIES_MAX = 20000,
    LEVELS = 4, /* the transaction and its overlays */
    READERS = 4,
};

/* A value is known by its length and the number it is made of. */
struct entry {
    char key[KEY_BYTES];
    uint8_t key_len;
    uint16_t value_len;
    uint32_t value;
};

struct model {
    struct entry *entries;
    size_t count;
};

static struct rn_view key_of(const struct entry *e)
{
    return rn_view_of(e->key, e->key_len);
}

static struct rn_view value_of(const struct entry *e)
{
    static char bytes[UINT16_MAX];
    struct rn_prng noise;

    rn_prng_init(&noise, e->value);
    rn_prng_fill(&noise, bytes, e->value_len);
    return rn_view_of(bytes, e->value_len);
}

/* ---- the model ----------------------------------------------------------- */

static struct model model_new(void)
{
    struct model m = { calloc(ENTRIES_MAX, sizeof(struct entry)), 0 };

    assert_non_null(m.entries);
    return m;
}

static void model_assign(struct model *to, const struct model *from)
{
    memcpy(to->entries, from->entries, from->count * sizeof(struct entry));
    to->count = from->count;
}

/* Where `key` is, or would be. */
static size_t model_place(const struct model *m, struct rn_view key)
{
    size_t low = 0, high = m->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rn_view_compare(key_of(&m->entries[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct entry *model_find(const struct model *m, struct rn_view key)
{
    size_t at = model_place(m, key);

    if (at == m->count || !rn_view_eq(key_of(&m->entries[at]), key))
        return NULL;
    return &m->entries[at];
}

static void model_put(struct model *m, const struct entry *e)
{
    size_t at = model_place(m, key_of(e));

    if (!model_find(m, key_of(e))) {
        assert_true(m->count < ENTRIES_MAX);
        memmove(&m->entries[at + 1], &m->entries[at],
                (m->count - at) * sizeof(struct entry));
        m->count++;
    }
    m->entries[at] = *e;
}

static void model_del(struct model *m, struct rn_view key)
{
    size_t at = model_place(m, key);

    m->count--;
    memmove(&m->entries[at], &m->entries[at + 1],
            (m->count - at) * sizeof(struct entry));
}

/* ---- comparing ----------------------------------------------------------- */

static void assert_same_range(struct rn_txn *t, const struct model *m,
                              struct rn_key_interval range, size_t limit)
{
    size_t low = model_place(m, range.from), high = m->count;
    struct rn_cursor *c = must_scan(t, range);
    struct rn_view key, value;
    enum rn_code rc = RN_OK;

    if (range.before.len)
        high = model_place(m, range.before);
    while (limit-- > 0 && (rc = rn_cursor_next(c, &key, &value)) == RN_OK) {
        const struct entry *wanted;

        assert_true(low < high);
        wanted = &m->entries[range.backward ? --high : low++];
        assert_view(key, key_of(wanted));
        assert_view(value, value_of(wanted));
    }
    assert_true(rc == RN_OK || rc == RN_NOT_FOUND);
    if (rc == RN_NOT_FOUND)
        assert_true(low >= high);
    rn_cursor_end(c);
}

static void assert_same(struct rn_txn *t, const struct model *m)
{
    struct rn_key_interval all = { 0 };

    assert_same_range(t, m, all, SIZE_MAX);
    all.backward = true;
    assert_same_range(t, m, all, SIZE_MAX);
}

/* ---- the run ------------------------------------------------------------- */

struct run {
    struct rn_store *store;
    struct rn_prng dice;
    unsigned levels; /* how many may lie upon one another */
    struct rn_txn *txn[LEVELS];
    struct model model[LEVELS + 1]; /* 0: committed; n: with txn[n - 1] */
    unsigned depth;                 /* begun */
    struct rn_txn *reader[READERS];
    struct model read[READERS];
};

static uint64_t below(struct run *run, uint64_t n)
{
    return rn_prng_below(&run->dice, n);
}

/* Few bytes to choose from, so that keys meet and are prefixes of others. */
static void random_key(struct run *run, struct entry *e)
{
    static const char alphabet[] = { '\0',   '\x01', 'a',    'b',
                                     '\x7f', '\x80', '\xfe', '\xff' };

    e->key_len = (uint8_t)(1 + below(run, KEY_BYTES));
    if (below(run, 3))
        e->key_len = (uint8_t)(1 + e->key_len % 5);
    for (size_t i = 0; i < e->key_len; i++)
        e->key[i] = alphabet[below(run, sizeof(alphabet))];
}

/* Often one that is there. */
static void likely_key(struct run *run, struct entry *e)
{
    const struct model *m = &run->model[run->depth];

    if (m->count && below(run, 4))
        *e = m->entries[below(run, m->count)];
    else
        random_key(run, e);
}

static void random_put(struct run *run, struct rn_txn *t, struct model *m)
{
    struct entry e = { 0 };

    if (below(run, 3))
        random_key(run, &e);
    else
        likely_key(run, &e);
    e.value = (uint32_t)rn_prng_next(&run->dice);
    e.value_len = (uint16_t)below(run, 120);
    if (below(run, 100) == 0)
        e.value_len = (uint16_t)below(run, 20000);
    must_put(t, key_of(&e), value_of(&e));
    model_put(m, &e);
}

static void random_del(struct run *run, struct rn_txn *t, struct model *m)
{
    struct entry e = { 0 };

    likely_key(run, &e);
    if (model_find(m, key_of(&e))) {
        must_del(t, key_of(&e));
        model_del(m, key_of(&e));
    } else {
        assert_code(rn_txn_del(t, key_of(&e)), RN_NOT_FOUND);
    }
}

static void random_get(struct run *run, struct rn_txn *t, const struct model *m)
{
    const struct entry *wanted;
    struct entry e = { 0 };

    likely_key(run, &e);
    wanted = model_find(m, key_of(&e));
    if (wanted)
        assert_value(t, key_of(&e), value_of(wanted));
    else
        assert_absent(t, key_of(&e));
}

static void random_scan(struct run *run, struct rn_txn *t,
                        const struct model *m)
{
    struct entry from = { 0 }, before = { 0 };
    struct rn_key_interval range = { .backward = below(run, 2) };

    if (below(run, 8)) {
        likely_key(run, &from);
        range.from = key_of(&from);
    }
    if (below(run, 8)) {
        likely_key(run, &before);
        range.before = key_of(&before);
    }
    assert_same_range(t, m, range, 1 + below(run, 200));
}

static void random_operation(struct run *run)
{
    struct rn_txn *t = run->txn[run->depth - 1];
    struct model *m = &run->model[run->depth];
    uint64_t choice = below(run, 100);

    if (choice < 45)
        random_put(run, t, m);
    else if (choice < 72)
        random_del(run, t, m);
    else if (choice < 92)
        random_get(run, t, m);
    else
        random_scan(run, t, m);
}

static void begin_level(struct run *run)
{
    unsigned d = run->depth++;

    if (d == 0)
        run->txn[0] = must_begin(run->store, RN_TXN_WRITE);
    else
        assert_code(rn_overlay_begin(run->txn[d - 1], &run->txn[d]), RN_OK);
    model_assign(&run->model[d + 1], &run->model[d]);
}

static void end_level(struct run *run)
{
    unsigned d = run->depth--;

    if (below(run, 20) == 0)
        assert_same(run->txn[d - 1], &run->model[d]);
    if (below(run, 4) == 0) {
        rn_txn_abort(run->txn[d - 1]);
        return;
    }
    must_commit(run->txn[d - 1]);
    model_assign(&run->model[d - 1], &run->model[d]);
}

/* Looks at what an old reader sees, ends it, and begins another. */
static void change_reader(struct run *run, unsigned which)
{
    if (run->reader[which]) {
        assert_same(run->reader[which], &run->read[which]);
        rn_txn_abort(run->reader[which]);
    }
    run->reader[which] = must_begin(run->store, RN_TXN_READ);
    model_assign(&run->read[which], &run->model[0]);
}

static void random_step(struct run *run)
{
    uint64_t choice = below(run, TXN_MAX);

    if (run->depth == 0) {
        if (below(run, 20) == 0)
            change_reader(run, (unsigned)below(run, READERS));
        begin_level(run);
    } else if (choice == 0 || (choice < 5 && run->depth > 1)) {
        end_level(run);
    } else if (choice < 10 && run->depth < run->levels) {
        begin_level(run);
    } else {
        random_operation(run);
    }
}

static void run_init(struct run *run, unsigned levels, uint64_t seed)
{
    struct rn_store_opts opts = { .reader_ms_max = 3600000 };

    *run = (struct run){ .levels = levels, .store = suite_open(&opts) };
    rn_prng_init(&run->dice, seed);
    for (size_t i = 0; i <= LEVELS; i++)
        run->model[i] = model_new();
    for (size_t i = 0; i < READERS; i++)
        run->read[i] = model_new();
}

static void run_release(struct run *run)
{
    for (size_t i = 0; i <= LEVELS; i++)
        free(run->model[i].entries);
    for (size_t i = 0; i < READERS; i++) {
        rn_txn_abort(run->reader[i]);
        free(run->read[i].entries);
    }
    rn_store_close(run->store);
}

static void run_random(unsigned levels, uint64_t seed)
{
    static struct run run;
    struct rn_txn *t;

    run_init(&run, levels, seed);
    for (unsigned i = 0; i < OPERATIONS; i++)
        random_step(&run);
    while (run.depth > 0)
        end_level(&run);
    for (unsigned i = 0; i < READERS; i++)
        change_reader(&run, i);
    t = must_begin(run.store, RN_TXN_READ);
    assert_same(t, &run.model[0]);
    assert_true(run.model[0].count > 500); /* or it has proven little */
    rn_txn_abort(t);
    run_release(&run);
}

static void random_operations_agree_with_a_sorted_array(void **state)
{
    (void)state;
    run_random(1, 20260101);
}

static void overlays_agree_with_sorted_arrays_upon_one_another(void **state)
{
    (void)state;
    run_random(LEVELS, 20260102);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_operations_agree_with_a_sorted_array),
    cmocka_unit_test(overlays_agree_with_sorted_arrays_upon_one_another),
};

CHAPTER(chapter_model, tests);
