/* seek.c -- the sort keys of a continuation or of a resume filter. */
#include "query/run/seek.h"

#include "query/run/distinct.h"
#include "query/run/resume.h"
#include "query/run/sorter.h"
#include "query/run/sorter_place.h"

#include <assert.h>

bool rn_query_can_follow_order(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return rn_query_is_ordered(q) && !s->is_distinct && !s->is_rank &&
           s->from_count && !s->from[0].query && !s->from[0].is_each;
}

bool rn_query_place_is_cut(const struct rn_query *q, struct rn_view after)
{
    struct rn_err why;
    struct rn_run run = { .query = q,
                          .keep = RN_ARENA_INIT(1 << 20),
                          .err = &why };
    struct rn_sorter s = { .run = &run,
                           .select = q->select,
                           .is_by_value =
                               rn_distinct_of(q->select) == RN_DISTINCT_FIRST };
    enum rn_code rc = after.len ? rn_sorter_resume(&s, after) : RN_NOT_FOUND;

    rn_arena_release(&run.keep);
    return !rc && s.was_cut;
}

static void seek_keys(const struct rn_query *q, const struct rn_value *keys,
                      struct rn_query_seek *seek)
{
    for (uint32_t i = 0; i < q->select->order_count && !seek->is_cut; i++)
        seek->len += rn_sortkey_encode(&keys[i], &seek->forms[i],
                                       seek->out + seek->len, &seek->is_cut);
}

enum rn_code rn_query_seek(const struct rn_query *q, struct rn_view after,
                           struct rn_query_seek *seek)
{
    struct rn_run run = { .query = q, .keep = RN_ARENA_INIT(1 << 20) };
    struct rn_sorter s = { .run = &run, .select = q->select };
    enum rn_code rc = rn_sorter_resume(&s, after);

    if (!rc) {
        assert(s.after);
        seek->len = 0;
        seek->is_cut = s.was_cut;
        seek_keys(q, s.after->keys, seek);
        seek->rid = s.after->rid;
        seek->has_rid = true;
    }
    rn_arena_release(&run.keep);
    return rc;
}

void rn_query_seek_resume(const struct rn_query *q,
                          const struct rn_query_resume *resume,
                          struct rn_query_seek *seek)
{
    seek->len = 0;
    seek->is_cut = false;
    seek_keys(q, resume->keys, seek);
    seek->rid = resume->rid;
    seek->has_rid = resume->has_rid;
}
