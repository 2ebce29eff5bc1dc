/* cmd_leases.c -- `runnel leases`: look at the leases of a processor, and move
 * them while hosts run.
 */
#include "tools/commands.h"
#include "tools/common/input.h"
#include "tools/common/lease_set.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/start.h"

#include <errno.h>
#include <stdlib.h>

/* ---- list and show ------------------------------------------------------- */

struct listing {
    const char *wanted; /* NULL: every lease */
    bool as_json;
    uint32_t count;
};

static void print_row(const runnel_lease *lease)
{
    const char *min = lease->range.min;

    rn_outf("%-20s %-24s %-13.13s %-13.13s %-14s %6llu  %s\n", lease->lease,
            lease->host ? lease->host : "-", min && min[0] ? min : "-",
            lease->range.max ? lease->range.max : "-",
            lease->position ? lease->position : "-",
            (unsigned long long)lease->generation,
            lease->is_foreign ? "another library" : "runnel");
}

static bool list_one(void *context, const runnel_lease *lease)
{
    struct listing *l = context;

    if (l->wanted && strcmp(l->wanted, lease->lease) != 0)
        return true;
    if (!l->wanted && !l->as_json && !l->count) {
        rn_outf("%s%-20s %-24s %-13s %-13s %-14s %6s  %s%s\n",
                rn_color(RN_COLOR_BOLD), "LEASE", "HOST", "MIN", "MAX",
                "POSITION", "SEEKS", "LIBRARY", rn_color(RN_COLOR_NONE));
    }
    l->count++;
    if (l->wanted || l->as_json)
        rn_out_json(rn_view_lent(lease->json));
    else
        print_row(lease);
    return true;
}

static int report_none(const struct rn_leases *leases)
{
    return rn_report(RN_EXIT_NOT_FOUND,
                     "no processor named \"%s\" has leases in \"%s\"",
                     leases->set.name, leases->place);
}

/* `list`, and with a lease `show`. */
static int list(const struct rn_args *args, struct rn_leases *leases,
                const char *wanted)
{
    struct listing l = { .wanted = wanted,
                         .as_json = rn_args_flag(args, "json") };
    runnel_error error = { 0 };

    if (runnel_leases_each(&leases->set, list_one, &l, &error))
        return rn_leases_report(&error, leases);
    if (!l.count && wanted) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "processor \"%s\" has no lease \"%s\"",
                         leases->set.name, wanted);
    }
    return l.count ? RN_EXIT_OK : report_none(leases);
}

/* ---- changes ------------------------------------------------------------- */

static int check(runnel_code code, const runnel_error *error,
                 struct rn_leases *leases)
{
    return code ? rn_leases_report(error, leases) : RN_EXIT_OK;
}

static int seek(const struct rn_args *args, struct rn_leases *leases,
                const char *lease)
{
    const char *to = rn_args_text(args, "to");
    runnel_feed_options at = { RUNNEL_FEED_INIT };
    runnel_error error = { 0 };
    char *end;

    if (!to)
        return rn_report(RN_EXIT_USAGE,
                         "seek needs --to beginning|now|TIME|LSN");
    if (!rn_start_parse(to, &at)) {
        errno = 0;
        (void)strtoll(to, &end, 10);
        if (*to < '0' || *to > '9' || *end || errno) {
            return rn_report(RN_EXIT_USAGE,
                             "--to is beginning, now, a time such as "
                             "2026-11-18T08:30:00Z, or an LSN, not '%s'",
                             to);
        }
        at.token = to;
    }
    return check(runnel_leases_seek(&leases->set, lease, &at, &error), &error,
                 leases);
}

static int release(const struct rn_args *args, struct rn_leases *leases,
                   const char *lease)
{
    runnel_error error = { 0 };

    (void)args;
    return check(runnel_leases_release(&leases->set, lease, &error), &error,
                 leases);
}

static int reset(const struct rn_args *args, struct rn_leases *leases,
                 const char *none)
{
    runnel_error error = { 0 };

    (void)args;
    (void)none;
    return check(runnel_leases_delete(&leases->set, &error), &error, leases);
}

/* ---- copies -------------------------------------------------------------- */

static int export(const struct rn_args *args, struct rn_leases *leases,
                  const char *none)
{
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    struct rn_view json;
    int status = check(runnel_leases_export(&leases->set, &reply, &error),
                       &error, leases);

    (void)args;
    (void)none;
    if (!status) {
        json = rn_view_lent(runnel_reply_body(reply));
        if (rn_view_eq(json, RN_LIT("[]")))
            status = report_none(leases);
        else
            rn_out_json(json);
    }
    runnel_reply_close(reply);
    return status;
}

/* Reports that leases could not be created; `source` is where they come
 * from. */
static int check_created(runnel_code code, const runnel_error *error,
                         struct rn_leases *leases, const char *source)
{
    if (code == RUNNEL_CONFLICT) {
        return rn_report(RN_EXIT_CONFLICT,
                         "processor \"%s\" has leases in \"%s\" already",
                         leases->set.name, leases->place);
    }
    if (code == RUNNEL_BAD_REQUEST)
        return rn_report_error_at(error, "%s", source);
    return check(code, error, leases);
}

static int import(const struct rn_args *args, struct rn_leases *leases,
                  const char *file)
{
    struct rn_buf text = RN_BUF_INIT(RN_INPUT_MAX);
    runnel_error error = { 0 };
    struct rn_json json;
    struct rn_view v;
    int status;

    (void)args;
    rn_json_init(&json, NULL);
    status = rn_input_read(file, RN_JSON_ARRAY, &text, &json);
    if (!status && rn_json_count(&json, 0) == 0)
        status = rn_report(RN_EXIT_USAGE, "%s: the array has no lease", file);
    if (!status) {
        v = rn_buf_view(&text);
        status = check_created(
            runnel_leases_import(&leases->set, (runnel_bytes){ v.at, v.len },
                                 &error),
            &error, leases, file);
    }
    rn_json_release(&json);
    rn_buf_release(&text);
    return status;
}

static int fork_from(const struct rn_args *args, struct rn_leases *leases,
                     const char *prefix)
{
    runnel_error error = { 0 };

    (void)args;
    return check_created(runnel_leases_fork(&leases->set, prefix, &error),
                         &error, leases, prefix);
}

/* ---- the command --------------------------------------------------------- */

static const struct verb {
    const char *name;
    const char *argument; /* what ARGUMENT is; NULL: it takes none */
    bool needs_argument;
    int (*run)(const struct rn_args *args, struct rn_leases *leases,
               const char *argument);
} verbs[] = {
    { "list", NULL, false, list },
    { "show", "the lease", true, list },
    { "seek", "the lease", false, seek },
    { "release", "the lease", false, release },
    { "reset", NULL, false, reset },
    { "export", NULL, false, export },
    { "import", "the file", true, import },
    { "fork", "a lease prefix", true, fork_from },
};

static int run(const struct rn_args *args)
{
    const struct verb *verb = verbs; /* the parser has checked the name */
    const char *argument = rn_args_operand(args, 1);
    struct rn_leases leases = { 0 };
    int status;

    while (strcmp(verb->name, rn_args_operand(args, 0)) != 0)
        verb++;
    if (argument && !verb->argument)
        return rn_report(RN_EXIT_USAGE, "'%s' takes no argument '%s'",
                         verb->name, argument);
    if (!argument && verb->needs_argument)
        return rn_report(RN_EXIT_USAGE, "'%s' needs another argument: %s",
                         verb->name, verb->argument);
    if (rn_args_flag(args, "to") && verb->run != seek)
        return rn_report(RN_EXIT_USAGE, "--to belongs to 'seek', not to '%s'",
                         verb->name);
    status = rn_leases_open(args, &leases);
    if (!status)
        status = verb->run(args, &leases, argument);
    rn_leases_close(&leases);
    return status;
}

static const struct rn_option options[] = {
    { "to", RN_OPTION_TEXT, "POSITION", NULL, NULL,
      "For seek: beginning, now, a time such as 2026-11-18T08:30:00Z, or the "
      "LSN of the last change that counts as handled." },
    { 0 },
};

const struct rn_tool rn_tool_leases = {
    .name = "leases",
    .usage = "VERB [ARGUMENT]",
    .summary = "List and move the leases of a processor",
    .help =
        "list prints every lease, show LEASE one of them as it is stored.\n\n"
        "seek [LEASE] --to POSITION moves one lease or all while hosts run: "
        "they drop what they have read and go on from there.  It is refused "
        "while a live host of another library holds a lease.\n\n"
        "release [LEASE] takes one lease or all from their owners; the fleet "
        "acquires them again.  reset deletes all leases, so that the next host "
        "starts afresh; it is refused while a host is alive.\n\n"
        "export prints all leases as JSON; import FILE creates leases from it "
        "(-: standard input).  fork PREFIX begins a second processor where the "
        "one with that lease prefix is.",
    .example = "  runnel leases list --container shop/orders\n"
               "  runnel leases seek --to beginning --container shop/orders\n"
               "  runnel leases fork trigger --lease-prefix audit "
               "--container shop/orders\n",
    .verbs = "list|show|seek|release|reset|export|import|fork",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER | RN_USES_LEASES,
    .operands_min = 1,
    .operands_max = 2,
    .options = options,
    .run = run,
};
