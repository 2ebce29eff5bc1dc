# lib.sh -- what the SDK suites share: a server of their own, and its end.
#
# Sourced by tests/suites/sdk_*.sh.  A suite calls, in this order,
#
#   sdk_begin LANG       packages go to $kit, build/sdk/LANG
#   sdk_install CMD...   runs CMD, which gets packages; skips if it fails
#   sdk_run CMD...       runs CMD ENDPOINT everyday, then CMD ENDPOINT write,
#                        kills the server, starts it again on the same data,
#                        runs CMD ENDPOINT reopened, and asks it to stop;
#                        then all of this again, over TLS with an authority
#                        that `runnel tls` made, of which CMD ENDPOINT
#                        stranger, the first there, does not trust it
#   sdk_run_once PHASE CMD...   or only one phase, with a server of its own
#
# The array sdk_options has what else the server is started with, sdk_secure the
# name or loopback address by which it is called over TLS.  With sdk_stranger=no
# there is no stranger: CMD is no SDK.
#
# The server is the sanitized one, in test mode, so that its clock can be turned.
# Its end is a case: status 0 after SIGTERM and nothing said by a sanitizer, by
# any of the servers there were.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${RUNNEL_DEV:=$PWD/build/dev/runnel}"
root=$PWD
sdk_options=()
sdk_secure=localhost
sdk_stranger=yes
failures=0
server=
endpoint=

sdk_end()
{
    if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null; fi
    rm -rf "$work"
}

sdk_begin()
{
    sources=$root/tests/sdk/$1
    kit=$root/build/sdk/$1
    mkdir -p "$kit" || exit 1
    work=$(mktemp -d) || exit 1
    trap sdk_end EXIT
}

sdk_skip()
{
    echo "skipped: $*"
    exit 77
}

sdk_need()
{
    command -v "$1" >/dev/null || sdk_skip "there is no $1"
}

sdk_install()
{
    # Suites that run at the same time may have one kit.
    (flock 9 && "$@") >"$work/install" 2>&1 9>"$kit/lock" && return
    tail -n 20 "$work/install"
    sdk_skip 'the packages cannot be had from their registry'
}

sdk_report()
{
    if [ "$1" -eq 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        failures=$((failures + 1))
    fi
}

# sdk_start [DATA [ADDRESS]]
sdk_start()
{
    local tries

    : >"$work/stdout"
    # RUNNEL_SEED is a test's seed here, and an option of a server.
    env -u RUNNEL_SEED "$RUNNEL_DEV" serve --listen "${2:-127.0.0.1}:0" \
        --data "${1:-$work/data}" --test-mode \
        --log-format text "${sdk_options[@]}" >"$work/stdout" \
        2>>"$work/stderr" &
    server=$!
    for ((tries = 0; tries < 300; tries++)); do
        endpoint=$(sed -n 's/^listening on //p' "$work/stdout")
        if [ -n "$endpoint" ]; then return; fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat "$work/stderr"
    echo 'not ok the server starts'
    exit 1
}

sdk_phase()
{
    local phase=$1

    shift
    timeout 600 "$@" "$endpoint" "$phase"
    sdk_report $? "the $phase part of the tests comes to its end"
}

sdk_stop()
{
    local status

    kill -TERM "$server"
    wait "$server"
    status=$?
    server=
    sdk_report "$status" 'the server ends with status 0 when asked to'
}

# sdk_trust DIR: how each client trusts it, as `runnel tls` prints it.
sdk_trust()
{
    export NODE_EXTRA_CA_CERTS=$1/ca.pem
    export SSL_CERT_FILE=$1/ca.pem
    export REQUESTS_CA_BUNDLE=$1/ca.pem
    export JAVA_TOOL_OPTIONS="-Djavax.net.ssl.trustStore=$1/ca.p12 \
-Djavax.net.ssl.trustStorePassword=runnel"
}

sdk_start_secure()
{
    sdk_start "$work/secure" "${sdk_secure/localhost/127.0.0.1}"
    endpoint=https://$sdk_secure:${endpoint##*:}
}

# The round over TLS, with a new certificate put in place in its middle.
sdk_tls()
{
    "$RUNNEL_DEV" tls init "$work/secure" "$sdk_secure" >/dev/null &&
        "$RUNNEL_DEV" tls export "$work/secure" "$work/trust" >/dev/null
    sdk_report $? 'certificates are made'
    sdk_start_secure
    if [ "$sdk_stranger" = yes ]; then sdk_phase stranger "$@"; fi
    sdk_trust "$work/trust"
    sdk_phase everyday "$@"
    sdk_phase write "$@"
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    "$RUNNEL_DEV" tls init "$work/secure" "$sdk_secure" >/dev/null
    sdk_report $? 'the certificate is renewed'
    sdk_start_secure
    sdk_phase reopened "$@"
    sdk_stop
}

sdk_finish()
{
    ! grep -E 'Sanitizer|runtime error:' "$work/stderr"
    sdk_report $? 'no sanitizer has anything to report'
    if [ "$failures" -ne 0 ]; then tail -n 50 "$work/stderr"; fi
    exit $((failures != 0))
}

sdk_run()
{
    local before

    sdk_start "$work/data"
    sdk_phase everyday "$@"
    sdk_phase write "$@"
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    sdk_start "$work/data"
    sdk_phase reopened "$@"
    sdk_stop
    before=$failures
    sdk_tls "$@" >"$work/tls"
    sed -E 's/^((not )?ok) /\1 over TLS, /' "$work/tls"
    failures=$((before + $(grep -c '^not ok' "$work/tls")))
    sdk_finish
}

sdk_run_once()
{
    sdk_start "$work/data"
    sdk_phase "$@"
    sdk_stop
    sdk_finish
}
