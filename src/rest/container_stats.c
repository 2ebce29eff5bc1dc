/* container_stats.c -- document counts and sizes of a container, computed on
 * request.
 *
 *   x-ms-documentdb-populatequotainfo            headers with the totals
 *   x-ms-documentdb-populatepartitionstatistics  a member for each range
 *
 * There are no counters: a worker reads all documents, in slices, so that no
 * snapshot lasts long.  Concurrent writes may be counted or not.
 */
#include "rest/container_stats.h"

#include "engine/document/snapshot.h"
#include "rest/context.h"
#include "rest/objects.h"
#include "rest/reply.h"

enum { SLICE_DOCUMENTS = 16 << 10, SLICE_BYTES = 64 << 20 };

/* The counts of one range. */
struct held {
    uint64_t documents, bytes;
    uint64_t keys; /* partition key values among them */
};

struct rn_container_stats {
    struct held *ranges;
    size_t at;               /* the range being counted */
    char last[RN_BOUND_MAX]; /* the position of its last document so far */
    size_t last_len;
};

/* Only a client with rights to the whole container may ask.  A token for a
 * partition key or a document may read the definition, which clients need, but
 * must not reveal how much data others keep here. */
static bool is_asked(struct rn_context *x)
{
    const struct rn_permission *p = &x->permission;

    if (x->is_granted && (p->has_pk || p->resource.kind != RN_KIND_CONTAINER))
        return false;
    return rn_context_flag(x, RN_HEADER_WANT_QUOTA) ||
           rn_context_flag(x, RN_HEADER_WANT_STATISTICS);
}

/* ---- counting ------------------------------------------------------------ */

/* The part of a place before the id; see key.h. */
static struct rn_view key_of(struct rn_view place)
{
    size_t n = 1;

    while (n < place.len && (place.at[n - 1] != 0 || place.at[n] != 1))
        n += place.at[n - 1] == 0 ? 2 : 1;
    return rn_view_of(place.at, n);
}

static void count_one(struct rn_container_stats *u, struct rn_view place,
                      size_t bytes)
{
    struct held *h = &u->ranges[u->at];
    struct rn_view last = rn_view_of(u->last, u->last_len);

    if (!last.len || !rn_view_eq(key_of(place), key_of(last)))
        h->keys++;
    h->documents++;
    h->bytes += bytes;
    memcpy(u->last, place.at, place.len);
    u->last_len = place.len;
}

/* Continues after the last document; RN_NOT_FOUND at the range's end. */
static enum rn_code count_slice(struct rn_container_stats *u,
                                struct rn_snapshot *r,
                                const struct rn_range_span *span)
{
    struct rn_documents_scan scan = { .epks = span->epks,
                                      .after =
                                          rn_view_of(u->last, u->last_len) };
    struct rn_documents d = { 0 };
    struct rn_view body;
    size_t documents = 0, bytes = 0;
    enum rn_code rc = rn_documents_open(&d, r, &scan);

    while (!rc && documents < SLICE_DOCUMENTS && bytes < SLICE_BYTES) {
        rc = rn_documents_next(&d, &body);
        if (rc)
            break;
        count_one(u, d.at, body.len);
        documents++;
        bytes += body.len;
    }
    rn_documents_close(&d);
    return rc;
}

/* Counts a slice of the current range. */
static enum rn_code count_some(struct rn_context *x)
{
    const struct rn_container *c = x->object->container;
    struct rn_container_stats *u = x->container_stats;
    struct rn_snapshot reading = { 0 };
    enum rn_code rc = rn_snapshot_begin(&reading, x->rest->engine, c, &x->err);

    if (!rc) {
        rc = count_slice(u, &reading, &c->ranges[u->at]);
        if (rc == RN_NOT_FOUND) {
            u->at++;
            u->last_len = 0;
            rc = RN_OK;
        }
        if (rc)
            rn_fail(&x->err, rc, "%s", rn_txn_why(reading.txn, rc));
    }
    rn_snapshot_end(&reading);
    return rc;
}

/* ---- telling ------------------------------------------------------------- */

static unsigned long long in_kb(uint64_t bytes)
{
    return (bytes + 1023) / 1024;
}

/* The Java client wants the same keys in the same order in both. */
static enum rn_code add_quota(struct rn_context *x, const struct held *ranges)
{
    struct rn_buf text = RN_BUF_INIT(512);
    struct held all = { 0 };
    enum rn_code rc;

    for (size_t i = 0; i < x->object->container->range_count; i++) {
        all.documents += ranges[i].documents;
        all.bytes += ranges[i].bytes;
    }
    rn_reply_text(x, RN_HEADER_QUOTA,
                  "functions=25;storedProcedures=100;triggers=25;"
                  "documentSize=10240;documentsSize=10485760;"
                  "documentsCount=-1;collectionSize=10485760;");
    rc = rn_buf_printf(&text,
                       "functions=0;storedProcedures=0;triggers=0;"
                       "documentSize=0;documentsSize=%llu;documentsCount=%llu;"
                       "collectionSize=%llu;",
                       in_kb(all.bytes), (unsigned long long)all.documents,
                       in_kb(all.bytes));
    if (!rc)
        rn_reply_header(x, RN_HEADER_USAGE, rn_buf_view(&text));
    rn_buf_release(&text);
    return rc;
}

static enum rn_code add_statistics(struct rn_context *x,
                                   const struct held *ranges)
{
    const struct rn_container *c = x->object->container;
    struct rn_buf *out = &x->call->body;
    enum rn_code rc;

    out->len--; /* the closing brace */
    rc = rn_buf_add(out, RN_LIT(",\"statistics\":["));
    for (size_t i = 0; !rc && i < c->range_count; i++) {
        rc =
            rn_buf_printf(out,
                          "%s{\"id\":\"%u\",\"sizeInKB\":%llu,"
                          "\"documentCount\":%llu,"
                          "\"sampledDistinctPartitionKeyCount\":%llu,"
                          "\"partitionKeys\":[]}",
                          i ? "," : "", c->ranges[i].id, in_kb(ranges[i].bytes),
                          (unsigned long long)ranges[i].documents,
                          (unsigned long long)ranges[i].keys);
    }
    return rc ? rc : rn_buf_add(out, RN_LIT("]}"));
}

enum rn_code rn_container_stats_add_headers(struct rn_context *x)
{
    enum rn_code rc = RN_OK;

    if (!x->container_stats)
        return RN_OK;
    if (rn_context_flag(x, RN_HEADER_WANT_QUOTA))
        rc = add_quota(x, x->container_stats->ranges);
    if (!rc && rn_context_flag(x, RN_HEADER_WANT_STATISTICS))
        rc = add_statistics(x, x->container_stats->ranges);
    return rc;
}

/* Thread: worker. */
static enum rn_rest_step count(struct rn_call *call)
{
    struct rn_context *x = call->state;
    enum rn_code rc = count_some(x);

    if (rc)
        return rn_reply_fail(x, rc);
    if (x->container_stats->at == x->object->container->range_count)
        return rn_rest_container_tell(x);
    call->next = count;
    return RN_REST_WORK; /* queued behind other calls for a worker */
}

enum rn_rest_step rn_rest_container_read(struct rn_context *x)
{
    struct rn_arena *arena = &x->call->arena;
    size_t size;

    if (!is_asked(x))
        return rn_rest_container_tell(x);
    size = x->object->container->range_count * sizeof(struct held);
    x->container_stats = rn_arena_alloc(arena, sizeof(*x->container_stats));
    if (!x->container_stats)
        return rn_reply_fail(x, RN_NOMEM);
    *x->container_stats =
        (struct rn_container_stats){ .ranges = rn_arena_alloc(arena, size) };
    if (!x->container_stats->ranges)
        return rn_reply_fail(x, RN_NOMEM);
    memset(x->container_stats->ranges, 0, size);
    x->call->next = count;
    return RN_REST_WORK;
}
