/* conformance_limits.c -- the largest that is allowed works, one more
 * is refused.
 *
 * Also time: how long a reader may read and a writer wait, and what is left
 * when a store is opened again.
 */
#include "store/conformance.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define A RN_LIT("a")
#define ONE RN_LIT("one")

/* Bytes that repeat at no page or cache boundary. */
static struct rn_view pattern(size_t len, unsigned seed)
{
    static char bytes[RN_VALUE_MAX + 1];

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 31 + i / 251 + seed);
    return rn_view_of(bytes, len);
}

static void values_of_every_size_up_to_the_limit(void **state)
{
    static const size_t sizes[] = { 0,       1,           255,   256,   2000,
                                    2047,    2048,        4079,  4080,  4095,
                                    4096,    4097,        65535, 65536, 1000000,
                                    2 << 20, RN_VALUE_MAX };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned char key = (unsigned char)i;
        must_put(t, rn_view_of(&key, 1), pattern(sizes[i], i));
    }
    must_commit(t);
    t = must_begin(s, RN_TXN_READ);
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned char key = (unsigned char)i;
        assert_value(t, rn_view_of(&key, 1), pattern(sizes[i], i));
    }
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_value_past_the_limit_is_refused_and_no_more(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    (void)state;
    must_put(t, A, ONE);
    assert_code(rn_txn_put(t, A, pattern(RN_VALUE_MAX + 1, 0)), RN_TOO_LARGE);
    assert_value(t, A, ONE);
    must_put(t, RN_LIT("b"), ONE);
    must_commit(t);
    t = must_begin(s, RN_TXN_READ);
    assert_value(t, A, ONE);
    assert_value(t, RN_LIT("b"), ONE);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void keys_of_every_length_up_to_the_limit(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    char bytes[RN_KEY_MAX + 1];
    struct rn_view key, value;
    struct rn_cursor *c;

    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    for (size_t len = RN_KEY_MAX; len > 0; len--)
        must_put(t, rn_view_of(bytes, len), rn_view_of(bytes, len % 7));
    must_commit(t);
    t = must_begin(s, RN_TXN_READ);
    c = must_scan(t, (struct rn_key_interval){ 0 });
    for (size_t len = 1; len <= RN_KEY_MAX; len++) {
        assert_value(t, rn_view_of(bytes, len), rn_view_of(bytes, len % 7));
        assert_code(rn_cursor_next(c, &key, &value), RN_OK);
        assert_view(key, rn_view_of(bytes, len));
    }
    assert_code(rn_cursor_next(c, &key, &value), RN_NOT_FOUND);
    rn_cursor_end(c);
    rn_txn_abort(t);
    rn_store_close(s);
}

/* A reader goes on after key k by scanning from k and a zero byte. */
static void a_scan_can_start_just_after_the_longest_key(void **state)
{
    struct rn_store *s = suite_open(NULL);
    char bytes[RN_BOUND_MAX] = { 0 };
    struct rn_view longest = { bytes, RN_KEY_MAX }, key, value;
    struct rn_view after = { bytes, RN_BOUND_MAX };
    struct rn_cursor *c;
    struct rn_txn *t;

    (void)state;
    memset(bytes, 'k', RN_KEY_MAX);
    must_store(s, longest, ONE);
    must_store(s, RN_LIT("l"), ONE);
    t = must_begin(s, RN_TXN_READ);
    c = must_scan(t, (struct rn_key_interval){ .from = after });
    assert_code(rn_cursor_next(c, &key, &value), RN_OK);
    assert_view(key, RN_LIT("l"));
    rn_cursor_end(c);
    c = must_scan(
        t, (struct rn_key_interval){ .before = after, .backward = true });
    assert_code(rn_cursor_next(c, &key, &value), RN_OK);
    assert_view(key, longest);
    rn_cursor_end(c);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_transaction_may_write_so_much_and_no_more(void **state)
{
    enum { VALUE = 1 << 20, EACH = VALUE + 1 + 16 };
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    size_t left = RN_TXN_REDO_MAX;
    char key = 0;

    (void)state;
    for (; left >= EACH; left -= EACH, key++)
        must_put(t, rn_view_of(&key, 1), pattern(VALUE, (unsigned)key));
    assert_int_equal(t->redo_bytes, RN_TXN_REDO_MAX - left);
    assert_code(rn_txn_put(t, A, pattern(left - 16, 0)), RN_TOO_LARGE);
    must_put(t, A, pattern(left - 17, 0)); /* exactly */
    assert_int_equal(t->redo_bytes, RN_TXN_REDO_MAX);
    assert_code(rn_txn_put(t, A, RN_LIT("")), RN_TOO_LARGE);
    assert_code(rn_txn_del(t, A), RN_TOO_LARGE);
    must_commit(t);

    t = must_begin(s, RN_TXN_READ);
    assert_value(t, A, pattern(left - 17, 0));
    while (key-- > 0)
        assert_value(t, rn_view_of(&key, 1), pattern(VALUE, (unsigned)key));
    rn_txn_abort(t);
    rn_store_close(s);
}

/* ---- readers ------------------------------------------------------------- */

static void one_reader_too_many_is_busy(void **state)
{
    enum { MAX = 5 };
    struct rn_store_opts opts = { .readers_max = MAX };
    struct rn_store *s = suite_open(&opts);
    struct rn_txn *readers[MAX], *t = NULL;
    struct rn_store_status status;
    struct rn_err err = { 0 };

    (void)state;
    for (int i = 0; i < MAX; i++)
        readers[i] = must_begin(s, RN_TXN_READ);
    for (int i = 0; i < 2; i++) {
        assert_code(
            rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err),
            RN_BUSY);
        assert_null(t);
        assert_int_not_equal(err.text[0], 0);
    }
    rn_store_status(s, &status);
    assert_int_equal(status.readers, MAX);
    must_store(s, A, ONE); /* a writer is no reader */
    rn_txn_abort(readers[2]);
    readers[2] = must_begin(s, RN_TXN_READ);
    assert_value(readers[2], A, ONE);
    for (int i = 0; i < MAX; i++)
        rn_txn_abort(readers[i]);
    rn_store_status(s, &status);
    assert_int_equal(status.readers, 0);
    rn_store_close(s);
}

static void a_reader_that_grows_old_is_timed_out(void **state)
{
    struct rn_store_opts opts = { .reader_ms_max = 60000 };
    struct rn_store *s = suite_open(&opts);
    struct rn_store_status status;
    struct rn_view key, value;
    struct rn_cursor *c, *none = NULL;
    struct rn_txn *old, *young, *writer;

    (void)state;
    must_store(s, A, ONE);
    old = must_begin(s, RN_TXN_READ);
    c = must_scan(old, (struct rn_key_interval){ 0 });
    test_clock_push_ms(&suite_clock, 40000);
    assert_value(old, A, ONE);
    young = must_begin(s, RN_TXN_READ);
    writer = must_begin(s, RN_TXN_WRITE);
    test_clock_push_ms(&suite_clock, 40000);
    rn_store_status(s, &status);
    assert_true(status.oldest_reader_ms >= 80000);

    assert_code(rn_txn_get(old, A, &value), RN_TIMEOUT);
    assert_code(rn_cursor_next(c, &key, &value), RN_TIMEOUT);
    assert_code(rn_txn_scan(old, &(struct rn_key_interval){ 0 }, &none),
                RN_TIMEOUT);
    assert_null(none);
    assert_int_not_equal(rn_txn_why(old, RN_TIMEOUT)[0], 0);
    rn_cursor_end(c);
    rn_txn_abort(old);

    assert_value(young, A, ONE);
    rn_txn_abort(young);
    test_clock_push_ms(&suite_clock, 40000);
    assert_value(writer, A, ONE); /* others wait for it: that is its limit */
    must_put(writer, A, ONE);
    must_commit(writer);
    rn_store_close(s);
}

/* ---- writers ------------------------------------------------------------- */

struct second_writer {
    struct rn_store *store;
    enum rn_code rc;
    int64_t waited_ns;
    atomic_bool is_here;
};

static void *begin_second(void *context)
{
    struct second_writer *w = context;
    int64_t start = rn_mono_ns(rn_env_real());
    struct rn_txn *t = NULL;

    atomic_store(&w->is_here, true);
    w->rc =
        rn_txn_begin(w->store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &t, NULL);
    w->waited_ns = rn_mono_ns(rn_env_real()) - start;
    rn_txn_abort(t);
    return NULL;
}

static void a_writer_waits_its_time_and_then_gets_busy(void **state)
{
    struct rn_store_opts opts = { .busy_ms = 30 };
    struct rn_store *s = suite_open(&opts);
    struct second_writer second = { .store = s };
    struct rn_txn *first = must_begin(s, RN_TXN_WRITE);
    pthread_t thread;

    (void)state;
    must_put(first, A, ONE);
    assert_int_equal(pthread_create(&thread, NULL, begin_second, &second), 0);
    pthread_join(thread, NULL);
    assert_code(second.rc, RN_BUSY);
    assert_true(second.waited_ns >= 29 * INT64_C(1000000));
    must_commit(first);
    assert_int_equal(pthread_create(&thread, NULL, begin_second, &second), 0);
    pthread_join(thread, NULL);
    assert_code(second.rc, RN_OK);
    rn_store_close(s);
}

static void a_waiting_writer_goes_on_when_the_first_ends(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct second_writer second = { .store = s, .rc = RN_BUSY };
    struct rn_txn *first = must_begin(s, RN_TXN_WRITE);
    pthread_t thread;

    (void)state;
    must_put(first, A, ONE);
    assert_int_equal(pthread_create(&thread, NULL, begin_second, &second), 0);
    while (!atomic_load(&second.is_here))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield(); /* most likely it waits by now; it need not */
    must_commit(first);
    pthread_join(thread, NULL);
    assert_code(second.rc, RN_OK);
    assert_true(second.waited_ns < 9000 * INT64_C(1000000));
    rn_store_close(s);
}

/* ---- the store ----------------------------------------------------------- */

static void commits_are_counted(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_store_status before, after;

    (void)state;
    rn_store_status(s, &before);
    must_store(s, A, ONE);
    rn_txn_abort(must_begin(s, RN_TXN_WRITE));
    must_store(s, A, ONE);
    rn_store_status(s, &after);
    assert_int_equal(after.commits - before.commits, 2);
    assert_false(after.read_only);
    assert_false(after.full);
    rn_store_close(s);
}

static void a_reopened_store_holds_what_was_committed(void **state)
{
    struct rn_store *s = suite_open(NULL);
    struct rn_txn *t;

    (void)state;
    for (unsigned char i = 0; i < 50; i++)
        must_store(s, rn_view_of(&i, 1), pattern((size_t)i * 300, i));
    t = must_begin(s, RN_TXN_WRITE);
    must_del(t, RN_LIT("\x07"));
    must_commit(t);
    t = must_begin(s, RN_TXN_WRITE);
    must_put(t, A, ONE);
    rn_txn_abort(t);

    for (int round = 0; round < 3; round++) {
        rn_store_close(s);
        s = suite_reopen(NULL);
        t = must_begin(s, RN_TXN_READ);
        for (unsigned char i = 0; i < 50; i++) {
            if (i == 7 || !suite_persists())
                assert_absent(t, rn_view_of(&i, 1));
            else
                assert_value(t, rn_view_of(&i, 1), pattern((size_t)i * 300, i));
        }
        assert_absent(t, A);
        rn_txn_abort(t);
        must_store(s, RN_LIT("zzz"), pattern(100, (unsigned)round));
    }
    rn_store_close(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_of_every_size_up_to_the_limit),
    cmocka_unit_test(a_value_past_the_limit_is_refused_and_no_more),
    cmocka_unit_test(keys_of_every_length_up_to_the_limit),
    cmocka_unit_test(a_scan_can_start_just_after_the_longest_key),
    cmocka_unit_test(a_transaction_may_write_so_much_and_no_more),
    cmocka_unit_test(one_reader_too_many_is_busy),
    cmocka_unit_test(a_reader_that_grows_old_is_timed_out),
    cmocka_unit_test(a_writer_waits_its_time_and_then_gets_busy),
    cmocka_unit_test(a_waiting_writer_goes_on_when_the_first_ends),
    cmocka_unit_test(commits_are_counted),
    cmocka_unit_test(a_reopened_store_holds_what_was_committed),
};

CHAPTER(chapter_limits, tests);
