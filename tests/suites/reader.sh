#!/bin/bash
# reader.sh -- librunnel's change feed against a real server.
#
# A program that knows the public header alone reads feeds of a server; both
# have sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 1
server=${RUNNEL_DEV:-$PWD/build/dev/runnel}
program=${server%/*}/tests/reader_program
if [ ! -x "$server" ] || [ ! -x "$program" ]; then
    echo "needs $server and $program"
    exit 77
fi
scratch=$(mktemp -d)
pid=

finish()
{
    if [ -n "$pid" ]; then kill -9 "$pid" 2>/dev/null; fi
    rm -rf "$scratch"
}
trap finish EXIT

"$server" serve --listen 127.0.0.1:0 --data "$scratch/data" \
    >"$scratch/out" 2>"$scratch/err" &
pid=$!
port=
for ((i = 0; i < 300; i++)); do
    port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$scratch/out")
    if [ -n "$port" ]; then break; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
done
if [ -z "$port" ]; then
    cat "$scratch/err"
    echo 'not ok a server starts'
    exit 1
fi
timeout -k 5 300 "$program" "http://127.0.0.1:$port/"
