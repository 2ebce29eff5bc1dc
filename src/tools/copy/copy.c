/* copy.c -- `runnel copy`: copy a container to another while it is written. */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/copy/copy_state.h"
#include "tools/copy/ends.h"
#include "tools/copy/follower.h"
#include "tools/copy/verify.h"

#include <unistd.h>

enum { TOKEN_MAX = 1 << 20, ARENA_MAX = 4 << 20 };

/* ---- state --------------------------------------------------------------- */

static void print_lane(const struct rn_copy_lane *lane, struct rn_json_out *o)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("interval"));
    rn_json_out_string(o, rn_view_text(lane->interval));
    rn_json_out_key(o, RN_LIT("is_following"));
    rn_json_out_bool(o, lane->is_following);
    rn_state_print_token(o, "token", &lane->token);
    rn_state_print_token(o, "all_token", &lane->all_token);
    rn_json_out_object_end(o);
}

static int save(struct rn_copy *c)
{
    struct rn_json_out o;

    if (!c->state.path)
        return RN_EXIT_OK;
    pthread_mutex_lock(&c->lock);
    o = rn_state_begin(&c->state);
    rn_json_out_key(&o, RN_LIT("copied"));
    rn_json_out_uint(&o, c->copied);
    rn_json_out_key(&o, RN_LIT("deleted"));
    rn_json_out_uint(&o, c->deleted);
    rn_json_out_key(&o, RN_LIT("refused"));
    rn_json_out_uint(&o, c->refused);
    rn_json_out_key(&o, RN_LIT("lanes"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < c->lane_count; i++)
        print_lane(&c->lanes[i], &o);
    rn_json_out_array_end(&o);
    pthread_mutex_unlock(&c->lock);
    return rn_state_end(&c->state, &o);
}

static int tick(void *context)
{
    struct rn_copy *c = context;
    uint64_t done;
    bool is_following = true;

    pthread_mutex_lock(&c->lock);
    done = c->copied + c->deleted;
    for (size_t i = 0; i < c->lane_count; i++)
        is_following = is_following && c->lanes[i].is_following;
    pthread_mutex_unlock(&c->lock);
    if (is_following) {
        c->progress.label = "following";
        c->progress.total = 0;
    }
    rn_progress_set(&c->progress, done);
    return rn_state_is_due(&c->state) ? save(c) : RN_EXIT_OK;
}

static enum rn_code resume_lane(struct rn_copy *c, uint32_t value,
                                struct rn_copy_lane *lane)
{
    const struct rn_json *j = &c->state.json;
    uint32_t is_following = rn_json_find(j, value, RN_LIT("is_following"));
    enum rn_code rc =
        rn_state_text(&c->state, value, "interval", &c->arena, &lane->interval);

    lane->is_following = rn_json_kind(j, is_following) == RN_JSON_TRUE;
    if (!rc)
        rc = rn_state_token(&c->state, value, "token", &lane->token);
    if (!rc)
        rc = rn_state_token(&c->state, value, "all_token", &lane->all_token);
    return rc;
}

/* The lanes as an earlier run left them. */
static int resume_lanes(struct rn_copy *c)
{
    const struct rn_json *j = &c->state.json;
    struct rn_json_walk w =
        rn_json_walk_begin(j, rn_json_find(j, 0, RN_LIT("lanes")));
    enum rn_code rc = RN_OK;

    c->copied = rn_state_number(&c->state, 0, "copied");
    c->deleted = rn_state_number(&c->state, 0, "deleted");
    c->refused = rn_state_number(&c->state, 0, "refused");
    c->lane_count = 0;
    while (!rc && rn_json_walk_next(&w) && c->lane_count < RN_LANES_MAX)
        rc = resume_lane(c, w.value, &c->lanes[c->lane_count++]);
    return rc ? rn_report(RN_EXIT_FAILED, "out of memory") : RN_EXIT_OK;
}

static int begin_lanes(struct rn_copy *c)
{
    const char *intervals[RN_LANES_MAX] = { NULL };
    int status = rn_lanes_count(c->args, RN_LANES_MAX, &c->lane_count);

    if (status)
        return status;
    for (size_t i = 0; i < RN_LANES_MAX; i++) {
        c->lanes[i].token = RN_BUF_INIT(TOKEN_MAX);
        c->lanes[i].all_token = RN_BUF_INIT(TOKEN_MAX);
    }
    if (c->state.is_resumed)
        return resume_lanes(c);
    status =
        rn_lanes_cut(c->source.container, c->lane_count, intervals, &c->arena);
    for (size_t i = 0; i < c->lane_count; i++)
        c->lanes[i].interval = intervals[i];
    return status;
}

/* ---- command ------------------------------------------------------------- */

static int open_all(struct rn_copy *c)
{
    int status = rn_copy_open_ends(c);

    if (!status &&
        rn_buf_printf(&c->run, "copy of %s (%s) to %s (%s)%s", c->from.name,
                      c->from.rid, c->to.name, c->to.rid,
                      c->from.keeps_versions ? ", all versions" : ""))
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    if (!status)
        status =
            rn_state_open(&c->state, rn_args_text(c->args, "state"), c->run.at);
    if (!status)
        status = begin_lanes(c);
    if (!status && !c->from.keeps_versions) {
        (void)rn_report(RN_EXIT_OK,
                        "note: %s does not keep all versions "
                        "(changeFeedPolicy), so that deletes are not followed",
                        c->from.name);
    }
    return status ? status : save(c);
}

static void close_all(struct rn_copy *c)
{
    for (size_t i = 0; i < RN_LANES_MAX; i++) {
        rn_buf_release(&c->lanes[i].token);
        rn_buf_release(&c->lanes[i].all_token);
    }
    rn_state_release(&c->state);
    rn_copy_close_ends(c);
    rn_arena_release(&c->arena);
    rn_buf_release(&c->run);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->moving);
    rn_free(c);
}

static int summarize(const struct rn_copy *c, int status)
{
    bool verifies = rn_args_flag(c->args, "verify") && !status;
    unsigned long long copied = c->copied, deleted = c->deleted;
    unsigned long long refused = c->refused, differences = c->differences;

    if (rn_args_flag(c->args, "json")) {
        rn_outf("{\"copied\":%llu,\"deleted\":%llu,\"refused\":%llu", copied,
                deleted, refused);
        rn_outf(",\"follows_deletes\":%s",
                c->from.keeps_versions ? "true" : "false");
        if (verifies)
            rn_outf(",\"differences\":%llu", differences);
        rn_outf("}\n");
    } else {
        rn_outf("%llu document%s copied, %llu deleted, %llu refused", copied,
                rn_plural(copied), deleted, refused);
        if (verifies)
            rn_outf(", %llu difference%s", differences, rn_plural(differences));
        rn_outf("%s\n", status ? ", not finished" : "");
    }
    if (status)
        return status;
    return differences ? RN_EXIT_DIFFERENT
           : refused   ? RN_EXIT_PARTIAL
                       : RN_EXIT_OK;
}

static int copy(struct rn_copy *c)
{
    uint64_t total = 0;
    int status, saved;

    if (isatty(STDERR_FILENO))
        total = rn_schema_count(c->source.container);
    rn_progress_begin(&c->progress, "copying", "documents", total,
                      c->copied + c->deleted);
    status = rn_lanes_run(c->lane_count, rn_copy_run_lane, tick, c);
    rn_progress_set(&c->progress, c->copied + c->deleted);
    rn_progress_end(&c->progress);
    saved = save(c);
    status = status ? status : saved;
    if (!status && rn_args_flag(c->args, "verify"))
        status = rn_copy_verify(c);
    return summarize(c, status);
}

static int run(const struct rn_args *args)
{
    struct rn_copy *c = rn_new(sizeof(*c));
    int status;

    if (!c)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    c->args = args;
    c->arena = RN_ARENA_INIT(ARENA_MAX);
    c->run = RN_BUF_INIT(TOKEN_MAX);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->moving, NULL);
    status = open_all(c);
    if (!status)
        status = copy(c);
    close_all(c);
    return status;
}

static const struct rn_option options[] = {
    { "to", RN_OPTION_TEXT, "CONTAINER", NULL, NULL,
      "The target: a container, or DB/CONTAINER." },
    { "to-account", RN_OPTION_TEXT, "URL", NULL, NULL,
      "The account of the target: its URL or a connection string; without it, "
      "that of the source." },
    { "to-key-file", RN_OPTION_FILE, NULL, NULL, NULL,
      "Read the key of the target's account from this file." },
    { "to-data", RN_OPTION_DIR, NULL, NULL, NULL,
      "Take the key of the target's account from this data directory." },
    { "to-key", RN_OPTION_SECRET, "KEY", NULL, NULL,
      "The key of the target's account; prefer --to-key-file." },
    { "create", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Create the target with the definition of the source, unless it "
      "exists." },
    { "to-pk", RN_OPTION_TEXT, "PATH", NULL, NULL,
      "With --create: the partition key of the target, such as /customer or "
      "/tenant,/user; without it, that of the source." },
    { "follow", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Do not end when caught up: go on with every change until "
      "interrupted." },
    { "verify", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Once caught up, compare both containers document by document and name "
      "the differences.  Documents that are written meanwhile may differ." },
    RN_OPTION_PARALLEL,
    RN_OPTION_STATE,
    { 0 },
};

const struct rn_tool rn_tool_copy = {
    .name = "copy",
    .usage = "",
    .summary = "Copy a container to another while it is written",
    .help =
        "Copies every document, then follows the change feed until it has "
        "caught up, or with --follow until it is interrupted.  The target may "
        "have another partition key and be in another account; what is in it "
        "already stays.\n\n"
        "Deletes are followed if the source keeps all versions "
        "(changeFeedPolicy); else a note says that they are not.\n\n"
        "To move an application: copy with --follow and --state; stop the "
        "writers; interrupt the command; run it once more without --follow "
        "and with --verify.",
    .example = "  runnel copy --container shop/orders --to shop/orders2 "
               "--create --verify\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .options = options,
    .run = run,
};
