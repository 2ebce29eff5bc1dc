/* auth_unknown_path.c -- the signature payload of a path that names no
 * resource.
 *
 * A client learns what is wrong with a path only after it has proved that it
 * holds a key, so even such a path must be signed.  The payload is derived from
 * the path alone, in the ways in which clients and samples split paths:
 *
 *   /foo                 foo, and no link            an odd count of segments
 *   /dbs/a\b             dbs, and dbs/a\b            an even one
 *   /dbs/d/colls/a/b     colls, and dbs/d/colls/a/b  what the client meant
 *   /dbs/d/operations/x  dbs, and dbs/d              the operation's target
 *
 * each decoded, whole, or as it was sent; with the query string or without it.
 * A path by rids is signed like any path by rids, by the last rid alone in
 * lower case:
 *
 *   /dbs/{rid}/colls/{rid}/docs/{rid}/attachments   attachments, and a rid
 *
 * A valid signature gains only the reason why the path is wrong.
 *
 * Clients that look for single replicas sign the resource that they look for:
 *
 *   /addresses/?$resolveFor=dbs%2FsbNTAA%3D%3D%2Fcolls%2FsbNTAL0kkgA%3D%2Fdocs
 */
#include "rest/auth_unknown_path.h"

#include "rest/context.h"

#include "base/hex.h"

enum {
    BY_KIND = 1 << 0,
    AS_SENT = 1 << 1,
    UNCUT = 1 << 2,
    BY_RID = 1 << 3, /* not combined with the others */
    SEGMENTS_MAX = 8
};

/* Takes the next segment that is not empty; false if there is none. */
static bool next_segment(struct rn_view *rest, struct rn_view *out)
{
    while (rest->len > 0) {
        const char *slash = memchr(rest->at, '/', rest->len);
        size_t len = slash ? (size_t)(slash - rest->at) : rest->len;

        *out = rn_view_of(rest->at, len);
        len += slash != NULL;
        *rest = rn_view_of(rest->at + len, rest->len - len);
        if (out->len > 0)
            return true;
    }
    return false;
}

/* Decodes percent escapes.  Malformed escapes stay as they are. */
static struct rn_view decode(struct rn_view text, struct rn_arena *arena)
{
    char *out = rn_arena_alloc(arena, text.len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        int high = -1, low = -1;

        if (text.at[i] == '%' && i + 2 < text.len) {
            high = rn_hex_digit(text.at[i + 1]);
            low = rn_hex_digit(text.at[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            out[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            out[n++] = text.at[i];
        }
    }
    return rn_view_of(out, n);
}

/* The path in one of its forms.  RN_NOT_FOUND if it equals another form. */
static enum rn_code choose(const struct rn_context *x, unsigned form,
                           struct rn_view *out)
{
    struct rn_view path = x->call->req->target;
    const char *question = memchr(path.at, '?', path.len);

    if ((form & UNCUT && !question) ||
        (form & AS_SENT && !memchr(path.at, '%', path.len)))
        return RN_NOT_FOUND;
    if (question && !(form & UNCUT))
        path.len = (size_t)(question - path.at);
    *out = form & AS_SENT ? path : decode(path, &x->call->arena);
    return out->at ? RN_OK : RN_NOMEM;
}

/* Positions in a printed path: where its last two segments begin, and where the
 * last word that names a resource kind is. */
struct marks {
    size_t count, last, before, kind, kind_len;
    bool is_cut; /* before an operation */
};

static enum rn_code print_path(struct rn_view path, bool by_kind,
                               struct rn_buf *out, struct marks *m)
{
    struct rn_view segment;
    enum rn_code rc = RN_OK;

    *m = (struct marks){ 0 };
    while (!rc && next_segment(&path, &segment)) {
        bool is_word = m->count % 2 == 0;

        m->is_cut = by_kind && is_word && m->count > 0 &&
                    rn_view_eq(segment, RN_LIT("operations"));
        if (m->is_cut)
            break;
        m->count++;
        if (out->len > 0)
            rc = rn_buf_add(out, RN_LIT("/"));
        m->before = m->last;
        m->last = out->len;
        if (!rc)
            rc = rn_buf_add(out, segment);
        if (is_word && rn_kind_find(segment) != RN_KIND_ACCOUNT) {
            m->kind = m->last;
            m->kind_len = segment.len;
        }
    }
    return rc;
}

/* A path by rids begins with a database's rid.  The later segments are not
 * checked: some kinds have no rids here. */
static bool is_by_rids(struct rn_view path)
{
    struct rn_view word, id;
    struct rn_rid rid;

    return next_segment(&path, &word) &&
           rn_kind_find(word) == RN_KIND_DATABASE && next_segment(&path, &id) &&
           rn_rid_parse(id, &rid) && rid.kind == RN_KIND_DATABASE;
}

/* Reduces a link to its last segment, in lower case. */
static void keep_last(struct rn_buf *link, struct rn_view *of)
{
    size_t from = of->len;

    while (from > 0 && of->at[from - 1] != '/')
        from--;
    for (size_t i = from; i < of->len; i++) {
        if (link->at[i] >= 'A' && link->at[i] <= 'Z')
            link->at[i] = (char)(link->at[i] | 0x20);
    }
    *of = rn_view_of(of->at + from, of->len - from);
}

enum rn_code rn_auth_unknown_path_print(const struct rn_context *x,
                                        unsigned form, struct rn_buf *link,
                                        struct rn_sign_parts *parts)
{
    struct rn_view path;
    struct marks m;
    enum rn_code rc = choose(x, form, &path);

    if (!rc)
        rc = print_path(path, form & BY_KIND, link, &m);
    if (rc)
        return rc;
    parts->link = rn_buf_view(link);
    if (form & BY_KIND && !m.is_cut) {
        if (!m.kind_len)
            return RN_NOT_FOUND;
        parts->word = rn_view_of(link->at + m.kind, m.kind_len);
    } else if (m.count % 2) {
        parts->word = rn_view_of(link->at + m.last, link->len - m.last);
        parts->link.len = m.last ? m.last - 1 : 0;
    } else if (m.count) {
        parts->word = rn_view_of(link->at + m.before, m.last - 1 - m.before);
    }
    if (form == BY_RID) {
        if (!is_by_rids(path))
            return RN_NOT_FOUND;
        keep_last(link, &parts->link);
    }
    return RN_OK;
}

bool rn_auth_unknown_path_resolve(struct rn_context *x)
{
    struct rn_view segments[SEGMENTS_MAX], rest;
    struct rn_http_target t;
    size_t count = 0;

    if (rn_http_target_parse(x->call->req->target, RN_HTTP_QUESTION_SPLITS,
                             &x->call->arena, &t, NULL))
        return false;
    rest = rn_http_target_param(&t, RN_LIT("$resolveFor"));
    while (count < SEGMENTS_MAX && next_segment(&rest, &segments[count]))
        count++;
    return count > 0 && rest.len == 0 &&
           !rn_link_parse(segments, count, &x->link, NULL);
}
