#!/bin/sh
# feed_bugs_test.sh -- the simulation of the feed finds every fault built into
# it.
#
#   feed_bugs_test.sh SIM_FEED_BUGS_TEST
#
# A suite that has never failed proves little.  Each wrong variant of feed and
# store (src/store/bug.h) is switched on and must be found within the seeds
# beside it; the right one must not be.
sim=$1
number=0
failed=0

# find BUG SEEDS
find()
{
    number=$((number + 1))
    said=$("$sim" --bug "$1" --seeds "$2" --seconds 60 --first 1 2>&1)
    status=$?
    seed=$(echo "$said" | sed -n 's/^\(seed [0-9].*\)/\1/p' | head -n 1)
    if [ "$1" = none ] && [ $status -eq 0 ]; then
        echo "ok $number - $1"
    elif [ "$1" != none ] && [ $status -eq 1 ] && [ -n "$seed" ]; then
        echo "ok $number - $1 # $seed"
    else
        echo "not ok $number - $1 # exit status $status"
        echo "$said"
        failed=1
    fi
}

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
