/* target.c -- see target.h. */
#include "http/target.h"

#include "base/hex.h"

/* Takes the text before the next `stop`, or all the rest. */
static struct rn_view piece(struct rn_view *rest, char stop)
{
    const char *at = rest->len ? memchr(rest->at, stop, rest->len) : NULL;
    struct rn_view out = *rest;

    if (!at) {
        rest->at += rest->len;
        rest->len = 0;
        return out;
    }
    out.len = (size_t)(at - rest->at);
    rest->at = at + 1;
    rest->len -= out.len + 1;
    return out;
}

/* Decodes to *room and advances it. */
static enum rn_code decode(struct rn_view in, char **room, struct rn_view *out,
                           struct rn_err *err)
{
    ptrdiff_t n = rn_percent_decode(in, *room);

    if (n < 0)
        return rn_fail(err, RN_BAD_REQUEST, "'%.*s' has a bad escape",
                       RN_FMT(in));
    *out = rn_view_of(*room, (size_t)n);
    *room += n;
    return RN_OK;
}

static size_t count(struct rn_view v, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < v.len; i++)
        n += v.at[i] == c;
    return n;
}

static enum rn_code split_path(struct rn_http_target *t, struct rn_arena *arena,
                               struct rn_err *err)
{
    /* One allocation: the views, then the bytes they show.  Each segment has a
     * slash of its own, except possibly the first. */
    size_t views = (count(t->path, '/') + 1) * sizeof(struct rn_view);
    struct rn_view rest = t->path, *segments;
    char *room;

    segments = rn_arena_alloc(arena, views + t->path.len);
    if (!segments)
        return rn_fail(err, RN_NOMEM, "no memory for the path");
    room = (char *)segments + views;
    t->segments = segments;
    while (rest.len > 0) {
        struct rn_view raw = piece(&rest, '/');
        enum rn_code rc;

        if (raw.len == 0)
            continue;
        rc = decode(raw, &room, &segments[t->segment_count], err);
        if (rc)
            return rc;
        t->segment_count++;
    }
    return RN_OK;
}

static enum rn_code add_param(struct rn_http_target *t,
                              struct rn_http_param *params, struct rn_view raw,
                              char **room, struct rn_err *err)
{
    struct rn_http_param *p = &params[t->param_count];
    struct rn_view name = piece(&raw, '=');
    enum rn_code rc;

    if (t->param_count == RN_HTTP_PARAMS_MAX)
        return rn_fail(err, RN_BAD_REQUEST, "more than %d parameters",
                       RN_HTTP_PARAMS_MAX);
    rc = decode(name, room, &p->name, err);
    if (!rc)
        rc = decode(raw, room, &p->value, err);
    if (rc)
        return rc;
    if (rn_http_target_param(t, p->name).at)
        return rn_fail(err, RN_BAD_REQUEST, "parameter '%.*s' is given twice",
                       RN_FMT(p->name));
    t->param_count++;
    return RN_OK;
}

static enum rn_code split_query(struct rn_http_target *t,
                                struct rn_arena *arena, struct rn_err *err)
{
    const size_t views = RN_HTTP_PARAMS_MAX * sizeof(struct rn_http_param);
    struct rn_http_param *params;
    struct rn_view rest = t->query;
    char *room;

    if (rest.len == 0)
        return RN_OK;
    params = rn_arena_alloc(arena, views + rest.len);
    if (!params)
        return rn_fail(err, RN_NOMEM, "no memory for the parameters");
    room = (char *)params + views;
    t->params = params;
    while (rest.len > 0) {
        struct rn_view raw = piece(&rest, '&');
        enum rn_code rc = RN_OK;

        if (raw.len > 0)
            rc = add_param(t, params, raw, &room, err);
        if (rc)
            return rc;
    }
    return RN_OK;
}

enum rn_code rn_http_target_parse(struct rn_view target,
                                  enum rn_http_question question,
                                  struct rn_arena *arena,
                                  struct rn_http_target *out,
                                  struct rn_err *err)
{
    enum rn_code rc;

    *out = (struct rn_http_target){ .path = target };
    if (question == RN_HTTP_QUESTION_SPLITS) {
        out->query = target;
        out->path = piece(&out->query, '?');
    }
    rc = split_path(out, arena, err);
    return rc ? rc : split_query(out, arena, err);
}

struct rn_view rn_http_target_param(const struct rn_http_target *t,
                                    struct rn_view name)
{
    for (size_t i = 0; i < t->param_count; i++) {
        if (rn_view_eq(t->params[i].name, name))
            return t->params[i].value;
    }
    return (struct rn_view){ 0 };
}
