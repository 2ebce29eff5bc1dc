/* sortkey.h -- bytes that compare as ORDER BY compares values.
 *
 *   undefined  01        null  02       false  03      true  04
 *   number     05 | the nearest double, 8 bytes | what is left of it, 2
 *   string     06 | its bytes | 00 01
 *   array      07        object  08
 *
 * A double's bytes are turned so that they sort; an integer of 64 bits differs
 * from its nearest double by 512 at most.  In a string 00 is 00 FF, and EE and
 * EF, with which the characters begin that sort last in UTF-16, are FE and FF.
 *
 * A string that takes more than it may is cut and ends with 00 02; arrays and
 * objects have nothing but their kind.  Values with the same bytes are then
 * not yet equal: the key is *cut*, and whoever reads it looks at the values.
 *
 * No key is the beginning of another, so several may follow each other.  For a
 * descending order all bytes are complemented.
 *
 * The bytes are kept on disk (engine/index/index.h), so they do not change.
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

/* The first byte of each kind's keys. */
enum rn_sortkey_tag {
    RN_SORTKEY_UNDEFINED = 1,
    RN_SORTKEY_NULL,
    RN_SORTKEY_FALSE,
    RN_SORTKEY_TRUE,
    RN_SORTKEY_NUMBER,
    RN_SORTKEY_STRING,
    RN_SORTKEY_ARRAY,
    RN_SORTKEY_OBJECT,
    RN_SORTKEY_END, /* behind all of them */
};

struct rn_sortkey_form {
    size_t text_max; /* at most RN_SORTKEY_TEXT_MAX */
    bool is_descending;
};

/* Writes the key of a value and tells its length, and whether it was cut. */
size_t rn_sortkey_encode(const struct rn_value *v,
                         const struct rn_sortkey_form *form,
                         char out[RN_SORTKEY_MAX], bool *is_cut);

/* What all strings that begin with `text` begin with. */
size_t rn_sortkey_encode_prefix(struct rn_view text, size_t text_max,
                                char out[RN_SORTKEY_MAX]);

/* The length of the key at the beginning of `bytes`; 0 if there is none. */
size_t rn_sortkey_length(struct rn_view bytes, bool is_descending,
                         bool *is_cut);

#endif
