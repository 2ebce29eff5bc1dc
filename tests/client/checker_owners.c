/* checker_owners.c -- which leases have live owners, and since when not; see
 * checker.h. */
#include "client/checker_own.h"
#include "client/lease/property.h"

#include <stdio.h>
#include <stdlib.h>

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
        d = checker_sound(e);
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

/* ---- the age of leases that nobody owns ---------------------------------- */

static void note_unowned(struct checker *c, const struct rn_lease *lease,
                         int64_t now_ns)
{
    struct rn_view session = rn_lease_property(lease, RN_LEASE_SESSION);
    struct checker_unowned *u = NULL;

    for (size_t i = 0; i < c->unowned_count && !u; i++) {
        if (rn_view_eq(rn_view_text(c->unowned[i].lease), lease->token))
            u = &c->unowned[i];
    }
    if (!u) {
        if (c->unowned_count == CHECKER_LEASES_MAX)
            abort();
        u = &c->unowned[c->unowned_count++];
        *u = (struct checker_unowned){ .since_ns = now_ns };
        snprintf(u->lease, sizeof(u->lease), "%.*s", RN_FMT(lease->token));
    }
    if (session.at && !rn_view_eq(rn_view_text(u->session), session))
        u->since_ns = now_ns;
    snprintf(u->session, sizeof(u->session), "%.*s", RN_FMT(session));
    u->is_there = true;
}

void checker_unowned_forget(struct checker *c)
{
    c->unowned_count = 0;
}

int64_t checker_unowned(struct checker *c, int64_t now_ns,
                        bool (*is_live)(void *context, const char *host),
                        void *context)
{
    int64_t longest = 0;

    for (size_t i = 0; i < c->unowned_count; i++)
        c->unowned[i].is_there = false;
    for (size_t i = 0; i < c->leases->entry_count; i++) {
        const struct service_entry *e = c->leases->entries[i];
        struct rn_lease_document *d;
        char owner[160];

        if (!e->is_live || !checker_is_lease(e))
            continue;
        d = checker_parse(e);
        if (!d)
            continue;
        snprintf(owner, sizeof(owner), "%.*s", RN_FMT(d->lease.owner));
        if (!is_live(context, owner))
            note_unowned(c, &d->lease, now_ns);
        rn_lease_document_free(d);
    }
    for (size_t i = c->unowned_count; i-- > 0;) {
        struct checker_unowned *u = &c->unowned[i];

        if (!u->is_there)
            *u = c->unowned[--c->unowned_count];
        else if (now_ns - u->since_ns > longest)
            longest = now_ns - u->since_ns;
    }
    return longest;
}
