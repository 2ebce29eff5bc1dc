/* bug.h -- the wrong variants of store/bug.h, for those above the engine too:
 * what a change feed might do, to prove that its proofs would see it
 * (tests/sim/feed_bugs_test.sh). */
#ifndef RN_ENGINE_BUG_H
#define RN_ENGINE_BUG_H

#include "store/bug.h"

#endif
