/* conformance_order.c -- keys come in byte order, and scans keep to bounds. */
#include "store/conformance.h"

#include <stdlib.h>
#include <string.h>

#define KEY(s) RN_LIT(s)
/* clang-format off */
#define ROW(s) { (s), sizeof(s) - 1 } /* the same as a constant */
/* clang-format on */

/* In order.  Every neighbour differs from the one before in a way that some
 * comparison gets wrong: signed bytes, strings that end at a zero, lengths
 * compared first, a prefix after what it begins. */
static const struct rn_view keys[] = {
    ROW("\0"),     ROW("\0\0"),     ROW("\0\x01"),     ROW("\0\xff"),
    ROW("\x01"),   ROW("\x01\0\0"), ROW("a"),          ROW("a\0"),
    ROW("a\0\0"),  ROW("a\0b"),     ROW("aa"),         ROW("aaa"),
    ROW("ab"),     ROW("a\xff"),    ROW("b"),          ROW("\x7f"),
    ROW("\x80"),   ROW("\xfe"),     ROW("\xfe\xff"),   ROW("\xff"),
    ROW("\xff\0"), ROW("\xff\xff"), ROW("\xff\xff\0"), ROW("\xff\xff\xff"),
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* Bounds that are no keys: between, before and after them. */
static const struct rn_view between[] = {
    ROW(""),
    ROW("\0\0\0"),
    ROW("a\0a"),
    ROW("a\x80"),
    ROW("az"),
    ROW("\x7f\0"),
    ROW("\x80\0"),
    ROW("\xfe\x80"),
    ROW("ac\0"),
    ROW("\xff\x01"),
    ROW("\xff\xff\xff\xff"),
};
enum { BETWEEN = sizeof(between) / sizeof(between[0]) };

/* Each key's value is the key. */
static void put_all(struct rn_txn *t)
{
    for (size_t i = 0; i < KEYS; i++) {
        size_t at = i * 7 % KEYS; /* 7 and 24 share no factor */
        must_put(t, keys[at], keys[at]);
    }
}

static bool is_inside(struct rn_view key, const struct rn_key_interval *range)
{
    return rn_view_compare(key, range->from) >= 0 &&
           (range->before.len == 0 || rn_view_compare(key, range->before) < 0);
}

static void assert_scan(struct rn_txn *t, struct rn_key_interval range)
{
    struct rn_cursor *c = must_scan(t, range);
    struct rn_view key, value;

    for (size_t i = 0; i < KEYS; i++) {
        struct rn_view wanted = keys[range.backward ? KEYS - 1 - i : i];
        if (!is_inside(wanted, &range))
            continue;
        assert_code(rn_cursor_next(c, &key, &value), RN_OK);
        assert_view(key, wanted);
        assert_view(value, wanted);
    }
    assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
    assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
    rn_cursor_end(c);
}

static void assert_both_ways(struct rn_txn *t, struct rn_view from,
                             struct rn_view before)
{
    assert_scan(t, (struct rn_key_interval){ from, before, false });
    assert_scan(t, (struct rn_key_interval){ from, before, true });
}

static struct rn_view bound(size_t i)
{
    return i < KEYS ? keys[i] : between[i - KEYS];
}

static void assert_every_range(struct rn_txn *t)
{
    for (size_t i = 0; i < KEYS + BETWEEN; i++) {
        for (size_t j = 0; j < KEYS + BETWEEN; j++)
            assert_both_ways(t, bound(i), bound(j));
    }
}

static void the_keys_of_this_test_are_in_order(void **state)
{
    (void)state;
    for (size_t i = 1; i < KEYS; i++)
        assert_true(rn_view_compare(keys[i - 1], keys[i]) < 0);
}

static void every_range_holds_from_and_not_before(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    (void)state;
    put_all(t);
    assert_every_range(t); /* while the writes are its own ... */
    must_commit(t);
    t = must_begin(s, RN_TXN_READ); /* ... and when they are everybody's */
    assert_every_range(t);
    for (size_t i = 0; i < KEYS; i++)
        assert_value(t, keys[i], keys[i]);
    for (size_t i = 1; i < BETWEEN; i++)
        assert_absent(t, between[i]);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void an_empty_store_has_no_first_and_no_last_key(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_READ);
    struct rn_view key, value;

    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        struct rn_key_interval all = { .backward = backward };
        struct rn_cursor *c = must_scan(t, all);

        assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
        assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
        rn_cursor_end(c);
    }
    assert_absent(t, KEY("a"));
    rn_txn_abort(t);
    rn_store_close(s);
}

static struct rn_view heap_copy(struct rn_view v)
{
    char *at = malloc(v.len);

    assert_non_null(at);
    return rn_view_of(memcpy(at, v.at, v.len), v.len);
}

static void a_cursor_keeps_its_own_copy_of_the_bounds(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    struct rn_view key, value;

    (void)state;
    put_all(t);
    for (int backward = 0; backward < 2; backward++) {
        struct rn_key_interval r = { heap_copy(KEY("a\0")),
                                     heap_copy(KEY("aa")), backward };
        struct rn_cursor *c = must_scan(t, r);

        free((char *)r.from.at);
        free((char *)r.before.at);
        for (int i = 0; i < 3; i++)
            assert_code(rn_cursor_next(c, &key, &value), RN_OK);
        assert_view(key, backward ? KEY("a\0") : KEY("a\0b"));
        assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
        rn_cursor_end(c);
    }
    must_commit(t);
    rn_store_close(s);
}

static void cursors_of_one_transaction_move_on_their_own(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    struct rn_view key, value;

    (void)state;
    put_all(t);
    for (int round = 0; round < 2; round++) {
        struct rn_cursor *up = must_scan(t, (struct rn_key_interval){ 0 });
        struct rn_cursor *down =
            must_scan(t, (struct rn_key_interval){ .backward = true });

        for (size_t i = 0; i < KEYS; i++) {
            assert_code(rn_cursor_next(up, &key, &value), RN_OK);
            assert_view(key, keys[i]);
            assert_code(rn_cursor_next(down, &key, &value), RN_OK);
            assert_view(key, keys[KEYS - 1 - i]);
            assert_value(t, keys[i], keys[i]);
        }
        rn_cursor_end(round ? up : down); /* either may go first */
        rn_cursor_end(round ? down : up);
        if (round == 0) {
            must_commit(t);
            t = must_begin(s, RN_TXN_READ);
        }
    }
    rn_txn_abort(t);
    rn_store_close(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_keys_of_this_test_are_in_order),
    cmocka_unit_test(every_range_holds_from_and_not_before),
    cmocka_unit_test(an_empty_store_has_no_first_and_no_last_key),
    cmocka_unit_test(a_cursor_keeps_its_own_copy_of_the_bounds),
    cmocka_unit_test(cursors_of_one_transaction_move_on_their_own),
};

CHAPTER(chapter_order, tests);
