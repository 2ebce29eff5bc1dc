/* fleet_tamper.c -- an operator who damages the leases of a fleet; see fleet.h.
 */
#include "client/fleet_own.h"

#include <stdio.h>
#include <stdlib.h>

/* A lease that there is, at random; NULL: none.  Not one that is damaged.
 * `count`: how many there are. */
static const struct service_entry *
draw(struct fleet *f, struct dotnet_lease *lease, size_t *count)
{
    const struct service_entry *found = NULL;
    size_t n = 0;

    *count = 0;
    for (size_t i = 0; i < f->leases->entry_count; i++) {
        const struct service_entry *e = f->leases->entries[i];

        if (e->is_live && strstr(e->id, "..") &&
            (!f->damaged || strcmp(f->damaged->id, e->id) != 0) &&
            dotnet_lease_parse(rn_view_text(e->json), lease) &&
            below(f, ++n) == 0)
            found = e;
    }
    *count = n;
    if (found)
        (void)dotnet_lease_parse(rn_view_text(found->json), lease);
    return found;
}

static void put(struct fleet *f, const struct dotnet_lease *lease)
{
    struct rn_buf json = RN_BUF_INIT(1 << 16);

    dotnet_lease_print(lease, &json);
    if (rn_buf_add(&json, RN_LIT("\0")))
        abort();
    (void)service_upsert(f->leases, json.at);
    rn_buf_release(&json);
}

/* Not a lease any more; the lease comes back when the world heals. */
static void damage(struct fleet *f, const struct service_entry *e)
{
    static const char *const members[] = {
        "",
        ",\"LeaseToken\":7",
        ",\"LeaseToken\":\"0\",\"properties\":[]",
        ",\"LeaseToken\":\"0\",\"version\":9",
    };
    char json[400];

    if (f->damaged)
        return;
    f->damaged = e;
    snprintf(json, sizeof(json), "{\"id\":\"%s\"%s}", e->id,
             members[below(f, 4)]);
    (void)service_upsert(f->leases, json);
}

/* The next generation, of one digit; false: there is none. */
static bool raise_generation(struct dotnet_lease *lease)
{
    static const char name[] = "\"runnel.generation\":\"";
    char *at = strstr(lease->properties, name);
    size_t len = strlen(lease->properties);

    if (at) {
        at += sizeof(name) - 1;
        return *at < '9' && ++*at;
    }
    if (len < 3)
        return false;
    snprintf(lease->properties + len - 1, sizeof(lease->properties) - len + 1,
             ",%s1\"}", name);
    return true;
}

/* In all versions mode a host waits for a seek then, which is part of the
 * repair; it knows only from its own mark that there was a position. */
static void erase(struct fleet *f, struct dotnet_lease *lease)
{
    struct dotnet_lease after = *lease;
    char made[DOTNET_TOKEN_MAX + 32];

    snprintf(made, sizeof(made), "\"runnel.made\":\"%s\"", lease->token);
    if (!lease->continuation[0] || f->erased[0] ||
        (f->is_full &&
         (!strstr(lease->properties, made) || !raise_generation(&after))))
        return;
    dotnet_copy(f->erased, sizeof(f->erased),
                rn_view_text(lease->continuation));
    lease->continuation[0] = '\0';
    put(f, lease);
}

/* Moves the lease, or those that replace it by now, to where it was. */
static void seek(struct fleet *f)
{
    for (size_t i = 0; i < f->leases->entry_count; i++) {
        const struct service_entry *e = f->leases->entries[i];
        struct dotnet_lease lease;

        if (!e->is_live || !strstr(e->id, "..") ||
            !dotnet_lease_parse(rn_view_text(e->json), &lease) ||
            lease.continuation[0] || !raise_generation(&lease))
            continue;
        dotnet_copy(lease.continuation, sizeof(lease.continuation),
                    rn_view_text(f->erased));
        put(f, &lease);
    }
}

void fleet_tamper(struct fleet *f)
{
    struct dotnet_lease lease;
    size_t count;
    const struct service_entry *e = draw(f, &lease, &count);
    uint64_t what = below(f, 7);
    int sender = f->w.wire.sender;

    if (!e || !f->checker.has_marker)
        return;
    /* Without position and properties nothing distinguishes it from a lease of
     * .NET's that was never read (client.tamper). */
    if (f->is_full && !lease.continuation[0])
        return;
    f->w.wire.sender = CHECKER_OPERATOR;
    f->figures->tampers++;
    checker_note(&f->checker, "tamper %d with %s", (int)what, e->id);
    /* Without any lease a fleet does not start: an operator must decide. */
    if (what == 0 && count > 2 && !f->is_full && !f->damaged) {
        (void)service_delete(f->leases, e->id, e->pk);
    } else if (what <= 1) {
        damage(f, e);
    } else if (what == 2) { /* another owner */
        snprintf(lease.owner, sizeof(lease.owner), "stranger");
        put(f, &lease);
    } else if (what == 3 && lease.continuation[0]) { /* an older position */
        snprintf(lease.continuation, sizeof(lease.continuation), "\"%lu\"",
                 strtoul(lease.continuation + 1, NULL, 10) / 2);
        put(f, &lease);
    } else if (what == 4 && lease.version == 0 && lease.has_range) {
        /* a second lease of the same keys */
        lease.version = 1;
        lease.owner[0] = '\0';
        snprintf(lease.token, sizeof(lease.token), "%s-%s", lease.min,
                 lease.max);
        snprintf(strstr(lease.id, "..") + 2, DOTNET_TOKEN_MAX, "%s",
                 lease.token);
        put(f, &lease);
    } else if (what == 5) {
        erase(f, &lease);
    } else { /* no properties: no session, no range */
        lease.properties[0] = '\0';
        put(f, &lease);
    }
    f->w.wire.sender = sender;
}

void fleet_repair(struct fleet *f)
{
    int sender = f->w.wire.sender;

    f->w.wire.sender = CHECKER_OPERATOR;
    if (f->damaged)
        (void)service_upsert(f->leases, f->damaged->json);
    f->damaged = NULL;
    if (f->erased[0] && f->is_full)
        seek(f);
    if (f->is_full)
        f->erased[0] = '\0';
    f->w.wire.sender = sender;
}
