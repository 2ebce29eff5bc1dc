/* dotnet_peer.c -- the .NET host: its passes over the leases, its life; see
 * dotnet_peer.h. */
#include "client/dotnet_own.h"

#include "cosmos/header.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t ms_ns = 1000000;

/* ---- listing ------------------------------------------------------------- */

void dotnet_print(const struct dotnet_peer *p, const struct dotnet_lease *lease,
                  struct rn_buf *out)
{
    if (dotnet_is_v2(p))
        dotnet_lease_print_v2(lease, out);
    else
        dotnet_lease_print(lease, out);
}

static void prefix_print(const struct dotnet_peer *p, struct rn_json_out *o)
{
    char text[DOTNET_ID_MAX + 2];

    snprintf(text, sizeof(text), "%s..", p->base);
    rn_json_out_key(o, RN_LIT("parameters"));
    rn_json_out_array_begin(o);
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("name"));
    rn_json_out_string(o, RN_LIT("@PartitionLeasePrefix"));
    rn_json_out_key(o, RN_LIT("value"));
    rn_json_out_string(o, rn_view_text(text));
    rn_json_out_object_end(o);
    rn_json_out_array_end(o);
}

/* Version 3 puts the prefix into the text of the query. */
static void query_print(struct dotnet_peer *p)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&p->call.body);
    char text[DOTNET_ID_MAX + 80];

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("query"));
    if (dotnet_is_v2(p)) {
        rn_json_out_string(&o, RN_LIT("SELECT * FROM c WHERE STARTSWITH(c.id, "
                                      "@PartitionLeasePrefix)"));
        prefix_print(p, &o);
    } else {
        snprintf(text, sizeof(text),
                 "SELECT * FROM c WHERE STARTSWITH(c.id, '%s..')", p->base);
        rn_json_out_string(&o, rn_view_text(text));
    }
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
}

static void query_begin(struct dotnet_peer *p)
{
    char path[DOTNET_PATH_MAX];

    dotnet_leases_path(p, path);
    dotnet_call_begin(&p->call, "POST", path);
    p->call.is_read = true;
    query_print(p);
}

static void plan_send(struct dotnet_peer *p)
{
    query_begin(p);
    dotnet_call_header(&p->call, RN_HEADER_IS_QUERY_PLAN, "True");
    dotnet_call_send(&p->call);
    p->listing = LIST_PLAN;
}

static void query_send(struct dotnet_peer *p)
{
    query_begin(p);
    if (!dotnet_is_v2(p)) {
        dotnet_call_header(&p->call, RN_HEADER_MAX_ITEM_COUNT, "1000");
        dotnet_call_header(&p->call, RN_HEADER_RANGE_ID,
                           p->lease_map.ranges[p->list_at].id);
    }
    dotnet_call_header(&p->call, RN_HEADER_IS_QUERY, "True");
    dotnet_call_header(&p->call, RN_HEADER_CROSS_PARTITION, "True");
    dotnet_call_send(&p->call);
    p->listing = LIST_QUERY;
}

static void leases_read(struct dotnet_peer *p)
{
    struct rn_json_walk w;
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_buf_view(&p->call.x.answer), NULL))
        abort();
    w = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
    while (rn_json_walk_next(&w)) {
        if (p->lease_count == DOTNET_LEASES_MAX)
            abort();
        p->lease_count +=
            dotnet_lease_read(&j, w.value, &p->leases[p->lease_count]);
    }
    rn_json_release(&j);
}

static bool listed(struct dotnet_peer *p, bool is_ok, bool *ok)
{
    p->listing = LIST_IDLE;
    *ok = is_ok;
    return true;
}

bool dotnet_list_step(struct dotnet_peer *p, bool *ok)
{
    struct dotnet_map *m = &p->lease_map;
    int status;

    if (p->listing == LIST_IDLE) {
        p->lease_count = p->list_at = 0;
        plan_send(p);
    }
    if (p->listing == LIST_RANGES) {
        if (!m->is_loaded && m->rounds <= p->round)
            return false;
        if (!m->is_loaded)
            return listed(p, false, ok);
        query_send(p);
    }
    if (!dotnet_call_take(&p->call, &status))
        return false;
    if (status != 200)
        return listed(p, false, ok);
    if (p->listing == LIST_PLAN && dotnet_is_v2(p)) {
        query_send(p); /* the gateway asks all ranges */
        return false;
    }
    if (p->listing == LIST_PLAN) {
        p->listing = LIST_RANGES;
        p->round = m->is_loaded ? 0 : dotnet_map_refresh(m);
        return dotnet_list_step(p, ok);
    }
    leases_read(p);
    if (dotnet_is_v2(p) || ++p->list_at == m->count)
        return listed(p, true, ok);
    query_send(p);
    return false;
}

/* ---- passes -------------------------------------------------------------- */

static void sleep_until_next(struct dotnet_peer *p)
{
    p->at = MAIN_SLEEP;
    p->due_ns = rn_mono_ns(p->env) + p->o.acquire_ms * ms_ns;
}

/* Is the lease still being acquired? */
static bool is_taking(const struct dotnet_peer *p)
{
    if (p->touch.state == UPDATE_READING || p->touch.state == UPDATE_WRITING)
        return true;
    for (const struct dotnet_worker *w = p->workers; w; w = w->next) {
        if (strcmp(w->lease.token, p->taking) == 0)
            return w->state <= WORKER_ACQUIRING;
    }
    return false;
}

/* Takes the leases of a pass, one after the other. */
static bool take_step(struct dotnet_peer *p)
{
    const struct dotnet_lease *l;
    bool moved = dotnet_update_step(&p->touch);
    bool is_new = true;

    if (is_taking(p))
        return moved;
    if (p->pick_at == p->pick_count) {
        sleep_until_next(p);
        return true;
    }
    l = &p->leases[p->picks[p->pick_at++]];
    dotnet_copy(p->taking, sizeof(p->taking), rn_view_text(l->token));
    for (const struct dotnet_worker *w = p->workers; w; w = w->next)
        is_new &= strcmp(w->lease.token, l->token) != 0;
    if (is_new)
        (void)dotnet_worker_add(p, l);
    else if (strcmp(l->owner, p->o.instance) == 0)
        dotnet_update_begin(&p->touch, UPDATE_PROPERTIES, l, "");
    return true;
}

/* The order in which version 2 takes leases. */
static void unowned_first(struct dotnet_peer *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->lease_count; i++) {
        struct dotnet_lease l = p->leases[i];

        if (l.owner[0])
            continue;
        memmove(&p->leases[n + 1], &p->leases[n],
                (i - n) * sizeof(p->leases[0]));
        p->leases[n++] = l;
    }
}

bool dotnet_pass_step(struct dotnet_peer *p)
{
    bool ok;

    if (p->at == MAIN_SLEEP) {
        if (rn_mono_ns(p->env) < p->due_ns)
            return false;
        p->at = MAIN_LIST;
        return true;
    }
    if (p->at == MAIN_TAKE)
        return take_step(p);
    if (!dotnet_list_step(p, &ok))
        return false;
    if (!ok) {
        sleep_until_next(p);
        return true;
    }
    if (dotnet_is_v2(p))
        unowned_first(p);
    p->pick_at = 0;
    p->pick_count =
        dotnet_balance(p->leases, p->lease_count, p->o.instance,
                       rn_wall_ms(p->env), p->o.expire_ms, p->picks);
    p->at = MAIN_TAKE;
    return true;
}

/* ---- its life ------------------------------------------------------------ */

static bool workers_step(struct dotnet_peer *p)
{
    struct dotnet_worker *next;
    bool moved = false;

    for (struct dotnet_worker *w = p->workers; w; w = next) {
        next = w->next;
        moved |= dotnet_worker_step(w);
        if (w->state == WORKER_ENDED) {
            dotnet_worker_free(w);
            moved = true;
        }
    }
    return moved;
}

/* Version 2 does not wait for the releases. */
static bool is_working(const struct dotnet_peer *p)
{
    const struct dotnet_worker *w = p->workers;

    while (w && dotnet_is_v2(p) && w->state >= WORKER_RELEASING)
        w = w->next;
    return w != NULL;
}

static bool main_step(struct dotnet_peer *p)
{
    switch (p->state) {
    case DOTNET_STARTING:
        return dotnet_boot_step(p);
    case DOTNET_RUNNING:
        return dotnet_pass_step(p);
    case DOTNET_STOPPING:
        if (!is_working(p))
            p->state = DOTNET_STOPPED;
        return false;
    default:
        return false;
    }
}

static int64_t paused_until(const struct dotnet_call *c)
{
    return c->state == CALL_PAUSED ? c->due_ns : INT64_MAX;
}

static int64_t due_of(const struct dotnet_peer *p)
{
    const int64_t dues[] = {
        paused_until(&p->call),
        paused_until(&p->touch.call),
        paused_until(&p->source_map.call),
        paused_until(&p->lease_map.call),
        p->at == MAIN_SLEEP || p->at == MAIN_LOCK_HELD ? p->due_ns : INT64_MAX,
    };
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < sizeof(dues) / sizeof(*dues); i++)
        due = dues[i] < due ? dues[i] : due;
    for (const struct dotnet_worker *w = p->workers; w; w = w->next) {
        int64_t own = dotnet_worker_due(w);

        due = own < due ? own : due;
    }
    return due;
}

static int64_t step(void *context)
{
    struct dotnet_peer *p = context;
    int64_t next, due, now;
    bool moved = true;

    (void)p->transport->ops->step(p->transport, 0);
    while (moved) {
        moved = main_step(p);
        moved |= dotnet_map_step(&p->source_map);
        moved |= dotnet_map_step(&p->lease_map);
        moved |= workers_step(p);
    }
    next = p->transport->ops->step(p->transport, 0);
    due = due_of(p);
    now = rn_mono_ns(p->env);
    if (due == INT64_MAX)
        return next;
    due = due > now ? due - now : 0;
    return due < next ? due : next;
}

/* It runs already, and knows its containers. */
static void resume(struct dotnet_peer *p)
{
    const struct dotnet_options *o = &p->o;

    p->state = DOTNET_RUNNING;
    sleep_until_next(p);
    dotnet_copy(p->source_rid, sizeof(p->source_rid),
                rn_view_text(o->known_source.rid));
    dotnet_copy(p->leases_rid, sizeof(p->leases_rid),
                rn_view_text(o->known_leases.rid));
    p->has_key_member = o->has_key_member;
    dotnet_boot_names(p);
    for (size_t i = 0; i < o->running_count; i++)
        dotnet_worker_resume(p, &o->running[i]);
}

struct dotnet_peer *dotnet_peer_start(const struct dotnet_options *options,
                                      struct rn_network *network,
                                      struct rn_env *env)
{
    struct dotnet_peer *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    p->o = *options;
    p->at = dotnet_is_v2(p) ? MAIN_DATABASE : MAIN_SOURCE;
    p->env = env;
    if (network->ops->open(network, &p->transport, NULL))
        abort();
    dotnet_call_init(&p->call, p);
    dotnet_call_init(&p->touch.call, p);
    dotnet_map_init(&p->source_map, p, &options->known_source);
    dotnet_map_init(&p->lease_map, p, &options->known_leases);
    if (options->running_count)
        resume(p);
    p->task = (struct rn_task){ .name = "dotnet", .step = step, .context = p };
    if (env->ops->task_start(env, &p->task))
        abort();
    return p;
}

enum dotnet_state dotnet_peer_state(const struct dotnet_peer *p)
{
    return p->state;
}

size_t dotnet_peer_workers(const struct dotnet_peer *p)
{
    size_t n = 0;

    for (const struct dotnet_worker *w = p->workers; w; w = w->next)
        n++;
    return n;
}

void dotnet_peer_stop(struct dotnet_peer *p)
{
    if (p->state != DOTNET_RUNNING)
        return;
    p->state = DOTNET_STOPPING;
    p->at = MAIN_OVER;
    dotnet_call_cancel(&p->call);
    dotnet_update_cancel(&p->touch);
    for (struct dotnet_worker *w = p->workers; w; w = w->next)
        dotnet_worker_cancel(w);
    p->env->ops->task_wake(p->env, &p->task);
}

void dotnet_peer_free(struct dotnet_peer *p)
{
    if (!p)
        return;
    p->env->ops->task_stop(p->env, &p->task);
    while (p->workers)
        dotnet_worker_free(p->workers);
    dotnet_call_release(&p->call);
    dotnet_call_release(&p->touch.call);
    dotnet_call_release(&p->source_map.call);
    dotnet_call_release(&p->lease_map.call);
    p->transport->ops->close(p->transport);
    free(p);
}
