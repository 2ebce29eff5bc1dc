#!/bin/bash
# history.sh -- what clients of a server that is killed again and again see can
# be explained by one order of events, in which nothing acknowledged is lost.
#
#   RUNNEL_OPERATIONS   how many operations; 300,000 by default, 20,000,000
#                       with RUNNEL_PROVE
#   RUNNEL_CHANGES      how many changes of the feed; 1,000,000 by default,
#                       3,000,000 with RUNNEL_PROVE
#   RUNNEL_LIMIT        seconds that a check may take; 800 by default, 6 hours
#                       with RUNNEL_PROVE
set -u
cd "$(dirname "$0")/../.." || exit 1
server=${RUNNEL:-$PWD/build/release/runnel}
dev=${RUNNEL_DEV:-$PWD/build/dev/runnel}
load=$PWD/build/proof/tests/history_load
if [ ! -x "$load" ]; then load=${dev%/*}/tests/history_load; fi
feed=${load%_load}_feed
if [ ! -x "$server" ] || [ ! -x "$load" ]; then
    echo "needs $server and $load"
    exit 77
fi
operations=300000
changes=1000000
limit=800
if [ -n "${RUNNEL_PROVE:-}" ]; then
    operations=20000000
    changes=3000000
    limit=21600
fi
operations=${RUNNEL_OPERATIONS:-$operations}
changes=${RUNNEL_CHANGES:-$changes}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# check NAME LOAD PROGRAM COUNT...
check()
{
    local name=$1 load=$2 program=$3

    shift 3
    rm -rf "$scratch/data"
    mkdir "$scratch/data"
    if timeout -k 5 "${RUNNEL_LIMIT:-$limit}" "$load" "$program" \
        "$scratch/data" "$@" "${RUNNEL_SEED:-1}"; then
        echo "ok $name"
    else
        echo "not ok $name"
        failed=1
    fi
}

# operations, kills, ranges, splits and merges
check 'histories of 64 clients are linearizable through 20 kills' "$load" \
    "$server" "$operations" 20 3 0
check 'and through 40 splits and merges' "$load" \
    "$server" "$((operations / 3))" 10 1 40
if [ -x "$dev" ]; then
    check 'and with a server under sanitizers' "$load" "$dev" \
        "$((operations / 15))" 5 1 10
fi
# changes, kills, splits and merges
check 'feeds are complete and in order through kills, splits and a restore' \
    "$feed" "$server" "$changes" 8 60
if [ -x "$dev" ]; then
    check 'and those of a server under sanitizers' "$feed" "$dev" \
        "$((changes / 25))" 4 40
fi
exit $failed
