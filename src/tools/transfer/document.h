/* document.h -- documents as they are moved: without system properties.
 *
 * The server adds _rid, _self, _etag, _ts, _attachments and, in the change
 * feed, _lsn to the top level of a document.  They belong to the container that
 * stores it, so that a moved document leaves them behind.
 *
 * Values only; any thread.
 */
#ifndef RN_TOOLS_TRANSFER_DOCUMENT_H
#define RN_TOOLS_TRANSFER_DOCUMENT_H

#include "json/json.h"

enum {
    /* Bytes of a document with its system properties; servers take 2 MiB. */
    RN_DOCUMENT_MAX = 16 << 20,
};

/* Appends the parsed document without its system properties. */
enum rn_code rn_document_strip(const struct rn_json *document,
                               struct rn_buf *out) RN_CHECK;

/* Appends the unescaped id and a NUL.  RN_BAD_REQUEST, with the sentence, if
 * the value is not an object with an id that is a string of at least one
 * character. */
enum rn_code rn_document_id(const struct rn_json *document, struct rn_buf *out,
                            struct rn_err *err) RN_CHECK;

/* Is the content the same, whatever the order of members, the spelling of
 * numbers and escapes, and the system properties? */
enum rn_code rn_document_compare(const struct rn_json *a,
                                 const struct rn_json *b,
                                 bool *is_equal) RN_CHECK;

/* The same of two values. */
enum rn_code rn_document_value_compare(const struct rn_json *a, uint32_t at_a,
                                       const struct rn_json *b, uint32_t at_b,
                                       bool *is_equal) RN_CHECK;

#endif
