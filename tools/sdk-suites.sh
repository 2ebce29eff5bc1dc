#!/bin/bash
# sdk-suites.sh -- runs the official SDKs' own tests against the server.
#
#   tools/sdk-suites.sh js|python|go|java CHECKOUT NAME...
#
# CHECKOUT is a clone of the SDK's repository, with or without a work tree; what
# is committed there is taken, copied to a directory of our own and run there,
# so that the clone stays as it is.  A NAME is a file of tests:
#
#   js       functional/container         sdk/cosmosdb/cosmos/test/public
#   python   crud                         sdk/cosmos/azure-cosmos/tests/test_*
#   go       container                    sdk/data/azcosmos/emulator_cosmos_*
#   java     rx/ChangeFeedTest            sdk/cosmos/azure-cosmos-tests,
#                                         src/test/java/com/azure/cosmos
#
# Each file has a server to itself, on a port of its own, with an empty
# directory.  With --strict that stands for the service's older gateway, and for
# the tests that have clients of its newer one there is a second server, without.
# One line a file tells how many cases passed, failed and were
# skipped; each that failed follows with the first line of its reason.  The exit
# status is 1 if any failed.
#
#   RUNNEL=FILE       the server, else build/release/runnel
#   RUNNEL_SERVE=...  further options of `runnel serve`
#   SUITES_KIT=DIR    keeps the copy, the packages and what each file printed
#   SUITES_LIMIT=N    seconds for a file, else 300
set -u
export LC_ALL=C.UTF-8
if [ $# -lt 3 ]; then
    sed -n 's/^# \{0,1\}//; 2,/^set/p' "$0" | sed '/^set/d'
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
: "${RUNNEL:=$root/build/release/runnel}" "${SUITES_LIMIT:=300}"
lang=$1
checkout=$2
shift 2
work=$(mktemp -d) || exit 1
kit=${SUITES_KIT:-$work}/$lang
servers=
failures=0

end()
{
    # shellcheck disable=SC2086
    if [ -n "$servers" ]; then kill -KILL $servers 2>/dev/null; fi
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

# A server with these options; its address in endpoint.
serve()
{
    local tries

    rm -rf "$work/data.$1"
    : >"$work/stdout"
    "$RUNNEL" serve --listen 127.0.0.1:0 --data "$work/data.$1" "${@:2}" \
        >"$work/stdout" 2>"$work/stderr.$1" &
    servers+=" $!"
    for ((tries = 0; tries < 100; tries++)); do
        endpoint=$(sed -n 's/^listening on //p' "$work/stdout")
        if [ -n "$endpoint" ]; then return; fi
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    die "the server does not start: $(tail -n 1 "$work/stderr.$1")"
}

start()
{
    # shellcheck disable=SC2086
    case " ${RUNNEL_SERVE:-} " in
    *\ --strict\ *) serve newer ${RUNNEL_SERVE//--strict/} ;;
    *) endpoint= ;;
    esac
    newer=$endpoint
    # shellcheck disable=SC2086
    serve one ${RUNNEL_SERVE:-}
    : "${newer:=$endpoint}"
}

stop()
{
    local each

    for each in $servers; do
        kill -TERM "$each"
        wait "$each" || echo "    the server ended with status $?"
    done
    servers=
}

# ---- JavaScript ---------------------------------------------------------------

# The sources are run under their own name, with a configuration that has nothing
# of the repository's.  The two gateways are told apart by their ports, which
# are written into the tests: our copy gets the servers'.
js_prepare()
{
    package=$kit/sdk/cosmosdb/cosmos
    [ -e "$kit/ready" ] && return
    take sdk/cosmosdb/cosmos
    rm -f "$package"/tsconfig*.json
    sed -i -e '/^const default.*Port/s/":8081"/process.env.OLDER_PORT!/' \
        -e '/^const default.*Port/s/":8903"/process.env.NEWER_PORT!/' \
        "$package/test/public/common/TestHelpers.ts"
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

js_run()
{
    (cd "$package" && ACCOUNT_HOST=$endpoint \
        OLDER_PORT=:${endpoint##*:} NEWER_PORT=:${newer##*:} \
        NODE_OPTIONS=--dns-result-order=ipv4first \
        timeout "$SUITES_LIMIT" npx vitest run -c suites.mjs \
        --reporter=json --outputFile="$work/result" \
        "test/public/$1.spec.ts") >"$work/log" 2>&1
}

js_count()
{
    node -e '
        const r = JSON.parse(require("fs").readFileSync(process.argv[1]));
        const all = r.testResults.flatMap((f) => f.assertionResults);
        const n = (s) => all.filter((c) => c.status === s).length;
        const bad = n("failed");
        console.log(n("passed"), bad, all.length - n("passed") - bad);
        for (const f of r.testResults) {
            if (!f.assertionResults.length) console.log(f.message);
        }
        for (const c of all) {
            if (c.status === "failed") console.log(`${c.fullName}: ` +
                c.failureMessages[0].split("\n")[0]);
        }' "$work/result"
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

python_run()
{
    (cd "$package/tests" && ACCOUNT_HOST=$endpoint/ \
        PYTHONDONTWRITEBYTECODE=1 timeout "$SUITES_LIMIT" \
        "$kit/env/bin/python" -m pytest -p no:cacheprovider -q --tb=native \
        --timeout 100 --timeout-method=signal \
        --junitxml="$work/result" "test_$1.py") >"$work/log" 2>&1
}

python_count()
{
    python3 - "$work/result" <<'END'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
tests, failed, errors, skipped = (
    int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))
print(tests - failed - errors - skipped, failed + errors, skipped)
for case in suite.iter("testcase"):
    for kind in ("failure", "error"):
        for found in case.findall(kind):
            text = (found.get("message") or "").splitlines() or [kind]
            print(f"{case.get('name')}: {text[0]}")
END
}

# ---- Go -----------------------------------------------------------------------

# The addresses are written into the tests: our copy gets the servers'.  Their
# name is in the spans that they wait for.
go_prepare()
{
    package=$kit/sdk/data/azcosmos
    export GOMODCACHE=$kit/mod GOCACHE=$kit/cache GOWORK=off
    export GOFLAGS='-modcacherw -mod=mod -buildvcs=false'
    [ -e "$kit/ready" ] && return
    take sdk/data/azcosmos
    sed -i -e 's#"https://localhost:8081/"#os.Getenv("ACCOUNT_HOST")#' \
        -e 's#"https://localhost:8903/"#os.Getenv("NEWER_HOST")#' \
        "$package/emulator_test.go"
    (cd "$package" && go test -c -o "$work/program") >"$work/install" 2>&1 ||
        die "go: $(tail -n 3 "$work/install")"
    touch "$kit/ready"
}

go_run()
{
    local names

    names=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' \
        "$package/emulator_cosmos_$1_test.go" | paste -sd '|')
    (cd "$package" && EMULATOR=true \
        ACCOUNT_HOST=http://localhost:${endpoint##*:}/ \
        NEWER_HOST=http://localhost:${newer##*:}/ \
        timeout "$SUITES_LIMIT" go test -count=1 -v -run "^($names)\$" .) \
        >"$work/result" 2>&1
}

go_count()
{
    awk '/^--- PASS/ { pass++ } /^--- FAIL/ { bad[++fail] = $3 }
        /^--- SKIP/ { skip++ } /^=== RUN/ { name = $3 }
        / +[a-z_]+_test\.go:[0-9]+: / && !(name in why) {
            why[name] = $0; sub(/^ +/, "", why[name]) }
        END { print pass + 0, fail + 0, skip + 0
            for (i = 1; i <= fail; i++) print bad[i] ": " why[bad[i]] }' \
        "$work/result"
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

java_run()
{
    local path=$kit/classes:$package/azure-cosmos/src/main/resources

    rm -rf "$work/testng"
    (cd "$work" && ACCOUNT_HOST=$endpoint/ ACCOUNT_CONSISTENCY=Session \
        DESIRED_CONSISTENCIES='["Session"]' PROTOCOLS='[]' \
        timeout "$SUITES_LIMIT" java -Xmx1g \
        -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true \
        -cp "$path:$suite/resources:$kit/jars/*" \
        org.testng.TestNG -d "$work/testng" -usedefaultlisteners true \
        -groups "$java_groups" -testclass "com.azure.cosmos.${1//\//.}") \
        >"$work/log" 2>&1
    mv "$work/testng/testng-results.xml" "$work/result" 2>>"$work/log"
}

# A case that was tried again counts by its last try.
java_count()
{
    python3 - "$work/result" <<'END'
import sys
import xml.etree.ElementTree as tree
cases = {}
for one in tree.parse(sys.argv[1]).iter("test-method"):
    name = one.get("name")
    given = [v.text.strip() for v in one.findall("params/param/value") if v.text]
    if given:
        name += f"({', '.join(given)})"
    why = one.find("exception/message")
    if one.get("is-config") != "true" or one.get("status") == "FAIL":
        cases[name] = one.get("status"), why
count = [status for status, _ in cases.values()]
print(*(count.count(status) for status in ("PASS", "FAIL", "SKIP")))
for name, (status, why) in cases.items():
    if status == "FAIL":
        text = (why.text if why is not None else "").split()
        print(f"{name}: {' '.join(text)}")
END
}

# ---- the whole ----------------------------------------------------------------

case $lang in
js | python | go | java) ;;
*) die "there are js, python, go and java, and no $lang" ;;
esac
[ -x "$RUNNEL" ] || die "there is no $RUNNEL"
mkdir -p "$kit" || exit 1
"${lang}_prepare"
for name; do
    rm -f "$work/result"
    begun=$SECONDS
    start
    "${lang}_run" "$name"
    stop
    if "${lang}_count" >"$work/counts" 2>/dev/null; then
        read -r passed failed skipped <"$work/counts"
    else
        tail -n 3 "$work/log" >"$work/counts"
        passed=0 failed=1 skipped=0
    fi
    printf '%-40s %3d passed, %d failed, %d skipped (%d s)\n' "$name" \
        "$passed" "$failed" "$skipped" $((SECONDS - begun))
    sed -n '2,$s/^/    /p' "$work/counts" | cut -c 1-400
    if [ -n "${SUITES_KIT:-}" ]; then
        mkdir -p "$kit/logs"
        cat "$work/log" "$work/result" >"$kit/logs/${name//\//_}" 2>/dev/null
    fi
    failures=$((failures + failed))
done
exit $((failures != 0))
