/* once.c -- counts the changes of each customer in PostgreSQL, exactly once:
 * the leases lie in a table beside the counts, and a batch and its checkpoint
 * are one transaction.
 *
 *   CREATE TABLE activity (customer text PRIMARY KEY, changes bigint NOT NULL);
 *   CREATE TABLE lease (id text PRIMARY KEY, version bigint NOT NULL,
 *                       json text NOT NULL, written timestamptz NOT NULL);
 *
 * It calls libpq itself: pkg-config --cflags --libs runnel libpq.
 */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <libpq-fe.h>
#include <string.h>

/* Runs one statement; NULL if it failed. */
static PGresult *run(PGconn *db, const char *sql, int n, const char *const *arg)
{
    PGresult *r = PQexecParams(db, sql, n, NULL, arg, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(r);

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return r;
    fprintf(stderr, "once: %s", PQerrorMessage(db));
    PQclear(r);
    return NULL;
}

static bool done(PGresult *r)
{
    PQclear(r);
    return r != NULL;
}

/* ---- the lease store ----------------------------------------------------- */

/* The statement answers one row with the new version, or none. */
static runnel_code swap(PGconn *db, const char *sql,
                        const runnel_lease_record *record, char etag[64],
                        runnel_code otherwise)
{
    char *json = strndup(record->json.at, record->json.len);
    const char *arg[] = { record->id, json, record->etag };
    PGresult *r = run(db, sql, record->etag ? 3 : 2, arg);
    runnel_code rc = RUNNEL_BUSY;

    if (r)
        rc = PQntuples(r) == 1 ? RUNNEL_OK : otherwise;
    if (!rc)
        snprintf(etag, 64, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    free(json);
    return rc;
}

static runnel_code lease_list(void *context, const char *prefix,
                              runnel_lease_record_fn each, void *each_context,
                              int64_t *now_ms, runnel_error *error)
{
    PGresult *r = run(context,
                      "SELECT id, version, json, "
                      "(extract(epoch FROM written) * 1000)::bigint, "
                      "(extract(epoch FROM now()) * 1000)::bigint "
                      "FROM lease WHERE starts_with(id, $1)",
                      1, &prefix);

    (void)error;
    for (int i = 0; r && i < PQntuples(r); i++) {
        runnel_lease_record record = {
            .id = PQgetvalue(r, i, 0),
            .etag = PQgetvalue(r, i, 1),
            .json = runnel_text(PQgetvalue(r, i, 2)),
            .written_ms = atoll(PQgetvalue(r, i, 3)),
        };
        *now_ms = atoll(PQgetvalue(r, i, 4));
        if (!each(each_context, &record))
            break;
    }
    return done(r) ? RUNNEL_OK : RUNNEL_BUSY;
}

static runnel_code lease_create(void *context,
                                const runnel_lease_record *record,
                                char etag[64], runnel_error *error)
{
    (void)error;
    return swap(context,
                "INSERT INTO lease VALUES ($1, 1, $2, now()) "
                "ON CONFLICT DO NOTHING RETURNING version",
                record, etag, RUNNEL_CONFLICT);
}

static runnel_code lease_replace(void *context, void *transaction,
                                 const runnel_lease_record *record,
                                 char etag[64], runnel_error *error)
{
    (void)error;
    return swap(transaction ? transaction : context,
                "UPDATE lease SET json = $2, written = clock_timestamp(), "
                "version = version + 1 WHERE id = $1 AND version = $3 "
                "RETURNING version",
                record, etag, RUNNEL_PRECONDITION);
}

static runnel_code lease_remove(void *context, const char *id, const char *etag,
                                runnel_error *error)
{
    const char *arg[] = { id, etag };
    const char *sql = "DELETE FROM lease WHERE id = $1 AND "
                      "version = coalesce($2, version::text)::bigint";

    (void)error;
    return done(run(context, sql, 2, arg)) ? RUNNEL_OK : RUNNEL_BUSY;
}

/* ---- the projection ------------------------------------------------------ */

static bool count(PGconn *db, const runnel_change *change)
{
    char *json = strndup(change->json.at, change->json.len);
    const char *arg[] = { json };
    bool ok = done(run(db,
                       "INSERT INTO activity VALUES ($1::jsonb->>'customer', 1)"
                       " ON CONFLICT (customer) DO UPDATE"
                       " SET changes = activity.changes + 1",
                       1, arg));
    free(json);
    return ok;
}

static runnel_verdict project(void *context, const char *lease,
                              const runnel_batch *batch)
{
    PGconn *db = context;
    bool ok = done(run(db, "BEGIN", 0, NULL));

    (void)lease;
    for (size_t i = 0; ok && i < runnel_batch_count(batch); i++)
        ok = count(db, runnel_batch_at(batch, i));
    ok = ok && !runnel_batch_checkpoint(batch, db, NULL);
    ok = done(run(db, ok ? "COMMIT" : "ROLLBACK", 0, NULL)) && ok;
    return ok ? RUNNEL_DONE : RUNNEL_AGAIN;
}

int main(int argc, char **argv)
{
    PGconn *sink = PQconnectdb(argc > 1 ? argv[1] : "");
    PGconn *leases = PQconnectdb(argc > 1 ? argv[1] : "");
    runnel_container *orders = open_container("shop", "orders");
    runnel_lease_store table = {
        RUNNEL_LEASE_STORE_INIT,  .context = leases,
        .list = lease_list,       .create = lease_create,
        .replace = lease_replace, .remove = lease_remove
    };
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    /* Under a fixed name the program has its own leases back at once after a
     * crash.  One thread, because there is one connection. */
    runnel_processor_options work = {
        RUNNEL_PROCESSOR_INIT, .name = "activity", .host = "once",
        .lease_store = &table, .feed = &feed,      .manual_checkpoint = true,
        .threads = 1
    };
    runnel_observer observer = { .context = sink, .changes = project };
    int status;

    status = run_until_eof(orders, &work, &observer);
    runnel_container_close(orders);
    PQfinish(leases);
    PQfinish(sink);
    return status;
}
