/* plan.h -- what the options of `runnel trigger` ask for, checked.
 *
 * Texts are borrowed from the arguments.
 */
#ifndef RN_TOOLS_TRIGGER_PLAN_H
#define RN_TOOLS_TRIGGER_PLAN_H

#include "tools/common/option.h"
#include "tools/common/target.h"

extern const struct rn_option rn_trigger_options[];

enum rn_letter_kind {
    RN_LETTER_NONE,
    RN_LETTER_CONTAINER,
    RN_LETTER_FILE,
    RN_LETTER_URL,
    RN_LETTER_COMMAND,
};

struct rn_trigger_plan {
    /* The handler: one of the two. */
    const char *command; /* --exec */
    bool is_coprocess;
    const char *url; /* --http */
    const char *http_ca_file;
    char signing_key[512]; /* "": none */
    uint32_t timeout_ms;
    uint32_t concurrency;

    enum rn_letter_kind letters;
    const char *letters_to; /* behind the colon of --dlq */

    const char *name; /* of the processor: --lease-prefix */
    const char *leases;
    runnel_feed_options feed;
    runnel_processor_options processor; /* all but handles and callbacks */

    const char *metrics, *health; /* addresses; NULL: none */
    uint32_t drain_ms;
    bool is_once;
    bool has_lag_limit;
    uint64_t lag_limit;
};

/* Returns an enum rn_exit after the line on standard error. */
int rn_trigger_plan_read(const struct rn_args *args,
                         struct rn_trigger_plan *out) RN_CHECK;

#endif
