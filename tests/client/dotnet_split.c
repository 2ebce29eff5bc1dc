/* dotnet_split.c -- what the .NET host does when a range is gone: leases of
 * those that replace it, then the parent is deleted; see dotnet_own.h. */
#include "client/dotnet_own.h"

#include <stdio.h>
#include <stdlib.h>

/* A lease for [min, max), at the position that was read last. */
static void child_add(struct dotnet_worker *w, int version, const char *id,
                      const char *min, const char *max)
{
    const struct dotnet_lease *parent = &w->lease;
    struct dotnet_lease *child = &w->children[w->child_count];
    char token[DOTNET_TOKEN_MAX];

    if (w->child_count == DOTNET_CHILDREN_MAX)
        abort();
    *child = (struct dotnet_lease){ .version = version, .has_range = true };
    dotnet_copy(child->min, sizeof(child->min), rn_view_text(min));
    dotnet_copy(child->max, sizeof(child->max), rn_view_text(max));
    if (version == 1)
        snprintf(token, sizeof(token), "%s-%s", min, max);
    else
        snprintf(token, sizeof(token), "%s", id);
    dotnet_copy(child->token, sizeof(child->token), rn_view_text(token));
    snprintf(child->id, sizeof(child->id), "%s..%s", w->peer->base, token);
    if (w->peer->has_key_member)
        dotnet_copy(child->partition_key, sizeof(child->partition_key),
                    rn_view_text(child->id));
    dotnet_copy(child->continuation, sizeof(child->continuation),
                rn_view_text(w->position));
    if (!dotnet_is_v2(w->peer))
        dotnet_copy(child->properties, sizeof(child->properties),
                    rn_view_text(parent->properties));
    dotnet_copy(child->mode, sizeof(child->mode), rn_view_text(parent->mode));
    w->child_count++;
}

static void create_next(struct dotnet_worker *w)
{
    const struct dotnet_lease *child = &w->children[w->child_at];

    dotnet_call_create(&w->call, child->id, true);
    dotnet_print(w->peer, child, &w->call.body);
    dotnet_call_send(&w->call);
    w->state = WORKER_CREATING;
}

/* Version 2: a lease of each range that came of its own. */
static void plan_v2(struct dotnet_worker *w)
{
    const struct dotnet_map *m = &w->peer->source_map;

    for (size_t i = 0; i < m->count; i++) {
        const struct dotnet_range *r = &m->ranges[i];

        if (dotnet_map_is_parent(r, w->lease.token))
            child_add(w, 0, r->id, r->min, r->max);
    }
    if (w->child_count > 0)
        create_next(w);
    else
        dotnet_worker_end(w);
}

/* The leases that replace it; none: it is an EPK lease that goes on. */
static void plan(struct dotnet_worker *w)
{
    const struct dotnet_lease *l = &w->lease;
    const struct dotnet_range *r = NULL;
    size_t n = dotnet_map_overlap(&w->peer->source_map, l->min, l->max, &r);

    w->child_count = w->child_at = 0;
    if (dotnet_is_v2(w->peer)) {
        plan_v2(w);
        return;
    }
    if (n == 0) {
        dotnet_worker_end(w);
        return;
    }
    for (size_t i = 0; i < n && n > 1; i++) {
        const char *min = i == 0 ? l->min : r[i].min;
        const char *max = i + 1 == n ? l->max : r[i].max;

        if (l->version == 1)
            child_add(w, 1, "", min, max);
        else
            child_add(w, 0, r[i].id, r[i].min, r[i].max);
    }
    if (n == 1 && l->version == 0)
        child_add(w, 1, "", l->min, l->max);
    if (w->child_count > 0) {
        create_next(w);
        return;
    }
    w->state = WORKER_REDIRECTED;
    dotnet_copy(w->acquired.continuation, sizeof(w->acquired.continuation),
                rn_view_text(w->position));
    dotnet_update_begin(&w->update, UPDATE_PROPERTIES, &w->acquired, "");
}

static bool gone_step(struct dotnet_worker *w)
{
    const struct dotnet_map *m = &w->peer->source_map;

    if (m->rounds <= w->round)
        return false;
    if (m->has_failed)
        dotnet_worker_end(w);
    else
        plan(w);
    return true;
}

/* All exist: acquire those that this host made, and delete the parent. */
static void created(struct dotnet_worker *w)
{
    for (size_t i = 0; i < w->child_count; i++) {
        dotnet_copy(w->children[i].properties, DOTNET_PROPERTIES_MAX,
                    rn_view_text(w->lease.properties));
        if (w->is_mine[i])
            (void)dotnet_worker_add(w->peer, &w->children[i]);
    }
    dotnet_call_lease(&w->call, "DELETE", w->lease.id,
                      w->lease.partition_key[0] ? w->lease.partition_key
                                                : w->lease.id);
    dotnet_call_send(&w->call);
    w->state = WORKER_DELETING;
}

static bool create_step(struct dotnet_worker *w)
{
    int status;

    if (!dotnet_call_take(&w->call, &status))
        return false;
    w->is_mine[w->child_at] = status == 201;
    if (status != 201 && status != 409)
        dotnet_worker_end(w);
    else if (++w->child_at < w->child_count)
        create_next(w);
    else
        created(w);
    return true;
}

bool dotnet_split_step(struct dotnet_worker *w)
{
    bool moved;
    int status;

    switch (w->state) {
    case WORKER_GONE:
        return gone_step(w);
    case WORKER_CREATING:
        return create_step(w);
    case WORKER_DELETING:
        if (!dotnet_call_take(&w->call, &status))
            return false;
        dotnet_worker_end(w);
        return true;
    default: /* REDIRECTED */
        moved = dotnet_update_step(&w->update);
        if (dotnet_update_is_over(&w->update))
            dotnet_worker_end(w);
        return moved;
    }
}
