/* keys.c -- access path: the documents of some partition keys. */
#include "access/access_ops.h"
#include "access/key_predicates.h"
#include "engine/document/snapshot.h"

static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    (void)a, (void)ask, (void)arena;
    return RN_OK; /* each key is opened when it is reached */
}

static enum rn_code open_key(struct rn_access *a,
                             const struct rn_access_key *key)
{
    struct rn_documents_scan scan = a->scope;

    scan.pk = &key->pk;
    rn_epk_range_of(&a->reading->container->pkdef, &key->pk, &scan.epks);
    if (!rn_epk_range_meet(&scan.epks, &a->scope.epks, &scan.epks))
        return RN_OK;
    return rn_documents_open(&a->documents, a->reading, &scan);
}

static void close(struct rn_access *a)
{
    rn_documents_close(&a->documents);
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    struct rn_access_keys *k = &a->keys;
    enum rn_code rc = RN_NOT_FOUND;

    for (;;) {
        if (a->documents.cursor) {
            rc = rn_documents_next(&a->documents, body);
            a->at = a->documents.at;
            a->examined += !rc && a->scope.no_bodies;
        }
        if (rc != RN_NOT_FOUND || k->next == k->count)
            return rc;
        close(a);
        rc = open_key(a, &k->list[k->next++]);
        if (rc)
            return rc;
        rc = RN_NOT_FOUND;
    }
}

const struct rn_access_ops rn_access_keys = { "partition keys", open, next,
                                              close };
