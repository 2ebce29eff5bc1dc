/* target.h -- parses the request target: decoded path segments and parameters.
 *
 * The path is split at its slashes first and each segment decoded alone, so
 * "%2F" is a byte of a name and never a separator.  Empty segments are dropped:
 * old clients send "//dbs", the Python SDK ends paths with a slash.  Nothing
 * else is normalized: ".." is a name like any other, and "+" a plus.
 *
 * All views but `path` and `query` point into the arena.
 */
#ifndef RN_HTTP_TARGET_H
#define RN_HTTP_TARGET_H

#include "base/mem.h"

enum rn_http_question {
    RN_HTTP_QUESTION_SPLITS, /* a '?' ends the path and begins parameters */
    /* It is a byte of a name: the JavaScript SDK sends ids with a raw '?', and
     * no SDK sends parameters. */
    RN_HTTP_QUESTION_IS_NAME,
};

enum { RN_HTTP_PARAMS_MAX = 32 };

struct rn_http_param {
    struct rn_view name, value;
};

struct rn_http_target {
    struct rn_view path;  /* as on the wire */
    struct rn_view query; /* as on the wire, without the '?' */
    const struct rn_view *segments;
    size_t segment_count;
    const struct rn_http_param *params;
    size_t param_count;
};

/* RN_BAD_REQUEST for a '%' without two hexadecimal digits, %00, and a parameter
 * that is given twice; RN_NOMEM if the arena is exhausted. */
enum rn_code rn_http_target_parse(struct rn_view target,
                                  enum rn_http_question question,
                                  struct rn_arena *arena,
                                  struct rn_http_target *out,
                                  struct rn_err *err) RN_CHECK;

/* The value of a parameter; `at` is NULL if there is none. */
struct rn_view rn_http_target_param(const struct rn_http_target *t,
                                    struct rn_view name);

#endif
