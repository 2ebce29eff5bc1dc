/* fault_injection.h -- faults that a test injects into later requests. */
#ifndef RN_REST_ADMIN_FAULT_INJECTION_H
#define RN_REST_ADMIN_FAULT_INJECTION_H

#include "cosmos/status.h"
#include "rest/rest.h"

#include <stdatomic.h>

struct rn_context;

/* What an injected fault does to a request: it answers with a status, or drops
 * the answer. */
struct rn_injected_effect {
    const struct rn_status *status;
    bool loses; /* close the connection instead of answering */
};

/* A fault to be injected into matching requests. */
struct rn_injected_fault {
    struct rn_injected_effect blow;
    bool after;           /* after the handler has run, not before */
    uint32_t count, skip; /* times left to strike; matches left to skip first */
    char method[12];      /* empty: any */
    char path[512];       /* prefix of the target */
    char header[64];      /* must be present; empty: none */
};

enum { RN_INJECTED_FAULTS_MAX = 32 };

struct rn_injected_faults {
    struct rn_injected_fault of[RN_INJECTED_FAULTS_MAX];
    size_t count;
    uint64_t taken;
    atomic_bool any;
};

/* ---- fault_injection.c --------------------------------------------------- */

enum rn_code rn_injected_fault_add(struct rn_rest *r,
                                   const struct rn_injected_fault *order,
                                   struct rn_err *err) RN_CHECK;
void rn_injected_fault_clear(struct rn_rest *r);
/* Strikes left in all faults; `*taken` gets those that have happened. */
uint64_t rn_injected_fault_waiting(struct rn_rest *r, uint64_t *taken);
/* True if a fault has answered instead of the handler. */
bool rn_injected_fault_strike(struct rn_context *x, enum rn_rest_step *step);
/* Replaces a complete answer if a fault was injected for that. */
void rn_injected_fault_strike_after(struct rn_context *x);

#endif
