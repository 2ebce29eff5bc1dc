/* reply.h -- the answer: common headers, error bodies, charges. */
#ifndef RN_REST_REPLY_H
#define RN_REST_REPLY_H

#include "rest/context.h"

#define RN_GATEWAY_VERSION "version=2.14.0" /* in every answer */

/* Each completes the answer and says RN_REST_DONE, so that answering is one
 * statement. */
enum rn_rest_step rn_reply_fail(struct rn_context *x, enum rn_code rc);
/* Before it: what a read met in the store, if nobody has said so.  For the
 * log. */
void rn_reply_blame(struct rn_context *x, const struct rn_snapshot *r,
                    enum rn_code rc);
/* The body of a refusal; `why` is no longer than an error's text. */
void rn_reply_print_error(struct rn_call *call, const char *word,
                          const char *why);
enum rn_rest_step rn_reply_empty(struct rn_context *x, int status);
/* With call->body as the body. */
enum rn_rest_step rn_reply_json(struct rn_context *x, int status);

void rn_reply_header(struct rn_context *x, const char *name,
                     struct rn_view value);
void rn_reply_text(struct rn_context *x, const char *name, const char *value);
void rn_reply_number(struct rn_context *x, const char *name, uint64_t value);
/* The headers every answer has. */
void rn_reply_common(struct rn_context *x);
enum { RN_RETRY_AFTER_MS = 50 }; /* told with 429 */
void rn_reply_charge(struct rn_context *x, double units);
/* How long it took, in milliseconds: when all else is known. */
void rn_reply_duration(struct rn_context *x, int64_t ns);
void rn_reply_etag(struct rn_context *x, struct rn_etag etag);
/* x-ms-content-path and x-ms-alt-content-path: whose child this is. */
void rn_reply_owner(struct rn_context *x);
/* Session token and LSNs of a range. */
void rn_reply_place(struct rn_context *x, const struct rn_document_place *p);
/* Which form resources have; rn_reply_place says it too. */
void rn_reply_schema(struct rn_context *x);

/* What an operation costs; docs/operations.md has the formula. */
#define RN_CHARGE_METADATA 1.0 /* a read of it; also whatever is refused */
#define RN_CHARGE_METADATA_WRITE 5.0
#define RN_CHARGE_THROTTLED 0.38
double rn_charge_read(size_t bytes);  /* of a document */
double rn_charge_page(size_t bytes);  /* of documents in a list or a feed */
double rn_charge_write(size_t bytes); /* of the document as stored; 0: gone */
double rn_charge_query(size_t bytes); /* of the documents looked at */

#endif
