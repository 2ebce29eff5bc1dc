/* create.c -- `runnel create` and `drop`: databases and containers. */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/target.h"
#include "json/print.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 4096, NAME_MAX_BYTES = 1024 };

/* "DB" or "DB/CONTAINER", cut apart. */
struct place {
    const char *whole;
    char database[NAME_MAX_BYTES];
    const char *container; /* NULL: the database itself */
};

static int read_place(const struct rn_args *args, struct place *out)
{
    const char *slash;
    int len;

    out->whole = rn_args_operand(args, 0);
    slash = strchr(out->whole, '/');
    out->container = slash ? slash + 1 : NULL;
    len = (int)(slash ? (size_t)(slash - out->whole) : strlen(out->whole));
    if (!len || len >= NAME_MAX_BYTES ||
        (slash && (!slash[1] || strchr(slash + 1, '/'))))
        return rn_report(RN_EXIT_USAGE, "give DB or DB/CONTAINER, not '%s'",
                         out->whole);
    snprintf(out->database, sizeof(out->database), "%.*s", len, out->whole);
    return RN_EXIT_OK;
}

static void print_done(const struct rn_args *args, const struct place *p,
                       const char *text, const char *member, bool value)
{
    struct rn_buf line = RN_BUF_INIT(LINE_MAX_BYTES);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);

    if (!rn_args_flag(args, "json")) {
        rn_outf("%s %s\n", p->whole, text);
        return;
    }
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("database"));
    rn_json_out_string(&o, rn_view_text(p->database));
    if (p->container) {
        rn_json_out_key(&o, RN_LIT("container"));
        rn_json_out_string(&o, rn_view_text(p->container));
    }
    rn_json_out_key(&o, rn_view_text(member));
    rn_json_out_bool(&o, value);
    rn_json_out_object_end(&o);
    rn_out(rn_buf_view(&line));
    rn_out(RN_LIT("\n"));
    rn_buf_release(&line);
}

/* ---- create -------------------------------------------------------------- */

static int read_ttl(const struct rn_args *args, int32_t *out)
{
    const char *text = rn_args_text(args, "ttl");
    char *end;
    long value;

    *out = 0;
    if (!text || strcmp(text, "off") == 0)
        return RN_EXIT_OK;
    value = strtol(text, &end, 10);
    if (*end || end == text || value < -1 || !value || value > INT32_MAX) {
        return rn_report(RN_EXIT_USAGE,
                         "--ttl is off, -1 or a number of seconds, not '%s'",
                         text);
    }
    *out = (int32_t)value;
    return RN_EXIT_OK;
}

static int check_definition(const char *text)
{
    struct rn_json json;
    struct rn_err err = { 0 };
    enum rn_code rc;
    int status = RN_EXIT_OK;

    if (!text)
        return RN_EXIT_OK;
    rn_json_init(&json, NULL);
    rc = rn_json_parse(&json, rn_view_text(text), &err);
    if (rc)
        status = rn_report(RN_EXIT_USAGE, "--definition: %s", err.text);
    else if (rn_json_kind(&json, 0) != RN_JSON_OBJECT)
        status = rn_report(RN_EXIT_USAGE, "--definition is a JSON object");
    rn_json_release(&json);
    return status;
}

static int read_definition(const struct rn_args *args, const struct place *p,
                           runnel_container_definition *out)
{
    static const char *const of_containers[] = { "pk", "ttl", "all-versions",
                                                 "definition" };
    uint64_t kept_ms = rn_args_count(args, "all-versions");
    int status;

    for (size_t i = 0; !p->container && i < 4; i++) {
        if (rn_args_flag(args, of_containers[i])) {
            return rn_report(RN_EXIT_USAGE,
                             "--%s is of a container: give DB/CONTAINER",
                             of_containers[i]);
        }
    }
    if (p->container && !rn_args_text(args, "pk")) {
        return rn_report(RN_EXIT_USAGE,
                         "--pk is missing: the path of the partition key, "
                         "such as /id");
    }
    if (rn_args_flag(args, "autoscale") && !rn_args_count(args, "throughput"))
        return rn_report(RN_EXIT_USAGE, "--autoscale needs --throughput");
    if (rn_args_count(args, "throughput") > UINT32_MAX)
        return rn_report(RN_EXIT_USAGE, "--throughput is too large");
    if (kept_ms % 60000 || kept_ms / 60000 > INT32_MAX)
        return rn_report(RN_EXIT_USAGE,
                         "--all-versions is in whole minutes: 10m, 24h");
    out->id = p->container;
    out->partition_key = rn_args_text(args, "pk");
    out->json = rn_args_text(args, "definition");
    out->versions_min = (uint32_t)(kept_ms / 60000);
    out->throughput = (runnel_throughput){
        .units = (uint32_t)rn_args_count(args, "throughput"),
        .is_autoscale = rn_args_flag(args, "autoscale"),
    };
    status = read_ttl(args, &out->ttl_s);
    return status ? status : check_definition(out->json);
}

/* The paths of the key in a definition, as --pk has them. */
static void print_paths(struct rn_view definition, struct rn_buf *out)
{
    struct rn_json json;
    struct rn_json_walk walk;
    uint32_t paths;

    rn_json_init(&json, NULL);
    if (!rn_json_parse(&json, definition, NULL)) {
        paths =
            rn_json_find(&json, rn_json_find(&json, 0, RN_LIT("partitionKey")),
                         RN_LIT("paths"));
        if (rn_json_kind(&json, paths) == RN_JSON_ARRAY) {
            walk = rn_json_walk_begin(&json, paths);
            while (rn_json_walk_next(&walk)) {
                if (rn_buf_printf(out, "%s%.*s", out->len ? "," : "",
                                  RN_FMT(rn_json_text(&json, walk.value))))
                    break;
            }
        }
    }
    rn_json_release(&json);
}

/* A container that exists is as good as a new one if it has the same key. */
static int check_existing(runnel_client *client, const struct place *p,
                          const char *key)
{
    struct rn_buf paths = RN_BUF_INIT(LINE_MAX_BYTES);
    runnel_container *container = NULL;
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    int status = RN_EXIT_OK;

    assert(key);
    if (runnel_container_open(client, p->database, p->container, &container,
                              &error) ||
        runnel_container_read(container, &reply, &error))
        status = rn_report_error_at(&error, "%s", p->whole);
    else {
        print_paths(rn_view_lent(runnel_reply_body(reply)), &paths);
        if (!rn_view_eq(rn_buf_view(&paths), rn_view_text(key))) {
            status = rn_report(RN_EXIT_CONFLICT,
                               "%s exists with the partition key %.*s",
                               p->whole, RN_FMT(rn_buf_view(&paths)));
        }
    }
    runnel_reply_close(reply);
    runnel_container_close(container);
    rn_buf_release(&paths);
    return status;
}

static int create(const struct rn_args *args, const struct place *p,
                  runnel_client *client,
                  const runnel_container_definition *definition)
{
    runnel_database_definition database = { RUNNEL_DATABASE_INIT,
                                            .id = p->database };
    runnel_error error = { 0 };
    runnel_code code;
    bool exists;
    int status = RN_EXIT_OK;

    if (p->container)
        database.if_absent = true;
    else
        database.throughput = definition->throughput;
    code = runnel_database_create(client, &database, NULL, &error);
    if (!code && p->container)
        code = runnel_container_create(client, p->database, definition, NULL,
                                       &error);
    exists = code == RUNNEL_CONFLICT;
    if (code && (!exists || rn_args_flag(args, "new")))
        return rn_report_error_at(&error, "%s", p->whole);
    if (exists && p->container)
        status = check_existing(client, p, definition->partition_key);
    if (!status)
        print_done(args, p, exists ? "exists" : "created", "created", !exists);
    return status;
}

static int run_create(const struct rn_args *args)
{
    runnel_container_definition definition = { RUNNEL_CONTAINER_INIT };
    struct rn_target target = { 0 };
    struct place p = { 0 };
    int status = read_place(args, &p);

    if (!status)
        status = read_definition(args, &p, &definition);
    if (!status)
        status = rn_target_open(args, &target);
    if (!status)
        status = create(args, &p, target.client, &definition);
    rn_target_close(&target);
    return status;
}

static const struct rn_option create_options[] = {
    { "pk", RN_OPTION_TEXT, "PATH", NULL, NULL,
      "The path of the partition key, which a container must have: /pk.  "
      "\"/a,/b\" is a hierarchical key." },
    { "ttl", RN_OPTION_TEXT, "SECONDS", "off", NULL,
      "Documents are deleted so long after their last change, unless their "
      "own ttl says otherwise; -1: only documents with a ttl of their own, as "
      "a lease container needs it; off: none." },
    { "throughput", RN_OPTION_COUNT, "RU", "0", NULL,
      "Request units a second, of the container, or of the database if DB "
      "stands alone; 0: the server decides.  A container gets a partition key "
      "range for each 10000." },
    { "autoscale", RN_OPTION_FLAG, NULL, NULL, NULL,
      "--throughput is the maximum." },
    { "all-versions", RN_OPTION_MS, "TIME", "0", NULL,
      "Keep all versions and deletes in the change feed for so long: 24h." },
    { "definition", RN_OPTION_TEXT, "JSON", NULL, NULL,
      "An object with further members of the definition: uniqueKeyPolicy, "
      "indexingPolicy, computedProperties and so on." },
    { "new", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Fail with status 6 if it exists." },
    { 0 },
};

const struct rn_tool rn_tool_create = {
    .name = "create",
    .usage = "DB[/CONTAINER]",
    .summary = "Create a database or a container",
    .help = "Creates the database, and the container in it, unless they exist. "
            " Prints which it was.  A container that exists with another "
            "partition key is a conflict (6); its other settings stay as they "
            "are.",
    .example = "  runnel create shop\n"
               "  runnel create shop/orders --pk /customer\n"
               "  runnel create shop/leases --pk /id --ttl -1\n",
    .uses = RN_USES_ACCOUNT,
    .operands_min = 1,
    .operands_max = 1,
    .options = create_options,
    .run = run_create,
};

/* ---- drop ---------------------------------------------------------------- */

static runnel_code drop(runnel_client *client, const struct place *p,
                        runnel_error *error)
{
    runnel_container *container = NULL;
    runnel_code code;

    if (!p->container)
        return runnel_database_delete(client, p->database, error);
    code = runnel_container_open(client, p->database, p->container, &container,
                                 error);
    if (!code)
        code = runnel_container_delete(container, error);
    runnel_container_close(container);
    return code;
}

static int run_drop(const struct rn_args *args)
{
    struct rn_target target = { 0 };
    struct place p = { 0 };
    runnel_error error = { 0 };
    runnel_code code;
    int status = read_place(args, &p);

    if (!status && !rn_args_flag(args, "yes")) {
        status = rn_report(RN_EXIT_USAGE,
                           "this deletes %s with all its documents; say --yes",
                           p.whole);
    }
    if (!status)
        status = rn_target_open(args, &target);
    if (!status) {
        code = drop(target.client, &p, &error);
        if (code == RUNNEL_NOT_FOUND)
            status = rn_report(RN_EXIT_NOT_FOUND, "%s does not exist", p.whole);
        else if (code)
            status = rn_report_error_at(&error, "%s", p.whole);
        else
            print_done(args, &p, "dropped", "dropped", true);
    }
    rn_target_close(&target);
    return status;
}

static const struct rn_option drop_options[] = {
    { "yes", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Confirm that all documents are to be deleted." },
    { 0 },
};

const struct rn_tool rn_tool_drop = {
    .name = "drop",
    .usage = "DB[/CONTAINER]",
    .summary = "Delete a database or a container",
    .help = "Deletes the container, or the database with all its containers, "
            "and every document in it.  There is no way back but a backup.",
    .example = "  runnel drop shop/orders --yes\n",
    .uses = RN_USES_ACCOUNT,
    .operands_min = 1,
    .operands_max = 1,
    .options = drop_options,
    .run = run_drop,
};
