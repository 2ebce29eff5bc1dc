/* path.c -- see path.h. */
#include "json/path.h"
#include "json/utf8.h"

enum { TEXT_MAX = 64 << 10 };

struct parser {
    struct rn_view text;
    size_t at;
    char *out; /* position of the next name; never longer than the text */
    struct rn_err *err;
};

static enum rn_code refuse(const struct parser *p, const char *why)
{
    return rn_fail(p->err, RN_BAD_REQUEST, "path '%.*s', byte %zu: %s",
                   p->text.len > 120 ? 120 : (int)p->text.len, p->text.at,
                   p->at + 1, why);
}

static bool is_bare(char c)
{
    return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'\\[]*?", c);
}

static enum rn_code take_bare(struct parser *p)
{
    for (; p->at < p->text.len && p->text.at[p->at] != '/'; p->at++) {
        char c = p->text.at[p->at];
        if (!is_bare(c))
            return refuse(p, "only a name in quotes may hold this");
        *p->out++ = c;
    }
    return RN_OK;
}

static enum rn_code take_quoted(struct parser *p, char quote)
{
    for (p->at++; p->at < p->text.len; p->at++) {
        char c = p->text.at[p->at];
        if (c == quote) {
            p->at++;
            return RN_OK;
        }
        if (c == '\\') {
            if (++p->at < p->text.len)
                c = p->text.at[p->at];
            if (p->at == p->text.len || !strchr("\"'\\", c) || c == '\0')
                return refuse(p, "expected a quote or backslash after '\\'");
        }
        *p->out++ = c;
    }
    return refuse(p, "expected a closing quote");
}

/* `p->at` is at the slash before the name. */
static enum rn_code take_name(struct parser *p, struct rn_view *name)
{
    const char *from = p->out;
    enum rn_code rc;
    char first;

    if (p->text.at[p->at] != '/')
        return refuse(p, "expected '/'");
    if (++p->at == p->text.len || p->text.at[p->at] == '/')
        return refuse(p, "expected a name");
    first = p->text.at[p->at];
    if (first == '"' || first == '\'')
        rc = take_quoted(p, first);
    else
        rc = take_bare(p);
    *name = rn_view_of(from, (size_t)(p->out - from));
    return rc;
}

static enum rn_code check_utf8(struct parser *p)
{
    const char *end = p->text.at + p->text.len;

    while (p->at < p->text.len) {
        size_t len = rn_utf8_len(p->text.at + p->at, end);
        if (len == 0)
            return refuse(p, "not UTF-8");
        p->at += len;
    }
    p->at = 0;
    return RN_OK;
}

/* A name takes at least a slash and one byte. */
static enum rn_code reserve(struct rn_view text, struct rn_arena *a,
                            struct rn_view **names, char **bytes)
{
    size_t size = (text.len / 2 + 1) * sizeof(**names);

    if (size + text.len > a->ceiling - a->used)
        return RN_TOO_LARGE;
    *names = rn_arena_alloc(a, size);
    *bytes = rn_arena_alloc(a, text.len);
    return *names && *bytes ? RN_OK : RN_NOMEM;
}

enum rn_code rn_json_path_parse(struct rn_view text, struct rn_arena *a,
                                struct rn_json_path *out, struct rn_err *err)
{
    struct parser p = { .text = text, .err = err };
    struct rn_view *names;
    uint32_t count = 0;
    enum rn_code rc;

    if (text.len == 0)
        return rn_fail(err, RN_BAD_REQUEST, "a path may not be empty");
    if (text.len > TEXT_MAX)
        return rn_fail(err, RN_TOO_LARGE, "a path of %zu bytes", text.len);
    rc = reserve(text, a, &names, &p.out);
    if (rc)
        return rn_fail(err, rc, "no room for a path of %zu bytes", text.len);
    rc = check_utf8(&p);
    while (!rc && p.at < text.len)
        rc = take_name(&p, &names[count++]);
    if (rc)
        return rc;
    *out = (struct rn_json_path){ .names = names, .count = count };
    return RN_OK;
}

uint32_t rn_json_path_find(const struct rn_json_path *path,
                           const struct rn_json *j, uint32_t from)
{
    for (uint32_t i = 0; i < path->count && from != RN_JSON_NONE; i++)
        from = rn_json_find(j, from, path->names[i]);
    return from;
}

bool rn_json_path_eq(const struct rn_json_path *a, const struct rn_json_path *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; same && i < a->count; i++)
        same = rn_view_eq(a->names[i], b->names[i]);
    return same;
}

/* ---- printing ------------------------------------------------------------ */

static bool is_plain(struct rn_view name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
            (c < '0' || c > '9') && c != '_')
            return false;
    }
    return name.len > 0;
}

static enum rn_code print_quoted(struct rn_view name, struct rn_buf *out)
{
    enum rn_code rc = rn_buf_add(out, RN_LIT("\""));

    for (size_t i = 0; i < name.len && !rc; i++) {
        if (name.at[i] == '"' || name.at[i] == '\\')
            rc = rn_buf_add(out, RN_LIT("\\"));
        if (!rc)
            rc = rn_buf_add(out, rn_view_of(&name.at[i], 1));
    }
    return rc ? rc : rn_buf_add(out, RN_LIT("\""));
}

enum rn_code rn_json_path_print(const struct rn_json_path *path,
                                struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < path->count && !rc; i++) {
        rc = rn_buf_add(out, RN_LIT("/"));
        if (!rc)
            rc = is_plain(path->names[i]) ? rn_buf_add(out, path->names[i])
                                          : print_quoted(path->names[i], out);
    }
    return rc;
}
