/* fault.h -- the error list of a query, in the format of the service.
 *
 * The service answers a bad query with a list of faults, each with a code and a
 * location in the text; SDKs and their tests read it.  Locations count UTF-16
 * code units, as .NET and JavaScript do.
 */
#ifndef RN_QUERY_CHECK_FAULT_H
#define RN_QUERY_CHECK_FAULT_H

#include "base/mem.h"

enum { RN_FAULTS_MAX = 16 };

struct rn_fault {
    const char *code; /* "SC1001"; NULL: a plain sentence without location */
    uint32_t start, end;
    char message[320];
};

struct rn_faults {
    struct rn_view text; /* of the query; borrowed */
    uint32_t count;      /* faults kept */
    struct rn_fault list[RN_FAULTS_MAX];
};

/* Records a fault at the bytes from `start` to `end`, and returns
 * RN_BAD_REQUEST. */
enum rn_code rn_faults_add(struct rn_faults *f, const char *code, size_t start,
                           size_t end, const char *fmt, ...) RN_PRINTF(5, 6);

/* As the service embeds them in its answer:
 * {"errors":[{"severity":"Error","location":{"start":0,"end":1},"code":...}]}
 * or, for plain sentences, {"Errors":["..."]}. */
enum rn_code rn_faults_print(const struct rn_faults *f,
                             struct rn_buf *out) RN_CHECK;

#endif
