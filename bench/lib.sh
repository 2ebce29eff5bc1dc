# lib.sh -- what the measurements of servers share; sourced, from the top of
# the tree, by a script that has said `set -u`.
#
# Everything started is stopped at the end, and everything lies in $dir, which
# goes then.  Measurements are lines of $dir/lines, as bench/load.c prints them:
# name, connections, a second, p50 us, p99 us, CPU us, wrong answers.

runnel=${RUNNEL:-build/bench/runnel}
load=build/bench/bench/load
rounds=${ROUNDS:-3}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/runnel-bench.XXXXXX") || exit 1
chmod 755 "$dir"
pids=()

finish()
{
    if [ ${#pids[@]} -gt 0 ]; then
        kill "${pids[@]}" 2>/dev/null
        kill -CONT "${pids[@]}" 2>/dev/null # one may be stopped
    fi
    if [ -n "${pg_pid:-}" ]; then
        pkill -CONT -P "$pg_pid"
        kill -CONT "$pg_pid"
    fi
    if [ -n "${pg_bin:-}" ]; then
        as_pg "$pg_bin/pg_ctl" -D "$dir/pg" -m immediate stop >/dev/null 2>&1
    fi
    wait
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# take_seconds DEFAULT [GIVEN]: how long each measurement takes.
take_seconds()
{
    seconds=${2:-$1}
    case $seconds in
    *[!0-9]*)
        echo "usage: $0 [SECONDS]" >&2
        exit 2
        ;;
    esac
}

# ---- servers ---------------------------------------------------------------

free_port()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# start_runnel OPTIONS...: on $data, or $dir/data; sets $runnel_pid and
# $runnel_port.
start_runnel()
{
    local i

    : >"$dir/out"
    "$runnel" serve --listen 127.0.0.1:0 --data "${data:-$dir/data}" --slow-ms 0 \
        --requests-max 4000000000 "$@" >"$dir/out" 2>"$dir/err" &
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

stop_runnel()
{
    if [ -n "${runnel_pid:-}" ]; then
        kill "$runnel_pid" && wait "$runnel_pid"
        runnel_pid=
    fi
}

# Serves $dir/www; sets $nginx_port and $nginx_pids, its workers.
start_nginx()
{
    command -v nginx >/dev/null || return 1
    nginx_port=$(free_port)
    mkdir -p "$dir/www"
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
    nginx_pids=$(pgrep -P "$!" | paste -sd,)
    [ -n "$nginx_pids" ]
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

# start_pg OPTIONS: an empty cluster; sets $pg_bin, $pg_port and $pg_pid.
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
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= $1" \
        start >/dev/null || return 1
    pg_pid=$(head -n 1 "$dir/pg/postmaster.pid")
}

# SQL from standard input.
ask_pg()
{
    psql -q -h 127.0.0.1 -p "$pg_port" -U bench postgres
}

pg_ticks()
{
    awk '{ print $14 + $15 + $16 + $17 }' "/proc/$pg_pid/stat"
}

# measure_pg NAME CONNECTIONS SCRIPT MODE: the same line as load prints.
measure_pg()
{
    local said before after

    before=$(pg_ticks)
    said=$("$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U bench -n -M "$4" \
        -c "$2" -j 1 -T "$seconds" -f "$3" -l \
        --log-prefix="$dir/pg_log" postgres 2>/dev/null)
    sleep 0.3
    after=$(pg_ticks)
    sort -n -k 3,3 "$dir"/pg_log.* | awk -v k="$1" -v n="$2" \
        -v ticks=$((after - before)) \
        -v tps="$(sed -n 's/^tps = \([0-9]*\).*/\1/p' <<<"$said")" '
        { t[NR] = $3 }
        END { printf "%s %d %d %d %d %.1f 0\n", k, n, tps, t[int(NR * .5) + 1],
              t[int(NR * .99) + 1], NR ? ticks * 1e4 / NR : 0 }'
    rm -f "$dir"/pg_log.*
}

# ---- figures ---------------------------------------------------------------

# Of the numbers on standard input.
median()
{
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# of NAME CONNECTIONS FIELD: the median of the lines with that name.
of()
{
    awk -v k="$1" -v n="$2" -v f="$3" '$1 == k && $2 == n { print $f }' \
        "$dir/lines" | median
}

# ratio A B [TIMES]: A / B, or nothing without both.
ratio()
{
    if [ -n "$1" ] && [ -n "$2" ]; then
        awk -v a="$1" -v b="$2" -v t="${3:-1}" \
            'BEGIN { if (b) print a / b * t }'
    fi
}

# paired A B CONNECTIONS: how many times as many of A as of B; the median of
# those that were measured beside each other.  Nothing without both.
paired()
{
    awk -v a="$1" -v b="$2" -v n="$3" '
        $1 == a && $2 == n { ours[++i] = $3 }
        $1 == b && $2 == n { theirs[++j] = $3 }
        END { for (k = 1; k <= i && k <= j; k++)
                  if (theirs[k]) print ours[k] / theirs[k] }' \
        "$dir/lines" | median
}

show_heads()
{
    printf '%-36s %3s %9s %9s %9s %9s\n' '' '' 'a second' 'p50 us' 'p99 us' \
        'CPU us'
}

# show NAME CONNECTIONS WORDS
show()
{
    [ -n "$(of "$1" "$2" 3)" ] || return
    printf '%-36s %3d %9s %9s %9s %9s\n' "$3" "$2" "$(of "$1" "$2" 3)" \
        "$(of "$1" "$2" 4)" "$(of "$1" "$2" 5)" "$(of "$1" "$2" 6)"
}

# target WORDS VALUE OPERATOR GOAL: nothing for what was not measured.
target()
{
    [ -n "$2" ] || return
    awk -v w="$1" -v v="$2" -v op="$3" -v g="$4" 'BEGIN {
        good = op == ">=" ? v + 0 >= g + 0 : v + 0 <= g + 0
        printf "%-52s %8.2f  %s %-6s %s\n", w, v, op, g, good ? "yes" : "NO"
    }'
}

# The last line, and the exit status.
end_with_failures()
{
    local failed

    failed=$(awk '{ n += $7 } END { print n + 0 }' "$dir/lines")
    echo "answers that were wrong: $failed"
    exit $((failed > 0))
}
