/* dotnet_map.c -- the ranges of a container, as a .NET process shares them; see
 * dotnet_own.h. */
#include "client/dotnet_own.h"

#include "cosmos/header.h"

#include <stdio.h>
#include <stdlib.h>

void dotnet_map_init(struct dotnet_map *m, struct dotnet_peer *peer,
                     const struct dotnet_known *known)
{
    dotnet_call_init(&m->call, peer);
    if (!known->etag)
        return;
    if (known->count > DOTNET_RANGES_MAX)
        abort();
    dotnet_copy(m->etag, sizeof(m->etag), rn_view_text(known->etag));
    memcpy(m->ranges, known->ranges, known->count * sizeof(m->ranges[0]));
    m->count = known->count;
    m->is_loaded = true;
}

static void ask(struct dotnet_map *m)
{
    struct dotnet_call *c = &m->call;

    dotnet_call_begin(c, "GET", m->path);
    m->is_busy = true;
    if (dotnet_is_v2(c->peer)) {
        dotnet_call_header(c, RN_HEADER_MAX_ITEM_COUNT, "100");
        dotnet_call_header(c, RN_HEADER_IS_QUERY, "True");
        dotnet_call_header(c, RN_HEADER_CROSS_PARTITION, "False");
        dotnet_call_send(c);
        return;
    }
    dotnet_call_header(c, RN_HEADER_A_IM, "Incremental Feed");
    dotnet_call_header(c, RN_HEADER_MAX_ITEM_COUNT, "-1");
    if (m->etag[0])
        dotnet_call_header(c, RN_HEADER_IF_NONE_MATCH, m->etag);
    dotnet_call_send(c);
}

uint64_t dotnet_map_refresh(struct dotnet_map *m)
{
    if (!m->is_busy) {
        m->fresh_count = dotnet_is_v2(m->call.peer) ? 0 : m->count;
        memcpy(m->fresh, m->ranges, m->fresh_count * sizeof(m->ranges[0]));
        ask(m);
    }
    return m->rounds;
}

static void text_of(const struct rn_json *j, uint32_t object, const char *name,
                    char *out, size_t room)
{
    dotnet_copy(out, room,
                rn_json_text(j, rn_json_find(j, object, rn_view_text(name))));
}

static void range_read(const struct rn_json *j, uint32_t object,
                       struct dotnet_range *r)
{
    struct rn_json_walk w =
        rn_json_walk_begin(j, rn_json_find(j, object, RN_LIT("parents")));
    size_t len = 0;

    text_of(j, object, "id", r->id, sizeof(r->id));
    text_of(j, object, "minInclusive", r->min, sizeof(r->min));
    text_of(j, object, "maxExclusive", r->max, sizeof(r->max));
    r->parents[0] = '\0';
    while (rn_json_walk_next(&w) && len < sizeof(r->parents) - 16)
        len += (size_t)snprintf(r->parents + len, sizeof(r->parents) - len,
                                "%.*s,", RN_FMT(rn_json_text(j, w.value)));
}

static bool is_apart(const struct dotnet_range *a, const struct dotnet_range *b)
{
    return strcmp(a->max, b->min) <= 0 || strcmp(b->max, a->min) <= 0;
}

/* Takes the place of those that it overlaps; the ranges stay in order. */
static void range_put(struct dotnet_map *m, const struct dotnet_range *r)
{
    struct dotnet_range *all = m->fresh;
    size_t n = 0, at;

    for (size_t i = 0; i < m->fresh_count; i++) {
        if (is_apart(&all[i], r))
            all[n++] = all[i];
    }
    if (n == DOTNET_RANGES_MAX)
        abort();
    for (at = n; at > 0 && strcmp(all[at - 1].min, r->min) > 0; at--)
        all[at] = all[at - 1];
    all[at] = *r;
    m->fresh_count = n + 1;
}

static void answer_read(struct dotnet_map *m)
{
    struct rn_json_walk w;
    struct dotnet_range r;
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_buf_view(&m->call.x.answer), NULL))
        abort();
    w = rn_json_walk_begin(&j,
                           rn_json_find(&j, 0, RN_LIT("PartitionKeyRanges")));
    while (rn_json_walk_next(&w)) {
        range_read(&j, w.value, &r);
        range_put(m, &r);
    }
    rn_json_release(&j);
    dotnet_copy(m->etag, sizeof(m->etag),
                rn_view_text(dotnet_call_etag(&m->call)));
}

bool dotnet_map_step(struct dotnet_map *m)
{
    bool is_v2 = dotnet_is_v2(m->call.peer);
    int status;

    if (!m->is_busy || !dotnet_call_take(&m->call, &status))
        return false;
    if (status == 200)
        answer_read(m);
    if (status == 200 && !is_v2) {
        ask(m);
        return true;
    }
    m->has_failed = status != (is_v2 ? 200 : 304);
    if (!m->has_failed) {
        memcpy(m->ranges, m->fresh, m->fresh_count * sizeof(m->ranges[0]));
        m->count = m->fresh_count;
        m->is_loaded = true;
    } else {
        m->etag[0] = '\0'; /* all of it next time */
    }
    m->is_busy = false;
    m->rounds++;
    return true;
}

bool dotnet_map_is_parent(const struct dotnet_range *range, const char *id)
{
    char part[DOTNET_TOKEN_MAX + 2];

    snprintf(part, sizeof(part), "%s,", id);
    for (const char *at = range->parents; (at = strstr(at, part)); at++) {
        if (at == range->parents || at[-1] == ',')
            return true;
    }
    return false;
}

const struct dotnet_range *dotnet_map_find(const struct dotnet_map *m,
                                           const char *id)
{
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->ranges[i].id, id) == 0)
            return &m->ranges[i];
    }
    return NULL;
}

size_t dotnet_map_overlap(const struct dotnet_map *m, const char *min,
                          const char *max, const struct dotnet_range **first)
{
    size_t n = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->ranges[i].max, min) <= 0 ||
            strcmp(max, m->ranges[i].min) <= 0)
            continue;
        if (n++ == 0)
            *first = &m->ranges[i];
    }
    return n;
}
