#!/bin/bash
# run.sh -- measures, beside the baselines, and says which goals are met.
#
#   bench/run.sh [quick] [PART...]      PART: json http cosmos query speed defrag
#                                       find open server feed client index
#
#   speed   durable inserts and updates of 1 KB records in groups of 64: the
#           local store, LMDB with synced commits, RocksDB with synced writes
#   defrag  file and scan after ten random updates a record
#   find    keys that are not there
#   open    the time to open after kill -9, at a million records
#   server  beside nginx, Redis and PostgreSQL: bench/server.sh
#   feed    the change feed beside nginx: bench/feed.sh
#   client  librunnel beside the raw feed, libcurl and Java: bench/client.sh
#   index   what an index gives and costs: bench/index.sh
#
# ROUNDS (3) rounds of speed, the stores in turn, since the machine's own speed
# drifts; the closing lines are medians and their ratios.  Data goes to
# BENCH_DIR (build/bench/data), which should be on the disk in question.  `quick`
# is a tenth of everything: for a look, not for figures.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
built=build/bench/bench
data=${BENCH_DIR:-build/bench/data}
rounds=${ROUNDS:-3}
scale=1
if [ "${1:-}" = quick ]; then
    scale=10
    rounds=1
    shift
fi
parts=${*:-json http cosmos query speed defrag find open server feed client index}
out=$(mktemp)
trap 'rm -rf "$out" "$data"' EXIT
mkdir -p "$data" || exit 1

# The names of the columns that store_bench prints.
heads_speed='store     inserts/s  us cpu  worst ms  updates/s  us cpu  worst ms  scan MB/s'
heads_thin=' bytes  records  live MB  updates/s  us cpu  worst ms file/live tree/live      scan'

speed()
{
    local i

    echo "== store: durable writes, groups of 64"
    echo "$heads_speed"
    for ((i = 0; i < rounds; i++)); do
        for store in runnel lmdb rocksdb; do
            "$built/store_bench" speed "$data" $((500000 / scale)) "$store" |
                tee -a "$out" || return 1
        done
    done
    awk '
        function median(list, n,   a, i, j, t) {
            split(list, a, " ")
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && a[j - 1] + 0 > a[j] + 0; j--) {
                    t = a[j]; a[j] = a[j - 1]; a[j - 1] = t
                }
            return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
        }
        function verdict(what, value, goal) {
            printf "%-42s %6.2f   goal %4.1f   %s\n", what, value, goal,
                (value >= goal ? "met" : "NOT met")
        }
        {
            n[$1]++
            inserts[$1] = inserts[$1] " " $2
            updates[$1] = updates[$1] " " $5
            if ($1 == "runnel") {
                if ($4 > worst) worst = $4
                if ($7 > worst) worst = $7
            }
        }
        END {
            for (s in n) {
                i[s] = median(inserts[s], n[s])
                u[s] = median(updates[s], n[s])
            }
            if (!i["runnel"]) exit 1
            if (i["lmdb"]) {
                verdict("inserts, times LMDB synced", i["runnel"] / i["lmdb"], 2)
                verdict("updates, times LMDB synced", u["runnel"] / u["lmdb"], 2.5)
            }
            if (i["rocksdb"]) {
                verdict("inserts, times RocksDB", i["runnel"] / i["rocksdb"], 1)
                verdict("updates, times RocksDB", u["runnel"] / u["rocksdb"], 1)
            }
            printf "%-42s %6.1f   goal < 100   %s\n", "worst commit, ms", worst,
                (worst < 100 ? "met" : "NOT met")
        }' "$out"
}

defrag()
{
    echo "== store: after ten random updates a record (0 bytes: mixed, to 2 MB)"
    echo "$heads_thin"
    while read -r bytes records; do
        "$built/store_bench" defrag "$data" $((records / scale)) "$bytes" ||
            return 1
    done <<'SIZES' | tee "$out"
400 500000
1250 500000
16384 60000
0 300000
SIZES
    awk '
        { if ($7 > file) file = $7; if (!scan || $9 < scan) scan = $9 }
        END {
            printf "%-42s %6.2f   goal <= 3    %s\n", "file, times the live bytes",
                file, (file <= 3 ? "met" : "NOT met")
            printf "%-42s %6.2f   goal >= 0.5  %s\n", "scan, times the fresh one",
                scan, (scan >= 0.5 ? "met" : "NOT met")
        }' "$out"
}

find_absent()
{
    local records

    echo "== store: keys that are not there"
    for records in 100000 1000000; do
        "$built/store_bench" find "$data" $((records / scale)) || return 1
    done
}

# The log as updates leave it, then one that no checkpoint has shortened.
open_killed()
{
    local how

    echo "== store: open after kill -9 at $((1000000 / scale)) records; goal < 1000 ms"
    for how in '' full; do
        "$built/store_bench" leave "$data" $((1000000 / scale)) $how || return 1
        echo "${how:-in the middle of updates}:"
        for _ in 1 2 3; do
            "$built/store_bench" reopen "$data" || return 1
        done
    done
}

for part in $parts; do
    case $part in
    speed) speed ;;
    defrag) defrag ;;
    find) find_absent ;;
    open) open_killed ;;
    server) bench/server.sh ;;
    feed) bench/feed.sh ;;
    client) bench/client.sh ;;
    index) bench/index.sh ;;
    json | http | cosmos | query)
        if [ -x "$built/${part}_bench" ]; then
            echo "== $part"
            "$built/${part}_bench"
        fi
        ;;
    *)
        echo "run.sh: there is no part '$part'" >&2
        exit 2
        ;;
    esac || exit 1
done
