/* damage.h -- one thing that happens to the files of a store.
 *
 * A flipped bit, a page of zeros, two pages in each other's places, an old
 * version of a page, a file cut short, gone, or one too many.
 */
#ifndef RN_TESTS_STORE_DAMAGE_H
#define RN_TESTS_STORE_DAMAGE_H

#include "store_fixture.h"

enum damage_kind {
    DAMAGE_BIT,
    DAMAGE_ZERO,
    DAMAGE_SWAP,
    DAMAGE_STALE,
    DAMAGE_OLD_FILE,
    DAMAGE_CUT,
    DAMAGE_MISSING,
    DAMAGE_JUNK,
    DAMAGE_KINDS
};
extern const char *const damage_names[DAMAGE_KINDS];

struct damage {
    enum damage_kind kind;
    char file[2][TRACKED_NAME]; /* the second only of a swap */
    uint64_t from[2], to[2];
    bool touches_last, in_use;
};

/* Draws one, does it to the files in the fixture's directory, and says of it
 * what it hits. */
void damage_do(struct store_fixture *s, struct tracked_dice *d,
               struct damage *out);

#endif
