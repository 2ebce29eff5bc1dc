#!/bin/bash
# server.sh -- the server beside nginx, Redis and PostgreSQL, in one run.
#
#   bench/server.sh [SECONDS]     each measurement; 5 by default
#
# A point read is compared with nginx serving the same kilobyte from a file, a
# durable create with Redis (appendfsync always) and with PostgreSQL's INSERT
# (fsync on), all by the same 64 clients of bench/load.c, pgbench for
# PostgreSQL.  Measurements of what is compared stand beside each other and are
# taken three times; the median counts.  What is not installed is left out.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-5}
case $seconds in
'' | *[!0-9]*)
    echo 'usage: bench/server.sh [SECONDS]' >&2
    exit 2
    ;;
esac
rounds=${ROUNDS:-3}
idle_s=${IDLE_S:-60}
runnel=${RUNNEL:-build/bench/runnel}
load=build/bench/bench/load
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/runnel-bench.XXXXXX") || exit 1
chmod 755 "$dir"
pids=()

finish()
{
    if [ ${#pids[@]} -gt 0 ]; then kill "${pids[@]}" 2>/dev/null; fi
    if [ -n "${pg_bin:-}" ]; then
        as_pg "$pg_bin/pg_ctl" -D "$dir/pg" -m immediate stop >/dev/null 2>&1
    fi
    wait
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

free_port()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# PostgreSQL will not run as root.
as_pg()
{
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

start_runnel()
{
    "$runnel" tls init "$dir/data" >/dev/null
    "$runnel" serve --listen 127.0.0.1:0 --data "$dir/data" --slow-ms 0 \
        --requests-max 4000000000 >"$dir/out" 2>"$dir/err" &
    runnel_pid=$!
    pids+=("$runnel_pid")
    for ((i = 0; i < 100; i++)); do
        runnel_port=$(sed -n 's/^listening on .*://p' "$dir/out")
        if [ -n "$runnel_port" ]; then return; fi
        sleep 0.1
    done
    cat "$dir/err"
    exit 1
}

start_nginx()
{
    local workers

    command -v nginx >/dev/null || return 1
    nginx_port=$(free_port)
    mkdir -p "$dir/www"
    head -c 1024 /dev/zero | tr '\0' x >"$dir/www/doc.json"
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
    workers=$(pgrep -P "$!" | paste -sd,)
    nginx_pids=$workers
    [ -n "$workers" ]
}

start_redis()
{
    command -v redis-server >/dev/null || return 1
    redis_port=$(free_port)
    mkdir -p "$dir/redis"
    redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$dir/redis" \
        --appendonly yes --appendfsync always --save '' \
        --auto-aof-rewrite-percentage 0 >/dev/null &
    redis_pid=$!
    pids+=("$redis_pid")
    sleep 1
    kill -0 "$redis_pid" 2>/dev/null
}

start_pg()
{
    local bin

    for bin in /usr/lib/postgresql/*/bin; do :; done
    [ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] || return 1
    pg_port=$(free_port)
    mkdir "$dir/pg"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir/pg"; fi
    as_pg "$bin/initdb" -D "$dir/pg" -A trust -U bench >/dev/null 2>&1 ||
        return 1
    pg_bin=$bin
    as_pg "$bin/pg_ctl" -D "$dir/pg" -w -l "$dir/pg/log" -o "-p $pg_port \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
        -c max_connections=200 -c shared_buffers=128MB" start >/dev/null ||
        return 1
    pg_pid=$(head -n 1 "$dir/pg/postmaster.pid")
    psql -q -h 127.0.0.1 -p "$pg_port" -U bench postgres -c \
        'CREATE TABLE docs (id bigserial PRIMARY KEY, body text NOT NULL)'
    echo "INSERT INTO docs (body) VALUES (repeat('x', 1024));" >"$dir/insert.sql"
}

# measure_pg CONNECTIONS: the same line as load prints.
measure_pg()
{
    local said before after

    before=$(awk '{ print $14 + $15 + $16 + $17 }' "/proc/$pg_pid/stat")
    said=$("$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U bench -n -M prepared \
        -c "$1" -j 1 -T "$seconds" -f "$dir/insert.sql" -l \
        --log-prefix="$dir/pg_log" postgres 2>/dev/null)
    sleep 0.3
    after=$(awk '{ print $14 + $15 + $16 + $17 }' "/proc/$pg_pid/stat")
    sort -n -k 3,3 "$dir"/pg_log.* | awk -v n="$1" -v ticks=$((after - before)) \
        -v tps="$(sed -n 's/^tps = \([0-9]*\).*/\1/p' <<<"$said")" '
        { t[NR] = $3 }
        END { printf "insert %d %d %d %d %.1f 0\n", n, tps, t[int(NR * .5) + 1],
              t[int(NR * .99) + 1], NR ? ticks * 1e4 / NR : 0 }'
    rm -f "$dir"/pg_log.*
}

# round NAME CONNECTIONS: one measurement, kept and shown.
round()
{
    case $1 in
    read | read:s | create | create:s)
        "$load" "$1" "$runnel_port" "$2" "$seconds" "$runnel_pid" ;;
    static) "$load" static "$nginx_port" "$2" "$seconds" "$nginx_pids" ;;
    set) "$load" set "$redis_port" "$2" "$seconds" "$redis_pid" ;;
    insert) measure_pg "$2" ;;
    esac >>"$dir/lines"
}

# median NAME CONNECTIONS FIELD
median()
{
    awk -v k="$1" -v n="$2" '$1 == k && $2 == n' "$dir/lines" |
        sort -n -k "$3,$3" | awk -v f="$3" '{ v[NR] = $f }
        END { if (NR) print v[int((NR + 1) / 2)] }'
}

show()
{
    [ -n "$(median "$1" "$2" 3)" ] || return
    printf '%-34s %3d %9s %9s %9s %9s\n' "$3" "$2" "$(median "$1" "$2" 3)" \
        "$(median "$1" "$2" 4)" "$(median "$1" "$2" 5)" "$(median "$1" "$2" 6)"
}

# target WORDS VALUE OPERATOR GOAL
target()
{
    [ -n "$2" ] || return
    awk -v w="$1" -v v="$2" -v op="$3" -v g="$4" 'BEGIN {
        good = op == ">=" ? v + 0 >= g + 0 : v + 0 <= g + 0
        printf "%-52s %8.2f  %s %-6s %s\n", w, v, op, g, good ? "yes" : "NO"
    }'
}

ratio()
{
    if [ -n "$1" ] && [ -n "$2" ]; then
        awk -v a="$1" -v b="$2" 'BEGIN { if (b) print a / b }'
    fi
}

# Milliseconds from exec to the first 200 on /readyz, in an empty directory.
start_time()
{
    python3 - "$runnel" "$dir" <<'END'
import http.client, re, shutil, subprocess, sys, time
runnel, home = sys.argv[1:]
times = []
for i in range(11):
    data = f"{home}/start{i}"
    begun = time.perf_counter()
    with subprocess.Popen([runnel, "serve", "--listen", "127.0.0.1:0",
                           "--data", data], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as p:
        port = re.search(r":(\d+)$", p.stdout.readline().strip())[1]
        c = http.client.HTTPConnection("127.0.0.1", int(port))
        c.request("GET", "/readyz")
        assert c.getresponse().status == 200
        times.append((time.perf_counter() - begun) * 1000)
        c.close()
        p.terminate()
    shutil.rmtree(data)
print(f"{sorted(times)[5]:.1f}")
END
}

# Idle for a minute with TLS on: "RSS in MB, CPU in percent".
idle()
{
    local pid ticks

    "$runnel" tls init "$dir/idle" >/dev/null
    "$runnel" serve --listen 127.0.0.1:0 --data "$dir/idle" >/dev/null 2>&1 &
    pid=$!
    sleep 1
    ticks=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    sleep "$idle_s"
    ticks=$(($(awk '{ print $14 + $15 }' "/proc/$pid/stat") - ticks))
    awk -v t="$ticks" -v s="$idle_s" '/^VmRSS/ { rss = $2 } /^RssFile/ { file = $2 }
        END { printf "%.1f %.2f %.1f\n", rss / 1024, t / s, (rss - file) / 1024 }' \
        "/proc/$pid/status"
    kill "$pid"
    wait "$pid"
}

start_runnel
"$load" make "$runnel_port" 8 60 "$runnel_pid" >/dev/null || exit 1
kinds_read=(read)
kinds_write=(create)
if start_nginx; then kinds_read+=(static); fi
if start_redis; then kinds_write+=(set); fi
if start_pg; then kinds_write+=(insert); fi
for ((r = 0; r < rounds; r++)); do
    for kind in "${kinds_read[@]}" "${kinds_write[@]}"; do round "$kind" 64; done
done
for n in 16 1; do
    for kind in "${kinds_read[@]}" "${kinds_write[@]}"; do round "$kind" $n; done
done
for n in 64 1; do
    round read:s $n
    round create:s $n
done
failed=$(awk '{ n += $7 } END { print n + 0 }' "$dir/lines")

printf '%-34s %3s %9s %9s %9s %9s\n' '' '' 'a second' 'p50 us' 'p99 us' 'CPU us'
for n in 64 16 1; do
    show read $n 'Runnel, point read of 1 KB'
    show static $n 'nginx, a file of 1 KB'
    show create $n 'Runnel, durable create of 1 KB'
    show set $n 'Redis, SET of 1 KB, fsync always'
    show insert $n 'PostgreSQL, INSERT of 1 KB'
    show read:s $n 'Runnel, point read, TLS'
    show create:s $n 'Runnel, durable create, TLS'
done
echo
read -r rss cpu own < <(idle)
target 'point read / nginx, 64 connections' \
    "$(ratio "$(median read 64 3)" "$(median static 64 3)")" '>=' 0.8
target 'CPU of a point read, us' "$(median read 64 6)" '<=' 20
target 'durable create / Redis, 64 connections' \
    "$(ratio "$(median create 64 3)" "$(median set 64 3)")" '>=' 1.0
target 'durable create / PostgreSQL, 64 connections' \
    "$(ratio "$(median create 64 3)" "$(median insert 64 3)")" '>=' 4
target 'exec to the first 200 on /readyz, ms' "$(start_time)" '<=' 20
target "RSS idle for $idle_s s with TLS, MB" "$rss" '<=' 8
target 'of that not a mapped file, MB' "$own" '<=' 8
target 'CPU idle, percent' "$cpu" '<=' 0
echo "answers that were wrong: $failed"
exit $((failed > 0))
