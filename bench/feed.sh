#!/bin/bash
# feed.sh -- the change feed beside nginx, and the latency of a waiting reader.
#
#   bench/feed.sh [SECONDS] [DOCUMENTS...]    3 s each; 10,000 and 1,000,000
#
# Pages of 1,000 documents of a kilobyte, from the beginning, by 1 and 4
# connections, as a ratio to nginx serving one such page from a file; the same
# with 32 ranges made by splits, at once and when entries have come home; and
# the time from sending a write to the first byte at a reader that waits for it,
# at 1,000 commits a second, alone and with 1,000 readers that wait for another
# range.  Measurements that are compared are taken in turn, three times; the
# median counts.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-3}
if [ $# -gt 0 ]; then shift; fi
sizes=${*:-10000 1000000}
. bench/lib.sh
bench=${FEED_BENCH:-build/bench/bench/feed_bench}

# start RANGES: a new server on a new directory.
start()
{
    stop_runnel
    rm -rf "$dir/data"
    start_runnel --log-level error --ranges "$1"
    port=$runnel_port
}

# scan CONNECTIONS: the median of documents a second.
scan()
{
    for i in 1 2 3; do
        "$bench" scan "$port" "$1" "$seconds" | cut -d' ' -f3
    done | median
}

mkdir "$dir/www"
for size in $sizes; do
    start 1
    "$bench" fill "$port" "$size" || exit 1
    "$bench" page "$port" "$dir/www/page.json" || exit 1
    if [ -z "${nginx_port:-}" ]; then start_nginx || nginx_port=; fi
    for connections in 1 4; do
        : >"$dir/ours"
        : >"$dir/theirs"
        for i in 1 2 3; do
            "$bench" scan "$port" "$connections" "$seconds" |
                cut -d' ' -f3 >>"$dir/ours"
            if [ -n "${nginx_port:-}" ]; then
                "$bench" static "$nginx_port" "$connections" "$seconds" |
                    cut -d' ' -f3 >>"$dir/theirs"
            fi
        done
        awk -v n="$size" -v c="$connections" -v a="$(median <"$dir/ours")" \
            -v b="$(median <"$dir/theirs")" 'BEGIN {
            printf "%8d documents, %d connections: %8d documents/s", n, c, a
            if (b) printf ", nginx %8d, ratio %.2f (goal 0.6)", b, a / b
            print "" }'
    done
done
start 32
"$bench" fill "$port" 100000
even=$(scan 1)
start 1
"$bench" fill "$port" 100000 32
early=$(scan 1)
sleep "${HOME_S:-15}"
late=$(scan 1)
awk -v e="$even" -v s="$early" -v l="$late" 'BEGIN {
    printf "32 ranges, documents/s: at creation %d, by splits %d ", e, s
    printf "(%.2f x slower, goal 2), brought home %d (%.2f x)\n", e / s, l, e / l
}'
start 2
"$bench" fill "$port" 1000
for readers in 0 1000; do
    "$bench" wake "$port" "$readers" "$seconds"
done
