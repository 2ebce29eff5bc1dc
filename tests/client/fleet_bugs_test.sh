#!/bin/sh
# fleet_bugs_test.sh -- the simulation of fleets finds every fault built into the
# processor.
#
#   fleet_bugs_test.sh FLEET_BUGS_TEST
#
# A suite that has never failed proves little.  Each wrong variant
# (src/client/http/bug.h) is switched on and must be found within the seeds
# beside it; the right one must not be.
. "$(dirname "$0")/../sim/find_bug.sh"

find none 100
find checkpoint-at-delivery 100
find children-at-read-position 500
find nothing-stored-while-open 500
find first-page-skipped 100
find parent-deleted-first 100
find close-does-not-wait 500
find session-not-compared 500
find renewal-has-a-copy 100
find successors-of-mark-done 500
find failed-dead-letter-counts 500
find uncertain-is-refused 500
find mark-is-a-sign-of-life 500
find children-undone 700 301
find redundant-without-order 500
# What comes twice.
find position-ignored 100
find children-remembered 100 4301
find children-begin-again 100
find validity-ignored 500
find checkpoint-at-renewal 500
# Of fleets that .NET hosts share.
find takeover-ignored 100
find foreign-clock-believed 500
# Of version 2.
find ancestors-unknown 500
# Of several calls of a lease, and of checkpoints by hand.
find part-is-page 500
find later-changes-stay 500
echo "1..$number"
exit $failed
