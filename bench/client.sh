#!/bin/bash
# client.sh -- what librunnel adds: its processor beside the raw feed and Java's
# processor, and its point reads beside libcurl alone.
#
#   bench/client.sh [SECONDS]     each measurement of point reads; 3 by default
#
# DOCUMENTS (1,000,000) of a kilobyte in four ranges.  One host drains them, in
# turns with readers of the raw feed on as many connections as there are ranges;
# Java's processor does the same where the suite sdk_java has fetched it.  Then
# CHANGES (500) are written one by one while a host waits, on a machine that
# does nothing else.  Point reads of one document by librunnel and by libcurl
# are taken in turns too, with 1 and 16 connections.  ROUNDS (3) of each; the
# median of the ratios of neighbours counts.  CPU is the client's alone.
set -u
cd "$(dirname "$0")/.." || exit 1
. bench/lib.sh
take_seconds 3 "$@"
documents=${DOCUMENTS:-1000000}
bench=build/bench/bench/client_bench
feed=build/bench/bench/feed_bench
kit=build/sdk/java

# The headers of a signed point read, a line each.
sign_read()
{
    PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import sys
sys.path.insert(0, "tests/lib")
from cases import sign
for name, value in sign("GET", "/dbs/h/colls/c/docs/d0").items():
    print(f"{name}: {value}")
END
}

has_java=
if [ -f "$kit/classpath" ] && command -v javac >/dev/null; then
    classpath=$dir/classes:$(cat "$kit/classpath")
    javac -cp "$classpath" -d "$dir/classes" bench/Drain.java && has_java=yes
fi
java_drain()
{
    if [ -n "$has_java" ]; then
        java -cp "$classpath" \
            -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true Drain \
            "$runnel_port" "$documents" 2>/dev/null
    fi
}

start_runnel --log-level error --ranges 4
"$feed" fill "$runnel_port" "$documents" || exit 1
for ((i = 0; i < rounds; i++)); do
    "$feed" scan "$runnel_port" 4 "$seconds" | sed 's/^scan/raw/'
    "$bench" drain "$runnel_port" "$documents" || exit 1
    java_drain
done >"$dir/lines"
echo "one host, $documents documents of 1 KB in 4 ranges, documents/s:"
printf '%-36s %9s\n' 'raw feed, 4 connections' "$(of raw 4 3)" \
    'librunnel, from start to last' "$(of drain 4 3)" \
    'librunnel, from first batch to last' "$(of drain 4 4)" \
    'librunnel, CPU us for a document' "$(of drain 4 6)"
if [ -n "$has_java" ]; then
    printf '%-36s %9s\n' 'Java, from start to last' "$(of java 4 3)" \
        'Java, from first batch to last' "$(of java 4 4)"
fi

for ((i = 0; i < rounds; i++)); do
    "$bench" wake "$runnel_port" "${CHANGES:-500}" || exit 1
done >"$dir/wakes"
echo 'from sending a write to the handler of a host that waits, us:'
awk '{ printf "p50 %d  p99 %d  (answer to the writer: p50 %d  p99 %d)\n",
       $3, $4, $5, $6 }' "$dir/wakes"

mapfile -t headers < <(sign_read)
echo 'point reads of a kilobyte, a second:'
for connections in 1 16; do
    for ((i = 0; i < rounds; i++)); do
        "$bench" read "$runnel_port" "$connections" "$seconds" || exit 1
        "$bench" curl "$runnel_port" "$connections" "$seconds" "${headers[@]}" \
            'x-ms-version: 2018-12-31' \
            'x-ms-documentdb-partitionkey: ["k0"]' || exit 1
    done >>"$dir/lines"
    printf '%-36s %9s %9s us CPU\n' "librunnel, $connections connections" \
        "$(of read "$connections" 3)" "$(of read "$connections" 6)" \
        "libcurl alone, $connections" "$(of curl "$connections" 3)" \
        "$(of curl "$connections" 6)"
done

target 'draining, times the raw feed' "$(paired drain raw 4)" '>=' 0.5
target 'draining, times the Java processor' "$(paired drain java 4)" '>=' 1
target 'change to handler, p50 ms' \
    "$(ratio "$(cut -d' ' -f3 "$dir/wakes" | median)" 1000)" '<=' 2
for connections in 1 16; do
    target "point reads, times libcurl, $connections connections" \
        "$(paired read curl "$connections")" '>=' 0.7
done
