#!/bin/bash
# processor.sh -- librunnel's change feed processor against a real server.
#
# Programs that know the public headers alone: hosts that are killed with
# SIGKILL while a writer works and ranges split and merge.  All write into one
# ledger; nothing may be missing in it, and the order of each key must hold.
# Suite `chaos` does much more of that; tests/fleet has both.
set -u
cd "$(dirname "$0")/../.." || exit 1
server=${RUNNEL_DEV:-$PWD/build/dev/runnel}
program=${server%/*}/tests/processor_program
if [ ! -x "$server" ] || [ ! -x "$program" ]; then
    echo "needs $server and $program"
    exit 77
fi
scratch=$(mktemp -d)
pid=
declare -A host input
status=0
limit=300 # seconds: for what must happen in the end, on any machine

finish()
{
    for p in $pid "${host[@]}"; do kill -9 "$p" 2>/dev/null; done
    rm -rf "$scratch"
}
trap finish EXIT

report()
{
    if [ "$1" -eq 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        status=1
    fi
    return "$1"
}

# wait_for COMMAND...: until it succeeds
wait_for()
{
    local end=$((SECONDS + limit))
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then return 1; fi
        sleep 0.1
    done
}

"$server" serve --listen 127.0.0.1:0 --data "$scratch/data" \
    >"$scratch/out" 2>"$scratch/err" &
pid=$!
has_port()
{
    port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$scratch/out")
    [ -n "$port" ]
}
if ! wait_for has_port; then
    cat "$scratch/err"
    echo 'not ok a server starts'
    exit 1
fi
url=http://127.0.0.1:$port/
ledger=$scratch/ledger

# start NAME: a host, which ends by `stop NAME`
start()
{
    local fd
    mkfifo "$scratch/in.$1"
    "$program" "${2:-host}" "$url" "$1" "$ledger" <"$scratch/in.$1" \
        >"$scratch/host.$1" 2>>"$scratch/host.err" &
    host[$1]=$!
    exec {fd}>"$scratch/in.$1"
    input[$1]=$fd
    wait_for grep -qs ready "$scratch/host.$1"
}

stop()
{
    local fd=${input[$1]} rc
    echo >&"$fd" # hosts started later have the other end open, too
    wait "${host[$1]}"
    rc=$?
    exec {fd}>&-
    unset "host[$1]"
    rm -f "$scratch/in.$1"
    return $rc
}

kill_hard()
{
    local fd=${input[$1]}
    kill -9 "${host[$1]}"
    wait "${host[$1]}" 2>/dev/null
    exec {fd}>&-
    unset "host[$1]"
    rm -f "$scratch/in.$1"
}

# Every document's last version is in the ledger.
is_complete()
{
    awk -v documents="$1" -v last="$2" '
        $3 == last && !($2 in done) { done[$2] = 1; n++ }
        END { exit n == documents ? 0 : 1 }' "$ledger" 2>/dev/null
}

# New changes of a key come in the order of their LSNs.
is_in_order()
{
    awk '
        ($2, $3) in seen { twice++; next }
        { seen[$2, $3] = 1 }
        $4 < most[$1] { print "late: " $0; bad = 1 }
        $4 > most[$1] { most[$1] = $4 }
        END {
            printf "# %d lines, %d twice\n", NR, twice
            exit bad
        }' "$ledger"
}

shop='"container":"dbs/shop/colls/orders"'
"$program" prepare "$url"
report $? 'a database, a source and a lease container are made'

# ---- what a user may get wrong ----------------------------------------------
# refuses WHAT TEXT [NAME=VALUE]...: a host that is started so says the text,
# with what to do about it
refuses()
{
    local what=$1 text=$2
    shift 2
    env PROGRAM_START_MS=1000 "$@" "$program" host "${at:-$url}" x \
        "$scratch/none" </dev/null >/dev/null 2>"$scratch/wrong"
    grep -qF -- "$text" "$scratch/wrong"
    report $? "$what" || cat "$scratch/wrong"
}

elsewhere=
python3 -u -m http.server --bind 127.0.0.1 --directory "$scratch" 0 \
    >"$scratch/web" 2>&1 &
host[web]=$!
web_has_port()
{
    elsewhere=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' \
        "$scratch/web")
    [ -n "$elsewhere" ]
}
wait_for web_has_port
elsewhere=http://127.0.0.1:$elsewhere/
source_text='the source container cannot be read; check the'
leases_text='the lease container cannot be read; check the'
refuses 'a wrong key is reported at start' "$source_text key or token: " \
    PROGRAM_KEY=d3Jvbmcga2V5
at=http://127.0.0.1:1/ refuses \
    'an endpoint that does not answer is reported at start' \
    "$source_text endpoint: "
at=$elsewhere refuses 'a web server that is no account is reported at start' \
    'without a message of the service; is the endpoint that of an account?'
refuses 'so is one where the leases should be' "$leases_text endpoint: " \
    PROGRAM_LEASES_URL="$elsewhere"
refuses 'a source that does not exist is named' \
    'shop/none does not exist; create it, or correct its name' \
    PROGRAM_SOURCE=shop/none
refuses 'a database of the leases that does not exist is named' \
    "the lease container's database none does not exist; create it" \
    PROGRAM_LEASES=none/leases
refuses 'a lease container with another key path is refused' \
    'must be /id or /partitionKey; use another container' \
    PROGRAM_LEASES=shop/orders
refuses 'leases in the source container are refused' \
    'leases must not be the source container' PROGRAM_SOURCE=shop/leases
kill "${host[web]}" && wait "${host[web]}" 2>/dev/null
unset 'host[web]'

# ---- three hosts, kills, splits and a merge ---------------------------------
start a && start b && start c
report $? 'three hosts start'
"$program" write "$url" 0 200 25 &
writer=$!
sleep 1
"$program" split "$url" "{$shop,\"range\":0}"
sleep 1
kill_hard b
"$program" split "$url" "{$shop,\"range\":1}"
start d
sleep 1
kill_hard c
"$program" merge "$url" "{$shop,\"range\":3,\"with\":4}"
start e
wait "$writer"
report $? 'a writer works while hosts are killed and ranges split and merge'
wait_for is_complete 200 24
report $? 'no change is missing'
is_in_order
report $? 'the changes of each key are in order'
"$program" lag "$url" >"$scratch/lag"
report $? 'the lag can be asked for while hosts run'
stop a && stop d && stop e
report $? 'hosts stop'
"$program" leases "$url" >"$scratch/leases"
[ -s "$scratch/leases" ] && ! awk '{ print $2 }' "$scratch/leases" | grep -qv -- -
report $? 'no lease has an owner after they have stopped'
grep -q '^0 ' <("$program" lag "$url")
report $? 'nothing is left to do'

# ---- the first program, but for the port -------------------------------------
dev=${server%/*}
sed "s|localhost:8081|127.0.0.1:$port|" examples/first.c >"$scratch/first.c"
cc -std=c17 -Wall -Wextra -Werror -fsanitize=address,undefined -Iinclude \
    -o "$scratch/first" "$scratch/first.c" "$dev/librn_client.a" \
    "$dev/librn_cosmos.a" "$dev/librn_json.a" "$dev/librn_base.a" \
    $(pkg-config --libs libcurl libcrypto) -lm -pthread
report $? 'the first program compiles by the public header'
mkfifo "$scratch/in.first"
"$scratch/first" <"$scratch/in.first" >"$scratch/printed" 2>&1 &
host[first]=$!
exec {first_input}>"$scratch/in.first"
# It begins now: once it has leases, a change comes.
has_leases()
{
    [ -n "$(PROGRAM_NAME=printer "$program" leases "$url")" ]
}
has_read()
{
    PROGRAM_NAME=printer "$program" lag "$url" | grep -q '^0 '
}
wait_for has_leases && "$program" write "$url" 999 1000 1 &&
    wait_for has_read
echo >&"$first_input"
wait "${host[first]}" && grep -q '"id":"999"' "$scratch/printed"
report $? 'the first program prints a change and stops'
exec {first_input}>&-
unset 'host[first]'

# ---- leases in another account -----------------------------------------------
"$server" serve --listen 127.0.0.1:0 --data "$scratch/other" \
    >"$scratch/other.out" 2>>"$scratch/err" &
host[other]=$!
other_has_port()
{
    other=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$scratch/other.out")
    [ -n "$other" ]
}
wait_for other_has_port
other=http://127.0.0.1:$other/
ledger=$scratch/apart
"$program" prepare "$other"
export PROGRAM_NAME=apart PROGRAM_LEASES_URL=$other
start apart && wait_for is_complete 200 24
report $? 'a host with its leases in another account gets every document'
stop apart && [ -n "$("$program" leases "$url")" ] &&
    grep -q '^0 ' <("$program" lag "$url")
report $? 'its leases and its lag are read there'
unset PROGRAM_LEASES_URL
[ -z "$("$program" leases "$url")" ]
report $? 'no lease is in the account of the source'
unset PROGRAM_NAME
kill "${host[other]}" && wait "${host[other]}"
unset 'host[other]'

# ---- the style of 2017 ------------------------------------------------------
ledger=$scratch/style
start s style && wait_for is_complete 200 24
report $? 'a registered observer gets every document'
stop s && grep -q 'left [0-9]' "$scratch/host.s"
report $? 'it is unregistered once, and knows the remaining work'

# ---- the manual --------------------------------------------------------------
if ! PYTHONDONTWRITEBYTECODE=1 python3 -u tests/fleet/manual.py "$PWD"; then
    status=1
fi

# ---- fleets: starts, shares, a rolling restart, a split, a kill --------------
if ! PYTHONDONTWRITEBYTECODE=1 python3 -u tests/fleet/main.py "$url" \
    "$program" steady; then
    status=1
fi
exit $status
