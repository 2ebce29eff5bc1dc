/* base64.h -- base64 (RFC 4648) in three alphabets, with strict decoding.
 *
 * Account keys and signatures use the standard alphabet, tokens the URL-safe
 * one, Cosmos resource ids the standard one with '-' in place of '/'.
 *
 * Decoding faces the network and is strict: a letter of another alphabet, white
 * space, missing or surplus padding, and non-zero trailing bits are refused
 * unless a flag below allows them.  Otherwise two spellings would name one
 * resource.
 *
 * No allocation; any thread.
 */
#ifndef RN_BASE_BASE64_H
#define RN_BASE_BASE64_H

#include "base/mem.h"

enum {
    /* One alphabet ... */
    RN_BASE64_STANDARD = 0, /* ends in + / */
    RN_BASE64_URL = 1,      /* ends in - _ */
    RN_BASE64_RID = 2,      /* ends in + - */
    /* ... and any of these. */
    RN_BASE64_BARE = 4,        /* no padding: none written, none accepted */
    RN_BASE64_PAD_EITHER = 8,  /* decoding: with padding or without */
    RN_BASE64_LOOSE_BITS = 16, /* decoding: the last bits need not be zero */
};

/* The letters for `n` bytes: at most so many, exactly so many with padding. */
#define RN_BASE64_LEN(n) (((n) + 2) / 3 * 4)

/* Writes at most RN_BASE64_LEN(bytes.len) letters, no NUL, and returns a view
 * of them. */
struct rn_view rn_base64_encode(struct rn_view bytes, unsigned how, char *out);

/* Fails with RN_BAD_REQUEST if `text` is not base64 as `how` demands, and with
 * RN_TOO_LARGE if it holds more than `room` bytes; both leave `*len` alone. */
enum rn_code rn_base64_decode(struct rn_view text, unsigned how, void *out,
                              size_t room, size_t *len) RN_CHECK;

#endif
