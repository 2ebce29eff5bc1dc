/* fixture.c -- control routes of the test mode that save the state of all
 * databases under a name and restore it (engine/fixture/fixture.h).
 *
 *   POST   /_runnel/snapshot  {"name": "clean"}   saves one, or replaces it
 *   DELETE /_runnel/snapshot                      frees them all
 *   POST   /_runnel/reset     {"name": "clean"}   restores everything
 *
 * The answers have the number of rows copied, or changed.
 */
#include "rest/admin/fixture.h"

#include "rest/admin/control.h"
#include "rest/reply.h"

#include "engine/fixture/fixture.h"
#include "engine/fixture/fixture_reset.h"
#include "json/print.h"

struct fixture_call {
    struct rn_done done;
    struct rn_context *x;
    struct rn_fixture_reset *reset;
    char name[RN_FIXTURE_NAME_MAX + 1];
};

static enum rn_code read_name(struct rn_context *x, struct fixture_call **out)
{
    static const char *const known[] = { "name", NULL };
    struct fixture_call *f = rn_arena_alloc(&x->call->arena, sizeof(*f));
    struct rn_json j;
    enum rn_code rc;

    if (!f)
        return RN_NOMEM;
    *f = (struct fixture_call){ .x = x };
    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = rn_control_text(x, &j, known[0], f->name, sizeof(f->name));
    rn_json_release(&j);
    if (!rc && !f->name[0])
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "name is missing");
    x->control = *out = f;
    return rc;
}

static enum rn_rest_step answer(struct rn_context *x, const char *name,
                                const struct rn_fixture_counts *n, bool is_new)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("name"));
    rn_json_out_string(&o, rn_view_text(name));
    rn_json_out_key(&o, RN_LIT("objects"));
    rn_json_out_uint(&o, n->objects);
    rn_json_out_key(&o, RN_LIT("documents"));
    rn_json_out_uint(&o, n->documents);
    rn_json_out_key(&o, is_new ? RN_LIT("bytes") : RN_LIT("deleted"));
    rn_json_out_uint(&o, is_new ? n->bytes : n->deleted);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o) ? rn_reply_fail(x, RN_NOMEM)
                                  : rn_reply_json(x, RN_STATUS_OK);
}

/* ---- taking one ---------------------------------------------------------- */

/* Thread: worker. */
static enum rn_rest_step take(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct fixture_call *f = x->control;
    struct rn_fixture_counts counts;
    enum rn_code rc = rn_fixture_take(x->rest->engine, rn_view_text(f->name),
                                      &counts, &x->err);

    return rc ? rn_reply_fail(x, rc) : answer(x, f->name, &counts, true);
}

enum rn_rest_step rn_rest_take_fixture(struct rn_context *x)
{
    struct fixture_call *f;
    enum rn_code rc = read_name(x, &f);

    if (rc)
        return rn_reply_fail(x, rc);
    x->call->next = take;
    return RN_REST_WORK;
}

enum rn_rest_step rn_rest_drop_fixtures(struct rn_context *x)
{
    enum rn_code rc = rn_fixtures_drop(x->rest->engine, &x->err);

    return rc ? rn_reply_fail(x, rc) : rn_reply_empty(x, RN_STATUS_NO_CONTENT);
}

/* ---- putting it back ----------------------------------------------------- */

static enum rn_rest_step reset_ended(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct fixture_call *f = x->control;
    struct rn_fixture_counts counts = rn_fixture_reset_counts(f->reset);

    rn_fixture_reset_free(f->reset);
    return x->rc ? rn_reply_fail(x, x->rc) : answer(x, f->name, &counts, false);
}

/* Thread: committer. */
static void reset_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_context *x = RN_CONTAINER_OF(done, struct fixture_call, done)->x;

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

enum rn_rest_step rn_rest_reset(struct rn_context *x)
{
    struct fixture_call *f;
    enum rn_code rc = read_name(x, &f);

    if (rc)
        return rn_reply_fail(x, rc);
    f->done.call = reset_done;
    x->call->next = reset_ended;
    rc = rn_fixture_reset_start(x->rest->engine, rn_view_text(f->name),
                                &f->done, &f->reset, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}
