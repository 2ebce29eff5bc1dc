/* tracked_store.c -- see tracked_store.h. */
#include "tracked_store.h"

#include "base/hash.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- random numbers ------------------------------------------------------ */

uint64_t tracked_roll(struct tracked_dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t tracked_below(struct tracked_dice *d, uint64_t n)
{
    return tracked_roll(d) % n;
}

/* ---- keys and values ----------------------------------------------------- */

/* All keys, made once; in the order of their indexes and in the store's. */
static struct {
    bool made;
    struct {
        char at[RN_KEY_MAX + 1];
        size_t len;
    } key[TRACKED_KEYS];
    unsigned order[TRACKED_KEYS], place[TRACKED_KEYS];
} table;

static int by_key(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return rn_view_compare(rn_view_of(table.key[x].at, table.key[x].len),
                           rn_view_of(table.key[y].at, table.key[y].len));
}

/* Mostly short; each 16th of a length up to the longest that is allowed. */
static void make_keys(void)
{
    for (unsigned k = 0; k < TRACKED_KEYS; k++) {
        struct tracked_dice d = { .state = k };
        char *at = table.key[k].at;
        size_t len = 14 + tracked_below(&d, 20);
        int head;

        if (k % 16 == 0)
            len = 40 + tracked_below(&d, RN_KEY_MAX - 39);
        head = snprintf(at, RN_KEY_MAX, "%c/%04x/%04u/", 'a' + (char)(k % 5),
                        (unsigned)tracked_below(&d, 65536), k);
        for (size_t i = (size_t)head; i < len; i++)
            at[i] = (char)tracked_roll(&d);
        table.key[k].len = len;
        table.order[k] = k;
    }
    qsort(table.order, TRACKED_KEYS, sizeof(table.order[0]), by_key);
    for (unsigned i = 0; i < TRACKED_KEYS; i++)
        table.place[table.order[i]] = i;
    table.made = true;
}

struct rn_view tracked_key(unsigned index)
{
    if (!table.made)
        make_keys();
    return rn_view_of(table.key[index].at, table.key[index].len);
}

unsigned tracked_in_order(unsigned i)
{
    if (!table.made)
        make_keys();
    return table.order[i];
}

/* Where a key stands in order; TRACKED_KEYS if nobody made it. */
static unsigned place_of(struct rn_view key)
{
    unsigned long index;
    char digits[5] = { 0 };

    if (key.len < 12)
        return TRACKED_KEYS;
    memcpy(digits, key.at + 7, 4);
    index = strtoul(digits, NULL, 10);
    if (index >= TRACKED_KEYS || !rn_view_eq(tracked_key((unsigned)index), key))
        return TRACKED_KEYS;
    return table.place[index];
}

static size_t value_length(struct tracked_dice *d)
{
    uint64_t kind = tracked_below(d, 100);

    if (kind < 50)
        return tracked_below(d, 120);
    if (kind < 80)
        return tracked_below(d, 1500);
    if (kind < 92)
        return tracked_below(d, 4100); /* across the edge of a page */
    if (kind < 99)
        return 4000 + tracked_below(d, 12000);
    return TRACKED_VALUE_MAX - tracked_below(d, 20000);
}

struct rn_view tracked_value(unsigned index, uint32_t version)
{
    static uint64_t lent[TRACKED_VALUE_MAX / 8 + 1];
    struct tracked_dice d = { .state = (uint64_t)version << 32 | index };
    size_t len = value_length(&d);
    uint64_t x = tracked_roll(&d) | 1;

    for (size_t i = 0; i < len / 8 + 1; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        lent[i] = x;
    }
    return rn_view_of(lent, len);
}

/* ---- the mind ------------------------------------------------------------ */

void tracked_lie(struct tracked_report *r, const char *fmt, ...)
{
    va_list args;

    if (r->lied)
        return;
    r->lied = true;
    va_start(args, fmt);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(r->lie, sizeof(r->lie), fmt, args);
    va_end(args);
}

void tracked_group_draw(struct tracked_dice *d, struct tracked_mind *m,
                        unsigned keys, struct tracked_group *out)
{
    size_t bytes = 0;

    out->len = 1 + (unsigned)tracked_below(d, TRACKED_GROUP_MAX);
    for (unsigned i = 0; i < out->len; i++) {
        unsigned index = (unsigned)tracked_below(d, keys);
        bool there = true;
        for (unsigned j = 0; j < m->count; j++)
            there = there && m->states[j].version[index];
        for (unsigned j = 0; j < i; j++) {
            if (out->change[j].index == index)
                there = out->change[j].version != 0;
        }
        out->change[i].index = index;
        out->change[i].version =
            there && tracked_below(d, 4) == 0 ? 0 : ++m->last_version;
        if (out->change[i].version)
            bytes += tracked_value(index, out->change[i].version).len;
        if (bytes > TRACKED_VALUE_MAX)
            out->len = i + 1; /* small segments must hold a group */
    }
}

static void state_apply(struct tracked_state *s, const struct tracked_group *g)
{
    for (unsigned i = 0; i < g->len; i++)
        s->version[g->change[i].index] = g->change[i].version;
}

void tracked_mind_apply(struct tracked_mind *m, const struct tracked_group *g)
{
    for (unsigned i = 0; i < m->count; i++)
        state_apply(&m->states[i], g);
}

void tracked_mind_doubt(struct tracked_mind *m, const struct tracked_group *g)
{
    unsigned count = m->count;

    assert(2 * count <= TRACKED_STATES);
    for (unsigned i = 0; i < count; i++) {
        m->states[count + i] = m->states[i];
        state_apply(&m->states[count + i], g);
    }
    m->count = 2 * count;
}

/* An answer: key `index` is there in `version`, as far as the bytes show. */
static bool fits(unsigned index, uint32_t version, const struct rn_view *value)
{
    if (!version || !value)
        return !version && !value;
    return rn_view_eq(tracked_value(index, version), *value);
}

/* Keeps the states that `value` (NULL: absent) does not contradict. */
static void learn(struct tracked_mind *m, unsigned index,
                  const struct rn_view *value, const char *how,
                  struct tracked_report *r)
{
    unsigned kept = 0;
    uint32_t wanted = m->states[0].version[index];

    for (unsigned i = 0; i < m->count; i++) {
        if (fits(index, m->states[i].version[index], value))
            m->states[kept++] = m->states[i];
    }
    if (!kept) {
        tracked_lie(r, "phase %d: %s: key %u is %s, it should be at %u",
                    r->phase, how, index, value ? "another value" : "absent",
                    wanted);
        return;
    }
    m->count = kept;
    r->right++;
}

/* Faults that say so are no lies. */
static bool is_excused(enum rn_code rc, struct tracked_report *r)
{
    if (rc == RN_CORRUPT)
        r->corrupt++;
    return rc == RN_CORRUPT || rc == RN_IO || rc == RN_NOMEM ||
           rc == RN_TIMEOUT;
}

static void read_gets(struct rn_txn *t, struct tracked_mind *m,
                      struct tracked_report *r)
{
    for (unsigned i = 0; i < TRACKED_KEYS && !r->lied; i++) {
        struct rn_view value;
        enum rn_code rc = rn_txn_get(t, tracked_key(i), &value);

        if (!rc)
            learn(m, i, &value, "get", r);
        else if (rc == RN_NOT_FOUND)
            learn(m, i, NULL, "get", r);
        else if (!is_excused(rc, r))
            tracked_lie(r, "get: %s", rn_txn_why(t, rc));
    }
}

/* The keys between two answers of a scan must be absent. */
static void scan_gap(struct tracked_mind *m, unsigned from, unsigned to,
                     struct tracked_report *r)
{
    for (unsigned i = from; i < to && !r->lied; i++)
        learn(m, tracked_in_order(i), NULL, "scan", r);
}

/* Keys in order from place `low` up to before `high`. */
static void read_scan(struct rn_txn *t, unsigned low, unsigned high,
                      bool backward, struct tracked_mind *m,
                      struct tracked_report *r)
{
    char bounds[2][RN_KEY_MAX];
    struct rn_key_interval range = { .backward = backward };
    struct rn_cursor *c = NULL;
    unsigned a = low, b = high;
    enum rn_code rc;

    if (low > 0) {
        struct rn_view key = tracked_key(tracked_in_order(low));
        memcpy(bounds[0], key.at, key.len);
        range.from = rn_view_of(bounds[0], key.len);
    }
    if (high < TRACKED_KEYS) {
        struct rn_view key = tracked_key(tracked_in_order(high));
        memcpy(bounds[1], key.at, key.len);
        range.before = rn_view_of(bounds[1], key.len);
    }
    rc = rn_txn_scan(t, &range, &c);
    while (!rc && !r->lied) {
        struct rn_view key, value;
        unsigned at;

        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        at = place_of(key);
        if (at < a || at >= b) {
            tracked_lie(r, "scan: a key that nobody wrote there");
            break;
        }
        scan_gap(m, backward ? at + 1 : a, backward ? b : at, r);
        learn(m, tracked_in_order(at), &value, "scan", r);
        if (backward)
            b = at;
        else
            a = at + 1;
    }
    if (rc == RN_NOT_FOUND)
        scan_gap(m, a, b, r);
    else if (rc && !is_excused(rc, r))
        tracked_lie(r, "scan: %s", rn_txn_why(t, rc));
    rn_cursor_end(c);
}

void tracked_read_all(struct rn_store *s, struct tracked_mind *m,
                      struct tracked_dice *d, struct tracked_report *r)
{
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };
    enum rn_code rc =
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err);

    if (rc) {
        if (!is_excused(rc, r))
            tracked_lie(r, "begin(READ): %s", err.text);
        return;
    }
    read_gets(t, m, r);
    read_scan(t, 0, TRACKED_KEYS, false, m, r);
    read_scan(t, 0, TRACKED_KEYS, true, m, r);
    for (int i = 0; i < 4; i++) {
        unsigned low = (unsigned)tracked_below(d, TRACKED_KEYS);
        unsigned high =
            low + (unsigned)tracked_below(d, TRACKED_KEYS - low) + 1;
        read_scan(t, low, high, i % 2, m, r);
    }
    rn_txn_abort(t);
}

static enum rn_code put_group(struct rn_txn *t, const struct tracked_group *g,
                              struct tracked_report *r)
{
    enum rn_code rc = RN_OK;

    for (unsigned i = 0; !rc && i < g->len; i++) {
        unsigned index = g->change[i].index;
        uint32_t version = g->change[i].version;

        rc = version ? rn_txn_put(t, tracked_key(index),
                                  tracked_value(index, version))
                     : rn_txn_del(t, tracked_key(index));
        if (rc == RN_NOT_FOUND && !version)
            tracked_lie(r, "del: key %u is absent", index);
    }
    return rc;
}

enum rn_code tracked_commit(struct rn_store *s, enum rn_txn_mode mode,
                            const struct tracked_group *g,
                            struct tracked_mind *m, struct tracked_report *r,
                            struct rn_err *err)
{
    struct rn_txn *t = NULL;
    enum rn_code rc = rn_txn_begin(s, mode, (struct rn_lock){ 0 }, &t, err);

    if (rc)
        return rc;
    rc = put_group(t, g, r);
    if (rc) {
        rn_fail(err, rc, "%s", rn_txn_why(t, rc));
        rn_txn_abort(t);
        return rc;
    }
    rc = rn_txn_commit(t, err);
    if (!rc) {
        r->commits++;
        tracked_mind_apply(m, g);
    }
    if (rc == RN_UNKNOWN)
        tracked_mind_doubt(m, g);
    return rc;
}

/* ---- directories --------------------------------------------------------- */

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

void tracked_tree_load(struct tracked_tree *t, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[512];

    must(d, dir);
    t->count = 0;
    while (e = readdir(d), e) {
        struct tracked_file *f = &t->files[t->count];
        struct stat st;
        int fd;

        if (e->d_name[0] == '.' || e->d_type == DT_LNK)
            continue;
        must(t->count < TRACKED_FILES, "too many files");
        must(strlen(e->d_name) < TRACKED_NAME, e->d_name);
        memcpy(f->name, e->d_name, strlen(e->d_name) + 1);
        snprintf(path, sizeof(path), "%s/%s", dir, f->name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        must(fd >= 0 && fstat(fd, &st) == 0, path);
        f->len = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
        f->at = mmap(NULL, f->len + 1, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(f->at != MAP_FAILED, "mmap");
        /* Children have no use for it, and forking is quicker without. */
        must(madvise(f->at, f->len + 1, MADV_DONTFORK) == 0, "madvise");
        must(!f->len || read(fd, f->at, f->len) == (ssize_t)f->len, path);
        close(fd);
        t->count++;
    }
    closedir(d);
}

static void remove_files(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[512];

    must(d, dir);
    while (e = readdir(d), e) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        must(remove(path) == 0, path);
    }
    closedir(d);
}

void tracked_tree_store(const struct tracked_tree *t, const char *dir)
{
    char path[512];

    must(mkdir(dir, 0700) == 0 || errno == EEXIST, dir);
    remove_files(dir);
    for (unsigned i = 0; i < t->count; i++) {
        const struct tracked_file *f = &t->files[i];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", dir, f->name);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        must(fd >= 0 && write(fd, f->at, f->len) == (ssize_t)f->len, path);
        close(fd);
    }
}

void tracked_tree_release(struct tracked_tree *t)
{
    for (unsigned i = 0; i < t->count; i++)
        munmap(t->files[i].at, t->files[i].len + 1);
    t->count = 0;
}

struct tracked_file *tracked_tree_find(struct tracked_tree *t, const char *name)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (strcmp(t->files[i].name, name) == 0)
            return &t->files[i];
    }
    return NULL;
}

/* Order of names in the directory does not count. */
uint64_t tracked_tree_hash(const char *dir)
{
    struct tracked_tree t = { 0 };
    uint64_t sum = 0;

    tracked_tree_load(&t, dir);
    for (unsigned i = 0; i < t.count; i++) {
        sum += rn_hash64_two(rn_view_text(t.files[i].name),
                             rn_view_of(t.files[i].at, t.files[i].len),
                             t.files[i].len);
    }
    sum += t.count;
    tracked_tree_release(&t);
    return sum;
}

void tracked_dir_new(char *out, size_t room, const char *what)
{
    const char *base = getenv("RUNNEL_TEST_DIR");

    if (!base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(out, room, "%s/runnel-%s-XXXXXX", base, what);
    must(mkdtemp(out), out);
}

void tracked_dir_remove(const char *dir)
{
    remove_files(dir);
    must(rmdir(dir) == 0, dir);
}

/* ---- running ------------------------------------------------------------- */

struct tracked_report *tracked_report_new(void)
{
    void *at = mmap(NULL, sizeof(struct tracked_report), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    must(at != MAP_FAILED, "mmap");
    return at;
}

void tracked_fork(void (*run)(void *context), void *context, unsigned seconds,
                  struct tracked_report *shared)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(seconds);
        run(context);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0)
        must(errno == EINTR, "waitpid");
    if (WIFSIGNALED(status)) {
        tracked_lie(shared, "killed by signal %d (%s) in phase %d",
                    WTERMSIG(status), strsignal(WTERMSIG(status)),
                    shared->phase);
    } else if (WEXITSTATUS(status)) {
        tracked_lie(shared, "exit code %d in phase %d", WEXITSTATUS(status),
                    shared->phase);
    }
}

bool tracked_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

uint64_t tracked_number(const char *variable, uint64_t otherwise,
                        uint64_t sanitized)
{
    const char *text = getenv(variable);

    if (text && *text)
        return strtoull(text, NULL, 10);
    return tracked_is_sanitized() ? sanitized : otherwise;
}

uint64_t tracked_amount(const char *variable, uint64_t otherwise,
                        uint64_t sanitized, uint64_t prove)
{
    return tracked_number(variable, getenv("RUNNEL_PROVE") ? prove : otherwise,
                          sanitized);
}

double tracked_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
