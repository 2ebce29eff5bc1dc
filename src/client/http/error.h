/* error.h -- errors of the client, in the codes of its public header.
 *
 * The modules of the client return runnel_code and fill a runnel_error, which a
 * caller of the library gets as it is.  It has two fields that base/err.h
 * lacks, the status and the activity id of the answer.  An enum rn_code of
 * base, json and cosmos is translated at the call.
 *
 * `error` may be NULL everywhere.  No message contains a key, a token or a part
 * of a document.  Any thread.
 */
#ifndef RN_CLIENT_HTTP_ERROR_H
#define RN_CLIENT_HTTP_ERROR_H

#include "base/mem.h"

#include <runnel/client.h>

/* Fills all of `error` and returns `code`, so that failing is one statement. */
runnel_code rn_error_set(runnel_error *error, runnel_code code, const char *fmt,
                         ...) RN_PRINTF(3, 4);

/* The same for a code of the modules below.  `err` may be NULL.  RN_OK is
 * RUNNEL_OK and fills nothing. */
runnel_code rn_error_take(runnel_error *error, enum rn_code code,
                          const struct rn_err *err);

/* A constant, so that the analyzer sees that it is a failure. */
static inline runnel_code rn_error_no_memory(runnel_error *error)
{
    rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    return RUNNEL_NO_MEMORY;
}

/* Translates a code of the modules below. */
runnel_code rn_error_code(enum rn_code code);

/* Prefixes the message with the operation that failed. */
void rn_error_during(runnel_error *error, const char *fmt, ...) RN_PRINTF(2, 3);
/* Was it an answer of a server that is behind the session token? */
bool rn_error_is_session(const runnel_error *error);

static inline struct rn_view rn_view_bytes(runnel_bytes bytes)
{
    return rn_view_of(bytes.at, bytes.len);
}

static inline runnel_bytes rn_bytes_view(struct rn_view view)
{
    runnel_bytes bytes = { view.at, view.len };

    return bytes;
}

#endif
