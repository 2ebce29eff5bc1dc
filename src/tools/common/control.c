/* control.c -- sends requests to the control routes of the server. */
#include "tools/common/control.h"

#include "tools/common/report.h"

void rn_control_begin(const struct rn_target *target, struct rn_json_out *o)
{
    char link[1024];

    rn_json_out_object_begin(o);
    if (!target->container)
        return;
    snprintf(link, sizeof(link), "dbs/%s/colls/%s", target->database_name,
             target->container_name);
    rn_json_out_key(o, RN_LIT("container"));
    rn_json_out_string(o, rn_view_text(link));
}

/* A 404 is the route's, or the container's, or of what else the body names. */
static int report(const struct rn_target *target, const char *route,
                  const runnel_error *error)
{
    runnel_reply *reply = NULL;
    runnel_error second = { 0 };

    if (error->code != RUNNEL_NOT_FOUND)
        return rn_report_error(error);
    if (strstr(error->message, "control route")) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "this server has no /_runnel/%s, or not for this "
                         "client: a Runnel server has it on loopback, or for "
                         "all with --admin%s",
                         route,
                         target->container ? "" : ", and with --test-mode");
    }
    if (target->container &&
        runnel_container_read(target->container, &reply, &second))
        return rn_report_request(&second, target, NULL);
    runnel_reply_close(reply);
    return rn_report_error(error);
}

int rn_control_send(const struct rn_target *target, const char *route,
                    struct rn_json_out *o, runnel_reply **out)
{
    runnel_error error = { 0 };
    char path[64];

    rn_json_out_object_end(o);
    if (rn_json_out_finish(o))
        return rn_report(RN_EXIT_FAILED, "the request is too large");
    snprintf(path, sizeof(path), "/_runnel/%s", route);
    if (runnel_client_send(
            target->client,
            &(runnel_request){ .method = "POST",
                               .path = path,
                               .body = { o->buf->at, o->buf->len } },
            out, &error))
        return report(target, route, &error);
    return RN_EXIT_OK;
}
