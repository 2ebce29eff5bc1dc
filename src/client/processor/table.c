/* table.c -- the workers of a host by the id of their lease, and the leases
 * that the host leaves to others for a while.
 */
#include "client/processor/table.h"

#include "client/processor/state.h"

#include <assert.h>

static const int64_t ms_ns = 1000000;

/* Where the id is, or where it would be. */
static size_t place_of(const struct rn_host *h, struct rn_view id,
                       bool *is_there)
{
    size_t low = 0;
    size_t high = h->worker_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rn_view_compare(rn_view_text(h->workers[middle]->id), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there = low < h->worker_count &&
                rn_view_eq(rn_view_text(h->workers[low]->id), id);
    return low;
}

struct rn_worker *rn_host_find(struct rn_host *h, struct rn_view id)
{
    bool is_there;
    size_t at = place_of(h, id, &is_there);

    return is_there ? h->workers[at] : NULL;
}

runnel_code rn_host_add(struct rn_host *h, struct rn_worker *w)
{
    bool is_there;
    size_t at = place_of(h, rn_view_text(w->id), &is_there);

    assert(!is_there); /* one worker for one lease in a process */
    if (h->worker_count == h->worker_room) {
        size_t room = h->worker_room ? 2 * h->worker_room : 16;
        struct rn_worker **more = rn_new(room * sizeof(struct rn_worker *));
        if (!more)
            return RUNNEL_NO_MEMORY;
        if (h->worker_count)
            memcpy(more, h->workers,
                   h->worker_count * sizeof(struct rn_worker *));
        rn_free(h->workers);
        h->workers = more;
        h->worker_room = room;
    }
    memmove(&h->workers[at + 1], &h->workers[at],
            (h->worker_count - at) * sizeof(struct rn_worker *));
    h->workers[at] = w;
    h->worker_count++;
    return RUNNEL_OK;
}

/* A lease that a handler gave back is left to others for a while. */
void rn_host_avoid(struct rn_host *h, const char *id)
{
    struct rn_avoided *a = rn_new(sizeof(*a));

    if (!a)
        return;
    a->id = rn_new_text(id);
    a->until_ns =
        rn_mono_ns(h->env) + (int64_t)h->config.o.lease_acquire_ms * ms_ns;
    a->next = h->avoided;
    h->avoided = a;
}

bool rn_host_is_avoided(struct rn_host *h, struct rn_view id)
{
    struct rn_avoided **at = &h->avoided;
    int64_t now_ns = rn_mono_ns(h->env);
    bool is_found = false;

    while (*at) {
        struct rn_avoided *a = *at;
        if (a->until_ns <= now_ns || !a->id) {
            *at = a->next;
            rn_free(a->id);
            rn_free(a);
            continue;
        }
        is_found = is_found || rn_view_eq(rn_view_text(a->id), id);
        at = &a->next;
    }
    return is_found;
}
