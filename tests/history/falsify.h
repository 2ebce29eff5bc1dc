/* falsify.h -- the ways in which a wrong server might falsify a history.
 *
 * Each makes one thing wrong, so that the history cannot be true any more.
 */
#ifndef RN_TEST_FALSIFY_H
#define RN_TEST_FALSIFY_H

#include "history/simulated.h"

#include <stdbool.h>

struct falsification {
    const char *name;
    /* Changes one entry, and says false if this one does not fit. */
    bool (*apply)(struct simulated_history *w, struct history_entry *e);
    /* Of 100 made without a restore, so many at least a search finds: it knows
     * nothing of LSNs, so what is in flight at once may be as it is made up. */
    int searched;
};

extern const struct falsification falsifications[];
extern const size_t lie_count;

#endif
