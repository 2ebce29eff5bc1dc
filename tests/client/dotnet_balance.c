/* dotnet_balance.c -- the equal distribution of leases, as version 3 of the
 * .NET library computes it; see dotnet_peer.h. */
#include "client/dotnet_own.h"

#include <stdlib.h>
#include <strings.h>

/* A host and the leases that it has. */
struct count {
    const char *owner;
    size_t leases;
};

static struct count *count_of(struct count *counts, size_t *n, const char *who)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcasecmp(counts[i].owner, who) == 0)
            return &counts[i];
    }
    counts[*n] = (struct count){ .owner = who };
    return &counts[(*n)++];
}

static bool is_available(const struct dotnet_lease *lease, int64_t now_ms,
                         int64_t expire_ms)
{
    return !lease->owner[0] || dotnet_lease_time_ms(lease) + expire_ms < now_ms;
}

/* One lease of the host that has most, if that is too many. */
static size_t steal(const struct dotnet_lease *leases, size_t count,
                    const struct count *counts, size_t hosts, size_t target,
                    size_t need, size_t *picks)
{
    const struct count *most = &counts[0];

    for (size_t i = 1; i < hosts; i++) {
        if (counts[i].leases >= most->leases)
            most = &counts[i];
    }
    if (most->leases + (need > 1 ? 1 : 0) <= target)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(leases[i].owner, most->owner) == 0) {
            picks[0] = i;
            return 1;
        }
    }
    return 0;
}

size_t dotnet_balance(const struct dotnet_lease *leases, size_t count,
                      const char *me, int64_t now_ms, int64_t expire_ms,
                      size_t *picks)
{
    struct count counts[DOTNET_LEASES_MAX + 1];
    size_t hosts = 0, available = 0, target, mine, need;

    for (size_t i = 0; i < count; i++) {
        if (is_available(&leases[i], now_ms, expire_ms))
            available++;
        else
            count_of(counts, &hosts, leases[i].owner)->leases++;
    }
    mine = count_of(counts, &hosts, me)->leases;
    target = count <= hosts ? 1 : (count + hosts - 1) / hosts;
    if (count == 0 || mine >= target)
        return 0;
    need = target - mine;
    if (available == 0)
        return steal(leases, count, counts, hosts, target, need, picks);
    available = 0;
    for (size_t i = 0; i < count && available < need; i++) {
        if (is_available(&leases[i], now_ms, expire_ms))
            picks[available++] = i;
    }
    return available;
}
