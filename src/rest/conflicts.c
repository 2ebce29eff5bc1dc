/* conflicts.c -- lists that are always empty: conflicts, because there is one
 * write region; and scripts, which cannot be created yet.
 *
 * Clients list and read them like any other resource.
 */
#include "rest/conflicts.h"

#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/reply.h"

#include "json/print.h"

enum rn_rest_step rn_rest_empty_list(struct rn_context *x)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    char rid[RN_RID_TEXT_MAX];
    size_t max;
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_context_count(x, &max);
    if (rc)
        return rn_reply_fail(x, rc);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(x->container->rid, rid));
    rn_json_out_key(&o, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&o);
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, 0);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        return rn_reply_fail(x, RN_NOMEM);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, 0);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}

enum rn_rest_step rn_rest_empty_read(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_fail_usual(&x->err, RN_NOT_FOUND);
    rn_reply_owner(x);
    return rn_reply_fail(x, rc);
}

enum rn_rest_step rn_rest_script_create(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    if (!rc) {
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "Stored procedures, triggers and user-defined functions "
                     "are not supported by this server.");
    }
    return rn_reply_fail(x, rc);
}
