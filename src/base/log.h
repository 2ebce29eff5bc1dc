/* log.h -- the server log: structured lines for the operator, JSON or text.
 *
 * A line is a time, a level, a constant message and typed fields:
 *
 *   rn_log_info(log, "store opened", RN_STR("dir", dir), RN_U64("records", n));
 *
 *   {"ts":"2026-11-15T20:23:10.123000Z","level":"info","msg":"store opened",
 *    "dir":"/var/lib/runnel","records":412}                     (one line)
 *   2026-11-15T20:23:10.123000Z info  store opened dir=/var/lib/runnel ...
 *
 * Field values may come from untrusted clients.  Quotes, line ends, escapes and
 * all other control characters are escaped, bytes that are not UTF-8 appear as
 * \xHH, and a line has at most 8 KiB: longer lines are cut and marked.  So a
 * line is always one line, and always valid JSON.
 *
 * Only server and cli log; libraries return errors.  A NULL logger is silent.
 *
 * Threads: any.  A line is written before the call returns, if the reader keeps
 * up.  Callers never wait for a slow reader: up to 1 MiB of lines is queued in
 * memory, lines beyond that are lost, and a later line says how many were.
 * Lines keep their order and never mix.
 */
#ifndef RN_BASE_LOG_H
#define RN_BASE_LOG_H

#include "base/env.h"

#include <stdatomic.h>

struct rn_log;

enum rn_log_level { RN_LOG_ERROR, RN_LOG_WARN, RN_LOG_INFO, RN_LOG_DEBUG };
enum rn_log_form { RN_LOG_JSON, RN_LOG_TEXT };

enum { RN_LOG_LINE_MAX = 8192 }; /* the line's end included */

enum rn_field_type {
    RN_FIELD_STR,
    RN_FIELD_I64,
    RN_FIELD_U64,
    RN_FIELD_F64,
    RN_FIELD_BOOL,
};

struct rn_field {
    enum rn_field_type type;
    union {
        struct rn_view str;
        int64_t i64;
        uint64_t u64;
        double f64;
        bool flag;
    };
    const char *key; /* a plain word of ours; last, see RN_LOG_FIELDS */
};

/* clang-format off */
#define RN_STR(k, v) ((struct rn_field){ .type = RN_FIELD_STR, .str = (v), .key = (k) })
#define RN_TEXT(k, v) RN_STR((k), rn_view_text(v)) /* NUL-terminated */
#define RN_I64(k, v) ((struct rn_field){ .type = RN_FIELD_I64, .i64 = (v), .key = (k) })
#define RN_U64(k, v) ((struct rn_field){ .type = RN_FIELD_U64, .u64 = (v), .key = (k) })
#define RN_F64(k, v) ((struct rn_field){ .type = RN_FIELD_F64, .f64 = (v), .key = (k) })
#define RN_BOOL(k, v) ((struct rn_field){ .type = RN_FIELD_BOOL, .flag = (v), .key = (k) })
/* clang-format on */

/* The message and the fields as one array that an empty key ends.  The message
 * fills the key of the first element; because `key` is the last member, the
 * next item of the list is the second element. */
#define RN_LOG_FIELDS(...)                                                     \
    ((const struct rn_field[]){ [0].key = __VA_ARGS__, { .key = NULL } })

#define rn_log_error(log, ...)                                                 \
    rn_log_at(log, RN_LOG_ERROR, RN_LOG_FIELDS(__VA_ARGS__))
#define rn_log_warn(log, ...)                                                  \
    rn_log_at(log, RN_LOG_WARN, RN_LOG_FIELDS(__VA_ARGS__))
#define rn_log_info(log, ...)                                                  \
    rn_log_at(log, RN_LOG_INFO, RN_LOG_FIELDS(__VA_ARGS__))
#define rn_log_debug(log, ...)                                                 \
    rn_log_at(log, RN_LOG_DEBUG, RN_LOG_FIELDS(__VA_ARGS__))

/* Writes lines of `level` and graver to `fd`, which stays the caller's.  NULL:
 * out of memory. */
struct rn_log *rn_log_new(struct rn_env *env, int fd, enum rn_log_form form,
                          enum rn_log_level level) RN_CHECK;
/* Waits up to a second for a slow reader.  NULL is fine. */
void rn_log_free(struct rn_log *log);

/* The number of lost lines.  NULL: none. */
uint64_t rn_log_lost(struct rn_log *log);

/* Called by the macros above. */
void rn_log_at(struct rn_log *log, enum rn_log_level level,
               const struct rn_field *fields);

/* ---- rate limit ---------------------------------------------------------- */

/* Rate limit for a message that one cause may repeat a thousand times: at most
 * one line per `every_ms`; the next line that passes says how many were
 * suppressed ("more":412, or "...and 412 more").  One static struct per
 * message. */
struct rn_log_limit {
    int64_t every_ms;
    _Atomic int64_t next_ns;
    _Atomic uint64_t held;
};

#define RN_LOG_LIMIT_INIT(ms)                                                  \
    {                                                                          \
        .every_ms = (ms)                                                       \
    }

#define rn_log_seldom(log, limit, level, ...)                                  \
    rn_log_at_seldom(log, limit, level, RN_LOG_FIELDS(__VA_ARGS__))

void rn_log_at_seldom(struct rn_log *log, struct rn_log_limit *limit,
                      enum rn_log_level level, const struct rn_field *fields);

#endif
