/* error.c -- see error.h. */
#include "client/http/error.h"

#include "cosmos/status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
    [RUNNEL_OK] = "ok",
    [RUNNEL_NOT_FOUND] = "not found",
    [RUNNEL_CONFLICT] = "conflict",
    [RUNNEL_PRECONDITION] = "precondition failed",
    [RUNNEL_GONE] = "gone",
    [RUNNEL_BAD_REQUEST] = "bad request",
    [RUNNEL_UNAUTHORIZED] = "unauthorized",
    [RUNNEL_FORBIDDEN] = "forbidden",
    [RUNNEL_TOO_LARGE] = "too large",
    [RUNNEL_THROTTLED] = "throttled",
    [RUNNEL_BUSY] = "busy",
    [RUNNEL_TIMEOUT] = "timeout",
    [RUNNEL_UNCERTAIN] = "uncertain",
    [RUNNEL_UNREACHABLE] = "unreachable",
    [RUNNEL_PROTOCOL] = "protocol error",
    [RUNNEL_UNSUPPORTED] = "unsupported",
    [RUNNEL_LEASE_LOST] = "lease lost",
    [RUNNEL_CANCELLED] = "cancelled",
    [RUNNEL_NO_MEMORY] = "out of memory",
};

enum { CODES = sizeof(names) / sizeof(names[0]) };

const char *runnel_code_name(runnel_code code)
{
    return (unsigned)code < CODES ? names[code] : "unknown code";
}

bool runnel_code_is_transient(runnel_code code)
{
    switch (code) {
    case RUNNEL_THROTTLED:
    case RUNNEL_BUSY:
    case RUNNEL_TIMEOUT:
    case RUNNEL_UNREACHABLE:
    case RUNNEL_GONE:
    case RUNNEL_NO_MEMORY:
        return true;
    default:
        return false;
    }
}

const char *runnel_version(void)
{
    return RUNNEL_VERSION;
}

runnel_code rn_error_set(runnel_error *error, runnel_code code, const char *fmt,
                         ...)
{
    va_list args;

    if (!error)
        return code;
    *error = (runnel_error){ .code = code };
    va_start(args, fmt);
    vsnprintf(error->message, sizeof(error->message), fmt, args);
    va_end(args);
    return code;
}

runnel_code rn_error_code(enum rn_code code)
{
    switch (code) {
    case RN_OK:
    case RN_NOT_MODIFIED:
        return RUNNEL_OK;
    case RN_NOT_FOUND:
        return RUNNEL_NOT_FOUND;
    case RN_CONFLICT:
        return RUNNEL_CONFLICT;
    case RN_PRECONDITION:
        return RUNNEL_PRECONDITION;
    case RN_GONE:
        return RUNNEL_GONE;
    case RN_BAD_REQUEST:
        return RUNNEL_BAD_REQUEST;
    case RN_UNAUTHORIZED:
        return RUNNEL_UNAUTHORIZED;
    case RN_FORBIDDEN:
        return RUNNEL_FORBIDDEN;
    case RN_TOO_LARGE:
        return RUNNEL_TOO_LARGE;
    case RN_THROTTLED:
        return RUNNEL_THROTTLED;
    case RN_TIMEOUT:
        return RUNNEL_TIMEOUT;
    case RN_UNKNOWN:
        return RUNNEL_UNCERTAIN;
    case RN_CORRUPT:
        return RUNNEL_PROTOCOL;
    case RN_NOMEM:
        return RUNNEL_NO_MEMORY;
    case RN_BUSY:
    case RN_FULL:
    case RN_READ_ONLY:
    case RN_IO:
    case RN_CODES:
        break;
    }
    return RUNNEL_BUSY;
}

runnel_code rn_error_take(runnel_error *error, enum rn_code code,
                          const struct rn_err *err)
{
    runnel_code rc = rn_error_code(code);

    if (rc == RUNNEL_OK)
        return rc;
    /* A function that has no sentence for a code leaves err as it was. */
    if (err && err->code == code && err->text[0])
        return rn_error_set(error, rc, "%s", err->text);
    return rn_error_set(error, rc, "%s", runnel_code_name(rc));
}

bool rn_error_is_session(const runnel_error *error)
{
    return rn_status_read(error->http_status, error->sub_status)->reason ==
           RN_REASON_SESSION;
}

void rn_error_during(runnel_error *error, const char *fmt, ...)
{
    char was[sizeof(error->message)];
    va_list args;
    size_t len;

    if (!error)
        return;
    memcpy(was, error->message, sizeof(was));
    va_start(args, fmt);
    vsnprintf(error->message, sizeof(error->message), fmt, args);
    va_end(args);
    len = strlen(error->message);
    snprintf(error->message + len, sizeof(error->message) - len, ": %s", was);
}
