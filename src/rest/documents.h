/* documents.h -- documents, one at a time. */
#ifndef RN_REST_DOCUMENTS_H
#define RN_REST_DOCUMENTS_H

#include "rest/context.h"

/* Escapes control characters that stand as they are in strings of the body: the
 * service takes them. */
enum rn_code rn_context_mend_body(struct rn_context *x) RN_CHECK;
/* A document, or a patch, as it was sent: if that is in CosmosBinary, `*body`
 * becomes its text, of at most `max` bytes.  In documents.c. */
enum rn_code rn_context_decode(struct rn_context *x, struct rn_view *body,
                               size_t max) RN_CHECK;
static inline RN_CHECK enum rn_code
rn_context_text(struct rn_context *x, struct rn_view *body, size_t max)
{
    return rn_binary_is(*body) ? rn_context_decode(x, body, max) : RN_OK;
}

/* The id of the document that the path names, and the number of
 * its rid, if that is how it does, else 0.  RN_NOT_FOUND. */
enum rn_code rn_context_name_document(struct rn_context *x, struct rn_view *id,
                                      uint64_t *number) RN_CHECK;
/* A write by rid has found nothing under that id: is the document there, under
 * another that it was given meanwhile? */
bool rn_context_is_renamed(struct rn_context *x);

/* In a container from the time before partition keys, a request
 * that names none means the documents that have none: true, and x->pk is that
 * key.  What the path names has been found. */
bool rn_context_means_none(struct rn_context *x);
/* A read or a write of one document needs its whole key. */
enum rn_code rn_context_whole_key(struct rn_context *x) RN_CHECK;
/* May a document be made whose key only its body says?  Not with --strict:
 * RN_REASON_KEY_MISMATCH, as of a key that has too few components. */
enum rn_code rn_context_missing_key(struct rn_context *x,
                                    struct rn_err *err) RN_CHECK;
enum rn_code rn_context_refuse_triggers(struct rn_context *x) RN_CHECK;
bool rn_context_wants_minimal(const struct rn_context *x);

#endif
