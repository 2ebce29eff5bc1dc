/* store_defrag_test.c -- defragmentation gives pages back and changes nothing
 * else.
 *
 * Records lie as in a container: an index row d<hash> and a feed row f<place>,
 * which an update deletes at its old place and puts at the feed's end.  What
 * each row must hold follows from its record and version, so the whole content
 * can be compared with what is expected at any time, also by a process that did
 * not write it.  The maintenance thread is stepped by hand, except where it
 * must run beside writers and readers.
 */
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    RECORDS_MAX = 2000,
    GROUP = 250,
    PATH = 64,
    KEY = RN_KEY_MAX,
    STEPS_MAX = 100000,
};

/* ---- content ------------------------------------------------------------- */

struct record {
    uint64_t place; /* in the feed; 0: none */
    uint32_t version;
};

struct content {
    struct record records[RECORDS_MAX];
    uint64_t count, next_place, prng;
    uint32_t bytes; /* of a body; 0: of every size up to overflow pages */
    bool close_keys;
};

static char body[40000];

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(struct content *c)
{
    return mix(c->prng += 0x9e3779b97f4a7c15u);
}

/* With close keys, every other one is the one before it and a zero byte. */
static struct rn_view feed_key(const struct content *c, uint64_t place,
                               char out[KEY])
{
    uint64_t number = c->close_keys ? place / 2 : place;
    int len = snprintf(out, KEY, "f%015" PRIu64, number);

    return rn_view_of(out, (size_t)len + (c->close_keys && place % 2));
}

static struct rn_view index_key(uint64_t record, char out[KEY])
{
    return rn_view_of(out,
                      (size_t)snprintf(out, KEY, "d%016" PRIx64, mix(record)));
}

static struct rn_view body_of(const struct content *c, uint64_t record)
{
    static const uint32_t sizes[] = {
        0,    1,    400,  900,  1000, 1250, 1250,
        1400, 1500, 1600, 1900, 2000, 2040, 9000
    };
    uint64_t at = mix(record * 1000003 + c->records[record].version);
    uint32_t len = sizes[at % (sizeof(sizes) / sizeof(sizes[0]))];

    return rn_view_of(body + at % 1009, c->bytes ? c->bytes : len);
}

static void expect_row(struct rn_cursor *cursor, struct rn_view key,
                       struct rn_view value)
{
    struct rn_view k, v;

    assert_int_equal(rn_cursor_next(cursor, &k, &v), RN_OK);
    assert_true(rn_view_eq(k, key));
    assert_true(rn_view_eq(v, value));
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = mix(*(const uint64_t *)a), y = mix(*(const uint64_t *)b);

    return (x > y) - (x < y);
}

static struct rn_cursor *scan(struct rn_txn *txn)
{
    struct rn_cursor *cursor = NULL;

    assert_int_equal(rn_txn_scan(txn, &(struct rn_key_interval){ 0 }, &cursor),
                     RN_OK);
    return cursor;
}

/* Every row of the store, in order, is what `c` says, and there is no other. */
static void expect_content(struct rn_store *s, struct content *c)
{
    uint64_t order[RECORDS_MAX], *at;
    struct rn_txn *txn = NULL;
    struct rn_cursor *cursor;
    struct rn_view k, v;
    char key[KEY];

    assert_int_equal(
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL), RN_OK);
    cursor = scan(txn);
    for (uint64_t i = 0; i < c->count; i++)
        order[i] = i;
    qsort(order, c->count, sizeof(order[0]), by_key);
    for (uint64_t i = 0; i < c->count; i++)
        expect_row(cursor, index_key(order[i], key),
                   rn_view_of(&c->records[order[i]], sizeof(c->records[0])));
    at = calloc(c->next_place, sizeof(*at));
    assert_non_null(at);
    for (uint64_t i = 0; i < c->count; i++)
        at[c->records[i].place] = i + 1;
    for (uint64_t place = 1; place < c->next_place; place++) {
        if (at[place])
            expect_row(cursor, feed_key(c, place, key),
                       body_of(c, at[place] - 1));
    }
    free(at);
    assert_int_equal(rn_cursor_next(cursor, &k, &v), RN_NOT_FOUND);
    rn_cursor_end(cursor);
    rn_txn_abort(txn);
}

/* ---- writing ------------------------------------------------------------- */

static void write_record(struct rn_txn *txn, struct content *c, uint64_t i)
{
    struct record *r = &c->records[i];
    char key[KEY];

    if (r->place)
        assert_int_equal(rn_txn_del(txn, feed_key(c, r->place, key)), RN_OK);
    r->place = c->next_place++;
    r->version++;
    assert_int_equal(rn_txn_put(txn, feed_key(c, r->place, key), body_of(c, i)),
                     RN_OK);
    assert_int_equal(
        rn_txn_put(txn, index_key(i, key), rn_view_of(r, sizeof(*r))), RN_OK);
}

/* One group, in the map at once where nobody else sees to that: a map is
 * defragmented under many small changes.  `from` < count: new records from
 * there on; else random ones. */
static void write_group(struct rn_store *s, struct content *c, uint64_t from)
{
    struct rn_local *local = (struct rn_local *)s;
    struct rn_txn *txn = NULL;
    struct rn_err err = { 0 };

    if (rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, &err))
        fail_msg("%s", err.text);
    for (uint64_t i = 0; i < GROUP; i++)
        write_record(txn, c, from < c->count ? from + i : draw(c) % c->count);
    if (rn_txn_commit(txn, &err))
        fail_msg("%s", err.text);
    if (local->opts.manual && rn_flush_all(local, &err))
        fail_msg("%s", err.text);
}

static void insert_all(struct rn_store *s, struct content *c)
{
    for (uint64_t i = 0; i < c->count; i += GROUP)
        write_group(s, c, i);
}

static void update(struct rn_store *s, struct content *c, uint64_t groups)
{
    while (groups--)
        write_group(s, c, UINT64_MAX);
}

/* ---- stores -------------------------------------------------------------- */

struct fixture {
    char dir[PATH];
    struct content content;
    struct rn_store *store;
};

static void open_store(struct fixture *f, struct rn_store_opts opts)
{
    struct rn_err err = { 0 };

    opts.where = f->dir;
    opts.segment_bytes = 4 << 20;
    if (rn_store_open("local", &opts, &f->store, &err))
        fail_msg("%s", err.text);
}

static void open_stepped(struct fixture *f)
{
    open_store(f, (struct rn_store_opts){ .manual = true });
}

static void close_store(struct fixture *f)
{
    rn_store_close(f->store);
    f->store = NULL;
}

static struct rn_local *local(struct fixture *f)
{
    return (struct rn_local *)f->store;
}

static struct rn_store_status status(struct fixture *f)
{
    struct rn_store_status out;

    rn_store_status(f->store, &out);
    return out;
}

/* Steps the maintenance thread until the walk has nothing more to earn.  It
 * looks at eight rows for each that was deleted, at 128 or more in a step. */
static void thin_all(struct fixture *f)
{
    uint64_t left = local(f)->defrag.deleted * 8 / 128;

    while (rn_defrag_due(local(f))) {
        rn_local_maintain(f->store);
        assert_true(left-- > 0);
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (char)mix(i);
    f->content = (struct content){ .count = RECORDS_MAX, .next_place = 1 };
    /* What is tested is the map, not the disk. */
    snprintf(f->dir, sizeof(f->dir), "%s/runnel-defrag-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[PATH + 16];

    close_store(f);
    snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
    assert_int_equal(system(command), 0); // NOLINT: the test's own directory
    free(f);
    return 0;
}

/* ---- cases --------------------------------------------------------------- */

static void thinned_to(struct fixture *f, uint32_t bytes, double share)
{
    struct rn_store_status before, after;

    f->content.bytes = bytes;
    open_stepped(f);
    insert_all(f->store, &f->content);
    update(f->store, &f->content, 40); /* five a record */
    before = status(f);
    assert_int_equal(before.thinned_pages, 0);
    thin_all(f);
    after = status(f);
    print_message("%u bytes: %llu pages, %llu rewritten\n", bytes,
                  (unsigned long long)before.live_bytes / 4096,
                  (unsigned long long)after.thinned_pages);
    assert_true((double)after.live_bytes < (double)before.live_bytes * share);
    assert_true(after.thinned_pages * 4096 >=
                before.live_bytes - after.live_bytes);
    expect_content(f->store, &f->content);
    close_store(f);
    open_stepped(f);
    expect_content(f->store, &f->content);
}

static void it_gives_back_pages_of_three_rows(void **state)
{
    thinned_to(*state, 1250, 0.65);
}

static void it_gives_back_pages_of_two_rows(void **state)
{
    thinned_to(*state, 1400, 0.85);
}

static void it_gives_back_pages_of_nine_rows(void **state)
{
    thinned_to(*state, 400, 0.75);
}

static void it_keeps_rows_of_every_size(void **state)
{
    thinned_to(*state, 0, 0.95);
}

/* Rows that are put in order lie packed from the start: three of 1,250 bytes a
 * page, two of 1,400.  The index takes the rest. */
static void rows_put_in_order_fill_their_pages(void **state)
{
    static const struct {
        uint32_t bytes, pages;
    } rows[] = { { 1250, 770 }, { 1400, 1110 } };
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        struct fixture other = { .content = f->content };

        snprintf(other.dir, sizeof(other.dir), "%s/%zu", f->dir, i);
        other.content.bytes = rows[i].bytes;
        open_stepped(&other);
        insert_all(other.store, &other.content);
        assert_true(status(&other).live_bytes / 4096 < rows[i].pages);
        close_store(&other);
    }
}

/* For a moment packing puts a row of its own, whose key is that of a row and a
 * zero byte.  It must not be taken for one, nor one for it. */
static void rows_whose_keys_differ_by_a_zero_byte_stay(void **state)
{
    struct fixture *f = *state;
    struct rn_txn *txn = NULL;
    struct rn_view value;
    char key[KEY];

    f->content.close_keys = true;
    open_stepped(f);
    for (uint64_t odd = 2; odd--;) {
        assert_int_equal(rn_txn_begin(f->store, RN_TXN_WRITE,
                                      (struct rn_lock){ 0 }, &txn, NULL),
                         RN_OK);
        for (uint64_t i = 0; i < 300; i++)
            assert_int_equal(rn_txn_put(txn,
                                        feed_key(&f->content, 2 * i + odd, key),
                                        rn_view_of(body + i, odd ? 10 : 1250)),
                             RN_OK);
        assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
    }
    assert_int_equal(
        rn_txn_begin(f->store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    for (uint64_t i = 0; i < 600; i++) {
        assert_int_equal(rn_txn_get(txn, feed_key(&f->content, i, key), &value),
                         RN_OK);
        assert_true(
            rn_view_eq(value, rn_view_of(body + i / 2, i % 2 ? 10 : 1250)));
    }
    rn_txn_abort(txn);
}

static void such_rows_are_thinned_too(void **state)
{
    struct fixture *f = *state;

    f->content.close_keys = true;
    thinned_to(f, 1250, 0.65);
}

static void it_has_nothing_to_do_without_deletes(void **state)
{
    struct fixture *f = *state;

    f->content.bytes = 1250;
    open_stepped(f);
    insert_all(f->store, &f->content);
    assert_false(rn_defrag_due(local(f)));
}

static void it_comes_to_rest(void **state)
{
    struct fixture *f = *state;
    int64_t wait = RN_TASK_NOW;

    f->content.bytes = 1250;
    open_stepped(f);
    insert_all(f->store, &f->content);
    update(f->store, &f->content, 40);
    assert_true(rn_defrag_due(local(f)));
    for (int i = 0; i < STEPS_MAX && wait != RN_TASK_IDLE; i++) {
        wait = rn_local_maintain(f->store);
        if (wait != RN_TASK_NOW && wait != RN_TASK_IDLE)
            assert_int_equal(rn_local_checkpoint(local(f), NULL), RN_OK);
    }
    assert_int_equal(wait, RN_TASK_IDLE);
    assert_false(rn_defrag_due(local(f)));
}

static void it_keeps_off_a_disk_that_is_nearly_full(void **state)
{
    struct fixture *f = *state;
    struct rn_txn *txn = NULL;
    char key[KEY];

    f->content.bytes = 1250;
    open_stepped(f);
    insert_all(f->store, &f->content);
    assert_int_equal(rn_txn_begin(f->store, RN_TXN_SHRINK,
                                  (struct rn_lock){ 0 }, &txn, NULL),
                     RN_OK);
    for (uint64_t i = 0; i < RECORDS_MAX; i++) {
        if (i % 3)
            assert_int_equal(
                rn_txn_del(txn, feed_key(&f->content,
                                         f->content.records[i].place, key)),
                RN_OK);
    }
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
    assert_int_equal(rn_flush_all(local(f), NULL), RN_OK);
    local(f)->opts.reserve_bytes = UINT64_MAX;
    local(f)->ample_ns = 0; /* it was, until now */
    assert_true(rn_defrag_due(local(f)));
    thin_all(f);
    assert_true(local(f)->defrag.retry_ns > 0); /* it will try again */
    assert_int_equal(status(f).thinned_pages, 0);
}

static void it_leaves_a_poisoned_store_alone(void **state)
{
    struct fixture *f = *state;
    uint64_t live;

    f->content.bytes = 1250;
    open_stepped(f);
    insert_all(f->store, &f->content);
    update(f->store, &f->content, 40);
    live = status(f).live_bytes;
    rn_local_poison(local(f), "for a test");
    assert_int_equal(rn_local_maintain(f->store), RN_TASK_IDLE);
    rn_defrag_slice(local(f)); /* poisoned after it had begun */
    assert_int_equal(status(f).live_bytes, live);
    expect_content(f->store, &f->content);
}

enum { CRASH_GROUPS = 8 };

/* A process that updates, defragments in `steps` of the maintenance thread,
 * perhaps in the middle of a checkpoint, and is gone.  True if it rewrote
 * anything. */
static bool die_after(struct fixture *f, int steps, bool in_checkpoint)
{
    int ended = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        open_stepped(f);
        update(f->store, &f->content, CRASH_GROUPS);
        if (in_checkpoint)
            local(f)->captured_ns = INT64_MIN / 2; /* long ago: due now */
        for (int i = 0; i < steps; i++)
            rn_local_maintain(f->store);
        _exit(status(f).thinned_pages > 0 ? 10 : 11);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) / 2 == 5);
    return WEXITSTATUS(ended) == 10;
}

static void a_crash_in_the_middle_loses_nothing(void **state)
{
    struct fixture *f = *state;
    int rewritten = 0;

    f->content.bytes = 1250;
    open_stepped(f);
    insert_all(f->store, &f->content);
    update(f->store, &f->content, 16);
    close_store(f);
    for (int steps = 0; steps < 16; steps++) {
        rewritten += die_after(f, steps, steps % 2);
        /* What the child drew and wrote, noted without a store. */
        for (int i = 0; i < CRASH_GROUPS * GROUP; i++) {
            struct content *c = &f->content;
            struct record *r = &c->records[draw(c) % c->count];
            r->place = c->next_place++;
            r->version++;
        }
        open_stepped(f);
        expect_content(f->store, &f->content);
        update(f->store, &f->content, 1);
        expect_content(f->store, &f->content);
        close_store(f);
    }
    assert_true(rewritten > 8);
}

/* ---- beside others ------------------------------------------------------- */

static void *scan_all(void *context)
{
    struct fixture *f = context;
    uint64_t scans = 0;

    while (!__atomic_load_n(&f->content.close_keys, __ATOMIC_ACQUIRE)) {
        struct rn_txn *txn = NULL;
        struct rn_cursor *c;
        struct rn_view k, v;
        uint64_t rows = 0;

        assert_int_equal(rn_txn_begin(f->store, RN_TXN_READ,
                                      (struct rn_lock){ 0 }, &txn, NULL),
                         RN_OK);
        c = scan(txn);
        while (!rn_cursor_next(c, &k, &v))
            rows++;
        rn_cursor_end(c);
        rn_txn_abort(txn);
        assert_int_equal(rows, 2 * RECORDS_MAX);
        scans++;
    }
    assert_true(scans > 0);
    return NULL;
}

static void readers_and_writers_do_not_notice_it(void **state)
{
    struct fixture *f = *state;
    int64_t deadline = rn_mono_ns(rn_env_real()) + INT64_C(60000000000);
    pthread_t reader;

    f->content.bytes = 1250;
    open_store(f, (struct rn_store_opts){ .checkpoint_bytes = 1 << 20,
                                          .checkpoint_ms = 20 });
    insert_all(f->store, &f->content);
    assert_int_equal(pthread_create(&reader, NULL, scan_all, f), 0);
    /* Defragmentation gives way to all others, so not by a count of updates. */
    while (status(f).thinned_pages < 1000 &&
           rn_mono_ns(rn_env_real()) < deadline)
        update(f->store, &f->content, 1);
    __atomic_store_n(&f->content.close_keys, true, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    f->content.close_keys = false;
    assert_true(status(f).thinned_pages >= 1000);
    assert_false(status(f).read_only);
    expect_content(f->store, &f->content);
    close_store(f);
    open_stepped(f);
    expect_content(f->store, &f->content);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_gives_back_pages_of_three_rows),
        CASE(it_gives_back_pages_of_two_rows),
        CASE(it_gives_back_pages_of_nine_rows),
        CASE(it_keeps_rows_of_every_size),
        CASE(rows_put_in_order_fill_their_pages),
        CASE(rows_whose_keys_differ_by_a_zero_byte_stay),
        CASE(such_rows_are_thinned_too),
        CASE(it_has_nothing_to_do_without_deletes),
        CASE(it_comes_to_rest),
        CASE(it_keeps_off_a_disk_that_is_nearly_full),
        CASE(it_leaves_a_poisoned_store_alone),
        CASE(a_crash_in_the_middle_loses_nothing),
        CASE(readers_and_writers_do_not_notice_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
