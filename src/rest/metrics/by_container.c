/* by_container.c -- the metrics with labels for database and container.
 *
 *   runnel_request_units_total{database,container}
 *   runnel_range_lsn{database,container,range}
 *   runnel_feed_oldest_retained_lsn{database,container,range}
 *
 * Each name is a series that Prometheus keeps for weeks, and there may be ten
 * thousand containers.  So only RN_COUNTED_CONTAINERS of them are exported:
 * those that are used first, then the oldest.  The units of all others are
 * counted under the container "" of the database "".  The slot of a deleted
 * container is free from the next scrape on.
 *
 * LSNs are read from a snapshot, which contains only durable changes (I6).
 */
#include "rest/metrics/by_container.h"

#include "rest/context.h"

#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "rest/metrics/metric_table.h"

enum { RANGES_MAX = 256 };

struct row {
    struct rn_object *container, *database;
    double units;
};

struct series {
    struct rn_rest *rest;
    struct rn_buf *out;
    struct row of[RN_COUNTED_CONTAINERS];
    size_t count;
};

uint64_t rn_by_container_number(struct rn_rid container)
{
    return (uint64_t)container.database << 32 | container.parent;
}

/* ---- the choice of containers -------------------------------------------- */

/* Containers that have not been used yet take the slots that are left. */
static void place_oldest(struct rn_rest *r)
{
    struct rn_object *oldest[RN_COUNTED_CONTAINERS];
    size_t count =
        rn_catalog_list(r->engine, RN_KIND_CONTAINER, (struct rn_rid){ 0 },
                        NULL, oldest, RN_COUNTED_CONTAINERS);

    for (size_t i = 0; i < count; i++) {
        (void)rn_rest_counters_place(r->counters,
                                     rn_by_container_number(oldest[i]->rid));
        rn_object_release(oldest[i]);
    }
}

static void add_row(struct series *s, size_t place, uint64_t number)
{
    struct rn_rid rid =
        rn_rid_container((uint32_t)(number >> 32), (uint32_t)number);
    struct rn_object *container = rn_catalog_find_rid(s->rest->engine, rid);
    struct rn_object *database =
        rn_catalog_find_rid(s->rest->engine, rn_rid_owner(rid));

    if (!container || !database) {
        rn_object_release(container);
        rn_object_release(database);
        rn_rest_counters_forget(s->rest->counters, place);
        return;
    }
    s->of[s->count++] = (struct row){ container, database, 0 };
}

static struct row *find(struct series *s, uint64_t number)
{
    for (size_t i = 0; i < s->count; i++) {
        if (rn_by_container_number(s->of[i].container->rid) == number)
            return &s->of[i];
    }
    return NULL;
}

static void gather(struct series *s)
{
    struct rn_rest_counters *counters = s->rest->counters;

    for (size_t i = 0; i < RN_COUNTED_CONTAINERS; i++) {
        uint64_t number = rn_rest_counters_container(counters, i);
        struct row *row;

        if (!number)
            continue;
        if (!find(s, number))
            add_row(s, i, number);
        row = find(s, number);
        if (row)
            row->units += rn_rest_counters_units(counters, i);
    }
}

/* ---- printing ------------------------------------------------------------ */

static void print_name(struct rn_buf *out, struct rn_view name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (c == '\n')
            (void)!rn_buf_add(out, RN_LIT("\\n"));
        else if (c == '"' || c == '\\')
            (void)!rn_buf_printf(out, "\\%c", c);
        else
            (void)!rn_buf_add(out, rn_view_of(&c, 1));
    }
}

/* The sample's name and its first two labels; the brace is left open. */
static void print_names(struct rn_buf *out, const char *name,
                        const struct row *t)
{
    (void)!rn_buf_printf(out, "%s{database=\"", name);
    print_name(out, t->database->id);
    (void)!rn_buf_add(out, RN_LIT("\",container=\""));
    print_name(out, t->container->id);
    (void)!rn_buf_add(out, RN_LIT("\""));
}

static void print_units(const struct series *s)
{
    const char *name = "runnel_request_units_total";

    (void)!rn_metric_begin(s->out, name);
    for (size_t i = 0; i < s->count; i++) {
        print_names(s->out, name, &s->of[i]);
        (void)!rn_buf_printf(s->out, "} %.2f\n", s->of[i].units);
    }
    (void)!rn_buf_printf(
        s->out, "%s{database=\"\",container=\"\"} %.2f\n", name,
        rn_rest_counters_units(s->rest->counters, RN_COUNTED_CONTAINERS));
}

typedef enum rn_code range_fn(struct rn_snapshot *r, uint32_t range,
                              uint64_t *out);

static enum rn_code last_lsn(struct rn_snapshot *r, uint32_t range,
                             uint64_t *out)
{
    struct rn_row_range row;
    enum rn_code rc = rn_range_read(r->txn, r->container, range, &row);

    if (!rc)
        *out = row.lsn;
    return rc;
}

/* The oldest LSN from which on all versions are retained. */
static enum rn_code oldest_lsn(struct rn_snapshot *r, uint32_t range,
                               uint64_t *out)
{
    enum rn_code rc = RN_NOT_FOUND;

    if (r->container->history.seconds != RN_HISTORY_OFF)
        rc = rn_history_lost(r, range, &rn_epk_all, out);
    *out += !rc;
    return rc;
}

static void print_ranges(const struct series *s, const char *name,
                         range_fn *get)
{
    size_t left = RANGES_MAX;

    (void)!rn_metric_begin(s->out, name);
    for (size_t i = 0; i < s->count; i++) {
        const struct rn_container *c = s->of[i].container->container;
        struct rn_snapshot reading = { 0 };

        if (rn_snapshot_begin(&reading, s->rest->engine, c, NULL))
            continue;
        for (size_t k = 0; k < c->range_count && left > 0; k++, left--) {
            uint64_t lsn = 0;

            if (get(&reading, c->ranges[k].id, &lsn))
                continue; /* the slot is free, or its container was deleted */
            print_names(s->out, name, &s->of[i]);
            (void)!rn_buf_printf(s->out, ",range=\"%u\"} %llu\n",
                                 c->ranges[k].id, (unsigned long long)lsn);
        }
        rn_snapshot_end(&reading);
    }
}

void rn_by_container_print(struct rn_rest *r, struct rn_buf *out)
{
    struct series s = { .rest = r, .out = out };

    place_oldest(r);
    gather(&s);
    print_units(&s);
    print_ranges(&s, "runnel_range_lsn", last_lsn);
    print_ranges(&s, "runnel_feed_oldest_retained_lsn", oldest_lsn);
    for (size_t i = 0; i < s.count; i++) {
        rn_object_release(s.of[i].container);
        rn_object_release(s.of[i].database);
    }
}
