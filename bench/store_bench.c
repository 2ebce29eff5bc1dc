/* store_bench.c -- the local store beside LMDB with synced commits and RocksDB.
 *
 * Goal: durable inserts and updates per second as ratios in one run on one
 * machine, the worst stall, and what ten random updates a record leave behind.
 *
 * Method: the layout of a container: an index row d<hash> and a feed row
 * f<place>, the body.  An insert writes both; an update deletes the old feed
 * row, appends a new one and rewrites the index row.  Groups of 64, one sync a
 * group, one thread.  `speed` runs each store with the same keys; `thin` does
 * ten uniform random updates a record and reports file, live bytes and scan.
 */
#include "base/env.h"
#include "store/store.h"

#include <assert.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ROCKSDB
#include <rocksdb/c.h>
#endif

enum { GROUP = 64, INDEX_BYTES = 32, VALUE_MAX = 2 << 20 };

/* ---- stores under test --------------------------------------------------- */

struct subject {
    const char *name;
    void (*open)(const char *dir);
    void (*begin)(void);
    void (*put)(struct rn_view key, struct rn_view value);
    void (*del)(struct rn_view key);
    void (*commit)(void);
    /* Bytes of all values whose keys begin with 'f', read in order. */
    uint64_t (*scan)(void);
    void (*close)(void);
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "store_bench: %s: %s\n", what, why);
    exit(1);
}

static struct rn_store *store;
static struct rn_txn *txn;
static struct rn_err err;

static void check(enum rn_code rc, const char *what)
{
    if (rc)
        die(what, err.text[0] ? err.text : rn_code_name(rc));
}

static void local_open(const char *dir)
{
    struct rn_store_opts opts = { .where = dir };

    check(rn_store_open("local", &opts, &store, &err), "open");
}

static void local_begin(void)
{
    check(rn_txn_begin(store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, &err),
          "begin");
}

static void local_put(struct rn_view key, struct rn_view value)
{
    check(rn_txn_put(txn, key, value), "put");
}

static void local_del(struct rn_view key)
{
    check(rn_txn_del(txn, key), "del");
}

static void local_commit(void)
{
    check(rn_txn_commit(txn, &err), "commit");
}

static uint64_t local_scan(void)
{
    struct rn_range feed = { .from = RN_LIT("f"), .before = RN_LIT("g") };
    struct rn_cursor *c;
    struct rn_view key, value;
    uint64_t bytes = 0;

    check(rn_txn_begin(store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, &err),
          "begin");
    check(rn_txn_scan(txn, &feed, &c), "scan");
    while (!rn_cursor_next(c, &key, &value))
        bytes += value.len;
    rn_cursor_end(c);
    rn_txn_abort(txn);
    return bytes;
}

static void local_close(void)
{
    rn_store_close(store);
}

static MDB_env *env;
static MDB_dbi dbi;
static MDB_txn *mdb;

static void mdb_check(int rc, const char *what)
{
    if (rc)
        die(what, mdb_strerror(rc));
}

static void lmdb_open(const char *dir)
{
    mkdir(dir, 0700);
    mdb_check(mdb_env_create(&env), "lmdb");
    mdb_check(mdb_env_set_mapsize(env, (size_t)1 << 38), "lmdb");
    mdb_check(mdb_env_open(env, dir, 0, 0600), "lmdb");
    mdb_check(mdb_txn_begin(env, NULL, 0, &mdb), "lmdb");
    mdb_check(mdb_dbi_open(mdb, NULL, 0, &dbi), "lmdb");
    mdb_check(mdb_txn_commit(mdb), "lmdb");
}

static void lmdb_begin(void)
{
    mdb_check(mdb_txn_begin(env, NULL, 0, &mdb), "lmdb");
}

static void lmdb_put(struct rn_view key, struct rn_view value)
{
    MDB_val k = { key.len, (void *)key.at },
            v = { value.len, (void *)value.at };

    mdb_check(mdb_put(mdb, dbi, &k, &v, 0), "lmdb put");
}

static void lmdb_del(struct rn_view key)
{
    MDB_val k = { key.len, (void *)key.at };

    mdb_check(mdb_del(mdb, dbi, &k, NULL), "lmdb del");
}

static void lmdb_commit(void)
{
    mdb_check(mdb_txn_commit(mdb), "lmdb commit");
}

static uint64_t lmdb_scan(void)
{
    MDB_val k = { 1, (void *)"f" }, v;
    MDB_cursor *c;
    uint64_t bytes = 0;
    int rc;

    mdb_check(mdb_txn_begin(env, NULL, MDB_RDONLY, &mdb), "lmdb");
    mdb_check(mdb_cursor_open(mdb, dbi, &c), "lmdb");
    rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
    for (; !rc; rc = mdb_cursor_get(c, &k, &v, MDB_NEXT))
        bytes += v.mv_size;
    mdb_cursor_close(c);
    mdb_txn_abort(mdb);
    return bytes;
}

static void lmdb_close(void)
{
    mdb_env_close(env);
}

#ifdef HAVE_ROCKSDB
static rocksdb_t *rocks;
static rocksdb_writebatch_t *batch;
static rocksdb_writeoptions_t *synced;

static void rocks_check(char *why)
{
    if (why)
        die("rocksdb", why);
}

static void rocks_open(const char *dir)
{
    rocksdb_options_t *o = rocksdb_options_create();
    char *why = NULL;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_increase_parallelism(o, 2);
    rocks = rocksdb_open(o, dir, &why);
    rocks_check(why);
    synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(synced, 1);
    batch = rocksdb_writebatch_create();
}

static void rocks_begin(void)
{
    rocksdb_writebatch_clear(batch);
}

static void rocks_put(struct rn_view key, struct rn_view value)
{
    rocksdb_writebatch_put(batch, key.at, key.len, value.at, value.len);
}

static void rocks_del(struct rn_view key)
{
    rocksdb_writebatch_delete(batch, key.at, key.len);
}

static void rocks_commit(void)
{
    char *why = NULL;

    rocksdb_write(rocks, synced, batch, &why);
    rocks_check(why);
}

static uint64_t rocks_scan(void)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    rocksdb_iterator_t *i = rocksdb_create_iterator(rocks, o);
    uint64_t bytes = 0;

    for (rocksdb_iter_seek(i, "f", 1); rocksdb_iter_valid(i);
         rocksdb_iter_next(i)) {
        size_t len;
        (void)rocksdb_iter_value(i, &len);
        bytes += len;
    }
    rocksdb_iter_destroy(i);
    rocksdb_readoptions_destroy(o);
    return bytes;
}

static void rocks_close(void)
{
    rocksdb_close(rocks);
}
#endif

static const struct subject subjects[] = {
    { "runnel", local_open, local_begin, local_put, local_del, local_commit,
      local_scan, local_close },
    { "lmdb", lmdb_open, lmdb_begin, lmdb_put, lmdb_del, lmdb_commit, lmdb_scan,
      lmdb_close },
#ifdef HAVE_ROCKSDB
    { "rocksdb", rocks_open, rocks_begin, rocks_put, rocks_del, rocks_commit,
      rocks_scan, rocks_close },
#endif
};

enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

/* ---- the work ------------------------------------------------------------ */

struct work {
    const struct subject *on;
    uint64_t records, next_place;
    uint64_t *place_of; /* each record's feed row */
    uint64_t chance;
    uint32_t value_bytes; /* 0: mixed, up to 2 MB */
    uint64_t live_bytes;
    uint32_t *size_of;
    double worst_ms;
};

static char *body;

static uint64_t draw(struct work *w)
{
    uint64_t x = w->chance += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double now(void)
{
    return (double)rn_mono_ns(rn_env_real()) / 1e9;
}

static double cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

static struct rn_view feed_key(uint64_t place, char out[32])
{
    return rn_view_of(out, (size_t)snprintf(out, 32, "f%015" PRIu64, place));
}

static struct rn_view index_key(uint64_t record, char out[32])
{
    uint64_t hash = record * 0x9e3779b97f4a7c15u;

    return rn_view_of(out, (size_t)snprintf(out, 32, "d%016" PRIx64, hash));
}

/* Nine in ten are small, one in a hundred thousand is 2 MB. */
static uint32_t size_for(struct work *w)
{
    uint64_t x = draw(w) % 100000;

    if (w->value_bytes)
        return w->value_bytes;
    if (x == 0)
        return VALUE_MAX;
    if (x < 100)
        return 100000;
    return x < 10000 ? 16000 : 400 + (uint32_t)(x % 1600);
}

static void write_record(struct work *w, uint64_t record)
{
    char fk[32], dk[32];
    uint32_t bytes = size_for(w);

    w->place_of[record] = w->next_place++;
    w->size_of[record] = bytes;
    w->live_bytes += bytes;
    w->on->put(feed_key(w->place_of[record], fk), rn_view_of(body, bytes));
    w->on->put(index_key(record, dk), rn_view_of(body, INDEX_BYTES));
}

static void insert(struct work *w, uint64_t i)
{
    write_record(w, i);
}

static void update(struct work *w, uint64_t i)
{
    uint64_t record = draw(w) % w->records;
    char fk[32];

    (void)i;
    w->on->del(feed_key(w->place_of[record], fk));
    w->live_bytes -= w->size_of[record];
    write_record(w, record);
}

/* `count` operations in groups; operations per second. */
static double run(struct work *w, void (*one)(struct work *, uint64_t),
                  uint64_t count)
{
    double begun = now();

    w->worst_ms = 0;
    for (uint64_t i = 0; i < count; i += GROUP) {
        double t = now(), took;
        w->on->begin();
        for (uint64_t j = i; j < i + GROUP && j < count; j++)
            one(w, j);
        w->on->commit();
        took = (now() - t) * 1e3;
        if (took > w->worst_ms)
            w->worst_ms = took;
    }
    return (double)count / (now() - begun);
}

static void work_init(struct work *w, const struct subject *on,
                      uint64_t records, uint32_t value_bytes)
{
    *w = (struct work){
        .on = on, .records = records, .value_bytes = value_bytes, .chance = 1
    };
    w->place_of = calloc(records, sizeof(*w->place_of));
    w->size_of = calloc(records, sizeof(*w->size_of));
    if (!w->place_of || !w->size_of)
        die("bench", "out of memory");
}

static void work_release(struct work *w)
{
    free(w->place_of);
    free(w->size_of);
}

static void remove_dir(const char *dir)
{
    char command[512];

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command)) // NOLINT: a bench's own temporary directory
        die(dir, "cannot be removed");
}

static void speed(const char *dir, uint64_t records)
{
    double insert_rate[SUBJECTS], update_rate[SUBJECTS];

    printf("%-8s %12s %9s %9s %12s %9s %9s %10s\n", "store", "inserts/s",
           "us cpu", "worst ms", "updates/s", "us cpu", "worst ms",
           "scan MB/s");
    for (size_t i = 0; i < SUBJECTS; i++) {
        struct work w;
        char path[512];
        double before, insert_cpu, update_cpu, worst, t;
        uint64_t bytes;

        snprintf(path, sizeof(path), "%s/%s", dir, subjects[i].name);
        remove_dir(path);
        work_init(&w, &subjects[i], records, 1024);
        subjects[i].open(path);
        before = cpu();
        insert_rate[i] = run(&w, insert, records);
        insert_cpu = (cpu() - before) * 1e6 / (double)records;
        worst = w.worst_ms;
        before = cpu();
        update_rate[i] = run(&w, update, records / 2);
        update_cpu = (cpu() - before) * 1e6 / (double)(records / 2);
        (void)subjects[i].scan();
        t = now();
        bytes = subjects[i].scan();
        t = now() - t;
        printf("%-8s %12.0f %9.1f %9.1f %12.0f %9.1f %9.1f %10.0f\n",
               subjects[i].name, insert_rate[i], insert_cpu, worst,
               update_rate[i], update_cpu, w.worst_ms, (double)bytes / t / 1e6);
        fflush(stdout);
        subjects[i].close();
        work_release(&w);
        remove_dir(path);
    }
    for (size_t i = 1; i < SUBJECTS; i++)
        printf("ratio runnel/%s: inserts %.2f, updates %.2f\n",
               subjects[i].name, insert_rate[0] / insert_rate[i],
               update_rate[0] / update_rate[i]);
}

static double scan_rate(const struct subject *on)
{
    double t;
    uint64_t bytes;

    (void)on->scan(); /* warm */
    t = now();
    bytes = on->scan();
    return (double)bytes / (now() - t) / 1e6;
}

static void thin(const char *dir, uint64_t records, uint32_t value_bytes)
{
    struct rn_store_status status;
    struct work w;
    char path[512];
    double fresh, used, rate;

    snprintf(path, sizeof(path), "%s/thin", dir);
    remove_dir(path);
    work_init(&w, &subjects[0], records, value_bytes);
    w.on->open(path);
    run(&w, insert, records);
    fresh = scan_rate(w.on);
    rate = run(&w, update, records * 10);
    used = scan_rate(w.on);
    rn_store_status(store, &status);
    printf("%7u B x %8" PRIu64 ": %8.0f updates/s worst %6.1f ms, file %5.2f x "
           "live, scan %.2f x fresh (%.0f MB/s)\n",
           value_bytes, records, rate, w.worst_ms,
           (double)status.data_bytes / (double)w.live_bytes, used / fresh,
           used);
    fflush(stdout);
    w.on->close();
    work_release(&w);
    remove_dir(path);
}

/* Leaves a store behind as kill -9 would; the next run measures its opening. */
static void leave(const char *dir, uint64_t records)
{
    struct work w;
    char path[512];

    snprintf(path, sizeof(path), "%s/killed", dir);
    remove_dir(path);
    work_init(&w, &subjects[0], records, 1024);
    w.on->open(path);
    run(&w, insert, records);
    run(&w, update, records / 10);
    fflush(stdout);
    _exit(0);
}

static void reopen(const char *dir)
{
    struct rn_store_status status;
    char path[512];
    double t = now();

    snprintf(path, sizeof(path), "%s/killed", dir);
    local_open(path);
    t = now() - t;
    rn_store_status(store, &status);
    printf("open after kill -9: %.0f ms, %" PRIu64
           " records replayed, log %.0f "
           "MB\n",
           t * 1e3, status.recovered_records, (double)status.log_bytes / 1e6);
    local_close();
    remove_dir(path);
}

int main(int argc, char **argv)
{
    uint64_t records = argc > 3 ? strtoull(argv[3], NULL, 10) : 500000;

    if (argc < 3) {
        fprintf(stderr, "usage: store_bench speed|thin|leave|reopen DIR "
                        "[RECORDS [BYTES]]\n");
        return 2;
    }
    body = malloc(VALUE_MAX);
    if (!body)
        die("bench", "out of memory");
    for (size_t i = 0; i < VALUE_MAX; i++)
        body[i] = (char)('a' + i % 26);
    if (strcmp(argv[1], "speed") == 0)
        speed(argv[2], records);
    else if (strcmp(argv[1], "thin") == 0)
        thin(argv[2], records,
             argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1250);
    else if (strcmp(argv[1], "leave") == 0)
        leave(argv[2], records);
    else if (strcmp(argv[1], "reopen") == 0)
        reopen(argv[2]);
    free(body);
    return 0;
}
