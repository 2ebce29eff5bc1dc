/* expiry.c -- the age of leases, by the store's clock. */
#include "client/lease/expiry.h"

#include "base/hash.h"
#include "client/http/bug.h"
#include "client/lease/property.h"

void rn_lease_expiry_release(struct rn_lease_expiry *expiry)
{
    rn_free(expiry->sightings);
    expiry->sightings = NULL;
    expiry->count = expiry->room = 0;
}

int64_t rn_lease_expiry_sign_of_life(const struct rn_lease *lease)
{
    int64_t written_ms = lease->ts_s * 1000;

    if (RN_BUG(FOREIGN_CLOCK_BELIEVED) && !rn_lease_is_native(lease))
        return lease->timestamp_ms ? lease->timestamp_ms : written_ms;
    if (RN_BUG(MARK_IS_A_SIGN_OF_LIFE) && written_ms)
        return written_ms;
    if (!rn_lease_is_native(lease))
        return written_ms ? written_ms : lease->timestamp_ms;
    if (written_ms &&
        lease->timestamp_ms > written_ms + RN_LEASE_EXPIRY_AHEAD_MS)
        return written_ms;
    return lease->timestamp_ms ? lease->timestamp_ms : written_ms;
}

static uint64_t hash_text(uint64_t seed, struct rn_view text)
{
    return rn_hash64(text, seed + text.len);
}

static struct rn_sighting *find_sighting(struct rn_lease_expiry *expiry,
                                         uint64_t id)
{
    struct rn_sighting *more;
    size_t room;

    for (size_t i = 0; i < expiry->count; i++)
        if (expiry->sightings[i].id_hash == id)
            return &expiry->sightings[i];
    if (expiry->count == expiry->room) {
        room = expiry->room ? expiry->room * 2 : 16;
        more = rn_new(room * sizeof(*more));
        if (!more)
            return NULL;
        if (expiry->count)
            memcpy(more, expiry->sightings, expiry->count * sizeof(*more));
        rn_free(expiry->sightings);
        expiry->sightings = more;
        expiry->room = room;
    }
    expiry->sightings[expiry->count] = (struct rn_sighting){ .id_hash = id };
    return &expiry->sightings[expiry->count++];
}

/* Unchanged for the whole interval by this host's steady clock? */
static bool was_unchanged(struct rn_lease_expiry *expiry,
                          const struct rn_lease *lease)
{
    struct rn_sighting *s = find_sighting(expiry, hash_text(1, lease->id));
    uint64_t state = hash_text(2, lease->owner);

    state = hash_text(state, rn_lease_property(lease, RN_LEASE_SESSION));
    state = hash_text(state, lease->timestamp);
    if (!s)
        return false;
    if (s->since_ns == 0 || s->state_hash != state) {
        s->state_hash = state;
        s->since_ns = expiry->mono_ns;
        return false;
    }
    return expiry->mono_ns - s->since_ns > (int64_t)expiry->expire_ms * 1000000;
}

bool rn_lease_expiry_is_over(struct rn_lease_expiry *expiry,
                             const struct rn_lease *lease)
{
    int64_t sign_ms = rn_lease_expiry_sign_of_life(lease);

    if (expiry->now_ms == 0 || sign_ms == 0)
        return was_unchanged(expiry, lease);
    return expiry->now_ms - sign_ms >
           (int64_t)expiry->expire_ms + RN_LEASE_EXPIRY_MARGIN_MS;
}
