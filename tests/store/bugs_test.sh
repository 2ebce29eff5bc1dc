#!/bin/sh
# bugs_test.sh -- the proofs of the store find every fault built into it.
#
#   bugs_test.sh POWER_BUGS_TEST
#
# A suite that has never failed proves little.  Each wrong variant of the store
# (src/store/bug.h) is switched on and must be found within the budget beside
# it; the right one must not be.  The options aim at what takes luck otherwise:
# rounds 0 and 1 are rot and failing calls, the others are power cuts.
power=$1
number=0
failed=0

# try NAME STATES OPTION...: the verdict of one run, as TAP.
try()
{
    bug=$1
    states=$2
    shift 2
    number=$((number + 1))
    said=$("$power" --bug "$bug" --states "$states" --seconds 60 --seed 1 \
        "$@" 2>&1)
    status=$?
    after=$(echo "$said" |
        sed -n 's/^violation after \([0-9]*\) states: \(.*\)/\1 states: \2/p' |
        head -n 1)
    if [ "$bug" = none ] && [ $status -eq 0 ]; then
        echo "ok $number - $bug # $states states"
    elif [ "$bug" != none ] && [ $status -eq 1 ] && [ -n "$after" ]; then
        echo "ok $number - $bug # after $after"
    else
        echo "not ok $number - $bug # exit status $status"
        echo "$said"
        failed=1
    fi
}

try none 300
try answer-before-sync 1000 --first 2
try visible-before-sync 1000 --first 2
try no-pin 1000 --first 2
try no-pin-after-open 4000 --first 2
try pin-released-early 1000 --first 2
try checkpoint-before-data-sync 1000 --first 2
try no-dir-sync 1000 --first 2 --aim creation
try no-dir-sync-at-open 8000 --first 2 --aim kills
try no-log-sync-at-open 4000 --first 2 --aim kills
try seq-reused-after-recovery 1000 --first 2
try stale-record-accepted 2000 --first 2
try stop-at-rot 500
try failed-map-commit-ignored 2000 --first 1
echo "1..$number"
exit $failed
