/* bloom.h -- which documents a container certainly does not have.
 *
 * Most ids that are to be created are new, and to find that out is the dearest
 * part of a create in a large container: a look-up that ends nowhere.  So for a
 * container that was created since the start a few bits are kept of the key of
 * each document that was ever put: whose bits are not all there is not there.
 * For whose are, and in other containers, one has to look.
 *
 *   - What is added is never taken back.  A put that was undone, or a document
 *     that was deleted, costs a look-up in vain.
 *   - 10 bits a document, in blocks of a cache line.  When a layer is full, one
 *     of eight times its size comes on top.
 *   - It is given up when it would take more than its share of memory, or when
 *     there is none: then one has to look.
 *
 * Thread: the committer's, which is the only one that puts documents.
 */
#ifndef RN_ENGINE_DOCUMENT_BLOOM_H
#define RN_ENGINE_DOCUMENT_BLOOM_H

#include "base/mem.h"

enum {
    RN_BLOOM_LAYERS = 6,           /* up to 13 million documents */
    RN_BLOOMS_BYTES_MAX = 64 << 20 /* of all containers together */
};

struct rn_bloom;

/* Those of all containers.  Zeroed: there is none. */
struct rn_blooms {
    struct rn_bloom **all; /* in the order of their containers' numbers */
    size_t len, room;
    uint64_t bytes;
};
void rn_blooms_release(struct rn_blooms *s);

/* There is a new container, without documents. */
void rn_bloom_begin(struct rn_blooms *s, uint32_t container);
void rn_bloom_end(struct rn_blooms *s, uint32_t container);

/* A document is put there. */
void rn_bloom_add(struct rn_blooms *s, uint32_t container, struct rn_view key);

/* True: none was ever put there.  False says nothing. */
bool rn_bloom_lacks(const struct rn_blooms *s, uint32_t container,
                    struct rn_view key);

#endif
