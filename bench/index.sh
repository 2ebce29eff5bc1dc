#!/bin/bash
# index.sh -- what an index gives and costs, beside PostgreSQL, in one run.
#
#   bench/index.sh [SECONDS]     each measurement; 3 by default
#
# DOCUMENTS (1,000,000) of 1 KB are created.  Then creates are measured without
# an index, while one is built over all documents, and with it; then a query
# that finds one document by an indexed number, and one that has a hundred in
# its order, by one client.  PostgreSQL answers the same look-up from a btree on
# a member of jsonb, prepared, over a socket of its own; it is left out where it
# is not installed.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-3}
case $seconds in
'' | *[!0-9]*)
    echo 'usage: bench/index.sh [SECONDS]' >&2
    exit 2
    ;;
esac
export LOAD_DOCUMENTS=${DOCUMENTS:-1000000}
rounds=${ROUNDS:-3}
runnel=${RUNNEL:-build/bench/runnel}
load=build/bench/bench/load
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/runnel-bench.XXXXXX") || exit 1
chmod 755 "$dir"
pid=

as_pg()
{
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

finish()
{
    if [ -n "$pid" ]; then kill "$pid" 2>/dev/null; fi
    if [ -n "${pg_bin:-}" ]; then
        as_pg "$pg_bin/pg_ctl" -D "$dir/pg" -m immediate stop >/dev/null 2>&1
    fi
    wait
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# control PATH BODY: a control route's answer.
control()
{
    PYTHONDONTWRITEBYTECODE=1 python3 - "$port" "$1" "$2" <<'END'
import http.client, sys
sys.path.insert(0, "tests/lib")
from cases import EMULATOR_KEY, sign
port, path, body = sys.argv[1:]
c = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
c.request("POST", path, body, sign("POST", path, EMULATOR_KEY))
answer = c.getresponse()
text = answer.read().decode()
if answer.status >= 300:
    sys.exit(text)
print(text)
END
}

is_complete()
{
    control /_runnel/explain '{"container": "dbs/bench/colls/docs",
        "query": "SELECT * FROM c WHERE c.n = 1"}' |
        grep -q '"state":"complete"'
}

# round NAME KIND CONNECTIONS: one measurement, kept under that name.
round()
{
    "$load" "$2" "$port" "$3" "$seconds" "$pid" | sed "s/^[^ ]*/$1/" >>"$dir/lines"
}

# median NAME FIELD
median()
{
    awk -v k="$1" '$1 == k' "$dir/lines" | sort -n -k "$2,$2" |
        awk -v f="$2" '{ v[NR] = $f } END { if (NR) print v[int((NR + 1) / 2)] }'
}

show()
{
    [ -n "$(median "$1" 3)" ] || return
    printf '%-44s %9s %9s %9s %9s\n' "$2" "$(median "$1" 3)" "$(median "$1" 4)" \
        "$(median "$1" 5)" "$(median "$1" 6)"
}

# target WORDS VALUE GOAL
target()
{
    [ -n "$2" ] || return
    awk -v w="$1" -v v="$2" -v g="$3" 'BEGIN {
        printf "%-56s %8.2f  <= %-5s %s\n", w, v, g, v + 0 <= g + 0 ? "yes" : "NO"
    }'
}

# over A B: by how many percent A is more than B.
over()
{
    if [ -n "$1" ] && [ -n "$2" ]; then
        awk -v a="$1" -v b="$2" 'BEGIN { if (b) print (a / b - 1) * 100 }'
    fi
}

start_pg()
{
    local bin

    for bin in /usr/lib/postgresql/*/bin; do :; done
    [ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] || return 1
    pg_port=$(python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir "$dir/pg"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir/pg"; fi
    as_pg "$bin/initdb" -D "$dir/pg" -A trust -U bench >/dev/null 2>&1 ||
        return 1
    pg_bin=$bin
    as_pg "$bin/pg_ctl" -D "$dir/pg" -w -l "$dir/pg/log" -o "-p $pg_port \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
        -c shared_buffers=1GB -c fsync=off" start >/dev/null || return 1
    psql -q -h 127.0.0.1 -p "$pg_port" -U bench postgres <<END
CREATE TABLE docs (id bigserial PRIMARY KEY, body jsonb NOT NULL);
INSERT INTO docs (body) SELECT jsonb_build_object('id', 'd' || n, 'pk', 'd' || n,
    'n', n, 'filler', repeat('x', 808)) FROM generate_series(0,
    $LOAD_DOCUMENTS - 1) n;
CREATE INDEX docs_n ON docs ((body -> 'n'));
VACUUM ANALYZE docs;
END
    cat >"$dir/find.sql" <<END
\set n random(0, $LOAD_DOCUMENTS - 1)
SELECT body FROM docs WHERE body -> 'n' = to_jsonb(:n::bigint);
END
}

measure_pg()
{
    local said

    said=$("$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U bench -n -M prepared \
        -c 1 -j 1 -T "$seconds" -f "$dir/find.sql" -l \
        --log-prefix="$dir/pg_log" postgres 2>/dev/null)
    sort -n -k 3,3 "$dir"/pg_log.* | awk \
        -v tps="$(sed -n 's/^tps = \([0-9]*\).*/\1/p' <<<"$said")" '
        { t[NR] = $3 }
        END { printf "pg 1 %d %d %d 0 0\n", tps, t[int(NR * .5) + 1],
              t[int(NR * .99) + 1] }' >>"$dir/lines"
    rm -f "$dir"/pg_log.*
}

"$runnel" serve --listen 127.0.0.1:0 --data "$dir/data" --slow-ms 0 \
    --requests-max 4000000000 --test-mode >"$dir/out" 2>"$dir/err" &
pid=$!
for ((i = 0; i < 100; i++)); do
    port=$(sed -n 's/^listening on .*://p' "$dir/out")
    if [ -n "$port" ]; then break; fi
    sleep 0.1
done
"$load" make "$port" 64 1800 "$pid" >"$dir/made" || exit 1
round warm create 64
for ((r = 0; r < rounds; r++)); do round before create 64; done
begun=$(date +%s.%N)
control /_runnel/index '{"container": "dbs/bench/colls/docs", "paths": ["/n"]}' \
    >/dev/null || exit 1
until is_complete; do round during create 64; done
built=$(date +%s.%N)
for ((r = 0; r < rounds; r++)); do
    round after create 64
    round find find 1
    round find16 find 16
    round top top 1
done
if start_pg; then
    for ((r = 0; r < rounds; r++)); do
        measure_pg
        round find_beside find 1
    done
fi

echo "$LOAD_DOCUMENTS documents, an index on one number of each"
printf '%-44s %9s %9s %9s %9s\n' '' 'a second' 'p50 us' 'p99 us' 'CPU us'
show before 'create, 64 connections, no index'
show during 'create while the index is built'
show after 'create with the index'
show find 'find by the index, 1 connection'
show find16 'find by the index, 16 connections'
show top '100 documents in its order, 1 connection'
show find_beside 'find by the index, beside PostgreSQL'
show pg 'PostgreSQL, the same from jsonb, 1 connection'
awk -v a="$begun" -v b="$built" 'BEGIN {
    printf "built in %.0f s, under creates\n\n", b - a }'
target 'find, median ms' "$(awk -v v="$(median find 4)" \
    'BEGIN { print v / 1000 }')" 1
target 'find / PostgreSQL, median' "$(awk -v a="$(median find_beside 4)" \
    -v b="$(median pg 4)" 'BEGIN { if (b) print a / b }')" 5
target '100 in order, median ms' "$(awk -v v="$(median top 4)" \
    'BEGIN { print v / 1000 }')" 5
target 'CPU of a create with the index, percent more' \
    "$(over "$(median after 6)" "$(median before 6)")" 25
target 'time of a create with the index, percent more' \
    "$(over "$(median before 3)" "$(median after 3)")" 25
target 'creates while it is built, percent fewer' \
    "$(awk -v a="$(median before 3)" -v b="$(median during 3)" \
    'BEGIN { if (a) print (1 - b / a) * 100 }')" 20
failed=$(awk '{ n += $7 } END { print n + 0 }' "$dir/lines")
echo "answers that were wrong: $failed"
exit $((failed > 0))
