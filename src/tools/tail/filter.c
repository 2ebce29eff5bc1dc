/* filter.c -- parses and applies --filter. */
#include "tools/tail/filter.h"

#include "tools/common/report.h"
#include "json/print.h"

enum { VALUE_MAX = 1 << 20 };

static int parse_one(const char *option, struct rn_arena *arena,
                     struct rn_filter *out)
{
    const char *equals = strchr(option, '=');
    struct rn_buf path = RN_BUF_INIT(VALUE_MAX);
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (!equals || equals == option)
        return rn_report(RN_EXIT_USAGE, "--filter is PATH=VALUE, not '%s'",
                         option);
    rc = rn_buf_printf(&path, "%s%.*s", option[0] == '/' ? "" : "/",
                       (int)(equals - option), option);
    if (!rc)
        rc = rn_json_path_parse(rn_buf_view(&path), arena, &out->path, &err);
    rn_buf_release(&path);
    if (rc)
        return rn_report(RN_EXIT_USAGE, "--filter %s: %s", option, err.text);
    rn_json_init(&out->value, NULL);
    out->text = rn_view_text(equals + 1);
    (void)!rn_json_parse(&out->value, out->text, NULL);
    return RN_EXIT_OK;
}

int rn_filters_parse(const struct rn_args *args, struct rn_arena *arena,
                     struct rn_filter **out)
{
    const char *option;
    int status = RN_EXIT_OK;

    for (uint32_t i = 0; !status && (option = rn_args_list(args, "filter", i));
         i++) {
        struct rn_filter *one = rn_arena_alloc(arena, sizeof(*one));
        if (!one)
            return rn_report(RN_EXIT_FAILED, "out of memory");
        *one = (struct rn_filter){ .next = *out };
        *out = one;
        status = parse_one(option, arena, one);
    }
    return status;
}

void rn_filters_release(struct rn_filter *first)
{
    for (; first; first = first->next)
        rn_json_release(&first->value);
}

/* Arrays and objects: member by member in the order of the text. */
static bool is_same_text(const struct rn_json *a, uint32_t x,
                         const struct rn_json *b, uint32_t y)
{
    struct rn_buf one = RN_BUF_INIT(VALUE_MAX), two = RN_BUF_INIT(VALUE_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&one);
    bool is_same;

    rn_json_out_value(&o, a, x);
    is_same = !o.rc;
    o = RN_JSON_OUT_INIT(&two);
    rn_json_out_value(&o, b, y);
    is_same =
        is_same && !o.rc && rn_view_eq(rn_buf_view(&one), rn_buf_view(&two));
    rn_buf_release(&one);
    rn_buf_release(&two);
    return is_same;
}

static bool matches(const struct rn_filter *f, const struct rn_json *json)
{
    uint32_t at = rn_json_path_find(&f->path, json, 0);
    enum rn_json_kind kind = rn_json_kind(json, at);

    if (kind == RN_JSON_STRING && rn_json_string_is(json, at, f->text))
        return true;
    if (kind == RN_JSON_UNDEFINED || kind != rn_json_kind(&f->value, 0))
        return false;
    if (kind == RN_JSON_NUMBER)
        return rn_json_double(json, at) == rn_json_double(&f->value, 0);
    return is_same_text(json, at, &f->value, 0);
}

bool rn_filters_match(const struct rn_filter *first,
                      const struct rn_json *document)
{
    for (; first; first = first->next) {
        if (!matches(first, document))
            return false;
    }
    return true;
}
