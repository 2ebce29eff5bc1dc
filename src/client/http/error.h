/* error.h -- failures of the client, in the words of its public header.
 *
 * The modules of the client return runnel_code and fill a runnel_error: it has
 * what base/err.h has not, the status and the activity id of the answer, and a
 * caller of the library gets it as it is.  What base, json and cosmos report as
 * enum rn_code is translated at the call.
 *
 * `error` may be NULL everywhere.  No message holds a key, a token or a part of
 * a document.  Any thread.
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

/* What a code of the modules below is called here. */
runnel_code rn_error_code(enum rn_code code);

/* Puts what was being done before the message. */
void rn_error_during(runnel_error *error, const char *fmt, ...) RN_PRINTF(2, 3);

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
