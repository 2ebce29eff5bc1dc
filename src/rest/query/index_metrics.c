/* index_metrics.c -- index utilization of a query, for clients that request it.
 *
 * It follows the container's indexing policy, as in the service: paths that the
 * query filters or orders by and that the policy indexes are utilized,
 * whichever indexes exist at present (those come and go by themselves, and
 * /_runnel/explain shows them); paths that the policy excludes are potential.
 * A composite index is utilized if ORDER BY matches it, or if WHERE sets all
 * its keys equal to a value but for the last, which may be a range; potential
 * are those that would be.
 *
 * Clients read JSON.  Older ones want other member names, and base64.
 */
#include "rest/query/index_metrics.h"

#include "rest/query/query_metrics.h"
#include "rest/reply.h"

#include "base/base64.h"
#include "query/where/filters.h"
#include "query/where/where_equalities.h"
#include "query/where/where_intervals.h"
#include "json/print.h"

/* The V2 header may be three times as long, and all headers together 64 KB. */
enum { INDEX_TEXT_MAX = 16 << 10, KEYS_MAX = 8 };

/* How WHERE restricts the values at a path. */
enum shape { OTHER, EQUAL, RANGE };

struct use {
    struct rn_json_path path;
    enum shape shape;
    bool is_utilized;
};

struct uses {
    const struct rn_query_cost *cost;
    struct rn_arena *arena;
    struct use *list;
    uint32_t count, room;
    struct rn_policy_composite order; /* ORDER BY, if it has several keys */
    bool is_old; /* with the member names of older clients */
};

/* ---- what is used -------------------------------------------------------- */

static bool is_key(const struct rn_access *a, const struct rn_json_path *path)
{
    const struct rn_pkdef *def;

    if (!a || a->kind == RN_ACCESS_SCAN || a->index)
        return false;
    def = &a->reading->container->pkdef;
    for (size_t i = 0; i < def->count; i++) {
        if (rn_json_path_eq(&def->paths[i], path))
            return true;
    }
    return false;
}

static const struct use *find_use(const struct uses *u,
                                  const struct rn_json_path *path)
{
    for (uint32_t i = 0; i < u->count; i++) {
        if (rn_json_path_eq(&u->list[i].path, path))
            return &u->list[i];
    }
    return NULL;
}

static enum rn_code find_shape(const struct uses *u,
                               const struct rn_json_path *path, enum shape *out)
{
    struct rn_where_equalities equal;
    struct rn_where_intervals spans;
    enum rn_code rc =
        rn_where_equalities_find(u->cost->query, path, u->arena, &equal);

    *out = !rc && equal.is_limited ? EQUAL : OTHER;
    if (rc || equal.is_limited)
        return rc;
    rc = rn_where_intervals_find(u->cost->query, path, 64, u->arena, &spans);
    if (!rc && spans.is_bounded && spans.count == 1)
        *out = RANGE;
    return rc;
}

static enum rn_code add_use(struct uses *u, const struct rn_json_path *path)
{
    const struct rn_query_cost *c = u->cost;
    struct use *list = u->list;

    if (!path->count || find_use(u, path))
        return RN_OK;
    if (u->count == u->room) {
        uint32_t room = u->room ? 2 * u->room : 8;
        list = rn_arena_alloc(u->arena, room * sizeof(*list));
        if (!list)
            return RN_NOMEM;
        if (u->count)
            memcpy(list, u->list, u->count * sizeof(*list));
        u->list = list;
        u->room = room;
    }
    list[u->count] = (struct use){
        .path = *path,
        .is_utilized =
            rn_policy_is_indexed(c->policy, path) || is_key(c->access, path),
    };
    return find_shape(u, path, &list[u->count++].shape);
}

/* One key needs an index of its path, several need a composite index. */
static enum rn_code add_order(struct uses *u)
{
    const struct rn_query *q = u->cost->query;
    uint32_t count = rn_query_order_count(q);
    struct rn_policy_key *keys;
    enum rn_code rc = RN_OK;

    if (!count || count > KEYS_MAX)
        return RN_OK;
    keys = rn_arena_alloc(u->arena, count * sizeof(*keys));
    if (!keys)
        return RN_NOMEM;
    for (uint32_t i = 0; i < count && !rc; i++) {
        rc = rn_query_order_key(q, i, u->arena, &keys[i].path,
                                &keys[i].is_descending);
        if (!rc && !keys[i].path.count)
            return RN_OK;
    }
    if (!rc && count == 1)
        return add_use(u, &keys[0].path);
    u->order = (struct rn_policy_composite){ keys, count };
    return rc;
}

/* The paths of WHERE; those of ORDER BY, MIN and MAX; the partition key from
 * the header. */
static enum rn_code find_uses(struct uses *u)
{
    const struct rn_access *a = u->cost->access;
    struct rn_query_extreme extreme;
    const struct rn_json_path *paths;
    uint32_t count;
    enum rn_code rc =
        rn_query_filter_paths(u->cost->query, u->arena, &paths, &count);

    for (uint32_t i = 0; !rc && i < count; i++)
        rc = add_use(u, &paths[i]);
    if (!rc)
        rc = add_order(u);
    if (!rc)
        rc = rn_query_extreme(u->cost->query, u->arena, &extreme);
    if (!rc)
        rc = add_use(u, &extreme.path);
    for (uint32_t i = 0; a && a->scope.pk && i < a->scope.pk->count && !rc; i++)
        rc = add_use(u, &a->reading->container->pkdef.paths[i]);
    return rc;
}

/* ---- single indexes ------------------------------------------------------ */

/* "/a/b/?", as in indexing policies; or with a direction. */
static void print_spec(struct rn_json_out *o, const struct rn_json_path *path,
                       const char *end)
{
    struct rn_buf text = RN_BUF_INIT(INDEX_TEXT_MAX);

    if (rn_json_path_print(path, &text) || rn_buf_add(&text, rn_view_text(end)))
        o->rc = RN_TOO_LARGE;
    rn_json_out_string(o, rn_buf_view(&text));
    rn_buf_release(&text);
}

/* The impact of an index.  For an index in use only older clients get it. */
static void print_score(struct rn_json_out *o, const struct uses *u,
                        bool is_utilized)
{
    if (is_utilized && !u->is_old)
        return;
    rn_json_out_key(o, RN_LIT("IndexImpactScore"));
    rn_json_out_string(o, RN_LIT("High"));
}

static void print_singles(struct rn_json_out *o, const char *name,
                          const struct uses *u, bool is_utilized)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < u->count; i++) {
        if (u->list[i].is_utilized != is_utilized)
            continue;
        rn_json_out_object_begin(o);
        if (u->is_old) {
            rn_json_out_key(o, RN_LIT("FilterExpression"));
            rn_json_out_string(o, RN_LIT(""));
        }
        rn_json_out_key(o, RN_LIT("IndexSpec"));
        print_spec(o, &u->list[i].path, "/?");
        if (u->is_old) {
            rn_json_out_key(o, RN_LIT("FilterPreciseSet"));
            rn_json_out_bool(o, true);
            rn_json_out_key(o, RN_LIT("IndexPreciseSet"));
            rn_json_out_bool(o, true);
        }
        print_score(o, u, is_utilized);
        rn_json_out_object_end(o);
    }
    rn_json_out_array_end(o);
}

/* ---- composite indexes --------------------------------------------------- */

static void print_composite(struct rn_json_out *o, const struct uses *u,
                            const struct rn_policy_composite *c,
                            bool is_utilized)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("IndexSpecs"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < c->count; i++)
        print_spec(o, &c->keys[i].path,
                   c->keys[i].is_descending ? " DESC" : " ASC");
    rn_json_out_array_end(o);
    print_score(o, u, is_utilized);
    rn_json_out_object_end(o);
}

static bool is_filtered_by(const struct uses *u,
                           const struct rn_policy_composite *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct use *use = find_use(u, &c->keys[i].path);
        if (!use || use->shape == OTHER ||
            (use->shape == RANGE && i + 1 < c->count))
            return false;
    }
    return true;
}

/* Has the policy a composite index that is utilized and ends in `last`? */
static bool has_filter(const struct uses *u, const struct rn_json_path *last)
{
    const struct rn_policy *p = u->cost->policy;

    for (uint32_t i = 0; i < p->composite_count; i++) {
        const struct rn_policy_composite *c = &p->composites[i];
        if (rn_json_path_eq(&c->keys[c->count - 1].path, last) &&
            is_filtered_by(u, c))
            return true;
    }
    return false;
}

static void print_utilized(struct rn_json_out *o, const struct uses *u)
{
    const struct rn_policy *p = u->cost->policy;

    for (uint32_t i = 0; i < p->composite_count && !p->is_unindexed; i++) {
        const struct rn_policy_composite *c = &p->composites[i];
        struct rn_policy alone = { .composites = c, .composite_count = 1 };
        if (is_filtered_by(u, c) ||
            (u->order.count &&
             rn_policy_has_composite(&alone, u->order.keys, u->order.count)))
            print_composite(o, u, c, true);
    }
}

/* Each path with a range, after all paths with an equality. */
static void print_potential(struct rn_json_out *o, const struct uses *u)
{
    struct rn_policy_key keys[KEYS_MAX];
    struct rn_policy_composite c = { keys, 0 };
    uint32_t equal = 0;

    if (u->cost->policy->is_unindexed)
        return;
    if (u->order.count && !rn_policy_has_composite(
                              u->cost->policy, u->order.keys, u->order.count))
        print_composite(o, u, &u->order, false);
    for (uint32_t i = 0; i < u->count && equal < KEYS_MAX - 1; i++) {
        if (u->list[i].shape == EQUAL)
            keys[equal++] = (struct rn_policy_key){ u->list[i].path, false };
    }
    for (uint32_t i = 0; i < u->count && equal; i++) {
        if (u->list[i].shape != RANGE || has_filter(u, &u->list[i].path))
            continue;
        keys[equal] = (struct rn_policy_key){ u->list[i].path, false };
        c.count = equal + 1;
        print_composite(o, u, &c, false);
    }
}

static void print_composites(struct rn_json_out *o, const char *name,
                             const struct uses *u, bool is_utilized)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    if (is_utilized)
        print_utilized(o, u);
    else
        print_potential(o, u);
    rn_json_out_array_end(o);
}

/* ---- the header ---------------------------------------------------------- */

static void print_old(struct rn_json_out *o, const struct uses *u)
{
    rn_json_out_object_begin(o);
    print_singles(o, "UtilizedSingleIndexes", u, true);
    print_singles(o, "PotentialSingleIndexes", u, false);
    print_composites(o, "UtilizedCompositeIndexes", u, true);
    print_composites(o, "PotentialCompositeIndexes", u, false);
    rn_json_out_object_end(o);
}

static void print_new(struct rn_json_out *o, const struct uses *u)
{
    rn_json_out_object_begin(o);
    for (int i = 0; i < 2; i++) {
        rn_json_out_key(o, i == 0 ? RN_LIT("UtilizedIndexes")
                                  : RN_LIT("PotentialIndexes"));
        rn_json_out_object_begin(o);
        print_singles(o, "SingleIndexes", u, i == 0);
        print_composites(o, "CompositeIndexes", u, i == 0);
        rn_json_out_object_end(o);
    }
    rn_json_out_object_end(o);
}

/* Percent-encodes characters that a header cannot hold, and %. */
static enum rn_code escape(struct rn_view text, struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; i < text.len && !rc; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= 0x20 || c >= 0x7f || c == '%')
            rc = rn_buf_printf(out, "%%%02X", c);
        else
            rc = rn_buf_add(out, rn_view_of(&text.at[i], 1));
    }
    return rc;
}

void rn_index_metrics_add(struct rn_context *x, const struct rn_query_cost *c,
                          bool is_old)
{
    struct uses u = { .cost = c, .arena = &x->call->arena, .is_old = is_old };
    struct rn_buf json = RN_BUF_INIT(INDEX_TEXT_MAX);
    struct rn_buf text = RN_BUF_INIT((size_t)3 * INDEX_TEXT_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&json);
    char *letters;
    enum rn_code rc = find_uses(&u);

    if (!rc) {
        if (is_old)
            print_old(&o, &u);
        else
            print_new(&o, &u);
        rc = rn_json_out_finish(&o);
    }
    letters = rn_arena_alloc(u.arena, RN_BASE64_LEN(json.len));
    if (!rc && !is_old)
        rc = escape(rn_buf_view(&json), &text);
    if (!rc && letters) { /* a value too long for a header is left out */
        rn_reply_header(x, RN_HEADER_INDEX_METRICS,
                        is_old ? rn_base64_encode(rn_buf_view(&json),
                                                  RN_BASE64_STANDARD, letters)
                               : rn_buf_view(&text));
    }
    rn_buf_release(&text);
    rn_buf_release(&json);
}
