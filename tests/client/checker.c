/* checker.c -- see checker.h. */
#include "client/checker_own.h"

#include "client/feed/batch.h"
#include "client/lease/property.h"
#include "cosmos/etag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void checker_violated(struct checker *c, const char *fmt, ...)
{
    va_list args;

    if (c->failure[0])
        return;
    va_start(args, fmt);
    vsnprintf(c->failure, sizeof(c->failure), fmt, args);
    va_end(args);
}

void checker_note(const struct checker *c, const char *fmt, ...)
{
    va_list args;

    if (!c->trace)
        return;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

void checker_init(struct checker *c, const struct service_box *source,
                  const struct service_box *leases)
{
    *c = (struct checker){ .source = source, .leases = leases };
}

/* ---- leases -------------------------------------------------------------- */

bool checker_is_lease(const struct service_entry *e)
{
    return strstr(e->id, "..") != NULL;
}

bool checker_is_marker(const struct service_entry *e)
{
    size_t len = strlen(e->id);

    return len > 5 && strcmp(e->id + len - 5, ".info") == 0;
}

struct rn_lease_document *checker_parse(const struct service_entry *e)
{
    struct rn_lease_document *d = NULL;

    return rn_lease_document_new(rn_view_text(e->json), &d, NULL) ? NULL : d;
}

struct rn_lease_document *checker_sound(const struct service_entry *e)
{
    struct rn_lease_document *d = NULL;

    for (; e && !d; e = e->op == SERVICE_CREATE ? NULL : e->previous)
        d = checker_parse(e);
    return d;
}

struct rn_epk_range checker_keys(const struct checker *c,
                                 const struct rn_lease *lease)
{
    uint64_t id = 0;

    if (lease->has_range)
        return lease->range;
    if (rn_etag_parse_lsn(lease->token, &id, NULL) ||
        id >= c->source->range_count)
        abort();
    return c->source->ranges[id].keys;
}

int64_t checker_lsn(const struct rn_lease *lease)
{
    uint64_t lsn = 0;

    if (!lease->position.at)
        return -1;
    if (rn_etag_parse_lsn(lease->position, &lsn, NULL))
        abort();
    return (int64_t)lsn;
}

/* I1: how many changes at or below the position are not acknowledged?  Those
 * from before the start count as such. */
static size_t count_unacked(struct checker *c, const struct rn_lease *lease,
                            bool is_start, const struct service_entry **first)
{
    struct rn_epk_range keys = checker_keys(c, lease);
    int64_t lsn = checker_lsn(lease);
    size_t n = 0;

    for (size_t i = 0; i < c->source->entry_count; i++) {
        const struct service_entry *e = c->source->entries[i];

        if ((int64_t)e->lsn > lsn ||
            !rn_epk_range_has(&keys, rn_epk_view(&e->epk)))
            continue;
        c->acked[e->commit] |= is_start || c->taken_ns[e->commit] > c->sent_ns;
        if (!c->acked[e->commit] && n++ == 0)
            *first = e;
    }
    return n;
}

static void check_acked(struct checker *c, const struct rn_lease *lease,
                        bool is_start, bool is_peers_own)
{
    const struct service_entry *e = NULL;
    struct rn_epk_range keys = checker_keys(c, lease);

    if (count_unacked(c, lease, is_start, &e) == 0)
        return;
    if (is_peers_own)
        checker_overgrow(c, &keys);
    if (!checker_is_overgrown(c, rn_epk_view(&e->epk)))
        checker_violated(c,
                         "I1: lease %.*s stores %lld, but commit %lu (LSN %lu) "
                         "was not acknowledged",
                         RN_FMT(lease->token), (long long)checker_lsn(lease),
                         (unsigned long)e->commit, (unsigned long)e->lsn);
}

int checker_session(const struct checker *c, struct rn_view session)
{
    for (size_t i = 0; session.at && i < c->session_count; i++) {
        if (rn_view_eq(rn_view_text(c->sessions[i].text), session))
            return (int)i;
    }
    return -1;
}

static int host_of(const struct checker *c, struct rn_view session)
{
    int at = checker_session(c, session);

    return at < 0 ? -1 : c->sessions[at].host;
}

static void session_note(struct checker *c, struct rn_view session, int host)
{
    if (!session.at || host_of(c, session) >= 0 ||
        c->session_count == CHECKER_SESSIONS_MAX)
        return;
    snprintf(c->sessions[c->session_count].text, sizeof(c->sessions[0].text),
             "%.*s", RN_FMT(session));
    c->sessions[c->session_count++].host = host;
}

/* I4 and I5, of a lease that was replaced. */
static void check_step(struct checker *c, const struct rn_lease *was,
                       const struct rn_lease *is, int sender)
{
    struct rn_view old = rn_lease_property(was, RN_LEASE_SESSION);
    struct rn_view new = rn_lease_property(is, RN_LEASE_SESSION);
    bool is_same = rn_view_eq(was->position, is->position) &&
                   rn_view_eq(was->owner, is->owner) &&
                   rn_view_eq(was->timestamp, is->timestamp);

    if (rn_lease_number(is, RN_LEASE_GENERATION) ==
            rn_lease_number(was, RN_LEASE_GENERATION) &&
        checker_lsn(is) < checker_lsn(was))
        checker_violated(
            c, "I5: the position of lease %.*s falls from %lld to %lld",
            RN_FMT(is->token), (long long)checker_lsn(was),
            (long long)checker_lsn(is));
    if (!rn_view_eq(old, new)) {
        session_note(c, new, sender);
        if (host_of(c, new) != sender)
            checker_violated(c, "I4: host %d writes the session of host %d",
                             sender, host_of(c, new));
        if (rn_lease_number(is, RN_LEASE_EPOCH) <=
            rn_lease_number(was, RN_LEASE_EPOCH))
            checker_violated(c, "I4: an acquisition does not raise the epoch");
        return;
    }
    if (!is_same && host_of(c, new) != sender)
        checker_violated(c, "I4: host %d writes lease %.*s of host %d", sender,
                         RN_FMT(is->token), host_of(c, new));
    /* An acquisition that is tried again has its session, and the next epoch.
     */
    if (!is_same &&
        rn_lease_number(is, RN_LEASE_EPOCH) ==
            rn_lease_number(was, RN_LEASE_EPOCH) &&
        !rn_view_eq(was->owner, rn_lease_property(was, RN_LEASE_OWNER)))
        checker_violated(c, "I4: host %d writes lease %.*s, which %.*s owns",
                         sender, RN_FMT(is->token), RN_FMT(was->owner));
}

/* A lease was created or replaced. */
static void check_write(struct checker *c, const struct service_entry *e,
                        const struct rn_lease *is, int sender)
{
    bool is_ours = sender < CHECKER_PEER;
    struct rn_lease_document *was;

    c->lease_writes++;
    c->peer_writes += !is_ours;
    if (e->op == SERVICE_CREATE) {
        if (is_ours)
            session_note(c, rn_lease_property(is, RN_LEASE_SESSION), sender);
        checker_work_written(c, NULL, is, sender);
        check_acked(c, is, !c->has_marker, sender > CHECKER_OPERATOR);
        return;
    }
    was = checker_parse(e->previous);
    if (was && is_ours)
        check_step(c, &was->lease, is, sender);
    checker_work_written(c, was ? &was->lease : NULL, is, sender);
    c->positions += was && !rn_view_eq(was->lease.position, is->position);
    rn_lease_document_free(was);
    check_acked(c, is, false, false);
}

/* I10 */
static void check_damaged(struct checker *c, const struct service_entry *e,
                          int sender)
{
    struct rn_lease_document *was =
        e->previous ? checker_parse(e->previous) : NULL;

    if (e->previous && !was && sender < CHECKER_PEER)
        checker_violated(c, "I10: host %d writes %s, which is damaged", sender,
                         e->id);
    rn_lease_document_free(was);
}

void checker_lease(struct checker *c, const struct service_entry *e, int sender,
                   int64_t sent_ns)
{
    c->sent_ns = sent_ns;
    if (checker_is_marker(e))
        c->has_marker = e->op == SERVICE_CREATE;
    checker_note(c, "host %d op %d %s %s", sender, (int)e->op, e->id, e->json);
    if (checker_is_lease(e))
        check_damaged(c, e, sender);
    if (checker_is_lease(e) && e->op < SERVICE_DELETE) {
        struct rn_lease_document *is = checker_parse(e);

        if (is)
            check_write(c, e, &is->lease, sender);
        else if (sender < CHECKER_PEER)
            checker_violated(c, "I10: host %d damages %s", sender, e->id);
        rn_lease_document_free(is);
    }
    checker_cover(c, e, sender, sent_ns);
}

/* ---- handlers ------------------------------------------------------------ */

static struct checker_open *find_open(struct checker *c, int host,
                                      const char *lease)
{
    for (size_t i = 0; i < c->open_count; i++) {
        if (c->opens[i].host == host && strcmp(c->opens[i].lease, lease) == 0)
            return &c->opens[i];
    }
    return NULL;
}

void checker_opened(struct checker *c, int host, const char *lease)
{
    struct checker_open *o = &c->opens[c->open_count];

    if (find_open(c, host, lease))
        checker_violated(c, "I3: host %d opens lease %s twice", host, lease);
    if (c->open_count == CHECKER_OPEN_MAX)
        abort();
    *o = (struct checker_open){ .host = host };
    snprintf(o->lease, sizeof(o->lease), "%s", lease);
    c->open_count++;
}

void checker_closed(struct checker *c, int host, const char *lease)
{
    struct checker_open *o = find_open(c, host, lease);

    if (!o) {
        checker_violated(c, "I7: host %d closes lease %s, which is not open",
                         host, lease);
        return;
    }
    if (o->calls)
        checker_violated(c, "I7: host %d closes lease %s inside a call", host,
                         lease);
    *o = c->opens[--c->open_count];
}

bool checker_is_open(struct checker *c, int host, const char *lease)
{
    return find_open(c, host, lease) != NULL;
}

void checker_killed(struct checker *c, int host)
{
    checker_work_end(c, host);
    for (size_t i = c->open_count; i-- > 0;) {
        if (c->opens[i].host == host)
            c->opens[i] = c->opens[--c->open_count];
    }
}

uint64_t checker_find(const struct checker *c, struct rn_view id, uint64_t lsn)
{
    for (size_t i = 0; i < c->source->entry_count; i++) {
        const struct service_entry *e = c->source->entries[i];

        if (e->lsn == lsn && rn_view_eq(rn_view_text(e->id), id))
            return e->commit;
    }
    return 0;
}

uint64_t checker_commit(const struct checker *c, const runnel_change *change)
{
    return checker_find(c, rn_view_of(change->id.at, change->id.len),
                        change->lsn);
}

/* I6: is there an older change of the key that nobody has acknowledged, and
 * that is not before it in the batch? */
static void check_order(struct checker *c, const uint64_t *commits, size_t n)
{
    const struct service_entry *e = c->source->entries[commits[n] - 1];

    for (uint64_t k = 1; k < e->commit; k++) {
        const struct service_entry *older = c->source->entries[k - 1];
        bool is_before = c->acked[k];

        if (strcmp(older->pk, e->pk) != 0)
            continue;
        for (size_t i = 0; i < n && !is_before; i++)
            is_before = commits[i] == k;
        if (!is_before && !checker_is_overgrown(c, rn_epk_view(&e->epk)))
            checker_violated(
                c, "I6: commit %lu is delivered before %lu of its key",
                (unsigned long)e->commit, (unsigned long)k);
    }
}

void checker_peer_delivered(struct checker *c, int host, const char *token,
                            const struct dotnet_change *changes, size_t count)
{
    uint64_t commits[CHECKER_BATCH_MAX];

    for (size_t i = 0; i < count && i < CHECKER_BATCH_MAX; i++) {
        commits[i] =
            checker_find(c, rn_view_text(changes[i].id), changes[i].lsn);
        checker_note(c, "peer %d %s delivers commit %lu", host, token,
                     (unsigned long)commits[i]);
        check_order(c, commits, i);
    }
    checker_work_delivered(c, host, token, commits, count);
}

void checker_peer_began(struct checker *c, int host, const char *token,
                        const char *position)
{
    uint64_t lsn = 0;

    if (position[0] && rn_etag_parse_lsn(rn_view_text(position), &lsn, NULL))
        abort();
    checker_work_begin(c, host, rn_view_text(token),
                       position[0] ? (int64_t)lsn : -1);
}

size_t checker_delivered(struct checker *c, int host, const char *lease,
                         const runnel_batch *batch,
                         uint64_t commits[CHECKER_BATCH_MAX])
{
    struct checker_open *o = find_open(c, host, lease);
    size_t n = 0;

    if (!o)
        checker_violated(
            c, "I7: host %d is called for lease %s, which is not open", host,
            lease);
    else if (o->calls++ >= (c->several ? c->several : 1))
        checker_violated(c, "I3: calls of lease %s overlap in host %d", lease,
                         host);
    c->deliveries++;
    for (size_t i = 0; i < batch->count && n < CHECKER_BATCH_MAX; i++) {
        uint64_t commit = checker_commit(c, rn_batch_at(batch, i));

        if (!commit) {
            checker_violated(c,
                             "a change was delivered that was never written");
            return n;
        }
        checker_note(c, "host %d %s delivers commit %lu LSN %lu key %s", host,
                     lease, (unsigned long)commit,
                     (unsigned long)rn_batch_at(batch, i)->lsn,
                     c->source->entries[commit - 1]->pk);
        commits[n] = commit;
        if (!c->several)
            check_order(c, commits, n);
        n++;
    }
    if (c->several)
        checker_several_delivered(c, host, lease, commits, n);
    checker_work_delivered(c, host, lease, commits, n);
    return n;
}

void checker_returned(struct checker *c, int host, const char *lease)
{
    struct checker_open *o = find_open(c, host, lease);

    if (o && o->calls)
        o->calls--;
}

void checker_acked(struct checker *c, int host, const char *lease,
                   uint64_t commit)
{
    checker_work_acked(c, host, lease, commit);
    checker_note(c, "commit %lu is acknowledged", (unsigned long)commit);
    c->acks++;
    c->acked[commit] = true;
}

size_t checker_missing(const struct checker *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->source->entry_count; i++)
        n += !c->acked[c->source->entries[i]->commit];
    return n;
}
