/* status.h -- maps result codes to HTTP statuses and back: one table.
 *
 * The server maps an enum rn_code to a status, a sub-status and the service's
 * "code" word; the client maps the first two back to a code.  Clients act on
 * the sub-status (they refresh caches, follow splits, fetch query plans), so a
 * reason provides it where the code does not determine it.
 *
 * A reason belongs to exactly one code.  It is passed in rn_err.reason.
 *
 * No other file contains HTTP status numbers.  Constant data; any thread.
 */
#ifndef RN_COSMOS_STATUS_H
#define RN_COSMOS_STATUS_H

#include "base/err.h"

enum rn_reason {
    RN_REASON_NONE = 0,

    /* RN_BAD_REQUEST */
    RN_REASON_KEY_MISMATCH,    /* header, document and definition disagree */
    RN_REASON_CROSS_PARTITION, /* the client must fetch a query plan */
    RN_REASON_CONTAINER_RID,   /* the client refers to an earlier container */
    RN_REASON_METHOD,          /* the verb is not allowed on this path */
    RN_REASON_NOT_JSON,        /* a row holds NaN or an infinity */
    RN_REASON_METHOD_UNKNOWN,  /* the verb is not allowed on any path */
    RN_REASON_HTTP_VERSION,    /* neither 1.0 nor 1.1 */

    /* RN_FORBIDDEN */
    RN_REASON_WRITE_REGION, /* the service's; never sent */
    RN_REASON_ACCOUNT_GONE, /* likewise */
    RN_REASON_KEY_FULL,     /* one partition key value holds too much */
    RN_REASON_DATA_ONLY,    /* a web token does not allow management */

    /* RN_NOT_FOUND */
    RN_REASON_SESSION,  /* the token is ahead of this server */
    RN_REASON_OWNER,    /* the database or container does not exist */
    RN_REASON_CREATING, /* the service's: a container is not ready yet */

    /* RN_GONE; without a reason it means the partition range */
    RN_REASON_GONE,       /* the service's, of anything; never sent */
    RN_REASON_NAME_STALE, /* the name now refers to another container */
    RN_REASON_SPLITTING,
    RN_REASON_MIGRATING,

    /* RN_TOO_LARGE */
    RN_REASON_SPLIT_BULK, /* the client must send the rest in another request */

    /* RN_CONFLICT */
    RN_REASON_DEPENDENCY,      /* another operation of the batch failed */
    RN_REASON_RETRY_WITH,      /* a write conflict; the client should retry */
    RN_REASON_DATABASE_EXISTS, /* a database has the id of the new one */
    RN_REASON_KEY_COLLISION,   /* another key value with the same hash */

    RN_REASONS, /* number of reasons */
};

/* Success statuses, which a code does not distinguish. */
enum {
    RN_STATUS_OK = 200,
    RN_STATUS_CREATED = 201,
    RN_STATUS_NO_CONTENT = 204,
    RN_STATUS_MULTI = 207, /* a batch some of whose operations failed */
};

struct rn_status {
    enum rn_code code;
    enum rn_reason reason;
    int http, sub;
    const char *word; /* "code" in the body: the phrase without spaces */
    const char *text; /* the service's message, where clients check it */
};

/* The row of a failure.  A reason takes precedence over the code.  Never
 * NULL. */
const struct rn_status *rn_status_of(enum rn_code code, enum rn_reason reason);

/* The row of an answer.  An unknown sub-status is ignored; an unknown status
 * falls back to its class (4xx to 400).  Never NULL. */
const struct rn_status *rn_status_read(int http, int sub);

/* Like rn_fail, with the service's message from the row of the code. */
enum rn_code rn_fail_usual(struct rn_err *err, enum rn_code code);

/* Like rn_fail, for a reason; the reason determines the code. */
enum rn_code rn_fail_reason(struct rn_err *err, enum rn_reason reason,
                            const char *fmt, ...) RN_PRINTF(3, 4);

#endif
