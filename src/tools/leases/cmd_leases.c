/* cmd_leases.c -- `runnel leases`: look at the leases of a processor, and move
 * them while hosts run.
 */
#include "tools/commands.h"
#include "tools/common/input.h"
#include "tools/common/lease_set.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/start.h"

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
    if (!l->wanted && !l->as_json && !l->count)
        rn_outf("%s%-20s %-24s %-13s %-13s %-14s %6s  %s%s\n",
                rn_color(RN_COLOR_BOLD), "LEASE", "HOST", "MIN", "MAX",
                "POSITION", "SEEKS", "LIBRARY", rn_color(RN_COLOR_NONE));
    l->count++;
    if (l->wanted || l->as_json)
        rn_out_json(rn_view_lent(lease->json));
    else
        print_row(lease);
    return true;
}

static int list(const struct rn_args *args, struct rn_leases *leases,
                const char *wanted)
{
    struct listing l = { .wanted = wanted,
                         .as_json = rn_args_flag(args, "json") };
    runnel_error error = { 0 };

    if (runnel_leases_each(&leases->set, list_one, &l, &error))
        return rn_leases_report(&error, leases);
    if (!l.count && wanted)
        return rn_report(RN_EXIT_NOT_FOUND,
                         "processor \"%s\" has no lease \"%s\"",
                         leases->set.name, wanted);
    if (!l.count)
        return rn_report(RN_EXIT_NOT_FOUND,
                         "no processor named \"%s\" has leases in \"%s\"",
                         leases->set.name, leases->place);
    return RN_EXIT_OK;
}

/* ---- changes ------------------------------------------------------------- */

static int seek(const struct rn_args *args, struct rn_leases *leases,
                const char *lease, runnel_error *error)
{
    const char *to = rn_args_text(args, "to");
    runnel_feed_options at = { RUNNEL_FEED_INIT };
    char *end;

    if (!to)
        return rn_report(RN_EXIT_USAGE,
                         "seek needs --to beginning|now|TIME|LSN");
    if (!rn_start_parse(to, &at)) {
        (void)strtoull(to, &end, 10);
        if (*to < '0' || *to > '9' || *end)
            return rn_report(RN_EXIT_USAGE,
                             "--to is beginning, now, a time such as "
                             "2026-11-18T08:30:00Z, or an LSN, not '%s'",
                             to);
        at.token = to;
    }
    return runnel_leases_seek(&leases->set, lease, &at, error)
               ? rn_leases_report(error, leases)
               : RN_EXIT_OK;
}

static int export(struct rn_leases *leases, runnel_error *error)
{
    runnel_reply *reply = NULL;
    int status = RN_EXIT_OK;

    if (runnel_leases_export(&leases->set, &reply, error))
        status = rn_leases_report(error, leases);
    else
        rn_out_json(rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    return status;
}

static int import(struct rn_leases *leases, const char *file,
                  runnel_error *error)
{
    struct rn_buf text = RN_BUF_INIT(RN_INPUT_MAX);
    struct rn_json json;
    struct rn_view v;
    int status;

    rn_json_init(&json, NULL);
    status = rn_input_read(file, RN_JSON_ARRAY, &text, &json);
    if (!status) {
        v = rn_buf_view(&text);
        if (runnel_leases_import(&leases->set, (runnel_bytes){ v.at, v.len },
                                 error))
            status = rn_report_error_at(error, "%s", file);
    }
    rn_json_release(&json);
    rn_buf_release(&text);
    return status;
}

/* ---- the command --------------------------------------------------------- */

static int check(runnel_code code, runnel_error *error,
                 struct rn_leases *leases)
{
    return code ? rn_leases_report(error, leases) : RN_EXIT_OK;
}

static int run_verb(const struct rn_args *args, struct rn_leases *leases)
{
    const char *verb = rn_args_operand(args, 0);
    const char *operand = rn_args_operand(args, 1);
    runnel_error error = { 0 };

    if (strcmp(verb, "list") == 0)
        return list(args, leases, NULL);
    if (strcmp(verb, "seek") == 0)
        return seek(args, leases, operand, &error);
    if (strcmp(verb, "release") == 0)
        return check(runnel_leases_release(&leases->set, operand, &error),
                     &error, leases);
    if (strcmp(verb, "reset") == 0)
        return check(runnel_leases_delete(&leases->set, &error), &error,
                     leases);
    if (strcmp(verb, "export") == 0)
        return export(leases, &error);
    if (!operand)
        return rn_report(RN_EXIT_USAGE, "'%s' needs another argument: %s", verb,
                         strcmp(verb, "show") == 0     ? "the lease"
                         : strcmp(verb, "import") == 0 ? "the file"
                                                       : "a lease prefix");
    if (strcmp(verb, "show") == 0)
        return list(args, leases, operand);
    if (strcmp(verb, "import") == 0)
        return import(leases, operand, &error);
    return check(runnel_leases_fork(&leases->set, operand, &error), &error,
                 leases);
}

static int run(const struct rn_args *args)
{
    struct rn_leases leases = { 0 };
    int status = rn_leases_open(args, &leases);

    if (!status)
        status = run_verb(args, &leases);
    rn_leases_close(&leases);
    return status;
}

static const struct rn_option options[] = {
    { "to", RN_OPTION_TEXT, "POSITION", NULL, NULL,
      "For seek: beginning, now, a time such as 2026-11-18T08:30:00Z, or the "
      "LSN of the last change that is done." },
    { 0 },
};

const struct rn_tool rn_tool_leases = {
    .name = "leases",
    .usage = "VERB [ARGUMENT]",
    .summary = "Look at the leases of a processor, and move them",
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
