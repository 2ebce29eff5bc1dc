/* patch.c -- see patch.h.
 *
 * A document is edited as text: each operation parses what the one before it
 * left, finds the bytes it is about on the tape, and splices.  So what is not
 * touched stays byte for byte as it was.
 */
#include "engine/patch.h"

#include "cosmos/status.h"
#include "engine/version.h"
#include "json/number.h"
#include "json/print.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

enum {
    TEXT_MAX = 2 * RN_DOCUMENT_MAX, /* between two operations */
    CONDITION_STEPS = 2000000,
    CONDITION_BYTES = 16 << 20,
    SHOWN = 60, /* of a path, in words */
};

static const char *const verb_names[RN_PATCH_VERBS] = {
    "add", "set", "replace", "remove", "incr", "move",
};
static const char *const verb_words[RN_PATCH_VERBS] = {
    "Add", "Set", "Replace", "Remove", "Increment", "Move",
};

static enum rn_code refuse(struct rn_err *err, const char *fmt, ...)
    RN_PRINTF(2, 3);

static enum rn_code refuse(struct rn_err *err, const char *fmt, ...)
{
    char words[180];
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    return rn_fail(err, RN_BAD_REQUEST, "Message: {\"Errors\":[\"%s\"]}",
                   words);
}

/* ---- reading: paths ------------------------------------------------------ */

/* Unescapes a name of a path in place. */
static bool unescape(char *at, size_t *len)
{
    size_t out = 0;

    for (size_t i = 0; i < *len; i++) {
        char c = at[i];

        if (c == '~') {
            i++;
            if (i == *len || (at[i] != '0' && at[i] != '1'))
                return false;
            c = at[i] == '0' ? '~' : '/';
        }
        at[out++] = c;
    }
    *len = out;
    return true;
}

static enum rn_code parse_path(struct rn_view text, struct rn_arena *arena,
                               struct rn_json_path *out)
{
    struct rn_view *names;
    char *at, *end;
    uint32_t count = 0;

    if (text.len < 2 || text.at[0] != '/')
        return RN_BAD_REQUEST;
    at = rn_arena_alloc(arena, text.len);
    if (!at)
        return RN_NOMEM;
    memcpy(at, text.at, text.len);
    end = at + text.len;
    for (const char *c = at; c < end; c++)
        count += *c == '/';
    names = rn_arena_alloc(arena, count * sizeof(*names));
    if (!names)
        return RN_NOMEM;
    *out = (struct rn_json_path){ .names = names };
    while (at < end) {
        char *next = memchr(at + 1, '/', (size_t)(end - at - 1));
        size_t len;

        next = next ? next : end;
        len = (size_t)(next - at - 1);
        if (!unescape(at + 1, &len))
            return RN_BAD_REQUEST;
        names[out->count++] = rn_view_of(at + 1, len);
        at = next;
    }
    return RN_OK;
}

static bool starts_with(const struct rn_json_path *path,
                        const struct rn_json_path *prefix)
{
    if (path->count < prefix->count)
        return false;
    for (uint32_t i = 0; i < prefix->count; i++)
        if (!rn_view_eq(path->names[i], prefix->names[i]))
            return false;
    return true;
}

static bool is_protected(const struct rn_json_path *path,
                         const struct rn_pkdef *def)
{
    static const char *const names[] = { "id",    "_rid",         "_self",
                                         "_etag", "_attachments", "_ts",
                                         "_lsn" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (rn_view_eq(path->names[0], rn_view_text(names[i])))
            return true;
    for (size_t i = 0; i < def->count; i++)
        if (starts_with(path, &def->paths[i]))
            return true;
    return false;
}

/* ---- reading: operations ------------------------------------------------- */

struct reader {
    const struct rn_json *json;
    const struct rn_pkdef *def;
    struct rn_arena *arena;
    struct rn_err *err;
    uint32_t number; /* of the operation, from 1 */
};

static enum rn_code read_path(struct reader *r, uint32_t node,
                              const char *member, struct rn_json_path *out)
{
    uint32_t text = rn_json_find(r->json, node, rn_view_text(member));
    struct rn_view view;
    enum rn_code rc;

    if (rn_json_kind(r->json, text) != RN_JSON_STRING)
        return refuse(r->err, "For Operation(%u): '%s' must be a string",
                      r->number, member);
    rc = rn_json_string_get(r->json, text, r->arena, &view);
    if (!rc)
        rc = parse_path(view, r->arena, out);
    if (rc == RN_BAD_REQUEST)
        return refuse(r->err,
                      "For Operation(%u): '%s' is not a valid JSON pointer: "
                      "'%.*s'",
                      r->number, member,
                      (int)(view.len < SHOWN ? view.len : SHOWN), view.at);
    if (!rc && is_protected(out, r->def))
        return refuse(r->err,
                      "For Operation(%u): '%s' names a property that cannot be "
                      "patched: id, the partition key or a system property",
                      r->number, member);
    return rc;
}

static enum rn_code read_verb(struct reader *r, uint32_t node,
                              enum rn_patch_verb *out)
{
    uint32_t op = rn_json_find(r->json, node, RN_LIT("op"));

    for (unsigned v = 0; v < RN_PATCH_VERBS; v++) {
        if (rn_json_kind(r->json, op) == RN_JSON_STRING &&
            rn_json_string_is(r->json, op, rn_view_text(verb_names[v]))) {
            *out = (enum rn_patch_verb)v;
            return RN_OK;
        }
    }
    return refuse(r->err,
                  "For Operation(%u): 'op' must be add, set, replace, remove, "
                  "incr or move",
                  r->number);
}

/* The bytes of a value, a string's quotes included. */
static struct rn_view value_text(const struct rn_json *j, uint32_t value)
{
    struct rn_view text = rn_json_text(j, value);

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        return rn_view_of(text.at - 1, text.len + 2);
    return text;
}

static enum rn_code read_value(struct reader *r, uint32_t node,
                               struct rn_patch_operation *op)
{
    uint32_t value = rn_json_find(r->json, node, RN_LIT("value"));
    enum rn_json_kind kind = rn_json_kind(r->json, value);

    if (kind == RN_JSON_UNDEFINED)
        return refuse(r->err, "For Operation(%u): 'value' is missing",
                      r->number);
    if (op->verb == RN_PATCH_INCR && kind != RN_JSON_NUMBER)
        return refuse(r->err,
                      "For Operation(%u): Increment Operation needs a number "
                      "as its value",
                      r->number);
    op->value = value_text(r->json, value);
    return RN_OK;
}

static enum rn_code read_operation(struct reader *r, uint32_t node,
                                   struct rn_patch_operation *op)
{
    enum rn_code rc;

    if (rn_json_kind(r->json, node) != RN_JSON_OBJECT)
        return refuse(r->err, "For Operation(%u): it must be a JSON object",
                      r->number);
    rc = read_verb(r, node, &op->verb);
    if (!rc)
        rc = read_path(r, node, "path", &op->path);
    if (rc || op->verb == RN_PATCH_REMOVE)
        return rc;
    if (op->verb != RN_PATCH_MOVE)
        return read_value(r, node, op);
    rc = read_path(r, node, "from", &op->from);
    if (!rc && op->path.count > op->from.count &&
        starts_with(&op->path, &op->from))
        rc = refuse(r->err,
                    "For Operation(%u): Move Operation cannot move a value "
                    "into itself",
                    r->number);
    return rc;
}

static enum rn_code read_operations(struct reader *r, uint32_t list,
                                    struct rn_patch *out)
{
    struct rn_json_walk w = rn_json_walk_begin(r->json, list);
    enum rn_code rc = RN_OK;

    if (rn_json_kind(r->json, list) != RN_JSON_ARRAY)
        return refuse(r->err, "A patch needs an array of operations");
    if (rn_json_count(r->json, list) == 0)
        return refuse(r->err, "A patch needs at least one operation");
    if (rn_json_count(r->json, list) > RN_PATCH_MAX)
        return refuse(r->err,
                      "The number of patch operations can't exceed '%d'.",
                      RN_PATCH_MAX);
    while (!rc && rn_json_walk_next(&w)) {
        r->number = out->count + 1;
        rc = read_operation(r, w.value, &out->operations[out->count++]);
    }
    return rc;
}

/* ---- reading: the condition ---------------------------------------------- */

static bool begins_with_from(struct rn_view text)
{
    while (text.len && strchr(" \t\r\n", text.at[0])) {
        text.at++;
        text.len--;
    }
    return text.len > 4 && strncasecmp(text.at, "from", 4) == 0;
}

/* It is the rest of a query: whether that has a row. */
static enum rn_code read_condition(struct reader *r, uint32_t node,
                                   struct rn_patch *out)
{
    static const char head[] = "SELECT VALUE true ";
    struct rn_query_input in = { 0 };
    struct rn_faults faults;
    struct rn_view text;
    enum rn_code rc;
    char *whole;

    if (rn_json_kind(r->json, node) == RN_JSON_UNDEFINED ||
        rn_json_kind(r->json, node) == RN_JSON_NULL)
        return RN_OK;
    if (rn_json_kind(r->json, node) != RN_JSON_STRING)
        return refuse(r->err, "The condition of a patch must be a string");
    rc = rn_json_string_get(r->json, node, r->arena, &text);
    if (rc)
        return rc;
    if (!begins_with_from(text))
        return refuse(r->err, "The condition of a patch must begin with FROM");
    whole = rn_arena_alloc(r->arena, sizeof(head) - 1 + text.len);
    if (!whole)
        return RN_NOMEM;
    memcpy(whole, head, sizeof(head) - 1);
    memcpy(whole + sizeof(head) - 1, text.at, text.len);
    in.text = rn_view_of(whole, sizeof(head) - 1 + text.len);
    return rn_query_parse(&in, r->arena, &out->condition, &faults, r->err);
}

enum rn_code rn_patch_read(struct rn_view body, const struct rn_pkdef *def,
                           struct rn_arena *arena, struct rn_patch *out,
                           struct rn_err *err)
{
    struct rn_json j;
    struct reader r = { .json = &j, .def = def, .arena = arena, .err = err };
    uint32_t list = 0;
    enum rn_code rc;

    *out = (struct rn_patch){ 0 };
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, body, err);
    if (!rc && rn_json_kind(&j, 0) == RN_JSON_OBJECT) {
        list = rn_json_find(&j, 0, RN_LIT("operations"));
        rc = read_condition(&r, rn_json_find(&j, 0, RN_LIT("condition")), out);
    }
    if (!rc)
        rc = read_operations(&r, list, out);
    rn_json_release(&j);
    return rc;
}

/* ---- applying: the condition --------------------------------------------- */

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

/* ---- applying: texts ----------------------------------------------------- */

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
    return (size_t)(value_text(j, value).at - j->text.at);
}

static size_t end_of(const struct rn_json *j, uint32_t value)
{
    return begin_of(j, value) + value_text(j, value).len;
}

/* What stands instead of text[from..to). */
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

    if (rc == RN_TOO_LARGE)
        return rn_fail(w->err, rc,
                       "Message: {\"Errors\":[\"Request size is too "
                       "large\"]}");
    if (rc)
        return rc;
    w->text = w->next;
    w->next = old;
    return rn_json_parse(&w->json, rn_buf_view(&w->text), w->err);
}

/* ---- applying: places ---------------------------------------------------- */

struct spot {
    uint32_t parent; /* an object or an array; else NONE */
    bool is_array;
    bool is_behind; /* of an array, just behind its last */
    uint32_t value; /* NONE: nothing is there */
    struct rn_view name;
    struct rn_view lost; /* the first name that leads to no object or array */
};

/* The place a name means in an array of `count`; false if it is none.  "-" is
 * just behind the last. */
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
    return refuse(w->err,
                  "For Operation(%u): %s Operation can only create a child "
                  "object of an existing node(array or object) and cannot "
                  "create path recursively, no path found beyond: '%.*s'",
                  w->number, verb_words[w->verb],
                  (int)(s->lost.len < 20 ? s->lost.len : 20), s->lost.at);
}

static enum rn_code no_value(const struct work *w, const struct spot *s)
{
    return refuse(w->err,
                  "For Operation(%u): %s Operation can only be performed on "
                  "an existing path, nothing found at: '%.*s'",
                  w->number, verb_words[w->verb],
                  (int)(s->name.len < SHOWN ? s->name.len : SHOWN), s->name.at);
}

static enum rn_code bad_place(const struct work *w, const struct spot *s)
{
    return refuse(w->err,
                  "For Operation(%u): %s Operation: the array index '%.*s' is "
                  "not one of the array or just behind it",
                  w->number, verb_words[w->verb],
                  (int)(s->name.len < 20 ? s->name.len : 20), s->name.at);
}

/* ---- applying: operations ------------------------------------------------ */

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

/* Add and set, which differ upon an element that is there. */
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

/* Takes a member or an element out, and one comma with it: the one behind it,
 * or of the last the one before. */
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

/* Whole numbers stay whole as long as they fit. */
static enum rn_code add_numbers(struct work *w, struct rn_view a,
                                struct rn_view b, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    int64_t x, y, sum;
    double real = rn_number_double(a) + rn_number_double(b);

    if (!isfinite(real))
        return refuse(w->err,
                      "For Operation(%u): Increment Operation makes a number "
                      "that is too large",
                      w->number);
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
    if (rn_json_kind(&w->json, s.value) != RN_JSON_NUMBER)
        return refuse(w->err,
                      "For Operation(%u): Increment Operation can only be "
                      "performed on a number",
                      w->number);
    rc = add_numbers(w, value_text(&w->json, s.value), by, &sum);
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
    if (op->path.count == op->from.count && starts_with(&op->path, &op->from))
        return RN_OK;
    rn_buf_clear(&w->moved);
    rc = rn_buf_add(&w->moved, value_text(&w->json, s.value));
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

/* The system's properties stand together at the end (version.c). */
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
