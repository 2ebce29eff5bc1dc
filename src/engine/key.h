/* key.h -- the layout of keys in the store.
 *
 * All integers big endian, so that keys sort as numbers do.  `c` is the
 * container's number, never used twice; 0 is the catalog.
 *
 *   c | 'd' | epk | idkey          -> rid, range, lsn, n      latest version
 *   c | 'f' | range | lsn | n      -> header, JSON as served  bodies, in feed
 *                                                             order
 *   c | 'i' | rid                  -> epk | idkey             by rid
 *   c | 'u' | epk | key | hash | rid  -> nothing              unique keys
 *   c | 'v' | range | lsn | n      -> what it was, and is     all versions
 *   c | 't' | expiry | rid         -> nothing                 those with a ttl
 *   c | 'r' | range                -> range row               LSN, counters
 *   c | 'x' | index | keys | rid   -> epk | idkey             see index.h
 *   0 | 'm' | kind | owner | hash  -> rid                     by name
 *   0 | 'o' | kind | rid           -> catalog object
 *   0 | 'n'                        -> the catalog's counters
 *   0 | 'p' | number | epk | ...   -> a key whose documents must go
 *   0 | 'x' | number               -> a container whose keys must go
 *   0 | 'y' | database             -> a database whose objects must go
 *   0 | 'h' | number               -> one with dead ranges that are not empty
 *   0 | 'e'                        -> how many restores have been seen to
 *   0 | 'j' | number | index       -> an index of a container
 *
 * epk     escaped (00 becomes 00 FF) and ended by 00 01, so that it sorts and
 *         what follows it cannot be taken for a part of it
 * idkey   64 bits of hash of the whole key value, because different values may
 *         have one EPK: version 1 cuts strings, and for version 2 a string that
 *         has the EPK of another is found in a second.  Who tries for hours
 *         finds two with one hash as well: rn_key_may_be_shared.  Then the id,
 *         or if it is longer than 200 bytes its first 169 and 256 bits of two
 *         hashes
 *
 * No key is longer than RN_KEY_MAX: version 1 makes EPKs of up to 110 bytes.
 */
#ifndef RN_ENGINE_KEY_H
#define RN_ENGINE_KEY_H

#include "base/hash.h"
#include "cosmos/epk.h"
#include "cosmos/rid.h"
#include "store/store.h"

enum {
    RN_CATALOG_NUMBER = 0,
    RN_TAG_DOCUMENT = 'd',
    RN_TAG_FEED = 'f',
    RN_TAG_RID = 'i',
    RN_TAG_RANGE = 'r',
    RN_TAG_TIME = 't',
    RN_TAG_UNIQUE = 'u',
    RN_TAG_HISTORY = 'v',
    RN_TAG_INDEX = 'x',
    RN_TAG_OBJECT = 'o',
    RN_TAG_COUNTERS = 'n',
    RN_TAG_NAME = 'm',
    RN_KEY_HEAD = 5, /* container and tag */
};

struct rn_key {
    size_t len;
    char bytes[RN_BOUND_MAX];
};

static inline struct rn_view rn_key_view(const struct rn_key *k)
{
    return rn_view_of(k->bytes, k->len);
}

/* Everything of a container, or of one tag of it: from .. before. */
void rn_key_span_container(uint32_t c, struct rn_key *from,
                           struct rn_key *before);
void rn_key_span_tag(uint32_t c, char tag, struct rn_key *from,
                     struct rn_key *before);

/* `id` empty: where documents of that EPK begin. */
void rn_key_document(uint32_t c, const struct rn_epk *epk,
                     const struct rn_pk *pk, struct rn_view id,
                     struct rn_key *out);
/* May another key value have the same EPK and the same hash?  Then what lies
 * there is compared with the value that is meant (rn_document_has_key).  Short
 * values differ in their EPK: version 1 has them whole, version 2 hashes a
 * block into as many bits, one to one. */
bool rn_key_may_be_shared(const struct rn_pk *pk);
/* Where documents of EPKs not less than this begin. */
void rn_key_document_bound(uint32_t c, const struct rn_epk *epk,
                           struct rn_key *out);
void rn_key_feed(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                 struct rn_key *out);
void rn_key_history(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                    struct rn_key *out);
void rn_key_rid(uint32_t c, uint64_t number, struct rn_key *out);
void rn_key_time(uint32_t c, int64_t expiry, uint64_t rid, struct rn_key *out);
void rn_key_range(uint32_t c, uint32_t range, struct rn_key *out);
/* `hash` is of the values of the container's unique key number `key`; the
 * document's rid is yet to be added. */
void rn_key_unique(uint32_t c, struct rn_view epk, uint32_t key,
                   struct rn_hash128 hash, struct rn_key *out);
void rn_key_add_rid(struct rn_key *k, uint64_t rid);
/* Where the rows of an index begin; sort keys and the rid are yet to be added.
 */
void rn_key_index(uint32_t c, uint8_t index, struct rn_key *out);
void rn_key_object(enum rn_kind kind, struct rn_rid rid, struct rn_key *out);
/* Names are as long as they like, so their 128-bit hash stands for them. */
void rn_key_name(enum rn_kind kind, struct rn_rid owner, struct rn_view id,
                 struct rn_key *out);
void rn_key_counters(struct rn_key *out);

#endif
