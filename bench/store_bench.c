/* store_bench.c -- the local store beside LMDB with synced commits and RocksDB.
 *
 *   store_bench speed DIR [RECORDS [NAME]]    durable inserts and updates
 *   store_bench defrag DIR [RECORDS [BYTES]]  what ten updates a record leave
 *   store_bench find DIR [RECORDS]            keys that are not there
 *   store_bench leave DIR [RECORDS [full]]    dies, perhaps with a full WAL
 *   store_bench reopen DIR                    opens what it left
 *
 * Goal: rates as ratios in one run on one machine, the worst stall, the file
 * under random updates, the time to open after a kill.
 *
 * Method: the layout of a container: an index row d<hash>, which says where the
 * record is, and a feed row f<place>, the body.  An insert writes both; an
 * update reads the index row, deletes the old feed row, appends a new one and
 * rewrites the index row.  Groups of 64, one sync a group, one thread, the same
 * draws for every store.  CPU is that of the whole process, background threads
 * included.  BYTES 0 is a mix up to 2 MB.
 */
#include "base/env.h"
#include "store_subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    GROUP = 64,
    INDEX_BYTES = 32, /* of which 8 say where the feed row is */
    BODY_BYTES = 1024,
    VALUE_MAX = 2 << 20,
    SCANS = 5,
    FINDS = 5000,
    PATH = 512,
};

struct work {
    const struct subject *on;
    uint64_t records, next_place, prng;
    uint32_t value_bytes; /* 0: mixed */
    uint32_t *size_of;    /* of each record's body */
    uint64_t live_bytes;
    double rate, cpu_us, worst_ms; /* of the last run */
};

static char *body;

static uint64_t draw(struct work *w)
{
    uint64_t x = w->prng += 0x9e3779b97f4a7c15u;

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

/* ---- one operation ------------------------------------------------------- */

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
    char fk[32], dk[32], index[INDEX_BYTES] = { 0 };
    uint64_t place = w->next_place++;
    uint32_t bytes = size_for(w);

    w->size_of[record] = bytes;
    w->live_bytes += bytes;
    memcpy(index, &place, sizeof(place));
    w->on->put(feed_key(place, fk), rn_view_of(body, bytes));
    w->on->put(index_key(record, dk), rn_view_of(index, sizeof(index)));
}

static void insert(struct work *w, uint64_t i)
{
    write_record(w, i);
}

/* No record comes twice in a group: RocksDB's batches do not show their own
 * writes. */
static void update(struct work *w, uint64_t i)
{
    uint64_t record = draw(w) % (w->records / GROUP) * GROUP + i % GROUP;
    char fk[32], dk[32], index[INDEX_BYTES];
    uint64_t place;

    w->on->get(index_key(record, dk), index, sizeof(index));
    memcpy(&place, index, sizeof(place));
    w->on->del(feed_key(place, fk));
    w->live_bytes -= w->size_of[record];
    write_record(w, record);
}

/* ---- many ---------------------------------------------------------------- */

typedef void one_fn(struct work *, uint64_t);

static void run(struct work *w, one_fn *one, uint64_t count)
{
    double begun = now(), cpu_begun = cpu();

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
    w->rate = (double)count / (now() - begun);
    w->cpu_us = (cpu() - cpu_begun) * 1e6 / (double)count;
}

static double thread_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The best of a few, by the thread's own time: all is in memory, and the rest
 * measures the neighbours. */
static double scan_rate(const struct subject *on)
{
    double best = 0;

    for (int i = 0; i < SCANS; i++) {
        double t = thread_cpu(), rate;
        uint64_t bytes = on->scan();
        rate = (double)bytes / (thread_cpu() - t) / 1e6;
        best = rate > best ? rate : best;
    }
    return best;
}

static void remove_dir(const char *dir)
{
    char command[PATH + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command)) // NOLINT: a bench's own temporary directory
        die(dir, "cannot be removed");
}

/* An empty store of that kind in a directory of its own. */
static void work_begin(struct work *w, const struct subject *on,
                       const char *dir, uint64_t records, uint32_t value_bytes)
{
    *w = (struct work){
        .on = on,
        .records = records / GROUP * GROUP,
        .value_bytes = value_bytes,
        .prng = 1,
    };
    w->size_of = calloc(w->records, sizeof(*w->size_of));
    if (!w->size_of)
        die("bench", "out of memory");
    remove_dir(dir);
    on->open(dir);
}

static void work_end(struct work *w, const char *dir)
{
    w->on->close();
    free(w->size_of);
    remove_dir(dir);
}

/* ---- measurements -------------------------------------------------------- */

static void speed_of(const struct subject *on, const char *dir,
                     uint64_t records)
{
    char path[PATH];
    struct work w;

    snprintf(path, sizeof(path), "%s/%s", dir, on->name);
    work_begin(&w, on, path, records, BODY_BYTES);
    run(&w, insert, w.records);
    printf("%-8s %10.0f %7.1f %9.1f", on->name, w.rate, w.cpu_us, w.worst_ms);
    fflush(stdout);
    run(&w, update, w.records);
    printf(" %10.0f %7.1f %9.1f %10.0f\n", w.rate, w.cpu_us, w.worst_ms,
           scan_rate(on));
    fflush(stdout);
    work_end(&w, path);
}

static void speed(const char *dir, uint64_t records, const char *name)
{
    for (size_t i = 0; i < subjects_len; i++) {
        if (!name || strcmp(name, subjects[i].name) == 0)
            speed_of(&subjects[i], dir, records);
    }
}

static void defrag(const char *dir, uint64_t records, uint32_t value_bytes)
{
    struct rn_store_status status;
    struct work w;
    char path[PATH];
    double fresh, used, live;

    snprintf(path, sizeof(path), "%s/defrag", dir);
    work_begin(&w, &subjects[0], path, records, value_bytes);
    run(&w, insert, w.records);
    fresh = scan_rate(w.on);
    run(&w, update, w.records * 10);
    used = scan_rate(w.on);
    rn_store_status(bench_store, &status);
    live = (double)w.live_bytes;
    printf("%6u %8" PRIu64 " %8.0f %10.0f %7.1f %9.1f %9.2f %9.2f %9.2f\n",
           value_bytes, w.records, live / 1e6, w.rate, w.cpu_us, w.worst_ms,
           (double)status.data_bytes / live, (double)status.live_bytes / live,
           used / fresh);
    work_end(&w, path);
}

/* ---- keys that are not there --------------------------------------------- */

/* A group of look-ups, each of a key of its own. */
static double find_group(struct work *w)
{
    char texts[GROUP][32];
    struct rn_view keys[GROUP], value;
    struct rn_txn *t = NULL;
    double begun;

    for (int i = 0; i < GROUP; i++)
        keys[i] = index_key(w->records + draw(w) % (1u << 31), texts[i]);
    if (rn_txn_begin(bench_store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL))
        die("find", "no transaction");
    begun = now();
    for (int i = 0; i < GROUP; i++) {
        if (rn_txn_get(t, keys[i], &value) != RN_NOT_FOUND)
            die("find", "it is there");
    }
    begun = now() - begun;
    rn_txn_abort(t);
    return begun;
}

static void find(const char *dir, uint64_t records)
{
    double seconds = 0;
    struct work w;
    char path[PATH];

    snprintf(path, sizeof(path), "%s/find", dir);
    work_begin(&w, &subjects[0], path, records, BODY_BYTES);
    run(&w, insert, w.records);
    w.on->close(); /* so that all of it is in the map */
    w.on->open(path);
    (void)scan_rate(w.on);
    for (int i = 0; i < FINDS; i++)
        seconds += find_group(&w);
    printf("%" PRIu64 " records: a key that is not there %.0f ns\n", records,
           seconds * 1e9 / FINDS / GROUP);
    work_end(&w, path);
}

/* ---- opening after a kill ------------------------------------------------ */

/* What one group of updates takes in the WAL, at most. */
static uint64_t group_bytes(void)
{
    uint64_t update = 3 * 8 + 2 * 16 + BODY_BYTES + 17 + INDEX_BYTES;

    return (32 + GROUP * update + 4095) / 4096 * 4096;
}

/* The most that a server has by itself. */
#define WAL_BYTES (UINT64_C(320) << 20)

/* Dies in the middle of updates; or, if `full`, with a WAL that no checkpoint
 * has shortened since it was empty: a maintenance thread would not have let it
 * come to that, so there is none. */
static void leave(const char *dir, uint64_t records, bool full)
{
    uint64_t room = WAL_BYTES - (UINT64_C(38) << 20); /* the first is begun */
    uint64_t groups = full ? room / group_bytes() : records / 2 / GROUP;
    struct rn_store_status status;
    struct work w;
    char path[PATH];

    bench_opts.wal_bytes = WAL_BYTES;
    snprintf(path, sizeof(path), "%s/killed", dir);
    work_begin(&w, &subjects[0], path, records, BODY_BYTES);
    run(&w, insert, w.records);
    w.on->close();
    bench_opts.manual = full;
    w.on->open(path);
    run(&w, update, groups * GROUP);
    rn_store_status(bench_store, &status);
    if (full && status.checkpoints)
        die("leave", "the WAL was full too early");
    _exit(0);
}

static void reopen(const char *dir)
{
    struct rn_store_status status;
    char path[PATH];
    double t = now(), c = cpu();

    bench_opts.wal_bytes = WAL_BYTES;
    snprintf(path, sizeof(path), "%s/killed", dir);
    subjects[0].open(path);
    t = now() - t;
    c = cpu() - c;
    rn_store_status(bench_store, &status);
    printf("%.0f ms, %.0f ms of CPU, %" PRIu64
           " groups replayed, WAL %.0f MB\n",
           t * 1e3, c * 1e3, status.recovered_records,
           (double)status.wal_bytes / 1e6);
    fflush(stdout);
    _exit(0); /* so that it can be opened like this once more */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *dir = argc > 2 ? argv[2] : "";
    uint64_t records = argc > 3 ? strtoull(argv[3], NULL, 10) : 500000;

    body = malloc(VALUE_MAX);
    if (!body)
        die("bench", "out of memory");
    for (size_t i = 0; i < VALUE_MAX; i++)
        body[i] = (char)('a' + i % 26);
    if (*dir && strcmp(what, "speed") == 0) {
        speed(dir, records, argc > 4 ? argv[4] : NULL);
    } else if (*dir && strcmp(what, "defrag") == 0) {
        defrag(dir, records,
               argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1250);
    } else if (*dir && strcmp(what, "find") == 0) {
        find(dir, records);
    } else if (*dir && strcmp(what, "leave") == 0) {
        leave(dir, records, argc > 4 && strcmp(argv[4], "full") == 0);
    } else if (*dir && strcmp(what, "reopen") == 0) {
        reopen(dir);
    } else {
        fprintf(stderr, "usage: store_bench speed|defrag|find|leave|reopen DIR "
                        "[RECORDS [NAME or BYTES or full]]\n");
        return 2;
    }
    free(body);
    return 0;
}
