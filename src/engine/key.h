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
 *   c | 'v' | range | lsn | n      -> old and new version     all versions
 *   c | 't' | expiry | rid         -> nothing                 with a ttl
 *   c | 'r' | range                -> range row               LSN, counters
 *   c | 'x' | index | keys | rid   -> epk | idkey             see index.h
 *   0 | 'm' | kind | owner | hash  -> rid                     by name
 *   0 | 'o' | kind | rid           -> catalog object
 *   0 | 'n'                        -> the catalog's counters
 *   0 | 'p' | number | epk | ...   -> a key whose documents are to be deleted
 *   0 | 'x' | number               -> a deleted container whose keys remain
 *   0 | 'y' | database             -> a deleted database whose objects remain
 *   0 | 'h' | number               -> a container with dead ranges to drain
 *   0 | 'e'                        -> restores for which LSNs were raised
 *   0 | 'j' | number | index       -> an index of a container
 *
 * epk     escaped (00 becomes 00 FF) and ended by 00 01, so that it sorts and
 *         no byte after it can be taken for a part of it
 * idkey   64 bits of hash of the full key value, because different values may
 *         have one EPK: version 1 cuts strings, and for version 2 a string that
 *         has the EPK of another is found in a second.  An attacker finds two
 *         values with the same hash within hours: rn_key_may_be_shared.  Then
 *         the id; of an id longer than 200 bytes, its first 169 bytes and 256
 *         bits of two hashes
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

/* Tags of keys of the catalog that begin with a number (rn_key_catalog). */
enum {
    RN_TAG_DELETE_PARTITION = 'p',
    RN_TAG_DROP_CONTAINER = 'x',
    RN_TAG_DROP_DATABASE = 'y',
    RN_TAG_REHOME = 'h',
    RN_TAG_RESTORED = 'e', /* has no number */
    RN_TAG_INDEXED = 'j',
};

struct rn_key {
    size_t len;
    char bytes[RN_BOUND_MAX];
};

static inline struct rn_view rn_key_view(const struct rn_key *k)
{
    return rn_view_of(k->bytes, k->len);
}

/* The key interval [from, before) of a container, or of one tag of it. */
void rn_key_span_container(uint32_t c, struct rn_key *from,
                           struct rn_key *before);
void rn_key_span_tag(uint32_t c, char tag, struct rn_key *from,
                     struct rn_key *before);

/* With an empty `id`: the lower bound of the documents of that EPK. */
void rn_key_document(uint32_t c, const struct rn_epk *epk,
                     const struct rn_pk *pk, struct rn_view id,
                     struct rn_key *out);
/* Can another key value have the same EPK and the same hash?  Then the stored
 * document must be compared with the full value (rn_document_has_key).  Short
 * values never collide: version 1 keeps them uncut, version 2 hashes a block
 * one to one into as many bits. */
bool rn_key_may_be_shared(const struct rn_pk *pk);
/* The lower bound of the documents whose EPK is not less than this one. */
void rn_key_document_bound(uint32_t c, const struct rn_epk *epk,
                           struct rn_key *out);
void rn_key_feed(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                 struct rn_key *out);
void rn_key_history(uint32_t c, uint32_t range, uint64_t lsn, uint32_t n,
                    struct rn_key *out);
void rn_key_rid(uint32_t c, uint64_t number, struct rn_key *out);
void rn_key_time(uint32_t c, int64_t expiry, uint64_t rid, struct rn_key *out);
void rn_key_range(uint32_t c, uint32_t range, struct rn_key *out);
/* `hash` is over the values of the container's unique key number `key`; the
 * caller adds the document's rid. */
void rn_key_unique(uint32_t c, struct rn_view epk, uint32_t key,
                   struct rn_hash128 hash, struct rn_key *out);
void rn_key_add_rid(struct rn_key *k, uint64_t rid);
/* The prefix of the rows of an index; the caller adds the sort keys and the
 * rid. */
void rn_key_index(uint32_t c, uint8_t index, struct rn_key *out);
void rn_key_object(enum rn_kind kind, struct rn_rid rid, struct rn_key *out);
/* A name may have any length, so the key holds its 128-bit hash. */
void rn_key_name(enum rn_kind kind, struct rn_rid owner, struct rn_view id,
                 struct rn_key *out);
void rn_key_counters(struct rn_key *out);
/* 0 | tag | number, the whole key or its beginning. */
void rn_key_catalog(char tag, uint32_t number, struct rn_key *out);

/* Copies the first keys of [from, before), at most `most`: a cursor may not
 * stay open while they are deleted. */
enum rn_code rn_key_collect(struct rn_txn *txn, const struct rn_key *from,
                            const struct rn_key *before, struct rn_key *out,
                            size_t most, size_t *count) RN_CHECK;

#endif
