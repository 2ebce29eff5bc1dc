/* report.h -- how a command fails: one line on standard error, and a status.
 *
 * The line is "runnel NAME: what and where".  Every function returns the exit
 * status, so that failing is one statement.  Any thread.
 */
#ifndef RN_TOOLS_COMMON_REPORT_H
#define RN_TOOLS_COMMON_REPORT_H

#include "base/err.h"
#include "tools/tool.h"

#include <runnel/runnel.h>
#include <stdio.h>

/* Sets NAME; before there are threads. */
void rn_report_name(const char *name);

int rn_report(enum rn_exit status, const char *fmt, ...) RN_PRINTF(2, 3);
/* Failures of the modules base and json. */
int rn_report_err(const struct rn_err *err);
/* Failures of librunnel.  A call that was cancelled by a signal is not reported
 * and gives RN_EXIT_INTERRUPTED. */
int rn_report_error(const runnel_error *error);
/* The same, behind the place where it happened: "line 7: ...". */
int rn_report_error_at(const runnel_error *error, const char *fmt, ...)
    RN_PRINTF(2, 3);
/* The sentence in a server's message, which may be wrapped in JSON that was cut
 * off: 'Message: {"Errors":["TEXT. Learn more: URL"]}'.  Lent by `error`. */
struct rn_view rn_report_sentence(const runnel_error *error);

struct rn_target;
/* The same of a request to the account's container, or to the document `id` in
 * it (NULL: none): what was not found is named. */
int rn_report_request(const runnel_error *error, const struct rn_target *target,
                      const char *id);

/* The exit status for a code of librunnel. */
enum rn_exit rn_exit_of(runnel_code code);

/* Walks the documented exit statuses in ascending order; NULL at the end. */
const char *rn_exit_next(size_t *i, enum rn_exit *status);

#endif
