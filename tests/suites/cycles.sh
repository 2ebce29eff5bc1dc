#!/bin/bash
# cycles.sh -- librunnel as released takes and gives up leases over and over,
# against a real server, over HTTP and HTTPS, and keeps its descriptors, threads
# and memory constant.
#
# In each part, of which the program has four: hosts that start and stop, hosts
# that hand leases over, handlers that yield, handles that look at leases.
#
#   RUNNEL_PROVE   10,000 times in each part instead of 10,000 in the first three,
#                  of which a quarter is over HTTPS, where handshakes take their
#                  time
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
server=${RUNNEL:-$PWD/build/release/runnel}
library=${server%/*}
if [ ! -x "$server" ] || [ ! -e "$library/librunnel.so" ]; then
    echo "needs $server and $library/librunnel.so"
    exit 77
fi
scratch=$(mktemp -d)
pid=
status=0
trap 'kill -9 $pid 2>/dev/null; rm -rf "$scratch"' EXIT

report()
{
    if [ "$1" -eq 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        status=1
    fi
}

# run SCHEME CYCLES [LEAK]: with a server of its own, since the program makes the
# containers
run()
{
    local url= tries rc scheme=$1

    shift

    : >"$scratch/out" # or the port of the server before may be found
    "$server" serve --listen 127.0.0.1:0 --store mem >"$scratch/out" \
        2>>"$scratch/err" &
    pid=$!
    for ((tries = 0; tries < 300; tries++)); do
        url=$(sed -n 's/^listening on //p' "$scratch/out")
        if [ -n "$url" ]; then break; fi
        sleep 0.1
    done
    # No caches of free memory by thread: what is counted is in use.
    url=$scheme://${url#*://}
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$scratch/program" "$url" "$@" \
        >"$scratch/said" 2>&1
    rc=$?
    cat "$scratch/said"
    kill "$pid" && wait "$pid"
    pid=
    return "$rc"
}

# finds RC WHAT: the run failed because that grew, in every part.
finds()
{
    local part

    [ "$1" -eq 1 ] || return
    for part in starts hand-overs 'hand-overs, closed' yields \
        'yields, closed' looks; do
        grep -q "^# $part: $2 grew" "$scratch/said" || return
    done
}

cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude \
    -o "$scratch/program" tests/client/cycles_program.c -L"$library" -lrunnel \
    -Wl,-rpath,"$library" -pthread
report $? 'the program compiles by the public header'

if [ -n "${RUNNEL_PROVE:-}" ]; then cycles=2500; else cycles=834; fi
run http $((3 * cycles))
report $? 'descriptors, threads and memory stay constant while leases are acquired and released (R6)'
run https "$cycles"
report $? 'so they do over HTTPS'
run http 2500 bytes
finds $? bytes
report $? 'a leak of 64 bytes in each cycle is found'
ulimit -n "$(ulimit -Hn)"
run http 300 descriptor
finds $? descriptors
report $? 'a leak of a descriptor in each cycle is found'
exit $status
