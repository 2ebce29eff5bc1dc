#!/bin/sh
# bugs_test.sh -- the proofs of the store find every fault built into it.
#
#   bugs_test.sh POWER_BUGS_TEST SIM_BUGS_TEST
#
# A suite that has never failed proves little.  Each wrong variant of the store
# and its committer (src/store/bug.h) is switched on and must be found within
# the budget beside it; the right one must not be.  The options of power aim at
# what takes luck otherwise: its rounds 0 and 1 are rot and failing calls, 2
# and 3 cuts in compaction and after a restore, the others cuts in all the rest.
power=$1
sim=$2
number=0
failed=0

# verdict PROOF BUG SAID STATUS: a line of TAP.
verdict()
{
    number=$((number + 1))
    after=$(echo "$3" |
        sed -n 's/^\(violation after\|seed\) \([0-9].*\)/\1 \2/p' | head -n 1)
    if [ "$2" = none ] && [ "$4" -eq 0 ]; then
        echo "ok $number - $1 $2"
    elif [ "$2" != none ] && [ "$4" -eq 1 ] && [ -n "$after" ]; then
        echo "ok $number - $1 $2 # $after"
    else
        echo "not ok $number - $1 $2 # exit status $4"
        echo "$3"
        failed=1
    fi
}

# by_power BUG STATES OPTION...
by_power()
{
    bug=$1
    states=$2
    shift 2
    said=$("$power" --bug "$bug" --states "$states" --seconds 60 --seed 1 \
        "$@" 2>&1)
    verdict power "$bug" "$said" $?
}

# by_sim BUG SEEDS
by_sim()
{
    said=$("$sim" --bug "$1" --seeds "$2" --seconds 60 --first 1 2>&1)
    verdict sim "$1" "$said" $?
}

by_power none 300
by_power answer-before-sync 1000 --first 4
by_power visible-before-sync 1000 --first 4
by_power no-pin 1000 --first 4
by_power no-pin-after-open 4000 --first 4
by_power pin-released-early 1000 --first 4
by_power checkpoint-before-data-sync 1000 --first 4
by_power no-dir-sync 1000 --first 4 --aim creation
by_power no-dir-sync-at-open 8000 --first 4 --aim kills
by_power no-log-sync-at-open 4000 --first 4 --aim kills
by_power seq-reused-after-recovery 1000 --first 4
by_power stale-record-accepted 2000 --first 4
by_power stop-at-rot 500
by_power failed-map-commit-ignored 2000 --first 1

by_sim none 100
by_sim answer-before-sync 100
by_sim visible-before-sync 200
by_sim no-pin 100
by_sim no-pin-after-open 500
by_sim checkpoint-before-data-sync 100
by_sim no-dir-sync 100
by_sim cache-trusted-at-open 4000
by_sim seq-reused-after-recovery 100
by_sim stale-record-accepted 100
by_sim failed-map-commit-ignored 500
by_sim neighbours-lost 100
echo "1..$number"
exit $failed
