/* fn_regex.c -- RegexMatch, by PCRE2.
 *
 * Limits on matching and depth keep a hostile pattern from taking the machine;
 * one that exceeds them yields undefined, like one that is no pattern.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/function.h"

#include "query/run.h"

#include <pcre2.h>

enum { MATCH_STEPS_MAX = 1000000, DEPTH_MAX = 1000, HEAP_KB_MAX = 4096 };

static bool options_of(struct rn_view letters, uint32_t *out)
{
    *out = PCRE2_UTF | PCRE2_NO_UTF_CHECK;
    for (size_t i = 0; i < letters.len; i++) {
        switch (letters.at[i]) {
        case 'm':
            *out |= PCRE2_MULTILINE;
            break;
        case 's':
            *out |= PCRE2_DOTALL;
            break;
        case 'i':
            *out |= PCRE2_CASELESS;
            break;
        case 'x':
            *out |= PCRE2_EXTENDED;
            break;
        default:
            return false;
        }
    }
    return true;
}

static enum rn_code match(const struct rn_args *a, const pcre2_code *code,
                          struct rn_value *out)
{
    struct rn_view text = a->at[0].text;
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    enum rn_code rc = limits && data ? RN_OK : RN_NOMEM;
    int found;

    if (!rc) {
        pcre2_set_match_limit(limits, MATCH_STEPS_MAX);
        pcre2_set_depth_limit(limits, DEPTH_MAX);
        pcre2_set_heap_limit(limits, HEAP_KB_MAX);
        found = pcre2_match(code, (PCRE2_SPTR)(text.at ? text.at : ""),
                            text.len, 0, PCRE2_NO_UTF_CHECK, data, limits);
        if (found >= 0 || found == PCRE2_ERROR_NOMATCH)
            *out = rn_value_bool(found >= 0);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    return rc;
}

static enum rn_code fn_regex(const struct rn_args *a, struct rn_value *out)
{
    struct rn_view letters = { 0 }, pattern;
    pcre2_code *code;
    uint32_t options;
    PCRE2_SIZE where;
    int error;
    enum rn_code rc = rn_run_step(a->run, 20);

    if (rc || !rn_arg_is(a, 0, RN_VALUE_STRING) ||
        !rn_arg_is(a, 1, RN_VALUE_STRING) ||
        (a->count > 2 && !rn_arg_is(a, 2, RN_VALUE_STRING)))
        return rc;
    if (a->count > 2)
        letters = a->at[2].text;
    if (!options_of(letters, &options))
        return RN_OK;
    pattern = a->at[1].text;
    code = pcre2_compile((PCRE2_SPTR)(pattern.at ? pattern.at : ""),
                         pattern.len, options, &error, &where, NULL);
    if (!code)
        return RN_OK;
    rc = match(a, code, out);
    pcre2_code_free(code);
    return rc ? rc : rn_run_step(a->run, a->at[0].text.len / 16);
}

const struct rn_function rn_functions_regex[] = {
    { .name = "RegexMatch", .min = 2, .max = 3, .run = fn_regex },
    { 0 },
};
