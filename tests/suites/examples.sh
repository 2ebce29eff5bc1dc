#!/bin/bash
# examples.sh -- the programs of examples/ do what they say, against the
# sanitized server, a real Redis and a real PostgreSQL.  About 30 s.
. "$(dirname "$0")/../sdk/lib.sh"
sdk_begin examples
sdk_need python3
build=${RUNNEL_DEV%/*}/examples
[ -x "$build/crud" ] || sdk_skip 'the examples are not built'

free_port()
{
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

start_redis()
{
    command -v redis-server >/dev/null || return
    REDIS_PORT=$(free_port)
    export REDIS_PORT
    redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' \
        --dir "$work" --daemonize yes --pidfile "$work/redis.pid" >/dev/null
}

# A cluster of its own, which its owner, not root, runs.
as_postgres()
{
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

start_postgres()
{
    local port

    for pg in /usr/lib/postgresql/*/bin; do :; done
    [ -x "$pg/initdb" ] && [ -x "$build/once" ] || return
    port=$(free_port)
    mkdir "$work/pg"
    chmod 711 "$work"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$work/pg"; fi
    as_postgres "$pg/initdb" -D "$work/pg" -A trust -U runnel >/dev/null 2>&1 &&
        as_postgres "$pg/pg_ctl" -D "$work/pg" -w -l "$work/pg/log" \
            -o "-p $port -c listen_addresses=127.0.0.1 \
-c unix_socket_directories= -c fsync=off" start >/dev/null &&
        export POSTGRES="host=127.0.0.1 port=$port user=runnel dbname=postgres"
}

start_redis
start_postgres
[ -n "${POSTGRES:-}" ] || echo 'ok # SKIP once: there is no PostgreSQL'
[ -n "${REDIS_PORT:-}" ] || echo 'ok # SKIP cache: there is no redis-server'
sdk_start
PYTHONDONTWRITEBYTECODE=1 timeout 600 python3 -u "$root/tests/examples/main.py" \
    "$build" "${endpoint##*:}"
sdk_report $? 'the examples come to their end'
if [ -f "$work/redis.pid" ]; then kill "$(cat "$work/redis.pid")"; fi
if [ -n "${POSTGRES:-}" ]; then
    as_postgres "$pg/pg_ctl" -D "$work/pg" -m immediate stop >/dev/null
fi
sdk_stop
sdk_finish
