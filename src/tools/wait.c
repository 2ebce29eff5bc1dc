/* wait.c -- `runnel wait`: until processors have caught up. */
#include "base/env.h"
#include "tools/commands.h"
#include "tools/common/control.h"
#include "tools/common/out.h"
#include "tools/common/report.h"

enum {
    BODY_MAX = 2 << 20,
    STEP_MS = 5000, /* of one request, which a client gives up after 10 s */
};

struct wait {
    const struct rn_args *args;
    struct rn_target target;
    struct rn_arena arena;
    struct rn_view upto; /* the target of the first answer */
    uint64_t leases;
    bool is_over;
};

static void print_link(struct rn_json_out *o, const struct wait *w,
                       const char *leases)
{
    const char *slash = strchr(leases, '/');
    char link[1024];

    if (slash) {
        snprintf(link, sizeof(link), "dbs/%.*s/colls/%s", (int)(slash - leases),
                 leases, slash + 1);
    } else {
        snprintf(link, sizeof(link), "dbs/%s/colls/%s", w->target.database_name,
                 leases);
    }
    rn_json_out_key(o, RN_LIT("leases"));
    rn_json_out_string(o, rn_view_text(link));
}

static int read_answer(struct wait *w, struct rn_view body)
{
    struct rn_json json;
    int64_t leases = 0;
    uint32_t upto;
    enum rn_code rc;

    rn_json_init(&json, NULL);
    rc = rn_json_parse(&json, body, NULL);
    if (!rc) {
        upto = rn_json_find(&json, 0, RN_LIT("upto"));
        w->is_over =
            rn_json_kind(&json, rn_json_find(&json, 0, RN_LIT("caughtUp"))) ==
            RN_JSON_TRUE;
        (void)rn_json_int64(&json, rn_json_find(&json, 0, RN_LIT("leases")),
                            &leases);
        w->leases = (uint64_t)leases;
        if (!w->upto.len)
            rc = rn_json_string_copy(&json, upto, &w->arena, &w->upto);
    }
    rn_json_release(&json);
    return rc ? rn_report(RN_EXIT_FAILED, "the server's answer makes no sense")
              : RN_EXIT_OK;
}

/* One request, which waits for up to `ms`. */
static int ask(struct wait *w, uint64_t ms)
{
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&body);
    runnel_reply *reply = NULL;
    int status;

    rn_control_begin(&w->target, &o);
    print_link(&o, w, rn_args_text(w->args, "leases"));
    rn_json_out_key(&o, RN_LIT("prefix"));
    rn_json_out_string(&o, rn_view_text(rn_args_text(w->args, "lease-prefix")));
    rn_json_out_key(&o, RN_LIT("timeoutMs"));
    rn_json_out_uint(&o, ms);
    if (w->upto.len) {
        rn_json_out_key(&o, RN_LIT("upto"));
        rn_json_out_string(&o, w->upto);
    }
    status = rn_control_send(&w->target, "wait", &o, &reply);
    if (!status)
        status = read_answer(w, rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_buf_release(&body);
    return status;
}

static int wait_until(struct wait *w)
{
    struct rn_env *env = rn_env_real();
    uint64_t timeout = rn_args_count(w->args, "timeout");
    int64_t begun = rn_mono_ns(env);
    int status = RN_EXIT_OK;

    while (!status && !w->is_over) {
        uint64_t passed = (uint64_t)(rn_mono_ns(env) - begun) / 1000000;
        uint64_t left = passed < timeout ? timeout - passed : 0;

        if (!left && w->upto.len)
            break;
        status = ask(w, left < STEP_MS ? left : STEP_MS);
    }
    if (status || w->is_over)
        return status;
    return rn_report(RN_EXIT_LAGGING,
                     w->leases ? "after %llu ms not every lease has caught up; "
                                 "leases: %llu"
                               : "after %llu ms there are no leases of that "
                                 "prefix for the container",
                     (unsigned long long)timeout,
                     (unsigned long long)w->leases);
}

static int run(const struct rn_args *args)
{
    struct wait w = { .args = args, .arena = RN_ARENA_INIT(BODY_MAX) };
    int status = rn_target_open(args, &w.target);

    if (!status)
        status = wait_until(&w);
    if (!status && rn_args_flag(args, "json"))
        rn_outf("{\"caughtUp\":true,\"leases\":%llu}\n",
                (unsigned long long)w.leases);
    rn_target_close(&w.target);
    rn_arena_release(&w.arena);
    return status;
}

static const struct rn_option options[] = {
    { "timeout", RN_OPTION_MS, NULL, "30s", NULL,
      "Give up after so long, with exit status 10." },
    { 0 },
};

const struct rn_tool rn_tool_wait = {
    .name = "wait",
    .usage = "",
    .summary = "Wait until processors have caught up",
    .help = "Ends when every lease of a processor has reached what had been "
            "written to the container when the command began.  The leases are "
            "those of librunnel or of the .NET libraries.  Only a Runnel "
            "server does so, for clients on loopback or with --admin.",
    .example = "  runnel wait --container shop/orders --leases leases \\\n"
               "      --lease-prefix billing\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER | RN_USES_LEASES,
    .options = options,
    .run = run,
};
