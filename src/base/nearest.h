/* nearest.h -- "did you mean": finds the known word closest to a misspelt one.
 *
 * The distance is Levenshtein's: letters inserted, deleted or replaced.  A swap
 * of two adjacent letters counts as one.  Words of up to RN_NEAREST_MAX bytes.
 */
#ifndef RN_BASE_NEAREST_H
#define RN_BASE_NEAREST_H

#include "base/mem.h"

enum { RN_NEAREST_MAX = 64 };

struct rn_nearest {
    struct rn_view word; /* the misspelt one */
    const char *found;   /* NULL: no word is close */
    unsigned distance;
};

/* Offers a word; it is kept if it is closer than those before, and close
 * enough: one change for each three letters, and at least one. */
void rn_nearest_offer(struct rn_nearest *n, const char *word);

#endif
