/* log.c -- see log.h.
 *
 * A line is built on the stack and is never longer than it: everything goes
 * through put(), which adds all or nothing, and room for the mark of a cut
 * line and the line's end is kept back from it.
 */
#include "base/log.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TAIL_MAX = 64, /* ,"more":18446744073709551615,"truncated":true}\n */
    BODY_MAX = RN_LOG_LINE_MAX - TAIL_MAX,
};

struct rn_log {
    struct rn_env *env;
    int fd;
    enum rn_log_form form;
    enum rn_log_level level;
    pthread_mutex_t lock; /* writing; lines over PIPE_BUF would mix */
};

struct line {
    enum rn_log_form form;
    size_t len;
    bool cut;
    char at[RN_LOG_LINE_MAX];
};

static const char *const level_names[] = { "error", "warn", "info", "debug" };

/* ---- building ------------------------------------------------------------ */

/* Once something did not fit nothing else does, or the line would have holes
 * that nobody can see. */
static bool put(struct line *l, struct rn_view v)
{
    if (l->cut || v.len > BODY_MAX - l->len) {
        l->cut = true;
        return false;
    }
    memcpy(l->at + l->len, v.at, v.len);
    l->len += v.len;
    return true;
}

static bool put_text(struct line *l, const char *text)
{
    return put(l, rn_view_text(text));
}

/* Into the room kept back. */
static void put_tail(struct line *l, const char *text)
{
    size_t len = strlen(text);

    assert(len <= sizeof(l->at) - l->len);
    memcpy(l->at + l->len, text, len);
    l->len += len;
}

/* ---- strings ------------------------------------------------------------- */

/* The length of the UTF-8 character at the front, 0 if there is none.  RFC
 * 3629: no surrogates, nothing above 10FFFF, no longer form than needed. */
static size_t utf8_len(struct rn_view v, uint32_t *point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char first = (unsigned char)v.at[0];
    size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t p = len == 1 ? first : first & (0x7fu >> len);

    if ((first >= 0x80 && first < 0xc0) || first >= 0xf8 || len > v.len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        unsigned char next = (unsigned char)v.at[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        p = p << 6 | (next & 0x3f);
    }
    if (p < least[len] || (p >= 0xd800 && p < 0xe000) || p > 0x10ffff)
        return 0;
    *point = p;
    return len;
}

/* What stands in a line for a character that must not; empty if it may.  C1
 * controls (80 to 9f) count: some terminals obey them. */
static void spell(uint32_t point, char out[8])
{
    const char *letter = point == '\n'   ? "n"
                         : point == '\r' ? "r"
                         : point == '\t' ? "t"
                         : point == '"'  ? "\""
                         : point == '\\' ? "\\"
                                         : NULL;

    out[0] = '\0';
    if (letter)
        snprintf(out, 8, "\\%s", letter);
    else if (point < 0x20 || (point >= 0x7f && point < 0xa0))
        snprintf(out, 8, "\\u%04x", (unsigned)point);
}

/* As much of `v` as fits, so that it can do no harm.  A byte that is no UTF-8
 * becomes \xHH; JSON has no such escape, so there the backslash is escaped. */
static void put_safe(struct line *l, struct rn_view v)
{
    bool fits = true;

    while (v.len > 0 && fits) {
        uint32_t point = 0;
        size_t len = utf8_len(v, &point);
        char text[8];
        if (len == 0) {
            snprintf(text, sizeof(text), "%s\\x%02x",
                     l->form == RN_LOG_JSON ? "\\" : "",
                     (unsigned)(unsigned char)v.at[0]);
        } else {
            spell(point, text);
        }
        fits = text[0] ? put_text(l, text) : put(l, rn_view_of(v.at, len));
        len += len == 0;
        v.at += len;
        v.len -= len;
    }
}

/* In text, a value that is one plain word needs no quotes. */
static bool is_word(struct rn_view v)
{
    for (size_t i = 0; i < v.len; i++) {
        unsigned char c = (unsigned char)v.at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return v.len > 0;
}

/* ---- fields -------------------------------------------------------------- */

/* The shortest spelling that reads back the same. */
static void print_f64(double n, enum rn_log_form form, char out[32])
{
    if (!isfinite(n)) {
        snprintf(out, 32, form == RN_LOG_JSON ? "null" : "%f", n);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, n);
        if (strtod(out, NULL) == n)
            return;
    }
}

static void print_number(const struct rn_field *f, enum rn_log_form form,
                         char out[32])
{
    switch (f->type) {
    case RN_FIELD_I64:
        snprintf(out, 32, "%" PRId64, f->i64);
        break;
    case RN_FIELD_U64:
        snprintf(out, 32, "%" PRIu64, f->u64);
        break;
    case RN_FIELD_F64:
        print_f64(f->f64, form, out);
        break;
    case RN_FIELD_BOOL:
        snprintf(out, 32, "%s", f->flag ? "true" : "false");
        break;
    case RN_FIELD_STR:
        out[0] = '\0'; /* put_field saw to it */
        break;
    }
}

static bool put_key(struct line *l, const char *key)
{
    if (l->form == RN_LOG_JSON)
        return put_text(l, ",\"") && put_text(l, key) && put_text(l, "\":");
    return put_text(l, " ") && put_text(l, key) && put_text(l, "=");
}

static void put_field(struct line *l, const struct rn_field *f)
{
    bool is_str = f->type == RN_FIELD_STR;
    bool quoted = is_str && (l->form == RN_LOG_JSON || !is_word(f->str));
    size_t before = l->len;
    char start[32] = "\"";

    if (!is_str)
        print_number(f, l->form, start);
    else if (!quoted)
        start[0] = '\0';
    if (!put_key(l, f->key) || !put_text(l, start)) {
        l->len = before; /* a key without its value says nothing */
        return;
    }
    if (is_str)
        put_safe(l, f->str);
    if (quoted)
        put_tail(l, "\"");
}

/* ---- lines --------------------------------------------------------------- */

static void begin_line(struct line *l, struct rn_log *log,
                       enum rn_log_level level, const char *msg)
{
    char stamp[RN_STAMP_TEXT_MAX], head[80];
    bool json = log->form == RN_LOG_JSON;

    l->form = log->form;
    l->len = 0;
    l->cut = false;
    rn_stamp_print(rn_wall_ms(log->env) * 1000, stamp);
    snprintf(head, sizeof(head),
             json ? "{\"ts\":\"%s\",\"level\":\"%s\",\"msg\":\"" : "%s %-5s ",
             stamp, level_names[level]);
    put_text(l, head);
    put_safe(l, rn_view_text(msg));
    if (json)
        put_tail(l, "\"");
}

static void end_line(struct line *l, uint64_t more)
{
    bool json = l->form == RN_LOG_JSON;
    char text[40];

    if (more > 0) {
        snprintf(text, sizeof(text),
                 json ? ",\"more\":%" PRIu64 : " ...and %" PRIu64 " more",
                 more);
        put_tail(l, text);
    }
    if (l->cut)
        put_tail(l, json ? ",\"truncated\":true" : " truncated=true");
    put_tail(l, json ? "}\n" : "\n");
}

/* An operator who cannot be told is told nothing: there is no one else. */
static void write_line(struct rn_log *log, const struct line *l)
{
    size_t done = 0;

    pthread_mutex_lock(&log->lock);
    while (done < l->len) {
        ssize_t n = write(log->fd, l->at + done, l->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    pthread_mutex_unlock(&log->lock);
}

static void log_line(struct rn_log *log, enum rn_log_level level,
                     const struct rn_field *fields, uint64_t more)
{
    struct line l;

    begin_line(&l, log, level, fields[0].key);
    for (const struct rn_field *f = fields + 1; f->key; f++)
        put_field(&l, f);
    end_line(&l, more);
    write_line(log, &l);
}

static bool wants(const struct rn_log *log, enum rn_log_level level)
{
    return log && level <= log->level;
}

void rn_log_at(struct rn_log *log, enum rn_log_level level,
               const struct rn_field *fields)
{
    if (wants(log, level))
        log_line(log, level, fields, 0);
}

void rn_log_at_seldom(struct rn_log *log, struct rn_log_limit *limit,
                      enum rn_log_level level, const struct rn_field *fields)
{
    int64_t now, next;

    if (!wants(log, level))
        return;
    now = rn_mono_ns(log->env);
    next = atomic_load(&limit->next_ns);
    /* Of several threads that find the time come, one wins the exchange. */
    if (now < next ||
        !atomic_compare_exchange_strong(&limit->next_ns, &next,
                                        now + limit->every_ms * 1000000)) {
        atomic_fetch_add(&limit->held, 1);
        return;
    }
    log_line(log, level, fields, atomic_exchange(&limit->held, 0));
}

struct rn_log *rn_log_new(struct rn_env *env, int fd, enum rn_log_form form,
                          enum rn_log_level level)
{
    struct rn_log *log = rn_new(sizeof(*log));

    if (!log)
        return NULL;
    *log =
        (struct rn_log){ .env = env, .fd = fd, .form = form, .level = level };
    pthread_mutex_init(&log->lock, NULL); /* cannot fail without attributes */
    return log;
}

void rn_log_free(struct rn_log *log)
{
    if (!log)
        return;
    pthread_mutex_destroy(&log->lock);
    rn_free(log);
}
