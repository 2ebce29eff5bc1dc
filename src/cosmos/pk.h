/* pk.h -- partition key values: the identity of a logical partition.
 *
 * A key has one component, or up to three in a container with a hierarchical
 * key; fewer are a prefix, which means all keys that start with it.  It is sent
 * in x-ms-documentdb-partitionkey, and in batches, as a JSON array:
 *
 *   ["p1"]  [1.5]  [true]  [null]     one component
 *   [{}]                              undefined: the document has no such path
 *   []                                no component at all
 *   ["x",2]  ["x",{}]                 hierarchical
 *
 * Components are equal if they have the same type and, for numbers, the same
 * double: 1 and 1.0 are equal; "1" and 1 are not, nor are 0 and -0, because
 * their hashes differ.
 *
 * Text in a key is borrowed from its source or from the given arena.  Any
 * thread.
 */
#ifndef RN_COSMOS_PK_H
#define RN_COSMOS_PK_H

#include "base/mem.h"

enum {
    RN_PK_MAX = 3,          /* components */
    RN_PK_TEXT_MAX = 2048,  /* bytes of all strings of a key together */
    RN_PK_BYTES_MAX = 2080, /* of the encoded form */
};

/* The numbers are part of the hash input. */
enum rn_pk_type {
    RN_PK_UNDEFINED = 0,
    RN_PK_NULL = 1,
    RN_PK_FALSE = 2,
    RN_PK_TRUE = 3,
    RN_PK_NUMBER = 5,
    RN_PK_STRING = 8,
};

struct rn_pk_value {
    enum rn_pk_type type;
    double number;
    struct rn_view text;
};

struct rn_pk {
    size_t count;
    struct rn_pk_value values[RN_PK_MAX];
};

/* Parses the header's text.  Strings are copied into the arena only if they had
 * to be unescaped.  Besides JSON's escapes it accepts those of Go (\x41, \a,
 * \v, \U0001f600), whose client writes them. */
enum rn_code rn_pk_parse(struct rn_view text, struct rn_arena *arena,
                         struct rn_pk *out, struct rn_err *err) RN_CHECK;

/* Appends the header's text, in ASCII. */
enum rn_code rn_pk_print(const struct rn_pk *pk, struct rn_buf *out) RN_CHECK;

/* RN_BAD_REQUEST if the strings are longer than a key may be. */
enum rn_code rn_pk_check_size(const struct rn_pk *pk,
                              struct rn_err *err) RN_CHECK;

bool rn_pk_eq(const struct rn_pk *a, const struct rn_pk *b);

/* The stored encoding; bytes are equal exactly if the keys are:
 *
 *   key      = count, component*
 *   string   = 08, length (16 bits, big endian), bytes
 *   number   = 05, the double's 64 bits, big endian
 *   others   = the type
 *
 * Returns the length.  The key's size must have been checked. */
size_t rn_pk_encode(const struct rn_pk *pk, char out[RN_PK_BYTES_MAX]);

/* Decodes the output of encode; strings are borrowed from `bytes`.  False if
 * the bytes are malformed. */
bool rn_pk_decode(struct rn_view bytes, struct rn_pk *out);

#endif
