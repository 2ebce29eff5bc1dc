/* body.c -- prints the changes of a batch, and what is known about it. */
#include "tools/trigger/body.h"

#include "base/hash.h"
#include "tools/common/change.h"
#include "tools/common/target.h"

#include <stdio.h>

enum rn_code rn_body_print_change(const runnel_change *change,
                                  struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_change_print(&o, change);
    return rn_json_out_finish(&o);
}

static enum rn_code print_lines(const runnel_batch *batch, struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < runnel_batch_count(batch); i++) {
        rc = rn_body_print_change(runnel_batch_at(batch, i), out);
        if (!rc)
            rc = rn_buf_add(out, RN_LIT("\n"));
    }
    return rc;
}

enum rn_code rn_body_print(const runnel_batch *batch, enum rn_body_form form,
                           struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    if (form == RN_BODY_LINES)
        return print_lines(batch, out);
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        rn_change_print(&o, runnel_batch_at(batch, i));
    rn_json_out_array_end(&o);
    return rn_json_out_finish(&o);
}

void rn_body_id(const runnel_batch *batch, const char *lease,
                char out[RN_BODY_ID_MAX])
{
    size_t count = runnel_batch_count(batch);
    uint64_t first = runnel_batch_at(batch, 0)->lsn, last = first, hash = 0;

    for (size_t i = 0; i < count; i++) {
        const runnel_change *c = runnel_batch_at(batch, i);
        first = c->lsn < first ? c->lsn : first;
        last = c->lsn > last ? c->lsn : last;
        hash =
            rn_hash64_two(rn_view_of(c->partition_key.at, c->partition_key.len),
                          rn_view_of(c->id.at, c->id.len), hash);
    }
    snprintf(out, RN_BODY_ID_MAX, "%s/%s/%llu-%llu/%016llx",
             runnel_batch_rid(batch), lease, (unsigned long long)first,
             (unsigned long long)last, (unsigned long long)hash);
}

static void add_text(struct rn_handler_call *call, const char *variable,
                     const char *member, const char *header, const char *value)
{
    struct rn_fact *fact = &call->facts[call->fact_count++];

    *fact = (struct rn_fact){ .variable = variable,
                              .member = member,
                              .header = header };
    snprintf(fact->value, sizeof(fact->value), "%s", value ? value : "");
}

static void add_number(struct rn_handler_call *call, const char *variable,
                       const char *member, const char *header, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    add_text(call, variable, member, header, text);
    call->facts[call->fact_count - 1].is_number = true;
}

void rn_body_facts(const runnel_batch *batch, const char *lease,
                   struct rn_handler_call *call)
{
    add_text(call, "RUNNEL_ID", "id", NULL, call->id);
    add_text(call, "RUNNEL_LEASE", "lease", "Runnel-Lease", lease);
    add_text(call, "RUNNEL_RANGE", "range", "Runnel-Range",
             runnel_batch_range(batch)->text);
    add_text(call, "RUNNEL_CONTINUATION", "continuation", "Runnel-Continuation",
             runnel_batch_token(batch));
    add_number(call, "RUNNEL_COUNT", "count", "Runnel-Count",
               runnel_batch_count(batch));
    add_number(call, "RUNNEL_ATTEMPT", "attempt", "Runnel-Attempt",
               runnel_batch_attempt(batch));
    add_number(call, "RUNNEL_EPOCH", "epoch", "Runnel-Epoch",
               runnel_batch_epoch(batch));
}
