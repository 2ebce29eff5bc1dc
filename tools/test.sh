#!/bin/bash
# test.sh -- builds everything, runs every test, and says how many passed.
#
#   tools/test.sh          all tests, as `make test` runs them
#   tools/test.sh check    the dev build and its tests without the proofs: the
#                          daily loop, a minute or two once built
#   tools/test.sh NAME [CASE]   one suite of tests/suites, or the ctest tests
#                          whose names match NAME; CASE becomes
#                          RUNNEL_TEST_CASE, which unit tests (a pattern) and
#                          the suites in Python (a part of the name) respect
#   tools/test.sh prove    the tests labelled "proof", the fuzzers, and the
#                          suites that look at RUNNEL_PROVE, at their long
#                          counts
#
# With RUNNEL_NO_SKIP set, a test or suite that is skipped as a whole counts as
# a failure: CI has everything that the suites need.
#
# What runs:
#   build/dev      gcc, ASan + UBSan        every ctest test
#   build/tsan     clang, TSan              the tests labelled "concurrent"
#   build/proof    as released              the tests labelled "proof", which
#                                           want speed for their counts
#   build/fuzz     clang, ASan + UBSan      the fuzz targets, for a bounded count
#   tests/suites   each executable *.sh     told where the programs are by
#                  RUNNEL and RUNNEL_DEV (the ASan one); prints "ok NAME" or
#                  "not ok NAME" lines; exit status 77 means skipped
#   the ledger     docs/compatibility.md against what passed
#
# build/results.txt (build/proofs.txt for proofs) gets "pass NAME", "fail NAME"
# or "skip NAME REASON" for every test and for every case in it (TEST/CASE); tests
# of the TSan build are called tsan.TEST, of the proof build proof.TEST.  The
# closing line counts cases, a test without cases as one, and a test that failed
# although its cases did not as one failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
mode=${1:-test}
no_skip=${RUNNEL_NO_SKIP:-}
unset RUNNEL_NO_SKIP # the programs under test would take it for an option
jobs=$(nproc)
case $mode in
test) results=build/results.txt ;;
prove) results=build/proofs.txt ;;
*) results=build/some.txt ;;
esac
started=$SECONDS

mkdir -p build/suites
: >"$results"
export CMOCKA_MESSAGE_OUTPUT=TAP
: "${UBSAN_OPTIONS:=print_stacktrace=1}" "${TSAN_OPTIONS:=halt_on_error=1}"
export UBSAN_OPTIONS TSAN_OPTIONS
# A test may wait for another process; nothing may wait for ever.
limit=900

# TSan cannot live with every layout of the address space.
under=
fixed=
if setarch -R true 2>/dev/null; then fixed='setarch -R'; fi

# build PRESET [TARGET]
build()
{
    local log=build/$1.log

    echo "== building $1"
    if cmake --preset "$1" >"$log" 2>&1 &&
        cmake --build "build/$1" -j "$jobs" --target "${2:-all}" \
            >>"$log" 2>&1; then
        echo "pass build.$1" >>"$results"
    else
        tail -n 80 "$log"
        echo "fail build.$1" >>"$results"
        return 1
    fi
}

# show_failures RESULTS LOG PREFIX: what each failed test printed, its beginning
# and its end.
show_failures()
{
    awk -v prefix="$3" '
        FNR == 1 { file++ }
        file == 1 && $1 == "fail" { failed[$2] = 1 }
        file == 2 && /^ +Start +[0-9]+: / {
            id = $2
            sub(/:$/, "", id)
            if (failed[prefix $3])
                name[id] = prefix $3
        }
        file == 2 && /^[0-9]+: / {
            id = $0
            sub(/:.*/, "", id)
            if (id in name) {
                sub(/^[0-9]+: /, "")
                line[id, n[id]++] = $0
            }
        }
        END {
            for (id in name) {
                print "---- " name[id] " failed"
                for (i = 0; i < n[id]; i++)
                    if (i < 100 || i >= n[id] - 200)
                        print "  " line[id, i]
                    else if (i == 100)
                        print "  [...]"
            }
        }' "$1" "$2"
}

# run BUILD PREFIX [ctest option...]: progress is shown, the rest is kept.
run()
{
    local name=$1 prefix=$2 log=build/$1.tests.log status

    shift 2
    echo "== testing build/$name (everything printed: $log)"
    $under ctest --test-dir "build/$name" -V -j "$jobs" --timeout "$limit" "$@" 2>&1 |
        tee "$log" | grep --line-buffered -E '^ *[0-9]+/[0-9]+ Test +#'
    status=${PIPESTATUS[0]}
    awk -v prefix="$prefix" -f tools/results.awk "$log" >"$log.results"
    cat "$log.results" >>"$results"
    if grep -q '^fail' "$log.results"; then
        show_failures "$log.results" "$log" "$prefix"
    elif [ "$status" -ne 0 ]; then
        tail -n 20 "$log"
        echo "fail ctest.$name" >>"$results"
    fi
    rm -f "$log.results"
}

run_suite()
{
    local name log status

    name=$(basename "$1" .sh)
    log=build/suites/$name.log
    echo "== suite $name (everything printed: $log)"
    RUNNEL=$PWD/build/release/runnel RUNNEL_DEV=$PWD/build/dev/runnel \
        timeout -k 10 "$limit" "$1" </dev/null >"$log" 2>&1
    status=$?
    awk -v suite="$name" -v status="$status" -f tools/results.awk "$log" \
        >"$log.results"
    if grep -q '^fail' "$log.results"; then
        echo "---- suite $name failed, exit status $status"
        tail -n 200 "$log"
    fi
}

# As many at a time as there are processors: they mostly wait, for clients, disks
# and servers of their own.
run_suites()
{
    local suite running=0

    for suite in tests/suites/*.sh; do
        [ -x "$suite" ] || continue
        if [ $running -ge "$jobs" ]; then wait -n; else running=$((running + 1)); fi
        run_suite "$suite" &
    done
    wait
    cat build/suites/*.results >>"$results"
    rm -f build/suites/*.results
}

# One after another: each may want all memory.
prove_suites()
{
    local suite

    build release
    build dev
    for suite in "$@"; do
        if [ -x "$suite" ]; then run_suite "$suite"; fi
    done
    cat build/suites/*.results >>"$results"
    rm -f build/suites/*.results
}

test_all()
{
    build release
    build dev && run dev '' --no-tests=error
    build tsan && under=$fixed run tsan tsan. -L '^concurrent$'
    build proof proofs && run proof proof. -L '^proof$'
    build fuzz fuzzers && run fuzz '' -L '^fuzz$' --no-tests=error
    run_suites
    echo '== the ledger'
    if tools/ledger.sh docs/compatibility.md "$results"; then
        echo 'pass house.ledger' >>"$results"
    else
        echo 'fail house.ledger' >>"$results"
    fi
}

# A machine without a registry, a language or root's rights skips suites; CI
# must not.
forbid_skips()
{
    sed -E -i 's/^skip ([^/ ]+)( .*)?$/fail \1 was skipped:\2/' "$results"
}

close()
{
    if [ -n "$no_skip" ]; then forbid_skips; fi
    echo
    grep -E '^skip' "$results"
    grep -E '^fail' "$results"
    echo "took $((SECONDS - started)) s; every result: $results"
    awk '
        { test = $2; sub(/\/.*/, "", test) }
        $2 == test { whole[test] = $1; next }
        { cases[test]++; n[$1]++ }
        $1 == "fail" { failing[test]++ }
        END {
            for (test in whole)
                if (!cases[test])
                    n[whole[test]]++
                else if (whole[test] == "fail" && !failing[test])
                    n["fail"]++
            printf "%d passed, %d failed, %d skipped\n", n["pass"],
                n["fail"], n["skip"]
            exit !(n["fail"] == 0 && n["pass"] > 0)
        }' "$results"
}

# one NAME [CASE]
one()
{
    if [ $# -gt 1 ]; then export RUNNEL_TEST_CASE=$2; fi
    if [ -x "tests/suites/$1.sh" ]; then
        build release && build dev && run_suite "tests/suites/$1.sh"
        cat "build/suites/$1.log"
        cat "build/suites/$1.log.results" >>"$results"
        rm -f "build/suites/$1.log.results"
    else
        build dev && run dev '' --no-tests=error -R "$1"
    fi
}

case $mode in
test) test_all ;;
check) build dev && run dev '' --no-tests=error -LE '^proof$' ;;
prove)
    limit=86400
    export RUNNEL_PROVE=1
    build proof proofs && run proof proof. -L '^proof$' --no-tests=error
    build fuzz fuzzers && run fuzz '' -L '^fuzz$' --no-tests=error
    mapfile -t suites < <(grep -l RUNNEL_PROVE tests/suites/*.sh)
    if [ ${#suites[@]} -gt 0 ]; then prove_suites "${suites[@]}"; fi
    ;;
-*)
    echo 'usage: tools/test.sh [check | prove | NAME [CASE]]' >&2
    exit 2
    ;;
*) one "$@" ;;
esac
close
