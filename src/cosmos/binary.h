/* binary.h -- CosmosBinary: decodes the binary JSON of some clients into text.
 *
 * The Rust client sends items in this format by default, the .NET client if it
 * is configured to.  A body is the byte 80 and one value; a value is a marker
 * and its payload.  Integers are little endian; lengths count the bytes that
 * follow:
 *
 *   00..1f  that number           20..3f  a word of the system dictionary
 *   40..67  a word of a user dictionary, which no client sends: refused
 *   71..74  base64: groups (1 or 2 bytes), padding, the decoded bytes; 73, 74
 *           in the URL alphabet.  Padding of 3 or more is the complement of
 *           the padding that was omitted
 *   75..77  a GUID's digits: lower, upper, lower in quotes
 *   78..7a  characters (1 byte), 4 bits each: lower hex, upper hex, date
 *   7b..7d  characters (1), the lowest of them, 4, 5 or 6 bits each above it
 *   7e 7f   characters (1 or 2), 7 bits each
 *   80..bf  text of so many bytes        c0..c2  of 1, 2, 4 bytes' length
 *   c3..c6  a reference: the offset in the body of the marker of a text
 *   c7..ce  u64 u8 i16 i32 i64 double float double
 *   d0..d3  null false true, a GUID      d7..dc  u8 i8 i16 i32 i64 u32
 *   dd..df  bytes, of 1, 2, 4 bytes' length: base64 in text
 *   e0..e7  array: none, one, length (1, 2, 4), length and count (1, 2, 4)
 *   e8..ef  object: likewise; a member is its name and its value
 *   f0 f1   numbers: their marker, count (1 or 2), each without its marker
 *   f2 f3   arrays of those: f0 or f1, the numbers' marker, their count, the
 *           arrays' count
 *
 * Bits are packed from the lowest up, and so are the digits in a byte.
 *
 * Decoding is strict: every length and count must be exact, text must be UTF-8,
 * numbers finite, and no bytes may be left over.  A reference points back, and
 * never to another reference.  Time and memory are linear in the body and in
 * the ceiling of `out`; the nesting limit is that of JSON text.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_BINARY_H
#define RN_COSMOS_BINARY_H

#include "base/mem.h"

enum { RN_BINARY_DEPTH_MAX = 128 }; /* the default of json/json.h */

/* Recognized by its first byte, with which no UTF-8 text begins. */
static inline bool rn_binary_is(struct rn_view body)
{
    return body.len > 0 && (unsigned char)body.at[0] == 0x80;
}

/* Appends the body's value as JSON text.  A name may occur twice in an object,
 * as in text.  RN_BAD_REQUEST, with a message that says where; RN_TOO_LARGE at
 * the ceiling of `out` and RN_NOMEM, both without a message; `out` then has
 * partial output. */
enum rn_code rn_binary_decode(struct rn_view body, struct rn_buf *out,
                              struct rn_err *err) RN_CHECK;

#endif
