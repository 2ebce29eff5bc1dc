/* dotnet_worker.c -- the .NET host's work on one lease: acquire, read, hand
 * over, checkpoint, renew, release; see dotnet_own.h. */
#include "client/dotnet_own.h"

#include "base/clock.h"
#include "cosmos/header.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t ms_ns = 1000000;

static int64_t now_of(const struct dotnet_worker *w)
{
    return rn_mono_ns(w->peer->env);
}

/* ---- beginning and end --------------------------------------------------- */

static struct dotnet_worker *find(const struct dotnet_peer *p,
                                  const char *token)
{
    struct dotnet_worker *w = p->workers;

    while (w && strcmp(w->lease.token, token) != 0)
        w = w->next;
    return w;
}

static void acquire(struct dotnet_worker *w)
{
    w->state = WORKER_ACQUIRING;
    dotnet_update_begin(&w->update, UPDATE_ACQUIRE, &w->lease, "");
    /* The library changes the object it was given. */
    dotnet_copy(w->lease.owner, sizeof(w->lease.owner),
                rn_view_text(w->peer->o.instance));
}

static struct dotnet_worker *worker_new(struct dotnet_peer *p,
                                        const struct dotnet_lease *lease)
{
    struct dotnet_worker *w = calloc(1, sizeof(*w));

    if (!w)
        abort();
    w->peer = p;
    w->lease = *lease;
    dotnet_call_init(&w->call, p);
    dotnet_call_init(&w->update.call, p);
    dotnet_call_init(&w->renewal.call, p);
    w->next = p->workers;
    p->workers = w;
    return w;
}

struct dotnet_worker *dotnet_worker_add(struct dotnet_peer *p,
                                        const struct dotnet_lease *lease)
{
    struct dotnet_worker *w = find(p, lease->token);

    if (w)
        return w;
    w = worker_new(p, lease);
    if (lease->has_range || lease->version == 1 || dotnet_is_v2(p)) {
        acquire(w);
        return w;
    }
    w->state = WORKER_RANGE;
    w->round = p->source_map.is_loaded ? 0 : dotnet_map_refresh(&p->source_map);
    return w;
}

void dotnet_worker_free(struct dotnet_worker *w)
{
    struct dotnet_worker **at = &w->peer->workers;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    dotnet_call_release(&w->call);
    dotnet_call_release(&w->update.call);
    dotnet_call_release(&w->renewal.call);
    free(w);
}

void dotnet_worker_end(struct dotnet_worker *w)
{
    dotnet_call_cancel(&w->call);
    dotnet_update_cancel(&w->renewal);
    dotnet_update_begin(&w->update, UPDATE_RELEASE, &w->lease, "");
    w->state = WORKER_RELEASING;
}

void dotnet_worker_cancel(struct dotnet_worker *w)
{
    w->is_cancelled = true;
    dotnet_update_cancel(&w->renewal);
}

/* ---- the feed ------------------------------------------------------------ */

static void read_feed(struct dotnet_worker *w, const struct dotnet_range *range)
{
    const struct dotnet_options *o = &w->peer->o;
    const char *mode = o->mode ? o->mode : "Incremental Feed";
    struct dotnet_call *c = &w->call;
    char text[DOTNET_PATH_MAX];

    snprintf(text, sizeof(text), "/dbs/%s/colls/%s/docs", o->db, o->source);
    dotnet_call_begin(c, "GET", text);
    c->is_feed = true;
    dotnet_call_header(c, RN_HEADER_A_IM, mode);
    if (mode[0] == 'F')
        dotnet_call_header(c, RN_HEADER_WIRE_FORMAT, "2021-09-15");
    snprintf(text, sizeof(text), "%u", o->page_limit);
    if (o->page_limit)
        dotnet_call_header(c, RN_HEADER_MAX_ITEM_COUNT, text);
    dotnet_call_header(c, RN_HEADER_RANGE_ID,
                       range ? range->id : w->lease.token);
    if (w->lease.version == 1 && range &&
        (strcmp(range->min, w->lease.min) != 0 ||
         strcmp(range->max, w->lease.max) != 0)) {
        dotnet_call_header(c, RN_HEADER_READ_KEY_TYPE,
                           "EffectivePartitionKeyRange");
        dotnet_call_header(c, RN_HEADER_START_EPK, w->lease.min);
        dotnet_call_header(c, RN_HEADER_END_EPK, w->lease.max);
    }
    if (w->position[0]) {
        dotnet_call_header(c, RN_HEADER_IF_NONE_MATCH, w->position);
    } else if (o->start == DOTNET_FROM_NOW) {
        dotnet_call_header(c, RN_HEADER_IF_NONE_MATCH, "*");
    } else if (o->start == DOTNET_FROM_TIME) {
        char date[RN_DATE_TEXT_MAX + 1] = "";

        (void)rn_date_print(o->start_s, date);
        dotnet_call_header(c, RN_HEADER_IF_MODIFIED_SINCE, date);
    }
    dotnet_call_send(c);
    w->state = WORKER_READING;
}

static void gone(struct dotnet_worker *w)
{
    dotnet_update_cancel(&w->renewal);
    w->state = WORKER_GONE;
    w->round = dotnet_map_refresh(&w->peer->source_map);
}

/* Where does the lease's interval lie?  The process has one map. */
static void route(struct dotnet_worker *w)
{
    const struct dotnet_options *o = &w->peer->o;
    struct dotnet_map *m = &w->peer->source_map;
    const struct dotnet_range *range = NULL;
    char path[DOTNET_PATH_MAX];

    w->state = WORKER_ROUTING;
    if (dotnet_is_v2(w->peer)) {
        read_feed(w, NULL);
    } else if (!m->is_loaded) {
        w->round = dotnet_map_refresh(m);
    } else if (w->lease.version == 1) {
        if (dotnet_map_overlap(m, w->lease.min, w->lease.max, &range) == 1)
            read_feed(w, range);
        else
            gone(w); /* without a request */
    } else if (dotnet_map_find(m, w->lease.token)) {
        read_feed(w, NULL);
    } else {
        snprintf(path, sizeof(path), "/dbs/%s/colls/%s", o->db, o->source);
        dotnet_call_begin(&w->call, "GET", path);
        dotnet_call_send(&w->call);
        w->state = WORKER_CONTAINER;
    }
}

static void change_read(const struct rn_json *j, uint32_t object,
                        struct dotnet_change *out)
{
    uint32_t metadata = rn_json_find(j, object, RN_LIT("metadata"));
    uint32_t current = rn_json_find(j, object, RN_LIT("current"));
    uint32_t id = rn_json_find(j, current == RN_JSON_NONE ? object : current,
                               RN_LIT("id"));
    uint32_t lsn = metadata == RN_JSON_NONE
                       ? rn_json_find(j, object, RN_LIT("_lsn"))
                       : rn_json_find(j, metadata, RN_LIT("lsn"));
    int64_t number = 0;

    if (id == RN_JSON_NONE)
        id = rn_json_find(j, metadata, RN_LIT("id"));
    dotnet_copy(out->id, sizeof(out->id), rn_json_text(j, id));
    if (rn_json_kind(j, lsn) == RN_JSON_NUMBER)
        (void)rn_json_int64(j, lsn, &number);
    out->lsn = (uint64_t)number;
}

static bool page_read(struct dotnet_worker *w)
{
    struct rn_json_walk walk;
    struct rn_json j;
    bool ok;

    rn_json_init(&j, NULL);
    w->change_count = 0;
    ok = !rn_json_parse(&j, rn_buf_view(&w->call.x.answer), NULL);
    walk = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
    while (ok && rn_json_walk_next(&walk)) {
        if (w->change_count == DOTNET_CHANGES_MAX)
            abort();
        change_read(&j, walk.value, &w->changes[w->change_count++]);
    }
    rn_json_release(&j);
    return ok;
}

static void store(struct dotnet_worker *w)
{
    w->state = WORKER_STORING;
    dotnet_update_begin(&w->update, UPDATE_CHECKPOINT, &w->lease, w->page_etag);
}

static void page_arrived(struct dotnet_worker *w)
{
    const struct dotnet_options *o = &w->peer->o;

    if (!page_read(w)) {
        dotnet_worker_end(w);
        return;
    }
    dotnet_copy(w->page_etag, sizeof(w->page_etag),
                rn_view_text(dotnet_call_etag(&w->call)));
    if (w->change_count == 0) {
        store(w);
        return;
    }
    w->due_ns = now_of(w) + o->begin(o->context, w->lease.token, w->changes,
                                     w->change_count) *
                                ms_ns;
    w->state = WORKER_HANDLING;
}

static void sleep_on(struct dotnet_worker *w)
{
    w->due_ns = now_of(w) + w->peer->o.poll_ms * ms_ns;
    w->state = WORKER_SLEEPING;
}

static void feed_answered(struct dotnet_worker *w, int status)
{
    struct dotnet_call *c = &w->call;

    if (status == 200) {
        page_arrived(w);
    } else if (status == 304) {
        dotnet_copy(w->position, sizeof(w->position),
                    rn_view_text(dotnet_call_etag(c)));
        sleep_on(w);
    } else if (dotnet_is_v2(w->peer) && (status == 429 || status >= 500)) {
        sleep_on(w);
    } else if (status == 410 &&
               (c->x.sub_status == 1002 || c->x.sub_status == 1007)) {
        gone(w);
    } else {
        dotnet_worker_end(w);
    }
}

/* ---- steps --------------------------------------------------------------- */

/* It has the lease: the feed is read, and the lease renewed. */
static void work(struct dotnet_worker *w)
{
    w->acquired = w->lease;
    dotnet_copy(w->position, sizeof(w->position),
                rn_view_text(w->lease.continuation));
    w->renew_ns = now_of(w) + w->peer->o.renew_ms * ms_ns / 2;
    if (w->peer->o.position)
        w->peer->o.position(w->peer->o.context, w->lease.token, w->position);
    route(w);
}

void dotnet_worker_resume(struct dotnet_peer *p,
                          const struct dotnet_lease *lease)
{
    work(worker_new(p, lease));
}

static bool acquire_step(struct dotnet_worker *w)
{
    bool moved = dotnet_update_step(&w->update);

    if (!dotnet_update_is_over(&w->update))
        return moved;
    if (w->update.state != UPDATE_DONE || w->is_cancelled) {
        dotnet_worker_end(w);
        return true;
    }
    w->lease = w->update.lease;
    work(w);
    return true;
}

static bool store_step(struct dotnet_worker *w)
{
    bool moved = dotnet_update_step(&w->update);

    if (!dotnet_update_is_over(&w->update))
        return moved;
    if (w->update.state != UPDATE_DONE) {
        dotnet_worker_end(w);
        return true;
    }
    w->lease = w->update.lease;
    dotnet_copy(w->position, sizeof(w->position), rn_view_text(w->page_etag));
    route(w);
    return true;
}

static bool handle_step(struct dotnet_worker *w)
{
    const struct dotnet_options *o = &w->peer->o;

    if (now_of(w) < w->due_ns)
        return false;
    if (o->end(o->context, w->lease.token, w->changes, w->change_count))
        store(w);
    else
        dotnet_worker_end(w);
    return true;
}

/* The map was asked for: the range of an old lease, or where to read. */
static bool map_step(struct dotnet_worker *w)
{
    struct dotnet_map *m = &w->peer->source_map;
    const struct dotnet_range *range;

    if (!m->is_loaded && m->rounds <= w->round)
        return false;
    if (!m->is_loaded) {
        dotnet_worker_end(w);
    } else if (w->state == WORKER_RANGE) {
        range = dotnet_map_find(m, w->lease.token);
        w->lease.has_range = range != NULL;
        if (range) {
            dotnet_copy(w->lease.min, DOTNET_EPK_MAX, rn_view_text(range->min));
            dotnet_copy(w->lease.max, DOTNET_EPK_MAX, rn_view_text(range->max));
        }
        acquire(w);
    } else {
        route(w);
    }
    return true;
}

/* The range of the lease was not in the map: read anyhow, with a fresh map. */
static bool container_step(struct dotnet_worker *w)
{
    struct dotnet_map *m = &w->peer->source_map;
    int status;

    if (w->call.state == CALL_IDLE) { /* it has the container */
        if (m->rounds <= w->round)
            return false;
        read_feed(w, NULL);
        return true;
    }
    if (!dotnet_call_take(&w->call, &status))
        return false;
    if (status == 200)
        w->round = dotnet_map_refresh(m);
    else
        dotnet_worker_end(w);
    return true;
}

static bool is_active(const struct dotnet_worker *w)
{
    return w->state >= WORKER_ROUTING && w->state <= WORKER_STORING;
}

/* In the delegate, or in the checkpoint behind it: that is not cut off. */
static bool is_busy(const struct dotnet_worker *w)
{
    return w->state == WORKER_HANDLING || w->state == WORKER_STORING;
}

static bool renew_step(struct dotnet_worker *w)
{
    struct dotnet_update *u = &w->renewal;
    bool moved = dotnet_update_step(u);

    if (!is_active(w) || w->is_cancelled)
        return moved;
    if (u->state == UPDATE_LOST) {
        dotnet_worker_cancel(w);
        return true;
    }
    if (dotnet_update_is_over(u)) {
        u->state = UPDATE_IDLE;
        w->renew_ns = now_of(w) + w->peer->o.renew_ms * ms_ns;
        return true;
    }
    if (u->state != UPDATE_IDLE || now_of(w) < w->renew_ns)
        return moved;
    dotnet_update_begin(u, UPDATE_RENEW, &w->lease, "");
    return true;
}

static bool release_step(struct dotnet_worker *w)
{
    bool moved = dotnet_update_step(&w->update);

    if (!dotnet_update_is_over(&w->update))
        return moved;
    w->state = WORKER_ENDED;
    return true;
}

static bool feed_step(struct dotnet_worker *w)
{
    int status;

    if (w->state == WORKER_SLEEPING && now_of(w) >= w->due_ns) {
        route(w);
        return true;
    }
    if (w->state != WORKER_READING || !dotnet_call_take(&w->call, &status))
        return false;
    feed_answered(w, status);
    return true;
}

bool dotnet_worker_step(struct dotnet_worker *w)
{
    bool moved = renew_step(w);

    if (w->is_cancelled && is_active(w) && !is_busy(w)) {
        dotnet_worker_end(w);
        return true;
    }
    switch (w->state) {
    case WORKER_RANGE:
    case WORKER_ROUTING:
        return map_step(w) || moved;
    case WORKER_ACQUIRING:
        return acquire_step(w) || moved;
    case WORKER_CONTAINER:
        return container_step(w) || moved;
    case WORKER_READING:
    case WORKER_SLEEPING:
        return feed_step(w) || moved;
    case WORKER_HANDLING:
        return handle_step(w) || moved;
    case WORKER_STORING:
        return store_step(w) || moved;
    case WORKER_RELEASING:
        return release_step(w) || moved;
    case WORKER_ENDED:
        return moved;
    default:
        return dotnet_split_step(w) || moved;
    }
}

static int64_t call_due(const struct dotnet_call *c)
{
    return c->state == CALL_PAUSED ? c->due_ns : INT64_MAX;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t dotnet_worker_due(const struct dotnet_worker *w)
{
    int64_t due = least(call_due(&w->call), call_due(&w->update.call));

    due = least(due, call_due(&w->renewal.call));
    if (w->state == WORKER_SLEEPING || w->state == WORKER_HANDLING)
        due = least(due, w->due_ns);
    if (is_active(w) && !w->is_cancelled && w->renewal.state == UPDATE_IDLE)
        due = least(due, w->renew_ns);
    return due;
}
