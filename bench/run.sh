#!/bin/sh
# run.sh -- what `make bench` measures: the store, then the server, each beside
# others in one run.
#
#   bench/run.sh [RECORDS]     500,000 by default; 0: the server only
#
# Numbers of one machine and one moment; the ratios are what counts.
cd "$(dirname "$0")/.." || exit 1
records=${1:-500000}
bench=build/bench/bench/store_bench
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/runnel-bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT INT TERM

if [ "$records" -eq 0 ]; then exec bench/server.sh; fi
echo "== durable writes, $records records of 1 KB, groups of 64"
"$bench" speed "$dir" "$records" || exit 1
echo "== ten random updates a record"
"$bench" thin "$dir" $((records / 5)) 400 || exit 1
"$bench" thin "$dir" $((records / 5)) 1250 || exit 1
"$bench" thin "$dir" $((records / 50)) 16384 || exit 1
"$bench" thin "$dir" $((records / 20)) 0 || exit 1
echo "== opening after kill -9, $((records * 2)) records"
"$bench" leave "$dir" $((records * 2)) && "$bench" reopen "$dir" || exit 1
echo "== the server"
bench/server.sh
