#!/bin/bash
# evil.sh -- the server against clients that mean it harm, over real sockets.
#
# The bad-input corpus case by case, clients that are slow, silent or deaf, and
# bytes of another protocol, at a server with sanitizers.  After each of them
# the server must still serve, and at the end stop by itself without a report.
set -u
cd "$(dirname "$0")/../.." || exit 1
export RUNNEL=${RUNNEL:-$PWD/build/release/runnel} PYTHONDONTWRITEBYTECODE=1
server=${RUNNEL_DEV:-$PWD/build/dev/runnel}
client=${server%/*}/tests/evil_client
if [ ! -x "$server" ] || [ ! -x "$client" ]; then
    echo "needs $server and $client"
    exit 77
fi
scratch=$(mktemp -d)
pid=
failed=0
limit_ms=1500

finish()
{
    if [ -n "$pid" ]; then kill -9 "$pid" 2>/dev/null; fi
    rm -rf "$scratch"
}
trap finish EXIT

# check NAME COMMAND...
check()
{
    local name=$1

    shift
    if "$@"; then
        echo "ok $name"
    else
        echo "not ok $name"
        failed=1
        return 1
    fi
}

# start [OPTION...]: a server on a fresh directory; sets pid and port.
start()
{
    rm -rf "$scratch/data"
    : >"$scratch/out"
    "$server" serve --listen 127.0.0.1:0 --data "$scratch/data" \
        --log-format text --log-level warn "$@" \
        >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    port=
    for ((i = 0; i < 300; i++)); do
        port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$scratch/out")
        if [ -n "$port" ]; then return 0; fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$scratch/err"
    return 1
}

# It ends within ten seconds, with success, and no sanitizer has complained.
stops_cleanly()
{
    local status

    kill -TERM "$pid"
    for ((i = 0; i < 100; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$pid" 2>/dev/null; then
        echo 'it does not end'
        return 1
    fi
    wait "$pid"
    status=$?
    pid=
    if [ "$status" -ne 0 ] ||
        grep -E 'Sanitizer|runtime error' "$scratch/err"; then
        echo "exit status $status"
        tail -n 60 "$scratch/err"
        return 1
    fi
}

# run NAME ARGUMENT...: the client, with a limit to its time.
run()
{
    local name=$1

    shift
    check "$name" timeout -k 5 200 "$client" "$@"
}

check 'a server starts' start --requests-max 100000 --no-auto-tls || exit 1
for file in tests/evil/framing/*.txt; do
    run "framing of $(basename "$file" .txt)" framing "$port" "$file"
done
run 'foreign bytes on a plain port' noise "$port"
check 'it stops cleanly after the corpus' stops_cleanly

check 'an impatient server starts' start --head-ms $limit_ms \
    --idle-ms $limit_ms --stall-ms $limit_ms --requests-max 1000000
# Each slow client is a descriptor; an ordinary user begins with 1,024.
if ulimit -Sn 4096; then
    run 'two thousand slow clients are cut off and others served' \
        pace "$port" $limit_ms 2000
else
    echo 'ok # SKIP two thousand slow clients are cut off and others served'
fi
run 'deaf clients are cut off and others served' stall "$port"
check 'it stops cleanly after the slow' stops_cleanly

if command -v python3 >/dev/null; then
    RUNNEL_DEV=$server timeout -k 5 200 python3 tests/evil/slow.py || failed=1
else
    echo 'ok # SKIP two thousand slow clients are held: no python3'
fi

if openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \
    -keyout "$scratch/key" -out "$scratch/cert" 2>/dev/null; then
    check 'a server with TLS starts' start --tls-cert "$scratch/cert" \
        --tls-key "$scratch/key" --head-ms $limit_ms --idle-ms $limit_ms
    run 'foreign bytes on a port with TLS' noise "$port"
    run 'slow clients on a port with TLS' pace "$port" $limit_ms 500
    check 'it stops cleanly after the noise' stops_cleanly
else
    echo 'ok # SKIP foreign bytes on a port with TLS: no openssl'
fi

# What a server keeps of requests that are over must not add up.
if command -v python3 >/dev/null && [ -x "$RUNNEL" ]; then
    timeout -k 5 120 python3 tests/rest/main.py flat || failed=1
else
    echo 'ok # SKIP memory stays as it is: no python3 or no release build'
fi
exit $failed
