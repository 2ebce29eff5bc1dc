/* err.c -- see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[RN_CODES] = {
    [RN_OK] = "ok",
    [RN_NOT_FOUND] = "not found",
    [RN_CONFLICT] = "conflict",
    [RN_PRECONDITION] = "precondition failed",
    [RN_NOT_MODIFIED] = "not modified",
    [RN_GONE] = "gone",
    [RN_BAD_REQUEST] = "bad request",
    [RN_UNAUTHORIZED] = "unauthorized",
    [RN_FORBIDDEN] = "forbidden",
    [RN_TOO_LARGE] = "too large",
    [RN_THROTTLED] = "throttled",
    [RN_BUSY] = "busy",
    [RN_TIMEOUT] = "timed out",
    [RN_FULL] = "no space left",
    [RN_READ_ONLY] = "read-only",
    [RN_UNKNOWN] = "outcome unknown",
    [RN_IO] = "input/output error",
    [RN_CORRUPT] = "damaged data",
    [RN_NOMEM] = "out of memory",
};

const char *rn_code_name(enum rn_code code)
{
    return (unsigned)code < RN_CODES ? names[code] : "unnamed";
}

enum rn_code rn_fail(struct rn_err *err, enum rn_code code, const char *fmt,
                     ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->reason = 0;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return code;
}

static enum rn_code code_of_errno(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return RN_FULL;
    case ENOMEM:
        return RN_NOMEM;
    case ENOENT:
        return RN_NOT_FOUND;
    case EAGAIN:
    case EBUSY:
        return RN_BUSY;
    case EROFS:
    case EACCES:
    case EPERM:
        return RN_FORBIDDEN;
    default:
        return RN_IO;
    }
}

enum rn_code rn_fail_errno(struct rn_err *err, int error, const char *fmt, ...)
{
    enum rn_code code = code_of_errno(error);
    char words[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    return rn_fail(err, code, "%s: %s", words, strerror(error));
}

void rn_err_during(struct rn_err *err, const char *fmt, ...)
{
    char before[sizeof(err->text)], after[sizeof(err->text)];
    va_list args;

    if (!err)
        return;
    memcpy(after, err->text, sizeof(after));
    va_start(args, fmt);
    vsnprintf(before, sizeof(before), fmt, args);
    va_end(args);
    snprintf(err->text, sizeof(err->text), "%s: %s", before, after);
}
