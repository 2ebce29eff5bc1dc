/* evil.c -- see evil.h. */
#include "lib/evil.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 1 << 20, CASE_MAX = 16 << 20 };

static bool cut(struct rn_view *rest, char stop, struct rn_view *out)
{
    const char *at = rest->len ? memchr(rest->at, stop, rest->len) : NULL;

    *out = *rest;
    if (at)
        out->len = (size_t)(at - rest->at);
    rest->at += out->len + (at ? 1 : 0);
    rest->len -= out->len + (at ? 1 : 0);
    return at != NULL;
}

static struct rn_view trim(struct rn_view v)
{
    while (v.len > 0 && (v.at[0] == ' ' || v.at[0] == '\t')) {
        v.at++;
        v.len--;
    }
    while (v.len > 0 && (v.at[v.len - 1] == ' ' || v.at[v.len - 1] == '\t'))
        v.len--;
    return v;
}

static bool read_number(struct rn_view *in, size_t *out)
{
    size_t n = 0, i = 0;

    for (; i < in->len && in->at[i] >= '0' && in->at[i] <= '9'; i++)
        n = n * 10 + (size_t)(in->at[i] - '0');
    in->at += i;
    in->len -= i;
    *out = n;
    return i > 0 && i < 10;
}

/* ---- escapes ------------------------------------------------------------- */

static bool expand(struct rn_view in, struct rn_buf *out);

static bool add(struct rn_buf *out, char byte)
{
    return rn_buf_add(out, rn_view_of(&byte, 1)) == RN_OK;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool expand_hex(struct rn_view *in, struct rn_buf *out)
{
    int byte;

    if (in->len < 2 || hex(in->at[0]) < 0 || hex(in->at[1]) < 0)
        return false;
    byte = hex(in->at[0]) << 4 | hex(in->at[1]);
    in->at += 2;
    in->len -= 2;
    return add(out, (char)byte);
}

/* "N*text)" */
static bool expand_repeat(struct rn_view *in, struct rn_buf *out)
{
    struct rn_view text;
    size_t times, from = out->len, len;

    if (!read_number(in, &times) || times == 0 || in->len == 0 ||
        in->at[0] != '*')
        return false;
    in->at++;
    in->len--;
    if (!cut(in, ')', &text) || !expand(text, out))
        return false;
    len = out->len - from;
    if (rn_buf_reserve(out, len * (times - 1)) != RN_OK)
        return false;
    for (size_t i = 1; i < times; i++) {
        memcpy(out->at + out->len, out->at + from, len);
        out->len += len;
    }
    return true;
}

static bool expand_escape(struct rn_view *in, struct rn_buf *out)
{
    char kind;

    if (in->len == 0)
        return false;
    kind = in->at[0];
    in->at++;
    in->len--;
    switch (kind) {
    case 'r':
        return add(out, '\r');
    case 'n':
        return add(out, '\n');
    case 't':
        return add(out, '\t');
    case 's':
        return add(out, ' ');
    case '\\':
        return add(out, '\\');
    case 'x':
        return expand_hex(in, out);
    case '(':
        return expand_repeat(in, out);
    default:
        return false;
    }
}

static bool expand(struct rn_view in, struct rn_buf *out)
{
    while (in.len > 0) {
        char byte = in.at[0];

        in.at++;
        in.len--;
        if (byte == '\\' ? !expand_escape(&in, out) : !add(out, byte))
            return false;
    }
    return true;
}

/* ---- outcomes ------------------------------------------------------------ */

static bool read_status(struct rn_view *word, struct evil_answer *a)
{
    if (word->len < 3 || word->at[0] < '1' || word->at[0] > '5')
        return false;
    a->low = (word->at[0] - '0') * 100;
    a->high = a->low + 99;
    if (memcmp(word->at + 1, "xx", 2) != 0) {
        struct rn_view number = rn_view_of(word->at, 3);
        size_t n;
        if (!read_number(&number, &n) || number.len > 0)
            return false;
        a->low = a->high = (int)n;
    }
    word->at += 3;
    word->len -= 3;
    return true;
}

static bool read_pass(struct rn_view *word, struct evil_answer *a)
{
    size_t n;

    word->at += 4;
    word->len -= 4;
    if (word->len == 0 || word->at[0] != '/')
        return true;
    word->at++;
    word->len--;
    if (!read_number(word, &n))
        return false;
    a->body_bytes = (int64_t)n;
    return true;
}

static bool read_answer(struct rn_view word, struct evil_answer *a)
{
    *a = (struct evil_answer){ .body_bytes = -1, .times = 1 };
    if (rn_view_eq(word, RN_LIT("goaway"))) {
        a->low = a->high = EVIL_GOAWAY;
        return true;
    }
    if (rn_view_starts(word, RN_LIT("pass"))) {
        if (!read_pass(&word, a))
            return false;
    } else if (!read_status(&word, a)) {
        return false;
    }
    if (word.len == 0)
        return true;
    if (word.at[0] != '*')
        return false;
    word.at++;
    word.len--;
    return read_number(&word, &a->times) && word.len == 0;
}

static bool read_end(struct rn_view word, enum evil_end *end)
{
    static const char *const words[] = {
        [EVIL_OPEN] = "open",
        [EVIL_CLOSE] = "close",
        [EVIL_WAIT] = "wait",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (rn_view_eq(word, rn_view_text(words[i]))) {
            *end = (enum evil_end)i;
            return true;
        }
    }
    return false;
}

/* "name | answer ... end" */
static bool read_title(struct rn_view line, struct evil_case *c)
{
    struct rn_view name, word;

    if (!cut(&line, '|', &name))
        return false;
    name = trim(name);
    if (name.len == 0 || name.len >= sizeof(c->name))
        return false;
    memcpy(c->name, name.at, name.len);
    c->name[name.len] = '\0';
    c->answer_count = 0;
    line = trim(line);
    while (cut(&line, ' ', &word)) {
        if (word.len == 0)
            continue;
        if (c->answer_count == EVIL_ANSWERS_MAX ||
            !read_answer(word, &c->answers[c->answer_count++]))
            return false;
    }
    return read_end(word, &c->end);
}

/* ---- files --------------------------------------------------------------- */

static enum rn_code read_file(const char *path, struct rn_buf *out,
                              struct rn_err *err)
{
    FILE *file = fopen(path, "rb");
    enum rn_code rc;
    size_t n;

    if (!file)
        return rn_fail_errno(err, errno, "opening %s", path);
    rc = rn_buf_reserve(out, FILE_MAX);
    if (rc)
        goto out;
    n = fread(out->at, 1, FILE_MAX, file);
    out->len = n;
    if (n == FILE_MAX || ferror(file))
        rc = rn_fail(err, RN_TOO_LARGE, "%s is too long", path);
out:
    fclose(file);
    return rc;
}

static enum rn_code end_case(struct evil_case *c, struct rn_buf *bytes,
                             evil_case_fn *each, void *context,
                             struct rn_err *err)
{
    if (c->name[0] == '\0')
        return RN_OK;
    if (bytes->len == 0)
        return rn_fail(err, RN_CORRUPT, "%s:%d: no bytes", c->file, c->line);
    c->bytes = rn_buf_view(bytes);
    each(context, c);
    rn_buf_clear(bytes);
    return RN_OK;
}

enum rn_code evil_each(const char *path, evil_case_fn *each, void *context,
                       struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX + 1);
    struct rn_buf bytes = RN_BUF_INIT(CASE_MAX);
    struct evil_case c = { .file = path };
    struct rn_view rest, line;
    enum rn_code rc = read_file(path, &text, err);

    rest = rn_buf_view(&text);
    for (int number = 1; !rc && rest.len > 0; number++) {
        bool ok = true;

        cut(&rest, '\n', &line);
        line = trim(line);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (line.at[0] == '@') {
            rc = end_case(&c, &bytes, each, context, err);
            c.line = number;
            ok = read_title(rn_view_of(line.at + 1, line.len - 1), &c);
        } else {
            ok = c.name[0] != '\0' && expand(line, &bytes);
        }
        if (!rc && !ok)
            rc = rn_fail(err, RN_CORRUPT, "%s:%d: cannot read '%.60s'", path,
                         number, line.len ? line.at : "");
    }
    if (!rc)
        rc = end_case(&c, &bytes, each, context, err);
    rn_buf_release(&bytes);
    rn_buf_release(&text);
    return rc;
}
