/* parameters.c -- the parameters of a query, from the command line. */
#include "tools/common/parameters.h"

#include "tools/common/partition.h"
#include "tools/common/report.h"
#include "json/print.h"

static int add(struct rn_json_out *o, const char *operand)
{
    const char *equals = strchr(operand, '=');
    struct rn_buf value = RN_BUF_INIT(RN_PARAMETERS_MAX);
    int status = RN_EXIT_OK;

    if (operand[0] != '@' || !equals || equals == operand + 1) {
        return rn_report(RN_EXIT_USAGE,
                         "'%s' is not a parameter such as @name=VALUE",
                         operand);
    }
    if (rn_partition_print(equals + 1, &value)) {
        status = rn_report(RN_EXIT_USAGE, "%.*s is too long",
                           (int)(equals - operand), operand);
    } else {
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("name"));
        rn_json_out_string(o, rn_view_of(operand, (size_t)(equals - operand)));
        rn_json_out_key(o, RN_LIT("value"));
        rn_json_out_raw(o, rn_view_text(value.at));
        rn_json_out_object_end(o);
    }
    rn_buf_release(&value);
    return status;
}

int rn_parameters_print(const struct rn_args *args, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    int status = RN_EXIT_OK;

    rn_json_out_array_begin(&o);
    for (uint32_t i = 1; !status && i < args->operand_count; i++)
        status = add(&o, rn_args_operand(args, i));
    rn_json_out_array_end(&o);
    if (!status && (o.rc || rn_buf_add(out, rn_view_of("", 1))))
        status = rn_report(RN_EXIT_USAGE, "the parameters are too long");
    return status;
}
