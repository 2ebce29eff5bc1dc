/* conformance_txn.c -- what a transaction sees, leaves behind and lends. */
#include "store/conformance.h"

#include <stdio.h>
#include <string.h>

#define A RN_LIT("a")
#define B RN_LIT("b")
#define C RN_LIT("c")
#define ONE RN_LIT("one")
#define TWO RN_LIT("two")
#define NOTHING RN_LIT("")

static void a_transaction_sees_its_own_writes(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t;

    (void)state;
    must_store(s, A, ONE);
    t = must_begin(s, RN_TXN_WRITE);
    must_put(t, B, ONE);
    assert_value(t, B, ONE);
    must_put(t, B, TWO);
    assert_value(t, B, TWO);
    must_put(t, A, TWO);
    assert_value(t, A, TWO);
    must_del(t, A);
    assert_absent(t, A);
    must_put(t, A, ONE);
    assert_value(t, A, ONE);
    must_del(t, B);
    must_commit(t);

    t = must_begin(s, RN_TXN_READ);
    assert_value(t, A, ONE);
    assert_absent(t, B);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void nothing_is_seen_by_others_before_commit(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *w, *r;

    (void)state;
    must_store(s, A, ONE);
    w = must_begin(s, RN_TXN_WRITE);
    must_put(w, A, TWO);
    must_put(w, B, TWO);
    r = must_begin(s, RN_TXN_READ);
    assert_value(r, A, ONE);
    assert_absent(r, B);
    must_commit(w);
    assert_value(r, A, ONE); /* not by one begun before, either */
    assert_absent(r, B);
    rn_txn_abort(r);
    r = must_begin(s, RN_TXN_READ);
    assert_value(r, A, TWO);
    assert_value(r, B, TWO);
    rn_txn_abort(r);
    rn_store_close(s);
}

static void an_aborted_transaction_leaves_nothing(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t;

    (void)state;
    must_store(s, A, ONE);
    t = must_begin(s, RN_TXN_WRITE);
    must_put(t, A, TWO);
    must_put(t, B, TWO);
    rn_txn_abort(t);
    t = must_begin(s, RN_TXN_WRITE);
    assert_value(t, A, ONE);
    assert_absent(t, B);
    must_del(t, A);
    rn_txn_abort(t);
    t = must_begin(s, RN_TXN_READ);
    assert_value(t, A, ONE);
    assert_absent(t, B);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_transaction_without_writes_commits(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    (void)state;
    must_commit(t);
    must_store(s, A, ONE);
    must_commit(must_begin(s, RN_TXN_WRITE));
    t = must_begin(s, RN_TXN_READ);
    assert_value(t, A, ONE);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_shrinking_transaction_writes_like_another(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t;

    (void)state;
    must_store(s, A, ONE);
    t = must_begin(s, RN_TXN_SHRINK);
    must_del(t, A);
    must_put(t, B, NOTHING);
    must_commit(t);
    t = must_begin(s, RN_TXN_READ);
    assert_absent(t, A);
    assert_value(t, B, NOTHING);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void every_lock_can_be_named(void **state)
{
    static const struct rn_lock locks[] = {
        { 0, 0 }, { 1, 0 }, { 1, 1 }, { UINT64_MAX, UINT32_MAX }
    };
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t;

    (void)state;
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        struct rn_view key = rn_view_of(&"1234"[i], 1);

        assert_code(rn_txn_begin(s, RN_TXN_WRITE, locks[i], &t, NULL), RN_OK);
        must_put(t, key, ONE);
        must_commit(t);
    }
    t = must_begin(s, RN_TXN_READ);
    assert_value(t, RN_LIT("1"), ONE);
    assert_value(t, RN_LIT("4"), ONE);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void deleting_what_is_absent_is_not_found(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    uint64_t redo;

    (void)state;
    assert_code(rn_txn_del(t, A), RN_NOT_FOUND);
    must_put(t, RN_LIT("aa"), ONE);
    redo = t->redo_bytes;
    assert_code(rn_txn_del(t, A), RN_NOT_FOUND); /* a prefix is no match */
    assert_code(rn_txn_del(t, RN_LIT("aaa")), RN_NOT_FOUND);
    assert_int_equal(t->redo_bytes, redo);
    must_del(t, RN_LIT("aa"));
    assert_code(rn_txn_del(t, RN_LIT("aa")), RN_NOT_FOUND);
    must_put(t, A, ONE); /* and the transaction is none the worse */
    must_commit(t);
    t = must_begin(s, RN_TXN_WRITE);
    must_del(t, A);
    assert_code(rn_txn_del(t, A), RN_NOT_FOUND);
    must_commit(t);
    rn_store_close(s);
}

static void a_put_replaces_whatever_the_lengths(void **state)
{
    static const size_t lengths[] = { 0, 10, 3000, 0, 20000, 5, 5, 4096, 1 };
    struct rn_store *s = suite_open(NULL);
    static char bytes[20000];

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct rn_view value = { bytes, lengths[i] };
        struct rn_txn *t;

        memset(bytes, 'a' + (int)i, sizeof(bytes));
        must_store(s, A, value);
        t = must_begin(s, RN_TXN_READ);
        assert_value(t, A, value);
        rn_txn_abort(t);
    }
    rn_store_close(s);
}

/* ---- snapshots ----------------------------------------------------------- */

enum { MANY = 3000 };

static struct rn_view number_key(char out[16], unsigned n)
{
    return rn_view_of(out, (size_t)snprintf(out, 16, "key%06u", n));
}

/* Values of this generation: mostly short, some that fill pages. */
static struct rn_view number_value(char out[6000], unsigned n, unsigned age)
{
    size_t len = (size_t)snprintf(out, 32, "value %u of age %u", n, age);
    size_t padded = n % 50 == 0 ? 6000 : len;

    memset(out + len, 'p', padded - len);
    return rn_view_of(out, padded);
}

static void write_age(struct rn_store *s, unsigned age)
{
    static char key[16], value[6000];
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    for (unsigned i = 0; i < MANY; i++)
        must_put(t, number_key(key, i), number_value(value, i, age));
    must_commit(t);
}

static void delete_all(struct rn_store *s)
{
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    char key[16];

    for (unsigned i = 0; i < MANY; i++)
        must_del(t, number_key(key, i));
    must_commit(t);
}

static void assert_next_is(struct rn_cursor *c, unsigned n, unsigned age)
{
    static char key[16], value[6000];
    struct rn_view got_key, got_value;

    assert_code(rn_cursor_next(c, &got_key, &got_value), RN_OK);
    assert_view(got_key, number_key(key, n));
    assert_view(got_value, number_value(value, n, age));
}

static void a_scan_under_way_does_not_notice_commits(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_view key, value;
    struct rn_cursor *up, *down;
    struct rn_txn *r;

    (void)state;
    write_age(s, 0);
    r = must_begin(s, RN_TXN_READ);
    up = must_scan(r, (struct rn_key_interval){ 0 });
    down = must_scan(r, (struct rn_key_interval){ .backward = true });
    for (unsigned i = 0; i < MANY; i++) {
        if (i == MANY / 4)
            write_age(s, 1);
        if (i == MANY / 2)
            delete_all(s);
        if (i == MANY / 4 * 3)
            write_age(s, 2);
        assert_next_is(up, i, 0);
        assert_next_is(down, MANY - 1 - i, 0);
    }
    assert_code(rn_cursor_next(up, &key, &value), RN_NOT_FOUND);
    assert_code(rn_cursor_next(down, &key, &value), RN_NOT_FOUND);
    rn_cursor_end(up);
    rn_cursor_end(down);
    rn_txn_abort(r);
    rn_store_close(s);
}

static void readers_of_different_ages_each_see_their_own(void **state)
{
    enum { AGES = 5 };
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *readers[AGES];
    static char key[16], value[6000];

    (void)state;
    for (unsigned age = 0; age < AGES; age++) {
        write_age(s, age);
        readers[age] = must_begin(s, RN_TXN_READ);
    }
    for (unsigned i = 0; i < MANY; i += 7) {
        for (unsigned age = 0; age < AGES; age++)
            assert_value(readers[age], number_key(key, i),
                         number_value(value, i, age));
    }
    for (unsigned age = 0; age < AGES; age++)
        rn_txn_abort(readers[(age + 2) % AGES]); /* not in order of begin */
    rn_store_close(s);
}

/* ---- views --------------------------------------------------------------- */

static void what_a_reader_is_lent_lasts_until_it_ends(void **state)
{
    struct rn_store *s = suite_open(NULL);
    static struct rn_view keys[MANY], values[MANY];
    static char key[16], value[6000];
    struct rn_cursor *c;
    struct rn_txn *r;

    (void)state;
    write_age(s, 0);
    r = must_begin(s, RN_TXN_READ);
    c = must_scan(r, (struct rn_key_interval){ 0 });
    for (unsigned i = 0; i < MANY; i++)
        assert_code(rn_cursor_next(c, &keys[i], &values[i]), RN_OK);
    rn_cursor_end(c);
    assert_code(rn_txn_get(r, number_key(key, 5), &values[5]), RN_OK);
    write_age(s, 1);
    delete_all(s);
    for (unsigned i = 0; i < MANY; i++) {
        assert_view(keys[i], number_key(key, i));
        assert_view(values[i], number_value(value, i, 0));
    }
    rn_txn_abort(r);
    rn_store_close(s);
}

static void what_a_writer_is_lent_lasts_until_it_writes(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_view got[3], key, value;
    struct rn_cursor *c;
    struct rn_txn *t;

    (void)state;
    must_store(s, A, ONE);
    must_store(s, B, TWO);
    t = must_begin(s, RN_TXN_WRITE);
    must_put(t, C, RN_LIT("three"));
    assert_code(rn_txn_get(t, A, &got[0]), RN_OK);
    assert_code(rn_txn_get(t, B, &got[1]), RN_OK);
    assert_code(rn_txn_get(t, C, &got[2]), RN_OK);
    assert_absent(t, RN_LIT("d"));
    c = must_scan(t, (struct rn_key_interval){ .backward = true });
    while (rn_cursor_next(c, &key, &value) == RN_OK)
        ;
    rn_cursor_end(c);
    assert_view(got[0], ONE);
    assert_view(got[1], TWO);
    assert_view(got[2], RN_LIT("three"));
    must_commit(t);
    rn_store_close(s);
}

/* ---- scanning and writing ------------------------------------------------ */

static void a_scan_begun_after_a_write_sees_it(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    unsigned seen = 0;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        char key[16];
        must_put(t, number_key(key, i), ONE);
    }
    /* The rule for deleting what one scans: end, delete, scan from there. */
    for (;; seen++) {
        struct rn_cursor *c = must_scan(t, (struct rn_key_interval){ 0 });
        struct rn_view key, value;
        char copy[16];
        enum rn_code rc = rn_cursor_next(c, &key, &value);

        if (rc == RN_OK)
            key.at = memcpy(copy, key.at, key.len);
        rn_cursor_end(c);
        if (rc != RN_OK)
            break;
        must_del(t, key);
    }
    assert_int_equal(seen, 200);
    must_commit(t);
    rn_store_close(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_transaction_sees_its_own_writes),
    cmocka_unit_test(nothing_is_seen_by_others_before_commit),
    cmocka_unit_test(an_aborted_transaction_leaves_nothing),
    cmocka_unit_test(a_transaction_without_writes_commits),
    cmocka_unit_test(a_shrinking_transaction_writes_like_another),
    cmocka_unit_test(every_lock_can_be_named),
    cmocka_unit_test(deleting_what_is_absent_is_not_found),
    cmocka_unit_test(a_put_replaces_whatever_the_lengths),
    cmocka_unit_test(a_scan_under_way_does_not_notice_commits),
    cmocka_unit_test(readers_of_different_ages_each_see_their_own),
    cmocka_unit_test(what_a_reader_is_lent_lasts_until_it_ends),
    cmocka_unit_test(what_a_writer_is_lent_lasts_until_it_writes),
    cmocka_unit_test(a_scan_begun_after_a_write_sees_it),
};

CHAPTER(chapter_txn, tests);
