/* local_rows.c -- keys, values and cursors of the embedded store.
 *
 * A lookup reads the memtables first, the newer before the older, and then the
 * map; a scan merges all of them.
 */
#include "store/local/local_rows.h"

#include "store/local/local.h"
#include "store/wal/redo.h"

enum { TABLES = 2, SOURCES = TABLES + 1, MAP = TABLES };

/* Reading the clock takes as long as a step to the next row.  So a scan reads
 * it once for about this many bytes returned, with so many added for a row. */
enum { LOOK_BYTES = 64 << 10, ROW_BYTES = 1 << 10 };

/* Each source holds its first row until that has been returned or hidden; then
 * the source is due to advance. */
struct local_cursor {
    struct rn_cursor base;
    const struct rn_memtable_entry *rows[TABLES]; /* NULL at the end */
    struct rn_map_cursor *map;                    /* NULL at the end */
    struct rn_view key, value;                    /* of the map */
    bool due[SOURCES];
    size_t unlooked; /* returned since the last check of the age */
};

static struct rn_local_txn *own(struct rn_txn *t)
{
    return (struct rn_local_txn *)t;
}

static struct rn_local *local_of(struct rn_txn *t)
{
    return (struct rn_local *)t->store;
}

/* A reader keeps LMDB from reusing pages, so no reader may stay for long. */
static enum rn_code check_age(struct rn_txn *base)
{
    struct rn_local *l = local_of(base);
    int64_t age;

    if (base->mode != RN_TXN_READ)
        return RN_OK;
    age = rn_mono_ns(l->env) - own(base)->begun_ns;
    if (age <= (int64_t)l->opts.reader_ms_max * 1000000)
        return RN_OK;
    return rn_fail(&base->fault, RN_TIMEOUT, "a read took more than %u ms",
                   l->opts.reader_ms_max);
}

static enum rn_code tell_damage(struct rn_txn *base)
{
    struct rn_local *l = local_of(base);
    struct rn_map_stat map;

    l->map->ops->stat(l->map, &map);
    pthread_mutex_lock(&l->state);
    l->counts.corrupt_total++;
    pthread_mutex_unlock(&l->state);
    if (!map.damaged_at && !(map.damaged_suffix && *map.damaged_suffix))
        return rn_fail(&base->fault, RN_CORRUPT, "%s/map-%llu: damaged record",
                       l->dir, (unsigned long long)l->generation);
    return rn_fail(&base->fault, RN_CORRUPT,
                   "%s/map-%llu%s: damaged at offset %llu", l->dir,
                   (unsigned long long)l->generation, map.damaged_suffix,
                   (unsigned long long)map.damaged_at);
}

static enum rn_code note_damage(struct rn_txn *base, enum rn_code rc)
{
    return rc == RN_CORRUPT ? tell_damage(base) : rc;
}

/* ---- keys and values ----------------------------------------------------- */

static enum rn_code get(struct rn_txn *base, struct rn_view key,
                        struct rn_view *out)
{
    struct rn_local_txn *t = own(base);

    for (int i = 0; i < TABLES; i++) {
        const struct rn_memtable_entry *e =
            t->tables[i] ? rn_memtable_find(t->tables[i], t->seq, key) : NULL;
        if (e) {
            *out = e->value;
            return e->gone ? RN_NOT_FOUND : RN_OK;
        }
    }
    return local_of(base)->map->ops->get(t->map, key, out);
}

enum rn_code rn_local_get(struct rn_txn *base, struct rn_view key,
                          struct rn_view *out)
{
    enum rn_code rc = check_age(base);

    return rc ? rc : note_damage(base, get(base, key, out));
}

/* Writing on over damage could spread it: stop.  A transaction whose write
 * failed cannot be committed, so any failure is final, except RN_NOT_FOUND of a
 * delete. */
static enum rn_code write_failed(struct rn_txn *base, enum rn_code rc)
{
    if (rc == RN_NOT_FOUND)
        return rc;
    if (rc == RN_CORRUPT) {
        own(base)->failed = true;
        rn_local_poison(local_of(base),
                        "the map is damaged; see runnel verify");
    }
    if (rc == RN_TOO_LARGE)
        rc = rn_fail(&base->fault, RN_FULL, "%s: a group is too large",
                     local_of(base)->dir);
    return note_damage(base, rc);
}

static enum rn_code log_write(struct rn_local *l, struct rn_redo write)
{
    size_t need = RN_REDO_HEADER + write.key.len + write.value.len;

    /* A record and its padding must fit a segment. */
    if (l->redo.len + need + RN_WAL_BLOCK + RN_WAL_FOOTERS >
        l->opts.segment_bytes)
        return RN_TOO_LARGE;
    return rn_redo_add(&l->redo, &write);
}

enum rn_code rn_local_put(struct rn_txn *base, struct rn_view key,
                          struct rn_view value)
{
    struct rn_local_txn *t = own(base);
    enum rn_code rc =
        log_write(local_of(base), (struct rn_redo){ RN_REDO_PUT, key, value });

    if (!rc)
        rc = rn_memtable_put(t->tables[0], t->seq, key, value);
    return rc ? write_failed(base, rc) : RN_OK;
}

enum rn_code rn_local_del(struct rn_txn *base, struct rn_view key)
{
    struct rn_local_txn *t = own(base);
    struct rn_view value;
    enum rn_code rc = get(base, key, &value);

    if (!rc)
        rc = log_write(local_of(base),
                       (struct rn_redo){ .kind = RN_REDO_DEL, .key = key });
    if (!rc)
        rc = rn_memtable_delete(t->tables[0], t->seq, key);
    return rc ? write_failed(base, rc) : RN_OK;
}

/* ---- cursors ------------------------------------------------------------- */

enum rn_code rn_local_scan(struct rn_txn *base,
                           const struct rn_key_interval *range,
                           struct rn_cursor **out)
{
    struct local_cursor *c;
    enum rn_code rc = check_age(base);

    if (rc)
        return rc;
    c = rn_new(sizeof(*c));
    if (!c)
        return RN_NOMEM;
    rc = local_of(base)->map->ops->scan(own(base)->map, range, &c->map);
    if (rc) {
        rn_free(c);
        return note_damage(base, rc);
    }
    for (int i = 0; i < SOURCES; i++)
        c->due[i] = true;
    c->unlooked = LOOK_BYTES;
    *out = &c->base;
    return RN_OK;
}

/* An error leaves the map due, so that the next call tries again. */
static enum rn_code move_on(struct local_cursor *c)
{
    struct rn_local_txn *t = own(c->base.txn);
    const struct rn_map_ops *map = local_of(c->base.txn)->map->ops;
    enum rn_code rc = RN_OK;

    for (int i = 0; i < TABLES; i++) {
        if (c->due[i] && t->tables[i])
            c->rows[i] = rn_memtable_next(t->tables[i], t->seq, &c->base.range,
                                          c->rows[i]);
        c->due[i] = false;
    }
    if (c->due[MAP] && c->map)
        rc = map->next(c->map, &c->key, &c->value);
    if (rc == RN_NOT_FOUND) {
        map->end(c->map);
        c->map = NULL;
        rc = RN_OK;
    }
    c->due[MAP] = rc != RN_OK;
    return rc;
}

static bool shows(const struct local_cursor *c, int source)
{
    return source == MAP ? c->map != NULL : c->rows[source] != NULL;
}

static struct rn_view key_of(const struct local_cursor *c, int source)
{
    return source == MAP ? c->key : c->rows[source]->key;
}

/* The source of the next row, the newest of those that have its key, or -1;
 * marks all that have it as due. */
static int choose(struct local_cursor *c)
{
    int first = -1, order;

    for (int i = 0; i < SOURCES; i++) {
        if (!shows(c, i))
            continue;
        order =
            first < 0 ? -1 : rn_view_compare(key_of(c, i), key_of(c, first));
        if (first >= 0 && c->base.range.backward)
            order = -order;
        if (order < 0) {
            for (int j = 0; j < i; j++)
                c->due[j] = false;
            first = i;
        }
        c->due[i] = order <= 0;
    }
    return first;
}

/* True if only the map has rows left. */
static bool is_alone(const struct local_cursor *c)
{
    struct rn_local_txn *t = own(c->base.txn);

    for (int i = 0; i < TABLES; i++) {
        if (t->tables[i] && (c->rows[i] || c->due[i]))
            return false;
    }
    return c->map && c->due[MAP];
}

static enum rn_code next(struct local_cursor *c, struct rn_view *key,
                         struct rn_view *value)
{
    enum rn_code rc;
    int first;

    if (is_alone(c))
        return local_of(c->base.txn)->map->ops->next(c->map, key, value);
    do {
        rc = move_on(c);
        if (rc)
            return rc;
        first = choose(c);
        if (first < 0)
            return RN_NOT_FOUND;
    } while (first != MAP && c->rows[first]->gone);
    *key = key_of(c, first);
    *value = first == MAP ? c->value : c->rows[first]->value;
    return RN_OK;
}

enum rn_code rn_local_next(struct rn_cursor *base, struct rn_view *key,
                           struct rn_view *value)
{
    struct local_cursor *c = (struct local_cursor *)base;
    enum rn_code rc = RN_OK;

    if (c->unlooked >= LOOK_BYTES) {
        rc = check_age(base->txn);
        if (rc)
            return rc;
        c->unlooked = 0;
    }
    rc = next(c, key, value);
    if (!rc)
        c->unlooked += ROW_BYTES + value->len;
    return note_damage(base->txn, rc);
}

void rn_local_end(struct rn_cursor *base)
{
    struct local_cursor *c = (struct local_cursor *)base;

    if (c->map)
        local_of(base->txn)->map->ops->end(c->map);
    rn_free(c);
}
