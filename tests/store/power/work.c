/* work.c -- see work.h.
 *
 * Keys: "g" holds number and generation of the last group; 'k' and a number,
 * with a tail of its own length, the rest.  A value starts with where it comes
 * from and goes on with a part of a fixed pool of noise, so that comparing
 * costs no more than memcmp.
 */
#include "work.h"
#include "store/local/maintenance.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    KEY_TAIL_MAX = 40,
    VALUE_HEADER = 24,
    VALUE_MAX = 16 << 10,
    POOL_BYTES = 64 << 10,
    GROUP_BYTES_MAX = 96 << 10, /* well within the smallest segment */
    RUN = 20,                   /* neighbours written or deleted together */
};

enum write_kind { WRITE_PUT, WRITE_DEL, WRITE_DEL_RUN };

struct write {
    enum write_kind kind;
    uint32_t key, len;
};

struct group {
    struct write write[WORK_WRITES_MAX];
    unsigned len;
    bool shrinks;
};

bool work_fail(struct work *w, const char *format, ...)
{
    va_list rest;

    if (w->text[0])
        return false;
    va_start(rest, format);
    vsnprintf(w->text, sizeof(w->text), format, rest);
    va_end(rest);
    return false;
}

/* ---- the env ------------------------------------------------------------- */

static int64_t still_ms(struct rn_env *env)
{
    (void)env;
    return INT64_C(1700000000000);
}

static int64_t still_ns(struct rn_env *env)
{
    (void)env;
    return INT64_C(1000000000);
}

static void no_sleep(struct rn_env *env, int64_t ns)
{
    (void)env;
    (void)ns;
}

static void fixed_random(struct rn_env *env, void *out, size_t len)
{
    (void)env;
    memset(out, 0x5a, len);
}

struct rn_env *work_env(void)
{
    static struct rn_env_ops ops;
    static struct rn_env env;

    if (!env.ops) {
        ops = *rn_env_real()->ops;
        ops.wall_ms = still_ms;
        ops.mono_ns = still_ns;
        ops.sleep = no_sleep;
        ops.random = fixed_random;
        env.ops = &ops;
    }
    return &env;
}

/* ---- groups, keys and values --------------------------------------------- */

static uint32_t draw_len(struct dice *d)
{
    uint64_t kind = dice_below(d, 100);

    if (kind < 5) /* overflow pages */
        return 4100 + (uint32_t)dice_below(d, VALUE_MAX - 4100);
    if (kind < 12) /* alone on a page, or just not */
        return 1800 + (uint32_t)dice_below(d, 2400);
    return 100 + (uint32_t)dice_below(d, 1400);
}

static void add_write(struct group *g, enum write_kind kind, uint32_t key,
                      uint32_t len)
{
    if (g->len < WORK_WRITES_MAX)
        g->write[g->len++] = (struct write){ kind, key, len };
}

static void draw_run(const struct work_plan *p, struct dice *d,
                     struct group *out)
{
    uint32_t first = (uint32_t)dice_below(d, p->keys);

    for (uint32_t i = 0; i < RUN; i++)
        add_write(out, WRITE_PUT, (first + i) % p->keys,
                  100 + (uint32_t)dice_below(d, 900));
}

static void draw_group(const struct work_plan *p, uint64_t number,
                       uint16_t generation, struct group *out)
{
    struct dice d = dice_of(p->seed ^ number << 20, generation);
    uint64_t kind = dice_below(&d, 100), writes = 1 + dice_below(&d, 9);
    unsigned dels = number % 60 < 40 ? 12 : 60;
    uint32_t bytes = 0;

    out->len = 0;
    out->shrinks = kind >= 97;
    if (kind < 6) {
        add_write(out, WRITE_DEL_RUN, (uint32_t)dice_below(&d, p->keys), 0);
        return;
    }
    if (kind < 11) {
        draw_run(p, &d, out);
        return;
    }
    for (uint64_t i = 0; i < writes && bytes < GROUP_BYTES_MAX; i++) {
        bool near = dice_percent(&d, 33);
        uint32_t key = (uint32_t)dice_below(&d, near ? 20 : p->keys);
        bool del = dice_percent(&d, dels);
        uint32_t len = del ? 0 : draw_len(&d);
        add_write(out, del ? WRITE_DEL : WRITE_PUT, key, len);
        bytes += len;
    }
}

static struct rn_view make_key(uint32_t key, char out[RN_KEY_MAX])
{
    struct dice d = dice_of(77, key);
    size_t tail = dice_below(&d, KEY_TAIL_MAX);

    out[0] = 'k';
    rn_put_u32_be(out + 1, key);
    for (size_t i = 0; i < tail; i++)
        out[5 + i] = (char)dice_next(&d);
    return rn_view_of(out, 5 + tail);
}

static const char *pool(void)
{
    static uint64_t bytes[(POOL_BYTES + VALUE_MAX) / 8];
    static bool filled;
    struct dice d = { 1 };

    for (size_t i = 0; !filled && i < sizeof(bytes) / 8; i++)
        bytes[i] = dice_next(&d);
    filled = true;
    return (const char *)bytes;
}

struct value {
    uint64_t number;
    uint32_t key, len;
    uint16_t generation;
};

static void value_header(const struct value *v, char out[VALUE_HEADER])
{
    rn_put_u64(out, v->number);
    rn_put_u64(out + 8, v->key);
    rn_put_u64(out + 16, v->generation);
}

static const char *value_rest(const struct value *v)
{
    return pool() +
           dice_mix(v->number << 24 ^ v->key << 8 ^ v->generation) % POOL_BYTES;
}

static struct rn_view make_value(const struct value *v, char out[VALUE_MAX])
{
    value_header(v, out);
    memcpy(out + VALUE_HEADER, value_rest(v), v->len - VALUE_HEADER);
    return rn_view_of(out, v->len);
}

static bool is_value(const struct value *v, struct rn_view found)
{
    char header[VALUE_HEADER];

    value_header(v, header);
    return found.len == v->len && memcmp(found.at, header, VALUE_HEADER) == 0 &&
           memcmp(found.at + VALUE_HEADER, value_rest(v),
                  v->len - VALUE_HEADER) == 0;
}

/* ---- writing ------------------------------------------------------------- */

/* Deletes whatever is found from `key` on, as long as the run goes. */
static enum rn_code del_run(struct rn_txn *t, uint32_t key)
{
    enum rn_code rc = RN_OK;

    for (uint32_t k = key; !rc && k < key + RUN; k++) {
        char text[RN_KEY_MAX], from[5] = { 'k' }, before[5] = { 'k' };
        struct rn_cursor *c = NULL;
        struct rn_view found, value;
        struct rn_key_interval range = { .from = { from, 5 },
                                         .before = { before, 5 } };

        rn_put_u32_be(from + 1, k);
        rn_put_u32_be(before + 1, key + RUN);
        rc = rn_txn_scan(t, &range, &c);
        if (rc)
            return rc;
        rc = rn_cursor_next(c, &found, &value);
        if (!rc)
            memcpy(text, found.at, found.len);
        rn_cursor_end(c);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
        k = rn_get_u32_be(text + 1);
        rc = rn_txn_del(t, rn_view_of(text, found.len));
    }
    return rc;
}

static enum rn_code do_write(struct rn_txn *t, const struct write *w,
                             uint64_t number, uint16_t generation)
{
    static char bytes[VALUE_MAX];
    struct value v = { number, w->key, w->len, generation };
    char key[RN_KEY_MAX];
    enum rn_code rc;

    if (w->kind == WRITE_PUT)
        return rn_txn_put(t, make_key(w->key, key), make_value(&v, bytes));
    if (w->kind == WRITE_DEL_RUN)
        return del_run(t, w->key);
    rc = rn_txn_del(t, make_key(w->key, key));
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code do_group(struct rn_txn *t, const struct group *g,
                             uint64_t number, uint16_t generation)
{
    char mark[10];
    enum rn_code rc;

    rn_put_u64(mark, number);
    rn_put_u16(mark + 8, generation);
    rc = rn_txn_put(t, RN_LIT("g"), rn_view_of(mark, sizeof(mark)));
    for (unsigned i = 0; !rc && i < g->len; i++)
        rc = do_write(t, &g->write[i], number, generation);
    return rc;
}

/* A transaction that is given up must leave no trace. */
static bool abort_one(struct work *w)
{
    struct rn_err err = { 0 };
    struct rn_txn *t = NULL;
    struct group g;
    enum rn_code rc =
        rn_txn_begin(w->store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &t, &err);

    if (rc)
        return work_fail(w, "begin: %s", err.text);
    draw_group(w->plan, w->number + 1000, w->generation, &g);
    rc = do_group(t, &g, w->number + 1000, w->generation);
    rn_txn_abort(t);
    return rc ? work_fail(w, "a write: %s", rn_code_name(rc)) : true;
}

/* Any interval of rows: there is not enough here for a thin one. */
static void thin_some(struct work *w)
{
    char key[RN_KEY_MAX];
    uint32_t first = (uint32_t)dice_below(&w->dice, w->plan->keys);
    struct rn_key_interval interval = { .from = make_key(first, key) };

    w->rewritten += !rn_defrag_rewrite((struct rn_local *)w->store, &interval);
}

void work_keep(struct work *w)
{
    struct rn_local *l = (struct rn_local *)w->store;

    while (dice_percent(&w->dice, w->plan->keep_percent))
        (void)rn_local_maintain(l);
    while (dice_percent(&w->dice, w->plan->thin_percent))
        thin_some(w);
}

void work_settle(struct work *w)
{
    struct rn_err err;

    (void)!rn_flush_all((struct rn_local *)w->store, &err);
}

enum rn_code work_try(struct work *w, struct rn_err *err)
{
    uint64_t number = w->number + 1;
    struct rn_txn *t = NULL;
    struct group g;
    enum rn_code rc;

    draw_group(w->plan, number, w->generation, &g);
    rc = rn_txn_begin(w->store, g.shrinks ? RN_TXN_SHRINK : RN_TXN_WRITE,
                      (struct rn_lock){ 0 }, &t, err);
    if (rc)
        return rc;
    rc = do_group(t, &g, number, w->generation);
    if (rc) {
        rn_fail(err, rc, "writing: %s", rn_txn_why(t, rc));
        rn_txn_abort(t);
        return rc;
    }
    record_note(EVENT_BEGIN, number, w->generation);
    rc = rn_txn_commit(t, err);
    if (!rc)
        record_note(EVENT_ACKED, number, 0);
    else if (rc != RN_UNKNOWN)
        record_note(EVENT_REFUSED, number, 0);
    w->number += !rc;
    return rc;
}

bool work_commit(struct work *w)
{
    struct rn_err err = { 0 };
    enum rn_code rc = work_try(w, &err);

    return rc ? work_fail(w, "%s: %s", rn_code_name(rc), err.text) : true;
}

bool work_commits(struct work *w, uint32_t groups)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < groups; i++) {
        if (dice_percent(&w->dice, 4))
            ok = abort_one(w);
        ok = ok && work_commit(w);
        work_keep(w);
    }
    return ok;
}

/* ---- reading ------------------------------------------------------------- */

static bool read_mark(struct work *w, struct rn_txn *t, uint64_t *number,
                      uint16_t *generation)
{
    struct rn_view mark;
    enum rn_code rc = rn_txn_get(t, RN_LIT("g"), &mark);

    *number = 0;
    *generation = 0;
    if (rc == RN_NOT_FOUND)
        return true;
    if (rc || mark.len != 10)
        return work_fail(w, "reading the mark: %s", rn_txn_why(t, rc));
    *number = rn_get_u64(mark.at);
    *generation = rn_get_u16(mark.at + 8);
    return true;
}

bool work_can_read(struct work *w)
{
    struct rn_txn *t = NULL;
    enum rn_code rc =
        rn_txn_begin(w->store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL);

    rn_txn_abort(t);
    return !rc;
}

bool work_visible(struct work *w, uint64_t *number)
{
    struct rn_err err = { 0 };
    struct rn_txn *t = NULL;
    uint16_t generation;
    bool ok;

    if (rn_txn_begin(w->store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err))
        return work_fail(w, "begin: %s", err.text);
    ok = read_mark(w, t, number, &generation);
    rn_txn_abort(t);
    return ok;
}

static void peek(void *context)
{
    uint64_t number = 0;

    if (work_can_read(context) && work_visible(context, &number))
        record_note(EVENT_SEEN, number, 0);
}

bool work_open(struct work *w, const struct work_plan *plan, const char *dir)
{
    struct rn_store_opts opts = {
        .env = work_env(),
        .where = dir,
        .map_bytes = 64 << 20,
        .readers_max = 8,
        .segment_bytes = plan->segment_bytes,
        .wal_bytes = plan->wal_bytes,
        .memtable_bytes = plan->memtable_bytes,
        .checkpoint_bytes = plan->checkpoint_bytes,
        .checkpoint_ms = 1000000,
        .reserve_bytes = 1,
        .ahead_bytes = 64 << 10,
        .manual = true,
    };
    struct rn_err err = { 0 };

    w->plan = plan;
    w->store = NULL;
    w->text[0] = '\0';
    record_before_sync(NULL, NULL);
    w->code = rn_store_open("local", &opts, &w->store, &err);
    if (w->code)
        return work_fail(w, "open: %s", err.text);
    if (!work_visible(w, &w->number))
        return false;
    record_note(EVENT_SERVED, w->number, 0);
    record_before_sync(peek, w);
    return true;
}

void work_close(struct work *w)
{
    record_before_sync(NULL, NULL);
    rn_store_close(w->store);
    w->store = NULL;
}

/* ---- the model ----------------------------------------------------------- */

static void model_group(const struct work_plan *p, uint64_t number,
                        uint16_t generation, struct value model[WORK_KEYS_MAX])
{
    struct group g;

    draw_group(p, number, generation, &g);
    for (unsigned i = 0; i < g.len; i++) {
        const struct write *w = &g.write[i];
        uint32_t run = w->kind == WRITE_DEL_RUN ? RUN : 1;
        for (uint32_t k = w->key; k < w->key + run && k < p->keys; k++)
            model[k].len = 0;
        if (w->kind == WRITE_PUT)
            model[w->key] =
                (struct value){ number, w->key, w->len, generation };
    }
}

static bool check_entry(struct work *w, const struct value *v,
                        struct rn_view key, struct rn_view value)
{
    char text[RN_KEY_MAX];

    if (!rn_view_eq(key, make_key(v->key, text)))
        return work_fail(w, "key %u is missing, or another is there", v->key);
    if (!is_value(v, value))
        return work_fail(w, "key %u: not what group %llu wrote", v->key,
                         (unsigned long long)v->number);
    return true;
}

static bool check_entries(struct work *w, struct rn_cursor *c,
                          const struct value model[WORK_KEYS_MAX])
{
    struct rn_view key, value;
    enum rn_code rc;

    for (uint32_t k = 0; k < w->plan->keys; k++) {
        if (!model[k].len)
            continue;
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            return work_fail(w, "scanning to key %u: %s", k,
                             rn_txn_why(c->txn, rc));
        if (!check_entry(w, &model[k], key, value))
            return false;
    }
    rc = rn_cursor_next(c, &key, &value);
    if (rc != RN_NOT_FOUND)
        return work_fail(w, "more keys than there should be");
    return true;
}

bool work_check(struct work *w, const uint16_t generation[DISK_GROUPS_MAX])
{
    static struct value model[WORK_KEYS_MAX];
    struct rn_key_interval all = { .from = RN_LIT("k") };
    struct rn_cursor *c = NULL;
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };
    uint64_t number = 0;
    uint16_t of = 0;
    bool ok;

    if (rn_txn_begin(w->store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err))
        return work_fail(w, "begin: %s", err.text);
    memset(model, 0, sizeof(model));
    for (uint64_t n = 1; n <= w->number; n++)
        model_group(w->plan, n, generation[n], model);
    ok = read_mark(w, t, &number, &of);
    if (ok && (number != w->number || (number && of != generation[number])))
        ok = work_fail(w, "group %llu of life %u is there, not %llu of %u",
                       (unsigned long long)number, of,
                       (unsigned long long)w->number, generation[w->number]);
    if (ok && rn_txn_scan(t, &all, &c))
        ok = work_fail(w, "scan");
    ok = ok && check_entries(w, c, model);
    rn_cursor_end(c);
    rn_txn_abort(t);
    return ok;
}
