/* sortkey.h -- order-preserving encoding of values: the bytes compare as ORDER
 * BY compares the values.
 *
 *   undefined  01        null  02       false  03      true  04
 *   number     05 | the nearest double, 8 bytes | what is left of it, 2
 *   string     06 | its bytes | 00 01
 *   array      07        object  08
 *
 * A double's bits are transformed so that they sort as bytes; a 64-bit integer
 * differs from its nearest double by 512 at most.  In a string, 00 is written
 * as 00 FF; the lead bytes EE and EF, whose characters sort last in UTF-16, are
 * written as FE and FF.
 *
 * A string that exceeds its limit is truncated and ends with 00 02; arrays and
 * objects are only their kind.  Equal bytes then do not imply equal values: the
 * key is *cut*, and its reader must compare the values themselves.
 *
 * No key is a prefix of another, so keys can be concatenated.  For a descending
 * order all bytes are complemented.
 *
 * The encoding is an on-disk format (engine/index/index.h) and does not change.
 *
 * Threads: values only.
 */
#ifndef RN_QUERY_RUN_SORTKEY_H
#define RN_QUERY_RUN_SORTKEY_H

#include "query/run/value.h"

enum {
    RN_SORTKEY_TEXT_MAX = 256, /* bytes of a string, escapes included */
    RN_SORTKEY_MAX = 1 + RN_SORTKEY_TEXT_MAX + 2,
};

/* The first byte of a key, by kind. */
enum rn_sortkey_tag {
    RN_SORTKEY_UNDEFINED = 1,
    RN_SORTKEY_NULL,
    RN_SORTKEY_FALSE,
    RN_SORTKEY_TRUE,
    RN_SORTKEY_NUMBER,
    RN_SORTKEY_STRING,
    RN_SORTKEY_ARRAY,
    RN_SORTKEY_OBJECT,
    RN_SORTKEY_END, /* above all of them */
};

struct rn_sortkey_form {
    size_t text_max; /* at most RN_SORTKEY_TEXT_MAX */
    bool is_descending;
};

/* Writes the key of a value; returns its length, and whether it was cut. */
size_t rn_sortkey_encode(const struct rn_value *v,
                         const struct rn_sortkey_form *form,
                         char out[RN_SORTKEY_MAX], bool *is_cut);

/* Writes the common prefix of the keys of all strings that start with
 * `text`. */
size_t rn_sortkey_encode_prefix(struct rn_view text, size_t text_max,
                                char out[RN_SORTKEY_MAX]);

/* The length of the key at the start of `bytes`; 0 if it is invalid. */
size_t rn_sortkey_length(struct rn_view bytes, bool is_descending,
                         bool *is_cut);

#endif
