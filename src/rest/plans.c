/* plans.c -- a client asks how to run a query over several ranges. */
#include "rest/own.h"

#include "rest/asked.h"

/* A partition key value of the query's making. */
static struct rn_pk_value key_of(const struct rn_value *v)
{
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_NULL:
        return (struct rn_pk_value){ .type = RN_PK_NULL };
    case RN_VALUE_BOOL:
        return (struct rn_pk_value){ .type =
                                         v->truth ? RN_PK_TRUE : RN_PK_FALSE };
    case RN_VALUE_NUMBER:
        return (struct rn_pk_value){ .type = RN_PK_NUMBER,
                                     .number = v->is_integer
                                                   ? (double)v->integer
                                                   : v->real };
    case RN_VALUE_STRING:
        return (struct rn_pk_value){ .type = RN_PK_STRING, .text = v->text };
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_ARRAY:
    case RN_VALUE_OBJECT:
        break;
    }
    return (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
}

static enum rn_code place(void *context, const struct rn_value *values,
                          uint32_t count, struct rn_buf *min,
                          struct rn_buf *max)
{
    const struct rn_pkdef *def = context;
    char text[RN_EPK_TEXT_MAX];
    struct rn_epk_range range;
    struct rn_pk pk = { .count = count };
    enum rn_code rc;

    for (uint32_t i = 0; i < count; i++)
        pk.values[i] = key_of(&values[i]);
    if (count == def->count) {
        rn_epk_of(def, &pk, &range.min);
        range.max = range.min;
    } else {
        rn_epk_range_of(def, &pk, &range);
    }
    rc = rn_buf_add(min, rn_epk_print(&range.min, text));
    return rc ? rc : rn_buf_add(max, rn_epk_print(&range.max, text));
}

enum rn_rest_step rn_rest_query_plan(struct rn_context *x)
{
    struct rn_asked asked;
    struct rn_plan_keys keys = { .place = place };
    const struct rn_pkdef *def;
    enum rn_code rc = rn_context_find_container(x);

    if (rc)
        return rn_reply_fail(x, rc);
    rc = rn_asked_read(&asked, x);
    if (!rc) {
        def = &x->container->container->pkdef;
        keys.paths = def->paths;
        keys.count = (uint32_t)def->count;
        keys.is_hierarchical = def->kind == RN_PKDEF_MULTIHASH;
        keys.context = (void *)def;
        rc = rn_query_plan_print(asked.query, &keys, &asked.faults,
                                 &x->call->body, &x->err);
    }
    if (rc)
        return rn_asked_refuse(&asked, x, rc);
    rn_asked_release(&asked);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}
