/* scan.c -- access path: every document of the scope.
 *
 * If all documents of the container are wanted and the query does not depend on
 * their order, they come in the order of the feed, without a look-up for each.
 */
#include "access/access_ops.h"
#include "access/index_scan.h"
#include "engine/document/snapshot.h"

static bool is_everything(const struct rn_documents_scan *scope)
{
    return !scope->after.len && rn_access_has_no_bounds(scope);
}

static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    (void)arena;
    a->is_whole = !a->scope.no_bodies && is_everything(&ask->scope) &&
                  ask->query && rn_query_is_orderless(ask->query);
    if (a->is_whole)
        return rn_full_scan_open(&a->whole, a->reading);
    return rn_documents_open(&a->documents, a->reading, &a->scope);
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc;

    if (a->is_whole) {
        a->at = RN_LIT(""); /* there is no place to go on from */
        return rn_full_scan_next(&a->whole, body);
    }
    rc = rn_documents_next(&a->documents, body);
    a->at = a->documents.at;
    a->examined += !rc && a->scope.no_bodies;
    return rc;
}

static void close(struct rn_access *a)
{
    rn_documents_close(&a->documents);
    rn_full_scan_close(&a->whole);
}

const struct rn_access_ops rn_access_scan = { "scan", open, next, close };
