/* lease_set.c -- opens the containers of a processor. */
#include "tools/common/lease_set.h"

#include "tools/common/report.h"

const struct rn_option rn_lease_set_options[] = {
    { "leases", RN_OPTION_TEXT, "DB/NAME", "leases", NULL,
      "The lease container; without DB, in the database of the container." },
    { "lease-prefix", RN_OPTION_TEXT, "NAME", "trigger", NULL,
      "The name of the processor.  Hosts of one name share the changes; "
      "processors of different names get every change each." },
    { 0 },
};

int rn_leases_open(const struct rn_args *args, struct rn_leases *out)
{
    int status = rn_target_open(args, &out->target);

    out->place = rn_args_text(args, "leases");
    if (!status) {
        status = rn_target_container(out->target.client, "--leases",
                                     out->target.database_name, out->place,
                                     &out->container);
    }
    out->set = (runnel_lease_set){ RUNNEL_LEASE_SET_INIT,
                                   .source = out->target.container,
                                   .name = rn_args_text(args, "lease-prefix"),
                                   .leases = out->container };
    return status;
}

void rn_leases_close(struct rn_leases *leases)
{
    runnel_container_close(leases->container);
    rn_target_close(&leases->target);
    *leases = (struct rn_leases){ 0 };
}

static bool is_missing(runnel_container *container)
{
    runnel_reply *reply = NULL;
    runnel_code code = runnel_container_read(container, &reply, NULL);

    runnel_reply_close(reply);
    return code == RUNNEL_NOT_FOUND;
}

int rn_leases_report(const runnel_error *error, struct rn_leases *leases)
{
    if (error->code != RUNNEL_NOT_FOUND || is_missing(leases->target.container))
        return rn_report_request(error, &leases->target, NULL);
    if (is_missing(leases->container)) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "the lease container \"%s\" does not exist",
                         leases->place);
    }
    return rn_report_error_at(error, "processor \"%s\"", leases->set.name);
}
