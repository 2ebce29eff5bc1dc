#!/bin/bash
# server.sh -- the server beside nginx, Redis and PostgreSQL, in one run.
#
#   bench/server.sh [SECONDS]     each measurement; 2 by default
#
# A point read is compared with nginx serving the same kilobyte from a file, a
# durable create with Redis (appendfsync always) and with PostgreSQL's INSERT
# (fsync on), all by the same 64 clients of bench/load.c, pgbench for
# PostgreSQL.  There a document is what it is here: jsonb, under an id that is
# unique and a number in the order of insertion.  Statements come as text, as
# pgbench sends them by default, and prepared.  A machine that others
# share is a third faster in one second than in the next, so measurements are
# short, those that are compared stand beside each other, ROUNDS (15) times, and
# of their ratios the median counts.  Between its own a server is stopped
# (SIGSTOP): what it has put off for later is not another's burden, nor free.
# What is not installed is left out.
set -u
cd "$(dirname "$0")/.." || exit 1
. bench/lib.sh
take_seconds 2 "$@"
rounds=${ROUNDS:-15}
idle_s=${IDLE_S:-60}

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

start_pg_docs()
{
    start_pg '-c max_connections=200 -c shared_buffers=128MB' || return 1
    ask_pg <<<'CREATE TABLE docs (seq bigserial PRIMARY KEY,
        id text UNIQUE NOT NULL, body jsonb NOT NULL)'
    cat >"$dir/insert.sql" <<END
\set n random(1, 9000000000000000000)
INSERT INTO docs (id, body) VALUES ('d' || :n, '{"id":"d","pk":"d","n":1,\
"filler":"$(head -c 780 /dev/zero | tr '\0' x)"}');
END
}

# A server is stopped between its measurements, so that it does its deferred
# work in its own time and not in another server's.
runnel_pids() { echo "$runnel_pid"; }
redis_pids() { echo "$redis_pid"; }
pg_pids() { echo "$pg_pid" && pgrep -P "$pg_pid"; }

# alone SERVER COMMAND...: with the server running.
alone()
{
    local server=$1

    shift
    "${server}_pids" | xargs kill -CONT
    "$@"
    "${server}_pids" | xargs kill -STOP
}

# round NAME CONNECTIONS: one measurement, kept and shown.
round()
{
    case $1 in
    read | read:s | create | create:s)
        alone runnel "$load" "$1" "$runnel_port" "$2" "$seconds" "$runnel_pid" ;;
    static) "$load" static "$nginx_port" "$2" "$seconds" "$nginx_pids" ;;
    set) alone redis "$load" set "$redis_port" "$2" "$seconds" "$redis_pid" ;;
    insert) alone pg measure_pg insert "$2" "$dir/insert.sql" simple ;;
    prepared) alone pg measure_pg prepared "$2" "$dir/insert.sql" prepared ;;
    esac >>"$dir/lines"
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

cpu_ticks()
{
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# A server is idle when it has done what follows a start: a second WAL segment
# is filled a second after it.  Waits until it has used no CPU for two seconds,
# 30 s at most.
await_idle()
{
    local before now i

    now=$(cpu_ticks "$1")
    for ((i = 0; i < 15; i++)); do
        before=$now
        sleep 2
        now=$(cpu_ticks "$1")
        [ "$i" -gt 0 ] && [ "$now" = "$before" ] && return
    done
}

# Idle for a minute with TLS on: "RSS in MB, CPU in percent".
idle()
{
    local pid ticks

    "$runnel" tls init "$dir/idle" >/dev/null
    "$runnel" serve --listen 127.0.0.1:0 --data "$dir/idle" >/dev/null 2>&1 &
    pid=$!
    await_idle "$pid"
    ticks=$(cpu_ticks "$pid")
    sleep "$idle_s"
    ticks=$(($(cpu_ticks "$pid") - ticks))
    awk -v t="$ticks" -v s="$idle_s" '/^VmRSS/ { rss = $2 } /^RssFile/ { file = $2 }
        END { printf "%.1f %.2f %.1f\n", rss / 1024, t / s, (rss - file) / 1024 }' \
        "/proc/$pid/status"
    kill "$pid"
    wait "$pid"
}

"$runnel" tls init "$dir/data" >/dev/null
start_runnel
mkdir "$dir/www"
head -c 1024 /dev/zero | tr '\0' x >"$dir/www/doc.json"
"$load" make "$runnel_port" 8 60 "$runnel_pid" >/dev/null || exit 1
kinds_read=(read)
kinds_write=(create)
if start_nginx; then kinds_read+=(static); fi
if start_redis; then kinds_write+=(set); fi
if start_pg_docs; then kinds_write+=(insert prepared); fi
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

show_heads
for n in 64 16 1; do
    show read $n 'Runnel, point read of 1 KB'
    show static $n 'nginx, a file of 1 KB'
    show create $n 'Runnel, durable create of 1 KB'
    show set $n 'Redis, SET of 1 KB, fsync always'
    show insert $n 'PostgreSQL, INSERT of 1 KB'
    show prepared $n 'PostgreSQL, INSERT, prepared'
    show read:s $n 'Runnel, point read, TLS'
    show create:s $n 'Runnel, durable create, TLS'
done
echo
read -r rss cpu own < <(idle)
target 'point read / nginx, 64 connections' \
    "$(paired read static 64)" '>=' 0.8
target 'CPU of a point read, us' "$(of read 64 6)" '<=' 20
target 'durable create / Redis, 64 connections' \
    "$(paired create set 64)" '>=' 1.0
target 'durable create / PostgreSQL, 64 connections' \
    "$(paired create insert 64)" '>=' 4
target 'the same, with its statement prepared' \
    "$(paired create prepared 64)" '>=' 4
target 'exec to the first 200 on /readyz, ms' "$(start_time)" '<=' 20
target "RSS idle for $idle_s s with TLS, MB" "$rss" '<=' 8
target 'of that not a mapped file, MB' "$own" '<=' 8
target 'CPU idle, percent' "$cpu" '<=' 0
end_with_failures
