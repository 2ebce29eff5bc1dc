/* reply.h -- responses: common headers, error bodies, request charges. */
#ifndef RN_REST_REPLY_H
#define RN_REST_REPLY_H

#include "rest/context.h"

#define RN_GATEWAY_VERSION "version=2.14.0" /* in every answer */

/* Each completes the answer and returns RN_REST_DONE, so that answering is one
 * statement. */
enum rn_rest_step rn_reply_fail(struct rn_context *x, enum rn_code rc);
/* To be called before it: records the store's error of a failed read, if x->err
 * is empty, for the server log. */
void rn_reply_blame(struct rn_context *x, const struct rn_snapshot *r,
                    enum rn_code rc);
/* Prints the body of an error; `why` is no longer than an rn_err's text. */
void rn_reply_print_error(struct rn_call *call, const char *word,
                          const char *why);
enum rn_rest_step rn_reply_empty(struct rn_context *x, int status);
/* The body is call->body. */
enum rn_rest_step rn_reply_json(struct rn_context *x, int status);

void rn_reply_header(struct rn_context *x, const char *name,
                     struct rn_view value);
void rn_reply_text(struct rn_context *x, const char *name, const char *value);
void rn_reply_number(struct rn_context *x, const char *name, uint64_t value);
/* Adds the headers that every answer has. */
void rn_reply_common(struct rn_context *x);
enum { RN_RETRY_AFTER_MS = 50 }; /* sent with 429 */
void rn_reply_charge(struct rn_context *x, double units);
/* Adds the duration in milliseconds; called when all else is complete. */
void rn_reply_duration(struct rn_context *x, int64_t ns);
void rn_reply_etag(struct rn_context *x, struct rn_etag etag);
/* x-ms-content-path and x-ms-alt-content-path: the owner of this resource. */
void rn_reply_owner(struct rn_context *x);
/* Session token and LSNs of a range. */
void rn_reply_place(struct rn_context *x, const struct rn_document_place *p);
/* The schema version; rn_reply_place adds it too. */
void rn_reply_schema(struct rn_context *x);

/* Request charges; docs/operations.md has the formula. */
#define RN_CHARGE_METADATA 1.0 /* a read of metadata, or an error */
#define RN_CHARGE_METADATA_WRITE 5.0
#define RN_CHARGE_THROTTLED 0.38
double rn_charge_read(size_t bytes);  /* one document */
double rn_charge_page(size_t bytes);  /* documents of a list or a feed */
double rn_charge_write(size_t bytes); /* the document as stored; 0: deleted */
double rn_charge_query(size_t bytes); /* documents examined */

#endif
