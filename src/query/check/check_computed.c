/* check_computed.c -- computed properties: validates and parses their
 * expressions.
 *
 * Each is a query of one form, SELECT VALUE expression FROM root, over one
 * document, so that its expression can replace the name wherever it is used.
 */
#include "query/check/check_computed.h"

#include "query/check/check.h"
#include "query/fn/function.h"
#include "query/parse/parse.h"
#include "json/print.h"

/* The message quotes a name and a query, which are part of the request. */
enum { MESSAGE_MAX = 1 << 20 };

static bool is_plain(const struct rn_expr *e)
{
    if (e->kind == RN_EXPR_QUERY || e->kind == RN_EXPR_PARAMETER)
        return false;
    if (e->kind == RN_EXPR_CALL &&
        (e->function->aggregate || e->function->is_volatile ||
         e->function->is_spatial))
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        if (!is_plain(e->kids[i]))
            return false;
    }
    return true;
}

static bool has_form(const struct rn_select *s)
{
    return s->kind != RN_SELECT_STAR && s->from_count == 1 &&
           !s->from[0].query && !s->from[0].is_each &&
           s->from[0].path->kind == RN_EXPR_NAME && !s->where &&
           !s->group_count && !s->order_count && !s->top && !s->offset &&
           !s->is_distinct;
}

/* Why the query of a computed property is rejected: its faults, or a sentence
 * if there are no faults. */
struct refusal {
    struct rn_faults faults;
    bool lacks_value;
    const char *why;
};

static enum rn_code read_query(struct rn_view query, struct rn_arena *arena,
                               struct refusal *r, struct rn_expr **out)
{
    struct rn_check inner = { .arena = arena, .faults = &r->faults };
    struct rn_select *s;
    enum rn_code rc;

    *r = (struct refusal){ .faults.text = query };
    r->why = "it is not SELECT VALUE, an expression, FROM and a name";
    rc = rn_parse(query, arena, &r->faults, &s);
    if (!rc && has_form(s))
        rc = rn_check_item(&inner, s);
    if (rc)
        return rc;
    r->lacks_value = s->kind != RN_SELECT_VALUE;
    if (r->lacks_value || !has_form(s))
        return RN_BAD_REQUEST;
    r->why = "it holds a subquery, a parameter, or a function that is an "
             "aggregate, spatial, or differs from call to call";
    *out = s->items[0].expr;
    return is_plain(*out) ? RN_OK : RN_BAD_REQUEST;
}

static enum rn_code read_computed(struct rn_check *c,
                                  const struct rn_policy_computed *computed,
                                  struct rn_expr **out)
{
    struct refusal r;
    enum rn_code rc = read_query(computed->query, c->arena, &r, out);

    if (rc != RN_BAD_REQUEST)
        return rc;
    *out = NULL;
    return rn_faults_add(
        c->faults, NULL, 0, 0, "The computed property '%.*s' is not valid: %s",
        computed->name.len < 60 ? (int)computed->name.len : 60,
        computed->name.at, r.faults.count ? r.faults.list[0].message : r.why);
}

enum rn_code rn_check_computed(struct rn_check *c, struct rn_view name,
                               struct rn_expr **out)
{
    const struct rn_policy_computed *found =
        rn_policy_find_computed(c->policy, name);
    size_t size = c->policy->computed_count * sizeof(struct rn_expr *);
    struct rn_expr **known;
    enum rn_code rc = RN_OK;

    *out = NULL;
    if (!found)
        return RN_OK;
    if (!c->computed) {
        c->computed = rn_arena_alloc(c->arena, size);
        if (!c->computed)
            return RN_TOO_LARGE;
        memset(c->computed, 0, size);
    }
    known = &c->computed[found - c->policy->computed];
    if (!*known)
        rc = read_computed(c, found, known);
    *out = *known;
    return rc;
}

static bool is_reserved(struct rn_view name)
{
    static const char *const names[] = { "id",    "_rid",         "_self",
                                         "_etag", "_attachments", "_ts" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rn_view_eq(name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

/* Takes ownership of the sentence, which becomes a JSON string in the
 * message. */
static enum rn_code refuse(struct rn_buf *sentence, struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(MESSAGE_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("Errors"));
    rn_json_out_array_begin(&o);
    rn_json_out_string(&o, rn_buf_view(sentence));
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    if (!rc)
        rc = rn_fail(err, RN_BAD_REQUEST, "Message: %.*s",
                     RN_FMT(rn_buf_view(&text)));
    rn_buf_release(&text);
    rn_buf_release(sentence);
    return rc;
}

/* The service numbers these faults and gives no location. */
static enum rn_code print_faults(struct rn_faults *f, struct rn_buf *out)
{
    struct rn_buf text = RN_BUF_INIT(MESSAGE_MAX);
    enum rn_code rc;

    for (uint32_t i = 0; i < f->count; i++) {
        if (f->list[i].code && strncmp(f->list[i].code, "SC", 2) == 0)
            f->list[i].code += 2;
    }
    rc = rn_faults_print(f, &text);
    if (!rc)
        rc = rn_buf_printf(out, " Error details: '%.*s'",
                           RN_FMT(rn_buf_view(&text)));
    rn_buf_release(&text);
    return rc;
}

static enum rn_code check_query(const struct rn_policy_computed *computed,
                                uint32_t at, struct rn_arena *a,
                                struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(MESSAGE_MAX);
    struct rn_expr *e;
    struct refusal r;
    enum rn_code rc = read_query(computed->query, a, &r, &e);

    if (rc != RN_BAD_REQUEST)
        return rc;
    if (r.faults.count) {
        rc = rn_buf_printf(&text,
                           "Computed property at index (%u) has a malformed "
                           "query: '%.*s'",
                           at, RN_FMT(computed->query));
        if (!rc)
            rc = print_faults(&r.faults, &text);
    } else if (r.lacks_value) {
        rc = rn_buf_printf(&text,
                           "Required VALUE expression missing from computed "
                           "property query '%.*s' at index (%u).",
                           RN_FMT(computed->query), at);
    } else {
        rc = rn_buf_printf(&text,
                           "The computed property '%.*s' is not valid: %s",
                           RN_FMT(computed->name), r.why);
    }
    if (!rc)
        return refuse(&text, err);
    rn_buf_release(&text);
    return rc;
}

static enum rn_code check_name(const struct rn_policy *p, uint32_t at,
                               struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(MESSAGE_MAX);
    struct rn_view name = p->computed[at].name;
    enum rn_code rc;

    if (is_reserved(name)) {
        rc = rn_buf_printf(&text,
                           "The system property name '%.*s' cannot be used as "
                           "a computed property name.",
                           RN_FMT(name));
    } else if (rn_policy_find_computed(p, name) != &p->computed[at]) {
        rc = rn_buf_printf(&text,
                           "Computed property name '%.*s' cannot be used in "
                           "multiple definitions.",
                           RN_FMT(name));
    } else {
        return RN_OK;
    }
    return rc ? rc : refuse(&text, err);
}

enum rn_code rn_query_check_policy(const struct rn_policy *p,
                                   struct rn_arena *a, struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; !rc && i < p->computed_count; i++) {
        rc = check_name(p, i, err);
        if (!rc)
            rc = check_query(&p->computed[i], i, a, err);
    }
    return rc;
}
