/* store_subject.c -- see store_subject.h. */
#include "store_subject.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef HAVE_ROCKSDB
#include <rocksdb/c.h>
#endif

void die(const char *what, const char *why)
{
    fprintf(stderr, "store_bench: %s: %s\n", what, why);
    exit(1);
}

static void expect_len(size_t got, size_t len)
{
    if (got != len)
        die("get", "a value of another length");
}

/* ---- the local store ----------------------------------------------------- */

struct rn_store *bench_store;
struct rn_store_opts bench_opts;
static struct rn_txn *txn;
static struct rn_err err;

static void check(enum rn_code rc, const char *what)
{
    if (rc)
        die(what, err.text[0] ? err.text : rn_code_name(rc));
}

static void local_open(const char *dir)
{
    bench_opts.where = dir;
    check(rn_store_open("local", &bench_opts, &bench_store, &err), "open");
}

static void local_close(void)
{
    rn_store_close(bench_store);
}

static void local_begin(void)
{
    check(rn_txn_begin(bench_store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn,
                       &err),
          "begin");
}

static void local_get(struct rn_view key, char *out, size_t len)
{
    struct rn_view value;

    check(rn_txn_get(txn, key, &value), "get");
    expect_len(value.len, len);
    memcpy(out, value.at, len);
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
    struct rn_key_interval feed = { .from = RN_LIT("f"),
                                    .before = RN_LIT("g") };
    struct rn_cursor *c;
    struct rn_view key, value;
    uint64_t bytes = 0;

    check(rn_txn_begin(bench_store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn,
                       &err),
          "begin");
    check(rn_txn_scan(txn, &feed, &c), "scan");
    while (!rn_cursor_next(c, &key, &value))
        bytes += value.len;
    rn_cursor_end(c);
    rn_txn_abort(txn);
    return bytes;
}

/* ---- LMDB, every commit synced ------------------------------------------- */

static MDB_env *env;
static MDB_dbi dbi;
static MDB_txn *mdb;

static void mdb_check(int rc)
{
    if (rc)
        die("lmdb", mdb_strerror(rc));
}

static MDB_val val(struct rn_view v)
{
    return (MDB_val){ v.len, (void *)v.at };
}

static void lmdb_begin(void)
{
    mdb_check(mdb_txn_begin(env, NULL, 0, &mdb));
}

static void lmdb_commit(void)
{
    mdb_check(mdb_txn_commit(mdb));
}

static void lmdb_open(const char *dir)
{
    mkdir(dir, 0700);
    mdb_check(mdb_env_create(&env));
    mdb_check(mdb_env_set_mapsize(env, (size_t)1 << 38));
    mdb_check(mdb_env_open(env, dir, 0, 0600));
    lmdb_begin();
    mdb_check(mdb_dbi_open(mdb, NULL, 0, &dbi));
    lmdb_commit();
}

static void lmdb_close(void)
{
    mdb_env_close(env);
}

static void lmdb_get(struct rn_view key, char *out, size_t len)
{
    MDB_val k = val(key), v;

    mdb_check(mdb_get(mdb, dbi, &k, &v));
    expect_len(v.mv_size, len);
    memcpy(out, v.mv_data, len);
}

static void lmdb_put(struct rn_view key, struct rn_view value)
{
    MDB_val k = val(key), v = val(value);

    mdb_check(mdb_put(mdb, dbi, &k, &v, 0));
}

static void lmdb_del(struct rn_view key)
{
    MDB_val k = val(key);

    mdb_check(mdb_del(mdb, dbi, &k, NULL));
}

/* Without checksums nothing can be checked; values are not looked at. */
static uint64_t lmdb_scan(void)
{
    MDB_val k = val(RN_LIT("f")), v;
    MDB_cursor *c;
    uint64_t bytes = 0;
    int rc;

    mdb_check(mdb_txn_begin(env, NULL, MDB_RDONLY, &mdb));
    mdb_check(mdb_cursor_open(mdb, dbi, &c));
    rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
    for (; !rc; rc = mdb_cursor_get(c, &k, &v, MDB_NEXT))
        bytes += v.mv_size;
    mdb_cursor_close(c);
    mdb_txn_abort(mdb);
    return bytes;
}

/* ---- RocksDB, every write synced ----------------------------------------- */

#ifdef HAVE_ROCKSDB
static rocksdb_t *rocks;
static rocksdb_writebatch_t *batch;
static rocksdb_writeoptions_t *synced;
static rocksdb_readoptions_t *reading;

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
    rocksdb_options_destroy(o);
    synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(synced, 1);
    reading = rocksdb_readoptions_create();
    batch = rocksdb_writebatch_create();
}

static void rocks_close(void)
{
    rocksdb_writebatch_destroy(batch);
    rocksdb_readoptions_destroy(reading);
    rocksdb_writeoptions_destroy(synced);
    rocksdb_close(rocks);
}

static void rocks_begin(void)
{
    rocksdb_writebatch_clear(batch);
}

static void rocks_get(struct rn_view key, char *out, size_t len)
{
    rocksdb_pinnableslice_t *slice;
    const char *value;
    char *why = NULL;
    size_t got = 0;

    slice = rocksdb_get_pinned(rocks, reading, key.at, key.len, &why);
    rocks_check(why);
    value = rocksdb_pinnableslice_value(slice, &got);
    expect_len(got, len);
    memcpy(out, value, len);
    rocksdb_pinnableslice_destroy(slice);
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
    rocksdb_iterator_t *i = rocksdb_create_iterator(rocks, reading);
    uint64_t bytes = 0;

    for (rocksdb_iter_seek(i, "f", 1); rocksdb_iter_valid(i);
         rocksdb_iter_next(i)) {
        size_t len;
        (void)rocksdb_iter_value(i, &len);
        bytes += len;
    }
    rocksdb_iter_destroy(i);
    return bytes;
}
#endif

const struct subject subjects[] = {
    { "runnel", local_open, local_close, local_begin, local_get, local_put,
      local_del, local_commit, local_scan },
    { "lmdb", lmdb_open, lmdb_close, lmdb_begin, lmdb_get, lmdb_put, lmdb_del,
      lmdb_commit, lmdb_scan },
#ifdef HAVE_ROCKSDB
    { "rocksdb", rocks_open, rocks_close, rocks_begin, rocks_get, rocks_put,
      rocks_del, rocks_commit, rocks_scan },
#endif
};

const size_t subjects_len = sizeof(subjects) / sizeof(subjects[0]);
