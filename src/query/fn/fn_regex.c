/* fn_regex.c -- built-in functions: regular expressions, by PCRE2.
 *
 * A run compiles a pattern once, with the JIT where PCRE2 supports it, and
 * caches the few patterns used last: patterns are mostly constants, but may
 * come from documents.
 *
 * Limits on match steps and depth bound the cost of a hostile pattern.  A match
 * that exceeds them yields undefined, as an invalid pattern does.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/fn/fn_regex.h"

#include "query/fn/function.h"
#include "query/fn/text.h"
#include "query/run/run.h"

#include <pcre2.h>

enum {
    MATCH_STEPS_MAX = 1000000,
    DEPTH_MAX = 1000,
    HEAP_KB_MAX = 4096,
    STACK_BYTES_MAX = 256 << 10, /* of JIT code */
    KEPT = 8,
    GROUPS_MAX = 64,       /* capture groups, with the whole match */
    HARD_STEPS = 500000,   /* charged for a match that hit its limit */
    MATCHES_PER_LOOK = 32, /* any of them may have cost as much */
};

struct regex {
    char *pattern; /* NULL: unused */
    size_t len;
    uint32_t options;
    pcre2_code *code; /* NULL: the pattern is invalid */
};

struct rn_regexes {
    pcre2_match_context *limits;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
    struct regex kept[KEPT];
    uint32_t next;    /* entry to evict */
    uint32_t matches; /* attempted so far */
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
    all->data = pcre2_match_data_create(GROUPS_MAX, NULL);
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
    if (r->code) /* PCRE2 interprets a pattern without JIT code */
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

/* ---- matching ------------------------------------------------------------ */

/* One call: its pattern, and its subject. */
struct use {
    const struct rn_fn_args *args;
    struct rn_regexes *all;
    const struct regex *regex; /* its code is NULL if the pattern is invalid */
    struct rn_view text;
    const PCRE2_SIZE *found; /* offsets of the match and its groups */
};

/* The subject and the pattern come first; argument `letters`, if present, holds
 * the option letters. */
static enum rn_code begin(const struct rn_fn_args *a, uint32_t letters,
                          struct use *u, bool *is_good)
{
    uint32_t options;
    enum rn_code rc = rn_run_step(a->run, 20);

    *is_good = false;
    if (rc || !rn_arg_is(a, 0, RN_VALUE_STRING) ||
        !rn_arg_is(a, 1, RN_VALUE_STRING) ||
        (a->count > letters && !rn_arg_is(a, letters, RN_VALUE_STRING)) ||
        !options_of(a->count > letters ? a->at[letters].text : RN_LIT(""),
                    &options))
        return rc;
    *u = (struct use){ .args = a,
                       .all = regexes_of(a->run),
                       .text = a->at[0].text };
    if (u->all && u->all->data)
        u->regex = find(u->all, a->at[1].text, options);
    if (!u->regex)
        return RN_NOMEM;
    *is_good = u->regex->code;
    return RN_OK;
}

/* Whether there is a match from byte `from` on; `*is_known` is false if the
 * match hit its limit. */
static enum rn_code match(struct use *u, size_t from, bool *is_found,
                          bool *is_known)
{
    struct rn_view text = u->text;
    int found = pcre2_match(
        u->regex->code, (PCRE2_SPTR)(text.at ? text.at : ""), text.len, from,
        PCRE2_NO_UTF_CHECK, u->all->data, u->all->limits);

    *is_found = found >= 0;
    *is_known = found >= 0 || found == PCRE2_ERROR_NOMATCH;
    u->found = pcre2_get_ovector_pointer(u->all->data);
    if (++u->all->matches % MATCHES_PER_LOOK == 0)
        rn_run_look(u->args->run);
    return rn_run_step(u->args->run,
                       *is_known ? 1 + (text.len - from) / 16 : HARD_STEPS);
}

static enum rn_code fn_match(const struct rn_fn_args *a, struct rn_value *out)
{
    struct use u;
    bool is_good, is_found = false;
    enum rn_code rc = begin(a, 2, &u, &is_good);

    if (!rc && is_good)
        rc = match(&u, 0, &is_found, &is_good);
    if (!rc && is_good)
        *out = rn_value_bool(is_found);
    return rc;
}

/* Where to search for the next match: after this one, and one character later
 * if it is empty.  Past the end of the text there is none. */
static size_t past(const struct use *u)
{
    size_t at = u->found[1], len = 1;

    if (u->found[1] > u->found[0])
        return at;
    if (at < u->text.len)
        rn_text_point(u->text, at, &len);
    return at + len;
}

/* ---- extracting ---------------------------------------------------------- */

/* The group that argument 3 selects; 0 is the whole match. */
static bool group_of(const struct use *u, int64_t *out)
{
    uint32_t groups = 0;

    *out = 0;
    if (u->args->count > 3 && !rn_arg_int(u->args, 3, out))
        return false;
    (void)pcre2_pattern_info(u->regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    return *out >= 0 && *out <= groups && *out < GROUPS_MAX;
}

static struct rn_value group_text(const struct use *u, int64_t group)
{
    size_t from = u->found[2 * group], to = u->found[2 * group + 1];

    if (from == PCRE2_UNSET || to < from)
        return rn_value_undefined();
    return rn_value_string(rn_view_of(u->text.at + from, to - from));
}

static enum rn_code fn_extract(const struct rn_fn_args *a, struct rn_value *out)
{
    struct use u;
    int64_t group;
    bool is_good, is_found = false;
    enum rn_code rc = begin(a, 2, &u, &is_good);

    if (!rc && is_good && group_of(&u, &group)) {
        rc = match(&u, 0, &is_found, &is_good);
        if (is_found)
            *out = group_text(&u, group);
    }
    return rc;
}

static enum rn_code fn_extract_all(const struct rn_fn_args *a,
                                   struct rn_value *out)
{
    struct use u;
    struct rn_value *items = NULL;
    uint32_t n = 0, room = 0;
    int64_t group;
    bool is_good, is_found = true;
    enum rn_code rc = begin(a, 2, &u, &is_good);

    if (rc || !is_good || !group_of(&u, &group))
        return rc;
    for (size_t at = 0; !rc && is_found && at <= u.text.len; at = past(&u)) {
        rc = match(&u, at, &is_found, &is_good);
        if (rc || !is_good)
            return rc;
        if (!is_found)
            break;
        items = rn_ast_grow(a->arena, items, n, &room, sizeof(*items));
        if (!items)
            return RN_TOO_LARGE;
        items[n] = group_text(&u, group);
        n += items[n].kind != RN_VALUE_UNDEFINED;
    }
    if (!rc)
        *out = rn_value_array(items, n);
    return rc;
}

/* ---- replacing ----------------------------------------------------------- */

/* The text with its first `most` matches replaced; the replacement is
 * literal. */
static enum rn_code replace(struct use *u, uint32_t most, struct rn_buf *to,
                            bool *is_known)
{
    size_t done = 0, at = 0;
    bool is_found = true;
    enum rn_code rc = RN_OK;

    for (uint32_t n = 0; !rc && n < most && at <= u->text.len; n++) {
        rc = match(u, at, &is_found, is_known);
        if (rc || !is_found)
            break;
        rc = rn_buf_add(to, rn_view_of(u->text.at + done, u->found[0] - done));
        if (!rc)
            rc = rn_buf_add(to, u->args->at[2].text);
        done = u->found[1];
        at = past(u);
    }
    return rc ? rc
              : rn_buf_add(to,
                           rn_view_of(u->text.at + done, u->text.len - done));
}

static enum rn_code give_replaced(const struct rn_fn_args *a, uint32_t most,
                                  struct rn_value *out)
{
    struct rn_buf to = RN_BUF_INIT(a->arena->ceiling + 1);
    struct rn_view kept;
    struct use u;
    bool is_good;
    enum rn_code rc = begin(a, 3, &u, &is_good);

    if (!rc && is_good && rn_arg_is(a, 2, RN_VALUE_STRING)) {
        rc = replace(&u, most, &to, &is_good);
        kept = rn_arena_copy(a->arena, rn_buf_view(&to));
        if (!rc && !kept.at && to.len)
            rc = RN_TOO_LARGE;
        if (!rc && is_good)
            *out = rn_value_string(kept);
    }
    rn_buf_release(&to);
    return rc;
}

static enum rn_code fn_replace(const struct rn_fn_args *a, struct rn_value *out)
{
    return give_replaced(a, 1, out);
}

static enum rn_code fn_replace_all(const struct rn_fn_args *a,
                                   struct rn_value *out)
{
    return give_replaced(a, UINT32_MAX, out);
}

const struct rn_function rn_functions_regex[] = {
    { .name = "RegexMatch", .min = 2, .max = 3, .run = fn_match },
    { .name = "RegexExtract", .min = 2, .max = 4, .run = fn_extract },
    { .name = "RegexExtractAll", .min = 2, .max = 4, .run = fn_extract_all },
    { .name = "RegexReplace", .min = 3, .max = 4, .run = fn_replace },
    { .name = "RegexReplaceAll", .min = 3, .max = 4, .run = fn_replace_all },
    { 0 },
};
