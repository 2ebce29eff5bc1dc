/* clients.c -- see clients.h. */
#include "clients.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    VALUE_HEADER = 16,
    VALUE_MAX = 3000,
    THINK_NS_MAX = 2000000,
};

enum kind { PUT, DEL, BATCH, BATCH_FAILS, SLOPPY, SLICE, KINDS };

void clients_wrong(struct clients *c, const char *format, ...)
{
    va_list rest;

    if (c->wrong[0])
        return;
    va_start(rest, format);
    vsnprintf(c->wrong, sizeof(c->wrong), format, rest);
    va_end(rest);
}

/* ---- keys and values ----------------------------------------------------- */

static struct rn_view make_key(int key, char out[4])
{
    rn_put_u32_be(out, (uint32_t)key);
    return rn_view_of(out, 4);
}

/* Shows by itself which operation wrote it, where, and how long it is. */
static struct rn_view make_value(uint64_t id, int key, char out[VALUE_MAX])
{
    size_t len = VALUE_HEADER + id * 2654435761u % (VALUE_MAX - VALUE_HEADER);

    memset(out, (int)(id % 251), len);
    rn_put_u64(out, id);
    rn_put_u64(out + 8, (uint64_t)key);
    return rn_view_of(out, len);
}

/* The id of a stored value; 0 if it is not what that operation wrote. */
static uint64_t id_of(struct rn_view value, int key)
{
    char whole[VALUE_MAX];
    uint64_t id = value.len < VALUE_HEADER ? 0 : rn_get_u64(value.at);

    return id && rn_view_eq(value, make_value(id, key, whole)) ? id : 0;
}

/* Reads everything there is. */
static void load(struct clients *c, struct rn_store *store,
                 uint64_t out[CLIENT_KEYS])
{
    struct rn_key_interval all = { 0 };
    struct rn_err err = { 0 };
    struct rn_cursor *cursor = NULL;
    struct rn_view key, value;
    struct rn_txn *t = NULL;
    enum rn_code rc =
        rn_txn_begin(store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err);

    memset(out, 0, CLIENT_KEYS * sizeof(out[0]));
    if (!rc)
        rc = rn_txn_scan(t, &all, &cursor);
    while (!rc && !(rc = rn_cursor_next(cursor, &key, &value))) {
        uint32_t k = key.len == 4 ? rn_get_u32_be(key.at) : CLIENT_KEYS;
        if (k >= CLIENT_KEYS || !id_of(value, (int)k))
            clients_wrong(c, "a key or value that nobody wrote");
        else
            out[k] = id_of(value, (int)k);
    }
    if (rc != RN_NOT_FOUND)
        clients_wrong(c, "reading: %s", rn_code_name(rc));
    rn_cursor_end(cursor);
    rn_txn_abort(t);
}

static bool is_same(const uint64_t a[CLIENT_KEYS],
                    const uint64_t b[CLIENT_KEYS])
{
    return memcmp(a, b, CLIENT_KEYS * sizeof(a[0])) == 0;
}

/* ---- operations ---------------------------------------------------------- */

static enum rn_code see(struct client *c, struct rn_txn *txn, unsigned i)
{
    char key[4];
    struct rn_view value;
    enum rn_code rc = rn_txn_get(txn, make_key(c->key[i], key), &value);

    if (rc && rc != RN_NOT_FOUND)
        return rc;
    c->seen[i] = rc ? 0 : id_of(value, c->key[i]);
    c->seen_len = i + 1;
    if (!rc && !c->seen[i])
        clients_wrong(c->all, "key %d: a value that nobody wrote", c->key[i]);
    return RN_OK;
}

static enum rn_code write_one(struct client *c, struct rn_txn *txn, unsigned i)
{
    char key[4], value[VALUE_MAX];
    enum rn_code rc;

    if (c->del[i])
        rc = rn_txn_del(txn, make_key(c->key[i], key));
    else
        rc = rn_txn_put(txn, make_key(c->key[i], key),
                        make_value(c->id, c->key[i], value));
    if (rc)
        return rc;
    c->effect_key[c->effect_len] = c->key[i];
    c->effect_id[c->effect_len++] = c->del[i] ? 0 : c->id;
    return RN_OK;
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct client *c = (struct client *)op;
    enum rn_code rc = RN_OK;

    c->seen_len = c->effect_len = 0;
    for (unsigned i = 0; !rc && i < c->writes; i++) {
        rc = see(c, txn, i);
        if (!rc && i == c->fail_at)
            rc = RN_CONFLICT;
        if (!rc)
            rc = write_one(c, txn, i);
        if (rc == RN_NOT_FOUND && c->writes > 1)
            rc = RN_OK; /* a batch does not mind */
    }
    if (rc)
        c->effect_len = 0;
    return rc;
}

/* What an operation saw is what those answered before it have left. */
static void check_seen(struct client *c)
{
    for (unsigned i = 0; i < c->seen_len; i++) {
        if (c->seen[i] == c->all->model[c->key[i]])
            continue;
        clients_wrong(c->all, "operation %llu saw %llu in key %d, not %llu",
                      (unsigned long long)c->id, (unsigned long long)c->seen[i],
                      c->key[i], (unsigned long long)c->all->model[c->key[i]]);
    }
}

static void apply(const struct client *c, uint64_t model[CLIENT_KEYS])
{
    for (unsigned i = 0; i < c->effect_len; i++)
        model[c->effect_key[i]] = c->effect_id[i];
}

static void answered(struct client *c, enum rn_code rc)
{
    struct clients *all = c->all;

    switch (rc) {
    case RN_OK:
        check_seen(c);
        if (all->ended)
            clients_wrong(all, "RN_OK after the store's last word");
        apply(c, all->model);
        all->acked++;
        break;
    case RN_NOT_FOUND:
    case RN_CONFLICT:
        check_seen(c);
        break;
    case RN_UNKNOWN:
        if (all->ended && !all->has_unknown)
            clients_wrong(all, "RN_UNKNOWN after the store's last word");
        if (!all->has_unknown)
            memcpy(all->unknown, all->model, sizeof(all->model));
        all->has_unknown = true;
        apply(c, all->unknown);
        all->unknowns++;
        all->ended = true;
        break;
    case RN_READ_ONLY:
        all->ended = true;
        break;
    case RN_FULL:
        all->full++;
        break;
    case RN_IO:
    case RN_BUSY:
        break;
    default:
        clients_wrong(all, "an operation is answered: %s", rn_code_name(rc));
    }
    all->refused += rc != RN_OK;
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct client *c = (struct client *)op;

    if (!c->busy)
        clients_wrong(c->all, "answered twice");
    if (rc && !err->text[0])
        clients_wrong(c->all, "%s without words", rn_code_name(rc));
    c->busy = false;
    answered(c, rc);
}

/* ---- clients ------------------------------------------------------------- */

/* Different keys, so that an operation does not see its own writes. */
static void draw_keys(struct client *c)
{
    uint64_t first = rn_prng_below(c->all->prng, CLIENT_KEYS);

    for (unsigned i = 0; i < c->writes; i++)
        c->key[i] = (int)((first + i * 7) % CLIENT_KEYS);
}

static void draw_operation(struct client *c)
{
    static const unsigned flags[KINDS] = {
        [DEL] = RN_OPERATION_FREES,
        [BATCH] = RN_OPERATION_MULTI,
        [BATCH_FAILS] = RN_OPERATION_MULTI,
        [SLICE] = RN_OPERATION_MULTI | RN_OPERATION_BACKGROUND,
    };
    struct rn_prng *prng = c->all->prng;
    unsigned kind = (unsigned)rn_prng_below(prng, KINDS + 2);

    if (kind >= KINDS)
        kind = PUT;
    c->op = (struct rn_operation){
        .run = run, .done = done, .flags = flags[kind], .bytes = VALUE_MAX
    };
    c->seen_len = c->effect_len = 0; /* it may never run */
    c->id = ++c->all->next_id;
    c->writes = kind == PUT || kind == DEL
                    ? 1
                    : 2 + (unsigned)rn_prng_below(prng, CLIENT_WRITES_MAX - 1);
    c->fail_at = CLIENT_WRITES_MAX;
    if (kind == BATCH_FAILS || kind == SLOPPY)
        c->fail_at = (unsigned)rn_prng_below(prng, c->writes);
    draw_keys(c);
    for (unsigned i = 0; i < c->writes; i++)
        c->del[i] = kind == DEL || (kind != PUT && i % 3 == 2);
}

static int64_t think(void *context)
{
    struct clients *c = context;

    for (int i = 0; i < CLIENTS; i++) {
        struct client *one = &c->client[i];
        if (one->busy || rn_prng_percent(c->prng, 40))
            continue;
        draw_operation(one);
        one->busy = true;
        if (rn_committer_queue(c->committer, &one->op))
            clients_wrong(c, "an operation is not taken");
    }
    return (int64_t)rn_prng_below(c->prng, THINK_NS_MAX);
}

static int64_t look(void *context)
{
    struct clients *c = context;
    uint64_t found[CLIENT_KEYS];

    load(c, c->store, found);
    if (!is_same(found, c->model))
        clients_wrong(c, "a reader sees what was not answered, or misses what "
                         "was");
    c->reads++;
    return (int64_t)rn_prng_below(c->prng, 4 * THINK_NS_MAX);
}

void clients_init(struct clients *c, struct rn_sim *sim)
{
    *c = (struct clients){ .env = rn_sim_env(sim), .prng = rn_sim_prng(sim) };
    for (int i = 0; i < CLIENTS; i++)
        c->client[i].all = c;
}

enum rn_code clients_start(struct clients *c, struct rn_store *store,
                           struct rn_err *err)
{
    struct rn_committer_opts opts = { 0 };
    enum rn_code rc;

    c->store = store;
    c->ended = false;
    c->task =
        (struct rn_task){ .name = "clients", .step = think, .context = c };
    c->reader =
        (struct rn_task){ .name = "reader", .step = look, .context = c };
    rc = rn_committer_new(c->env, store, &opts, &c->committer, err);
    if (rc)
        return rc;
    if (c->env->ops->task_start(c->env, &c->task) ||
        c->env->ops->task_start(c->env, &c->reader))
        return rn_fail(err, RN_NOMEM, "starting the clients");
    return RN_OK;
}

void clients_stop(struct clients *c)
{
    c->env->ops->task_stop(c->env, &c->task);
    c->env->ops->task_stop(c->env, &c->reader);
    rn_committer_free(c->committer);
    c->committer = NULL;
    for (int i = 0; i < CLIENTS; i++) {
        if (c->client[i].busy)
            clients_wrong(c, "an operation was never answered");
    }
}

void clients_resolve(struct clients *c, struct rn_store *store)
{
    uint64_t found[CLIENT_KEYS];

    load(c, store, found);
    if (c->has_unknown && is_same(found, c->unknown))
        memcpy(c->model, c->unknown, sizeof(c->model));
    else if (!is_same(found, c->model))
        clients_wrong(c, "after opening, the store is not what was promised%s",
                      c->has_unknown ? ", with or without what was unknown"
                                     : "");
    c->has_unknown = false;
}
