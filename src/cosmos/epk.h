/* epk.h -- effective partition keys (EPKs): the hash that assigns a key to a
 * range.
 *
 * A key is hashed to a byte string, its EPK, and EPKs are ordered as bytes,
 * shorter first.  A partition range owns an interval of them; the whole
 * container is "" to FF.  Clients compute EPKs too, to find the range of a key,
 * so the bytes must be the service's:
 *
 *   Hash, version 2   MurmurHash3 x64_128 of all components, reversed, its two
 *                     top bits cleared: 16 bytes
 *   Hash, version 1   MurmurHash3 x86_32 as a number, then the components, both
 *                     in an order-preserving encoding; strings are truncated
 *   MultiHash         one block of 16 bytes for each component
 *   Range             the components in that encoding, without a hash
 *
 * Different keys may share an EPK (version 1 truncates strings at about 100
 * bytes).
 *
 * In headers and in pkranges an EPK is in upper-case hexadecimal.  Values only;
 * any thread.
 */
#ifndef RN_COSMOS_EPK_H
#define RN_COSMOS_EPK_H

#include "cosmos/pk.h"
#include "cosmos/pkdef.h"

enum {
    RN_EPK_MAX = 128,          /* version 1 with a long string needs 110 */
    RN_EPK_TEXT_MAX = 2 * 128, /* there is no NUL */
};

struct rn_epk {
    size_t len;
    unsigned char bytes[RN_EPK_MAX];
};

/* min <= epk < max */
struct rn_epk_range {
    struct rn_epk min, max;
};

/* From "" to FF. */
extern const struct rn_epk_range rn_epk_all;

static inline struct rn_view rn_epk_view(const struct rn_epk *e)
{
    return rn_view_of(e->bytes, e->len);
}

static inline int rn_epk_compare(const struct rn_epk *a, const struct rn_epk *b)
{
    return rn_view_compare(rn_epk_view(a), rn_epk_view(b));
}

static inline bool rn_epk_range_has(const struct rn_epk_range *range,
                                    struct rn_view epk)
{
    return rn_view_compare(rn_epk_view(&range->min), epk) <= 0 &&
           rn_view_compare(epk, rn_epk_view(&range->max)) < 0;
}

/* The intersection; false, with nothing written, if it is empty. */
bool rn_epk_range_meet(const struct rn_epk_range *a,
                       const struct rn_epk_range *b, struct rn_epk_range *out);

/* The EPK of a key that fits the definition.  For a prefix, the EPK of its
 * blocks, which sorts before all keys with that prefix. */
void rn_epk_of(const struct rn_pkdef *def, const struct rn_pk *pk,
               struct rn_epk *out);

/* The interval of a key's EPKs: only its own, or for a prefix of a hierarchical
 * key those of every key with that prefix. */
void rn_epk_range_of(const struct rn_pkdef *def, const struct rn_pk *pk,
                     struct rn_epk_range *out);

/* For tests of the hash, with any number of components, beyond what a
 * definition allows.  RN_TOO_LARGE if they or the EPK exceed all bounds. */
enum rn_code rn_epk_hash(enum rn_pkdef_kind kind, uint32_t version,
                         const struct rn_pk_value *values, size_t count,
                         struct rn_epk *out) RN_CHECK;

struct rn_view rn_epk_print(const struct rn_epk *e, char out[RN_EPK_TEXT_MAX]);

/* Parses hexadecimal, in either case as old clients send it.  Empty is the
 * lowest EPK. */
enum rn_code rn_epk_parse(struct rn_view text, struct rn_epk *out,
                          struct rn_err *err) RN_CHECK;

/* ---- splitting ----------------------------------------------------------- */

/* The lower bound of the `i`-th of `n` intervals that share the keys evenly; 0
 * < i < n.  False without a hash: the distribution of such keys is unknown. */
bool rn_epk_even(const struct rn_pkdef *def, uint32_t i, uint32_t n,
                 struct rn_epk *out);

/* A bound that halves the keys of a range.  False if there is none between its
 * ends. */
bool rn_epk_middle(const struct rn_pkdef *def, const struct rn_epk_range *range,
                   struct rn_epk *out);

#endif
