/* log.c -- see log.h.
 *
 * A line is built in a fixed buffer on the stack: everything goes through
 * put(), which adds all or nothing, and space for the marker of a cut line and
 * the line's end is reserved.
 *
 * A finished line is written at once if nothing is queued before it.  Bytes
 * that the reader does not take are queued in `waiting`, up to a limit; a task,
 * started when that happens for the first time, waits for the reader.
 */
#include "base/log.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TAIL_MAX = 64, /* ,"more":18446744073709551615,"truncated":true}\n */
    BODY_MAX = RN_LOG_LINE_MAX - TAIL_MAX,
    WAITING_MAX = 1 << 20, /* for a slow reader */
    POLL_MS = 100,   /* how long the task waits for the reader at a time */
    LAST_POLLS = 10, /* in all, when the log is freed */
};

/* How bytes are written without blocking. */
enum way {
    WRITE, /* never blocks: a file, or a pipe or terminal reopened */
    POLL,  /* a shared pipe or terminal: poll first, write little */
    SEND,  /* a socket */
};

struct rn_log {
    struct rn_env *env;
    int fd;
    int own_fd; /* the same reader, non-blocking; -1: none */
    enum way way;
    enum rn_log_form form;
    enum rn_log_level level;
    _Atomic uint64_t lost; /* lines */

    pthread_mutex_t lock; /* guards the rest, and the order of lines */
    struct rn_buf waiting;
    size_t taken;        /* of it */
    uint64_t lost_told;  /* how many of `lost` were reported */
    struct rn_task task; /* drains `waiting` */
};

struct line {
    enum rn_log_form form;
    size_t len;
    bool cut;
    char at[RN_LOG_LINE_MAX];
};

static const char *const level_names[] = { "error", "warn", "info", "debug" };

/* ---- building ------------------------------------------------------------ */

/* Once something did not fit nothing else is added, or the line would have
 * invisible gaps. */
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

/* Writes into the reserved space. */
static void put_tail(struct line *l, const char *text)
{
    size_t len = strlen(text);

    assert(len <= sizeof(l->at) - l->len);
    memcpy(l->at + l->len, text, len);
    l->len += len;
}

/* ---- strings ------------------------------------------------------------- */

/* The length of the UTF-8 character at the front, 0 if there is none.  RFC
 * 3629: no surrogates, nothing above 10FFFF, no overlong forms. */
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

/* The replacement of a character that must not appear in a line; empty if it
 * may.  C1 controls (80 to 9f) count: some terminals obey them. */
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

/* Adds as much of `v` as fits, escaped.  A byte that is not UTF-8 becomes \xHH;
 * JSON has no such escape, so there the backslash is escaped. */
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

/* The shortest representation that parses to the same value. */
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
        out[0] = '\0'; /* put_field excludes it */
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

/* ---- the reader ---------------------------------------------------------- */

/* Writes without blocking: the number of bytes, 0 if the reader takes none now,
 * -1 if there is no reader. */
static ptrdiff_t hand_over(struct rn_log *log, const char *at, size_t len)
{
    struct pollfd out = { .fd = log->fd, .events = POLLOUT };
    ssize_t n;

    if (log->way == POLL && poll(&out, 1, 0) <= 0)
        return 0;
    if (log->way == POLL && len > PIPE_BUF)
        len = PIPE_BUF;
    do {
        n = log->way == SEND
                ? send(log->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                : write(log->own_fd >= 0 ? log->own_fd : log->fd, at, len);
    } while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

/* Called with the lock held.  Writes as many of the bytes as the reader takes;
 * -1: there is no reader. */
static ptrdiff_t hand_over_all(struct rn_log *log, struct rn_view bytes)
{
    size_t done = 0;

    while (done < bytes.len) {
        ptrdiff_t n = hand_over(log, bytes.at + done, bytes.len - done);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ptrdiff_t)done;
}

static bool has_waiting(const struct rn_log *log)
{
    return log->waiting.len > log->taken;
}

/* Called with the lock held. */
static void drain(struct rn_log *log)
{
    ptrdiff_t n;

    if (!has_waiting(log))
        return;
    n = hand_over_all(log, rn_view_of(log->waiting.at + log->taken,
                                      log->waiting.len - log->taken));
    log->taken = n < 0 ? log->waiting.len : log->taken + (size_t)n;
    if (has_waiting(log))
        return;
    rn_buf_release(&log->waiting);
    log->taken = 0;
}

/* Called with the lock held.  Queues a line, or the rest of one, which is never
 * lost. */
static void keep(struct rn_log *log, struct rn_view bytes, bool is_rest)
{
    size_t len = log->waiting.len;

    if (!is_rest && len + bytes.len > WAITING_MAX - RN_LOG_LINE_MAX) {
        atomic_fetch_add(&log->lost, 1);
        return;
    }
    if (rn_buf_add(&log->waiting, bytes)) {
        atomic_fetch_add(&log->lost, 1);
        return;
    }
    if (log->task.running)
        log->env->ops->task_wake(log->env, &log->task);
    else /* if it cannot be started, the next line drains */
        (void)log->env->ops->task_start(log->env, &log->task);
}

/* Called with the lock held. */
static void put_out(struct rn_log *log, struct rn_view line)
{
    ptrdiff_t n = 0;

    drain(log);
    if (!has_waiting(log))
        n = hand_over_all(log, line);
    if (n < 0) /* there is no reader to report this to */
        atomic_fetch_add(&log->lost, 1);
    else if ((size_t)n < line.len)
        keep(log, rn_view_of(line.at + n, line.len - (size_t)n), n > 0);
}

/* Called with the lock held, as soon as there is room for lines again. */
static void log_lost_lines(struct rn_log *log)
{
    uint64_t lost = atomic_load(&log->lost);
    const struct rn_field count = RN_U64("lines", lost - log->lost_told);
    struct line l;

    if (lost == log->lost_told || has_waiting(log))
        return;
    log->lost_told = lost;
    begin_line(&l, log, RN_LOG_WARN, "lines of the log were lost");
    put_field(&l, &count);
    end_line(&l, 0);
    put_out(log, rn_view_of(l.at, l.len));
}

static int64_t drain_step(void *context)
{
    struct rn_log *log = context;
    struct pollfd out = { .fd = log->fd, .events = POLLOUT };
    bool is_done;

    (void)poll(&out, 1, POLL_MS);
    pthread_mutex_lock(&log->lock);
    drain(log);
    log_lost_lines(log);
    is_done = !has_waiting(log);
    pthread_mutex_unlock(&log->lock);
    return is_done ? RN_TASK_IDLE : 0;
}

static void write_line(struct rn_log *log, const struct line *l)
{
    pthread_mutex_lock(&log->lock);
    drain(log);
    log_lost_lines(log);
    put_out(log, rn_view_of(l->at, l->len));
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

/* O_NONBLOCK belongs to the open file description, which other processes share
 * and may rely on: so a pipe or a terminal is opened once more. */
static void find_way(struct rn_log *log)
{
    struct stat st = { 0 };
    char path[32];

    if (fstat(log->fd, &st) || S_ISREG(st.st_mode))
        return;
    log->way = S_ISSOCK(st.st_mode) ? SEND : POLL;
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", log->fd);
    log->own_fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (log->own_fd >= 0)
        log->way = WRITE;
}

struct rn_log *rn_log_new(struct rn_env *env, int fd, enum rn_log_form form,
                          enum rn_log_level level)
{
    struct rn_log *log = rn_new(sizeof(*log));

    if (!log)
        return NULL;
    *log = (struct rn_log){
        .env = env,
        .fd = fd,
        .own_fd = -1,
        .form = form,
        .level = level,
        .waiting = RN_BUF_INIT(WAITING_MAX),
        .task = { .name = "log", .step = drain_step, .context = log },
    };
    find_way(log);
    pthread_mutex_init(&log->lock, NULL); /* cannot fail without attributes */
    return log;
}

uint64_t rn_log_lost(struct rn_log *log)
{
    return log ? atomic_load(&log->lost) : 0;
}

void rn_log_free(struct rn_log *log)
{
    struct pollfd out = { .events = POLLOUT };

    if (!log)
        return;
    log->env->ops->task_stop(log->env, &log->task);
    out.fd = log->fd;
    for (int i = 0; i < LAST_POLLS && has_waiting(log); i++) {
        (void)poll(&out, 1, POLL_MS);
        drain(log);
        log_lost_lines(log);
    }
    rn_buf_release(&log->waiting);
    if (log->own_fd >= 0)
        close(log->own_fd);
    pthread_mutex_destroy(&log->lock);
    rn_free(log);
}
