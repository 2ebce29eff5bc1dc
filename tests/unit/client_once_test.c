/* client_once_test.c -- effects and positions that commit together: every
 * change takes effect exactly once.
 *
 * A database in memory holds both the leases and the effects.  Hosts share it
 * in virtual time; a handler writes its effects and its checkpoint in one
 * transaction, which is committed, rolled back, or committed without the
 * program's knowledge (the connection breaks during COMMIT).  Hosts are killed
 * and join by the seed.  In the end each change must have had one effect.
 */
#include "base/prng.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    ROWS_MAX = 64,
    DOCUMENTS = 120,
    HOSTS = 3,
    ROUNDS = 40,
    SEEDS = 30,
};

struct row {
    char id[160];
    char *json; /* NULL: deleted */
    unsigned version;
    int64_t written_ms;
};

/* A handler's transaction: a lease that is replaced when it commits. */
struct transaction {
    struct row *row;
    char *json;
};

static struct database {
    struct row rows[ROWS_MAX];
    size_t count;
    unsigned effects[DOCUMENTS];
    unsigned commits, rollbacks, unknown;
} db;

static struct hosts h;
static struct rn_prng prng;

static int64_t now_ms(void)
{
    return rn_wall_ms(rn_sim_env(h.world.sim));
}

/* ---- the lease store ----------------------------------------------------- */

static struct row *find(const char *id)
{
    for (size_t i = 0; i < db.count; i++) {
        if (db.rows[i].json && strcmp(db.rows[i].id, id) == 0)
            return &db.rows[i];
    }
    return NULL;
}

static void set(struct row *row, char *json)
{
    free(row->json);
    row->json = json;
    row->version++;
    row->written_ms = now_ms();
}

static runnel_code db_list(void *context, const char *prefix,
                           runnel_lease_record_fn each, void *each_context,
                           int64_t *now, runnel_error *error)
{
    (void)context;
    (void)error;
    *now = now_ms();
    for (size_t i = 0; i < db.count; i++) {
        char etag[64];
        runnel_lease_record record = { .id = db.rows[i].id,
                                       .etag = etag,
                                       .written_ms = db.rows[i].written_ms };

        if (!db.rows[i].json ||
            strncmp(db.rows[i].id, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(etag, sizeof(etag), "%u", db.rows[i].version);
        record.json = runnel_text(db.rows[i].json);
        if (!each(each_context, &record))
            break;
    }
    return RUNNEL_OK;
}

static runnel_code db_create(void *context, const runnel_lease_record *record,
                             char etag[64], runnel_error *error)
{
    struct row *row = &db.rows[db.count];

    (void)context;
    (void)error;
    if (find(record->id))
        return RUNNEL_CONFLICT;
    assert_true(db.count < ROWS_MAX);
    snprintf(row->id, sizeof(row->id), "%s", record->id);
    set(row, strndup(record->json.at, record->json.len));
    db.count++;
    snprintf(etag, 64, "%u", row->version);
    return RUNNEL_OK;
}

static runnel_code db_replace(void *context, void *transaction,
                              const runnel_lease_record *record, char etag[64],
                              runnel_error *error)
{
    struct transaction *t = transaction;
    struct row *row = find(record->id);
    char current[64];

    (void)context;
    (void)error;
    if (!row)
        return RUNNEL_NOT_FOUND;
    snprintf(current, sizeof(current), "%u", row->version);
    if (strcmp(current, record->etag) != 0)
        return RUNNEL_PRECONDITION;
    snprintf(etag, 64, "%u", row->version + 1);
    if (t) {
        t->row = row;
        t->json = strndup(record->json.at, record->json.len);
    } else {
        set(row, strndup(record->json.at, record->json.len));
    }
    return RUNNEL_OK;
}

static runnel_code db_remove(void *context, const char *id, const char *etag,
                             runnel_error *error)
{
    struct row *row = find(id);
    char current[64];

    (void)context;
    (void)error;
    if (!row)
        return RUNNEL_NOT_FOUND;
    snprintf(current, sizeof(current), "%u", row->version);
    if (etag && strcmp(current, etag) != 0)
        return RUNNEL_PRECONDITION;
    set(row, NULL);
    return RUNNEL_OK;
}

/* ---- the handler --------------------------------------------------------- */

static void commit(struct transaction *t, const runnel_batch *batch)
{
    set(t->row, t->json);
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        long id = strtol(runnel_batch_at(batch, i)->id.at, NULL, 10);

        assert_true(id >= 0 && id < DOCUMENTS);
        db.effects[id]++;
    }
}

static runnel_verdict project(struct hosts_host *host, const char *lease,
                              const runnel_batch *batch)
{
    struct transaction t = { 0 };
    uint64_t drawn = rn_prng_below(&prng, 100);

    (void)host;
    (void)lease;
    if (runnel_batch_checkpoint(batch, &t, NULL) || drawn < 20) {
        free(t.json);
        db.rollbacks++;
        return RUNNEL_AGAIN;
    }
    commit(&t, batch);
    if (drawn < 35) {
        db.unknown++;
        return RUNNEL_AGAIN; /* as far as the program knows */
    }
    db.commits++;
    return RUNNEL_DONE;
}

/* ---- fleets -------------------------------------------------------------- */

static bool all_have_effect(struct hosts *all)
{
    (void)all;
    for (int i = 0; i < DOCUMENTS; i++) {
        if (db.effects[i] == 0)
            return false;
    }
    return true;
}

static void disturb(const runnel_processor_options *o, bool is_up[HOSTS])
{
    int who = (int)rn_prng_below(&prng, HOSTS);

    if (is_up[who] && rn_prng_percent(&prng, 50))
        hosts_kill(&h, who);
    else if (!is_up[who])
        hosts_start(&h, who, o);
    else
        return;
    is_up[who] = !is_up[who];
}

static void run(uint64_t seed)
{
    runnel_lease_store table = {
        RUNNEL_LEASE_STORE_INIT, .list = db_list,     .create = db_create,
        .replace = db_replace,   .remove = db_remove,
    };
    runnel_processor_options o = hosts_options();
    runnel_feed_options feed = hosts_beginning;
    bool is_up[HOSTS] = { true };
    int written = 0;

    memset(db.effects, 0, sizeof(db.effects));
    rn_prng_init(&prng, seed);
    hosts_open(&h, seed, 1 + (unsigned)(seed % 3));
    h.judge = project;
    o.lease_store = &table;
    o.manual_checkpoint = true;
    feed.page_limit = (uint32_t)rn_prng_below(&prng, 4);
    o.feed = &feed;
    o.retry_delay_ms = 50;
    o.retry_delay_max_ms = 200;
    hosts_start(&h, 0, &o);
    for (int i = 0; i < ROUNDS; i++) {
        int n = DOCUMENTS / ROUNDS;

        hosts_put(&h, written, written + n);
        written += n;
        disturb(&o, is_up);
        hosts_run(&h, (int64_t)rn_prng_below(&prng, 3000));
    }
    if (!is_up[0])
        hosts_start(&h, 0, &o);
    hosts_until(&h, all_have_effect, 120000);
    hosts_run(&h, 5000);
    for (int i = 0; i < DOCUMENTS; i++) {
        if (db.effects[i] != 1)
            fail_msg("seed %lu: document %d has %u effects",
                     (unsigned long)seed, i, db.effects[i]);
    }
    for (int i = 0; i < HOSTS; i++) {
        if (h.hosts[i].engine)
            hosts_kill(&h, i);
    }
    hosts_close(&h);
    for (size_t i = 0; i < db.count; i++)
        free(db.rows[i].json);
    memset(db.rows, 0, sizeof(db.rows));
    db.count = 0;
}

static void every_change_takes_effect_exactly_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
    assert_true(db.commits > 0 && db.rollbacks > 0 && db.unknown > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_takes_effect_exactly_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
