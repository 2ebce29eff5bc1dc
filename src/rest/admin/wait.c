/* wait.c -- a control route that answers when processors have caught up.
 *
 *   POST /_runnel/wait  {"container": "dbs/a/colls/b",
 *                        "leases": "dbs/a/colls/leases",
 *                        "prefix": "billing", "timeoutMs": 30000}
 *
 * The target is the LSN of each range when the request arrived.  A processor
 * has caught up when its leases cover the container and, for each lease, no
 * change up to the target is behind the lease's continuation.  The call is
 * parked until the lease container changes, then the leases are read again.
 *
 * The answer says whether they have caught up, and returns the target as
 * "upto", which a client that waits longer than one request sends again.
 *
 * A lease is a document of the .NET libraries or librunnel: its id begins with
 * the prefix and contains the container's rid; its continuation is an LSN.
 */
#include "rest/admin/wait.h"

#include "rest/admin/control.h"
#include "rest/objects.h"
#include "rest/reply.h"

#include "base/clock.h"
#include "cosmos/feed_token.h"
#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "engine/feed/feed.h"
#include "json/print.h"

enum { PREFIX_MAX = 255, LEASES_MAX = 4096, TIMEOUT_MS_MAX = 3600000 };

struct target {
    struct rn_epk_range epks;
    struct rn_feed_part part; /* its range, dead or alive, and the LSN */
};

struct lease {
    struct rn_epk_range epks;
    uint64_t lsn;
    bool all_versions;
};

struct wait_call {
    struct rn_context *x;
    struct rn_object *leases; /* the lease container */
    char prefix[PREFIX_MAX + 1];
    int64_t deadline_ns;
    struct target *targets; /* in the call's arena */
    size_t target_count;
    struct lease *found; /* as last read; likewise */
    size_t found_count;
    struct rn_waiter waiter;
};

/* ---- leases -------------------------------------------------------------- */

static enum rn_code refuse(struct rn_context *x, const struct rn_json *j,
                           const char *what)
{
    return rn_fail(&x->err, RN_BAD_REQUEST, "the lease '%.*s' has %s",
                   RN_FMT(rn_json_text(j, rn_json_find(j, 0, RN_LIT("id")))),
                   what);
}

static enum rn_code text_at(struct rn_context *x, const struct rn_json *j,
                            uint32_t of, const char *name, struct rn_view *out)
{
    uint32_t value = rn_json_find(j, of, rn_view_text(name));

    *out = RN_LIT("");
    return rn_json_kind(j, value) == RN_JSON_STRING
               ? rn_json_string_get(j, value, &x->call->arena, out)
               : RN_OK;
}

/* Its interval: that of its feed range, or of the range in its token, dead or
 * alive. */
static enum rn_code read_interval(struct wait_call *w, struct rn_snapshot *r,
                                  const struct rn_json *j, struct rn_view token,
                                  struct lease *out)
{
    uint32_t feed_range = rn_json_find(j, 0, RN_LIT("FeedRange"));
    uint32_t range = rn_json_find(j, feed_range, RN_LIT("Range"));
    struct rn_row_range row;
    struct rn_view min, max;
    uint64_t id = 0;
    enum rn_code rc;

    if (rn_json_kind(j, feed_range) == RN_JSON_OBJECT &&
        rn_json_kind(j, range) == RN_JSON_OBJECT) {
        rc = text_at(w->x, j, range, "min", &min);
        if (!rc)
            rc = text_at(w->x, j, range, "max", &max);
        if (!rc)
            rc = rn_epk_parse(min, &out->epks.min, &w->x->err);
        return rc ? rc : rn_epk_parse(max, &out->epks.max, &w->x->err);
    }
    for (size_t i = 0; i < token.len; i++) {
        if (token.at[i] < '0' || token.at[i] > '9')
            return refuse(w->x, j, "no range");
        id = id * 10 + (uint64_t)(token.at[i] - '0');
        if (id > UINT32_MAX)
            return refuse(w->x, j, "no range");
    }
    rc = rn_range_read(r->txn, r->container, (uint32_t)id, &row);
    out->epks = row.epks;
    return rc == RN_NOT_FOUND ? refuse(w->x, j, "no range of the container")
                              : rc;
}

static enum rn_code read_position(struct wait_call *w, const struct rn_json *j,
                                  struct lease *out)
{
    struct rn_feed_token token;
    struct rn_view text, mode;
    enum rn_code rc = text_at(w->x, j, 0, "ContinuationToken", &text);

    if (!rc)
        rc = text_at(w->x, j, 0, "Mode", &mode);
    if (rc)
        return rc;
    out->all_versions = rn_view_eq(mode, RN_LIT("Full-Fidelity Feed"));
    rc = rn_feed_token_parse(text, &w->x->call->arena, &token, NULL);
    if (rc == RN_BAD_REQUEST || (!rc && token.kind != RN_FEED_TOKEN_NONE &&
                                 token.kind != RN_FEED_TOKEN_LSN))
        return refuse(w->x, j, "a continuation that is not an LSN");
    out->lsn = token.kind == RN_FEED_TOKEN_LSN ? token.lsn : 0;
    return rc;
}

static bool contains(struct rn_view text, struct rn_view part)
{
    for (size_t i = 0; i + part.len <= text.len; i++) {
        if (memcmp(text.at + i, part.at, part.len) == 0)
            return true;
    }
    return false;
}

/* Adds the document to the leases, if it is a lease of the processor. */
static enum rn_code read_lease(struct wait_call *w, struct rn_snapshot *r,
                               const struct rn_json *j)
{
    struct lease *lease = &w->found[w->found_count];
    struct rn_view id, token;
    char rid[RN_RID_TEXT_MAX];
    enum rn_code rc = text_at(w->x, j, 0, "id", &id);

    if (!rc)
        rc = text_at(w->x, j, 0, "LeaseToken", &token);
    if (rc || !token.len || !rn_view_starts(id, rn_view_text(w->prefix)) ||
        !contains(id, rn_rid_print(r->container->rid, rid)))
        return rc;
    if (w->found_count == LEASES_MAX)
        return rn_fail(&w->x->err, RN_TOO_LARGE, "more than %d leases",
                       LEASES_MAX);
    rc = read_interval(w, r, j, token, lease);
    if (!rc)
        rc = read_position(w, j, lease);
    w->found_count += !rc;
    return rc;
}

static enum rn_code read_leases(struct wait_call *w, struct rn_snapshot *r)
{
    struct rn_snapshot of_leases = *r;
    struct rn_documents_scan all = { .epks = rn_epk_all };
    struct rn_documents list;
    struct rn_view body;
    struct rn_json j;
    enum rn_code rc;

    w->found_count = 0;
    of_leases.container = w->leases->container;
    rn_json_init(&j, NULL);
    rc = rn_documents_open(&list, &of_leases, &all);
    while (!rc) {
        rc = rn_documents_next(&list, &body);
        if (!rc)
            rc = rn_json_parse(&j, body, &w->x->err);
        if (!rc)
            rc = read_lease(w, r, &j);
    }
    rn_documents_close(&list);
    rn_json_release(&j);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* ---- what is left -------------------------------------------------------- */

static bool intersect(const struct rn_epk_range *a,
                      const struct rn_epk_range *b, struct rn_epk_range *out)
{
    out->min = rn_epk_compare(&a->min, &b->min) > 0 ? a->min : b->min;
    out->max = rn_epk_compare(&a->max, &b->max) < 0 ? a->max : b->max;
    return rn_epk_compare(&out->min, &out->max) < 0;
}

/* Do leases cover the whole interval? */
static bool is_covered(const struct wait_call *w,
                       const struct rn_epk_range *epks)
{
    struct rn_epk at = epks->min;
    bool moves = true;

    while (moves && rn_epk_compare(&at, &epks->max) < 0) {
        moves = false;
        for (size_t i = 0; i < w->found_count; i++) {
            const struct rn_epk_range *l = &w->found[i].epks;

            if (rn_epk_compare(&l->min, &at) <= 0 &&
                rn_epk_compare(&at, &l->max) < 0) {
                at = l->max;
                moves = true;
            }
        }
    }
    return rn_epk_compare(&at, &epks->max) >= 0;
}

/* Is there a change in a part of a living range that the lease has not
 * reached? */
static enum rn_code look_in(struct wait_call *w, struct rn_snapshot *r,
                            const struct lease *lease,
                            const struct rn_feed_scan *scan, bool *is_behind)
{
    struct rn_feed feed = { 0 };
    struct rn_change change;
    enum rn_code rc;

    if (lease->lsn >= scan->upto)
        return RN_OK;
    rc = rn_feed_open(&feed, r, scan, &w->x->err);
    if (!rc)
        rc = rn_feed_next(&feed, &change);
    rn_feed_close(&feed);
    *is_behind = !rc;
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code look_at_target(struct wait_call *w, struct rn_snapshot *r,
                                   const struct target *t,
                                   const struct rn_range_span *range,
                                   bool *is_behind)
{
    struct rn_epk_range part;
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && !*is_behind && i < w->found_count; i++) {
        const struct lease *lease = &w->found[i];
        struct rn_feed_scan scan = { .range = range->id,
                                     .after = lease->lsn,
                                     .upto = t->part.lsn,
                                     .all_versions = lease->all_versions,
                                     .entries_max = UINT32_MAX,
                                     .bytes_max = SIZE_MAX };

        if (intersect(&t->epks, &range->epks, &part) &&
            intersect(&part, &lease->epks, &scan.epks))
            rc = look_in(w, r, lease, &scan, is_behind);
    }
    return rc;
}

static enum rn_code look(struct wait_call *w, bool *is_behind)
{
    struct rn_snapshot r = { 0 };
    const struct rn_container *c;
    enum rn_code rc = rn_context_refresh(w->x);

    *is_behind = false;
    if (rc)
        return rc;
    c = w->x->container->container;
    rc = rn_snapshot_begin(&r, w->x->rest->engine, c, &w->x->err);
    if (!rc)
        rc = read_leases(w, &r);
    for (size_t i = 0; !rc && !*is_behind && i < w->target_count; i++) {
        *is_behind = !is_covered(w, &w->targets[i].epks);
        for (size_t k = 0; !rc && !*is_behind && k < c->range_count; k++)
            rc =
                look_at_target(w, &r, &w->targets[i], &c->ranges[k], is_behind);
    }
    rn_snapshot_end(&r);
    return rc;
}

static enum rn_code add_target(struct wait_call *w, struct rn_snapshot *r,
                               uint32_t range, const uint64_t *lsn)
{
    struct rn_row_range row;
    enum rn_code rc = rn_range_read(r->txn, r->container, range, &row);

    if (rc) {
        return rc == RN_NOT_FOUND
                   ? rn_fail(&w->x->err, RN_BAD_REQUEST,
                             "upto names the range %u, which the container "
                             "never had",
                             range)
                   : rc;
    }
    w->targets[w->target_count++] = (struct target){
        .epks = row.epks,
        .part = { .range = range, .lsn = lsn ? *lsn : row.lsn },
    };
    return RN_OK;
}

/* The targets that the client sent, or the current LSNs of the ranges. */
static enum rn_code set_targets(struct wait_call *w, struct rn_view upto)
{
    const struct rn_container *c = w->x->container->container;
    struct rn_arena *arena = &w->x->call->arena;
    struct rn_feed_token token = { 0 };
    struct rn_snapshot r = { 0 };
    enum rn_code rc = rn_feed_token_parse(upto, arena, &token, &w->x->err);
    size_t count = upto.len ? token.count : c->range_count;

    if (!rc && upto.len && token.kind != RN_FEED_TOKEN_PARTS)
        rc = rn_fail(&w->x->err, RN_BAD_REQUEST,
                     "upto is not what an earlier answer had");
    if (rc)
        return rc;
    w->targets = rn_arena_alloc(arena, count * sizeof(*w->targets));
    w->found = rn_arena_alloc(arena, (LEASES_MAX + 1) * sizeof(*w->found));
    if (!w->targets || !w->found)
        return RN_NOMEM;
    rc = rn_snapshot_begin(&r, w->x->rest->engine, c, &w->x->err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = upto.len
                 ? add_target(w, &r, token.parts[i].range, &token.parts[i].lsn)
                 : add_target(w, &r, c->ranges[i].id, NULL);
    }
    rn_snapshot_end(&r);
    return rc;
}

/* ---- steps --------------------------------------------------------------- */

static struct rn_waiters *waiters_of(const struct wait_call *w)
{
    return rn_engine_waiters(w->x->rest->engine);
}

static void wake(struct rn_waiter *waiter)
{
    struct wait_call *w = RN_CONTAINER_OF(waiter, struct wait_call, waiter);

    w->x->call->wake(w->x->call);
}

/* The client disconnected.  Thread: loop. */
static void on_disconnect(struct rn_call *call)
{
    struct wait_call *w = ((struct rn_context *)call->state)->control;

    if (rn_waiters_dismiss(waiters_of(w), &w->waiter))
        call->wake(call);
}

static enum rn_code print_upto(const struct wait_call *w, struct rn_buf *out)
{
    struct rn_feed_part *parts =
        rn_arena_alloc(&w->x->call->arena, w->target_count * sizeof(*parts));

    if (!parts)
        return RN_NOMEM;
    for (size_t i = 0; i < w->target_count; i++)
        parts[i] = w->targets[i].part;
    return rn_feed_token_print(parts, w->target_count, out);
}

static enum rn_rest_step answer(struct wait_call *w, bool is_behind)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&w->x->call->body);
    struct rn_buf upto = RN_BUF_INIT(1 << 20);
    enum rn_code rc = print_upto(w, &upto);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("caughtUp"));
    rn_json_out_bool(&o, !is_behind);
    rn_json_out_key(&o, RN_LIT("leases"));
    rn_json_out_uint(&o, w->found_count);
    rn_json_out_key(&o, RN_LIT("upto"));
    rn_json_out_string(&o, rn_buf_view(&upto));
    rn_json_out_object_end(&o);
    rn_buf_release(&upto);
    if (!rc)
        rc = rn_json_out_finish(&o);
    return rc ? rn_reply_fail(w->x, rc) : rn_reply_json(w->x, RN_STATUS_OK);
}

static enum rn_rest_step end(struct wait_call *w, enum rn_code rc,
                             bool is_behind)
{
    rn_object_release(w->leases);
    return rc ? rn_reply_fail(w->x, rc) : answer(w, is_behind);
}

static enum rn_rest_step check(struct rn_call *call);

static enum rn_rest_step woken(struct rn_call *call)
{
    call->next = check;
    return RN_REST_WORK;
}

/* Thread: worker.  Once parked, the call may be resumed at any moment and must
 * not be touched. */
static enum rn_rest_step check(struct rn_call *call)
{
    struct wait_call *w = ((struct rn_context *)call->state)->control;
    bool is_behind;
    enum rn_code rc;

    rn_waiters_begin(waiters_of(w), &w->waiter);
    rc = look(w, &is_behind);
    if (rc || !is_behind) {
        rn_waiters_end(waiters_of(w), &w->waiter);
        return end(w, rc, false);
    }
    call->note.waited_for = "change";
    call->next = woken;
    switch (rn_waiters_park(waiters_of(w), &w->waiter)) {
    case RN_PARKED:
        return RN_REST_PENDING;
    case RN_PARK_MOVED:
        call->next = check;
        return RN_REST_WORK;
    case RN_PARK_OVER:
        break;
    }
    return end(w, RN_OK, true);
}

static enum rn_code find_containers(struct wait_call *w,
                                    const struct rn_json *j)
{
    struct rn_context *x = w->x;
    enum rn_code rc = rn_control_link(x, j, "leases");

    if (rc)
        return rc;
    w->leases = rn_rest_find_container(x->rest, &x->link);
    if (!w->leases)
        return rn_fail(&x->err, RN_NOT_FOUND,
                       "there is no container for the leases of that name");
    return rn_control_container(x, j);
}

enum rn_rest_step rn_rest_wait(struct rn_context *x)
{
    static const char *const known[] = { "container", "leases", "prefix",
                                         "timeoutMs", "upto",   NULL };
    struct wait_call *w = rn_arena_alloc(&x->call->arena, sizeof(*w));
    struct rn_view upto = { 0 };
    int64_t ms = 30000;
    struct rn_json j;
    enum rn_code rc;

    if (!w)
        return rn_reply_fail(x, RN_NOMEM);
    *w = (struct wait_call){ .x = x };
    x->control = w;
    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = rn_control_text(x, &j, "prefix", w->prefix, sizeof(w->prefix));
    if (!rc)
        rc = rn_control_number(x, &j, "timeoutMs", TIMEOUT_MS_MAX, &ms);
    if (!rc)
        rc = find_containers(w, &j);
    if (!rc)
        rc = text_at(x, &j, 0, "upto", &upto);
    if (!rc)
        rc = set_targets(w, upto);
    rn_json_release(&j);
    if (rc) {
        rn_object_release(w->leases);
        return rn_reply_fail(x, rc);
    }
    w->waiter = (struct rn_waiter){
        .container = w->leases->number,
        .range = RN_RANGE_ANY,
        .prefixes = RN_EPK_PREFIXES_ALL,
        .deadline_ns = x->call->begun_ns + ms * 1000000,
        .wake = wake,
    };
    x->call->on_disconnect = on_disconnect;
    x->call->next = check;
    return RN_REST_WORK;
}
