/* operations.h -- several operations in one request, and their outcomes.
 *
 * A request is a JSON array of operations, its answer an array of results of
 * the same length and order.
 */
#ifndef RN_CLIENT_API_OPERATIONS_H
#define RN_CLIENT_API_OPERATIONS_H

#include "client/http/error.h"
#include "json/print.h"

enum {
    RN_BATCH_OPERATIONS_MAX = 100,
    RN_BATCH_BYTES_MAX = 4 << 20, /* the server's limit is lower */
};

struct runnel_results {
    struct rn_arena arena;
    runnel_result *of;
    size_t count;
};

/* All zero: not known yet. */
runnel_code rn_results_new(size_t count, runnel_results **out,
                           runnel_error *error) RUNNEL_CHECK;

/* Checks an operation.  `item` is where its JSON is parsed, if it is an item's.
 */
runnel_code rn_operation_check(const runnel_operation *op, struct rn_json *item,
                               runnel_error *error) RUNNEL_CHECK;
/* Appends one that was checked.  `key` is the partition key's header text, or
 * empty where the request has it. */
void rn_operation_print(const runnel_operation *op, const struct rn_json *item,
                        struct rn_view key, struct rn_json_out *o);

/* One result of an answer; `retry_ms` is what the server asked for. */
struct rn_operation_answer {
    int status, sub_status;
    uint32_t retry_ms;
    double charge;
    struct rn_view etag; /* unescaped, in the results' arena */
    struct rn_view body;
};

/* The `i`-th result of a parsed answer.  False if it is malformed. */
bool rn_operation_parse(const struct rn_json *j, uint32_t i,
                        struct rn_arena *arena,
                        struct rn_operation_answer *out);

/* Notes it as the outcome of an operation; copies.  RN_NOMEM. */
enum rn_code rn_results_set(runnel_results *r, size_t i,
                            const struct rn_operation_answer *a) RN_CHECK;

#endif
