/* points.c -- access path: documents by partition key and id. */
#include "access/access_ops.h"
#include "access/key_predicates.h"
#include "engine/document/snapshot.h"

static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    (void)a, (void)ask, (void)arena;
    return RN_OK;
}

static bool is_sent(const struct rn_access *a, const struct rn_access_key *key)
{
    int order = rn_view_compare(key->start, a->scope.after);

    return a->scope.after.len &&
           (order < 0 || (order == 0 && !a->scope.from_there));
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    struct rn_document_place place;
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && a->keys.next < a->keys.count) {
        const struct rn_access_key *key = &a->keys.list[a->keys.next++];

        if (is_sent(a, key))
            continue;
        rc = rn_document_read(a->reading, &key->pk, key->id, body, &place);
        a->at = key->start;
    }
    return rc;
}

static void close(struct rn_access *a)
{
    (void)a;
}

const struct rn_access_ops rn_access_points = { "points", open, next, close };
