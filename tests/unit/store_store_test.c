/* store_store_test.c -- the waist checks both sides of the contract.
 *
 * A caller's mistake must stop the program, in release builds too, so each is
 * made in a child process that must die of SIGABRT.  A store's mistake is shown
 * by stores made to err: faulty.h, and a liar that scans out of order.
 */
#include "lib/faulty.h"
#include "store/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define A RN_LIT("a")
#define B RN_LIT("b")
#define ONE RN_LIT("one")

static struct rn_store *open_faulty(void)
{
    struct rn_store *mem = NULL, *s;

    assert_int_equal(
        rn_store_open("mem", &(struct rn_store_opts){ 0 }, &mem, NULL), RN_OK);
    s = faulty_new(mem);
    assert_non_null(s);
    return s;
}

static struct rn_txn *begin(struct rn_store *s, enum rn_txn_mode mode)
{
    struct rn_txn *t = NULL;

    assert_int_equal(rn_txn_begin(s, mode, (struct rn_lock){ 0 }, &t, NULL),
                     RN_OK);
    return t;
}

/* ---- mistakes of callers ------------------------------------------------- */

/* Results do not matter to a process that is about to die. */
static void ignore(enum rn_code rc)
{
    (void)rc;
}

static struct rn_txn *writing(struct rn_store *s)
{
    struct rn_txn *t = begin(s, RN_TXN_WRITE);

    ignore(rn_txn_put(t, A, ONE));
    return t;
}

static struct rn_cursor *scanning(struct rn_txn *t)
{
    struct rn_cursor *c = NULL;

    ignore(rn_txn_scan(t, &(struct rn_key_interval){ 0 }, &c));
    return c;
}

static struct rn_txn *faulted(struct rn_store *s)
{
    struct rn_txn *t = writing(s);

    faulty_fail(s, FAULTY_PUT, 1, 1, RN_IO);
    ignore(rn_txn_put(t, A, ONE));
    return t;
}

static void put_in_a_read(struct rn_store *s)
{
    ignore(rn_txn_put(begin(s, RN_TXN_READ), A, ONE));
}

static void del_in_a_read(struct rn_store *s)
{
    ignore(rn_txn_del(begin(s, RN_TXN_READ), A));
}

static void commit_a_read(struct rn_store *s)
{
    ignore(rn_txn_commit(begin(s, RN_TXN_READ), NULL));
}

static void put_an_empty_key(struct rn_store *s)
{
    ignore(rn_txn_put(writing(s), RN_LIT(""), ONE));
}

static void put_a_long_key(struct rn_store *s)
{
    static const char key[RN_KEY_MAX + 1];

    ignore(rn_txn_put(writing(s), rn_view_of(key, sizeof(key)), ONE));
}

static void get_an_empty_key(struct rn_store *s)
{
    struct rn_view v;

    ignore(rn_txn_get(writing(s), RN_LIT(""), &v));
}

static void get_a_long_key(struct rn_store *s)
{
    static const char key[RN_KEY_MAX + 1];
    struct rn_view v;

    ignore(rn_txn_get(writing(s), rn_view_of(key, sizeof(key)), &v));
}

static void scan_to_a_long_bound(struct rn_store *s)
{
    static const char key[RN_BOUND_MAX + 1];
    struct rn_key_interval range = { .before = rn_view_of(key, sizeof(key)) };
    struct rn_cursor *c;

    ignore(rn_txn_scan(writing(s), &range, &c));
}

static void put_while_scanning(struct rn_store *s)
{
    struct rn_txn *t = writing(s);

    scanning(t);
    ignore(rn_txn_put(t, B, ONE));
}

static void commit_while_scanning(struct rn_store *s)
{
    struct rn_txn *t = writing(s);

    scanning(t);
    ignore(rn_txn_commit(t, NULL));
}

static void abort_while_scanning(struct rn_store *s)
{
    struct rn_txn *t = begin(s, RN_TXN_READ);

    scanning(t);
    rn_txn_abort(t);
}

static void get_after_a_fault(struct rn_store *s)
{
    struct rn_view v;

    ignore(rn_txn_get(faulted(s), A, &v));
}

static void put_after_a_fault(struct rn_store *s)
{
    ignore(rn_txn_put(faulted(s), A, ONE));
}

static void scan_after_a_fault(struct rn_store *s)
{
    scanning(faulted(s));
}

static void put_below_an_overlay(struct rn_store *s)
{
    struct rn_txn *t = writing(s), *over;

    ignore(rn_overlay_begin(t, &over));
    ignore(rn_txn_put(t, B, ONE));
}

static void commit_below_an_overlay(struct rn_store *s)
{
    struct rn_txn *t = writing(s), *over;

    ignore(rn_overlay_begin(t, &over));
    ignore(rn_txn_commit(t, NULL));
}

static void lay_two_upon_one(struct rn_store *s)
{
    struct rn_txn *t = writing(s), *over;

    ignore(rn_overlay_begin(t, &over));
    ignore(rn_overlay_begin(t, &over));
}

static void lay_upon_a_read(struct rn_store *s)
{
    struct rn_txn *over;

    ignore(rn_overlay_begin(begin(s, RN_TXN_READ), &over));
}

static void close_during_a_transaction(struct rn_store *s)
{
    begin(s, RN_TXN_READ);
    rn_store_close(s);
}

/* Not a caller's, but a mistake as plain: an answer that no store gives. */
static void a_store_that_puts_and_says_conflict(struct rn_store *s)
{
    faulty_fail(s, FAULTY_PUT, 1, 1, RN_CONFLICT);
    writing(s);
}

static void a_store_that_commits_and_says_not_found(struct rn_store *s)
{
    faulty_fail(s, FAULTY_COMMIT, 1, 1, RN_NOT_FOUND);
    ignore(rn_txn_commit(writing(s), NULL));
}

static bool dies_of(void (*mistake)(struct rn_store *s))
{
    const struct rlimit no_core = { 0, 0 };
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        mistake(open_faulty());
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void mistakes_stop_the_program(void **state)
{
    static const struct {
        const char *name;
        void (*make)(struct rn_store *s);
    } mistakes[] = {
        { "put in a read", put_in_a_read },
        { "del in a read", del_in_a_read },
        { "commit a read", commit_a_read },
        { "put an empty key", put_an_empty_key },
        { "put a long key", put_a_long_key },
        { "get an empty key", get_an_empty_key },
        { "get a long key", get_a_long_key },
        { "scan to a long bound", scan_to_a_long_bound },
        { "put while scanning", put_while_scanning },
        { "commit while scanning", commit_while_scanning },
        { "abort while scanning", abort_while_scanning },
        { "get after a fault", get_after_a_fault },
        { "put after a fault", put_after_a_fault },
        { "scan after a fault", scan_after_a_fault },
        { "put below an overlay", put_below_an_overlay },
        { "commit below an overlay", commit_below_an_overlay },
        { "lay two upon one", lay_two_upon_one },
        { "lay upon a read", lay_upon_a_read },
        { "close during a transaction", close_during_a_transaction },
        { "put says conflict", a_store_that_puts_and_says_conflict },
        { "commit says not found", a_store_that_commits_and_says_not_found },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        if (!dies_of(mistakes[i].make))
            fail_msg("survived: %s", mistakes[i].name);
    }
}

/* ---- faults -------------------------------------------------------------- */

static void a_failed_write_makes_commit_refuse(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = writing(s);
    struct rn_err err = { 0 };
    struct rn_view v;

    (void)state;
    faulty_fail(s, FAULTY_DEL, 1, 1, RN_IO);
    assert_int_equal(rn_txn_del(t, A), RN_IO);
    assert_int_equal(rn_txn_fault(t), RN_IO);
    assert_int_equal(rn_txn_commit(t, &err), RN_IO);
    assert_int_equal(err.code, RN_IO);
    assert_string_equal(err.text, "the test wants input/output error");
    assert_int_equal(faulty_count(s, FAULTY_COMMIT), 0);
    t = begin(s, RN_TXN_READ);
    assert_int_equal(rn_txn_get(t, A, &v), RN_NOT_FOUND);
    rn_txn_abort(t);
    rn_store_close(s);
}

static void a_failed_read_leaves_the_transaction_as_it_was(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = writing(s);
    struct rn_view v;

    (void)state;
    faulty_fail(s, FAULTY_GET, 1, 1, RN_CORRUPT);
    assert_int_equal(rn_txn_get(t, A, &v), RN_CORRUPT);
    assert_int_equal(rn_txn_fault(t), RN_OK);
    assert_int_equal(rn_txn_get(t, A, &v), RN_OK);
    assert_int_equal(rn_txn_commit(t, NULL), RN_OK);
    rn_store_close(s);
}

static void why_names_the_fault_or_else_the_code(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_txn *t = writing(s);
    struct rn_view v;

    (void)state;
    assert_string_equal(rn_txn_why(t, RN_CORRUPT), "damaged data");
    faulty_fail(s, FAULTY_GET, 1, 1, RN_CORRUPT);
    assert_int_equal(rn_txn_get(t, A, &v), RN_CORRUPT);
    assert_string_equal(rn_txn_why(t, RN_CORRUPT),
                        "the test wants damaged data");
    assert_string_equal(rn_txn_why(t, RN_CONFLICT), "conflict");
    rn_txn_abort(t);
    rn_store_close(s);
}

/* ---- a store that lies --------------------------------------------------- */

static const char *const *lies; /* keys to hand out, whatever was asked */

static enum rn_code lie(struct rn_cursor *c, struct rn_view *key,
                        struct rn_view *value)
{
    (void)c;
    *key = *value = rn_view_text(*lies++);
    return RN_OK;
}

static void a_key_out_of_place_is_damage(void **state)
{
    static const struct {
        const char *flaw, *keys[2];
        bool backward;
    } cases[] = {
        { "before from", { "a" }, false },
        { "at before", { "m" }, false },
        { "after before", { "z" }, true },
        { "twice", { "c", "c" }, false },
        { "back", { "d", "c" }, false },
        { "forth while backward", { "c", "d" }, true },
        { "empty", { "" }, false },
    };
    struct rn_store_ops liar = rn_store_mem;
    struct rn_key_interval range = { .from = B, .before = RN_LIT("m") };
    struct rn_store *s = NULL;

    (void)state;
    liar.name = "liar";
    liar.next = lie;
    assert_int_equal(
        rn_store_open("mem", &(struct rn_store_opts){ 0 }, &s, NULL), RN_OK);
    s->ops = &liar;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_txn *t = begin(s, RN_TXN_READ);
        struct rn_cursor *c = NULL;
        struct rn_view key, value;

        range.backward = cases[i].backward;
        lies = cases[i].keys;
        assert_int_equal(rn_txn_scan(t, &range, &c), RN_OK);
        if (cases[i].keys[1])
            assert_int_equal(rn_cursor_next(c, &key, &value), RN_OK);
        if (rn_cursor_next(c, &key, &value) != RN_CORRUPT)
            fail_msg("passed: %s", cases[i].flaw);
        assert_int_equal(key.len, 0);
        assert_string_equal(rn_txn_why(t, RN_CORRUPT),
                            "the liar store gave a scan a key out of place");
        rn_cursor_end(c);
        rn_txn_abort(t);
    }
    rn_store_close(s);
}

/* ---- opening ------------------------------------------------------------- */

static void an_unknown_store_is_refused_by_name(void **state)
{
    struct rn_store *s = (struct rn_store *)1;
    struct rn_err err = { 0 };

    (void)state;
    assert_int_equal(
        rn_store_open("men", &(struct rn_store_opts){ 0 }, &s, &err),
        RN_BAD_REQUEST);
    assert_null(s);
    assert_non_null(strstr(err.text, "'men'"));
    assert_non_null(strstr(err.text, "mem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_stop_the_program),
        cmocka_unit_test(a_failed_write_makes_commit_refuse),
        cmocka_unit_test(a_failed_read_leaves_the_transaction_as_it_was),
        cmocka_unit_test(why_names_the_fault_or_else_the_code),
        cmocka_unit_test(a_key_out_of_place_is_damage),
        cmocka_unit_test(an_unknown_store_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
