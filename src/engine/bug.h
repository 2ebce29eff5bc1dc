/* bug.h -- seeded bugs of the change feed, for the modules above the engine:
 * the switches of store/bug.h, which prove that the tests would find such a bug
 * (tests/sim/feed_bugs_test.sh). */
#ifndef RN_ENGINE_BUG_H
#define RN_ENGINE_BUG_H

#include "store/bug.h"

#endif
