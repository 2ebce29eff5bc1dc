/* checker_owners.c -- which leases have live owners, and since when not; see
 * checker.h. */
#include "client/checker_own.h"

#include <stdio.h>

bool checker_is_owned(const struct checker *c,
                      bool (*is_live)(void *context, const char *host),
                      void *context)
{
    bool ok = c->has_marker;

    for (size_t i = 0; ok && i < c->leases->entry_count; i++) {
        const struct service_entry *e = c->leases->entries[i];
        struct rn_lease_document *d;
        char owner[160];

        if (!e->is_live || !checker_is_lease(e))
            continue;
        d = checker_parse(e);
        if (!d)
            return false;
        snprintf(owner, sizeof(owner), "%.*s", RN_FMT(d->lease.owner));
        ok = is_live(context, owner);
        rn_lease_document_free(d);
    }
    return ok;
}

void checker_tried(struct checker *c, int host, const char *lease)
{
    for (size_t i = 0; i < c->leases->entry_count; i++) {
        const struct service_entry *e = c->leases->entries[i];
        struct rn_lease_document *d;
        int at;

        if (!e->is_live || !checker_is_lease(e))
            continue;
        d = checker_parse(e);
        if (!d)
            continue;
        at = checker_session(c, rn_lease_property(&d->lease, RN_LEASE_SESSION));
        if (at >= 0 && c->sessions[at].host == host &&
            rn_view_eq(d->lease.token, rn_view_text(lease)))
            c->sessions[at].was_tried = true;
        rn_lease_document_free(d);
    }
}

size_t checker_orphans(const struct checker *c,
                       bool (*is_live)(void *context, int host), void *context)
{
    size_t n = 0;

    for (size_t i = 0; i < c->leases->entry_count; i++) {
        const struct service_entry *e = c->leases->entries[i];
        struct rn_lease_document *d;
        int at;

        if (!e->is_live || !checker_is_lease(e))
            continue;
        d = checker_parse(e);
        if (!d)
            continue;
        at = checker_session(c, rn_lease_property(&d->lease, RN_LEASE_SESSION));
        n += rn_lease_is_native(&d->lease) && at >= 0 &&
             !c->sessions[at].was_tried &&
             is_live(context, c->sessions[at].host);
        rn_lease_document_free(d);
    }
    return n;
}
