/* dotnet_lease.h -- a lease document as the .NET libraries read and write it.
 *
 * The second opinion on the lease format: written from recorded documents and
 * requests (golden/), without any code of src/client/lease, so that a mistake
 * there is not repeated here.
 *
 *   version 3   reads member names in any case and drops members that it does
 *               not know; `properties` survive
 *   version 2   has no LeaseToken, version, FeedRange and Mode: its writes drop
 *               them and keep PartitionId and `properties`
 *
 * Null and "" are the same to both; an empty text stands for null here.
 *
 * It aborts where a text exceeds its room.  Threads: values only.
 */
#ifndef RN_TESTS_CLIENT_DOTNET_LEASE_H
#define RN_TESTS_CLIENT_DOTNET_LEASE_H

#include "json/json.h"

enum {
    DOTNET_ID_MAX = 400,
    DOTNET_EPK_MAX = 80,
    DOTNET_TOKEN_MAX = 2 * DOTNET_EPK_MAX,
    DOTNET_NAME_MAX = 100,
    DOTNET_TEXT_MAX = 400,
    DOTNET_PROPERTIES_MAX = 2048,
};

struct dotnet_lease {
    int version; /* 1: an interval of EPKs */
    int64_t ts;
    bool has_range;
    char id[DOTNET_ID_MAX];
    char partition_key[DOTNET_ID_MAX]; /* "": the container is keyed by /id */
    char etag[DOTNET_NAME_MAX];
    char token[DOTNET_TOKEN_MAX];
    char partition_id[DOTNET_TOKEN_MAX];
    char min[DOTNET_EPK_MAX], max[DOTNET_EPK_MAX];
    char owner[DOTNET_NAME_MAX];
    char continuation[DOTNET_TEXT_MAX];
    char properties[DOTNET_PROPERTIES_MAX]; /* a JSON object; "": none */
    char timestamp[DOTNET_NAME_MAX];
    char mode[DOTNET_NAME_MAX];
};

/* Reads an object.  False if it is no lease: it has no token. */
bool dotnet_lease_read(const struct rn_json *j, uint32_t object,
                       struct dotnet_lease *out);
/* The same of a text. */
bool dotnet_lease_parse(struct rn_view json, struct dotnet_lease *out);

/* Appends the document as version 3, or version 2, sends it. */
void dotnet_lease_print(const struct dotnet_lease *lease, struct rn_buf *out);
void dotnet_lease_print_v2(const struct dotnet_lease *lease,
                           struct rn_buf *out);

/* Milliseconds since 1970 of `timestamp`; of `_ts` if it is null. */
int64_t dotnet_lease_time_ms(const struct dotnet_lease *lease);
void dotnet_lease_stamp(struct dotnet_lease *lease, int64_t wall_ms);

/* Copies a text; aborts if there is no room. */
void dotnet_copy(char *to, size_t room, struct rn_view from);

#endif
