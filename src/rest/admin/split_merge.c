/* split_merge.c -- control routes that split and merge partition key ranges.
 *
 *   POST /_runnel/split  {"container": "dbs/a/colls/b", "range": 0,
 *                         "at": "1FFF..."}     without at: in the middle
 *   POST /_runnel/merge  {"container": "dbs/a/colls/b", "range": 1, "with": 2}
 *
 * The answer has the ids of the new ranges.
 */
#include "rest/admin/split_merge.h"

#include "rest/admin/control.h"
#include "rest/reply.h"

#include "json/json.h"
#include "json/print.h"

#include <stdio.h>

static enum rn_rest_step finish(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_json_out o = RN_JSON_OUT_INIT(&call->body);
    struct rn_split_merge *r = &x->split_merge;
    enum rn_code rc = x->rc;
    char id[16];

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("ranges"));
    rn_json_out_array_begin(&o);
    for (uint32_t i = r->first_new; !rc && i < r->object->container->next_range;
         i++) {
        snprintf(id, sizeof(id), "%u", i);
        rn_json_out_string(&o, rn_view_text(id));
    }
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    rn_split_merge_release(r);
    if (!rc)
        rc = rn_json_out_finish(&o);
    return rc ? rn_reply_fail(x, rc) : rn_reply_json(x, RN_STATUS_OK);
}

/* Thread: committer. */
static void split_merge_done(struct rn_done *done, enum rn_code rc,
                             const struct rn_err *err)
{
    struct rn_context *x =
        RN_CONTAINER_OF(done, struct rn_context, split_merge.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

static enum rn_code read_bound(struct rn_context *x, const struct rn_json *j,
                               struct rn_split_merge *r)
{
    char text[RN_EPK_TEXT_MAX + 1];
    enum rn_code rc = rn_control_text(x, j, "at", text, sizeof(text));

    if (rc ||
        rn_json_kind(j, rn_json_find(j, 0, RN_LIT("at"))) == RN_JSON_UNDEFINED)
        return rc;
    r->has_at = true;
    return rn_epk_parse(rn_view_text(text), &r->at, &x->err);
}

static enum rn_code read_split_merge(struct rn_context *x,
                                     const struct rn_json *j,
                                     struct rn_split_merge *r)
{
    int64_t range = -1, with = -1;
    enum rn_code rc = rn_control_number(x, j, "range", UINT32_MAX, &range);

    if (!rc && r->verb == RN_SPLIT_MERGE_MERGE)
        rc = rn_control_number(x, j, "with", UINT32_MAX, &with);
    if (!rc && r->verb == RN_SPLIT_MERGE_SPLIT)
        rc = read_bound(x, j, r);
    if (!rc && (range < 0 || (r->verb == RN_SPLIT_MERGE_MERGE && with < 0)))
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "%s is missing",
                     range < 0 ? "range" : "with");
    r->range = (uint32_t)range;
    r->with = (uint32_t)with;
    return rc ? rc : rn_control_container(x, j);
}

static enum rn_rest_step start(struct rn_context *x,
                               enum rn_split_merge_verb verb,
                               const char *const *known)
{
    struct rn_split_merge *r = &x->split_merge;
    struct rn_json j;
    enum rn_code rc;

    *r = (struct rn_split_merge){ .done.call = split_merge_done, .verb = verb };
    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = read_split_merge(x, &j, r);
    rn_json_release(&j);
    if (rc)
        return rn_reply_fail(x, rc);
    r->container = x->container->container;
    x->call->next = finish;
    rc = rn_split_merge_start(x->rest->engine, r, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}

enum rn_rest_step rn_rest_split(struct rn_context *x)
{
    static const char *const known[] = { "container", "range", "at", NULL };

    return start(x, RN_SPLIT_MERGE_SPLIT, known);
}

enum rn_rest_step rn_rest_merge(struct rn_context *x)
{
    static const char *const known[] = { "container", "range", "with", NULL };

    return start(x, RN_SPLIT_MERGE_MERGE, known);
}
