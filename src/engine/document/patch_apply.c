/* patch_apply.c -- applies a patch; see patch.h.
 *
 * A document is edited as text: each operation parses the result of the one
 * before it, finds the affected bytes by the tape, and splices.  So all other
 * bytes stay as they were.
 */
#include "engine/document/patch_apply.h"

#include "cosmos/status.h"
#include "engine/document/version.h"
#include "json/number.h"
#include "json/print.h"

#include <math.h>

enum {
    TEXT_MAX = 2 * RN_DOCUMENT_MAX, /* between two operations */
    CONDITION_STEPS = 2000000,
    CONDITION_BYTES = 16 << 20,
};

static const char *const verb_words[RN_PATCH_VERBS] = {
    "Add", "Set", "Replace", "Remove", "Increment", "Move",
};

/* ---- the condition --------------------------------------------- */

struct one {
    struct rn_view document;
    bool given, matched;
};

static enum rn_code give_one(void *context, struct rn_view *document,
                             struct rn_err *err)
{
    struct one *o = context;

    (void)err;
    if (o->given)
        return RN_NOT_FOUND;
    o->given = true;
    *document = o->document;
    return RN_OK;
}

static enum rn_code take_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err)
{
    (void)json;
    (void)place;
    (void)err;
    ((struct one *)context)->matched = true;
    *is_full = true;
    return RN_OK;
}

static enum rn_code check_condition(const struct rn_patch *p,
                                    struct rn_view document, int64_t now,
                                    struct rn_err *err)
{
    struct one o = { .document = document };
    struct rn_source source = { .context = &o, .next = give_one };
    struct rn_sink sink = { .context = &o, .row = take_row };
    struct rn_query_limits limits = { .steps = CONDITION_STEPS,
                                      .memory_bytes = CONDITION_BYTES,
                                      .now_us = now * 1000000,
                                      .seed = (uint64_t)now };
    struct rn_query_stats stats;
    enum rn_code rc;

    if (!p->condition)
        return RN_OK;
    rc = rn_query_run(p->condition, &source, &sink, &limits, &stats, err);
    if (rc || o.matched)
        return rc;
    return rn_fail_usual(err, RN_PRECONDITION);
}

/* ---- texts ----------------------------------------------------- */

struct work {
    struct rn_json json; /* of text */
    struct rn_buf text, next;
    struct rn_buf moved;
    struct rn_err *err;
    uint32_t number; /* of the operation, from 1 */
    enum rn_patch_verb verb;
};

static size_t begin_of(const struct rn_json *j, uint32_t value)
{
    return (size_t)(rn_patch_value(j, value).at - j->text.at);
}

static size_t end_of(const struct rn_json *j, uint32_t value)
{
    return begin_of(j, value) + rn_patch_value(j, value).len;
}

/* Replaces text[from..to). */
struct splice {
    size_t from, to;
    bool comma_before, comma_after;
    bool is_member;
    struct rn_view name, value;
};

static enum rn_code write_splice(struct work *w, const struct splice *s)
{
    struct rn_view text = rn_buf_view(&w->text);
    struct rn_json_out o = RN_JSON_OUT_INIT(&w->next);
    enum rn_code rc;

    rn_buf_clear(&w->next);
    rc = rn_buf_add(&w->next, rn_view_of(text.at, s->from));
    if (!rc && s->comma_before)
        rc = rn_buf_add(&w->next, RN_LIT(","));
    if (!rc && s->is_member) {
        rn_json_out_string(&o, s->name);
        rc = rn_json_out_finish(&o);
        if (!rc)
            rc = rn_buf_add(&w->next, RN_LIT(":"));
    }
    if (!rc)
        rc = rn_buf_add(&w->next, s->value);
    if (!rc && s->comma_after)
        rc = rn_buf_add(&w->next, RN_LIT(","));
    return rc ? rc
              : rn_buf_add(&w->next,
                           rn_view_of(text.at + s->to, text.len - s->to));
}

static enum rn_code edit(struct work *w, const struct splice *s)
{
    struct rn_buf old = w->text;
    enum rn_code rc = write_splice(w, s);

    if (rc == RN_TOO_LARGE) {
        return rn_fail(w->err, rc,
                       "Message: {\"Errors\":[\"Request size is too "
                       "large\"]}");
    }
    if (rc)
        return rc;
    w->text = w->next;
    w->next = old;
    return rn_json_parse(&w->json, rn_buf_view(&w->text), w->err);
}

/* ---- places ---------------------------------------------------- */

struct spot {
    uint32_t parent; /* an object or an array, or NONE */
    bool is_array;
    bool is_behind; /* the index just after an array's last element */
    uint32_t value; /* NONE: no value */
    struct rn_view name;
    struct rn_view lost; /* the first name without an object or array */
};

/* The index that a name means in an array of `count`; false if it is not one.
 * "-" is the index after the last. */
static bool read_place(struct rn_view name, uint32_t count, uint32_t *out)
{
    uint64_t n = 0;

    *out = count;
    if (rn_view_eq(name, RN_LIT("-")))
        return true;
    if (!name.len || name.len > 9 || (name.at[0] == '0' && name.len > 1))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(name.at[i] - '0');
    }
    *out = (uint32_t)n;
    return n <= count;
}

static uint32_t child(const struct rn_json *j, uint32_t parent,
                      struct rn_view name)
{
    uint32_t place;

    if (rn_json_kind(j, parent) == RN_JSON_OBJECT)
        return rn_json_find(j, parent, name);
    if (rn_json_kind(j, parent) == RN_JSON_ARRAY &&
        read_place(name, rn_json_count(j, parent), &place))
        return rn_json_at(j, parent, place);
    return RN_JSON_NONE;
}

static struct spot find(const struct work *w, const struct rn_json_path *path)
{
    const struct rn_json *j = &w->json;
    struct spot s = { .parent = 0, .value = RN_JSON_NONE };
    uint32_t place;

    for (uint32_t i = 0; i + 1 < path->count; i++) {
        s.parent = child(j, s.parent, path->names[i]);
        if (!s.lost.at && rn_json_kind(j, s.parent) != RN_JSON_OBJECT &&
            rn_json_kind(j, s.parent) != RN_JSON_ARRAY)
            s.lost = path->names[i];
    }
    s.name = path->names[path->count - 1];
    s.is_array = rn_json_kind(j, s.parent) == RN_JSON_ARRAY;
    if (!s.is_array && rn_json_kind(j, s.parent) != RN_JSON_OBJECT)
        s.parent = RN_JSON_NONE;
    else
        s.value = child(j, s.parent, s.name);
    s.is_behind = s.is_array &&
                  read_place(s.name, rn_json_count(j, s.parent), &place) &&
                  place == rn_json_count(j, s.parent);
    return s;
}

static enum rn_code no_parent(const struct work *w, const struct spot *s)
{
    return rn_patch_refuse(
        w->err,
        "For Operation(%u): %s Operation can only create a child "
        "object of an existing node(array or object) and cannot "
        "create path recursively, no path found beyond: '%.*s'",
        w->number, verb_words[w->verb],
        (int)(s->lost.len < 20 ? s->lost.len : 20), s->lost.at);
}

static enum rn_code no_value(const struct work *w, const struct spot *s)
{
    return rn_patch_refuse(
        w->err,
        "For Operation(%u): %s Operation can only be performed on "
        "an existing path, nothing found at: '%.*s'",
        w->number, verb_words[w->verb],
        (int)(s->name.len < RN_PATCH_SHOWN ? s->name.len : RN_PATCH_SHOWN),
        s->name.at);
}

static enum rn_code bad_place(const struct work *w, const struct spot *s)
{
    return rn_patch_refuse(
        w->err,
        "For Operation(%u): %s Operation: the array index '%.*s' is "
        "not one of the array or just behind it",
        w->number, verb_words[w->verb],
        (int)(s->name.len < 20 ? s->name.len : 20), s->name.at);
}

/* ---- operations ------------------------------------------------ */

static enum rn_code overwrite(struct work *w, const struct spot *s,
                              struct rn_view value)
{
    return edit(w, &(struct splice){ .from = begin_of(&w->json, s->value),
                                     .to = end_of(&w->json, s->value),
                                     .value = value });
}

static enum rn_code append(struct work *w, const struct spot *s,
                           struct rn_view value)
{
    size_t at = end_of(&w->json, s->parent) - 1;

    return edit(w, &(struct splice){ .from = at,
                                     .to = at,
                                     .comma_before =
                                         rn_json_count(&w->json, s->parent) > 0,
                                     .is_member = !s->is_array,
                                     .name = s->name,
                                     .value = value });
}

static enum rn_code insert(struct work *w, const struct spot *s,
                           struct rn_view value)
{
    size_t at = begin_of(&w->json, s->value);

    return edit(
        w, &(struct splice){
               .from = at, .to = at, .value = value, .comma_after = true });
}

/* add and set; they differ for an existing array element. */
static enum rn_code put(struct work *w, const struct rn_json_path *path,
                        struct rn_view value, bool inserts)
{
    struct spot s = find(w, path);

    if (s.parent == RN_JSON_NONE)
        return no_parent(w, &s);
    if (s.value != RN_JSON_NONE)
        return s.is_array && inserts ? insert(w, &s, value)
                                     : overwrite(w, &s, value);
    if (s.is_array && !s.is_behind)
        return bad_place(w, &s);
    return append(w, &s, value);
}

static enum rn_code replace(struct work *w, const struct rn_json_path *path,
                            struct rn_view value)
{
    struct spot s = find(w, path);

    return s.value == RN_JSON_NONE ? no_value(w, &s) : overwrite(w, &s, value);
}

/* Removes a member or an element with one comma: the one after it, or for the
 * last the one before. */
static enum rn_code cut(struct work *w, const struct spot *s)
{
    struct rn_json_walk walk = rn_json_walk_begin(&w->json, s->parent);
    struct splice cut = { 0 };
    size_t before = 0;

    while (rn_json_walk_next(&walk) && walk.value != s->value)
        before = end_of(&w->json, walk.value);
    cut.from = begin_of(&w->json, s->is_array ? walk.value : walk.name);
    cut.to = end_of(&w->json, s->value);
    if (rn_json_walk_next(&walk))
        cut.to = begin_of(&w->json, s->is_array ? walk.value : walk.name);
    else if (before)
        cut.from = before;
    return edit(w, &cut);
}

static enum rn_code remove_at(struct work *w, const struct rn_json_path *path)
{
    struct spot s = find(w, path);

    return s.value == RN_JSON_NONE ? no_value(w, &s) : cut(w, &s);
}

/* Integers stay integers unless they overflow. */
static enum rn_code add_numbers(struct work *w, struct rn_view a,
                                struct rn_view b, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    int64_t x, y, sum;
    double real = rn_number_double(a) + rn_number_double(b);

    if (!isfinite(real)) {
        return rn_patch_refuse(
            w->err,
            "For Operation(%u): Increment Operation makes a number "
            "that is too large",
            w->number);
    }
    if (rn_number_int64(a, &x) && rn_number_int64(b, &y) &&
        !__builtin_add_overflow(x, y, &sum))
        rn_json_out_int(&o, sum);
    else
        rn_json_out_double(&o, real);
    return rn_json_out_finish(&o);
}

static enum rn_code increment(struct work *w, const struct rn_json_path *path,
                              struct rn_view by)
{
    struct rn_buf sum = RN_BUF_INIT(64);
    struct spot s = find(w, path);
    enum rn_code rc;

    if (s.value == RN_JSON_NONE)
        return put(w, path, by, false);
    if (rn_json_kind(&w->json, s.value) != RN_JSON_NUMBER) {
        return rn_patch_refuse(
            w->err,
            "For Operation(%u): Increment Operation can only be "
            "performed on a number",
            w->number);
    }
    rc = add_numbers(w, rn_patch_value(&w->json, s.value), by, &sum);
    if (!rc)
        rc = overwrite(w, &s, rn_buf_view(&sum));
    rn_buf_release(&sum);
    return rc;
}

static enum rn_code move(struct work *w, const struct rn_patch_operation *op)
{
    struct spot s = find(w, &op->from);
    enum rn_code rc;

    if (s.value == RN_JSON_NONE)
        return no_value(w, &s);
    if (op->path.count == op->from.count &&
        rn_patch_path_begins(&op->path, &op->from))
        return RN_OK;
    rn_buf_clear(&w->moved);
    rc = rn_buf_add(&w->moved, rn_patch_value(&w->json, s.value));
    if (!rc)
        rc = cut(w, &s);
    return rc ? rc : put(w, &op->path, rn_buf_view(&w->moved), true);
}

static enum rn_code apply_one(struct work *w,
                              const struct rn_patch_operation *op)
{
    w->verb = op->verb;
    w->number++;
    switch (op->verb) {
    case RN_PATCH_REPLACE:
        return replace(w, &op->path, op->value);
    case RN_PATCH_REMOVE:
        return remove_at(w, &op->path);
    case RN_PATCH_INCR:
        return increment(w, &op->path, op->value);
    case RN_PATCH_MOVE:
        return move(w, op);
    default:
        return put(w, &op->path, op->value, op->verb == RN_PATCH_ADD);
    }
}

/* The system properties are together at the end (version.c). */
static enum rn_code begin(struct work *w, struct rn_view document)
{
    enum rn_code rc = rn_json_parse(&w->json, document, w->err);
    uint32_t rid =
        rc ? RN_JSON_NONE : rn_json_find(&w->json, 0, RN_LIT("_rid"));

    if (rc)
        return rc;
    rc = rn_buf_add(&w->text, document);
    if (!rc && rid != RN_JSON_NONE) {
        w->text.len = begin_of(&w->json, rid - 1); /* of its name */
        w->text.len -= w->text.at[w->text.len - 1] == ',';
        rc = rn_buf_add(&w->text, RN_LIT("}"));
    }
    return rc ? rc : rn_json_parse(&w->json, rn_buf_view(&w->text), w->err);
}

enum rn_code rn_patch_apply(const struct rn_patch *p, struct rn_view document,
                            int64_t now, struct rn_buf *out, struct rn_err *err)
{
    struct work w = {
        .text = RN_BUF_INIT(TEXT_MAX),
        .next = RN_BUF_INIT(TEXT_MAX),
        .moved = RN_BUF_INIT(TEXT_MAX),
        .err = err,
    };
    enum rn_code rc = check_condition(p, document, now, err);

    rn_json_init(&w.json, NULL);
    if (!rc)
        rc = begin(&w, document);
    for (uint32_t i = 0; !rc && i < p->count; i++)
        rc = apply_one(&w, &p->operations[i]);
    if (!rc)
        rc = rn_buf_add(out, rn_buf_view(&w.text));
    rn_json_release(&w.json);
    rn_buf_release(&w.text);
    rn_buf_release(&w.next);
    rn_buf_release(&w.moved);
    return rc;
}
