/* status.c -- see status.h. */
#include "cosmos/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* If several codes share a status, the first row is the one for reading it
 * back.  The messages are the service's own: its clients' tests look for parts
 * of them, the doubled words included. */
static const struct rn_status table[] = {
    /* clang-format off */
    { RN_OK,           0, 200, 0, "OK", "" },
    { RN_NOT_MODIFIED, 0, 304, 0, "NotModified", "" },
    { RN_BAD_REQUEST,  0, 400, 0, "BadRequest", "One of the input values is invalid." },
    { RN_UNAUTHORIZED, 0, 401, 0, "Unauthorized", "The input authorization token can't serve the request." },
    { RN_FORBIDDEN,    0, 403, 0, "Forbidden", "The authorization token is not valid for this operation." },
    { RN_NOT_FOUND,    0, 404, 0, "NotFound", "Entity with the specified id does not exist in the system. Resource Not Found. More info: https://aka.ms/cosmosdb-tsg-not-found" },
    { RN_TIMEOUT,      0, 408, 0, "RequestTimeout", "The request did not finish in its time." },
    { RN_CONFLICT,     0, 409, 0, "Conflict", "Entity with the specified id already exists in the system." },
    { RN_GONE,         0, 410, 1002, "Gone", "The requested partition key range does not exist any more." },
    { RN_PRECONDITION, 0, 412, 0, "PreconditionFailed", "Operation cannot be performed because one of the specified precondition is not met. One of the specified pre-condition is not met." },
    { RN_TOO_LARGE,    0, 413, 0, "RequestEntityTooLarge", "Message: {\"Errors\":[\"Request size is too large\"]}" },
    { RN_THROTTLED,    0, 429, 3200, "TooManyRequests", "Request rate is large. More Request Units may be needed, so no changes were made." },
    { RN_IO,           0, 500, 0, "InternalServerError", "The server met an error of its own." },
    { RN_CORRUPT,      0, 500, 0, "InternalServerError", "Stored data is damaged." },
    { RN_BUSY,         0, 503, 0, "ServiceUnavailable", "The service is busy. Nothing was changed." },
    { RN_READ_ONLY,    0, 503, 0, "ServiceUnavailable", "The store refuses writes until it is opened again." },
    { RN_UNKNOWN,      0, 503, 0, "ServiceUnavailable", "The outcome of this write is unknown." },
    { RN_NOMEM,        0, 503, 0, "ServiceUnavailable", "The server is out of memory. Nothing was changed." },
    { RN_FULL,         0, 507, 0, "InsufficientStorage", "No space is left. Nothing was changed." },

    { RN_BAD_REQUEST, RN_REASON_KEY_MISMATCH,    400, 1001, "BadRequest", "PartitionKey extracted from document doesn't match the one specified in the header." },
    { RN_BAD_REQUEST, RN_REASON_CROSS_PARTITION, 400, 1004, "BadRequest", "The provided cross partition query can not be directly served by the gateway." },
    { RN_BAD_REQUEST, RN_REASON_CONTAINER_RID,   400, 1024, "BadRequest", "Collection rid mismatch: the container was created anew." },
    { RN_BAD_REQUEST, RN_REASON_METHOD,          405, 0,    "MethodNotAllowed", "Operation is not allowed on this resource." },
    { RN_BAD_REQUEST, RN_REASON_NOT_JSON,        400, 4001, "BadRequest", "The response content contains a numeric value that cannot be represented in JSON (e.g. Infinity and NaN)." },
    { RN_BAD_REQUEST, RN_REASON_METHOD_UNKNOWN,  501, 0,    "NotImplemented", "The method is not known." },
    { RN_BAD_REQUEST, RN_REASON_HTTP_VERSION,    505, 0,    "HttpVersionNotSupported", "Only HTTP/1.1 and HTTP/1.0 are spoken." },
    { RN_FORBIDDEN,   RN_REASON_WRITE_REGION,    403, 3,    "Forbidden", "Writes are not allowed in this region." },
    { RN_FORBIDDEN,   RN_REASON_ACCOUNT_GONE,    403, 1008, "Forbidden", "The database account was not found here." },
    { RN_FORBIDDEN,   RN_REASON_KEY_FULL,        403, 1014, "Forbidden", "Partition key reached maximum size of 20 GB" },
    { RN_FORBIDDEN,   RN_REASON_DATA_ONLY,       403, 5300, "Forbidden", "Request is blocked because the principal does not have the required permissions." },
    { RN_NOT_FOUND,   RN_REASON_SESSION,         404, 1002, "NotFound", "The read/write session is not available for the input session token." },
    { RN_NOT_FOUND,   RN_REASON_OWNER,           404, 1003, "NotFound", "Owner resource does not exist" },
    { RN_GONE,        RN_REASON_GONE,            410, 0,    "Gone", "The requested resource is no longer available at the server." },
    { RN_NOT_FOUND,   RN_REASON_CREATING,        404, 1013, "NotFound", "The container is still being created." },
    { RN_GONE,        RN_REASON_NAME_STALE,      410, 1000, "Gone", "The requested resource is no longer available at the server." },
    { RN_GONE,        RN_REASON_SPLITTING,       410, 1007, "Gone", "The partition key range is being split." },
    { RN_GONE,        RN_REASON_MIGRATING,       410, 1008, "Gone", "The partition key range is being moved." },
    { RN_TOO_LARGE,   RN_REASON_SPLIT_BULK,      413, 3402, "RequestEntityTooLarge", "The operations of this request are too much for one." },
    { RN_CONFLICT,    RN_REASON_DEPENDENCY,      424, 0,    "FailedDependency", "Another operation of the batch failed." },
    { RN_CONFLICT,    RN_REASON_DATABASE_EXISTS, 409, 3206, "Conflict", "Entity with the specified id already exists in the system." },
    { RN_CONFLICT,    RN_REASON_KEY_COLLISION,   409, 3302, "Conflict", "The place of this item is taken by one of another partition key value whose hash is the same." },
    { RN_CONFLICT,    RN_REASON_RETRY_WITH,      449, 0,    "RetryWith", "Conflicting request to resource has been attempted. Retry to avoid conflicts." },
    /* clang-format on */
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

const struct rn_status *rn_status_of(enum rn_code code, enum rn_reason reason)
{
    size_t i = 0;

    while (i < ROWS &&
           (table[i].reason != reason || (!reason && table[i].code != code)))
        i++;
    assert(i < ROWS); /* every code and every reason has a row */
    return &table[i];
}

const struct rn_status *rn_status_read(int http, int sub)
{
    const struct rn_status *like = NULL;

    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].http != http)
            continue;
        if (table[i].sub == sub)
            return &table[i];
        if (!like)
            like = &table[i];
    }
    if (like)
        return like;
    if (http >= 200 && http < 300)
        return rn_status_of(RN_OK, RN_REASON_NONE);
    return rn_status_of(http < 500 ? RN_BAD_REQUEST : RN_IO, RN_REASON_NONE);
}

enum rn_code rn_fail_usual(struct rn_err *err, enum rn_code code)
{
    return rn_fail(err, code, "%s", rn_status_of(code, RN_REASON_NONE)->text);
}

enum rn_code rn_fail_reason(struct rn_err *err, enum rn_reason reason,
                            const char *fmt, ...)
{
    enum rn_code code = rn_status_of(RN_OK, reason)->code;
    va_list args;

    assert(reason != RN_REASON_NONE);
    if (!err)
        return code;
    err->code = code;
    err->reason = (int)reason;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return code;
}
