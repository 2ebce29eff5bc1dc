/* status.h -- how an outcome is said in HTTP: one table, read both ways.
 *
 * The server turns an enum rn_code into a status, a sub-status and the
 * service's "code" word; the client turns the first two back into a code.
 * Clients act on the sub-status (they refresh caches, follow splits, fetch
 * query plans), so where the code alone does not tell it, a reason does.
 *
 * A reason belongs to exactly one code.  It travels in rn_err.reason.
 *
 * No other file knows an HTTP number.  Constant data; any thread.
 */
#ifndef RN_COSMOS_STATUS_H
#define RN_COSMOS_STATUS_H

#include "base/err.h"

enum rn_reason {
    RN_REASON_NONE = 0,

    /* RN_BAD_REQUEST */
    RN_REASON_KEY_MISMATCH,    /* header, document and definition disagree */
    RN_REASON_CROSS_PARTITION, /* the client must fetch a query plan */
    RN_REASON_CONTAINER_RID,   /* the client means an earlier container */
    RN_REASON_METHOD,          /* this verb is not for this path */
    RN_REASON_NOT_JSON,        /* a row holds NaN or an infinity */
    RN_REASON_METHOD_UNKNOWN,  /* nor for any other */
    RN_REASON_HTTP_VERSION,    /* another than 1.0 and 1.1 */

    /* RN_FORBIDDEN */
    RN_REASON_WRITE_REGION, /* the service's; we never say it */
    RN_REASON_ACCOUNT_GONE, /* likewise */
    RN_REASON_KEY_FULL,     /* one partition key value holds too much */
    RN_REASON_DATA_ONLY,    /* a web token does not allow management */

    /* RN_NOT_FOUND */
    RN_REASON_SESSION,  /* the token has seen more than we have */
    RN_REASON_OWNER,    /* the database or container is what is missing */
    RN_REASON_CREATING, /* the service's: a container is not ready yet */

    /* RN_GONE; on its own it means the partition range */
    RN_REASON_GONE,       /* the service's, of anything; we never say it */
    RN_REASON_NAME_STALE, /* the name now means another container */
    RN_REASON_SPLITTING,
    RN_REASON_MIGRATING,

    /* RN_TOO_LARGE */
    RN_REASON_SPLIT_BULK, /* the client sends what is left in another request */

    /* RN_CONFLICT */
    RN_REASON_DEPENDENCY, /* of a batch, another operation failed */
    RN_REASON_RETRY_WITH, /* two writes met; repeat this one */

    RN_REASONS, /* how many there are */
};

/* The numbers of success, which a code cannot tell apart. */
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
    const char *text; /* the service's message, where clients look for it */
};

/* The row of a failure.  A reason wins over the code.  Never NULL. */
const struct rn_status *rn_status_of(enum rn_code code, enum rn_reason reason);

/* What an answer means.  An unknown sub-status is as good as none, an unknown
 * status as its hundred.  Never NULL. */
const struct rn_status *rn_status_read(int http, int sub);

/* As rn_fail, in the service's words, which the row of the code has. */
enum rn_code rn_fail_usual(struct rn_err *err, enum rn_code code);

/* As rn_fail, for a reason; its code is known. */
enum rn_code rn_fail_reason(struct rn_err *err, enum rn_reason reason,
                            const char *fmt, ...) RN_PRINTF(3, 4);

#endif
