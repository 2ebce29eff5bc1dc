/* binary_text.h -- decodes the strings of CosmosBinary; its markers and the
 * input cursor, which binary.c uses too. */
#ifndef RN_COSMOS_BINARY_TEXT_H
#define RN_COSMOS_BINARY_TEXT_H

#include "base/mem.h"

#include <stdint.h>

enum rn_binary_marker {
    RN_BIN_WORD = 0x20,
    RN_BIN_USER_WORD = 0x40,
    RN_BIN_NO_STRING = 0x68, /* up to 0x70 */
    RN_BIN_BASE64_1 = 0x71,
    RN_BIN_BASE64_2,
    RN_BIN_BASE64_URL_1,
    RN_BIN_BASE64_URL_2,
    RN_BIN_GUID_LOWER,
    RN_BIN_GUID_UPPER,
    RN_BIN_GUID_QUOTED,
    RN_BIN_HEX_LOWER,
    RN_BIN_HEX_UPPER,
    RN_BIN_DATE,
    RN_BIN_PACKED_4,
    RN_BIN_PACKED_5,
    RN_BIN_PACKED_6,
    RN_BIN_PACKED_7_1,
    RN_BIN_PACKED_7_2,
    RN_BIN_TEXT, /* 64 of them */
    RN_BIN_TEXT_1 = 0xc0,
    RN_BIN_TEXT_2,
    RN_BIN_TEXT_4,
    RN_BIN_BACK_1,
    RN_BIN_BACK_2,
    RN_BIN_BACK_3,
    RN_BIN_BACK_4,
    RN_BIN_NUMBER_U64,
    RN_BIN_NUMBER_U8,
    RN_BIN_NUMBER_I16,
    RN_BIN_NUMBER_I32,
    RN_BIN_NUMBER_I64,
    RN_BIN_NUMBER_DOUBLE,
    RN_BIN_FLOAT32,
    RN_BIN_FLOAT64,
    RN_BIN_LITERAL_NULL = 0xd0,
    RN_BIN_LITERAL_FALSE,
    RN_BIN_LITERAL_TRUE,
    RN_BIN_GUID,
    RN_BIN_UINT8 = 0xd7,
    RN_BIN_INT8,
    RN_BIN_INT16,
    RN_BIN_INT32,
    RN_BIN_INT64,
    RN_BIN_UINT32,
    RN_BIN_BYTES_1,
    RN_BIN_BYTES_2,
    RN_BIN_BYTES_4,
    RN_BIN_ARRAY_0,
    RN_BIN_ARRAY_1,
    RN_BIN_ARRAY_L1,
    RN_BIN_ARRAY_LC1 = 0xe5,
    RN_BIN_OBJECT_0 = 0xe8,
    RN_BIN_NUMBERS_1 = 0xf0,
    RN_BIN_NUMBERS_2,
    RN_BIN_ARRAYS_1,
    RN_BIN_ARRAYS_2,
};

/* A body, and the read position.  `end` is the end of the innermost container,
 * so that no read can leave it. */
struct rn_binary {
    const unsigned char *bytes;
    size_t at, end, len;
    struct rn_buf text; /* a decoded string */
    struct rn_err *err;
};

enum rn_code rn_binary_refuse(struct rn_binary *b, size_t at, const char *why);
/* Fails because the container ends too early. */
enum rn_code rn_binary_refuse_short(struct rn_binary *b);

/* The next `len` bytes, or NULL if the container ends before them. */
static inline const unsigned char *rn_binary_take(struct rn_binary *b,
                                                  uint64_t len)
{
    const unsigned char *at = b->bytes + b->at;

    if (len > b->end - b->at)
        return NULL;
    b->at += (size_t)len;
    return at;
}

/* An unsigned integer of 1, 2, 3 or 4 bytes. */
static inline bool rn_binary_take_uint(struct rn_binary *b, unsigned width,
                                       uint32_t *out)
{
    const unsigned char *at = rn_binary_take(b, width);

    if (!at)
        return false;
    *out = 0;
    for (unsigned i = 0; i < width; i++)
        *out |= (uint32_t)at[i] << 8 * i;
    return true;
}

static inline bool rn_binary_is_string(unsigned marker)
{
    return marker >= RN_BIN_WORD && marker <= RN_BIN_BACK_4;
}

/* Reads a value that is a string in text: with one of is_string's markers, a
 * GUID, or bytes.  The marker was at b->at - 1; the view is valid until the
 * next call. */
enum rn_code rn_binary_read_text(struct rn_binary *b, unsigned marker,
                                 struct rn_view *out) RN_CHECK;

#endif
