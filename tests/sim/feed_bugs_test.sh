#!/bin/sh
# feed_bugs_test.sh -- the simulation of the feed finds every fault built into
# it.
#
#   feed_bugs_test.sh SIM_FEED_BUGS_TEST
#
# A suite that has never failed proves little.  Each wrong variant of feed and
# store (src/store/bug.h) is switched on and must be found within the seeds
# beside it; the right one must not be.
. "$(dirname "$0")/find_bug.sh"

find none 100
find wake-forgotten 300
find wait-skips 300
find ancestor-forgotten 500
find lsn-divided 100
find home-overwrites 500
find merge-reuses-lsns 500
find answer-before-sync 100
find seq-reused-after-recovery 500
echo "1..$number"
exit $failed
