#!/bin/bash
# sdk-suites.sh -- runs the official SDKs' own tests against the server.
#
#   tools/sdk-suites.sh js|python|go|java CHECKOUT [NAME...]
#
# CHECKOUT is a clone of the SDK's repository, with or without a work tree.  The
# script copies what is committed there to a directory of its own and runs it
# there; the clone is not changed.  A NAME is a file of tests; without one, the
# script runs every file of the groups below.
#
#   js       functional/container         sdk/cosmosdb/cosmos/test/public
#   python   crud                         sdk/cosmos/azure-cosmos/tests/test_*
#   go       container                    sdk/data/azcosmos/emulator_cosmos_*
#   java     rx/ChangeFeedTest            sdk/cosmos/azure-cosmos-tests,
#                                         src/test/java/com/azure/cosmos
#
# The server listens where the tests expect an emulator: https://localhost:8081,
# and a second one, without --strict, at https://localhost:8903, the emulator's
# newer gateway.  Java's tests find the older one at port 9999, too.  Each file starts with new servers and empty directories and
# runs up to three times:
#
#   control   with an account key that the server refuses; the tests that pass
#             need no server and are not counted (once per CHECKOUT and file)
#   default   with the server's default options
#   strict    with --strict
#
# Each run prints one line per file, and one per failed test.  The results go to
# tools/sdk-suites/results.txt, from which `tools/sdk-suites/suites.py document`
# writes docs/sdk-suites.md.  The exit status is 1 if a test failed.
#
#   RUNNEL=FILE       the server; default: build/release/runnel
#   SUITES_KIT=DIR    keeps the copy, the packages, the controls and the logs
#   SUITES_MODES=...  the modes to run; default: "default strict"
#   SUITES_LIMIT=N    seconds for a file; default: 900
set -u
export LC_ALL=C.UTF-8
if [ $# -lt 2 ]; then
    sed -n 's/^# \{0,1\}//; 2,/^set/p' "$0" | sed '/^set/d'
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
: "${RUNNEL:=$root/build/release/runnel}" "${SUITES_LIMIT:=900}"
: "${SUITES_MODES:=default strict}"
suites=$root/tools/sdk-suites/suites.py
lang=$1
checkout=$2
shift 2
work=$(mktemp -d) || exit 1
kit=${SUITES_KIT:-$work}/$lang
servers=
forwarder=
failures=0
# A valid key in form, so that only the server refuses it.
wrong_key=$(printf 'no key of this account' | base64 -w 0)

end()
{
    if [ -n "$servers$forwarder" ]; then
        # shellcheck disable=SC2086
        kill -KILL $servers $forwarder 2>/dev/null
    fi
    rm -rf "$work"
}
trap end EXIT

die()
{
    echo "sdk-suites.sh: $*" >&2
    exit 1
}

# A path of what is committed, into the kit.  A clone that lacks some large file
# elsewhere still gives what is asked for.
take()
{
    git -C "$checkout" archive -o "$work/part.tar" HEAD "$@" 2>"$work/archive"
    tar -x -C "$kit" -f "$work/part.tar" ||
        die "$(tail -n 1 "$work/archive")"
}

# serve NAME PORT [OPTION...]: every server has the same certificate.
serve()
{
    local tries data=$work/data.$1

    rm -rf "$data"
    mkdir "$data"
    cp -r "$work/tls" "$data/tls"
    : >"$work/stdout"
    "$RUNNEL" serve --listen "localhost:$2" --data "$data" "${@:3}" \
        >"$work/stdout" 2>"$work/stderr.$1" &
    servers+=" $!"
    for ((tries = 0; tries < 100; tries++)); do
        if grep -q '^listening on ' "$work/stdout"; then return; fi
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    die "the server does not start: $(tail -n 1 "$work/stderr.$1")"
}

# start MODE
start()
{
    serve newer 8903
    case $1 in
    strict) serve older 8081 --strict ;;
    *) serve older 8081 ;;
    esac
    if [ "$lang" = java ]; then
        "$root/tools/sdk-suites/forward.py" 9999 8081 &
        forwarder=$!
    fi
}

stop()
{
    local each

    for each in $servers; do
        kill -TERM "$each"
        wait "$each" || echo "    the server ended with status $?"
    done
    servers=
    if [ -n "$forwarder" ]; then
        kill -KILL "$forwarder"
        wait "$forwarder" 2>/dev/null
    fi
    forwarder=
}

# ---- JavaScript ---------------------------------------------------------------

# The sources are run under their own name, with a configuration that has nothing
# of the repository's.
js_prepare()
{
    package=$kit/sdk/cosmosdb/cosmos
    [ -e "$kit/ready" ] && return
    take sdk/cosmosdb/cosmos
    rm -f "$package"/tsconfig*.json
    echo '{"compilerOptions":{"target":"es2022"}}' >"$package/tsconfig.json"
    cat >"$package/suites.mjs" <<'END'
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
const src = resolve("src");
export default defineConfig({ test: {
  testTimeout: 120000, hookTimeout: 120000, fileParallelism: false,
  fakeTimers: { toFake: ["setTimeout", "Date"] },
  alias: [
    { find: "@azure/cosmos", replacement: `${src}/index.ts` },
    { find: /^\$internal\/(.*)$/, replacement: `${src}/$1` },
  ],
} });
END
    (cd "$package" && node -e '
        const fs = require("fs");
        const p = JSON.parse(fs.readFileSync("package.json"));
        delete p.scripts;
        p.devDependencies = { vitest: "^3.2.0", nock: "^14.0.0",
            "@azure/identity": "^4.0.0", "assertion-error": "^2.0.1" };
        fs.writeFileSync("package.json", JSON.stringify(p));' &&
        npm install --no-package-lock --no-audit --no-fund \
            --legacy-peer-deps) >"$work/install" 2>&1 ||
        die "npm: $(tail -n 3 "$work/install")"
    touch "$kit/ready"
}

js_names()
{
    (cd "$package/test/public" && find . -name '*.spec.ts' |
        sed 's,^\./,,; s/\.spec\.ts$//' | sort)
}

js_run()
{
    (cd "$package" && NODE_OPTIONS=--dns-result-order=ipv4first \
        timeout "$SUITES_LIMIT" npx vitest run -c suites.mjs \
        --reporter=json --outputFile="$work/result" \
        "test/public/$1.spec.ts") >"$work/log" 2>&1
}

# ---- Python -------------------------------------------------------------------

python_prepare()
{
    package=$kit/sdk/cosmos/azure-cosmos
    [ -e "$kit/ready" ] && return
    take sdk/cosmos/azure-cosmos eng/tools/azure-sdk-tools
    (python3 -m venv "$kit/env" && "$kit/env/bin/pip" install pytest \
        pytest-timeout 'aiohttp<=3.12.2' azure-identity six \
        "$kit/eng/tools/azure-sdk-tools" "$package") >"$work/install" 2>&1 ||
        die "pip: $(tail -n 3 "$work/install")"
    touch "$kit/ready"
}

# Tests of the client alone, and files that need several regions, an inference
# service or a real account.
python_left_out='_unit|^(availability_strategy|excluded_locations(_async)?$|'
python_left_out+='per_partition_|multimaster|semantic_reranker|'
python_left_out+='global_secondary_index|aad_inference|config$)'

python_names()
{
    (cd "$package/tests" && printf '%s\n' test_*.py) |
        sed 's/^test_//; s/\.py$//' | grep -Ev "$python_left_out"
}

# The hooks of conftest.py make what the tests need: with the wrong key they
# would end the whole run.
python_run()
{
    local hooks=

    if [ "$mode" = control ]; then hooks=--noconftest; fi
    (cd "$package/tests" && PYTHONDONTWRITEBYTECODE=1 \
        timeout "$SUITES_LIMIT" "$kit/env/bin/python" -m pytest \
        -p no:cacheprovider $hooks -q --tb=native --timeout 100 \
        --timeout-method=signal --junitxml="$work/result" "test_$1.py") \
        >"$work/log" 2>&1
}

# ---- Go -----------------------------------------------------------------------

go_prepare()
{
    package=$kit/sdk/data/azcosmos
    export GOMODCACHE=$kit/mod GOCACHE=$kit/cache GOWORK=off
    export GOFLAGS='-modcacherw -mod=mod -buildvcs=false'
    [ -e "$kit/ready" ] && return
    take sdk/data/azcosmos
    (cd "$package" && go test -c -o "$kit/program") >"$work/install" 2>&1 ||
        die "go: $(tail -n 3 "$work/install")"
    touch "$kit/ready"
}

go_names()
{
    (cd "$package" && printf '%s\n' emulator_cosmos_*_test.go) |
        sed 's/^emulator_cosmos_//; s/_test\.go$//'
}

# Each test is a process of its own, because one that dereferences nil ends the
# process.  The tests take no key from outside: their control has no server.
go_run()
{
    local test

    if [ "$mode" = control ]; then stop; fi
    for test in $(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' \
        "$package/emulator_cosmos_$1_test.go"); do
        (cd "$package" && EMULATOR=true \
            timeout "$SUITES_LIMIT" "$kit/program" -test.v \
            -test.run "^$test\$")
    done >"$work/result" 2>&1
}

# ---- Java ---------------------------------------------------------------------

# The client is compiled from the same commit as its tests, which use its
# insides.  The providers of clients are left with those that go through the
# gateway.
java_prepare()
{
    local each

    package=$kit/sdk/cosmos
    suite=$package/azure-cosmos-tests/src/test
    java_groups=fast,query,emulator,long-emulator,split,cfp-split
    [ -e "$kit/ready" ] && return
    for each in azure-cosmos azure-cosmos-test azure-cosmos-tests; do
        take "sdk/cosmos/$each"
    done
    find "$package" -name module-info.java -delete
    sed -i -e '/^ *{ *createDirectRxDocumentClient(.*)},\{0,1\}$/d' \
        -e 's/, Protocol\.\(TCP\|HTTPS\));$/);/' \
        "$suite/java/com/azure/cosmos/rx/TestSuiteBase.java"
    python3 - "$package"/azure-cosmos{,-tests}/pom.xml >"$kit/pom.xml" <<'END'
import sys
import xml.etree.ElementTree as tree
space = {"m": "http://maven.apache.org/POM/4.0.0"}
found = {}
for file in sys.argv[1:]:
    for one in tree.parse(file).findall("m:dependencies/m:dependency", space):
        group, name, version = (one.find("m:" + key, space).text
            for key in ("groupId", "artifactId", "version"))
        if not name.startswith("azure-cosmos"):
            found[group, name] = version
print("<project><modelVersion>4.0.0</modelVersion><groupId>suites</groupId>"
    "<artifactId>suites</artifactId><version>1</version><dependencies>")
for (group, name), version in found.items():
    print(f"<dependency><groupId>{group}</groupId><artifactId>{name}"
        f"</artifactId><version>{version}</version></dependency>")
print("</dependencies></project>")
END
    (cd "$kit" && mvn -q -B dependency:copy-dependencies \
        -DoutputDirectory="$kit/jars" -Dmaven.repo.local="$kit/packages" &&
        find "$package" -name '*.java' >"$work/sources" &&
        javac -nowarn -proc:none -encoding UTF-8 -J-Xmx2g -d "$kit/classes" \
            -cp "$kit/jars/*" @"$work/sources") >"$work/install" 2>&1 ||
        die "java: $(tail -n 3 "$work/install")"
    touch "$kit/ready"
}

# Without the base class and those that are about direct mode only.
java_names()
{
    (cd "$suite/java/com/azure/cosmos" &&
        grep -rlE "groups *= *[^}]*\"(${java_groups//,/|})\"" . |
        sed 's,^\./,,; s/\.java$//' | sort |
        grep -Ev '/TestSuiteBase$|OnDirect|DirectInterceptor|TransportClient')
}

java_run()
{
    local path=$kit/classes:$package/azure-cosmos/src/main/resources

    rm -rf "$work/testng"
    (cd "$work" && ACCOUNT_CONSISTENCY=Session \
        DESIRED_CONSISTENCIES='["Session"]' PROTOCOLS='[]' \
        timeout "$SUITES_LIMIT" java -Xmx1g \
        -Djavax.net.ssl.trustStore="$work/trust/ca.p12" \
        -Djavax.net.ssl.trustStorePassword=runnel \
        -cp "$path:$suite/resources:$kit/jars/*" \
        org.testng.TestNG -d "$work/testng" -usedefaultlisteners true \
        -groups "$java_groups" -testclass "com.azure.cosmos.${1//\//.}") \
        >"$work/log" 2>&1
    mv "$work/testng/testng-results.xml" "$work/result" 2>>"$work/log"
}

# ---- the whole ----------------------------------------------------------------

case $lang in
js | python | go | java) ;;
*) die "there are js, python, go and java, and no $lang" ;;
esac
[ -x "$RUNNEL" ] || die "there is no $RUNNEL"
mkdir -p "$kit/control" "$kit/logs" || exit 1
"$RUNNEL" tls init --data "$work/" >"$work/log" 2>&1 &&
    "$RUNNEL" tls export --data "$work/" "$work/trust" >>"$work/log" 2>&1 ||
    die "$(tail -n 1 "$work/log")"
unset ACCOUNT_HOST ACCOUNT_KEY
"${lang}_prepare"
export SSL_CERT_FILE=$work/trust/ca.pem # not while packages are downloaded
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2046
    set -- $("${lang}_names")
    python3 "$suites" expect "$lang" "$@"
fi

# run_file MODE NAME
run_file()
{
    local log=$kit/logs/${2//\//_}.$1

    mode=$1
    rm -f "$work/result"
    : >"$work/log"
    start "$mode"
    if [ "$mode" = control ]; then export ACCOUNT_KEY=$wrong_key; fi
    "${lang}_run" "$2"
    unset ACCOUNT_KEY
    stop
    cat "$work/log" "$work/result" >"$log" 2>/dev/null
}

for name; do
    control=$kit/control/${name//\//_}
    if [ ! -e "$control" ]; then
        run_file control "$name"
        python3 "$suites" control "$lang" "$work/result" >"$control"
    fi
    for mode in $SUITES_MODES; do
        begun=$SECONDS
        run_file "$mode" "$name"
        python3 "$suites" record "$lang" "$mode" "$name" "$work/result" \
            "$control" $((SECONDS - begun)) || failures=1
    done
done
exit $failures
