/* fault_injection.h -- faults that a test has ordered for requests to come. */
#ifndef RN_REST_ADMIN_FAULT_INJECTION_H
#define RN_REST_ADMIN_FAULT_INJECTION_H

#include "cosmos/status.h"
#include "rest/rest.h"

#include <stdatomic.h>

struct rn_context;

/* What an ordered fault does to a request: an answer, or none. */
struct rn_injected_effect {
    const struct rn_status *status;
    bool loses; /* the connection ends instead */
};

/* A fault for requests to come. */
struct rn_injected_fault {
    struct rn_injected_effect blow;
    bool after;           /* the request has been carried out */
    uint32_t count, skip; /* left to strike; left to spare, first */
    char method[12];      /* empty: any */
    char path[512];       /* how the target begins */
    char header[64];      /* must be there; empty: none */
};

enum { RN_INJECTED_FAULTS_MAX = 32 };

struct rn_injected_faults {
    struct rn_injected_fault of[RN_INJECTED_FAULTS_MAX];
    size_t count;
    uint64_t taken;
    atomic_bool any;
};

/* ---- fault_injection.c
 * ------------------------------------------------------------- */

enum rn_code rn_injected_fault_add(struct rn_rest *r,
                                   const struct rn_injected_fault *order,
                                   struct rn_err *err) RN_CHECK;
void rn_injected_fault_clear(struct rn_rest *r);
/* How many strikes are left, and how many there were. */
uint64_t rn_injected_fault_waiting(struct rn_rest *r, uint64_t *taken);
/* True if a fault has answered in the handler's place. */
bool rn_injected_fault_strike(struct rn_context *x, enum rn_rest_step *step);
/* The answer is complete: spoils it if that was ordered. */
void rn_injected_fault_strike_after(struct rn_context *x);

#endif
