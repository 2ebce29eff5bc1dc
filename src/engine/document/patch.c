/* patch.c -- parses a patch; see patch.h. */
#include "engine/document/patch.h"

#include "engine/document/version.h"
#include "json/print.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

/* A value may be as deep as in a document of which it is a member: above it are
 * the patch, its operations and one of them. */
enum { DEPTH = 127 + 3 };

static const char *const verb_names[RN_PATCH_VERBS] = {
    "add", "set", "replace", "remove", "incr", "move",
};

enum rn_code rn_patch_refuse(struct rn_err *err, const char *fmt, ...)
{
    char words[240], quoted[2 * sizeof(words)], *to = quoted;
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    for (const char *at = words; *at; at++) { /* the text is quoted in JSON */
        if (*at == '"' || *at == '\\')
            *to++ = '\\';
        *to++ = *at;
    }
    *to = '\0';
    return rn_fail(err, RN_BAD_REQUEST,
                   "Message: {\"Errors\":[\"%s. Learn more: "
                   "https://aka.ms/cosmosdbpatchdocs\"]}",
                   quoted);
}

/* ---- paths ------------------------------------------------------ */

/* Unescapes a path segment in place. */
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

bool rn_patch_path_begins(const struct rn_json_path *path,
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
    if (rn_view_eq(path->names[0], RN_LIT("id")) ||
        rn_name_is_system(path->names[0]))
        return true;
    for (size_t i = 0; i < def->count; i++)
        if (rn_patch_path_begins(path, &def->paths[i]))
            return true;
    return false;
}

/* ---- operations ------------------------------------------------- */

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

    if (rn_json_kind(r->json, text) != RN_JSON_STRING) {
        return rn_patch_refuse(r->err,
                               "For Operation(%u): '%s' must be a string",
                               r->number, member);
    }
    rc = rn_json_string_get(r->json, text, r->arena, &view);
    if (!rc)
        rc = parse_path(view, r->arena, out);
    if (rc == RN_BAD_REQUEST) {
        return rn_patch_refuse(
            r->err,
            "For Operation(%u): '%s' is not a valid JSON pointer: "
            "'%.*s'",
            r->number, member,
            (int)(view.len < RN_PATCH_SHOWN ? view.len : RN_PATCH_SHOWN),
            view.at);
    }
    if (!rc && is_protected(out, r->def)) {
        return rn_patch_refuse(
            r->err,
            "For Operation(%u): '%s' names a property that cannot be "
            "patched: id, the partition key or a system property",
            r->number, member);
    }
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
    return rn_patch_refuse(
        r->err,
        "For Operation(%u): 'op' must be add, set, replace, remove, "
        "incr or move",
        r->number);
}

struct rn_view rn_patch_value(const struct rn_json *j, uint32_t value)
{
    struct rn_view text = rn_json_text(j, value);

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        return rn_view_of(text.at - 1, text.len + 2);
    return text;
}

/* Of a duplicate name the last value counts, as in a document: a member that is
 * missing on the tape must be missing in the text, too. */
static enum rn_code copy_value(struct reader *r, uint32_t value,
                               struct rn_view *out)
{
    struct rn_buf text = RN_BUF_INIT(RN_DOCUMENT_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);
    enum rn_code rc;

    *out = rn_patch_value(r->json, value);
    if (r->json->is_compact || rn_json_count(r->json, value) == 0)
        return RN_OK;
    rn_json_out_value(&o, r->json, value);
    rc = rn_json_out_finish(&o);
    if (!rc) {
        *out = rn_arena_copy(r->arena, rn_buf_view(&text));
        rc = out->at ? RN_OK : RN_NOMEM;
    }
    rn_buf_release(&text);
    return rc;
}

static enum rn_code read_value(struct reader *r, uint32_t node,
                               struct rn_patch_operation *op)
{
    uint32_t value = rn_json_find(r->json, node, RN_LIT("value"));
    enum rn_json_kind kind = rn_json_kind(r->json, value);

    if (kind == RN_JSON_UNDEFINED)
        return rn_patch_refuse(r->err, "For Operation(%u): 'value' is missing",
                               r->number);
    if (op->verb == RN_PATCH_INCR && kind != RN_JSON_NUMBER) {
        return rn_patch_refuse(
            r->err,
            "For Operation(%u): Increment Operation needs a number "
            "as its value",
            r->number);
    }
    return copy_value(r, value, &op->value);
}

static enum rn_code read_operation(struct reader *r, uint32_t node,
                                   struct rn_patch_operation *op)
{
    enum rn_code rc;

    if (rn_json_kind(r->json, node) != RN_JSON_OBJECT)
        return rn_patch_refuse(
            r->err, "For Operation(%u): it must be a JSON object", r->number);
    rc = read_verb(r, node, &op->verb);
    if (!rc)
        rc = read_path(r, node, "path", &op->path);
    if (rc || op->verb == RN_PATCH_REMOVE)
        return rc;
    if (op->verb != RN_PATCH_MOVE)
        return read_value(r, node, op);
    rc = read_path(r, node, "from", &op->from);
    if (!rc && op->path.count > op->from.count &&
        rn_patch_path_begins(&op->path, &op->from)) {
        rc = rn_patch_refuse(
            r->err,
            "For Operation(%u): Move Operation cannot move a value "
            "into itself",
            r->number);
    }
    return rc;
}

static enum rn_code read_operations(struct reader *r, uint32_t list,
                                    struct rn_patch *out)
{
    struct rn_json_walk w = rn_json_walk_begin(r->json, list);
    enum rn_code rc = RN_OK;

    if (rn_json_kind(r->json, list) != RN_JSON_ARRAY)
        return rn_patch_refuse(r->err, "A patch needs an array of operations");
    if (rn_json_count(r->json, list) == 0)
        return rn_patch_refuse(r->err, "A patch needs at least one operation");
    if (rn_json_count(r->json, list) > RN_PATCH_MAX) {
        return rn_patch_refuse(
            r->err, "The number of patch operations can't exceed '%d'",
            RN_PATCH_MAX);
    }
    while (!rc && rn_json_walk_next(&w)) {
        r->number = out->count + 1;
        rc = read_operation(r, w.value, &out->operations[out->count++]);
    }
    return rc;
}

/* ---- the condition ---------------------------------------------- */

static bool begins_with_from(struct rn_view text)
{
    while (text.len && strchr(" \t\r\n", text.at[0])) {
        text.at++;
        text.len--;
    }
    return text.len > 4 && strncasecmp(text.at, "from", 4) == 0 &&
           !isalnum((unsigned char)text.at[4]) && text.at[4] != '_';
}

/* The condition is the tail of a query; it holds if that query has a row. */
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
        return rn_patch_refuse(r->err,
                               "The condition of a patch must be a string");
    rc = rn_json_string_get(r->json, node, r->arena, &text);
    if (rc)
        return rc;
    if (!begins_with_from(text))
        return rn_patch_refuse(r->err,
                               "The condition of a patch must begin with FROM");
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
    struct rn_json_limits limits = { .depth = DEPTH,
                                     .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_json j;
    struct reader r = { .json = &j, .def = def, .arena = arena, .err = err };
    uint32_t list = 0;
    enum rn_code rc;

    *out = (struct rn_patch){ 0 };
    rn_json_init(&j, &limits);
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
