#!/bin/bash
# feed.sh -- the change feed beside nginx, and how soon who waits is told.
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
runnel=${RUNNEL:-build/bench/runnel}
bench=${FEED_BENCH:-build/bench/bench/feed_bench}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/runnel-feed.XXXXXX") || exit 1
chmod 755 "$dir"
pids=()

finish()
{
    if [ ${#pids[@]} -gt 0 ]; then kill "${pids[@]}" 2>/dev/null; fi
    wait
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# start RANGES: a new server on a new directory.
start()
{
    stop
    rm -rf "$dir/data"
    "$runnel" serve --listen 127.0.0.1:0 --data "$dir/data" --log-level error \
        --ranges "$1" --requests-max 4000000000 >"$dir/out" 2>&1 &
    server=$!
    pids+=("$server")
    for ((i = 0; i < 100; i++)); do
        port=$(sed -n 's/^listening on .*://p' "$dir/out")
        if [ -n "$port" ]; then return; fi
        sleep 0.1
    done
    cat "$dir/out"
    exit 1
}

stop()
{
    if [ -n "${server:-}" ]; then
        kill "$server" && wait "$server"
        server=
    fi
}

start_nginx()
{
    command -v nginx >/dev/null || return 1
    nginx_port=$(python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$dir/nginx.conf" <<END
daemon off;
worker_processes auto;
pid $dir/nginx.pid;
error_log $dir/nginx.err;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nodelay on;
    open_file_cache max=100;
    keepalive_requests 100000000;
    client_body_temp_path $dir/t1;
    proxy_temp_path $dir/t2;
    fastcgi_temp_path $dir/t3;
    uwsgi_temp_path $dir/t4;
    scgi_temp_path $dir/t5;
    server { listen 127.0.0.1:$nginx_port; root $dir/www; }
}
END
    nginx -c "$dir/nginx.conf" 2>/dev/null &
    pids+=("$!")
    sleep 1
}

median()
{
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
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
"$bench" fill "$port" 20000
even=$(scan 1)
start 1
"$bench" fill "$port" 20000 32
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
