/* partition.c -- partition keys from the command line. */
#include "tools/common/partition.h"

#include "tools/common/report.h"
#include "json/print.h"

enum rn_code rn_partition_print(const char *text, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json json;

    rn_json_init(&json, NULL);
    if (rn_json_parse(&json, rn_view_text(text), NULL))
        rn_json_out_string(&o, rn_view_text(text));
    else
        rn_json_out_value(&o, &json, 0);
    rn_json_release(&json);
    return o.rc ? o.rc : rn_buf_add(out, rn_view_of("", 1));
}

/* Is the container keyed by /id alone?  Else `paths` is its key in words. */
static int is_keyed_by_id(const struct rn_target *target, bool *out,
                          char *paths, size_t room)
{
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    struct rn_json json;
    uint32_t found;

    if (runnel_container_read(target->container, &reply, &error))
        return rn_report_request(&error, target, NULL);
    rn_json_init(&json, NULL);
    if (rn_json_parse(&json, rn_view_lent(runnel_reply_body(reply)), NULL))
        found = RN_JSON_NONE;
    else {
        found =
            rn_json_find(&json, rn_json_find(&json, 0, RN_LIT("partitionKey")),
                         RN_LIT("paths"));
    }
    *out = rn_json_count(&json, found) == 1 &&
           rn_json_string_is(&json, rn_json_at(&json, found, 0), RN_LIT("/id"));
    snprintf(paths, room, "%.*s", RN_FMT(rn_json_text(&json, found)));
    rn_json_release(&json);
    runnel_reply_close(reply);
    return RN_EXIT_OK;
}

static int find_key(const struct rn_args *args, const struct rn_target *target,
                    const char *id, struct rn_buf *out)
{
    const char *text = rn_args_text(args, "pk");
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    bool by_id = false;
    char paths[256];
    int status;

    if (text) {
        return rn_partition_print(text, out)
                   ? rn_report(RN_EXIT_USAGE, "--pk is too long")
                   : RN_EXIT_OK;
    }
    status = is_keyed_by_id(target, &by_id, paths, sizeof(paths));
    if (status)
        return status;
    if (!by_id) {
        return rn_report(RN_EXIT_USAGE,
                         "--pk is missing: the container is keyed by %s",
                         paths);
    }
    rn_json_out_string(&o, rn_view_text(id));
    return o.rc || rn_buf_add(out, rn_view_of("", 1))
               ? rn_report(RN_EXIT_USAGE, "the id is too long")
               : RN_EXIT_OK;
}

int rn_partition_open(const struct rn_args *args, const char *id,
                      struct rn_target *target, struct rn_buf *pk)
{
    int status = rn_target_open(args, target);

    return status ? status : find_key(args, target, id, pk);
}
