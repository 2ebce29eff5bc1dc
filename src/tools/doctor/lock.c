/* lock.c -- looks for ids of the form PREFIX HOST _ DATABASE _ CONTAINER .lock;
 * Java's older leases have names there, all others rids.
 *
 * Every library lets the lock live 30 s by its own time to live.  That works
 * only in a container with a defaultTtl: elsewhere the lock of a host that died
 * stays, and the hosts of other libraries wait for it for ever.  Its age is by
 * the server's clock.
 */
#include "tools/doctor/lock.h"

#include "json/print.h"

#include <stdio.h>

enum { SLACK_S = 2, TEXT_MAX = 8192 };

static void add_parameter(struct rn_json_out *o, const char *name,
                          struct rn_view value)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("name"));
    rn_json_out_string(o, rn_view_text(name));
    rn_json_out_key(o, RN_LIT("value"));
    rn_json_out_string(o, value);
    rn_json_out_object_end(o);
}

static bool print_parameters(const struct rn_leases *leases, struct rn_view rid,
                             struct rn_buf *out)
{
    const struct rn_target *t = &leases->target;
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    char by_rid[64], by_name[1024];

    snprintf(by_rid, sizeof(by_rid), "_%.*s.lock", RN_FMT(rid));
    snprintf(by_name, sizeof(by_name), "_%s_%s.lock", t->database_name,
             t->container_name);
    rn_json_out_array_begin(&o);
    add_parameter(&o, "@prefix", rn_view_text(leases->set.name));
    add_parameter(&o, "@byRid", rn_view_text(by_rid));
    add_parameter(&o, "@byName", rn_view_text(by_name));
    rn_json_out_array_end(&o);
    return !rn_json_out_finish(&o) && !rn_buf_add(out, rn_view_of("", 1));
}

static void check_row(const struct rn_leases *leases, runnel_bytes row,
                      struct rn_findings *findings)
{
    struct rn_json json;
    double age_s = 0, ttl_s = 0;

    rn_json_init(&json, NULL);
    if (!rn_json_parse(&json, rn_view_lent(row), NULL)) {
        age_s = rn_json_double(&json, rn_json_find(&json, 0, RN_LIT("age")));
        ttl_s = rn_json_double(&json, rn_json_find(&json, 0, RN_LIT("ttl")));
    }
    if (age_s > ttl_s + SLACK_S) {
        rn_findings_add(
            findings, RN_FINDING_FAULT, "lock",
            "delete it with 'runnel rm', and set the container's defaultTtl "
            "to -1",
            "\"%.*s\" in \"%s\" was left by a host that died at its start "
            "%.0f s ago: .NET's and Java's hosts wait for it for ever",
            RN_FMT(rn_json_text(&json, rn_json_find(&json, 0, RN_LIT("id")))),
            leases->place, age_s);
    }
    rn_json_release(&json);
}

void rn_doctor_check_lock(const struct rn_leases *leases,
                          struct rn_view source_rid,
                          struct rn_findings *findings)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    struct rn_buf parameters = RN_BUF_INIT(TEXT_MAX);
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    runnel_code code = RUNNEL_NO_MEMORY;

    options.text = "SELECT c.id, GetCurrentTimestamp() / 1000 - c._ts AS age, "
                   "IS_NUMBER(c.ttl) ? c.ttl : 30 AS ttl "
                   "FROM c WHERE STARTSWITH(c.id, @prefix) AND (ENDSWITH(c.id, "
                   "@byRid) OR ENDSWITH(c.id, @byName))";
    if (print_parameters(leases, source_rid, &parameters)) {
        options.parameters = parameters.at;
        code = runnel_query_open(leases->container, &options, &query, &error);
    }
    while (!code && !(code = runnel_query_next(query, &page, &error)) && page) {
        for (size_t i = 0; i < runnel_page_count(page); i++)
            check_row(leases, runnel_page_at(page, i), findings);
        runnel_page_close(page);
    }
    if (code)
        rn_findings_add(findings, RN_FINDING_FAULT, "lock", "try again", "%s",
                        error.message);
    runnel_query_close(query);
    rn_buf_release(&parameters);
}
