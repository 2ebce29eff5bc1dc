/* like.c -- LIKE: % any run, _ one character, [abc] [a-f] [^abc] one of a set.
 *
 * A pattern is a sequence of parts separated by %; each element of a part
 * matches one character.  The first part is anchored at the start of the text,
 * the last at its end, and each other is matched at the first position
 * after the previous one: if a match exists, this finds one.  Parts of plain
 * characters are searched by their bytes; the others cost at most the length of
 * the text times their own.
 */
#include "query/fn/like.h"

#include "query/fn/text.h"

#include "json/utf8.h"

enum { WORK_PER_STEP = 16 }; /* bytes of a pattern compared */

struct matcher {
    struct rn_run *run;
    struct rn_view text, pattern, escape;
    size_t last_bracket; /* of the last one that closes a set; 0: none */
    uint64_t work;
};

/* The elements of a pattern between two %. */
struct part {
    size_t at, end;
    size_t chars;
    bool is_plain; /* it matches exactly its own bytes */
};

static size_t char_len(struct rn_view v, size_t at)
{
    size_t n;

    if ((unsigned char)v.at[at] < 0x80)
        return 1;
    n = rn_utf8_len(v.at + at, v.at + v.len);
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

/* The position of the bracket that closes the set opened at `p`, or 0. */
static size_t set_end(const struct matcher *m, size_t p)
{
    for (size_t i = p + 2; i <= m->last_bracket; i++) {
        if (m->pattern.at[i] == ']')
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

/* Whether the pattern's element at `*p` matches the character at `t`.  Moves
 * `*p` past the element. */
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
    if (m->pattern.at[at] == '[' && (end = set_end(m, at)) > 0) {
        *p = end + 1;
        return in_set(m, t, at, end);
    }
    *p = at + char_len(m->pattern, at);
    return same_char(m->text, t, m->pattern, at);
}

/* ---- parts --------------------------------------------------------------- */

static bool is_star(const struct matcher *m, size_t p)
{
    return p < m->pattern.len && m->pattern.at[p] == '%' && !is_escape(m, p);
}

static void read_part(const struct matcher *m, size_t at, struct part *out)
{
    size_t p = at, end;

    *out = (struct part){ .at = at, .is_plain = true };
    for (; p < m->pattern.len && !is_star(m, p); out->chars++) {
        char c = m->pattern.at[p];
        if (is_escape(m, p)) {
            p += m->escape.len;
            p += char_len(m->pattern, p);
            out->is_plain = false;
        } else if (c == '[' && (end = set_end(m, p)) > 0) {
            p = end + 1;
            out->is_plain = false;
        } else {
            p += char_len(m->pattern, p);
            out->is_plain = out->is_plain && c != '_';
        }
    }
    out->end = p;
}

static enum rn_code spend(struct matcher *m, uint64_t work)
{
    uint64_t steps = (m->work + work) / WORK_PER_STEP;

    m->work = (m->work + work) % WORK_PER_STEP;
    return steps ? rn_run_step(m->run, steps) : RN_OK;
}

/* Whether the part matches at `*t`, which moves past the match. */
static enum rn_code match_at(struct matcher *m, const struct part *part,
                             size_t *t, bool *out)
{
    enum rn_code rc = RN_OK;

    *out = false;
    for (size_t p = part->at, next = p; p < part->end; p = next) {
        size_t len;
        if (*t >= m->text.len)
            return RN_OK;
        len = char_len(m->text, *t);
        if (!takes(m, *t, &next))
            return spend(m, next - p);
        *t += len;
        rc = spend(m, next - p);
        if (rc)
            return rc;
    }
    *out = true;
    return rc;
}

static enum rn_code find_part(struct matcher *m, const struct part *part,
                              size_t *t, bool *out)
{
    enum rn_code rc = RN_OK;

    *out = false;
    if (part->is_plain) {
        struct rn_view bytes =
            rn_view_of(m->pattern.at + part->at, part->end - part->at);
        int64_t found = rn_text_find(m->text, bytes, *t);
        rc = spend(m, (m->text.len - *t) / WORK_PER_STEP);
        *out = found >= 0;
        if (*out)
            *t = (size_t)found + bytes.len;
        return rc;
    }
    for (size_t from = *t; !rc && !*out && from < m->text.len;
         from += char_len(m->text, from)) {
        *t = from;
        rc = match_at(m, part, t, out);
    }
    return rc;
}

/* Moves back by as many characters as the part matches; false if that is before
 * `*t`. */
static bool step_back(const struct matcher *m, const struct part *part,
                      size_t *t)
{
    size_t at = m->text.len;

    for (size_t i = 0; i < part->chars; i++) {
        if (at <= *t)
            return false;
        do {
            at--;
        } while (at > *t && ((unsigned char)m->text.at[at] & 0xC0) == 0x80);
    }
    *t = at;
    return true;
}

enum rn_code rn_like(struct rn_run *r, struct rn_view text,
                     struct rn_view pattern, struct rn_view escape, bool *out)
{
    struct matcher m = { r, text, pattern, escape, 0, 0 };
    struct part part;
    size_t t = 0;
    enum rn_code rc;

    for (size_t i = pattern.len; i > 0 && !m.last_bracket; i--)
        m.last_bracket = pattern.at[i - 1] == ']' ? i - 1 : 0;
    read_part(&m, 0, &part);
    rc = match_at(&m, &part, &t, out);
    while (!rc && *out && is_star(&m, part.end)) {
        read_part(&m, part.end + 1, &part);
        if (is_star(&m, part.end)) {
            rc = part.chars ? find_part(&m, &part, &t, out) : RN_OK;
            continue;
        }
        *out = step_back(&m, &part, &t);
        if (*out)
            rc = match_at(&m, &part, &t, out);
    }
    *out = *out && t >= text.len;
    return rc ? rc : spend(&m, pattern.len / WORK_PER_STEP);
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
