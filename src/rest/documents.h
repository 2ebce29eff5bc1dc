/* documents.h -- create, read, upsert, replace and delete of single
 * documents. */
#ifndef RN_REST_DOCUMENTS_H
#define RN_REST_DOCUMENTS_H

#include "rest/context.h"

/* Escapes raw control characters in the strings of the body: the service
 * accepts them. */
enum rn_code rn_context_mend_body(struct rn_context *x) RN_CHECK;
/* For a document or a patch as it was sent: if it is in CosmosBinary, `*body`
 * becomes its JSON text, of at most `max` bytes.  In documents.c. */
enum rn_code rn_context_decode(struct rn_context *x, struct rn_view *body,
                               size_t max) RN_CHECK;
static inline RN_CHECK enum rn_code
rn_context_text(struct rn_context *x, struct rn_view *body, size_t max)
{
    return rn_binary_is(*body) ? rn_context_decode(x, body, max) : RN_OK;
}

/* The id of the document on the path, and the number of its rid if the path is
 * by rid, else 0.  RN_NOT_FOUND. */
enum rn_code rn_context_name_document(struct rn_context *x, struct rn_view *id,
                                      uint64_t *number) RN_CHECK;
/* After a write by rid that found no document of that id: does the document
 * exist under another id, which it was given meanwhile? */
bool rn_context_is_renamed(struct rn_context *x);

/* In a container without a partition key definition (old API versions), a
 * request without a key means the documents without one: true, and x->pk is
 * that key.  The path's objects have been found. */
bool rn_context_means_none(struct rn_context *x);
/* A read or a write of one document needs its complete partition key. */
enum rn_code rn_context_whole_key(struct rn_context *x) RN_CHECK;
/* May a document be created whose key is in its body only?  Not with --strict:
 * RN_REASON_KEY_MISMATCH, as for a key with too few components. */
enum rn_code rn_context_missing_key(struct rn_context *x,
                                    struct rn_err *err) RN_CHECK;
enum rn_code rn_context_refuse_triggers(struct rn_context *x) RN_CHECK;
bool rn_context_wants_minimal(const struct rn_context *x);

rn_handler_fn rn_rest_document_create, rn_rest_document_upsert,
    rn_rest_document_read, rn_rest_document_replace, rn_rest_document_delete;
/* The attachments of a document: there are none. */
rn_handler_fn rn_rest_attachment_list;

#endif
