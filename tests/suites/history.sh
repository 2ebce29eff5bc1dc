#!/bin/bash
# history.sh -- what clients of a server that is killed again and again see can
# be explained by one order of events, in which nothing acknowledged is lost.
#
#   RUNNEL_OPERATIONS   how many operations; 300,000 unless told, 20,000,000
#                       with RUNNEL_PROVE
set -u
cd "$(dirname "$0")/../.." || exit 1
server=${RUNNEL:-$PWD/build/release/runnel}
dev=${RUNNEL_DEV:-$PWD/build/dev/runnel}
load=$PWD/build/proof/tests/history_load
if [ ! -x "$load" ]; then load=${dev%/*}/tests/history_load; fi
if [ ! -x "$server" ] || [ ! -x "$load" ]; then
    echo "needs $server and $load"
    exit 77
fi
operations=300000
if [ -n "${RUNNEL_PROVE:-}" ]; then operations=20000000; fi
operations=${RUNNEL_OPERATIONS:-$operations}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# check NAME PROGRAM OPERATIONS KILLS RANGES SHAPES
check()
{
    local name=$1

    shift
    rm -rf "$scratch/data"
    if timeout -k 5 "${RUNNEL_LIMIT:-800}" "$load" "$1" "$scratch/data" "$2" \
        "$3" "$4" "$5" "${RUNNEL_SEED:-1}"; then
        echo "ok $name"
    else
        echo "not ok $name"
        failed=1
    fi
}

check 'histories of 64 clients are linearizable through 20 kills' \
    "$server" "$operations" 20 3 0
check 'and through 40 splits and merges' \
    "$server" "$((operations / 3))" 10 1 40
if [ -x "$dev" ]; then
    check 'and with a server under sanitizers' "$dev" \
        "$((operations / 15))" 5 1 10
fi
exit $failed
