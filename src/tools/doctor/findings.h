/* findings.h -- what `runnel doctor` has found: one line for each check, with
 * the remedy below it if something is wrong.
 */
#ifndef RN_TOOLS_DOCTOR_FINDINGS_H
#define RN_TOOLS_DOCTOR_FINDINGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum rn_finding {
    RN_FINDING_OK,
    RN_FINDING_WARNING, /* it works, but perhaps not as meant */
    RN_FINDING_FAULT,
};

struct rn_findings {
    bool as_json;
    uint32_t faults, warnings;
};

/* Prints a finding.  `remedy` may be NULL. */
void rn_findings_add(struct rn_findings *f, enum rn_finding kind,
                     const char *check, const char *remedy, const char *fmt,
                     ...) RN_PRINTF(5, 6);

#endif
