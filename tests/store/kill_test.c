/* kill_test.c -- a process killed at any moment loses nothing it promised.
 *
 * Goal: promise D1 of a real process, on a real file system, under concurrent
 * load.  Whenever SIGKILL comes, the next open finds every group of writes that
 * was acknowledged, of the others each in whole or not at all, and nothing
 * else; what one thread has seen of another's groups is there too.
 *
 * Method: a child, which is this program run anew, opens the store with small
 * limits, so that segments are recycled and checkpoints taken all the time, and
 * commits from four threads.  Each has keys of its own and numbers its groups;
 * what a group does follows from seed, thread and number, and every group
 * writes its number under the thread's key "last".  Threads note in shared
 * memory which group they began, which was acknowledged, and which of their
 * neighbour's they saw.  The parent kills the child after a time drawn, one
 * time in four while it opens, verifies the directory, opens it in another
 * process and compares all of it with the groups up to "last".  That process
 * too ends without closing, half of the time, so that recoveries follow upon
 * recoveries.
 *
 *     RUNNEL_KILLS         how many kills, on each of two file systems
 *     RUNNEL_KILL_SECONDS  stop after so long, on each file system
 *     RUNNEL_KILL_SEED     for what is drawn; the moments are the machine's
 */
#include "tracked_store.h"

#include "store/admin/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    THREADS = 4,
    KEYS = 96,
    GROUP_MAX = 8, /* with the key "last" */
    VALUE_MAX = 12000,
    KEY_ROOM = 300,
    DELAY_US = 60000,
    DEADLINE_S = 60,
    CHILD_FAILED = 3,
};

/* What parent and child both see. */
struct shared {
    _Atomic uint64_t begun[THREADS], acked[THREADS], seen[THREADS];
    uint64_t found[THREADS]; /* by the check */
    uint64_t lost;
};

/* ---- what a group does --------------------------------------------------- */

struct change {
    unsigned key;
    bool deletes;
};

struct group {
    struct change change[GROUP_MAX];
    unsigned len;
};

/* The group a key was last written by; 0: absent. */
struct model {
    uint64_t last[THREADS];
    uint64_t group[THREADS][KEYS];
};

static uint64_t seed;

static struct tracked_dice dice_of(unsigned thread, uint64_t number,
                                   unsigned key)
{
    struct tracked_dice d = { .state = seed ^ (uint64_t)key << 48 };

    d.state = tracked_roll(&d) ^ (uint64_t)thread << 56;
    d.state = tracked_roll(&d) ^ number;
    return d;
}

static void group_draw(unsigned thread, uint64_t number, struct group *out)
{
    struct tracked_dice d = dice_of(thread, number, KEYS);

    out->len = (unsigned)tracked_below(&d, GROUP_MAX);
    for (unsigned i = 0; i < out->len; i++) {
        out->change[i].key = (unsigned)tracked_below(&d, KEYS);
        out->change[i].deletes = tracked_below(&d, 4) == 0;
    }
}

static void model_advance(struct model *m, unsigned thread, uint64_t to)
{
    struct group g;

    while (m->last[thread] < to) {
        uint64_t number = ++m->last[thread];
        group_draw(thread, number, &g);
        for (unsigned i = 0; i < g.len; i++)
            m->group[thread][g.change[i].key] =
                g.change[i].deletes ? 0 : number;
    }
}

/* In the order of their numbers; "last" comes after them.  Some are long. */
static struct rn_view key_name(unsigned thread, unsigned key,
                               char room[KEY_ROOM])
{
    int width = key % 8 == 0 ? KEY_ROOM - 20 : 1;

    if (key == KEYS)
        snprintf(room, KEY_ROOM, "%u/last", thread);
    else
        snprintf(room, KEY_ROOM, "%u/%03u/%0*u", thread, key, width, key);
    return rn_view_text(room);
}

/* Names its group; one in 16 needs pages of its own. */
static struct rn_view value_of(unsigned thread, uint64_t number, unsigned key,
                               char room[VALUE_MAX])
{
    struct tracked_dice d = dice_of(thread, number, key);
    size_t len = 30 + tracked_below(&d, 500);
    int head =
        snprintf(room, VALUE_MAX, "%u:%" PRIu64 ":%u:", thread, number, key);

    if (tracked_below(&d, 16) == 0)
        len += tracked_below(&d, VALUE_MAX - 600);
    for (size_t i = (size_t)head; i < len; i++)
        room[i] = (char)('a' + (d.state + i * i) % 26);
    return rn_view_of(room, len);
}

static struct rn_view number_text(uint64_t number, char room[24])
{
    snprintf(room, 24, "%" PRIu64, number);
    return rn_view_text(room);
}

static bool number_read(struct rn_view text, uint64_t *out)
{
    char room[24] = { 0 };

    if (!text.len || text.len >= sizeof(room))
        return false;
    memcpy(room, text.at, text.len);
    *out = strtoull(room, NULL, 10);
    return rn_view_eq(number_text(*out, room), text);
}

static enum rn_code get_last(struct rn_txn *t, unsigned thread, uint64_t *out)
{
    char room[KEY_ROOM];
    struct rn_view text;
    enum rn_code rc = rn_txn_get(t, key_name(thread, KEYS, room), &text);

    *out = 0;
    if (rc)
        return rc == RN_NOT_FOUND ? RN_OK : rc;
    return number_read(text, out) ? RN_OK : RN_CORRUPT;
}

static enum rn_code open_store(const char *dir, bool manual,
                               struct rn_store **out, struct rn_err *err)
{
    struct rn_store_opts opts = {
        .where = dir,
        .map_bytes = 1 << 30,
        .busy_ms = DEADLINE_S * 1000,
        .segment_bytes = 256 << 10,
        .wal_bytes = 1 << 20,
        .memtable_bytes = 128 << 10,
        .checkpoint_bytes = 256 << 10,
        .checkpoint_ms = 50,
        .throttle_bytes = 4 << 20,
        .reserve_bytes = 1 << 20,
        .ahead_bytes = 1 << 20,
        .manual = manual,
    };

    return rn_store_open("local", &opts, out, err);
}

/* ---- the child ----------------------------------------------------------- */

struct writer {
    unsigned thread;
    struct rn_store *store;
    struct shared *shared;
    uint64_t number;
};

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "child: %s: %s\n", what, why);
    _exit(CHILD_FAILED);
}

static enum rn_code put_group(struct rn_txn *t, unsigned thread,
                              uint64_t number)
{
    char key[KEY_ROOM], value[VALUE_MAX], digits[24];
    struct group g;
    enum rn_code rc =
        rn_txn_put(t, key_name(thread, KEYS, key), number_text(number, digits));

    group_draw(thread, number, &g);
    for (unsigned i = 0; !rc && i < g.len; i++) {
        unsigned k = g.change[i].key;
        if (!g.change[i].deletes) {
            rc = rn_txn_put(t, key_name(thread, k, key),
                            value_of(thread, number, k, value));
            continue;
        }
        rc = rn_txn_del(t, key_name(thread, k, key));
        if (rc == RN_NOT_FOUND)
            rc = RN_OK;
    }
    return rc;
}

static void *write_groups(void *context)
{
    struct writer *w = context;
    unsigned neighbour = (w->thread + 1) % THREADS;
    struct rn_lock lock = { .container = 1, .range = w->thread };

    for (;;) {
        uint64_t number = ++w->number, seen = 0;
        struct rn_err err = { 0 };
        struct rn_txn *t = NULL;
        enum rn_code rc;

        rc = rn_txn_begin(w->store, RN_TXN_WRITE, lock, &t, &err);
        if (rc)
            give_up("begin", err.text);
        rc = get_last(t, neighbour, &seen);
        if (!rc)
            rc = put_group(t, w->thread, number);
        if (rc)
            give_up("writing", rn_txn_why(t, rc));
        atomic_store(&w->shared->seen[neighbour], seen);
        atomic_store(&w->shared->begun[w->thread], number);
        rc = rn_txn_commit(t, &err);
        if (rc)
            give_up("commit", err.text);
        atomic_store(&w->shared->acked[w->thread], number);
    }
    return NULL;
}

static void read_lasts(struct writer writers[THREADS], struct rn_store *store)
{
    struct rn_err err = { 0 };
    struct rn_txn *t = NULL;
    enum rn_code rc =
        rn_txn_begin(store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err);

    if (rc)
        give_up("begin", err.text);
    for (unsigned i = 0; i < THREADS; i++) {
        rc = get_last(t, i, &writers[i].number);
        if (rc)
            give_up("reading", rn_txn_why(t, rc));
    }
    rn_txn_abort(t);
}

/* Runs until it is killed. */
static _Noreturn void child(struct shared *shared, int opened, const char *dir)
{
    struct writer writers[THREADS];
    pthread_t threads[THREADS];
    struct rn_store *store = NULL;
    struct rn_err err = { 0 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(2 * DEADLINE_S);
    if (open_store(dir, false, &store, &err))
        give_up("open", err.text);
    read_lasts(writers, store);
    if (write(opened, "", 1) != 1)
        give_up("pipe", "nobody listens");
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i].thread = i;
        writers[i].store = store;
        writers[i].shared = shared;
        if (pthread_create(&threads[i], NULL, write_groups, &writers[i]))
            give_up("pthread_create", "failed");
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(CHILD_FAILED);
}

/* ---- the check ----------------------------------------------------------- */

struct world {
    char dir[512];
    struct shared *shared;
    int shared_fd;
    struct tracked_report *report;
    struct model model;
    bool close_after;
    double opening; /* seconds until the last child had opened */
    uint64_t kills, early;
};

static void check_lasts(struct rn_txn *t, struct world *w)
{
    struct shared *s = w->shared;

    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t last = 0, acked = atomic_load(&s->acked[i]);
        uint64_t seen = atomic_load(&s->seen[i]);
        enum rn_code rc = get_last(t, i, &last);

        if (rc)
            tracked_lie(w->report, "last of %u: %s", i, rn_txn_why(t, rc));
        if (last < acked)
            s->lost += acked - last;
        if (last < acked || last < seen || last < w->model.last[i])
            tracked_lie(w->report,
                        "thread %u is at %" PRIu64 ", but %" PRIu64
                        " was acknowledged, %" PRIu64 " seen, %" PRIu64
                        " found",
                        i, last, acked, seen, w->model.last[i]);
        if (last > atomic_load(&s->begun[i]))
            tracked_lie(w->report, "thread %u never began %" PRIu64, i, last);
        s->found[i] = last;
    }
}

/* The next record must be this one. */
static void check_next(struct rn_cursor *c, unsigned thread, unsigned key,
                       struct world *w)
{
    char name[KEY_ROOM], room[VALUE_MAX];
    bool is_last = key == KEYS;
    uint64_t number =
        is_last ? w->model.last[thread] : w->model.group[thread][key];
    struct rn_view k, v, wanted;
    enum rn_code rc = rn_cursor_next(c, &k, &v);

    wanted = is_last ? number_text(number, room)
                     : value_of(thread, number, key, room);
    if (rc)
        tracked_lie(w->report, "key %u/%u of group %" PRIu64 ": %s", thread,
                    key, number, rn_code_name(rc));
    else if (!rn_view_eq(k, key_name(thread, key, name)))
        tracked_lie(w->report, "%.*s stands where %s should", (int)k.len, k.at,
                    name);
    else if (!rn_view_eq(v, wanted))
        tracked_lie(w->report, "%s is %.*s, not of group %" PRIu64, name,
                    (int)(v.len < 40 ? v.len : 40), v.at, number);
}

static void check_all(struct rn_txn *t, struct world *w)
{
    struct rn_key_interval all = { 0 };
    struct rn_cursor *c = NULL;
    struct rn_view k, v;
    enum rn_code rc = rn_txn_scan(t, &all, &c);

    if (rc)
        tracked_lie(w->report, "scan: %s", rn_txn_why(t, rc));
    for (unsigned i = 0; i < THREADS; i++) {
        model_advance(&w->model, i, w->shared->found[i]);
        for (unsigned key = 0; key < KEYS && !w->report->lied; key++) {
            if (w->model.group[i][key])
                check_next(c, i, key, w);
        }
        if (w->model.last[i] && !w->report->lied)
            check_next(c, i, KEYS, w);
    }
    if (!w->report->lied && rn_cursor_next(c, &k, &v) != RN_NOT_FOUND)
        tracked_lie(w->report, "there is more than was written");
    rn_cursor_end(c);
}

static bool anything_acked(struct shared *s)
{
    for (unsigned i = 0; i < THREADS; i++) {
        if (atomic_load(&s->acked[i]))
            return true;
    }
    return false;
}

static void check(void *context)
{
    struct world *w = context;
    struct rn_verify_counts counts = { 0 };
    struct rn_store *store = NULL;
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };

    w->report->phase = 1;
    if (anything_acked(w->shared) &&
        rn_verify(rn_env_real(), w->dir, NULL, NULL, &counts, &err))
        tracked_lie(w->report, "verify: %s", err.text);
    w->report->phase = 2;
    if (open_store(w->dir, true, &store, &err)) {
        tracked_lie(w->report, "open: %s", err.text);
        return;
    }
    w->report->phase = 3;
    if (rn_txn_begin(store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err)) {
        tracked_lie(w->report, "begin: %s", err.text);
        return;
    }
    check_lasts(t, w);
    if (!w->report->lied)
        check_all(t, w);
    rn_txn_abort(t);
    w->report->phase = 4;
    if (w->close_after)
        rn_store_close(store);
}

/* ---- the parent ---------------------------------------------------------- */

static pid_t start(struct world *w, int *opened)
{
    char fd[16], pipe_fd[16], seed_text[24];
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(fd, sizeof(fd), "%d", w->shared_fd);
    snprintf(pipe_fd, sizeof(pipe_fd), "%d", ends[1]);
    snprintf(seed_text, sizeof(seed_text), "%" PRIu64, seed);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fcntl(ends[1], F_SETFD, 0);
        fcntl(w->shared_fd, F_SETFD, 0);
        execl("/proc/self/exe", "kill_test", "--child", fd, pipe_fd, seed_text,
              w->dir, (char *)NULL);
        _exit(CHILD_FAILED);
    }
    close(ends[1]);
    *opened = ends[0];
    return pid;
}

static void pause_us(uint64_t us)
{
    struct timespec t = { .tv_sec = (time_t)(us / 1000000),
                          .tv_nsec = (long)(us % 1000000 * 1000) };

    nanosleep(&t, NULL);
}

/* False if it ended by itself. */
static bool wait_open(int opened)
{
    struct pollfd p = { .fd = opened, .events = POLLIN };
    char byte;

    return poll(&p, 1, DEADLINE_S * 1000) == 1 && read(opened, &byte, 1) == 1;
}

/* Starts a child and kills it. */
static void kill_once(struct world *w, struct tracked_dice *d)
{
    bool early = w->kills > 0 && tracked_below(d, 4) == 0, has_opened = true;
    double begun = tracked_seconds();
    int opened = -1, status = 0;
    pid_t pid = start(w, &opened);

    if (early) {
        pause_us(tracked_below(d, (uint64_t)(w->opening * 1.25e6) + 1));
        w->early++;
    } else {
        has_opened = wait_open(opened);
        w->opening = tracked_seconds() - begun;
        pause_us(tracked_below(d, DELAY_US));
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    close(opened);
    w->kills++;
    if (!has_opened || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        tracked_lie(w->report, "the child ended by itself, status %#x", status);
}

static struct shared *map_shared(int fd)
{
    void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);

    if (at == MAP_FAILED) {
        perror("mmap");
        abort();
    }
    return at;
}

static void world_make(struct world *w, const char *base)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "%s/runnel-kill-XXXXXX", base);
    assert_non_null(mkdtemp(w->dir));
    w->shared_fd = memfd_create("kill_test", MFD_CLOEXEC);
    assert_true(w->shared_fd >= 0);
    assert_int_equal(ftruncate(w->shared_fd, sizeof(struct shared)), 0);
    w->shared = map_shared(w->shared_fd);
    w->report = tracked_report_new();
}

static void world_remove(struct world *w)
{
    tracked_dir_remove(w->dir);
    munmap(w->report, sizeof(*w->report));
    munmap(w->shared, sizeof(*w->shared));
    close(w->shared_fd);
}

static void kill_often(const char *base)
{
    static struct world w;
    bool prove = getenv("RUNNEL_PROVE");
    uint64_t kills = tracked_number("RUNNEL_KILLS", prove ? 5000 : 200, 40);
    uint64_t limit =
        tracked_number("RUNNEL_KILL_SECONDS", prove ? 7200 : 120, 120);
    double begun = tracked_seconds();
    struct tracked_dice d;
    uint64_t acked = 0;

    seed = tracked_number("RUNNEL_KILL_SEED", 1, 1);
    d.state = seed;
    world_make(&w, base);
    while (w.kills < kills && tracked_seconds() - begun < (double)limit &&
           !w.report->lied) {
        kill_once(&w, &d);
        w.close_after = tracked_below(&d, 2);
        if (!w.report->lied)
            tracked_fork(check, &w, DEADLINE_S, w.report);
        for (unsigned i = 0; i < THREADS && !w.report->lied; i++)
            model_advance(&w.model, i, w.shared->found[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        acked += atomic_load(&w.shared->acked[i]);
    print_message("%" PRIu64 " kills (%" PRIu64 " while opening), %" PRIu64
                  " acknowledged groups, %" PRIu64
                  " lost, %.1f s, seed %" PRIu64 "\n",
                  w.kills, w.early, acked, w.shared->lost,
                  tracked_seconds() - begun, seed);
    if (w.report->lied)
        fail_msg("after kill %" PRIu64 ", seed %" PRIu64 ": %s; kept: %s",
                 w.kills, seed, w.report->lie, w.dir);
    assert_true(acked > 0);
    world_remove(&w);
}

/* Where a sync takes its time, and kills meet it. */
static void no_kill_loses_an_acknowledged_group(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    kill_often(base && *base ? base : ".");
}

/* Where it takes none: hundreds of commits between two kills. */
static void nor_does_one_where_syncs_are_quick(void **state)
{
    (void)state;
    if (access("/dev/shm", W_OK) != 0)
        skip();
    kill_often("/dev/shm");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_kill_loses_an_acknowledged_group),
        cmocka_unit_test(nor_does_one_where_syncs_are_quick),
    };

    if (argc == 6 && strcmp(argv[1], "--child") == 0) {
        seed = strtoull(argv[4], NULL, 10);
        child(map_shared((int)strtol(argv[2], NULL, 10)),
              (int)strtol(argv[3], NULL, 10), argv[5]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
