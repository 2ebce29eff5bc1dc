/* like.c -- LIKE: % any run, _ one character, [abc] [a-f] [^abc] one of a set.
 *
 * Only the last % is ever returned to, so that a match costs at most the
 * length of the text times that of the pattern.
 */
#include "query/run.h"

#include "json/utf8.h"

struct matcher {
    struct rn_view text, pattern, escape;
};

static size_t char_len(struct rn_view v, size_t at)
{
    size_t n = rn_utf8_len(v.at + at, v.at + v.len);

    return n ? n : 1;
}

static bool is_escape(const struct matcher *m, size_t p)
{
    return m->escape.len > 0 && m->pattern.len - p > m->escape.len &&
           memcmp(m->pattern.at + p, m->escape.at, m->escape.len) == 0;
}

static bool same_char(struct rn_view a, size_t i, struct rn_view b, size_t j)
{
    size_t n = char_len(a, i);

    return n == char_len(b, j) && memcmp(a.at + i, b.at + j, n) == 0;
}

static int compare_char(struct rn_view a, size_t i, struct rn_view b, size_t j)
{
    return rn_view_compare(rn_view_of(a.at + i, char_len(a, i)),
                           rn_view_of(b.at + j, char_len(b, j)));
}

/* The bracket that closes the set opened at `p`, or 0. */
static size_t set_end(struct rn_view pattern, size_t p)
{
    for (size_t i = p + 2; i < pattern.len; i++) {
        if (pattern.at[i] == ']')
            return i;
    }
    return 0;
}

static bool in_set(const struct matcher *m, size_t t, size_t p, size_t end)
{
    bool is_negated = m->pattern.at[p + 1] == '^' && p + 2 < end;
    bool found = false;
    size_t i = p + 1 + is_negated;

    while (i < end) {
        size_t next = i + char_len(m->pattern, i);
        if (next + 1 < end && m->pattern.at[next] == '-') {
            found =
                found || (compare_char(m->text, t, m->pattern, i) >= 0 &&
                          compare_char(m->text, t, m->pattern, next + 1) <= 0);
            next = next + 1 + char_len(m->pattern, next + 1);
        } else {
            found = found || same_char(m->text, t, m->pattern, i);
        }
        i = next;
    }
    return found != is_negated;
}

/* Does the pattern's element at `*p` take the character at `t`?  Moves `*p`
 * behind the element. */
static bool takes(const struct matcher *m, size_t t, size_t *p)
{
    size_t at = *p, end;

    if (is_escape(m, at)) {
        at += m->escape.len;
        *p = at + char_len(m->pattern, at);
        return same_char(m->text, t, m->pattern, at);
    }
    if (m->pattern.at[at] == '_') {
        *p = at + 1;
        return true;
    }
    if (m->pattern.at[at] == '[' && (end = set_end(m->pattern, at)) > 0) {
        *p = end + 1;
        return in_set(m, t, at, end);
    }
    *p = at + char_len(m->pattern, at);
    return same_char(m->text, t, m->pattern, at);
}

enum rn_code rn_like(struct rn_run *r, struct rn_view text,
                     struct rn_view pattern, struct rn_view escape, bool *out)
{
    struct matcher m = { text, pattern, escape };
    size_t t = 0, p = 0, star_t = 0, star_p = 0;
    bool has_star = false;
    uint64_t work = 0;
    enum rn_code rc;

    while (t < text.len) {
        size_t next = p;
        if (++work % 1024 == 0 && (rc = rn_run_step(r, 16)))
            return rc;
        if (p < pattern.len && pattern.at[p] == '%' && !is_escape(&m, p)) {
            has_star = true;
            star_p = ++p;
            star_t = t;
        } else if (p < pattern.len && takes(&m, t, &next)) {
            p = next;
            t += char_len(text, t);
        } else if (has_star) {
            star_t += char_len(text, star_t);
            t = star_t;
            p = star_p;
        } else {
            break;
        }
    }
    while (p < pattern.len && pattern.at[p] == '%' && !is_escape(&m, p))
        p++;
    *out = t >= text.len && p >= pattern.len;
    return RN_OK;
}

bool rn_like_is_plain(struct rn_view pattern, struct rn_view escape,
                      struct rn_arena *a, struct rn_view *out)
{
    struct matcher m = { .pattern = pattern, .escape = escape };
    char *to = rn_arena_alloc(a, pattern.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < pattern.len && to; i++) {
        if (is_escape(&m, i))
            i += escape.len;
        else if (strchr("%_[", pattern.at[i]))
            return false;
        to[n++] = pattern.at[i];
    }
    *out = rn_view_of(to, n);
    return to != NULL;
}
