/* hybrid.h -- the binary batch format of the .NET client: HybridRow rows in a
 * RecordIO stream.
 *
 *   stream   segment header, { record header, record }
 *   row      81, schema (i32), presence bits, fixed, variable, sparse fields
 *
 *   segment header    81 F0D8FF7F, 01, i32 length, itself included
 *   record header     81 F1D8FF7F, i32 length, u32 CRC-32 of the record
 *   operation         81 7054E17F, presence, i32 type, i32 resource type, then
 *                     those present of: partition key, effective partition
 *                     key, id, binary id, body
 *   result            81 7154E17F, presence, i32 status, i32 sub-status, then
 *                     those present of: etag, body
 *
 * Integers are little endian.  A variable field is its length in 7-bit groups
 * and its bytes.  A sparse field is a type code, a path token and a value; a
 * token past the known ones gives a name instead, of token - 13 bytes.
 *
 * This has not been tested with a live .NET client: it follows the public
 * layout and the vectors made from it.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_HYBRID_H
#define RN_COSMOS_HYBRID_H

#include "base/mem.h"

#include <stdint.h>

/* The numbers of the wire format. */
enum rn_batch_type {
    RN_BATCH_CREATE = 0,
    RN_BATCH_PATCH = 1,
    RN_BATCH_READ = 2,
    RN_BATCH_DELETE = 4,
    RN_BATCH_REPLACE = 5,
    RN_BATCH_UPSERT = 20,
};

/* One operation of a batch request, in either format; at NULL: not sent. */
struct rn_batch_ask {
    int32_t type; /* as sent; perhaps an unknown type */
    struct rn_view pk, id, body, if_match, if_none_match;
    bool is_minimal; /* return no body */
    bool has_ttl;    /* sent with a time to live, in seconds */
    int32_t ttl;
};

/* The result of an operation. */
struct rn_batch_result {
    int status, sub;
    struct rn_view etag, body; /* at NULL: none */
    struct rn_view message;    /* why it was refused; only in JSON */
    uint32_t retry_after_ms;   /* 0: absent */
    double charge;
};

/* Recognized by its first byte, with which no JSON begins. */
bool rn_hybrid_is(struct rn_view body);

/* Takes the segment header off a stream, then one operation after the other;
 * the views borrow from it.  RN_BAD_REQUEST if the bytes are in another format;
 * RN_NOT_FOUND at the end. */
enum rn_code rn_hybrid_begin(struct rn_view *stream,
                             struct rn_err *err) RN_CHECK;
enum rn_code rn_hybrid_next(struct rn_view *stream, struct rn_batch_ask *out,
                            struct rn_err *err) RN_CHECK;

/* Writes the segment header, then each result. */
enum rn_code rn_hybrid_put_head(struct rn_buf *out) RN_CHECK;
enum rn_code rn_hybrid_put_result(struct rn_buf *out,
                                  const struct rn_batch_result *r) RN_CHECK;

#endif
