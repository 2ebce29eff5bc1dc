/* conformance_concurrent.c -- threads see whole transactions or none.
 *
 * Writers move amounts between counters, so that the counters always add up to
 * what a further key says, and count each move there.  Readers add up, by gets
 * and by scans, while they do.  A torn or lost transaction, a snapshot that
 * moves, or one that goes back, breaks the sum or the order of totals.
 */
#include "store/conformance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    COUNTERS = 8,
    WRITERS = 3,
    READERS = 3,
    MOVES = 300, /* by each writer, at least, and until ... */
    LOOKS = 200, /* by all readers, so that they meet */
};

struct shared {
    struct rn_store *store;
    atomic_int writing;    /* writers that have not finished */
    atomic_int violations; /* of what the comment above says */
    atomic_int faults;     /* calls that failed, RN_BUSY aside */
    atomic_int looks;      /* by readers */
    atomic_int moves;      /* committed */
};

static struct rn_view counter_key(char out[1], int i)
{
    out[0] = (char)('a' + i);
    return rn_view_of(out, 1);
}

#define TOTAL RN_LIT("total") /* after every counter but not in their range */

static uint64_t number_in(struct rn_view v)
{
    uint64_t n = 0;

    if (v.len == sizeof(n))
        memcpy(&n, v.at, sizeof(n));
    return n;
}

static enum rn_code add(struct rn_txn *t, struct rn_view key, uint64_t amount)
{
    struct rn_view v;
    enum rn_code rc = rn_txn_get(t, key, &v);
    uint64_t n;

    if (rc && rc != RN_NOT_FOUND)
        return rc;
    n = (rc ? 0 : number_in(v)) + amount;
    return rn_txn_put(t, key, rn_view_of(&n, sizeof(n)));
}

/* Adds 3 to one counter and takes 2 from another, so the sum grows by 1. */
static enum rn_code move(struct rn_store *s, int from, int to, bool give_up)
{
    struct rn_txn *t = NULL;
    char key[1];
    enum rn_code rc;

    rc = rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &t, NULL);
    if (rc)
        return rc;
    rc = add(t, counter_key(key, to), 3);
    if (!rc)
        rc = add(t, counter_key(key, from), (uint64_t)-2);
    if (!rc)
        rc = add(t, TOTAL, 1);
    if (rc || give_up) {
        rn_txn_abort(t);
        return rc;
    }
    return rn_txn_commit(t, NULL);
}

/* Sometimes gives up instead, which must not be seen. */
static void *write_moves(void *context)
{
    struct shared *shared = context;
    unsigned dice = 1 + (unsigned)atomic_load(&shared->writing);
    int done = 0;

    while (done < MOVES || atomic_load(&shared->looks) < LOOKS) {
        int from, to;
        bool give_up;
        enum rn_code rc;

        dice = dice * 1103515245u + 12345u;
        from = (int)(dice >> 16) % COUNTERS;
        to = (from + 1 + (int)(dice >> 20) % (COUNTERS - 1)) % COUNTERS;
        give_up = dice >> 24 < 32;
        rc = move(shared->store, from, to, give_up);
        if (rc && rc != RN_BUSY) {
            atomic_fetch_add(&shared->faults, 1);
            break;
        }
        done += !rc && !give_up;
    }
    atomic_fetch_add(&shared->moves, done);
    atomic_fetch_sub(&shared->writing, 1);
    return NULL;
}

static enum rn_code sum_by_scan(struct rn_txn *t, uint64_t *sum)
{
    struct rn_key_interval range = { .before = TOTAL };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc = rn_txn_scan(t, &range, &c);

    *sum = 0;
    while (!rc && !(rc = rn_cursor_next(c, &key, &value)))
        *sum += number_in(value);
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code sum_by_gets(struct rn_txn *t, uint64_t *sum)
{
    *sum = 0;
    for (int i = 0; i < COUNTERS; i++) {
        struct rn_view value;
        char key[1];
        enum rn_code rc = rn_txn_get(t, counter_key(key, i), &value);

        if (!rc)
            *sum += number_in(value);
        else if (rc != RN_NOT_FOUND)
            return rc;
    }
    return RN_OK;
}

/* Adds up twice in one snapshot; `*total` is what it should come to. */
static enum rn_code look(struct rn_store *s, uint64_t *total, bool *is_right)
{
    struct rn_txn *t = NULL;
    uint64_t scanned = 0, got = 0;
    struct rn_view value;
    enum rn_code rc;

    rc = rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL);
    if (rc)
        return rc;
    rc = sum_by_scan(t, &scanned);
    if (!rc)
        rc = sum_by_gets(t, &got);
    if (!rc)
        rc = rn_txn_get(t, TOTAL, &value);
    if (!rc)
        *total = number_in(value);
    else if (rc == RN_NOT_FOUND)
        rc = RN_OK;
    *is_right = scanned == *total && got == *total;
    rn_txn_abort(t);
    return rc;
}

static void *read_sums(void *context)
{
    struct shared *shared = context;
    uint64_t last = 0, total = 0;

    while (atomic_load(&shared->writing) > 0) {
        bool is_right = true;
        enum rn_code rc = look(shared->store, &total, &is_right);

        if (rc && rc != RN_BUSY)
            atomic_fetch_add(&shared->faults, 1);
        if (!rc && (!is_right || total < last))
            atomic_fetch_add(&shared->violations, 1);
        last = total;
        atomic_fetch_add(&shared->looks, 1); /* a failed one too: go on */
    }
    return NULL;
}

static void sums_hold_while_writers_and_readers_run(void **state)
{
    struct shared shared = { .store = suite_open(NULL) };
    pthread_t threads[WRITERS + READERS];
    uint64_t total = 0;
    bool is_right = false;

    (void)state;
    atomic_store(&shared.writing, WRITERS);
    for (int i = 0; i < WRITERS + READERS; i++) {
        void *(*run)(void *) = i < WRITERS ? write_moves : read_sums;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &shared), 0);
    }
    for (int i = 0; i < WRITERS + READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&shared.faults), 0);
    assert_int_equal(atomic_load(&shared.violations), 0);
    assert_code(look(shared.store, &total, &is_right), RN_OK);
    assert_true(is_right);
    assert_int_equal(total, atomic_load(&shared.moves));
    rn_store_close(shared.store);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_hold_while_writers_and_readers_run),
};

CHAPTER(chapter_concurrent, tests);
