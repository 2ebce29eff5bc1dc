#!/bin/bash
# client.sh -- the C library, librunnel, against servers, and as it is installed.
#
# Our server by HTTP, by TLS with an authority of its own, and through a proxy;
# then a server that was not written here, if npm can be reached.  The programs
# are built with sanitizers; the installed library is the release build's.
. "$(dirname "$0")/../sdk/lib.sh"
release=${RUNNEL:-$root/build/release/runnel}
release=${release%/*}
programs=${RUNNEL_DEV%/*}/tests
export CMOCKA_MESSAGE_OUTPUT=TAP

sdk_begin client
if [ ! -x "$programs/client_live_items" ] || [ ! -e "$release/librunnel.so" ]; then
    sdk_skip "needs $programs/client_live_items and $release/librunnel.so"
fi

# live PREFIX PROGRAM...: its cases, with the prefix before their names.
live()
{
    local prefix=$1 name status

    shift
    for name in "$@"; do
        RUNNEL_ENDPOINT=$endpoint timeout 300 "$programs/client_live_$name" \
            >"$work/said" 2>&1
        status=$?
        sed -E "s/^((not )?ok) [0-9]+ - /\1 $prefix/; /# SKIP/d; /^1\.\./d" \
            "$work/said"
        sdk_report $status "${prefix}the $name program ends well"
    done
}

# ---- the library as it is installed ------------------------------------------

header_compiles_as_cpp()
{
    echo "#include <runnel/$1>" | g++ -std=c++17 -Wall -Wextra -Wpedantic \
        -Werror -fsyntax-only -I"$root/include" -x c++ -
}
for header in client.h host.h processor.h runnel.h; do
    header_compiles_as_cpp "$header"
    sdk_report $? "$header compiles as C++17"
done

# defined LIBRARY: names that a program can link with.
defined()
{
    case $1 in
    *.so) nm -D --defined-only "$1" ;;
    *) nm -g --defined-only "$1" ;;
    esac | awk 'NF == 3 { print $3 }' | sort
}

# Functions that a header declares; runnel_text is its own.
declared()
{
    sed 's|/\*.*||; /^ \*/d' "$root/include/runnel/$1" |
        grep -oE '(^|[ *])runnel_[a-z_]+\(' | tr -d ' *(' | sort -u |
        grep -vx runnel_text
}

for kind in so a; do
    word=$([ $kind = so ] && echo shared || echo static)
    ! defined "$release/librunnel.$kind" | grep -v '^runnel_'
    sdk_report $? "the $word library defines nothing but runnel_ names"
    for header in client.h host.h processor.h; do
        missing=$(comm -23 <(declared $header) \
            <(defined "$release/librunnel.$kind"))
        [ -z "$missing" ] || echo "missing: $missing"
        [ -z "$missing" ]
        sdk_report $? "the $word library has all that $header declares"
    done
done

# A program that was linked with it asks for the interface, not for the release.
readelf -d "$release/librunnel.so" |
    grep -qE 'SONAME.*\[librunnel\.so\.[0-9]+\]$'
sdk_report $? 'the shared library has a soname of its major version'

DESTDIR=$work cmake --install "$release" --prefix /opt/rn >"$work/installed" 2>&1
sdk_report $? 'the library is installed'
find "$work" -path "$work/opt/rn" -prune -o -name '*runnel*' -print >"$work/out"
[ ! -s "$work/out" ] && grep -q ^ExecStart=/opt/rn/bin/runnel \
    "$work/opt/rn/lib/systemd/system/runnel.service"
sdk_report $? 'a prefix given at the installation holds for all of it'
PKG_CONFIG_PATH=$(dirname "$(find "$work/opt" -name runnel.pc)")
export PKG_CONFIG_PATH
libdir=$(dirname "$PKG_CONFIG_PATH")
link_shared()
{
    local flags

    flags=$(pkg-config --cflags --libs runnel) &&
        # shellcheck disable=SC2086
        cc -std=c17 -Wall -Wextra -Werror "$root/examples/crud.c" $flags \
            -o "$work/shared"
}
link_shared
sdk_report $? 'a program compiles with what pkg-config says'
cp "$root/examples/first.c" "$work"
(
    cd "$work" &&
        sh -c "$(sed -n '/^cc -o printer/p' "$root/docs/processor.md")" &&
        LD_LIBRARY_PATH=$libdir ldd printer | grep -q "librunnel.*$libdir"
)
sdk_report $? 'the command of docs/processor.md compiles the first program'
# shellcheck disable=SC2046
cc -std=c17 -I"$work/opt/rn/include" "$root/examples/crud.c" \
    "$libdir/librunnel.a" $(pkg-config --libs libcurl libcrypto) -pthread -lm \
    -o "$work/static"
sdk_report $? 'a program links with the static library'

# ---- our server --------------------------------------------------------------

sdk_start
live '' items query resume vectors faults plain
LD_LIBRARY_PATH=$libdir "$work/shared" "$endpoint"
sdk_report $? 'the example runs with the shared library'
"$work/static" "$endpoint"
sdk_report $? 'the example runs with the static library'
sdk_stop

"$RUNNEL_DEV" tls init "$work/secure" localhost >/dev/null &&
    "$RUNNEL_DEV" tls export "$work/secure" "$work/trust" >/dev/null
sdk_report $? 'certificates are made'
sdk_start_secure
export RUNNEL_CA_FILE=$work/trust/ca.pem
live 'over TLS, ' tls items plain
mkfifo "$work/until"
python3 "$root/tests/client/proxy.py" <"$work/until" >"$work/proxy" &
proxy=$!
exec 8>"$work/until"
for ((tries = 0; tries < 100; tries++)); do
    if [ -s "$work/proxy" ]; then break; fi
    sleep 0.1
done
RUNNEL_PROXY=http://127.0.0.1:$(head -n 1 "$work/proxy")
export RUNNEL_PROXY
live 'through a proxy, ' tls plain
unset RUNNEL_PROXY
grep -q "^tunnel localhost:${endpoint##*:}" "$work/proxy"
sdk_report $? 'the proxy was asked for the server'
exec 8>&-
wait "$proxy"
sdk_stop
unset RUNNEL_CA_FILE

# ---- another server ----------------------------------------------------------

install()
{
    cmp -s "$sources/package.json" "$kit/installed" && return
    cp "$sources/package.json" "$kit/" && cd "$kit" &&
        timeout 400 npm install --no-package-lock --no-audit --no-fund &&
        cp package.json installed
}

foreign()
{
    node "$kit/node_modules/@vercel/cosmosdb-server/lib/cli.js" --no-ssl \
        --host 127.0.0.1 -p 0 >"$work/foreign" 2>&1 &
    server=$!
    for ((tries = 0; tries < 300; tries++)); do
        endpoint=$(sed -n 's|^Ready .* at \(.*:[0-9]*\)$|http://\1|p' \
            "$work/foreign")
        if [ -n "$endpoint" ]; then break; fi
        sleep 0.1
    done
    RUNNEL_PLAIN=1 live 'at another server, ' items plain
    kill "$server"
    wait "$server" 2>/dev/null
    server=
}

if ! command -v npm >/dev/null || ! (flock 9 && install) \
    >"$work/install" 2>&1 9>"$kit/lock"; then
    echo 'ok # SKIP at another server: its package cannot be had'
else
    foreign
fi
sdk_finish
