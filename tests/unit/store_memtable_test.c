/* store_memtable_test.c -- a table of recent writes, at every state it has had.
 *
 * Goal: a read at group n finds what a plain model had after group n,
 * whatever was written since, taken back, or is just being written.
 *
 * Method: groups drawn from a seed, over few keys, go into a table and into
 * models, one of which is kept for each group; some groups are taken back. Then
 * every group is looked at by key and by ranges both ways.  Many rows that come
 * in several orders are each looked for.  And readers in threads of their own
 * look while one writes.
 */
#include "store/memtable/memtable.h"

#include "base/bytes.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>

enum {
    KEYS = 60,
    GROUPS = 150,
    KEY_BYTES = 16,
    READERS = 3,
    ROUNDS = 400,
    FULL_BYTES = 32 << 20,
    ROWS = 8000,
    ROW_BYTES_MAX = 5000,
    LONG_KEY = 40,
    MANY = 9973, /* prime: any step leads through all of them */
    MANY_STEP = 6151,
    GROUP_ROWS = 7,
};

enum said { NOTHING, GONE, PUT };

/* What the table says of each key as of a group. */
struct model {
    enum said said[KEYS];
    uint32_t value[KEYS];
};

static struct model models[GROUPS + 1];

/* Some are the beginning of others; half of them begin alike, as the keys of a
 * feed do. */
static struct rn_view key_of(unsigned i, char out[KEY_BYTES])
{
    const char *start = i < KEYS / 2 ? "container" : "k";
    int len = snprintf(out, KEY_BYTES, "%s%02u", start, i / 3);

    memset(out + len, 'x', i % 3);
    return rn_view_of(out, (size_t)len + i % 3);
}

static struct rn_view value_of(const uint32_t *value)
{
    return rn_view_of((const char *)value, sizeof(*value));
}

static void write_one(struct rn_memtable *r, struct rn_prng *prng, uint64_t seq,
                      struct model *m)
{
    static unsigned last;
    unsigned i = (unsigned)rn_prng_below(prng, KEYS);
    uint32_t value = (uint32_t)rn_prng_below(prng, UINT32_MAX);
    char key[KEY_BYTES];

    if (rn_prng_percent(prng, 50)) /* a run of rising keys */
        i = (last + 1) % KEYS;
    last = i;
    if (rn_prng_percent(prng, 30)) {
        assert_int_equal(rn_memtable_delete(r, seq, key_of(i, key)), RN_OK);
        m->said[i] = GONE;
        return;
    }
    assert_int_equal(rn_memtable_put(r, seq, key_of(i, key), value_of(&value)),
                     RN_OK);
    m->said[i] = PUT;
    m->value[i] = value;
}

static void expect_entry(const struct rn_memtable_entry *e,
                         const struct model *m, unsigned i)
{
    char key[KEY_BYTES];

    assert_non_null(e);
    assert_true(rn_view_eq(e->key, key_of(i, key)));
    assert_int_equal(e->gone, m->said[i] == GONE);
    if (!e->gone)
        assert_true(rn_view_eq(e->value, value_of(&m->value[i])));
}

/* Keys `from` to `to`, without it. */
static void expect_range(const struct rn_memtable *r, uint64_t seq,
                         const struct model *m, unsigned from, unsigned to)
{
    const struct rn_memtable_entry *e = NULL;
    char first[KEY_BYTES], end[KEY_BYTES];
    struct rn_key_interval range = { .from = key_of(from, first),
                                     .before = key_of(to, end) };

    if (to == KEYS)
        range.before = (struct rn_view){ 0 };
    for (unsigned i = from; i < to; i++) {
        if (m->said[i])
            expect_entry(e = rn_memtable_next(r, seq, &range, e), m, i);
    }
    assert_null(rn_memtable_next(r, seq, &range, e));
    range.backward = true;
    e = NULL;
    for (unsigned i = to; i-- > from;) {
        if (m->said[i])
            expect_entry(e = rn_memtable_next(r, seq, &range, e), m, i);
    }
    assert_null(rn_memtable_next(r, seq, &range, e));
}

static void expect_state(const struct rn_memtable *r, uint64_t seq,
                         const struct model *m)
{
    char key[KEY_BYTES];

    for (unsigned i = 0; i < KEYS; i++) {
        const struct rn_memtable_entry *e =
            rn_memtable_find(r, seq, key_of(i, key));
        if (m->said[i])
            expect_entry(e, m, i);
        else
            assert_null(e);
    }
    expect_range(r, seq, m, 0, KEYS);
    for (unsigned i = 0; i < KEYS; i += 7)
        expect_range(r, seq, m, i / 2, i);
}

static void each_group_stays_as_it_was(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        /* One that is full at once, too. */
        struct rn_memtable *r = rn_memtable_new(seed % 2 ? FULL_BYTES : 0);
        struct rn_prng prng;

        assert_non_null(r);
        rn_prng_init(&prng, seed);
        memset(models, 0, sizeof(models));
        for (uint64_t seq = 1; seq <= GROUPS; seq++) {
            struct model *m = &models[seq];
            bool stays = rn_prng_percent(&prng, 80);

            *m = models[seq - 1];
            for (int i = (int)rn_prng_below(&prng, 8); i >= 0; i--)
                write_one(r, &prng, seq, m);
            rn_memtable_end(r, stays);
            if (!stays)
                *m = models[seq - 1];
        }
        for (uint64_t seq = 0; seq <= GROUPS; seq++)
            expect_state(r, seq, &models[seq]);
        rn_memtable_drop(r);
    }
}

static void a_large_value_has_a_place_of_its_own(void **state)
{
    static char bytes[3 << 20];
    struct rn_memtable *r = rn_memtable_new(FULL_BYTES);
    char key[KEY_BYTES];

    (void)state;
    assert_non_null(r);
    memset(bytes, 'v', sizeof(bytes));
    for (unsigned i = 0; i < KEYS; i++) {
        size_t len = (size_t)i * 50000 % sizeof(bytes);
        assert_int_equal(
            rn_memtable_put(r, 1, key_of(i, key), rn_view_of(bytes, len)),
            RN_OK);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        const struct rn_memtable_entry *e =
            rn_memtable_find(r, 1, key_of(i, key));
        size_t len = (size_t)i * 50000 % sizeof(bytes);
        assert_non_null(e);
        assert_true(rn_view_eq(e->value, rn_view_of(bytes, len)));
    }
    rn_memtable_end(r, true);
    rn_memtable_drop(r);
}

/* The i-th row: keys in no order, values of all sizes and each of its own byte.
 */
static void row_of(uint32_t i, char key[4], struct rn_view *value)
{
    static char bytes[ROW_BYTES_MAX];

    rn_put_u32_be(key, i * 2654435761u);
    memset(bytes, (int)(i % 251), sizeof(bytes));
    *value = rn_view_of(bytes, (size_t)i * 7919 % ROW_BYTES_MAX);
}

static void fill(struct rn_memtable *r, uint32_t first, uint32_t end)
{
    struct rn_view value;
    char key[4];

    for (uint32_t i = first; i < end; i++) {
        row_of(i, key, &value);
        assert_int_equal(rn_memtable_put(r, 1, rn_view_of(key, 4), value),
                         RN_OK);
    }
    rn_memtable_end(r, true);
}

/* These rows, in order, and no others. */
static void expect_rows(const struct rn_memtable *r, uint32_t first,
                        uint32_t end)
{
    const struct rn_memtable_entry *e = NULL, *last;
    const struct rn_key_interval all = { 0 };
    struct rn_view value;
    unsigned rows = 0;
    char key[4];

    for (uint32_t i = first; i < end; i++) {
        row_of(i, key, &value);
        e = rn_memtable_find(r, 1, rn_view_of(key, 4));
        assert_non_null(e);
        assert_true(rn_view_eq(e->value, value));
    }
    for (uint32_t i = end; i < end + ROWS; i++) {
        row_of(i, key, &value);
        assert_null(rn_memtable_find(r, 1, rn_view_of(key, 4)));
    }
    for (last = NULL; (e = rn_memtable_next(r, 1, &all, last));
         last = e, rows++)
        assert_true(!last || rn_view_compare(last->key, e->key) < 0);
    assert_int_equal(rows, end - first);
}

static void rows_keep_apart_in_a_table_of_many_blocks(void **state)
{
    struct rn_memtable *r = rn_memtable_new(FULL_BYTES);

    (void)state;
    assert_non_null(r);
    fill(r, 0, ROWS);
    assert_true(rn_memtable_bytes(r) > FULL_BYTES / 2);
    expect_rows(r, 0, ROWS);
    rn_memtable_drop(r);
}

static void a_recycled_table_is_empty_and_can_be_filled(void **state)
{
    static const uint32_t ends[] = { ROWS, ROWS / 8, 3, ROWS / 2, ROWS };
    struct rn_memtable *r = rn_memtable_new(FULL_BYTES);

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        assert_non_null(r);
        assert_int_equal(rn_memtable_bytes(r), 0);
        expect_rows(r, 0, 0);
        fill(r, ends[i] / 3, ends[i]);
        expect_rows(r, ends[i] / 3, ends[i]);
        r = rn_memtable_recycle(r);
        if (i % 2)
            rn_memtable_trim(r);
    }
    rn_memtable_drop(r);
}

static void a_table_that_somebody_has_is_not_recycled(void **state)
{
    struct rn_memtable *r = rn_memtable_new(FULL_BYTES);

    (void)state;
    assert_non_null(r);
    fill(r, 0, ROWS);
    assert_null(rn_memtable_recycle(rn_memtable_keep(r)));
    expect_rows(r, 0, ROWS);
    rn_memtable_drop(r);
    assert_null(rn_memtable_recycle(NULL));
}

/* Each time two blocks of 2 MB are made ready, and used up. */
static void a_table_says_when_it_is_short_of_memory(void **state)
{
    struct rn_memtable *r = rn_memtable_new(FULL_BYTES);
    unsigned stocked = 0;

    (void)state;
    assert_non_null(r);
    for (uint32_t i = 0; i < ROWS; i += ROWS / 200) {
        if (i == 0)
            assert_false(rn_memtable_is_short(r));
        fill(r, i, i + ROWS / 200);
        if (rn_memtable_is_short(r)) {
            rn_memtable_stock(r);
            assert_false(rn_memtable_is_short(r));
            stocked++;
        }
    }
    assert_in_range(stocked, rn_memtable_bytes(r) / (5 << 20),
                    rn_memtable_bytes(r) / (3 << 20) + 2);
    expect_rows(r, 0, ROWS);
    rn_memtable_trim(r);
    expect_rows(r, 0, ROWS);
    rn_memtable_drop(r);
}

/* The n-th of many keys, whose order is that of their numbers. */
static struct rn_view many_key(const char *head, unsigned n, char out[LONG_KEY])
{
    return rn_view_of(out, (size_t)snprintf(out, LONG_KEY, "%s%08u", head, n));
}

/* Is the row found where it is looked for, with what comes before it? */
static bool is_in_place(const struct rn_memtable *r, uint64_t seq,
                        struct rn_view key, struct rn_view before)
{
    struct rn_key_interval from = { .from = key };
    struct rn_key_interval back = { .before = key, .backward = true };
    const struct rn_memtable_entry *e = rn_memtable_next(r, seq, &from, NULL);
    const struct rn_memtable_entry *last =
        rn_memtable_next(r, seq, &back, NULL);

    if (!e || !rn_view_eq(e->key, key))
        return false;
    return before.len ? last && rn_view_eq(last->key, before) : !last;
}

static void each_row_is_in_its_place_in_whatever_order_they_came(void **state)
{
    static const char *const heads[] = { "", "container",
                                         "container/partition" };
    static const unsigned steps[] = { 1, MANY - 1, MANY_STEP };
    char key[LONG_KEY], before[LONG_KEY];

    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct rn_memtable *r = rn_memtable_new(FULL_BYTES);
        const char *head = heads[i / 3];

        assert_non_null(r);
        /* Twice: then there is one of each key already. */
        for (unsigned n = 0, at = 0; n < 2 * MANY; n++) {
            assert_int_equal(rn_memtable_put(r, 1 + n / MANY,
                                             many_key(head, at, key),
                                             RN_LIT("value")),
                             RN_OK);
            at = (at + steps[i % 3]) % MANY;
            if (n % MANY == MANY - 1)
                rn_memtable_end(r, true);
        }
        for (unsigned n = 0; n < MANY; n++)
            assert_true(is_in_place(r, 1 + n % 2, many_key(head, n, key),
                                    n ? many_key(head, n - 1, before)
                                      : (struct rn_view){ 0 }));
        rn_memtable_drop(r);
    }
}

/* ---- beside a writer ----------------------------------------------------- */

struct shared {
    struct rn_memtable *table;
    uint64_t visible; /* atomic */
    bool done;        /* atomic */
    uint64_t wrong;   /* atomic */
};

/* Each group puts its number under every key: a read at that group finds
 * the same everywhere. */
static void *read_on(void *context)
{
    struct shared *s = context;

    while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE)) {
        uint64_t seq = __atomic_load_n(&s->visible, __ATOMIC_ACQUIRE);
        const struct rn_key_interval ranges[] = { { .backward = false },
                                                  { .backward = true } };
        for (int i = 0; seq && i < 2; i++) {
            const struct rn_memtable_entry *e = NULL;
            unsigned rows = 0;
            while ((e = rn_memtable_next(s->table, seq, &ranges[i], e))) {
                uint64_t number;
                memcpy(&number, e->value.at, sizeof(number));
                rows++;
                if (number != seq)
                    __atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
            }
            if (rows != KEYS)
                __atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void *stock_on(void *context)
{
    struct shared *s = context;

    while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE)) {
        if (rn_memtable_is_short(s->table))
            rn_memtable_stock(s->table);
    }
    return NULL;
}

static void a_table_is_stocked_while_it_is_written_to(void **state)
{
    struct shared s = { .table = rn_memtable_new(FULL_BYTES) };
    pthread_t thread;

    (void)state;
    assert_non_null(s.table);
    assert_int_equal(pthread_create(&thread, NULL, stock_on, &s), 0);
    fill(s.table, 0, ROWS);
    __atomic_store_n(&s.done, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_rows(s.table, 0, ROWS);
    rn_memtable_drop(s.table);
}

static void begin_reading(struct shared *s, pthread_t threads[READERS],
                          void *(*how)(void *))
{
    assert_non_null(s->table);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, how, s), 0);
}

static void end_reading(struct shared *s, pthread_t threads[READERS])
{
    __atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(s->wrong, 0);
    rn_memtable_drop(s->table);
}

static void readers_see_whole_groups(void **state)
{
    struct shared s = { .table = rn_memtable_new(0) };
    pthread_t threads[READERS];

    (void)state;
    begin_reading(&s, threads, read_on);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        bool stays = round % 3 > 0;
        char key[KEY_BYTES];
        uint64_t seq = s.visible + 1;

        for (unsigned i = 0; i < KEYS; i++)
            assert_int_equal(
                rn_memtable_put(s.table, seq, key_of(i * 7 % KEYS, key),
                                rn_view_of((char *)&seq, sizeof(seq))),
                RN_OK);
        rn_memtable_end(s.table, stays);
        if (stays)
            __atomic_store_n(&s.visible, seq, __ATOMIC_RELEASE);
    }
    end_reading(&s, threads);
}

static unsigned mixed(unsigned n)
{
    return (unsigned)((uint64_t)n * MANY_STEP % MANY);
}

/* Each row of a group that can be seen is where it is looked for, from either
 * side, while others come between. */
static void *look_on(void *context)
{
    struct shared *s = context;
    struct rn_prng prng;

    rn_prng_init(&prng, 1);
    while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE)) {
        uint64_t seq = __atomic_load_n(&s->visible, __ATOMIC_ACQUIRE);
        const struct rn_memtable_entry *e;
        char key[LONG_KEY];
        struct rn_key_interval range = { 0 };
        unsigned n;
        if (!seq)
            continue;
        n = mixed((unsigned)rn_prng_below(&prng, seq * GROUP_ROWS));
        range.from = many_key("", n, key);
        e = rn_memtable_next(s->table, seq, &range, NULL);
        if (!e || !rn_view_eq(e->key, range.from))
            __atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
        range = (struct rn_key_interval){ .before = many_key("", n + 1, key),
                                          .backward = true };
        e = rn_memtable_next(s->table, seq, &range, NULL);
        if (!e || !rn_view_eq(e->key, many_key("", n, key)))
            __atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void readers_find_rows_while_others_come_between(void **state)
{
    struct shared s = { .table = rn_memtable_new(FULL_BYTES) };
    pthread_t threads[READERS];

    (void)state;
    begin_reading(&s, threads, look_on);
    for (unsigned n = 0; n < MANY; n++) {
        uint64_t seq = n / GROUP_ROWS + 1;
        char key[LONG_KEY];

        assert_int_equal(rn_memtable_put(s.table, seq,
                                         many_key("", mixed(n), key),
                                         RN_LIT("value")),
                         RN_OK);
        if (n % GROUP_ROWS < GROUP_ROWS - 1)
            continue;
        rn_memtable_end(s.table, true);
        __atomic_store_n(&s.visible, seq, __ATOMIC_RELEASE);
    }
    end_reading(&s, threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_stays_as_it_was),
        cmocka_unit_test(a_large_value_has_a_place_of_its_own),
        cmocka_unit_test(rows_keep_apart_in_a_table_of_many_blocks),
        cmocka_unit_test(a_recycled_table_is_empty_and_can_be_filled),
        cmocka_unit_test(a_table_that_somebody_has_is_not_recycled),
        cmocka_unit_test(a_table_says_when_it_is_short_of_memory),
        cmocka_unit_test(each_row_is_in_its_place_in_whatever_order_they_came),
        cmocka_unit_test(a_table_is_stocked_while_it_is_written_to),
        cmocka_unit_test(readers_see_whole_groups),
        cmocka_unit_test(readers_find_rows_while_others_come_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
