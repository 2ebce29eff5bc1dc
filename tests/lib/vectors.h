/* vectors.h -- test vectors: JSON files under tests/vectors.
 *
 * Whatever goes wrong here fails the running test.
 */
#ifndef RN_TEST_VECTORS_H
#define RN_TEST_VECTORS_H

#include "json/json.h"

struct vectors {
    struct rn_buf text;
    struct rn_json json;
    struct rn_arena arena; /* of the strings handed out */
};

void vectors_load(struct vectors *v, const char *file);
void vectors_release(struct vectors *v);

/* The member of that name; it must be there, and a string for the second. */
uint32_t vectors_member(const struct vectors *v, uint32_t object,
                        const char *name);
struct rn_view vectors_string(struct vectors *v, uint32_t object,
                              const char *name);
/* Empty if there is no such member. */
struct rn_view vectors_string_or_none(struct vectors *v, uint32_t object,
                                      const char *name);

enum { VECTORS_SEGMENTS_MAX = 16 };

/* Cuts a path at its slashes and decodes the pieces; returns how many. */
size_t vectors_segments(struct vectors *v, struct rn_view path,
                        struct rn_view out[VECTORS_SEGMENTS_MAX]);

/* Bytes from hexadecimal. */
struct rn_view vectors_bytes(struct vectors *v, struct rn_view hex);

#endif
