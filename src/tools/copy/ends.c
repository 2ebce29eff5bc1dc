/* ends.c -- the source and the target of a copy: opened, compared, created. */
#include "tools/copy/ends.h"

#include "tools/common/report.h"
#include "tools/common/signals.h"

enum { DEFINITION_MAX = 4 << 20, PATHS_MAX = 16 << 10 };

static void cancel(void *context)
{
    struct rn_copy *c = context;

    runnel_client_cancel(c->source.client);
    runnel_client_cancel(c->target.client);
}

/* Opens --to, in the account of --to-account or of the source. */
static int open_target(struct rn_copy *c)
{
    const char *to = rn_args_text(c->args, "to");
    const char *prefix = rn_args_text(c->args, "to-account") ? "to-" : "";
    struct rn_buf names = RN_BUF_INIT(PATHS_MAX);
    char *slash;
    int status;

    if (!to)
        return rn_report(RN_EXIT_USAGE, "--to is missing");
    status = rn_target_client(c->args, prefix, &c->target.client);
    if (!status) {
        status = rn_target_container(c->target.client, "--to",
                                     c->source.database_name, to,
                                     &c->target.container);
    }
    if (status)
        return status;
    if (rn_buf_printf(&names, "%s%s%s",
                      strchr(to, '/') ? "" : c->source.database_name,
                      strchr(to, '/') ? "" : "/", to) ||
        rn_buf_add(&names, rn_view_of("", 1))) {
        rn_buf_release(&names);
        return rn_report(RN_EXIT_FAILED, "out of memory");
    }
    c->target.names = rn_buf_take(&names);
    slash = strchr(c->target.names, '/');
    *slash = 0;
    c->target.database_name = c->target.names;
    c->target.container_name = slash + 1;
    return RN_EXIT_OK;
}

/* ---- creating ------------------------------------------------------------ */

/* The members that another container may have, too. */
static enum rn_code print_definition(const struct rn_json *from,
                                     struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w = rn_json_walk_begin(from, 0);
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    while (rn_json_walk_next(&w)) {
        if (!rn_view_starts(rn_json_text(from, w.name), RN_LIT("_")) &&
            !rn_json_string_is(from, w.name, RN_LIT("id")) &&
            !rn_json_string_is(from, w.name, RN_LIT("partitionKey")))
            rn_json_out_member(&o, from, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    return rc ? rc : rn_buf_add(out, rn_view_of("", 1));
}

/* "/a,/b" */
static enum rn_code print_paths(const struct rn_schema *schema,
                                struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < schema->path_count; i++) {
        if (i)
            rc = rn_buf_add(out, RN_LIT(","));
        if (!rc)
            rc = rn_json_path_print(&schema->paths[i], out);
    }
    return rc ? rc : rn_buf_add(out, rn_view_of("", 1));
}

/* Creates the target like the source, unless it is there. */
static int create_target(struct rn_copy *c)
{
    const char *key = rn_args_text(c->args, "to-pk");
    struct rn_buf json = RN_BUF_INIT(DEFINITION_MAX);
    struct rn_buf paths = RN_BUF_INIT(PATHS_MAX);
    runnel_database_definition database = { RUNNEL_DATABASE_INIT };
    runnel_container_definition definition = { RUNNEL_CONTAINER_INIT };
    runnel_error error = { 0 };
    int status = RN_EXIT_OK;

    if (print_definition(&c->from.json, &json) || print_paths(&c->from, &paths))
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    database.id = c->target.database_name;
    database.if_absent = true;
    definition.id = c->target.container_name;
    definition.partition_key = key ? key : paths.at;
    definition.json = json.at;
    definition.if_absent = true;
    if (!status &&
        (runnel_database_create(c->target.client, &database, NULL, &error) ||
         runnel_container_create(c->target.client, c->target.database_name,
                                 &definition, NULL, &error))) {
        status = rn_report_error_at(&error, "creating %s/%s",
                                    c->target.database_name,
                                    c->target.container_name);
    }
    rn_buf_release(&json);
    rn_buf_release(&paths);
    return status;
}

/* ---- both ---------------------------------------------------------------- */

int rn_copy_open_ends(struct rn_copy *c)
{
    bool creates = rn_args_flag(c->args, "create");
    int status = rn_target_open(c->args, &c->source);

    if (!status && !creates && rn_args_text(c->args, "to-pk"))
        status = rn_report(RN_EXIT_USAGE, "--to-pk needs --create");
    if (!status)
        status = open_target(c);
    if (!status)
        rn_on_interrupt(cancel, c);
    if (!status)
        status = rn_schema_read(&c->source, &c->from);
    if (!status && creates)
        status = create_target(c);
    if (!status)
        status = rn_schema_read(&c->target, &c->to);
    if (!status && strcmp(c->from.rid, c->to.rid) == 0 &&
        strcmp(c->from.name, c->to.name) == 0 &&
        !rn_args_text(c->args, "to-account")) {
        status =
            rn_report(RN_EXIT_USAGE, "%s is both the source and the target",
                      c->from.name);
    }
    c->has_same_key = !status && rn_schema_same_key(&c->from, &c->to);
    return status;
}

void rn_copy_close_ends(struct rn_copy *c)
{
    rn_on_interrupt(NULL, NULL);
    rn_schema_release(&c->from);
    rn_schema_release(&c->to);
    runnel_container_close(c->target.container);
    runnel_client_close(c->target.client);
    rn_free(c->target.names);
    rn_target_close(&c->source);
}
