#!/bin/bash
# index.sh -- what an index gives and costs, beside PostgreSQL, in one run.
#
#   bench/index.sh [SECONDS]     each measurement; 3 by default
#
# DOCUMENTS (1,000,000) of 1 KB are created, and copied.  Then creates are
# measured while an index is built over all documents, and with it, in turns with
# creates on the copy, which has none: a machine that is shared is not the same
# for long.  Only one of the two servers runs at a time.  Then a query that finds
# one document by an indexed number, and one that has a hundred in its order, by
# one client.  PostgreSQL answers the same look-up from a btree on
# a member of jsonb, prepared, over a socket of its own; it is left out where it
# is not installed.
set -u
cd "$(dirname "$0")/.." || exit 1
. bench/lib.sh
take_seconds 3 "$@"
export LOAD_DOCUMENTS=${DOCUMENTS:-1000000}

# control PATH BODY: a control route's answer.
control()
{
    PYTHONDONTWRITEBYTECODE=1 python3 - "$runnel_port" "$1" "$2" <<'END'
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
    "$load" "$2" "$runnel_port" "$3" "$seconds" "$runnel_pid" |
        sed "s/^[^ ]*/$1/" >>"$dir/lines"
}

# over A B, fewer A B: by how many percent A is more, or less, than B.
over()
{
    ratio "$1" "$2" 100 | awk '{ print $1 - 100 }'
}

fewer()
{
    over "$1" "$2" | awk '{ print -$1 }'
}

start_pg_docs()
{
    start_pg '-c shared_buffers=1GB -c fsync=off' || return 1
    ask_pg <<END
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

# on plain|indexed: that server goes on, and the other does not.
on()
{
    if [ "$1" = plain ]; then
        kill -STOP "$indexed_pid"
        runnel_pid=$plain_pid runnel_port=$plain_port
    else
        kill -STOP "$plain_pid"
        runnel_pid=$indexed_pid runnel_port=$indexed_port
    fi
    kill -CONT "$runnel_pid"
}

# pair NAME: creates with the index, and those that they are held against.
pair()
{
    on plain
    round "beside_$1" create 64
    on indexed
    round "$1" create 64
}

start_runnel --test-mode
"$load" make "$runnel_port" 64 1800 "$runnel_pid" >"$dir/made" || exit 1
stop_runnel
cp -r "$dir/data" "$dir/plain"
start_runnel --test-mode
indexed_pid=$runnel_pid indexed_port=$runnel_port
data=$dir/plain start_runnel --test-mode
plain_pid=$runnel_pid plain_port=$runnel_port
pair warm
begun=$(date +%s.%N)
control /_runnel/index '{"container": "dbs/bench/colls/docs", "paths": ["/n"]}' \
    >/dev/null || exit 1
until is_complete; do pair during; done
built=$(date +%s.%N)
for ((r = 0; r < rounds; r++)); do
    pair after
    round find find 1
    round find find 16
    round top top 1
done
kill -CONT "$plain_pid"
if start_pg_docs; then
    for ((r = 0; r < rounds; r++)); do
        measure_pg pg 1 "$dir/find.sql" prepared >>"$dir/lines"
        round find_beside find 1
    done
fi

echo "$LOAD_DOCUMENTS documents, an index on one number of each"
show_heads
show during 64 'create while the index is built'
show beside_during 64 'in turns with: no index'
show after 64 'create with the index'
show beside_after 64 'in turns with: no index'
show find 1 'find by the index'
show find 16 'find by the index'
show top 1 '100 documents in its order'
show find_beside 1 'find by the index, beside PostgreSQL'
show pg 1 'PostgreSQL, the same from jsonb'
awk -v a="$begun" -v b="$built" 'BEGIN {
    printf "built in %.0f s, half of them under creates\n\n", b - a }'
target 'find, median ms' "$(ratio "$(of find 1 4)" 1000)" '<=' 1
target 'find / PostgreSQL, median' \
    "$(ratio "$(of find_beside 1 4)" "$(of pg 1 4)")" '<=' 5
target '100 in order, median ms' "$(ratio "$(of top 1 4)" 1000)" '<=' 5
target 'CPU of a create with the index, percent more' \
    "$(over "$(of after 64 6)" "$(of beside_after 64 6)")" '<=' 25
target 'time of a create with the index, percent more' \
    "$(over "$(of beside_after 64 3)" "$(of after 64 3)")" '<=' 25
target 'creates while it is built, percent fewer' \
    "$(fewer "$(of during 64 3)" "$(of beside_during 64 3)")" '<=' 20
end_with_failures
