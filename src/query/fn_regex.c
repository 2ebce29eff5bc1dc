/* fn_regex.c -- RegexMatch, by PCRE2.
 *
 * A run compiles a pattern once, to machine code where PCRE2 can, and keeps the
 * few it used last: patterns are mostly constants, but may come from documents.
 *
 * Limits on matching and depth keep a hostile pattern from taking the machine;
 * one that exceeds them yields undefined, like one that is no pattern.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/function.h"

#include "query/run.h"

#include <pcre2.h>

enum {
    MATCH_STEPS_MAX = 1000000,
    DEPTH_MAX = 1000,
    HEAP_KB_MAX = 4096,
    STACK_BYTES_MAX = 256 << 10, /* of machine code */
    KEPT = 8,
};

struct regex {
    char *pattern; /* NULL: unused */
    size_t len;
    uint32_t options;
    pcre2_code *code; /* NULL: it is no pattern */
};

struct rn_regexes {
    pcre2_match_context *limits;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
    struct regex kept[KEPT];
    uint32_t next; /* to give way */
};

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

static void drop(struct regex *r)
{
    pcre2_code_free(r->code);
    rn_free(r->pattern);
    *r = (struct regex){ 0 };
}

void rn_regexes_free(struct rn_regexes *all)
{
    if (!all)
        return;
    for (uint32_t i = 0; i < KEPT; i++)
        drop(&all->kept[i]);
    pcre2_match_data_free(all->data);
    pcre2_match_context_free(all->limits);
    pcre2_jit_stack_free(all->stack);
    rn_free(all);
}

static struct rn_regexes *regexes_of(struct rn_run *r)
{
    struct rn_regexes *all = r->regexes;

    if (all)
        return all;
    all = rn_new(sizeof(*all));
    if (!all)
        return NULL;
    r->regexes = all;
    all->limits = pcre2_match_context_create(NULL);
    all->data = pcre2_match_data_create(1, NULL);
    all->stack = pcre2_jit_stack_create(32 << 10, STACK_BYTES_MAX, NULL);
    if (!all->limits || !all->data)
        return NULL;
    pcre2_set_match_limit(all->limits, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(all->limits, DEPTH_MAX);
    pcre2_set_heap_limit(all->limits, HEAP_KB_MAX);
    if (all->stack)
        pcre2_jit_stack_assign(all->limits, NULL, all->stack);
    return all;
}

static bool compile(struct regex *r, struct rn_view pattern, uint32_t options)
{
    PCRE2_SIZE where;
    int error;

    drop(r);
    r->pattern = rn_new(pattern.len + 1);
    if (!r->pattern)
        return false;
    if (pattern.len)
        memcpy(r->pattern, pattern.at, pattern.len);
    r->len = pattern.len;
    r->options = options;
    r->code = pcre2_compile((PCRE2_SPTR)r->pattern, r->len, options, &error,
                            &where, NULL);
    if (r->code) /* without machine code it is interpreted */
        (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
    return true;
}

static const struct regex *find(struct rn_regexes *all, struct rn_view pattern,
                                uint32_t options)
{
    struct regex *r;

    for (uint32_t i = 0; i < KEPT; i++) {
        r = &all->kept[i];
        if (r->pattern && r->options == options &&
            rn_view_eq(rn_view_of(r->pattern, r->len), pattern))
            return r;
    }
    r = &all->kept[all->next++ % KEPT];
    return compile(r, pattern, options) ? r : NULL;
}

static enum rn_code match(const struct rn_args *a, uint32_t options,
                          struct rn_value *out)
{
    struct rn_view text = a->at[0].text;
    struct rn_regexes *all = regexes_of(a->run);
    const struct regex *r =
        all && all->data ? find(all, a->at[1].text, options) : NULL;
    int found;

    if (!r)
        return RN_NOMEM;
    if (!r->code)
        return RN_OK;
    found = pcre2_match(r->code, (PCRE2_SPTR)(text.at ? text.at : ""), text.len,
                        0, PCRE2_NO_UTF_CHECK, all->data, all->limits);
    if (found >= 0 || found == PCRE2_ERROR_NOMATCH)
        *out = rn_value_bool(found >= 0);
    return RN_OK;
}

static enum rn_code fn_regex(const struct rn_args *a, struct rn_value *out)
{
    struct rn_view letters = { 0 };
    uint32_t options;
    enum rn_code rc = rn_run_step(a->run, 20);

    if (rc || !rn_arg_is(a, 0, RN_VALUE_STRING) ||
        !rn_arg_is(a, 1, RN_VALUE_STRING) ||
        (a->count > 2 && !rn_arg_is(a, 2, RN_VALUE_STRING)))
        return rc;
    if (a->count > 2)
        letters = a->at[2].text;
    if (!options_of(letters, &options))
        return RN_OK;
    rc = match(a, options, out);
    return rc ? rc : rn_run_step(a->run, a->at[0].text.len / 16);
}

const struct rn_function rn_functions_regex[] = {
    { .name = "RegexMatch", .min = 2, .max = 3, .run = fn_regex },
    { 0 },
};
