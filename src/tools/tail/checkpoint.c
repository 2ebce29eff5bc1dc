/* checkpoint.c -- keeps a position in a file. */
#include "tools/tail/checkpoint.h"

#include "base/file.h"
#include "tools/common/input.h"
#include "tools/common/report.h"
#include "json/print.h"

#include <unistd.h>

static int refuse(const struct rn_tail_checkpoint *c, const char *what)
{
    return rn_report(RN_EXIT_USAGE, "checkpoint %s: %s", c->path, what);
}

static int take(struct rn_tail_checkpoint *c, const struct rn_json *json)
{
    uint32_t token = rn_json_find(json, 0, RN_LIT("token"));
    uint32_t all = rn_json_find(json, 0, RN_LIT("allVersions"));
    struct rn_view text = rn_json_text(json, token);

    if (rn_json_kind(json, token) != RN_JSON_STRING)
        return refuse(c, "there is no token in it");
    if (!rn_json_string_is(json, rn_json_find(json, 0, RN_LIT("container")),
                           rn_view_text(c->container)))
        return refuse(c, "it is of another container");
    if (!rn_json_string_is(json, rn_json_find(json, 0, RN_LIT("scope")),
                           rn_view_text(c->scope)))
        return refuse(c, "it is of another --range or --pk");
    if ((rn_json_kind(json, all) == RN_JSON_TRUE) != c->all_versions)
        return refuse(c, c->all_versions ? "it is of latest versions"
                                         : "it is of all versions");
    if (rn_buf_reserve(&c->token, text.len + 1))
        return rn_report(RN_EXIT_FAILED, "out of memory");
    c->token.len = rn_json_unescape(text, c->token.at);
    c->token.at[c->token.len] = 0;
    return RN_EXIT_OK;
}

int rn_tail_checkpoint_read(struct rn_tail_checkpoint *c)
{
    struct rn_buf text = RN_BUF_INIT(RN_INPUT_MAX);
    struct rn_json json;
    int status;

    if (!c->path || access(c->path, F_OK))
        return RN_EXIT_OK;
    rn_json_init(&json, NULL);
    status = rn_input_read(c->path, RN_JSON_OBJECT, &text, &json);
    if (!status)
        status = take(c, &json);
    rn_json_release(&json);
    rn_buf_release(&text);
    return status;
}

int rn_tail_checkpoint_write(struct rn_tail_checkpoint *c, const char *token)
{
    struct rn_buf text = RN_BUF_INIT(RN_CHECKPOINT_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);
    const char *slash = strrchr(c->path, '/');
    struct rn_env *env = rn_env_real();
    struct rn_err err = { 0 };
    char dir[4096];
    int status = RN_EXIT_OK;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("container"));
    rn_json_out_string(&o, rn_view_text(c->container));
    rn_json_out_key(&o, RN_LIT("scope"));
    rn_json_out_string(&o, rn_view_text(c->scope));
    rn_json_out_key(&o, RN_LIT("allVersions"));
    rn_json_out_bool(&o, c->all_versions);
    rn_json_out_key(&o, RN_LIT("token"));
    rn_json_out_string(&o, rn_view_text(token));
    rn_json_out_object_end(&o);
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - c->path) : 1,
             slash ? c->path : ".");
    if (o.rc || rn_buf_add(&text, RN_LIT("\n")))
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    else if (rn_file_replace(env, dir[0] ? dir : "/",
                             slash ? slash + 1 : c->path, rn_buf_view(&text),
                             &err))
        status =
            rn_report(RN_EXIT_FAILED, "checkpoint %s: %s", c->path, err.text);
    c->written_ns = env->ops->mono_ns(env);
    rn_buf_release(&text);
    return status;
}
