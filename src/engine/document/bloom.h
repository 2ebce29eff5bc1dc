/* bloom.h -- blocked Bloom filters over document keys, 10 bits per key: they
 * say that a container certainly does not have a document.
 *
 * Most ids that are to be created are new, and to find that out is the most
 * expensive part of a create in a large container: a look-up without a hit.  So
 * a container that was created since the start has a filter with the key of
 * each document that was ever put.  If not all bits of a key are set, the
 * document does not exist.  Otherwise, and in other containers, a look-up is
 * needed.
 *
 *   - Keys are never removed.  A put that was undone, or a document that was
 *     deleted, costs an unnecessary look-up.
 *   - Blocks are cache lines.  When a layer is full, a layer of eight times its
 *     size is added.
 *   - The filter is dropped when it would take more than its share of memory,
 *     or when an allocation fails: then every key needs a look-up.
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

/* The filters of all containers.  Zeroed: none. */
struct rn_blooms {
    struct rn_bloom **all; /* sorted by container number */
    size_t len, room;
    uint64_t bytes;
};
void rn_blooms_release(struct rn_blooms *s);

/* Starts a filter for a new, empty container. */
void rn_bloom_begin(struct rn_blooms *s, uint32_t container);
void rn_bloom_end(struct rn_blooms *s, uint32_t container);

/* Adds the key of a document. */
void rn_bloom_add(struct rn_blooms *s, uint32_t container, struct rn_view key);

/* True: no such document was ever put.  False: unknown. */
bool rn_bloom_lacks(const struct rn_blooms *s, uint32_t container,
                    struct rn_view key);

#endif
